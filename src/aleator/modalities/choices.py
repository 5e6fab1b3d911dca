"""From a user's choice (a name, a module, a factory or a function) to a module."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from torch import Tensor, nn

from aleator.inputs import Source
from aleator.modalities.spec import Factory, Modality, ViewPair
from aleator.networks.mlp import mlp_predictor
from aleator.views.user_view import RandomChoice, UserView


class Sample(Protocol):
    """Reads samples of the training data when a factory asks for them."""

    def __call__(self, *, on_device: bool = False) -> Tensor:
        """Return the samples, on the CPU or on the device of the training."""


SINGLE_VIEWS = ("auto", "either")


def build_encoder(
    modality: Modality,
    choice: Any,
    input_shape: Sequence[int],
    embedding_dim: int | None,
    sample: Sample | None = None,
) -> nn.Module:
    """Build an encoder. A module is copied; a factory gets the input shape and the dimension.

    A factory with a parameter `sample` also gets samples of the training data, or None when a saved
    model is loaded.

    Examples
    --------
    >>> from aleator.modalities import get_modality
    >>> build_encoder(get_modality("table"), "auto", (10,), 8)[-1]
    Linear(in_features=256, out_features=8, bias=True)
    """
    if isinstance(choice, nn.Module):
        return copy.deepcopy(choice).float()
    name = modality.encoder_name(choice, input_shape)
    factory = choice if name is None else modality.encoder_factories[name]
    on_device = name is not None
    return _call(
        factory, "encoder", tuple(input_shape), embedding_dim, sample=sample, on_device=on_device
    )


def build_projector(
    modality: Modality,
    choice: Any,
    input_shape: Sequence[int],
    output_dim: int,
    sample: Sample | None = None,
    encoder: str | None = None,
) -> nn.Module:
    """Build a random projector. A module is copied and its weights are drawn anew.

    A factory gets the input shape and the dimension and, if it has a parameter `sample`, samples of
    the training data.

    Examples
    --------
    >>> from aleator.modalities import get_modality
    >>> build_projector(get_modality("series"), "auto", (2, 30), 8, encoder="cnn")[-1]
    Linear(in_features=256, out_features=8, bias=True)
    """
    if isinstance(choice, nn.Module):
        return redraw(choice).float()
    name = modality.projector_name(choice, encoder)
    factory = choice if name is None else modality.projectors[name]
    on_device = name is not None
    return _call(
        factory, "projector", tuple(input_shape), output_dim, sample=sample, on_device=on_device
    )


def is_drawn_from_data(modality: Modality, choice: Any) -> bool:
    """Whether a projector is drawn from samples of the data.

    Examples
    --------
    >>> from aleator.modalities import get_modality
    >>> [is_drawn_from_data(get_modality("table"), name) for name in ("trees", "mlp")]
    [True, False]
    """
    if isinstance(choice, str):
        return choice in modality.projectors and "sample" in _parameters(
            modality.projectors[choice]
        )
    return not isinstance(choice, nn.Module) and "sample" in _parameters(choice)


def build_decoder(
    modality: Modality,
    choice: Any,
    embedding_dim: int,
    output_shape: Sequence[int],
    encoder: str | None,
) -> nn.Module:
    """Build a decoder. "auto" reverses the encoder; a factory gets the dimension and the shape.

    Examples
    --------
    >>> from aleator.modalities import get_modality
    >>> build_decoder(get_modality("table"), "auto", 8, (10,), "mlp")[0][-1]
    Linear(in_features=256, out_features=10, bias=True)
    """
    if isinstance(choice, nn.Module):
        return copy.deepcopy(choice).float()
    if isinstance(choice, str) and choice == "auto" and encoder in modality.decoders:
        name: str | None = encoder
    else:
        name = modality.resolve_name(choice, "decoder", modality.decoders)
    factory = choice if name is None else modality.decoders[name]
    return _call(factory, "decoder", embedding_dim, tuple(output_shape))


def build_predictor(
    modality: Modality,
    choice: Any,
    dims: tuple[int, int],
    encoder: str | None,
    *,
    layers: int,
    hidden: int,
) -> nn.Module:
    """Build a predictor from the first to the second dimension. A factory gets both.

    "auto" is the paper's choice for the modality and the encoder.

    Examples
    --------
    >>> from aleator.modalities import get_modality
    >>> build_predictor(get_modality("table"), "auto", (8, 4), "mlp", layers=2, hidden=16)
    Linear(in_features=8, out_features=4, bias=True)
    """
    if isinstance(choice, str) and choice == "auto":
        choice = "mlp" if encoder in modality.mlp_predictor_for else "linear"
    if isinstance(choice, str) and choice == "linear":
        return nn.Linear(*dims)
    if isinstance(choice, str) and choice == "mlp":
        return mlp_predictor(*dims, layers=layers, hidden=hidden)
    if isinstance(choice, (str, nn.Module)) or not callable(choice):
        raise ValueError(
            f"predictor={choice!r} is not known: give 'auto', 'linear', 'mlp' or a factory "
            "(input_dim, output_dim) -> module; pass modules as predictors=[…]"
        )
    return _call(choice, "predictor", *dims)


def make_view_pair(
    modality: Modality, choice: Any, source: Source, options: Mapping[str, Any] | None = None
) -> ViewPair:
    """Make two views: those of the modality ("auto"), or the user's own.

    `options` adjusts the views of the modality.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator.inputs import ArraySource
    >>> from aleator.modalities import get_modality
    >>> data = ArraySource(np.zeros((2, 1, 9), np.float32))
    >>> [type(view).__name__ for view in make_view_pair(get_modality("series"), "auto", data)]
    ['RandomScaling', 'SegmentPermutation']
    """
    if isinstance(choice, str):
        if choice != "auto":
            raise ValueError(f"views={choice!r} is not known: give 'auto', a function or two")
        if modality.make_views is None:
            raise ValueError(
                f"there are no built-in views for {modality.layout.plural}: pass views=a function "
                "of a batch, or two of them"
            )
        for name in options or {}:
            if name not in modality.view_options:
                known = ", ".join(modality.view_options)
                raise ValueError(
                    f"view_options has {name!r}, which is not an option of the views of "
                    f"{modality.layout.plural}; the options are {known}"
                )
        return modality.make_views(source, dict(options or {}))
    if options:
        raise ValueError("view_options adjusts the built-in views: leave views at 'auto'")
    given = list(choice) if isinstance(choice, (tuple, list)) else [choice, choice]
    if len(given) != 2 or not all(callable(function) for function in given):
        raise ValueError("views must be 'auto', a function of a batch, or two of them")
    return UserView(given[0]), UserView(given[1])


def make_single_view(
    modality: Modality, choice: Any, source: Source, options: Mapping[str, Any] | None = None
) -> nn.Module:
    """Make one view of each sample, or none.

    "auto" augments only modalities that say so; "either" takes one of the modality's two views at
    random; None changes nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator.inputs import ArraySource
    >>> from aleator.modalities import get_modality
    >>> make_single_view(get_modality("table"), "auto", ArraySource(np.zeros((2, 3), np.float32)))
    Identity()
    """
    named = choice if isinstance(choice, str) else None
    if named == "either" or (named == "auto" and modality.augments_single_views):
        first, second = make_view_pair(modality, "auto", source, options)
        return first if first is second else RandomChoice(first, second)
    if options:
        raise ValueError(
            f"view_options adjusts the built-in views, but views={choice!r} uses none for "
            f"{modality.layout.plural}: set views='either', or leave view_options out"
        )
    if choice is None or named == "auto":
        return nn.Identity()
    if not callable(choice):
        raise ValueError(f"views must be 'auto', None or a function of a batch, got {choice!r}")
    return UserView(choice)


def redraw(module: nn.Module) -> nn.Module:
    """Copy a module and draw all its weights anew.

    Examples
    --------
    >>> layer = nn.Linear(2, 2)
    >>> bool((redraw(layer).weight == layer.weight).any())
    False
    """
    module = copy.deepcopy(module)
    for name, part in module.named_modules():
        if hasattr(part, "reset_parameters"):
            part.reset_parameters()
        elif next(part.parameters(recurse=False), None) is not None:
            raise ValueError(
                f"the projector's part {name or type(part).__name__!r} has weights but no "
                "reset_parameters(), so its weights cannot be drawn anew: give projector=a factory "
                "(input_shape, output_dim) -> module, or pass modules as projectors=[…]"
            )
    return module


def _call(
    factory: Factory,
    role: str,
    *arguments: Any,
    sample: Sample | None = None,
    on_device: bool = False,
) -> nn.Module:
    if isinstance(factory, type) and not _accepts(factory, len(arguments)):
        raise ValueError(
            f"the {role} is the class {factory.__name__}, which cannot be called with "
            f"{_CALLED[role]}: pass a module, {factory.__name__}(…), or a factory"
        )
    # Our own factories draw on the device of the training. One of the user may call NumPy.
    if "sample" in _parameters(factory):
        drawn_from = None if sample is None else sample(on_device=on_device)
        module = factory(*arguments, sample=drawn_from)
    else:
        module = factory(*arguments)
    if not isinstance(module, nn.Module):
        raise ValueError(
            f"the {role} factory must return a torch.nn.Module, got {type(module).__name__}"
        )
    return module.float()


_CALLED = {
    "encoder": "(input_shape, embedding_dim)",
    "projector": "(input_shape, output_dim)",
    "decoder": "(embedding_dim, output_shape)",
    "predictor": "(input_dim, output_dim)",
}


def _accepts(factory: Factory, count: int) -> bool:
    """Whether a factory can be called with so many arguments."""
    try:
        inspect.signature(factory).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a builtin without a signature
        return True
    return True


def _parameters(factory: Factory) -> Collection[str]:
    try:
        return inspect.signature(factory).parameters
    except ValueError:  # a builtin without a signature
        return ()
