"""Which process has which samples: every n-th, or those of its own pieces of files."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor

from aleator.inputs.pieces import pieces_of
from aleator.training.host_rows import HostRows, SourceRows, TensorRows
from aleator.training.shares import OwnRows


class Owners(ABC):
    """A division of samples among processes, which all of them know.

    Parameters
    ----------
    size : int
        Number of processes.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    @abstractmethod
    def owner(self, index: Tensor) -> Tensor:
        """Return the process of every sample."""

    @abstractmethod
    def local(self, index: Tensor) -> Tensor:
        """Return the position of every sample among those of its process."""

    @abstractmethod
    def own(self, rows: HostRows, rank: int) -> HostRows:
        """Return the samples of a process."""


class RowOwners(Owners):
    """Sample i belongs to process ``i % size``.

    Examples
    --------
    >>> owners = RowOwners(2)
    >>> owners.owner(torch.tensor([4, 7])).tolist(), owners.local(torch.tensor([4, 7])).tolist()
    ([0, 1], [2, 3])
    """

    def owner(self, index: Tensor) -> Tensor:
        """Return the process of every sample."""
        return index % self.size

    def local(self, index: Tensor) -> Tensor:
        """Return the position of every sample among those of its process."""
        return index // self.size

    def own(self, rows: HostRows, rank: int) -> HostRows:
        """Return the samples of a process."""
        return OwnRows(rows, rank, self.size)


class PieceOwners(Owners):
    """Whole pieces of files belong to processes, so that a process reads only its own.

    Each piece, in order, goes to the process that has the fewest samples so far.

    Parameters
    ----------
    starts : ndarray of shape (n_pieces + 1,)
        Position of the first sample of each piece, and the number of samples.
    size : int
        Number of processes.

    Attributes
    ----------
    counts : list of int
        Samples of every process.

    Examples
    --------
    >>> owners = PieceOwners(np.array([0, 5, 7, 9]), size=2)
    >>> [owners.pieces(rank).tolist() for rank in range(2)]
    [[0], [1, 2]]
    >>> owners.local(torch.tensor([4, 6, 8])).tolist()
    [4, 1, 3]
    """

    def __init__(self, starts: np.ndarray, size: int) -> None:
        super().__init__(size)
        self._starts = starts
        self._owner = np.zeros(len(starts) - 1, np.int64)
        self._shift = np.zeros(len(starts) - 1, np.int64)
        self.counts = counts = [0] * size
        for piece, length in enumerate(np.diff(starts).tolist()):
            rank = counts.index(min(counts))
            self._owner[piece] = rank
            self._shift[piece] = counts[rank] - starts[piece]
            counts[rank] += length

    def pieces(self, rank: int) -> np.ndarray:
        """Return the pieces of a process."""
        return np.flatnonzero(self._owner == rank)

    def owner(self, index: Tensor) -> Tensor:
        """Return the process of every sample."""
        return torch.from_numpy(self._owner[pieces_of(index.numpy(), self._starts)])

    def local(self, index: Tensor) -> Tensor:
        """Return the position of every sample among those of its process."""
        return index + torch.from_numpy(self._shift[pieces_of(index.numpy(), self._starts)])

    def own(self, rows: HostRows, rank: int) -> HostRows:
        """Return the samples of a process."""
        pieces = self.pieces(rank)
        if isinstance(rows, SourceRows):
            return rows.part(pieces)
        whole = rows.whole()
        assert whole is not None
        parts = [whole[self._starts[piece] : self._starts[piece + 1]] for piece in pieces]
        return TensorRows(torch.cat(parts))
