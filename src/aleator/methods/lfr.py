"""Learning from randomness (Sui et al., ICLR 2024, section 3 and Algorithm 1).

An encoder is trained so that simple heads can predict, from its output, the outputs of random
projectors of the input. Encoder and heads take turns (expectation and maximization), or are trained
together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from aleator.diversity import default_n_candidates
from aleator.estimators import FitContext, TrainedLearner, TrainingSpec, estimator
from aleator.estimators.network_specs import (
    EncoderSpec,
    NetworkContext,
    NetworkSpec,
    PredictorsSpec,
    ProjectorsSpec,
    check_modules,
    copy_modules,
)
from aleator.losses import (
    PairLoss,
    bbt_to_unit_target,
    cosine_distance,
    info_nce,
    mean_squared_error,
    unit_rows,
)
from aleator.networks.shapes import checked_output_width, flatten_output
from aleator.projectors import INITIALIZATIONS, Candidates, Selection, select
from aleator.training.devices import seeded
from aleator.training.head_bank import HeadBank
from aleator.training.method import INPUT, DerivedColumn, Method, ParameterGroup, Phase
from aleator.validation import (
    check_choice,
    check_int,
    check_number,
    check_optional_int,
    check_optional_number,
)

TRAININGS = ("alternating", "joint")
# Losses that depend on directions only: for these the targets are scaled to unit length, once.
_OF_DIRECTIONS = ("bbt", "infonce", "cosine")
LOSSES = (*_OF_DIRECTIONS, "mse")


def lfr(
    encoder: nn.Module,
    projectors: Sequence[nn.Module],
    predictors: HeadBank,
    *,
    embedding_dim: int,
    target_dim: int,
    loss: str | PairLoss,
    off_diagonal_weight: float,
    training: str,
    predictor_epochs: int,
    predictor_lr: float | None = None,
) -> Method:
    """Phases of LFR over the columns input, targets and embedding."""
    pair_loss = _pair_loss(loss, off_diagonal_weight)

    def compute_targets(x: Tensor) -> Tensor:
        # Targets are fixed for the whole run, so they are never computed in half precision.
        with torch.autocast(x.device.type, enabled=False):
            outputs = torch.stack([flatten_output(project(x)) for project in projectors], dim=1)
        return unit_rows(outputs) if loss in _OF_DIRECTIONS else outputs

    def embed(x: Tensor) -> Tensor:
        return flatten_output(encoder(x))

    def loss_of_embedding(embedding: Tensor, target: Tensor) -> Tensor:
        return pair_loss(predictors(embedding).transpose(0, 1), target.transpose(0, 1))

    def loss_of_input(x: Tensor, target: Tensor) -> Tensor:
        return loss_of_embedding(embed(x), target)

    joint = training == "joint"
    encoder_group = ParameterGroup("encoder", (encoder,))
    # As in the paper's recipes, the schedule moves the learning rate of the encoder only.
    predictor_group = ParameterGroup("predictor", (predictors,), predictor_lr, schedule="constant")
    encoder_phase = Phase(
        name="joint" if joint else "encoder",
        groups=[encoder_group, predictor_group] if joint else [encoder_group],
        train_mode=(encoder, predictors),
        columns=(INPUT, "targets"),
        loss=loss_of_input,
    )
    predictor_phase = Phase(
        name="predictors",
        groups=[predictor_group],
        train_mode=(predictors,),
        columns=("embedding", "targets"),
        loss=loss_of_embedding,
        repeats=predictor_epochs,
    )
    modules = {"encoder": encoder, "predictors": predictors}
    modules |= {f"projector {k}": projector for k, projector in enumerate(projectors)}
    shape = (len(projectors), target_dim)
    targets = DerivedColumn("targets", INPUT, compute_targets, shape, fixed=True)
    embedding = DerivedColumn("embedding", INPUT, embed, (embedding_dim,), fixed=False)
    if joint:
        return Method(modules, phases=[encoder_phase], derived=[targets])
    return Method(modules, phases=[encoder_phase, predictor_phase], derived=[targets, embedding])


def _pair_loss(loss: str | PairLoss, off_diagonal_weight: float) -> Callable[..., Tensor]:
    if not isinstance(loss, str):
        return loss
    named: dict[str, Callable[..., Tensor]] = {
        "bbt": partial(bbt_to_unit_target, off_diagonal_weight=off_diagonal_weight),
        "infonce": info_nce,
        "cosine": cosine_distance,
        "mse": mean_squared_error,
    }
    return named[loss]


@estimator
class LFR(TrainedLearner):
    """Learning from randomness: representations without labels and without augmentations.

    Random networks (projectors) are applied to the data, and a diverse few are kept. An encoder is
    trained so that simple heads (predictors) can predict the outputs of the projectors from its
    output. Sui et al., Self-supervised Representation Learning from Random Data Projectors,
    ICLR 2024.

    Parameters
    ----------
    n_projectors : int, default=?
        Number of projectors that are kept (the paper's K). Their output is as wide as the
        embedding.
    n_candidates : int or None, default=?
        Number of projectors that are drawn (N). None is 10 K. N = K switches selection off.
    selection_size : int or None, default=?
        Number of rows on which candidates are compared. None is the batch size.
    projector_init : {"default", "beta"}, default=?
        "beta" draws the weights of convolutions from Beta(0.5, 0.5) scaled to [-1, 1].
    weight_dropout : float, default=?
        Share of the weights of every projector layer that are set to zero (the paper's image
        recipes: 0.4).
    loss : {"bbt", "infonce", "cosine", "mse"} or callable, default=?
        "bbt" is batch-wise Barlow Twins. A function is called with predictions and targets of
        shape (K, m, d) and returns a scalar.
    off_diagonal_weight : float, default=?
        Lambda of the loss "bbt".
    predictor : {"auto", "linear", "mlp"} or callable, default=?
        "auto" is the paper's: linear, but "mlp" for images and TCNs. A factory is called with
        (embedding_dim, target_dim).
    predictor_layers : int, default=?
        Layers of an "mlp" predictor.
    predictor_hidden : int, default=?
        Width of the hidden layers of an "mlp" predictor.
    training : {"alternating", "joint"}, default=?
        Encoder and predictors in turns (one encoder pass, `predictor_epochs` predictor passes), or
        together. If `steps` is given, each encoder step is followed by `predictor_epochs`
        predictor steps.
    predictor_epochs : int or None, default=?
        Predictor passes per encoder pass. None, as in the paper: 1 for tables, 5 for series and
        images.
    predictor_learning_rate : float or None, default=?
        Learning rate of the predictors, which stays constant whatever the schedule. None is
        `learning_rate`.
    projector : str, torch.nn.Module or callable, default=?
        As `encoder`; names for images are "cnn" and "cnn6". A module is copied, and its weights are
        drawn anew for every candidate. Candidates are drawn one at a time and dropped once they
        have been compared; those of a factory, which is called with (input_shape, output_dim), are
        all kept in memory until the selection.
    projectors : sequence of torch.nn.Module or None, default=?
        Modules to use as projectors, copied as they are. All are used, unless `n_candidates` is
        their number: then `n_projectors` of them are selected.
    predictors : sequence of torch.nn.Module or None, default=?
        Modules to use as predictors, one per projector, copied as they are.
    {encoder}
    {training}
    {data}

    Attributes
    ----------
    projectors_ : list of torch.nn.Module
        The projectors, on the CPU.
    predictors_ : list of torch.nn.Module
        The trained predictors, on the CPU.
    target_dim_ : int
        Width of the output of the projectors.
    selected_projectors_ : ndarray of shape (n_projectors,)
        Positions of the projectors among the candidates, in order of choice.
    projector_kernel_ : ndarray of shape (n_candidates, n_candidates)
        Similarity of all candidates.
    {trained attributes}

    See Also
    --------
    RandomEncoder : The same encoder without training.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import LFR
    >>> X = np.random.default_rng(0).normal(size=(50, 3, 20))  # 50 series of 3 channels
    >>> lfr = LFR(epochs=1, n_projectors=2, embedding_dim=16, random_state=0)
    >>> lfr.fit_transform(X).shape
    (50, 16)
    >>> len(lfr.projectors_), lfr.history_[0]["phase"]
    (2, 'encoder')
    """

    n_projectors: int = 6
    n_candidates: int | None = None
    selection_size: int | None = None
    projector_init: str = "default"
    weight_dropout: float = 0.0
    loss: Any = "bbt"
    off_diagonal_weight: float = 0.01
    predictor: Any = "auto"
    predictor_layers: int = 2
    predictor_hidden: int = 256
    training: str = "alternating"
    predictor_epochs: int | None = None
    predictor_learning_rate: float | None = None
    projector: Any = "auto"
    projectors: Sequence[nn.Module] | None = None
    predictors: Sequence[nn.Module] | None = None

    _projectors_spec: ClassVar[ProjectorsSpec] = ProjectorsSpec()
    _networks: ClassVar[Mapping[str, NetworkSpec]] = {
        "encoder": EncoderSpec(),
        "projectors": _projectors_spec,
        "predictors": PredictorsSpec(),
    }
    _saved_attributes: ClassVar[Sequence[str]] = (
        "embedding_dim_", "target_dim_", "selected_projectors_", "projector_kernel_",
    )  # fmt: skip

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_int("n_projectors", self.n_projectors, minimum=1)
        check_optional_int("n_candidates", self.n_candidates, minimum=1)
        check_optional_int("selection_size", self.selection_size, minimum=2)
        check_optional_int("predictor_epochs", self.predictor_epochs, minimum=0)
        lr = self.predictor_learning_rate
        check_optional_number("predictor_learning_rate", lr, 0, include_low=False)
        check_number("weight_dropout", self.weight_dropout, 0, 1)
        check_number("off_diagonal_weight", self.off_diagonal_weight, 0)
        check_choice("projector_init", self.projector_init, INITIALIZATIONS)
        check_choice("training", self.training, TRAININGS)
        if not callable(self.loss):
            check_choice("loss", self.loss, LOSSES, " or a function")
        check_modules("projectors", self.projectors)
        check_modules("predictors", self.predictors)

    def _prepare(self, context: FitContext) -> TrainingSpec:
        n_projectors, n_candidates = self._counts()
        shape = context.adapter.shape
        with seeded(context.seeds.encoder):
            network_context = NetworkContext(context.modality, shape, {}, {})
            encoder = self._networks["encoder"].build(self, network_context)
        embedding_dim = checked_output_width(encoder, shape, "encoder")
        selection = self._select_projectors(context, n_projectors, n_candidates, embedding_dim)
        target_dim = checked_output_width(selection.projectors[0], shape, "projector")
        attributes = {
            "embedding_dim_": embedding_dim,
            "target_dim_": target_dim,
            "selected_projectors_": selection.indices,
            "projector_kernel_": selection.kernel,
        }
        counts = {"predictors": n_projectors}
        network_context = NetworkContext(context.modality, shape, attributes, counts)
        with seeded(context.seeds.heads):
            bank = HeadBank(self._make_predictors(network_context))
        epochs = self.predictor_epochs
        method = lfr(
            encoder,
            selection.projectors,
            bank,
            embedding_dim=embedding_dim,
            target_dim=target_dim,
            loss=self.loss,
            off_diagonal_weight=self.off_diagonal_weight,
            training=self.training,
            predictor_epochs=context.modality.predictor_epochs if epochs is None else epochs,
            predictor_lr=self.predictor_learning_rate,
        )

        def fitted_attributes() -> dict[str, Any]:
            return {
                "encoder_": encoder,
                "projectors_": selection.projectors,
                "predictors_": [head.eval() for head in bank.separate()],
                **attributes,
            }

        return TrainingSpec(method, fitted_attributes)

    def _counts(self) -> tuple[int, int]:
        """Return the number of projectors kept and of candidates."""
        kept, drawn = self.n_projectors, self.n_candidates
        if self.projectors is not None:
            given = len(self.projectors)
            if drawn is None:
                kept = drawn = given
            elif drawn != given:
                raise ValueError(
                    f"n_candidates={drawn}, but {given} projectors are given: to select among "
                    f"them set n_candidates={given}, to use them all leave it None"
                )
        if drawn is None:
            drawn = default_n_candidates(kept)
        if kept > drawn:
            raise ValueError(
                f"n_projectors={kept} is larger than n_candidates={drawn}: "
                "no more projectors can be kept than are drawn"
            )
        if self.predictors is not None and len(self.predictors) != kept:
            raise ValueError(
                f"{len(self.predictors)} predictors are given for {kept} projectors: "
                "there must be one for each"
            )
        return kept, drawn

    def _select_projectors(
        self, context: FitContext, n_projectors: int, n_candidates: int, target_dim: int
    ) -> Selection:
        shape = context.adapter.shape
        if self.projectors is not None:
            candidates = Candidates.from_modules(copy_modules(self.projectors))
            checked_output_width(candidates[0], shape, "projector")
        else:
            network_context = NetworkContext(
                context.modality, shape, {"target_dim_": target_dim}, {}
            )
            candidates = Candidates.drawn(
                lambda: self._projectors_spec.build_one(self, network_context),
                context.seeds.projectors,
                n_candidates,
                init=self.projector_init,
                weight_dropout=self.weight_dropout,
                keep=not isinstance(self.projector, (str, nn.Module)),
            )
            if isinstance(self.projector, nn.Module):
                checked_output_width(self.projector, shape, "projector")
        rows = context.sampler.peek()[: self.selection_size or max(2, self.batch_size)]
        batch = torch.from_numpy(context.source.gather(rows.numpy()))
        return select(candidates, batch, n_projectors)

    def _make_predictors(self, context: NetworkContext) -> list[nn.Module]:
        if self.predictors is None:
            return self._networks["predictors"].build(self, context)
        heads = copy_modules(self.predictors)
        dims = context.attributes["embedding_dim_"], context.attributes["target_dim_"]
        for k, head in enumerate(heads):
            width = checked_output_width(head, (dims[0],), f"predictor {k}")
            if width != dims[1]:
                raise ValueError(
                    f"predictor {k} returns {width} features, but its projector returns {dims[1]}"
                )
        return heads
