"""Watching an embedding for collapse while its encoder trains.

After every pass that trains the encoder a fixed sample of rows is embedded, and two numbers go into
the history. `embedding_std` is the standard deviation of a dimension over the sample, averaged over
dimensions. `effective_rank` is the number of directions that the sample's spread is shared among:
the exponential of the entropy of the centred embedding's singular values (Roy and Vetterli, The
effective rank, EUSIPCO 2007). It is one for points on a line and cannot exceed the sample's size.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import torch
from threadpoolctl import ThreadpoolController
from torch import Tensor, nn

from aleator.networks.shapes import as_rows

_ROWS = 256

# An embedding whose spread is a smaller share of its length than this is the same point for every
# sample, as far as single precision goes.
LEAST_SPREAD = 1e-4
# An embedding on a line, made of data that fill more than a plane, has collapsed too.
LEAST_RANK, _RANK_OF_RICH_DATA = 1.2, 3.0


class EmbeddingWatch:
    """Looks at an encoder's output on up to 256 rows, spread evenly over the data.

    >>> watch = EmbeddingWatch(nn.Flatten(), torch.eye(5))
    >>> watch.settle(torch.device("cpu"))
    >>> watch.look(record := {})
    >>> watch.close()
    >>> round(record["embedding_std"], 3), round(record["effective_rank"], 3)
    (0.4, 4.0)
    """

    def __init__(self, encoder: nn.Module, data: Tensor) -> None:
        self._encoder = encoder
        at = torch.linspace(0, len(data) - 1, min(_ROWS, len(data))).round().long()
        self._rows = data[at]
        self._looked: list[tuple[dict[str, Any], Future[float]]] = []
        self._spread = 1.0
        self._worker = ThreadPoolExecutor(1)

    def settle(self, device: torch.device) -> None:
        """Move to the device on which the encoder trains."""
        self._there = self._rows.to(device)
        if self._there.ndim == 4 and device.type == "cuda":
            self._there = self._there.contiguous(memory_format=torch.channels_last)

    def look(self, record: dict[str, Any]) -> None:
        """Note the state of the embedding in `record`; its rank follows when `close` is called."""
        with torch.no_grad():
            rows = as_rows(self._encoder(self._there)).double()
            centred = rows - rows.mean(0)
            variance = centred.square().mean(0)
            numbers = torch.stack(
                [variance.sqrt().mean(), variance.sum().sqrt(), rows.square().sum(1).mean().sqrt()]
            )
            tall = centred.shape[0] > centred.shape[1]
            gram = (centred.T @ centred if tall else centred @ centred.T).cpu().numpy()
        deviation, spread, length = numbers.tolist()
        self._spread = spread / length if length > 0 else 0.0
        record["embedding_std"] = deviation
        record["effective_rank"] = float("nan")
        # Eigenvalues take the host some milliseconds, in which the device can go on training.
        self._looked.append((record, self._worker.submit(_effective_rank, gram)))

    def close(self) -> None:
        """Fill in the ranks."""
        for record, rank in self._looked:
            record["effective_rank"] = rank.result()
        self._worker.shutdown()

    def verdict(self, history: list[dict[str, Any]]) -> str | None:
        """A warning, if the encoder has collapsed by the end of `history`."""
        seen = [record for record in history if "effective_rank" in record]
        if not seen:
            return None
        deviation, rank = seen[-1]["embedding_std"], seen[-1]["effective_rank"]
        if not (np.isfinite(deviation) and np.isfinite(rank)):
            return (
                "training diverged, and the embedding holds values that are not finite: "
                "lower learning_rate, or leave preprocessing at 'auto'"
            )
        figures = f"(standard deviation {deviation:.2g}, effective rank {rank:.1f})"
        if self._spread < LEAST_SPREAD and self._varied() > 1:
            return f"the embedding has collapsed to nearly one point {figures}; {_ADVICE}"
        if rank < LEAST_RANK and self._varied() > _RANK_OF_RICH_DATA:
            return f"the embedding has collapsed to nearly one direction {figures}; {_ADVICE}"
        return None

    def _varied(self) -> float:
        """Directions that the data themselves vary in; zero if all rows are equal."""
        rows = self._rows.flatten(1).double().numpy()
        centred = rows - rows.mean(0)
        if not centred.any():
            return 0.0
        tall = centred.shape[0] > centred.shape[1]
        return _effective_rank(centred.T @ centred if tall else centred @ centred.T)


_ADVICE = (
    "history_ shows when. A lower learning_rate or weight_decay may help, or another method: "
    "compare with RandomEncoder"
)


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def _effective_rank(gram: np.ndarray) -> float:
    if not np.isfinite(gram).all():
        return float("nan")
    # More threads would wait for each other, and keep the one that trains waiting.
    with _threads().limit(limits=1, user_api="blas"):
        singular = np.sqrt(np.clip(np.linalg.eigvalsh(gram), 0, None))
    if not singular.any():
        return 1.0
    share = singular / singular.sum()
    share = share[share > 0]
    return float(np.exp(-(share * np.log(share)).sum()))
