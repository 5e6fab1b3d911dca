"""Label-free diagnostics of a fitted estimator, on the views that it is trained with."""

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

# The number of samples for LiDAR, as in its paper.
_MAX_SAMPLES = 1000


def diagnose_model(
    model: Any, X: Any, *, n_views: int = 10, random_state: int = 0, device: str = "auto"
) -> Diagnosis:
    """Compute label-free diagnostics of a fitted estimator's embedding.

    For an estimator that compares views (SimCLR, SimSiam, SCARF, DACL, TSTCC) the result includes
    LiDAR, computed from views of up to 1000 samples that are spread evenly over `X`. The views are
    drawn as in training, alternating between the two that the estimator compares. For other
    estimators LiDAR is None.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    X : array-like
        Data that the estimator can transform.
    n_views : int, default=10
        Number of views per sample, at least 2.
    random_state : int, default=0
        Seed of the views.
    device : str, default="auto"
        Device to compute the diagnostics on: "auto", "cpu", "cuda" or "cuda:0". The estimator
        embeds on its own device.

    Returns
    -------
    Diagnosis
        The diagnostics, and a sentence that summarizes them.

    See Also
    --------
    diagnose : The same for an embedding.

    Examples
    --------
    >>> import numpy as np
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
    views = _training_views(model, rows)
    if views is None:
        return diagnose(embedding, device=device)
    model_device = resolve_device(model.device)
    precision = resolve_precision(model.precision, model_device)
    samples = _evenly_spaced_rows(rows, _MAX_SAMPLES).to(model_device)
    embedded_views = []
    with torch.inference_mode(), seeded(random_state, model_device):
        for index in range(n_views):
            view = views[index % 2].to(model_device)(samples)
            embedded_views.append(
                embed(model.encoder_, view.cpu().numpy(), model_device, precision)
            )
    return diagnose(embedding, views=np.stack(embedded_views, 1), device=device)


def _evenly_spaced_rows(rows: Tensor, limit: int) -> Tensor:
    """At most `limit` rows, spread evenly from the first to the last."""
    return rows[torch.linspace(0, len(rows) - 1, min(limit, len(rows))).round().long()]


def _training_views(model: Any, rows: Tensor) -> tuple[nn.Module, nn.Module] | None:
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
