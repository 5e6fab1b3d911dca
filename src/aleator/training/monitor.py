"""Watching an embedding for collapse while its encoder trains.

After every pass that trains the encoder a fixed sample of rows is embedded, and two numbers are
added to the history. `embedding_std` is the standard deviation of a dimension over the sample,
averaged over dimensions. `effective_rank` is the effective rank of the centered embedding: the
number of directions among which its variation is divided. It is one for points on a line and cannot
exceed the size of the sample.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import torch
from threadpoolctl import ThreadpoolController
from torch import Tensor, nn

from aleator.inputs import Source, evenly_spaced
from aleator.networks.frozen_front import FrozenFront
from aleator.networks.shapes import flatten_output
from aleator.spectrum import effective_rank, singular_values, singular_values_of_gram

_ROWS = 256

# An embedding whose spread is a smaller share of its length than this is the same point for every
# sample, as far as single precision goes.
LEAST_SPREAD = 1e-4
# An embedding on a line has collapsed too, if the data vary in more than two directions.
LEAST_RANK, _RANK_OF_RICH_DATA = 1.2, 3.0


class CollapseMonitor:
    """Measures the output of an encoder on up to 256 samples, spread evenly over the data.

    Parameters
    ----------
    encoder : torch.nn.Module
        The encoder.
    source : Source
        The training data.

    Examples
    --------
    >>> from aleator.inputs import ArraySource
    >>> monitor = CollapseMonitor(nn.Flatten(), ArraySource(np.eye(5, dtype=np.float32)))
    >>> monitor.setup(torch.device("cpu"))
    >>> monitor.update(record := {})
    >>> monitor.close()
    >>> round(record["embedding_std"], 3), round(record["effective_rank"], 3)
    (0.4, 4.0)
    """

    def __init__(self, encoder: nn.Module, source: Source) -> None:
        self.encoder = encoder
        self._rows = torch.from_numpy(source.gather(evenly_spaced(len(source), _ROWS)))
        self._pending: list[tuple[dict[str, Any], Future[float]]] = []
        self._spread = 1.0
        self._worker = ThreadPoolExecutor(1)

    def setup(self, device: torch.device, dtype: torch.dtype = torch.float32) -> None:
        """Move the sample to the device of the encoder, as the type of its weights."""
        self._rows_on_device = self._rows.to(device, dtype)
        self._trained = self.encoder
        if isinstance(self.encoder, FrozenFront):
            with torch.no_grad():
                self._rows_on_device = self.encoder.front(self._rows_on_device)
            self._trained = self.encoder.trunk
        if self._rows_on_device.ndim == 4 and device.type == "cuda":
            self._rows_on_device = self._rows_on_device.contiguous(
                memory_format=torch.channels_last
            )

    def update(self, record: dict[str, Any]) -> None:
        """Add the state of the embedding to `record`; its rank follows with `flush`."""
        with torch.no_grad():
            rows = flatten_output(self._trained(self._rows_on_device)).double()
            centered = rows - rows.mean(0)
            variance = centered.square().mean(0)
            numbers = torch.stack(
                [variance.sqrt().mean(), variance.sum().sqrt(), rows.square().sum(1).mean().sqrt()]
            )
            gram = _smaller_gram(centered).cpu().numpy()
        deviation, spread, length = numbers.tolist()
        self._spread = spread / length if length > 0 else 0.0
        record["embedding_std"] = deviation
        record["effective_rank"] = float("nan")
        # Eigenvalues take the host some milliseconds, in which the device can continue training.
        self._pending.append((record, self._worker.submit(_effective_rank_of_gram, gram)))

    def flush(self) -> None:
        """Wait for the ranks and add them to their records."""
        for record, rank in self._pending:
            record["effective_rank"] = rank.result()
        self._pending.clear()

    def close(self) -> None:
        """Add the ranks that are missing, and stop the worker."""
        self.flush()
        self._worker.shutdown()

    def state_dict(self) -> dict[str, Any]:
        """Return what `check` needs besides the history."""
        return {"spread": self._spread}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        self._spread = float(state["spread"])

    def check(self, history: list[dict[str, Any]]) -> str | None:
        """Return a warning if the encoder has collapsed by the end of `history`."""
        watched = [record for record in history if "effective_rank" in record]
        if not watched:
            return None
        deviation, rank = watched[-1]["embedding_std"], watched[-1]["effective_rank"]
        if not (np.isfinite(deviation) and np.isfinite(rank)):
            return (
                "training diverged, and the embedding contains values that are not finite: "
                "lower learning_rate, or leave preprocessing at 'auto'"
            )
        figures = f"(standard deviation {deviation:.2g}, effective rank {rank:.1f})"
        if self._spread < LEAST_SPREAD and self._rank_of_data() > 1:
            return f"the embedding has collapsed to nearly one point {figures}; {_ADVICE}"
        if rank < LEAST_RANK and self._rank_of_data() > _RANK_OF_RICH_DATA:
            return f"the embedding has collapsed to nearly one direction {figures}; {_ADVICE}"
        return None

    def _rank_of_data(self) -> float:
        """Return the number of directions in which the data vary; zero if all rows are equal."""
        rows = self._rows.flatten(1).double().numpy()
        centered = rows - rows.mean(0)
        return effective_rank(singular_values(centered)) if centered.any() else 0.0


_ADVICE = (
    "history_ shows when. A lower learning_rate or weight_decay may help, or another method: "
    "compare with RandomEncoder"
)


def _smaller_gram(rows: Tensor) -> Tensor:
    return rows.T @ rows if rows.shape[0] > rows.shape[1] else rows @ rows.T


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def _effective_rank_of_gram(gram: np.ndarray) -> float:
    if not np.isfinite(gram).all():
        return float("nan")
    # More threads would wait for each other, and keep the one that trains waiting.
    with _thread_pools().limit(limits=1, user_api="blas"):
        return effective_rank(singular_values_of_gram(gram))
