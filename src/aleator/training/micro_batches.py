"""Networks that run on a few rows at a time while the loss is that of the whole batch.

Only the output of a network is kept for the whole batch. Its activations are computed for a few
rows, dropped, and computed again for the gradient, so that losses that compare the rows of a batch,
such as contrastive ones, stay what they are. The idea is that of GradCache: Gao, Zhang, Han and
Callan, Scaling deep contrastive learning batch size under memory limited setup, 2021.

This is exact for networks that treat every row by itself. Batch normalization does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from aleator.training.head_bank import uses_batch_norm


def can_be_divided(modules: Sequence[nn.Module]) -> bool:
    """Whether there are networks among `modules` to run on a few rows, and all of them allow it.

    Examples
    --------
    >>> can_be_divided([nn.Linear(2, 2)]), can_be_divided([nn.BatchNorm1d(2)]), can_be_divided([])
    (True, False, False)
    """
    return bool(modules) and not any(uses_batch_norm(module) for module in modules)


@contextmanager
def micro_batches(modules: Sequence[nn.Module], rows: int | None) -> Iterator[None]:
    """Let networks that are called in the context run on at most `rows` rows at a time.

    Parameters
    ----------
    modules : sequence of torch.nn.Module
        Networks of one argument that treat every row by itself; any other is left alone.
    rows : int or None
        Rows at a time; None changes nothing.

    Examples
    --------
    >>> layer = nn.Linear(3, 2)
    >>> x = torch.randn(5, 3)
    >>> with micro_batches([layer], 2):
    ...     divided = layer(x)
    >>> bool(torch.allclose(divided, layer(x)))
    True
    """
    if rows is None or not can_be_divided(modules):
        yield
        return
    try:
        for module in modules:
            # In the instance, where it comes before the method of the class.
            module.forward = _divided(module.forward, rows)
        yield
    finally:
        for module in modules:
            vars(module).pop("forward", None)


def _divided(forward: Callable[[Tensor], Tensor], rows: int) -> Any:
    # Its import takes time, and only few fits need it.
    from torch.utils.checkpoint import checkpoint

    def run(x: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return torch.cat([forward(piece) for piece in x.split(rows)])
        # Dropout draws the same numbers when a piece is computed again.
        pieces = [checkpoint(forward, piece, use_reentrant=False) for piece in x.split(rows)]
        return torch.cat(pieces)

    return run
