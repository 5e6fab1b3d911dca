"""Sets of points in space: a modality in one file, as a user would add it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from aleator.inputs import ArrayLayout, Source
from aleator.modalities import Modality, register_modality
from aleator.networks.mlp import mlp
from aleator.networks.projection_head import HeadShape


class DeepSet(nn.Module):
    """Maximum over the points of what a small network makes of each (Zaheer et al. 2017)."""

    def __init__(self, input_shape: Sequence[int], output_dim: int | None, hidden: int) -> None:
        super().__init__()
        self.point = nn.Sequential(nn.Linear(input_shape[1], hidden), nn.ReLU())
        self.head = nn.Linear(hidden, output_dim or 64)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.point(x).amax(dim=1))


def encoder(input_shape: Sequence[int], embedding_dim: int | None = None) -> nn.Module:
    return DeepSet(input_shape, embedding_dim, hidden=128)


def projector(input_shape: Sequence[int], output_dim: int) -> nn.Module:
    return DeepSet(input_shape, output_dim, hidden=32)


def decoder(embedding_dim: int, output_shape: Sequence[int]) -> nn.Module:
    points, axes = output_shape
    network = mlp((embedding_dim,), points * axes, layers=2)
    return nn.Sequential(network, nn.Unflatten(1, (points, axes)))


class Jitter(nn.Module):
    def __init__(self, noise: float) -> None:
        super().__init__()
        self.noise = noise

    def forward(self, x: Tensor) -> Tensor:
        return x + self.noise * torch.randn_like(x)


def views(source: Source, options: Mapping[str, Any]) -> tuple[nn.Module, nn.Module]:
    view = Jitter(options.get("noise", 0.1))
    return view, view


POINT_SETS = register_modality(
    Modality(
        layout=ArrayLayout("points", "point sets", ("points", "axes"), unit="point"),
        encoders={"deepset": encoder},
        projectors={"deepset": projector},
        decoders={"deepset": decoder},
        projection_head=HeadShape(layers=2, hidden=32),
        make_views=views,
        view_options=("noise",),
        learning_rate=2e-3,
        inferred=False,  # arrays of three axes are series unless the user says otherwise
    )
)
