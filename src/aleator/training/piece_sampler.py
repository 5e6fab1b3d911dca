"""An order of samples for data that are read in pieces: random, but never far from the buffer."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from aleator.exceptions import CheckpointError
from aleator.inputs import PiecewiseSource, Source
from aleator.training.owners import PieceOwners
from aleator.training.plan import Duration
from aleator.training.sampler import Sampler


class PieceSampler(Sampler):
    """Draw pieces in random order, and mix the samples of those that are in the buffer.

    The buffer holds `window` pieces. Each of them gives an equal share of its samples, drawn at
    random, while the oldest is used up; then the next piece takes its place. A pass contains every
    sample once.

    Parameters
    ----------
    starts : ndarray of shape (n_pieces + 1,)
        Position of the first sample of each piece, and the number of samples.
    window : int
        Number of pieces in the buffer.
    seed : int
        Seed of the orders.

    Examples
    --------
    >>> sampler = PieceSampler(np.array([0, 3, 6, 9]), window=2, seed=0)
    >>> order = sampler.next_pass()
    >>> sorted(order.tolist()) == list(range(9))
    True
    >>> len(set((order[:4] // 3).tolist()))  # the first samples are those of two pieces
    2
    """

    def __init__(self, starts: np.ndarray, window: int, seed: int) -> None:
        super().__init__(int(starts[-1]), seed)
        self.starts = starts
        self.window = window

    def next_pass(self) -> Tensor:
        """Return the order of the next pass, on the CPU."""
        self.passes += 1
        return self._order_of(np.flatnonzero(np.diff(self.starts)))

    def _order_of(self, pieces: np.ndarray) -> Tensor:
        """Draw an order of the samples of some pieces."""
        lengths = np.diff(self.starts)[pieces]
        order = torch.empty(int(lengths.sum()), dtype=torch.int64)
        sequence = self._shuffled(torch.from_numpy(pieces)).tolist()
        shares: list[list[Tensor]] = []  # of the pieces in the buffer, the oldest first
        filled = 0
        for turn in range(len(sequence)):
            # The first pieces enter together, so each of them is to be used up one turn after the
            # one before.
            for entering in range(len(shares) + turn, min(turn + self.window, len(sequence))):
                shares.append(self._divided(sequence[entering], entering - turn + 1))
            drawn = self._shuffled(torch.cat([parts.pop() for parts in shares]))
            order[filled : filled + len(drawn)] = drawn
            filled += len(drawn)
            shares.pop(0)
        return order

    def _divided(self, piece: int, count: int) -> list[Tensor]:
        """Divide the samples of a piece into random shares."""
        samples = torch.arange(int(self.starts[piece]), int(self.starts[piece + 1]))
        return list(self._shuffled(samples).tensor_split(count))

    def _shuffled(self, values: Tensor) -> Tensor:
        return values[torch.randperm(len(values), generator=self._generator)]

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        if state.get("processes") is not None:
            raise CheckpointError(_OTHER_PROCESSES.format(state["processes"], 1))
        super().load_state_dict(state)


class DividedPieceSampler(PieceSampler):
    """Orders in which every process reads its own pieces, all at the same pace.

    Parameters
    ----------
    whole : PieceSampler
        The order of one process, which is not used otherwise.
    owners : PieceOwners
        Which process has which pieces.

    Examples
    --------
    >>> whole = PieceSampler(np.arange(0, 13, 3), window=2, seed=0)
    >>> order = DividedPieceSampler(whole, PieceOwners(whole.starts, 2)).next_pass()
    >>> sorted(order.tolist()) == list(range(12))
    True
    >>> (order[:4] // 3 % 2).tolist()  # pieces 0 and 2, or 1 and 3
    [0, 1, 0, 1]
    """

    def __init__(self, whole: PieceSampler, owners: PieceOwners) -> None:
        super().__init__(whole.starts, whole.window, whole.seed)
        self._owners = owners

    def next_pass(self) -> Tensor:
        """Return the order of the next pass, on the CPU."""
        self.passes += 1
        filled = np.flatnonzero(np.diff(self.starts))
        orders = [
            self._order_of(np.intersect1d(self._owners.pieces(rank), filled))
            for rank in range(self._owners.size)
        ]
        # When a share of a pass is over, every process has read that share of its samples.
        moments = torch.cat([(torch.arange(len(o)) + 0.5).double() / len(o) for o in orders])
        return torch.cat(orders)[torch.argsort(moments, stable=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the generator, the passes begun, and the number of processes."""
        return {**super().state_dict(), "processes": self._owners.size}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        before = state.get("processes", 1)
        if before != self._owners.size:
            raise CheckpointError(_OTHER_PROCESSES.format(before, self._owners.size))
        Sampler.load_state_dict(self, state)


_OTHER_PROCESSES = (
    "it was trained on {} processes, but now there are {}, which would read the files in another "
    "order: continue with the same number, or start anew in another folder"
)


def sampler_for(
    source: Source, sampler: Sampler, duration: Duration, most_repeats: int, batch_size: int
) -> Sampler:
    """Return the sampler with which a source can be trained on.

    Data that fit into the buffer keep the order that they have in memory. So does a run that reads
    so few samples that all of them fit into it. Any other run over data that are read in pieces
    goes from piece to piece.

    Parameters
    ----------
    source : Source
        The samples as they were given.
    sampler : Sampler
        The order that samples have in memory.
    duration : Duration
        Length of the training.
    most_repeats : int
        Passes or steps per round of the phase that has most of them.
    batch_size : int
        Samples per step.

    Returns
    -------
    Sampler
    """
    if not isinstance(source, PiecewiseSource) or source.fits_buffer:
        return sampler
    rows = duration.count * most_repeats * batch_size
    if duration.by_steps and source.bytes_of(rows) <= source.buffer_size:
        return sampler
    if sampler.orders is not None:
        raise ValueError(
            "sample_order is for data in memory: files that do not fit into the buffer are read in "
            "an order of their own. Give aleator.open_table a larger buffer_size"
        )
    return PieceSampler(source.starts, source.window, sampler.seed)
