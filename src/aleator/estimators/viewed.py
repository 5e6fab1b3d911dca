"""What the estimators that look at one view of a sample have in common."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from aleator.estimators.base import Material, estimator
from aleator.estimators.trained import TrainedLearner
from aleator.parameters import require_one_of
from aleator.views.choice import single_view, view_pair

BUILT_IN = ("auto", "either")


class Either(nn.Module):
    """Each sample in one of two views, drawn anew.

    >>> seen = Either(nn.Identity(), nn.Flatten())(torch.ones(4, 3))
    >>> seen.shape
    torch.Size([4, 3])
    """

    def __init__(self, first: nn.Module, second: nn.Module) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, x: Tensor) -> Tensor:
        """Change a batch."""
        chosen = torch.rand(len(x), *[1] * (x.ndim - 1), device=x.device) < 0.5
        return torch.where(chosen, self.first(x), self.second(x))


@estimator
class ViewedLearner(TrainedLearner):
    """A trained learner that sees each sample in one view, where siamese ones compare two."""

    views: Any = None
    view_options: dict[str, Any] | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.views, str):
            require_one_of("views", self.views, BUILT_IN, also=", None or a function of a batch")

    def _view(self, material: Material) -> nn.Module:
        choice = self.views if isinstance(self.views, str) else None
        if choice == "either" or (choice == "auto" and material.modality == "image"):
            first, second = view_pair("auto", material.modality, material.data, self.view_options)
            return first if first is second else Either(first, second)
        if self.view_options:
            raise ValueError(
                f"view_options adjusts the built-in views, but views={self.views!r} uses none on "
                f"a {material.modality}: set views='either', or leave view_options out"
            )
        return single_view(self.views, material.modality, material.data)
