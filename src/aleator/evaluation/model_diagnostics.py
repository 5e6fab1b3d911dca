"""Label-free diagnostics of a fitted estimator, on the views that it is trained with."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from aleator.evaluation.diagnostics import Diagnosis, diagnose
from aleator.inputs import ArraySource, evenly_spaced
from aleator.training.devices import resolve_device, resolve_precision, seeded
from aleator.training.embedding import embed
from aleator.validation import check_int

# The number of samples for LiDAR, as in its paper.
_MAX_SAMPLES = 1000


def diagnose_model(
    model: Any,
    X: Any,
    *,
    X_train: Any = None,
    n_views: int = 10,
    random_state: int = 0,
    device: str = "auto",
) -> Diagnosis:
    """Compute label-free diagnostics of a fitted estimator's embedding.

    For an estimator that compares views (SimCLR, SimSiam, BYOL, SCARF, DACL, TSTCC) the result
    includes LiDAR, computed from views of up to 1000 samples that are spread evenly over `X`. The
    views are drawn as in training, alternating between the two that the estimator compares. For
    other estimators LiDAR is None.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    X : array-like
        Data that the estimator can transform.
    X_train : array-like, default=None
        Training data of the estimator, from which views take values: the corruption of SCARF draws
        from its columns, and augmented images stay within its range. None uses `X`.
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
    check_int("n_views", n_views, minimum=2)
    embedding = model.transform(X)
    source = model.adapter_.read(X)
    views = model.training_views(source if X_train is None else model.adapter_.read(X_train))
    if views is None:
        return diagnose(embedding, device=device)
    model_device = resolve_device(model.device)
    precision = resolve_precision(model.precision, model_device)
    samples = source.gather(evenly_spaced(len(source), _MAX_SAMPLES))
    batch = torch.from_numpy(samples).to(model_device)
    embedded_views = []
    with torch.inference_mode(), seeded(random_state, model_device):
        for index in range(n_views):
            view = ArraySource(views[index % 2].to(model_device)(batch).cpu().numpy())
            embedded_views.append(embed(model.encoder_, view, model_device, precision))
    return diagnose(embedding, views=np.stack(embedded_views, 1), device=device)
