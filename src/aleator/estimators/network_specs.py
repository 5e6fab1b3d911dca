"""Networks of estimators, declared in tables.

An estimator lists its networks as specs: `{"encoder": EncoderSpec(), ...}`. A spec knows which
parameters of the estimator choose the network, checks them, and builds it: before training, and
again when a saved model is loaded.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from torch import nn

from aleator.modalities import Modality
from aleator.modalities.choices import (
    Sample,
    build_decoder,
    build_encoder,
    build_predictor,
    build_projector,
)
from aleator.networks.projection_head import NORMS, HeadShape, projection_head
from aleator.projectors.feature_bank import FeatureBank, draw_families
from aleator.validation import check_choice, check_int, check_optional_int


@dataclass(frozen=True)
class NetworkContext:
    """What a network depends on besides the parameters of its estimator.

    Attributes
    ----------
    modality : Modality
        Kind of data.
    input_shape : tuple of int
        Shape of a sample.
    attributes : mapping of str to object
        Fitted attributes that are known already, for example `embedding_dim_`.
    counts : mapping of str to int or None
        Number of modules of networks that are lists.
    sample : callable or None
        Reads samples of the training data; None when a saved model is loaded.
    """

    modality: Modality
    input_shape: tuple[int, ...]
    attributes: Mapping[str, Any]
    counts: Mapping[str, int | None]
    sample: Sample | None = None


class NetworkSpec:
    """One network of an estimator.

    Attributes
    ----------
    parameters : tuple of str
        Parameters by which a user can pass a module or factory of their own, which a saved model
        cannot hold.
    """

    parameters: tuple[str, ...] = ()

    def check(self, estimator: Any) -> None:
        """Raise ValueError if a parameter of the estimator is wrong."""

    def build(self, estimator: Any, context: NetworkContext) -> Any:
        """Build the network, untrained: a module or a list of modules."""
        raise NotImplementedError


class EncoderSpec(NetworkSpec):
    """The encoder, chosen by `encoder` and `embedding_dim`."""

    parameters = ("encoder",)

    def check(self, estimator: Any) -> None:
        """Check `embedding_dim`."""
        check_optional_int("embedding_dim", estimator.embedding_dim, minimum=1)

    def build(self, estimator: Any, context: NetworkContext) -> nn.Module:
        """Build the encoder."""
        return build_encoder(
            context.modality,
            estimator.encoder,
            context.input_shape,
            estimator.embedding_dim,
            context.sample,
        )


class RandomFeaturesSpec(NetworkSpec):
    """Random features, chosen by `projector`, `n_features` and `n_components`."""

    parameters = ("projector",)

    def check(self, estimator: Any) -> None:
        """Check the numbers of features and of components."""
        check_int("n_features", estimator.n_features, minimum=1)
        check_optional_int("n_components", estimator.n_components, minimum=1)

    def build(self, estimator: Any, context: NetworkContext) -> nn.Module:
        """Draw the features."""
        choices = context.modality.projector_choices(estimator.projector)
        families = [partial(build_projector, context.modality, choice) for choice in choices]
        sample = None if context.sample is None else context.sample(on_device=True)
        modules = draw_families(families, context.input_shape, estimator.n_features, context.sample)
        if sample is None:
            return FeatureBank(modules)
        if estimator.n_components is not None:
            most = min(len(sample), estimator.n_features)
            if estimator.n_components > most:
                raise ValueError(
                    f"n_components={estimator.n_components} is larger than {most}, the smaller of "
                    f"the numbers of features ({estimator.n_features}) and of samples from which "
                    f"they are drawn ({len(sample)})"
                )
        return FeatureBank.fit(modules, sample, estimator.n_components).cpu()


class FlattenSpec(NetworkSpec):
    """An encoder that flattens samples and has no parameters."""

    def build(self, estimator: Any, context: NetworkContext) -> nn.Module:
        """Build the encoder."""
        return nn.Flatten()


class DecoderSpec(NetworkSpec):
    """The decoder, chosen by `decoder`."""

    parameters = ("decoder",)

    def build(self, estimator: Any, context: NetworkContext) -> nn.Module:
        """Build the decoder."""
        return build_decoder(
            context.modality,
            estimator.decoder,
            context.attributes["embedding_dim_"],
            context.input_shape,
            encoder_name(estimator, context),
        )


class ClassifierSpec(NetworkSpec):
    """A linear layer from the embedding to the classes."""

    def build(self, estimator: Any, context: NetworkContext) -> nn.Module:
        """Build the layer."""
        attributes = context.attributes
        return nn.Linear(attributes["embedding_dim_"], len(attributes["classes_"]))


@dataclass(frozen=True)
class ProjectionHeadSpec(NetworkSpec):
    """The projection head, chosen by the parameters that begin with `projector_`.

    Parameters
    ----------
    unspecified_norm : str, default="none"
        Normalization under ``projector_norm="auto"`` where the paper does not mention one.
    """

    unspecified_norm: str = "none"

    def check(self, estimator: Any) -> None:
        """Check the parameters of the head."""
        check_optional_int("projector_layers", estimator.projector_layers, minimum=1)
        check_optional_int("projector_hidden", estimator.projector_hidden, minimum=1)
        check_optional_int("projector_dim", estimator.projector_dim, minimum=1)
        check_choice("projector_norm", estimator.projector_norm, ("auto", *NORMS))

    def build(self, estimator: Any, context: NetworkContext) -> nn.Module:
        """Build the head."""
        shape = self.shape(estimator, context.modality)
        output_dim = self.output_dim(estimator, context)
        return projection_head(context.attributes["embedding_dim_"], shape, output_dim)

    def output_dim(self, estimator: Any, context: NetworkContext) -> int:
        """Resolve the width of the output."""
        return estimator.projector_dim or context.attributes["embedding_dim_"]

    def shape(self, estimator: Any, modality: Modality) -> HeadShape:
        """Resolve the architecture of the head."""
        shape = modality.projection_head
        if estimator.projector_norm != "auto":
            shape = replace(shape, norm=estimator.projector_norm)
        elif shape.norm == "none":
            shape = replace(shape, norm=self.unspecified_norm)
        if estimator.projector_layers is not None:
            shape = replace(shape, layers=estimator.projector_layers)
        if estimator.projector_hidden is not None:
            shape = replace(shape, hidden=estimator.projector_hidden)
        return shape


class PredictorSpec(NetworkSpec):
    """The predictor after the projection head, chosen by the parameters `predictor…`."""

    parameters = ("predictor",)

    def check(self, estimator: Any) -> None:
        """Check the parameters of an "mlp" predictor."""
        _check_predictor(estimator)

    def build(self, estimator: Any, context: NetworkContext) -> nn.Module:
        """Build the predictor."""
        width = ProjectionHeadSpec().output_dim(estimator, context)
        return _build_predictor(estimator, context, (width, width))


class PredictorsSpec(NetworkSpec):
    """LFR's predictors, one per projector, chosen by `predictor…` or passed as `predictors`."""

    parameters = ("predictor", "predictors")

    def check(self, estimator: Any) -> None:
        """Check the parameters of "mlp" predictors."""
        _check_predictor(estimator)

    def build(self, estimator: Any, context: NetworkContext) -> list[nn.Module]:
        """Build the predictors."""
        attributes = context.attributes
        dims = attributes["embedding_dim_"], attributes["target_dim_"]
        count = context.counts["predictors"] or 0
        return [_build_predictor(estimator, context, dims) for _ in range(count)]


