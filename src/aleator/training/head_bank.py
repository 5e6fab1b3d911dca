"""K heads of one architecture run as one: a single product instead of K.

A bank maps (m, e) to (m, K, d). Heads made of linear layers, batch normalization and elementwise
functions are stacked; others run one after another.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from aleator.networks.shapes import flatten_output
from aleator.training.factored_gradient import offer_factors, times_all_heads

_ELEMENTWISE = (
    nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.LeakyReLU, nn.ELU, nn.Identity, nn.Dropout,
)  # fmt: skip


class HeadBank(nn.Module):
    """K heads side by side.

    The bank has weights of its own; `separate` writes them to the heads.

    Examples
    --------
    >>> bank = HeadBank([nn.Linear(8, 4) for _ in range(3)])
    >>> bank(torch.zeros(5, 8)).shape
    torch.Size([5, 3, 4])
    >>> [type(head).__name__ for head in bank.separate()]
    ['Linear', 'Linear', 'Linear']
    """

    def __init__(self, heads: Sequence[nn.Module]) -> None:
        super().__init__()
        # In a tuple they are not submodules: the templates into which `separate` writes weights.
        self._templates = tuple(heads)
        chains = [_chain(head) for head in heads]
        self.batched = all(_same_layers(chains[0], chain) for chain in chains)
        self.parts: nn.ModuleList
        if self.batched:
            self.parts = nn.ModuleList(
                _stacked([chain[i] for chain in chains]) for i in range(len(chains[0]))
            )
        else:
            self.parts = nn.ModuleList(copy.deepcopy(head) for head in heads)

    def forward(self, rows: Tensor) -> Tensor:
        """Return the outputs of all heads for the same rows, in that of the weights.

        Heads are wide and shallow, so that reading their weights takes most of the time; casting
        them to half precision first would read them once more.
        """
        with torch.autocast(rows.device.type, enabled=False):
            out = rows.to(next(self.parameters()).dtype)
            if not self.batched:
                return torch.stack([flatten_output(head(out)) for head in self.parts], dim=1)
            for part in self.parts:
                out = part(out)
            return out

    def separate(self) -> list[nn.Module]:
        """Return the heads that the bank was made of, with its present weights."""
        heads = list(self._templates)
        if not self.batched:
            for head, part in zip(heads, self.parts, strict=True):
                head.load_state_dict(part.state_dict())
            return heads
        for k, head in enumerate(heads):
            for layer, part in zip(_chain(head), self.parts, strict=True):
                state = {name: value[k] for name, value in part.state_dict().items()}
                layer.load_state_dict(state)
        return heads


class _LinearBank(nn.Module):
    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__()
        self.weight = _stack([layer.weight for layer in layers])
        self.bias = None if layers[0].bias is None else _stack([layer.bias for layer in layers])
        offer_factors(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim == 2:
            out = times_all_heads(x, self.weight)
            # Separately, because a tall product that adds a bias itself runs at half the speed.
            return out if self.bias is None else out + self.bias
        x, weight = x.transpose(0, 1), self.weight.transpose(1, 2)
        if self.bias is None:
            return torch.bmm(x, weight).transpose(0, 1)
        return torch.baddbmm(self.bias[:, None], x, weight).transpose(0, 1)


class _BatchNormBank(nn.Module):
    """Normalizing K heads of width h is normalizing one layer of width K · h."""

    def __init__(self, layers: Sequence[nn.BatchNorm1d]) -> None:
        super().__init__()
        self.eps, self.momentum = layers[0].eps, layers[0].momentum or 0.0
        self.weight = self.bias = None
        if layers[0].affine:
            self.weight = _stack([layer.weight for layer in layers])
            self.bias = _stack([layer.bias for layer in layers])
        self.shape_of_heads = (len(layers), layers[0].num_features)
        for name, _ in layers[0].named_buffers():
            self.register_buffer(name, torch.stack([layer.get_buffer(name) for layer in layers]))

    def forward(self, x: Tensor) -> Tensor:
        mean, var = (getattr(self, f"running_{what}", None) for what in ("mean", "var"))
        if self.training and mean is not None:
            self.get_buffer("num_batches_tracked").add_(1)
        out = F.batch_norm(
            x.flatten(1),
            None if mean is None else mean.flatten(),
            None if var is None else var.flatten(),
            None if self.weight is None else self.weight.flatten(),
            None if self.bias is None else self.bias.flatten(),
            self.training or mean is None,
            self.momentum,
            self.eps,
        )
        return out.unflatten(1, x.shape[1:])


BATCH_NORMS = (
    nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm, _BatchNormBank,
)  # fmt: skip


def uses_batch_norm(module: nn.Module) -> bool:
    """Whether a module normalizes batches, so that it cannot train on a single row.

    Examples
    --------
    >>> uses_batch_norm(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    True
    """
    return any(isinstance(part, BATCH_NORMS) for part in module.modules())


def _stack(tensors: Sequence[Tensor]) -> nn.Parameter:
    stacked = torch.stack([tensor.detach() for tensor in tensors])
    return nn.Parameter(stacked, requires_grad=tensors[0].requires_grad)


def _stacked(layers: Sequence[nn.Module]) -> nn.Module:
    first = layers[0]
    if isinstance(first, nn.Linear):
        return _LinearBank(layers)  # type: ignore[arg-type]
    if isinstance(first, nn.BatchNorm1d):
        return _BatchNormBank(layers)  # type: ignore[arg-type]
    return copy.deepcopy(first)


def _chain(head: nn.Module) -> list[nn.Module]:
    """Layers of a head in order; a head that is not sequential is a chain of one."""
    if type(head) is not nn.Sequential:
        return [head]
    return [layer for part in head for layer in _chain(part)]


def _same_layers(first: Sequence[nn.Module], other: Sequence[nn.Module]) -> bool:
    return len(first) == len(other) and all(
        _stackable(a) and repr(a) == repr(b) and _frozen(a) == _frozen(b)
        for a, b in zip(first, other, strict=True)
    )


def _stackable(layer: nn.Module) -> bool:
    if type(layer) is nn.BatchNorm1d:
        return layer.momentum is not None
    return type(layer) is nn.Linear or type(layer) in _ELEMENTWISE


def _frozen(layer: nn.Module) -> list[bool]:
    return [parameter.requires_grad for parameter in layer.parameters()]
