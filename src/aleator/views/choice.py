"""From a user's choice of views to a pair of modules."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

from torch import Tensor, nn

from aleator.views.series import Scaled, Shuffled
from aleator.views.table import Corrupted

View = nn.Module


class _Own(nn.Module):
    """A view of the user's own: any function of a batch.

    A module is copied, and always in training mode: in the other, a dropout would change nothing.
    """

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = copy.deepcopy(function) if isinstance(function, nn.Module) else function
        self.train()

    def train(self, mode: bool = True) -> Self:
        return super().train(True)

    def forward(self, x: Tensor) -> Tensor:
        changed = self.function(x)
        if not isinstance(changed, Tensor) or changed.shape != x.shape:
            got = getattr(changed, "shape", type(changed).__name__)
            raise ValueError(
                f"a view must return a tensor of its batch's shape {tuple(x.shape)}, not {got}"
            )
        return changed


def view_pair(
    choice: Any, modality: str, data: Tensor, options: Mapping[str, Any] | None = None
) -> tuple[View, View]:
    """Two views: what the paper uses for this kind of data (`"auto"`), or the user's own.

    Tables: as they are, and corrupted (SCARF). Series: weak and strong (TS-TCC). Images: the same
    random photograph twice (SimCLR). `options` adjusts the paper's views; each kind has its own.

    >>> import torch
    >>> [type(view).__name__ for view in view_pair("auto", "series", torch.zeros(2, 1, 9))]
    ['Scaled', 'Shuffled']
    """
    if isinstance(choice, str):
        if choice != "auto":
            raise ValueError(f"views={choice!r} is not known: give 'auto', a function or two")
        options = dict(options or {})
        _refuse_unknown(options, modality)
        if modality == "table":
            return nn.Identity(), Corrupted(data, options.get("corruption", 0.6))
        if modality == "series":
            return weak_and_strong(**options)
        view = photographs(data, **options)  # draws anew at every call
        return view, view
    if options:
        raise ValueError("view_options adjusts the built-in views: leave views at 'auto'")
    own = list(choice) if isinstance(choice, (tuple, list)) else [choice, choice]
    if len(own) != 2 or not all(callable(function) for function in own):
        raise ValueError("views must be 'auto', a function of a batch, or two of them")
    return _Own(own[0]), _Own(own[1])


def single_view(choice: Any, modality: str, data: Tensor) -> View:
    """One view, or none: `"auto"` photographs images anew and leaves other data as they are.

    >>> import torch
    >>> single_view("auto", "table", torch.zeros(2, 3))
    Identity()
    """
    if choice is None or (isinstance(choice, str) and choice == "auto" and modality != "image"):
        return nn.Identity()
    if isinstance(choice, str) and choice == "auto":
        return photographs(data)
    if not callable(choice):
        raise ValueError(f"views must be 'auto', None or a function of a batch, not {choice!r}")
    return _Own(choice)


def weak_and_strong(
    weak_scale: float = 0.1, weak_mean: float = 1.0, segments: int = 4, strong_noise: float = 0.05
) -> tuple[View, View]:
    """TS-TCC's two views of series, as strong as in the LFR authors' program.

    >>> weak_and_strong(segments=7)[1].segments
    7
    """
    return Scaled(weak_scale, weak_mean), Shuffled(segments, strong_noise)


def photographs(data: Tensor, **options: Any) -> View:
    """The paper's view of images whose values range as in `data`."""
    from aleator.views.image import Photographed

    pixels = data.transpose(0, 1).flatten(1)
    return Photographed(pixels.amin(1), pixels.amax(1), **options)


# What `view_options` may hold.
OPTIONS = {
    "table": ("corruption",),
    "series": ("weak_scale", "weak_mean", "segments", "strong_noise"),
    "image": ("least_area", "flip", "jitter", "jitter_share", "grey_share", "blur_share",
              "blur_kernel"),
}  # fmt: skip


def _refuse_unknown(options: Mapping[str, Any], modality: str) -> None:
    for name in options:
        if name not in OPTIONS[modality]:
            raise ValueError(
                f"view_options has {name!r}, which views of a {modality} do not know; "
                f"they have {', '.join(OPTIONS[modality])}"
            )
