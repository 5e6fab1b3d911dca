"""Learning from randomness (Sui et al., ICLR 2024, section 3 and Algorithm 1).

An encoder is trained so that simple heads can predict, from its output, the outputs of random
projectors of the input. Encoder and heads take turns (expectation and maximization), or are trained
together. The paper's projectors are networks with random weights. By default they are random
features that are drawn from the data, and the encoder begins with features of the same kind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from torch import nn

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
from aleator.methods import paper_recipes
from aleator.methods.lfr_phases import LOSSES, TRAININGS, lfr
from aleator.methods.lfr_projectors import (
    are_drawn_from_data,
    projector_counts,
    select_projectors,
)
from aleator.methods.lfr_start import fit_on_sample
from aleator.modalities.spec import RANDOM_FEATURES
from aleator.networks.frozen_front import FrozenFront
from aleator.networks.shapes import checked_output_width
from aleator.projectors import INITIALIZATIONS
from aleator.projectors.feature_encoder import FeatureEncoder
from aleator.projectors.target_scaling import TARGET_SCALINGS
from aleator.training.devices import seeded
from aleator.training.head_bank import HeadBank
from aleator.training.plan import Duration
from aleator.validation import (
    check_choice,
    check_int,
    check_number,
    check_optional_int,
    check_optional_number,
)

# The defaults of projectors that are drawn from the data, and of encoders that begin with random
# features. The training is `_EPOCHS` passes over the data, but at most `_MOST_STEPS` steps; more
# passes over a small set only fit it better.
TARGET_DIM = 256
_LEARNING_RATE = 1e-3
_EPOCHS, _MOST_STEPS = 20, 500


def default_duration(n_samples: int, batch_size: int) -> Duration:
    """Return how long LFR is trained if neither `epochs` nor `steps` is given.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    batch_size : int
        Samples per step.

    Returns
    -------
    Duration

    Examples
    --------
    >>> default_duration(20_000, batch_size=256)
    Duration(count=6, by_steps=False)
    """
    epochs = min(_EPOCHS, _MOST_STEPS // math.ceil(n_samples / batch_size))
    return Duration(epochs) if epochs else Duration(_MOST_STEPS, by_steps=True)


@estimator
class LFR(TrainedLearner):
    """Learning from randomness: representations without labels and without augmentations.

    Random functions of the data (projectors) are drawn. An encoder is trained so that simple heads
    (predictors) can predict the outputs of the projectors from its output. Sui et al.,
    Self-supervised Representation Learning from Random Data Projectors, ICLR 2024.

    With the defaults, projectors are random features drawn from the data: convolutions and
    subsequences for series, patches for images, trees for tables, beside sums if columns are of
    several kinds, similarity to documents and counts of vocabularies for texts, random networks and
    walks for graphs. The encoder begins with features of the same kind, continues with a linear map
    of them, and ends with a small network. Map and predictors have an exact solution on a sample of
    the data, from which the training of the network departs; features and map are computed once.
    `LFR.paper` has the settings of the paper, whose projectors and encoders are networks.

    Parameters
    ----------
    n_projectors : int, default=?
        Number of projectors that are kept (the paper's K).
    n_candidates : int or None, default=?
        Number of projectors that are drawn (N), of which a diverse few are kept. N = K switches
        selection off. None is 10 K for networks, and K for other projectors.
    n_extra_projectors : int or None, default=?
        Number of further projectors. The linear part of the default encoder is solved for them too;
        with other encoders they are not used. None is 3 K for tables and images, and 0 for other
        data.
    selection_size : int or None, default=?
        Number of rows on which candidates are compared. None is the batch size.
    projector_init : {"default", "beta"}, default=?
        "beta" draws the weights of convolutional networks from Beta(0.5, 0.5) scaled to [-1, 1].
    weight_dropout : float, default=?
        Share of the weights of every layer of a network that are set to zero (the paper's image
        recipes: 0.4).
    target_dim : int or None, default=?
        Width of the output of a projector. None is the width of the embedding for networks, and 256
        for other projectors.
    target_scaling : {"auto", None, "standardize", "whiten"}, default=?
        What happens to the outputs of projectors before they are predicted. "standardize" scales
        every output to zero mean and unit variance, "whiten" also removes the correlations of the
        outputs of a projector. "auto" is None for networks, and "standardize" for other projectors.
    loss : {"auto", "bbt", "infonce", "cosine", "mse"} or callable, default=?
        "bbt" is batch-wise Barlow Twins. "auto" is "bbt", as in the paper, if a projector is a
        network, and "mse" otherwise. A function is called with predictions and targets of
        shape (K, m, d) and returns a scalar.
    off_diagonal_weight : float, default=?
        Lambda of the loss "bbt".
    predictor : {"auto", "linear", "mlp"} or callable, default=?
        "auto" is linear, but "mlp" for ResNets, TCNs and encoders of your own for images, as in the
        paper. A factory is called with (embedding_dim, target_dim).
    predictor_layers : int, default=?
        Layers of an "mlp" predictor.
    predictor_hidden : int, default=?
        Width of the hidden layers of an "mlp" predictor.
    training : {"alternating", "joint"}, default=?
        Encoder and predictors together, or in turns as in the paper (one encoder pass,
        `predictor_epochs` predictor passes). If `steps` is given, each encoder step is followed by
        `predictor_epochs` predictor steps.
    predictor_epochs : int or None, default=?
        Predictor passes per encoder pass. None, as in the paper: 1 for tables, 5 for series and
        images.
    predictor_learning_rate : float or None, default=?
        Learning rate of the predictors, which stays constant whatever the schedule. None is
        `learning_rate`.
    projector : str, torch.nn.Module, callable, or sequence of them, default=?
        Kind of the projectors; candidates are drawn from several kinds in turn. Drawn from the
        data: "convolutions", "hydra", "subsequences" and "spectrum" for series ("summaries", but
        not "spectrum", for those of different lengths or with gaps); "patches" and
        "deep-patches" for images; "trees", "fourier", "landmarks" and "sums" for tables;
        "documents" and "vocabularies" for texts; "gin" and "walks" for graphs; for several parts
        those of every part, with its name in front, such as "scan/patches", and "joint-fourier"
        and "joint-trees", of all parts.
        "random-features" stands for those of them that did best. Networks: "auto" (of the kind of
        the encoder), "mlp", "cnn" and so on; names for images are "cnn" and "cnn6". A module is
        copied, and its weights are drawn anew for every candidate. A factory is called with
        (input_shape, output_dim) and, if it has a parameter `sample`, with up to 4096 samples of
        the training data (12 288 of images).
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
    RandomFeatures : Random features without training.
    RandomEncoder : An encoder without training.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator import LFR
    >>> X = np.random.default_rng(0).normal(size=(50, 3, 20))  # 50 series of 3 channels
    >>> lfr = LFR(epochs=1, n_projectors=2, embedding_dim=16, random_state=0)
    >>> lfr.fit_transform(X).shape
    (50, 16)
    >>> len(lfr.projectors_), lfr.history_[0]["phase"]
    (2, 'joint')
    """

    encoder: Any = RANDOM_FEATURES
    epochs: int | None = None  # type: ignore[assignment]
    batch_size: int = 256
    schedule: str = "cosine"
    n_projectors: int = 16
    n_candidates: int | None = None
    n_extra_projectors: int | None = None
    selection_size: int | None = None
    projector_init: str = "default"
    weight_dropout: float = 0.0
    target_dim: int | None = None
    target_scaling: str | None = "auto"
    loss: Any = "auto"
    off_diagonal_weight: float = 0.01
    predictor: Any = "auto"
    predictor_layers: int = 2
    predictor_hidden: int = 256
    training: str = "joint"
    predictor_epochs: int | None = None
    predictor_learning_rate: float | None = None
    projector: Any = RANDOM_FEATURES
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

    @classmethod
    def paper(cls, dataset: str | None = None, **parameters: Any) -> Self:
        """Create an LFR with the settings of the paper.

        Parameters
        ----------
        dataset : str, default=None
            Data set of the paper: "cifar10", "epilepsy", "fault-a" to "fault-d", "har", "hepmass",
            "income", "kvasir", "mimic3", "theorem"; also "kvasir-v1" and "physionet2012", which
            take the place of data that are not public. None has the settings that all recipes
            share, with the network of the paper for the kind of data.
        **parameters : object
            Parameters that are different.

        Returns
        -------
        LFR
            An estimator that is not fitted.

        Examples
        --------
        >>> from aleator import LFR
        >>> LFR.paper("har", epochs=10).encoder
        'cnn'
        """
        if dataset is not None and dataset not in paper_recipes.RECIPES:
            known = ", ".join(map(repr, paper_recipes.RECIPES))
            raise ValueError(f"there is no recipe for {dataset!r}: give one of {known}")
        recipe = {} if dataset is None else paper_recipes.RECIPES[dataset]
        return cls(**{**paper_recipes.DEFAULTS, **recipe, **parameters})

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_int("n_projectors", self.n_projectors, minimum=1)
        check_optional_int("n_candidates", self.n_candidates, minimum=1)
        check_optional_int("n_extra_projectors", self.n_extra_projectors, minimum=0)
        check_optional_int("selection_size", self.selection_size, minimum=2)
        check_optional_int("target_dim", self.target_dim, minimum=1)
        check_optional_int("predictor_epochs", self.predictor_epochs, minimum=0)
        lr = self.predictor_learning_rate
        check_optional_number("predictor_learning_rate", lr, 0, include_low=False)
        check_number("weight_dropout", self.weight_dropout, 0, 1)
        check_number("off_diagonal_weight", self.off_diagonal_weight, 0)
        check_choice("projector_init", self.projector_init, INITIALIZATIONS)
        if self.target_scaling is not None:
            scalings = ("auto", *TARGET_SCALINGS)
            check_choice("target_scaling", self.target_scaling, scalings, " or None")
        check_choice("training", self.training, TRAININGS)
        if not callable(self.loss):
            check_choice("loss", self.loss, ("auto", *LOSSES), " or a function")
        check_modules("projectors", self.projectors)
        check_modules("predictors", self.predictors)

    def _prepare(self, context: FitContext) -> TrainingSpec:
        drawn_from_data = are_drawn_from_data(self, context.modality)
        shape = context.adapter.shape
        with seeded(context.seeds.encoder):
            encoder = self._networks["encoder"].build(self, context.network_context({}))
        counts = projector_counts(
            self,
            context.modality,
            drawn_from_data=drawn_from_data,
            solvable=isinstance(encoder, FeatureEncoder),
        )
        embedding_dim = checked_output_width(encoder, shape, "encoder")
        target_dim = self.target_dim or (TARGET_DIM if drawn_from_data else embedding_dim)
        selection, extra = select_projectors(
            self, self._projectors_spec, context, counts, target_dim
        )
        target_dim = checked_output_width(selection.projectors[0], shape, "projector")
        attributes = {
            "embedding_dim_": embedding_dim,
            "target_dim_": target_dim,
            "selected_projectors_": selection.indices,
            "projector_kernel_": selection.kernel,
        }
        network_context = context.network_context(attributes, {"predictors": counts.kept})
        with seeded(context.seeds.heads):
            predictors = self._make_predictors(network_context)
        scaling = fit_on_sample(
            context,
            encoder,
            selection.projectors,
            extra,
            [] if self.predictors else predictors,
            self._resolve_target_scaling(drawn_from_data),
        )
        bank = HeadBank(predictors)
        epochs = self.predictor_epochs
        method = lfr(
            encoder,
            selection.projectors,
            bank,
            embedding_dim=embedding_dim,
            target_dim=target_dim,
            loss=self._resolve_loss(drawn_from_data),
            off_diagonal_weight=self.off_diagonal_weight,
            training=self.training,
            predictor_epochs=context.modality.predictor_epochs if epochs is None else epochs,
            predictor_lr=self.predictor_learning_rate,
            target_scaling=scaling,
            n_features=(
                checked_output_width(encoder.front, shape, "front of the encoder")
                if isinstance(encoder, FrozenFront)
                else None
            ),
        )

        def fitted_attributes() -> dict[str, Any]:
            return {
                "encoder_": encoder,
                "projectors_": selection.projectors,
                "predictors_": [head.eval() for head in bank.separate()],
                **attributes,
            }

        return TrainingSpec(method, fitted_attributes)

    def _resolve_loss(self, drawn_from_data: bool) -> Any:
        if isinstance(self.loss, str) and self.loss == "auto":
            return "mse" if drawn_from_data else "bbt"
        return self.loss

    def _resolve_target_scaling(self, drawn_from_data: bool) -> str | None:
        if self.target_scaling == "auto":
            return "standardize" if drawn_from_data else None
        return self.target_scaling

    def _check_epochs(self) -> None:
        check_optional_int("epochs", self.epochs, minimum=0)

    def _duration(self, context: FitContext) -> Duration:
        if self.steps is not None or self.epochs is not None:
            return super()._duration(context)
        batch_size = self.batch_size * context.processes.size
        return default_duration(context.sampler.length, batch_size)

    def _default_learning_rate(self, context: FitContext) -> float:
        encoder = self.encoder
        has_features = bool(context.modality.random_features)
        if has_features and isinstance(encoder, str) and encoder == RANDOM_FEATURES:
            return _LEARNING_RATE
        return super()._default_learning_rate(context)

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
