"""Our optimizers against torch.optim, and the paths that only a GPU takes, run on the CPU."""

import copy
import importlib.util

import pytest
import torch
from torch import nn

from aleator.training import optimizers
from aleator.training.factored_gradient import accept_factors, factors_of
from aleator.training.head_bank import HeadBank
from aleator.training.method import ParameterGroup
from aleator.training.optimizers import Optimizer, OptimizerSettings
from aleator.training.schedules import Schedule

CPU = torch.device("cpu")
needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed"
)


def settings(name, decay=0.05, momentum=0.8):
    return OptimizerSettings(name, 0.02, (0.8, 0.95), momentum, decay)


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
    optimizer = Optimizer(settings(name, **changes), [ParameterGroup("encoder", [mine])], CPU)
    prepare(optimizer)
    other = reference(name, theirs.parameters(), **changes)
    for step in range(5):
        x = torch.randn(7, 2, 1, 8, generator=torch.Generator().manual_seed(step))
        for net in (mine, theirs):
            net(x).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
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
        (group,) = optimizer.groups
        group.piece = 16
        if group.steps:  # one count per piece
            group.steps = [torch.zeros(()) for _ in group.split(group.parameters)]

    run_both(name, cut)


def test_piece_sizes_fill_one_launch():
    for total in (10, 1000, 200_000, 393_216, 2_000_000):
        piece = optimizers._piece_size(total)
        assert piece % 1024 == 0
        assert total / piece <= 36
    assert optimizers._piece_size(50_000_000) is None


def test_parameters_without_gradient_are_left_alone():
    net = network()
    optimizer = Optimizer(settings("adam"), [ParameterGroup("encoder", [net])], CPU)
    before = net[0].weight.clone()
    net[3].weight.grad = torch.ones_like(net[3].weight)
    optimizer.step()
    assert torch.equal(net[0].weight, before)
    assert not torch.equal(net[3].weight, network()[3].weight)


def test_all_state_is_listed():
    net = network()
    optimizer = Optimizer(settings("adam"), [ParameterGroup("encoder", [net])], CPU)
    net(torch.randn(2, 2, 1, 8)).sum().backward()
    before = [tensor.clone() for tensor in optimizer.state()]
    optimizer.step()
    changed = sum(not torch.equal(a, b) for a, b in zip(before, optimizer.state(), strict=True))
    assert changed == 3 * len(list(net.parameters()))  # a step count and two moments each


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_a_restored_optimizer_continues_the_same(name):
    def schedule_for(group):
        return Schedule("cosine", total=6)

    def made(net):
        groups = [ParameterGroup("first", [net[0]], lr=0.1), ParameterGroup("rest", [net[2:]])]
        return Optimizer(settings(name), groups, CPU, schedule_for)

    def step(net, optimizer, count):
        optimizer.set_lr(count)
        x = torch.randn(7, 2, 1, 8, generator=torch.Generator().manual_seed(count))
        net(x).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    net, other = network(), network()
    optimizer, restored = made(net), made(other)
    for count in range(3):
        step(net, optimizer, count)
    other.load_state_dict(net.state_dict())
    restored.load_state_dict(optimizer.state_dict())
    assert [group.lr for group in restored.groups] == [group.lr for group in optimizer.groups]
    for count in range(3, 6):
        step(net, optimizer, count)
        step(other, restored, count)
    for a, b in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)


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
    grad_output, rows = factors_of(weight)
    torch.testing.assert_close(torch.einsum("mkd,me->kde", grad_output, rows), dense)


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
    optimizer = Optimizer(settings(name), [ParameterGroup("encoder", [mine])], CPU)
    optimizer._factored = factored_adam.factored_adam_
    optimizer.groups[0].lr = torch.tensor(0.02)
    accept_factors(mine.parts[0].weight)
    other = reference(name, theirs.parameters())
    for _ in range(4):
        x = torch.randn(rows, 70)
        for bank in (mine, theirs):
            bank(x).square().mean().backward()
        assert mine.parts[0].weight.grad is None
        optimizer.step()
        optimizer.zero_grad()
        assert factors_of(mine.parts[0].weight) is None
        other.step()
        other.zero_grad()
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
