"""From a user's choice of network (a name, a module, a factory) to a module."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from torch import nn

from aleator.networks import decoders, image, series, tcn
from aleator.networks.mlp import mlp, mlp_predictor

Factory = Callable[..., nn.Module]


def _mlp_encoder(input_shape: Sequence[int], embedding_dim: int | None = None) -> nn.Module:
    return mlp(input_shape, 256 if embedding_dim is None else embedding_dim, layers=4)


# The first name of a modality is its default. Keys are what a saved model remembers.
ENCODERS: dict[str, dict[str, Factory]] = {
    "table": {"mlp": _mlp_encoder},
    "series": {"cnn": series.cnn_encoder, "tcn": tcn.tcn_encoder, "mlp": _mlp_encoder},
    "image": {
        "resnet18": image.resnet18,
        "resnet18-small": partial(image.resnet18, stem="small"),
        "resnet18-large": partial(image.resnet18, stem="large"),
        "mlp": _mlp_encoder,
    },
}
PROJECTORS: dict[str, dict[str, Factory]] = {
    "table": {"mlp": partial(mlp, layers=2)},
    "series": {
        "cnn": series.cnn_projector,
        "tcn": tcn.tcn_projector,
        "mlp": partial(mlp, layers=2),
    },
    "image": {
        "cnn": image.cnn_projector,
        "cnn6": partial(image.cnn_projector, pairs=3),
        "mlp": partial(mlp, layers=2),
    },
}
# Under the names of the encoders that they mirror.
DECODERS: dict[str, dict[str, Factory]] = {
    "table": {"mlp": decoders.mlp_decoder},
    "series": {
        "cnn": decoders.cnn_decoder,
        "tcn": decoders.TCNDecoder,
        "mlp": decoders.mlp_decoder,
    },
    "image": {
        "resnet18": decoders.resnet_decoder,
        "resnet18-small": partial(decoders.resnet_decoder, stem="small"),
        "resnet18-large": partial(decoders.resnet_decoder, stem="large"),
        "mlp": decoders.mlp_decoder,
    },
}


def encoder_name(choice: Any, modality: str) -> str | None:
    """The registered name that a choice stands for, or None for a module or factory.

    >>> encoder_name("auto", "series")
    'cnn'
    """
    return _name(choice, ENCODERS[modality], "encoder", modality)


def projector_name(choice: Any, modality: str, encoder: str | None) -> str | None:
    """As `encoder_name`; `"auto"` is the encoder's own kind where there is one.

    >>> projector_name("auto", "series", encoder="tcn")
    'tcn'
    """
    if choice == "auto" and encoder in PROJECTORS[modality]:
        return encoder
    return _name(choice, PROJECTORS[modality], "projector", modality)


def predictor_choice(choice: Any, modality: str, encoder: str | None) -> Any:
    """What `"auto"` stands for: the paper's predictor for this kind of data and encoder.

    >>> predictor_choice("auto", "table", "mlp"), predictor_choice("auto", "image", None)
    ('linear', 'mlp')
    """
    if not (isinstance(choice, str) and choice == "auto"):
        return choice
    return "mlp" if modality == "image" or encoder == "tcn" else "linear"


def build_encoder(
    choice: Any, modality: str, input_shape: Sequence[int], embedding_dim: int | None
) -> nn.Module:
    """Make an encoder. A ready module is copied; a factory gets the input shape and dimension.

    >>> build_encoder("auto", "table", (10,), 8)[-1]
    Linear(in_features=256, out_features=8, bias=True)
    """
    if isinstance(choice, nn.Module):
        return copy.deepcopy(choice)
    name = encoder_name(choice, modality)
    factory = choice if name is None else ENCODERS[modality][name]
    return _made_by(factory, "encoder", tuple(input_shape), embedding_dim)


def build_projector(
    choice: Any, modality: str, input_shape: Sequence[int], output_dim: int, encoder: str | None
) -> nn.Module:
    """Make one random projector. A ready module is copied and its weights are drawn anew.

    >>> build_projector("auto", "series", (2, 30), 8, "cnn")[-1]
    Linear(in_features=256, out_features=8, bias=True)
    """
    if isinstance(choice, nn.Module):
        return redrawn(choice)
    name = projector_name(choice, modality, encoder)
    factory = choice if name is None else PROJECTORS[modality][name]
    return _made_by(factory, "projector", tuple(input_shape), output_dim)


def build_decoder(
    choice: Any, modality: str, embedding_dim: int, output_shape: Sequence[int], encoder: str | None
) -> nn.Module:
    """Make a decoder. `"auto"` mirrors the encoder; a factory gets the two shapes.

    >>> build_decoder("auto", "table", 8, (10,), "mlp")[0][-1]
    Linear(in_features=256, out_features=10, bias=True)
    """
    if isinstance(choice, nn.Module):
        return copy.deepcopy(choice)
    if isinstance(choice, str) and choice == "auto" and encoder in DECODERS[modality]:
        name: str | None = encoder
    else:
        name = _name(choice, DECODERS[modality], "decoder", modality)
    factory = choice if name is None else DECODERS[modality][name]
    return _made_by(factory, "decoder", embedding_dim, tuple(output_shape))


def build_predictor(
    choice: Any, input_dim: int, output_dim: int, layers: int, hidden: int
) -> nn.Module:
    """Make one predictor. A factory gets the two dimensions.

    >>> build_predictor("linear", 8, 4, layers=2, hidden=16)
    Linear(in_features=8, out_features=4, bias=True)
    """
    if choice == "linear":
        return nn.Linear(input_dim, output_dim)
    if choice == "mlp":
        return mlp_predictor(input_dim, output_dim, layers=layers, hidden=hidden)
    if isinstance(choice, str) or not callable(choice) or isinstance(choice, nn.Module):
        raise ValueError(
            f"predictor={choice!r} is not known: give 'auto', 'linear', 'mlp' or a factory "
            "(input_dim, output_dim) -> module; ready modules go into predictors=[…]"
        )
    return _made_by(choice, "predictor", input_dim, output_dim)


def redrawn(module: nn.Module) -> nn.Module:
    """A copy of `module` with all its weights drawn anew.

    >>> layer = nn.Linear(2, 2)
    >>> bool((redrawn(layer).weight == layer.weight).any())
    False
    """
    module = copy.deepcopy(module)
    for name, part in module.named_modules():
        if hasattr(part, "reset_parameters"):
            part.reset_parameters()
        elif next(part.parameters(recurse=False), None) is not None:
            raise ValueError(
                f"the projector's part {name or type(part).__name__!r} has weights but no "
                "reset_parameters(), so it cannot be drawn anew: give projector=a factory "
                "(input_shape, output_dim) -> module, or ready modules in projectors=[…]"
            )
    return module


def _made_by(factory: Factory, role: str, *arguments: Any) -> nn.Module:
    made = factory(*arguments)
    if not isinstance(made, nn.Module):
        raise ValueError(
            f"the {role} factory must return a torch.nn.Module, not {type(made).__name__}"
        )
    return made


def _name(choice: Any, known: dict[str, Factory], role: str, modality: str) -> str | None:
    if choice == "auto":
        return next(iter(known))
    if isinstance(choice, str):
        if choice in known:
            return choice
        raise ValueError(
            f"{role}={choice!r} is not known for a {modality}: give one of "
            f"{', '.join(map(repr, known))}, a torch.nn.Module or a factory of one"
        )
    if callable(choice):
        return None
    raise ValueError(
        f"{role} must be a name, a torch.nn.Module or a factory, not {type(choice).__name__}"
    )
