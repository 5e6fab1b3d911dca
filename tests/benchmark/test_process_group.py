"""Functions in new processes."""

import os

import pytest
import torch
import torch.distributed as dist

from aleator.benchmark.process_group import in_group


def sum_of_ranks(factor):
    values = torch.tensor([dist.get_rank() * factor])
    dist.all_reduce(values)
    return dist.get_rank(), int(values)


def test_answers_are_in_the_order_of_ranks():
    assert in_group(2, sum_of_ranks, 10) == [(0, 10), (1, 10)]


def fail(how):
    if how == "end":
        os._exit(3)
    raise ValueError("no good")


@pytest.mark.parametrize(
    ("how", "message"),
    [("raise", "process 0: ValueError: no good"), ("end", "have ended without an answer")],
)
def test_failures(how, message):
    with pytest.raises(RuntimeError, match=message):
        in_group(1, fail, how)
