"""Our optimizers against torch.optim, and the paths that only a GPU takes, run on the CPU."""

import copy
import importlib.util

import pytest
import torch
from torch import nn

from aleator.networks.bank import HeadBank
from aleator.networks.factors import accept_factors, factors_of
from aleator.training import optimizers
from aleator.training.optimizers import Optimizer, OptimizerSettings

CPU = torch.device("cpu")
needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed"
)


def settings(name, decay=0.05, momentum=0.8):
    return OptimizerSettings(name, {"encoder": 0.02}, (0.8, 0.95), momentum, decay)


def reference(name, parameters, decay=0.05, momentum=0.8):
    if name == "sgd":
        return torch.optim.SGD(parameters, 0.02, momentum=momentum, weight_decay=decay)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
    return kind(parameters, 0.02, betas=(0.8, 0.95), weight_decay=decay)


def network():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(2, 3, (1, 3)), nn.Flatten(), nn.Linear(18, 40), nn.Linear(40, 4))
    return net.to(memory_format=torch.channels_last)


def run_both(name, prepare=lambda optimizer: None, **changes):
    mine, theirs = network(), network()
    optimizer = Optimizer(settings(name, **changes), {"encoder": mine}, CPU)
    prepare(optimizer)
    other = reference(name, theirs.parameters(), **changes)
    for step in range(5):
        x = torch.randn(7, 2, 1, 8, generator=torch.Generator().manual_seed(step))
        for net in (mine, theirs):
            net(x).square().sum().backward()
        optimizer.step()
        optimizer.forget_gradients()
        other.step()
        other.zero_grad()
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_as_torch_optim(name):
    run_both(name)
    run_both(name, decay=0.0, momentum=0.0)


@pytest.mark.parametrize("name", ["adam", "sgd"])
def test_in_pieces(name):
    def cut(optimizer):
        optimizer.groups[0].piece = 16

    run_both(name, cut)


def test_piece_sizes_fill_one_launch():
    for total in (10, 1000, 200_000, 393_216, 2_000_000):
        piece = optimizers._piece_size(total)
        assert piece % 1024 == 0
        assert total / piece <= 36
    assert optimizers._piece_size(50_000_000) is None


def test_parameters_without_gradient_are_left_alone():
    net = network()
    optimizer = Optimizer(settings("adam"), {"encoder": net}, CPU)
    before = net[0].weight.clone()
    net[3].weight.grad = torch.ones_like(net[3].weight)
    optimizer.step()
    assert torch.equal(net[0].weight, before)
    assert not torch.equal(net[3].weight, network()[3].weight)


def test_all_memory_is_listed():
    net = network()
    optimizer = Optimizer(settings("adam"), {"encoder": net}, CPU)
    net(torch.randn(2, 2, 1, 8)).sum().backward()
    before = [tensor.clone() for tensor in optimizer.memory()]
    optimizer.step()
    changed = sum(not torch.equal(a, b) for a, b in zip(before, optimizer.memory(), strict=True))
    assert changed == 1 + 2 * len(list(net.parameters()))  # the step count, two moments each


def test_factors_are_handed_over_instead_of_a_gradient():
    torch.manual_seed(0)
    bank = HeadBank([nn.Linear(6, 5) for _ in range(3)])
    weight = bank.parts[0].weight
    x = torch.randn(4, 6)
    bank(x).square().sum().backward()
    dense = weight.grad.clone()
    weight.grad = None
    accept_factors(weight)
    bank(x).square().sum().backward()
    assert weight.grad is None
    slope, rows = factors_of(weight)
    torch.testing.assert_close(torch.einsum("mkd,me->kde", slope, rows), dense)


@needs_triton
@pytest.mark.parametrize("name", ["adam", "adamw"])
@pytest.mark.parametrize("rows", [1, 9, 70])
def test_factored_adam_kernel(name, rows):
    """The Triton kernel, interpreted on the CPU, against torch.optim on the full gradient."""
    from aleator.training import factored_adam

    if torch.cuda.is_available():
        pytest.skip("the kernel is compiled here, and wants tensors on the GPU")
    assert factored_adam.why_unavailable(CPU) is None
    torch.manual_seed(0)
    mine = HeadBank([nn.Linear(70, 40) for _ in range(2)])
    theirs = copy.deepcopy(mine)
    optimizer = Optimizer(settings(name), {"encoder": mine}, CPU)
    optimizer._factored = factored_adam.factored_adam_
    optimizer.groups[0].rate = torch.tensor(0.02)
    accept_factors(mine.parts[0].weight)
    other = reference(name, theirs.parameters())
    for _ in range(4):
        x = torch.randn(rows, 70)
        for bank in (mine, theirs):
            bank(x).square().mean().backward()
        assert mine.parts[0].weight.grad is None
        optimizer.step()
        optimizer.forget_gradients()
        assert factors_of(mine.parts[0].weight) is None
        other.step()
        other.zero_grad()
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
