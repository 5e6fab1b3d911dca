"""Diagnosing a fitted estimator from data, in the views that it learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from aleator.estimators import DACL, SCARF, TSTCC, SimCLR, SimSiam
from aleator.evaluation.diagnostics import Diagnosis, diagnose
from aleator.parameters import require_int
from aleator.training.devices import resolve_device, resolve_precision, seeded
from aleator.training.embedding import embed
from aleator.views import Corrupted, Mixed
from aleator.views.choice import view_pair, weak_and_strong

# Samples that LiDAR looks at, spread evenly over the data: as many as its paper.
_SAMPLES = 1000


def diagnose_model(
    model: Any, X: Any, *, n_views: int = 10, random_state: int = 0, device: str = "auto"
) -> Diagnosis:
    """Look at a fitted estimator's embedding of `X`, without labels.

    An estimator that compares views (SimCLR, SimSiam, SCARF, DACL, TSTCC) is judged by LiDAR too,
    on `n_views` views of each of up to 1000 samples, drawn as in its training, from each of its two
    views in turn. For others LiDAR is None. `device` is that of the diagnosis; the model embeds on
    its own.

    >>> from aleator import LFR, SimCLR
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> settings = dict(epochs=1, embedding_dim=8, random_state=0, progress=False)
    >>> diagnose_model(SimCLR(**settings).fit(X), X).lidar > 1
    True
    >>> diagnose_model(LFR(n_projectors=4, **settings).fit(X), X).lidar is None
    True
    """
    check_is_fitted(model)
    require_int("n_views", n_views, least=2)
    embedding = model.transform(X)
    rows = torch.from_numpy(model.door_.admit(X))
    choices = _views(model, rows)
    if choices is None:
        return diagnose(embedding, device=device)
    chosen = rows[torch.linspace(0, len(rows) - 1, min(_SAMPLES, len(rows))).round().long()]
    place = resolve_device(model.device)
    chosen, precision = chosen.to(place), resolve_precision(model.precision, place)
    seen = []
    with torch.inference_mode(), seeded(random_state, place):
        for at in range(n_views):
            view = choices[at % 2].to(place)(chosen)
            seen.append(embed(model.encoder_, view.cpu().numpy(), place, precision))
    return diagnose(embedding, views=np.stack(seen, 1), device=device)


def _views(model: Any, rows: Tensor) -> tuple[nn.Module, nn.Module] | None:
    """The two views that an estimator compares, or None if it compares none."""
    match model:
        case SimCLR() | SimSiam():
            return view_pair(model.views, model.door_.modality.name, rows, model.view_options)
        case SCARF():
            return nn.Identity(), Corrupted(rows, model.corruption)
        case DACL():
            mixed = Mixed(model._kinds(rows), model.least_share)
            return mixed, mixed
        case TSTCC():
            return weak_and_strong(
                model.weak_scale, model.weak_mean, model.segments, model.strong_noise
            )
    return None
