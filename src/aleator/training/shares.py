"""Which rows of a batch, and of the data, a process has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from aleator.training.host_rows import HostRows


@dataclass(frozen=True)
class Share:
    """The part of a batch that a process trains on.

    All processes know, without a message, who has which rows of a batch. Shares differ in size. A
    process that has no row of a batch trains on one of its others, since networks and messages need
    a shape; that one counts nothing.

    Attributes
    ----------
    index : Tensor of shape (n_local,)
        Positions of the rows in the columns of the process; at least one.
    places : Tensor of shape (n_local,)
        Positions of the rows in the batch; that of a row that counts nothing is of no meaning.
    counts : tuple of int
        Rows of every process.
    rank : int
        Number of the process.
    owner : Tensor of shape (n_rows,)
        Process of every row of the batch; on the host.

    Examples
    --------
    >>> batch = torch.tensor([5, 2, 3, 8])
    >>> share = Share.of(batch, batch % 2, lambda rows: rows // 2, rank=1, size=2)  # rows 5 and 3
    >>> share.index.tolist(), share.places.tolist(), share.counts
    ([2, 1], [0, 2], (2, 2))
    >>> share.gathered.tolist()  # first come 2 and 8, then 5 and 3
    [2, 0, 3, 1]
    """

    index: Tensor
    places: Tensor
    counts: tuple[int, ...]
    rank: int
    owner: Tensor

    @classmethod
    def of(
        cls,
        batch: Tensor,
        owner: Tensor,
        local: Callable[[Tensor], Tensor],
        rank: int,
        size: int,
    ) -> Share:
        """Return the share of a process, given the owner of every row of a batch.

        Parameters
        ----------
        batch : Tensor of shape (n_rows,)
            The rows.
        owner : Tensor of shape (n_rows,)
            Process of every row.
        local : callable
            Function that returns where a process has rows of its own.
        rank : int
            Number of the process.
        size : int
            Number of processes.

        Returns
        -------
        Share
        """
        counts = tuple(torch.bincount(owner, minlength=size).tolist())
        places = (owner == rank).nonzero().flatten()
        index = local(batch[places])
        if not len(places):
            places, index = torch.zeros(1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)
        return cls(index, places, counts, rank, owner)

    @cached_property
    def gathered(self) -> Tensor:
        """Where every row of the batch is in the joined rows of all processes.

        They are joined in the order of their numbers, each filled up to the largest count. Sorting
        all rows takes time, and steps whose layers and loss do not need it do without.
        """
        counts = torch.tensor(self.counts)
        by_owner = torch.argsort(self.owner, stable=True)
        starts = counts.cumsum(0) - counts
        within = torch.arange(self.total) - starts.repeat_interleave(counts)
        gathered = torch.empty_like(self.owner)
        gathered[by_owner] = self.owner[by_owner] * max(self.counts) + within
        return gathered.to(self.places.device)

    def to(self, device: torch.device) -> Share:
        """Return the share with what steps use on a device."""
        return replace(self, index=self.index.to(device), places=self.places.to(device))

    @property
    def count(self) -> int:
        """Rows of this process that count."""
        return self.counts[self.rank]

    @property
    def total(self) -> int:
        """Rows of the batch."""
        return len(self.owner)

    def copies(self, rows: int) -> int | None:
        """Return how often the share is contained in a tensor of so many rows, if it is.

        Two views of a batch are often joined to one tensor.
        """
        copies, rest = divmod(rows, len(self.index))
        return None if rest or not copies else copies

    def places_of(self, copies: int) -> Tensor:
        """Return the positions of the rows in as many copies of the batch, one after another."""
        first = torch.arange(copies, device=self.places.device) * self.total
        return (first[:, None] + self.places).flatten()


class OwnRows(HostRows):
    """The samples of a process: every `size`-th, beginning with number `rank`.

    Parameters
    ----------
    rows : HostRows
        All samples.
    rank : int
        Number of the process.
    size : int
        Number of processes.

    Examples
    --------
    >>> from aleator.training.host_rows import TensorRows
    >>> own = OwnRows(TensorRows(torch.arange(7)), rank=1, size=3)
    >>> len(own), own.gather(torch.tensor([0, 1])).tolist(), [c.tolist() for c in own.chunks(9)]
    (2, [1, 4], [[1, 4]])
    """

    def __init__(self, rows: HostRows, rank: int, size: int) -> None:
        self._rows = rows
        self._rank = rank
        self._size = size
        self.sample_shape, self.dtype, self.origin = rows.sample_shape, rows.dtype, rows.origin

    def __len__(self) -> int:
        return len(range(self._rank, len(self._rows), self._size))

    def gather(self, index: Tensor) -> Tensor:
        """Return the samples at `index`, positions among those of the process."""
        return self._rows.gather(index * self._size + self._rank)

    def chunks(self, rows: int) -> Iterator[Tensor]:
        """Yield all samples of the process in order, `rows` at a time."""
        # What is read in order comes in pieces, of which every process keeps its samples.
        kept: list[Tensor] = []
        start = 0
        for chunk in self._rows.chunks(rows * self._size):
            kept.append(chunk[(self._rank - start) % self._size :: self._size])
            start += len(chunk)
            if sum(map(len, kept)) >= rows:
                joined = torch.cat(kept)
                yield joined[:rows]
                kept = [joined[rows:]]
        if sum(map(len, kept)):
            yield torch.cat(kept)

    def in_order(self, order: Tensor) -> HostRows:
        """Return the samples for reading those at `order` once, in this order."""
        ordered = self._rows.in_order(order * self._size + self._rank)
        return self if ordered is self._rows else OwnRows(ordered, self._rank, self._size)

    def whole(self) -> Tensor | None:
        """Return all samples of the process if they are a tensor already, else None."""
        whole = self._rows.whole()
        return None if whole is None else whole[self._rank :: self._size]
