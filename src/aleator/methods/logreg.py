"""Logistic regression on raw values: the baseline that any representation has to improve on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch

from aleator.estimators import ClassifierLearner, FitContext, TrainingSpec, estimator
from aleator.estimators.fit_context import TrainingResult
from aleator.estimators.network_specs import ClassifierSpec, FlattenSpec, NetworkSpec
from aleator.training.method import Method
from aleator.validation import check_int, check_number

LABELS = "labels"


@estimator
class LogReg(ClassifierLearner):
    """Logistic regression on raw values, which any representation has to improve on.

    scikit-learn's own, by L-BFGS, on the input that all estimators share; `transform` returns the
    raw values, flattened. The solver draws nothing, so that `random_state` has no effect.

    Parameters
    ----------
    C : float, default=?
        Inverse of the strength of the penalty.
    max_iter : int, default=?
        Largest number of iterations.
    {data}

    Attributes
    ----------
    encoder_ : torch.nn.Module
        Flattens samples.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    classifier_ : torch.nn.Module
        The coefficients as a linear layer.
    n_iter_ : int
        Iterations of the solver.
    {untrained attributes}

    See Also
    --------
    Supervised : Trains an encoder with labels.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import LogReg
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> LogReg().fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) > 0.9
    True
    """

    C: float = 1.0
    max_iter: int = 1000

    _reads_numbers: ClassVar[bool] = True
    _takes_gaps: ClassVar[bool] = False
    _networks: ClassVar[Mapping[str, NetworkSpec]] = {
        "encoder": FlattenSpec(),
        "classifier": ClassifierSpec(),
    }
    _saved_attributes: ClassVar[Sequence[str]] = ("embedding_dim_", "classes_", "n_iter_")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("C", self.C, 0, include_low=False)
        check_int("max_iter", self.max_iter, minimum=1)

    def _prepare(self, context: FitContext) -> TrainingSpec:
        classes, codes = self._encode_labels(context.y, len(context.source))
        networks, attributes = self._build_networks(context, classes_=classes)
        kept = {f"{name}_": network for name, network in networks.items()}
        return TrainingSpec(
            Method(networks, phases=[]),
            lambda: {**kept, **attributes},
            {LABELS: torch.from_numpy(codes)},
        )

    def _train(
        self, spec: TrainingSpec, context: FitContext, device: torch.device
    ) -> TrainingResult:
        # A tenth of a second to import, which no other estimator should wait for.
        from sklearn.linear_model import LogisticRegression

        rows = np.concatenate([c.reshape(len(c), -1) for c in context.source.chunks()])
        codes = spec.columns[LABELS].numpy()
        solver = LogisticRegression(C=self.C, max_iter=self.max_iter).fit(rows, codes)
        weight, bias = torch.from_numpy(solver.coef_), torch.from_numpy(solver.intercept_)
        if len(solver.classes_) == 2:  # scikit-learn keeps only the row of the second class
            weight, bias = (torch.cat([-half, half]) for half in (weight / 2, bias / 2))
        state = {"weight": weight, "bias": bias}
        spec.method.modules["classifier"].load_state_dict(state)
        return TrainingResult(attributes={"n_iter_": int(solver.n_iter_.max())})
