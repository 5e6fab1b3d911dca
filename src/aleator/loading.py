"""Loading saved models."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from torch import nn

from aleator import methods, serialization
from aleator.estimators import RepresentationLearner, restored_estimator
from aleator.exceptions import ModelFileError
from aleator.validation import check_local


def load(
    path: str | os.PathLike[str],
    *,
    classes: Iterable[type] = (),
    **networks: nn.Module | Sequence[nn.Module] | None,
) -> Any:
    """Read a fitted estimator that was written by its method `save`.

    Networks that were chosen by name are rebuilt. A network of your own cannot be stored without
    its code: pass a module of the same architecture under its name, as in
    ``load(path, encoder=module)`` or ``load(path, projectors=[…])``; it is copied and filled with
    the saved weights. An encoder of your own must be passed; other networks of your own that are
    not passed are None, since `transform` does not need them.

    Parameters
    ----------
    path : str or path-like
        Folder of the model.
    classes : iterable of type, default=()
        Estimators of your own: subclasses of those of this library, found by name.
    **networks : torch.nn.Module or sequence of torch.nn.Module
        Networks of your own, by name.

    Returns
    -------
    RepresentationLearner
        The fitted estimator.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from aleator import LFR, load
    >>> X = np.random.default_rng(0).normal(size=(40, 4))
    >>> lfr = LFR(epochs=1, embedding_dim=8, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lfr.save(folder)
    ...     again = load(folder)
    >>> bool((again.transform(X) == lfr.transform(X)).all())
    True
    """
    known: dict[str, type[RepresentationLearner]] = {
        name: getattr(methods, name) for name in methods.__all__
    }
    for cls in classes:
        if not (isinstance(cls, type) and issubclass(cls, RepresentationLearner)):
            raise ValueError(f"classes must be subclasses of an estimator of aleator, got {cls!r}")
        known[cls.__name__] = cls
    given = {name: modules for name, modules in networks.items() if modules is not None}
    folder = check_local("path", path)
    with serialization.complete(folder):
        saved = serialization.read(folder)
        if saved.estimator not in known:
            raise ModelFileError(
                f"{path} holds a {saved.estimator}, which is not an estimator of this version of "
                f"aleator; if it is your own class: load(path, classes=[{saved.estimator}])"
            )
        return restored_estimator(known[saved.estimator], saved, given)
