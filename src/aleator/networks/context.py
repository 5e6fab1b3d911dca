"""A small transformer that sums up the past of a series in one vector (TS-TCC; Eldele et al. 2021).

Pre-norm blocks of attention and a two-layer network, no encoding of positions: the steps it sees
are the output of convolutions, which know their surroundings.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class AttentionBlock(nn.Module):
    """Attention over the tokens that `hidden` does not hide, then a two-layer network.

    >>> block = AttentionBlock(8, heads=2, inner=16)
    >>> block(torch.zeros(3, 5, 8), torch.zeros(3 * 2, 5, 5)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(self, width: int, heads: int, inner: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.look = nn.Linear(width, 3 * width, bias=False)
        self.join = nn.Linear(width, width)
        self.think = nn.Sequential(
            nn.Linear(width, inner), nn.ReLU(), nn.Dropout(dropout), nn.Linear(inner, width)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, hidden: Tensor) -> Tensor:
        """Tokens `n × steps × width`; `hidden` is added to the scores of every head."""
        n, steps, width = tokens.shape
        parts = self.look(self.norm1(tokens)).view(n, steps, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).flatten(1, 2)
        scale = (width // self.heads) ** -0.5
        scores = torch.baddbmm(hidden, query, key.transpose(1, 2), alpha=scale)
        seen = torch.bmm(F.softmax(scores, dim=-1), value).view(n, self.heads, steps, -1)
        tokens = tokens + self.dropout(self.join(seen.transpose(1, 2).reshape(n, steps, width)))
        return tokens + self.dropout(self.think(self.norm2(tokens)))


class Context(nn.Module):
    """The state of a token of its own, put before the steps, after `depth` blocks.

    >>> context = Context(16, width=8)
    >>> context(torch.zeros(3, 5, 16), torch.tensor([0, 1, 4])).shape
    torch.Size([3, 8])
    """

    def __init__(
        self, channels: int, width: int = 100, *, depth: int = 4, heads: int = 4, inner: int = 64
    ) -> None:
        super().__init__()
        self.heads = heads
        self.enter = nn.Linear(channels, width)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.blocks = nn.ModuleList(AttentionBlock(width, heads, inner) for _ in range(depth))

    def forward(self, steps: Tensor, last: Tensor) -> Tensor:
        """Sum up `steps` (`n × time × channels`) up to and including step `last[i]` of row i."""
        n, time = steps.shape[:2]
        later = torch.arange(time, device=steps.device) > last[:, None]
        # The token, in front, is never hidden. What is hidden must not leak through a zero times
        # an infinity either, so it is blotted out before anything is computed from it.
        steps = steps.masked_fill(later[:, :, None], 0)
        tokens = torch.cat([self.token.expand(n, -1, -1), self.enter(steps)], dim=1)
        hidden = torch.zeros_like(later, dtype=tokens.dtype).masked_fill(later, float("-inf"))
        hidden = F.pad(hidden, (1, 0))[:, None, None, :]
        hidden = hidden.expand(n, self.heads, time + 1, time + 1).flatten(0, 1)
        for block in self.blocks:
            tokens = block(tokens, hidden)
        return tokens[:, 0]
