"""Orders for data that are read in pieces: random, each sample once, never far from the buffer."""

import numpy as np
import pytest
import torch

from aleator.training.piece_sampler import PieceSampler
from aleator.training.sampler import Sampler

STARTS = np.concatenate([[0], np.cumsum([100, 0, 130, 7, 100, 90, 100, 110, 100, 63])])


def pieces_of(order):
    return np.searchsorted(STARTS, order.numpy(), side="right") - 1


@pytest.mark.parametrize("window", [1, 2, 3, 9, 50])
def test_a_pass_has_every_sample_once_and_few_pieces_at_a_time(window):
    sampler = PieceSampler(STARTS, window, seed=3)
    orders = [sampler.next_pass() for _ in range(3)]
    assert sampler.passes == 3
    for order in orders:
        assert torch.equal(order.sort().values, torch.arange(800))
        owner = pieces_of(order)
        first = {piece: np.flatnonzero(owner == piece)[0] for piece in set(owner)}
        last = {piece: np.flatnonzero(owner == piece)[-1] for piece in set(owner)}
        for position in range(800):
            in_use = [p for p in first if first[p] <= position <= last[p]]
            assert len(in_use) <= window
    assert not torch.equal(orders[0], orders[1])
    sequences = [list(dict.fromkeys(pieces_of(order).tolist())) for order in orders]
    assert sequences[0] != sequences[1], "pieces are in random order"


def test_samples_of_all_pieces_in_the_buffer_are_mixed():
    sampler = PieceSampler(np.arange(0, 4001, 400), window=4, seed=0)
    order = sampler.next_pass()
    owner = np.searchsorted(np.arange(0, 4001, 400), order.numpy(), side="right") - 1
    for batch in np.split(owner[:2800], 28):
        _, counts = np.unique(batch, return_counts=True)
        assert len(counts) >= 4
    steps = np.abs(np.diff(order.numpy()))
    assert (steps == 1).mean() < 0.02, "rows of a piece are shuffled"


def test_orders_depend_on_the_seed_only_and_can_be_restored():
    first, second = (PieceSampler(STARTS, 2, seed=5) for _ in range(2))
    for _ in range(2):
        assert torch.equal(first.next_pass(), second.next_pass())
    assert not torch.equal(PieceSampler(STARTS, 2, seed=6).next_pass(), second.peek())
    state = first.state_dict()
    expected = [first.next_pass() for _ in range(2)]
    restored = PieceSampler(STARTS, 2, seed=0)
    restored.load_state_dict(state)
    assert restored.passes == 2
    for order in expected:
        assert torch.equal(restored.next_pass(), order)


def test_in_memory_orders_are_what_they_were():
    generator = torch.Generator().manual_seed(11)
    sampler = Sampler(50, seed=11)
    for _ in range(2):
        assert torch.equal(sampler.next_pass(), torch.randperm(50, generator=generator))
