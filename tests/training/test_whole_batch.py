"""Layers that look at a whole batch, of which every process has a share."""

import pytest
import torch
from torch import nn

from aleator.networks.gin import NodeNorm
from aleator.training.collectives import Collectives
from aleator.training.head_bank import HeadBank
from aleator.training.method import Method
from aleator.training.ranks import Ranks
from aleator.training.whole_batch import gather_rows

CPU = torch.device("cpu")


def in_step(function):
    """Call a function of (ranks, own rows of a batch, the batch) in a step of two processes."""
    torch.manual_seed(0)
    batch = torch.randn(7, 4, 3)
    ranks = Ranks(CPU, 2)
    order = torch.tensor([8, 1, 3, 0, 4, 7, 2])  # rows that this process has: four, or three
    own = batch[order % 2 == ranks.rank]
    ranks.share(order)
    return function(ranks, own, batch, order % 2 == ranks.rank)


def normalized(ranks, own, batch, mine, make, copies):
    """Outputs, gradients and averages of a layer, on one process and on two."""
    found = []
    for x in (batch, own):
        torch.manual_seed(1)
        layer = make()
        x = torch.cat([x + k for k in range(copies)]).requires_grad_()
        method = Method({"layer": layer}, [])
        if len(x) == len(batch) * copies:
            out = layer(x)
            (out.pow(3).sum() / 100).backward()
        else:
            with ranks.connected(method):
                out = layer(x)
                (out.pow(3).sum() / 100).backward()
            ranks.finish_backward(layer.parameters(), torch.zeros(()))
        found.append((out, x.grad, [p.grad for p in layer.parameters()], list(layer.buffers())))
    whole, part = found
    rows = mine.repeat(copies)
    for expected, got in zip(whole[:2], part[:2], strict=True):
        torch.testing.assert_close(got, expected[rows], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(part[2], whole[2], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(part[3], whole[3], rtol=1e-5, atol=1e-6)


def norm_1d():
    return nn.BatchNorm1d(4)


def norm_cumulative():
    return nn.BatchNorm1d(4, momentum=None, affine=False)


def norm_without_averages():
    return nn.BatchNorm1d(4, track_running_stats=False).eval()


def norm_bank():
    heads = [nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.BatchNorm1d(5)) for _ in range(3)]
    for head in heads:
        nn.init.normal_(head[2].weight)
    return nn.Sequential(nn.Flatten(), HeadBank([head[1:] for head in heads]))


def check_norm(make, copies):
    in_step(lambda *parts: normalized(*parts, make, copies))


@pytest.mark.parametrize("make", [norm_1d, norm_cumulative, norm_without_averages, norm_bank])
def test_batch_norm_is_that_of_the_whole_batch(pool, make):
    for copies in (1, 2):
        pool.run(2, check_norm, make, copies)


def norm_of_nodes():
    return NodeNorm(4)


def on_chosen(layer, x, chosen):
    x = x.double().requires_grad_()
    out = layer(x.mT[chosen])
    out.pow(3).sum().backward()
    return out, x.grad


def check_norm_of_chosen(make, numbers):
    """A layer that gets some positions of every row, as one of graphs gets nodes."""

    def compare(ranks, own, batch, mine):
        chosen = torch.arange(3) < torch.tensor(numbers)[:, None]
        alone, together = make().double(), make().double()
        out, grad = on_chosen(alone, batch, chosen)
        with ranks.connected(Method({"layer": together}, [])):
            own_out, own_grad = on_chosen(together, own, chosen[mine])
        ranks.finish_backward(together.parameters(), torch.zeros(()))
        torch.testing.assert_close(own_out, out[mine[chosen.nonzero()[:, 0]]])
        torch.testing.assert_close(own_grad, grad[mine])
        for layers in zip(alone.parameters(), together.parameters(), strict=True):
            torch.testing.assert_close(*(parameter.grad for parameter in layers))
        torch.testing.assert_close(list(together.buffers()), list(alone.buffers()))

    in_step(compare)


# Of rows 1, 2 and 5, which the second process has: few positions, one, none, and most.
FEW, ONE, NONE, MOST = (
    (2, 1, 0, 3, 1, 1, 2), (2, 0, 1, 3, 1, 0, 2), (2, 0, 0, 3, 1, 0, 2), (0, 3, 2, 0, 1, 3, 0)
)  # fmt: skip


@pytest.mark.parametrize("numbers", [FEW, ONE, NONE, MOST])
@pytest.mark.parametrize("make", [norm_1d, norm_cumulative, norm_without_averages, norm_of_nodes])
def test_processes_may_have_different_numbers_of_positions_per_row(pool, make, numbers):
    pool.run(2, check_norm_of_chosen, make, numbers)


@pytest.mark.parametrize(
    "numbers", [(1, 1, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 1, 0), (0, 0, 0, 0, 0, 0, 0)]
)
def test_a_single_node_of_all_processes_is_not_normalized(pool, numbers):
    """But two are, of which each process has one."""
    pool.run(2, check_norm_of_chosen, norm_of_nodes, numbers)


def check_dropout():
    def compare(ranks, own, batch, mine):
        for layer in (nn.Dropout(0.4), nn.Dropout1d(0.4), nn.AlphaDropout(0.4)):
            for change in (lambda x: x, lambda x: x.mT, lambda x: torch.cat([x, x])):
                torch.manual_seed(3)
                whole = layer(change(batch))
                after = torch.rand(())
                torch.manual_seed(3)
                with ranks.connected(Method({"layer": layer}, [])):
                    part = layer(change(own))
                assert torch.equal(part, whole[mine.repeat(len(whole) // len(batch))])
                assert torch.rand(()) == after, "all processes have drawn the same"

    in_step(compare)


def test_dropout_is_that_of_the_whole_batch(pool):
    pool.run(2, check_dropout)


def check_gather():
    def compare(ranks, own, batch, mine):
        x = own.clone().requires_grad_()
        whole, weights = gather_rows([x, own[:, 0, 0].double()], ranks._share, Collectives(CPU))
        assert torch.equal(whole, batch)
        assert torch.equal(weights, batch[:, 0, 0].double())
        (whole.pow(2).sum() * 3).backward()
        # Not twice as large: every process differentiates the same loss.
        torch.testing.assert_close(x.grad, 6 * own)

    in_step(compare)


def test_gathered_rows_are_in_order_and_gradients_are_not_counted_twice(pool):
    pool.run(2, check_gather)
