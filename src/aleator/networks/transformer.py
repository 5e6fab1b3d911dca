"""A small transformer that summarizes the past of a series (TS-TCC; Eldele et al. 2021).

Pre-norm blocks of attention and a two-layer MLP, without positional encoding: the tokens are the
output of convolutions, which depend on their neighborhood.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class AttentionBlock(nn.Module):
    """Multi-head attention followed by a two-layer MLP, both with pre-norm and a residual.

    Scores are multiplied by `scale`, by default the inverse root of the width of a head.

    Examples
    --------
    >>> block = AttentionBlock(8, heads=2, mlp_width=16)
    >>> block(torch.zeros(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    def __init__(
        self,
        width: int,
        heads: int,
        mlp_width: int,
        dropout: float = 0.1,
        scale: float | None = None,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.scale = (width // heads) ** -0.5 if scale is None else scale
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, mlp_width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(mlp_width, width)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Process tokens (n, steps, width); a mask is added to the scores of every head."""
        n, steps, width = tokens.shape
        qkv = self.qkv(self.norm1(tokens)).view(n, steps, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4).flatten(1, 2)
        if mask is None:
            scores = torch.bmm(query * self.scale, key.transpose(1, 2))
        else:
            scores = torch.baddbmm(mask, query, key.transpose(1, 2), alpha=self.scale)
        attended = torch.bmm(F.softmax(scores, dim=-1), value).view(n, self.heads, steps, -1)
        attended = attended.transpose(1, 2).reshape(n, steps, width)
        tokens = tokens + self.dropout(self.proj(attended))
        return tokens + self.dropout(self.mlp(self.norm2(tokens)))


class ContextTransformer(nn.Module):
    """Summary of a sequence: the state of an additional first token after `depth` blocks.

    Examples
    --------
    >>> context = ContextTransformer(16, width=8)
    >>> context(torch.zeros(3, 5, 16), torch.tensor([0, 1, 4])).shape
    torch.Size([3, 8])
    """

    def __init__(
        self,
        channels: int,
        width: int = 100,
        *,
        depth: int = 4,
        heads: int = 4,
        mlp_width: int = 64,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.embed = nn.Linear(channels, width)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        # TS-TCC's program scales by the width of all heads together.
        self.blocks = nn.ModuleList(
            AttentionBlock(width, heads, mlp_width, scale=width**-0.5) for _ in range(depth)
        )

    def forward(self, steps: Tensor, last: Tensor) -> Tensor:
        """Summarize `steps` (n, time, channels) up to and including step ``last[i]`` of row i."""
        n, time = steps.shape[:2]
        later = torch.arange(time, device=steps.device) > last[:, None]
        # Later steps are zeroed as well as masked: zero times an infinite value would be NaN.
        steps = steps.masked_fill(later[:, :, None], 0)
        tokens = torch.cat([self.token.expand(n, -1, -1), self.embed(steps)], dim=1)
        mask = torch.zeros_like(later, dtype=tokens.dtype).masked_fill(later, float("-inf"))
        mask = F.pad(mask, (1, 0))[:, None, None, :]  # the first token is never masked
        mask = mask.expand(n, self.heads, time + 1, time + 1).flatten(0, 1)
        for block in self.blocks:
            tokens = block(tokens, mask)
        return tokens[:, 0]
