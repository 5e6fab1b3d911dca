"""What there is to know about one kind of data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torch import nn

from aleator.inputs import ArrayLayout, Source
from aleator.networks.projection_head import HeadShape
from aleator.projectors.feature_encoder import feature_encoder

Factory = Callable[..., nn.Module]
RANDOM_FEATURES = "random-features"
ViewPair = tuple[nn.Module, nn.Module]


@dataclass(frozen=True)
class Modality:
    """A kind of data: how it is recognized, its networks, its views and its defaults.

    The first name of `encoders` and of `projectors` is the default; names are stored in saved
    models.

    Parameters
    ----------
    layout : ArrayLayout
        Name, axes and messages.
    encoders : mapping of str to callable
        Factories ``(input_shape, embedding_dim) -> module``.
    projectors : mapping of str to callable
        Factories ``(input_shape, output_dim) -> module``. A factory that has a parameter `sample`
        also gets samples of the training data, or None when a saved model is loaded.
    random_features : sequence of str, default=()
        Projectors behind the name "random-features", which are drawn from samples. If there are
        any, there is also an encoder of that name; else the name stands for "auto".
    encoder_families : sequence of str, default=()
        Projectors that this encoder begins with, if they are not all of `random_features`.
    encoder_features : int, default=4096
        Number of random features of that encoder.
    encoder_dim : int, default=512
        Usual width of its embedding.
    sampled_rows : int, default=4096
        Most samples of the training data from which projectors and features are drawn, and the
        linear part of that encoder is solved.
    extra_projectors : int, default=0
        What LFR's ``n_extra_projectors=None`` stands for, for each projector that is kept.
    decoders : mapping of str to callable, default={}
        Factories ``(embedding_dim, output_shape) -> module``, under the names of the encoders that
        they reverse.
    default_encoder : callable, default=None
        Function of the shape of a sample that returns the name behind ``encoder="auto"``. None is
        the first of `encoders`.
    mlp_predictor_for : container of str or None, default=()
        Encoders with which ``predictor="auto"`` is "mlp" instead of "linear"; None stands for an
        encoder given by the user.
    projection_head : HeadShape, default=HeadShape(2, 256)
        Projection head of the methods that compare views.
    make_views : callable, default=None
        Function ``(source, options) -> (view, view)`` behind ``views="auto"``.
    view_options : sequence of str, default=()
        Names of the options of `make_views`.
    augments_single_views : bool, default=False
        Whether methods that use one view of a sample augment it by default.
    learning_rate : float, default=1e-3
        What ``learning_rate=None`` stands for.
    predictor_epochs : int, default=1
        What LFR's ``predictor_epochs=None`` stands for.
    inferred : bool, default=True
        Whether ``modality="auto"`` selects this kind for arrays of its rank.

    Examples
    --------
    >>> from aleator.modalities import get_modality
    >>> get_modality("series").encoder_name("auto", (9, 128))
    'cnn'
    """

    layout: ArrayLayout
    encoders: Mapping[str, Factory]
    projectors: Mapping[str, Factory]
    random_features: Sequence[str] = ()
    encoder_families: Sequence[str] = ()
    encoder_features: int = 4096
    encoder_dim: int = 512
    sampled_rows: int = 4096
    extra_projectors: int = 0
    decoders: Mapping[str, Factory] = field(default_factory=dict)
    default_encoder: Callable[[Sequence[int]], str] | None = None
    mlp_predictor_for: Sequence[str | None] = ()
    projection_head: HeadShape = HeadShape(layers=2, hidden=256)  # noqa: RUF009 (it is frozen)
    make_views: Callable[[Source, Mapping[str, Any]], ViewPair] | None = None
    view_options: Sequence[str] = ()
    augments_single_views: bool = False
    learning_rate: float = 1e-3
    predictor_epochs: int = 1
    inferred: bool = True

    @property
    def name(self) -> str:
        """Name of the kind of data."""
        return self.layout.name

    @property
    def encoder_factories(self) -> Mapping[str, Factory]:
        """The encoders, and the one that begins with random features, if there are any.

        Examples
        --------
        >>> from aleator.modalities import get_modality
        >>> list(get_modality("table").encoder_factories)
        ['mlp', 'mlp-hidden', 'random-features']
        """
        if not self.random_features:
            return self.encoders
        names = self.encoder_families or self.random_features
        families = [self.projectors[name] for name in names]
        begins_with_features = partial(
            feature_encoder,
            families=families,
            n_features=self.encoder_features,
            default_dim=self.encoder_dim,
        )
        return {**self.encoders, RANDOM_FEATURES: begins_with_features}

    def encoder_name(self, choice: Any, input_shape: Sequence[int]) -> str | None:
        """Resolve the choice of an encoder to its registered name.

        Parameters
        ----------
        choice : str, torch.nn.Module or callable
            The parameter `encoder` of an estimator.
        input_shape : sequence of int
            Shape of a sample.

        Returns
        -------
        str or None
            None for a module or a factory.
        """
        if choice == RANDOM_FEATURES and not self.random_features:
            choice = "auto"
        if isinstance(choice, str) and choice == "auto" and self.default_encoder is not None:
            return self.default_encoder(input_shape)
        return self.resolve_name(choice, "encoder", self.encoder_factories)

    def projector_choices(self, choice: Any) -> list[Any]:
        """List the alternatives of a choice of projectors.

        Parameters
        ----------
        choice : str, torch.nn.Module, callable, or a sequence of them
            The parameter `projector` of an estimator.

        Returns
        -------
        list of str, torch.nn.Module or callable
            Candidates are drawn from these in turn.

        Examples
        --------
        >>> from aleator.modalities import get_modality
        >>> get_modality("series").projector_choices("random-features")
        ['convolutions', 'subsequences']
        """
        if choice == RANDOM_FEATURES:
            return list(self.random_features) or ["auto"]
        if isinstance(choice, (list, tuple)) and not isinstance(choice, nn.Module):
            if not choice:
                raise ValueError("projector must name at least one kind of projectors")
            return [name for part in choice for name in self.projector_choices(part)]
        return [choice]

    def projector_name(self, choice: Any, encoder: str | None) -> str | None:
        """Resolve the choice of a projector; "auto" is the encoder's own kind where there is one.

        Parameters
        ----------
        choice : str, torch.nn.Module or callable
            The parameter `projector` of an estimator.
        encoder : str or None
            Registered name of the encoder.

        Returns
        -------
        str or None
            None for a module or a factory.
        """
        if isinstance(choice, str) and choice == "auto" and encoder in self.projectors:
            return encoder
        return self.resolve_name(choice, "projector", self.projectors)

    def resolve_name(self, choice: Any, role: str, known: Mapping[str, Factory]) -> str | None:
        """Check a choice against registered names; "auto" is the first of them.

        Parameters
        ----------
        choice : str, torch.nn.Module or callable
            What the user chose.
        role : str
            Name of the parameter for messages.
        known : mapping of str to callable
            Registered factories.

        Returns
        -------
        str or None
            None for a module or a factory.
        """
        if isinstance(choice, str):
            if choice == "auto" and known:
                return next(iter(known))
            if choice in known:
                return choice
            names = "".join(f"{name!r}, " for name in known)
            raise ValueError(
                f"{role}={choice!r} is not known for modality {self.name!r}: give one of "
                f"{names}a torch.nn.Module or a factory of one"
            )
        if callable(choice):
            return None
        raise ValueError(
            f"{role} must be a name, a torch.nn.Module or a factory, got {type(choice).__name__}"
        )
