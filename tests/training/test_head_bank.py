"""Several heads as one module."""

import pytest
import torch
from torch import nn

from aleator.networks.mlp import mlp_predictor
from aleator.training.head_bank import HeadBank, uses_batch_norm


def heads(kind, count=3):
    torch.manual_seed(1)
    return [
        {
            "linear": lambda: nn.Linear(6, 4),
            "no bias": lambda: nn.Linear(6, 4, bias=False),
            "mlp": lambda: mlp_predictor(6, 4, layers=3, hidden=5),
            "nested": lambda: nn.Sequential(
                nn.Sequential(nn.Linear(6, 5), nn.GELU()), nn.Linear(5, 4)
            ),
            "own": lambda: nn.Sequential(nn.Linear(6, 4), nn.PReLU()),
        }[kind]()
        for _ in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["linear", "no bias", "mlp", "nested", "own"])
@pytest.mark.parametrize("training", [True, False])
def test_a_bank_is_its_heads_side_by_side(kind, training):
    alone = heads(kind)
    bank = HeadBank(heads(kind))
    assert bank.batched == (kind != "own")
    bank.train(training)
    x = torch.randn(7, 6, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    out = bank(x)
    expected = torch.stack([head.train(training)(y) for head in alone], dim=1)
    torch.testing.assert_close(out, expected)
    grad_output = torch.randn_like(out)
    out.backward(grad_output)
    expected.backward(grad_output)
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-4, atol=1e-5)
    for head, mine in zip(alone, bank.separate(), strict=True):
        for name, value in head.state_dict().items():
            torch.testing.assert_close(mine.state_dict()[name], value)


def test_unlike_heads_run_one_by_one():
    bank = HeadBank([nn.Linear(6, 4), nn.Sequential(nn.Linear(6, 3), nn.Linear(3, 4))])
    assert not bank.batched
    assert bank(torch.zeros(2, 6)).shape == (2, 2, 4)
    assert uses_batch_norm(HeadBank(heads("mlp")))
    assert not uses_batch_norm(HeadBank(heads("linear")))
