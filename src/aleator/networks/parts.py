"""Networks of rows that have several parts, one after another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from aleator.networks.shapes import flatten_output, output_width

_HIDDEN = 512


@dataclass(frozen=True)
class Section:
    """Where the values of a part are in a row.

    Attributes
    ----------
    start : int
        Position of the first value.
    shape : tuple of int
        Shape of a sample of the part.

    Examples
    --------
    >>> Section(2, (3, 4)).stop
    14
    """

    start: int
    shape: tuple[int, ...]

    @property
    def stop(self) -> int:
        """Position after the last value."""
        return self.start + math.prod(self.shape)

    def __call__(self, rows: Tensor) -> Tensor:
        """Return the samples of the part, in their own shape."""
        return rows[:, self.start : self.stop].reshape(len(rows), *self.shape)


def sections_of(shapes: Mapping[str, Sequence[int]]) -> dict[str, Section]:
    """Lay out parts one after another.

    Parameters
    ----------
    shapes : mapping of str to sequence of int
        Shape of a sample of every part.

    Returns
    -------
    dict of str to Section

    Examples
    --------
    >>> sections_of({"table": (3,), "image": (1, 2, 2)})["image"]
    Section(start=3, shape=(1, 2, 2))
    """
    sections: dict[str, Section] = {}
    start = 0
    for name, shape in shapes.items():
        sections[name] = Section(start, tuple(shape))
        start = sections[name].stop
    return sections


class OnPart(nn.Module):
    """A network of one part of a row.

    Parameters
    ----------
    section : Section
        Where the part is.
    network : torch.nn.Module
        A network of its samples.

    Examples
    --------
    >>> OnPart(Section(1, (2, 2)), nn.Flatten())(torch.arange(5.0)[None]).tolist()
    [[1.0, 2.0, 3.0, 4.0]]
    """

    def __init__(self, section: Section, network: nn.Module) -> None:
        super().__init__()
        self.section = section
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        """Run the network on its part.

        Parameters
        ----------
        x : Tensor of shape (m, values)
            Rows.

        Returns
        -------
        Tensor of shape (m, n_features)
        """
        return flatten_output(self.network(self.section(x)))


class JointEncoder(nn.Module):
    """An encoder per part, and a head of all of them.

    What an encoder returns is normalized per sample (Ba et al., Layer normalization, 2016), so that
    no part is louder than another, however wide it is.

    Parameters
    ----------
    encoders : sequence of OnPart
        The encoders.
    n_values : int
        Number of values of a row.
    embedding_dim : int
        Width of the embedding.

    Examples
    --------
    >>> halves = [OnPart(Section(start, (2,)), nn.Linear(2, 3)) for start in (0, 2)]
    >>> JointEncoder(halves, 4, 5)(torch.randn(6, 4)).shape
    torch.Size([6, 5])
    """

    def __init__(self, encoders: Sequence[OnPart], n_values: int, embedding_dim: int) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(encoders)
        width = sum(output_width(encoder, (n_values,)) for encoder in encoders)
        self.head = nn.Sequential(
            nn.Linear(width, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, embedding_dim)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Embed rows.

        Parameters
        ----------
        x : Tensor of shape (m, values)
            Rows.

        Returns
        -------
        Tensor of shape (m, embedding_dim)
        """
        outputs = [encoder(x) for encoder in self.encoders]
        return self.head(torch.cat([F.layer_norm(out, out.shape[1:]) for out in outputs], 1))