class ProjectorsSpec(NetworkSpec):
    """LFR's projectors, chosen by `projector` or passed as `projectors`."""

    parameters = ("projector", "projectors")

    def build(self, estimator: Any, context: NetworkContext) -> list[nn.Module]:
        """Build the projectors that were selected."""
        selected = context.attributes["selected_projectors_"]
        return [self.build_one(estimator, context, int(position)) for position in selected]

    def build_one(self, estimator: Any, context: NetworkContext, position: int) -> nn.Module:
        """Build the candidate at a position, from torch's global generator."""
        choices = context.modality.projector_choices(estimator.projector)
        return build_projector(
            context.modality,
            choices[position % len(choices)],
            context.input_shape,
            context.attributes["target_dim_"],
            context.sample,
            encoder_name(estimator, context),
        )


def encoder_name(estimator: Any, context: NetworkContext) -> str | None:
    """Return the registered name of an estimator's encoder; None for a module or a factory."""
    if not isinstance(estimator.encoder, str):
        return None
    return context.modality.encoder_name(estimator.encoder, context.input_shape)


def check_modules(name: str, modules: Any) -> None:
    """Check a parameter that is None or a list of modules."""
    if modules is None:
        return
    if isinstance(modules, nn.Module) and not isinstance(modules, nn.ModuleList):
        raise ValueError(f"{name} must be a list of modules: pass {name}=[module]")
    if len(modules) == 0 or not all(isinstance(module, nn.Module) for module in modules):
        raise ValueError(f"{name} must be a list of torch.nn.Modules that is not empty")


def copy_modules(modules: Any) -> list[nn.Module]:
    """Copy modules of the user, which are never changed."""
    return [copy.deepcopy(module).float() for module in modules]


def _check_predictor(estimator: Any) -> None:
    check_int("predictor_layers", estimator.predictor_layers, minimum=1)
    check_int("predictor_hidden", estimator.predictor_hidden, minimum=1)


def _build_predictor(estimator: Any, context: NetworkContext, dims: tuple[int, int]) -> nn.Module:
    return build_predictor(
        context.modality,
        estimator.predictor,
        dims,
        encoder_name(estimator, context),
        layers=estimator.predictor_layers,
        hidden=estimator.predictor_hidden,
    )
