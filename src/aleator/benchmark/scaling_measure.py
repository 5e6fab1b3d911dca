"""Measurements that the simulation of several processes needs, and those that it must reproduce."""

from __future__ import annotations

import math
import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from aleator.benchmark.process_group import in_group
from aleator.benchmark.scaling_model import Costs, Network, Traffic, simulate
from aleator.losses import batchwise_barlow_twins
from aleator.training.collectives import Collectives
from aleator.training.owners import RowOwners
from aleator.training.shares import Share
from aleator.training.steps import Step
from aleator.training.whole_batch import gather_rows

COLUMNS = 100
# Losses: one is a mean over rows, the other compares all rows of a batch.
LOSSES = ("mse", "bbt")
PROCESSES = (2, 3)
# Rows of a step of all processes, to be predicted; and of one process, from which it is done.
BATCHES = (96, 288, 864)
ALONE = (32, 64, 128, 256, 512)
HEADS, WIDTH = 4, 128
_STEPS_PER_PASS, _PASSES = 6, 8


def rows_for(batch: int) -> int:
    """Return the rows of the data that are trained on in batches of this size."""
    return batch * _STEPS_PER_PASS


def _fit(loss: str, batch: int, processes: int, passes: int = _PASSES) -> Any:
    from aleator import LFR

    rows = rows_for(batch)
    X = np.random.default_rng(0).normal(size=(rows, COLUMNS)).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LFR.paper(
            loss=loss, training="joint", n_projectors=HEADS, n_candidates=HEADS,
            embedding_dim=WIDTH, epochs=passes, batch_size=batch // processes, devices=processes,
            device="cpu", random_state=0, progress=False,
        ).fit(X)  # fmt: skip


def _seconds_of_steps(model: Any) -> float:
    """Seconds per step, the median of all passes but the first."""
    return statistics.median(r["seconds"] / r["steps"] for r in model.history_[1:])


def _alone(loss: str) -> dict[int, float]:
    return {batch: _seconds_of_steps(_fit(loss, batch, 1)) for batch in ALONE}


def median_seconds(function: Callable[[], object], repetitions: int = 20) -> float:
    """Call a function several times, and return the median of their seconds.

    Examples
    --------
    >>> 0.01 < median_seconds(lambda: time.sleep(0.01), repetitions=2) < 1
    True
    """
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def _loss_seconds() -> dict[int, float]:
    """Seconds of the loss that compares rows, and of its gradient."""
    found = {}
    for rows in sorted({*ALONE, *BATCHES}):
        # As the heads return them: the axis of heads is the second.
        target = torch.randn(rows, HEADS, WIDTH).transpose(0, 1)
        prediction = torch.randn(rows, HEADS, WIDTH, requires_grad=True)

        def compute(prediction: Tensor = prediction, target: Tensor = target) -> None:
            batchwise_barlow_twins(prediction.transpose(0, 1), target).backward()

        found[rows] = median_seconds(compute)
    return found


def _calibrate() -> dict[str, Any]:
    """Measure what one process computes, without messages."""
    return {"step": {loss: _alone(loss) for loss in LOSSES}, "loss": _loss_seconds()}


def _own_share(batch: int, group: Collectives, *, sort: bool) -> Share:
    owners = RowOwners(group.size)
    rows = torch.randperm(rows_for(batch))[:batch]
    share = Share.of(rows, owners.owner(rows), owners.local, group.rank, group.size)
    if sort:
        assert len(share.gathered) == batch
    return share


def _network(shapes: list[tuple[int, ...]]) -> dict[str, Any]:
    """Measure the messages of a step, with what is copied for them, and the sharing of batches."""
    group = Collectives(torch.device("cpu"))
    gradients = [torch.zeros(shape) for shape in shapes]
    size = 4 * sum(gradient.numel() for gradient in gradients)
    latency = median_seconds(lambda: group.sum([torch.zeros(1), torch.zeros(1)]))
    summed = median_seconds(lambda: group.sum(gradients)) - latency
    torch.manual_seed(0)  # all processes draw the same batches
    shares = {batch: _own_share(batch, group, sort=True) for batch in (2 * group.size, BATCHES[-1])}
    seconds = {}
    for batch, share in shares.items():
        output = torch.zeros(len(share.index), HEADS * WIDTH, requires_grad=True)

        def gather(output: Tensor = output, share: Share = share) -> None:
            whole = gather_rows([output, output.detach()], share, group)
            whole[0].backward(whole[1])

        seconds[batch] = median_seconds(gather)
    (_, least), (most, longest) = seconds.items()
    volume = 4 * 2 * HEADS * WIDTH * max(shares[most].counts) * (group.size - 1)
    return {
        "network": {
            "latency": latency,
            "bandwidth": 2 * (group.size - 1) / group.size * size / summed,
            "gather_latency": least,
            "gather_bandwidth": volume / (longest - least),
        },
        "sharing": {
            loss: {
                batch: median_seconds(partial(_own_share, batch, group, sort=loss == "bbt"))
                for batch in BATCHES
            }
            for loss in LOSSES
        },
    }


def count_messages(loss: str, batch: int, processes: int) -> dict[str, Any]:
    """Fit, and count the bytes that every step passes to `torch.distributed`.

    Parameters
    ----------
    loss : str
        Loss of LFR.
    batch : int
        Rows of a step.
    processes : int
        Number of processes, of which this is one.

    Returns
    -------
    dict
        Bytes that are summed per step, and values per row that are gathered.
    """
    summed: list[int] = []
    gathered: list[float] = []
    call, reduce, gather = Step.__call__, dist.all_reduce, dist.all_gather

    def step(self: Step, index: Tensor) -> None:
        sizes: dict[str, int] = {"sum": 0, "gather": 0}

        def counted_reduce(tensor: Tensor, **named: Any) -> Any:
            sizes["sum"] += tensor.numel() * tensor.itemsize
            return reduce(tensor, **named)

        def counted_gather(parts: list[Tensor], tensor: Tensor, **named: Any) -> Any:
            sizes["gather"] += tensor.numel() * tensor.itemsize
            return gather(parts, tensor, **named)

        share = self._processes._share  # type: ignore[attr-defined]  # noqa: SLF001
        with (
            patch.object(dist, "all_reduce", counted_reduce),
            patch.object(dist, "all_gather", counted_gather),
        ):
            call(self, index)
        summed.append(sizes["sum"])
        gathered.append(sizes["gather"] / 4 / max(share.counts))

    with patch.object(Step, "__call__", step):
        _fit(loss, batch, processes, passes=1)
    (bytes_summed,), (values_gathered,) = set(summed), set(gathered)
    return {"summed_bytes": bytes_summed, "gathered_values_per_row": values_gathered}


def _measure_together(processes: int, shapes: list[tuple[int, ...]]) -> dict[str, Any]:
    found = {
        loss: {
            batch: {
                **count_messages(loss, batch, processes),
                "measured_seconds": _seconds_of_steps(_fit(loss, batch, processes)),
            }
            for batch in BATCHES
        }
        for loss in LOSSES
    }
    return {**_network(shapes), "steps": found}


def shapes_of_weights() -> list[tuple[int, ...]]:
    """Return the shapes of the trained weights of what is measured."""
    model = _fit("mse", 32, 1)
    shapes = [tuple(p.shape) for p in model.encoder_.parameters()]
    heads = zip(*(head.parameters() for head in model.predictors_), strict=True)
    return shapes + [(len(same), *same[0].shape) for same in heads]


def measure(cores: int) -> dict[str, Any]:
    """Measure calibrations and points, and compare the points with the simulation.

    Parameters
    ----------
    cores : int
        Processors of this machine.

    Returns
    -------
    dict
        The calibrations, and one record per point.
    """
    shapes = shapes_of_weights()
    ((calibration,), together) = (
        in_group(1, _calibrate),
        {size: in_group(size, _measure_together, size, shapes) for size in PROCESSES},
    )
    result: dict[str, Any] = {
        "cores": cores,
        "weights": sum(math.prod(shape) for shape in shapes),
        **_with_text_keys(calibration),
        "messages": {
            str(size): _with_text_keys({k: answers[0][k] for k in ("network", "sharing")})
            for size, answers in together.items()
        },
        "points": [
            {"loss": loss, "processes": size, "batch": batch, **answers[0]["steps"][loss][batch]}
            for size, answers in together.items()
            for loss in LOSSES
            for batch in BATCHES
        ],
    }
    for point in result["points"]:
        point["simulated_seconds"] = simulated(result, point)
    return result


def _with_text_keys(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): _with_text_keys(part) for key, part in value.items()}
    return value


def simulated(result: Mapping[str, Any], point: Mapping[str, Any]) -> float:
    """Simulate a point from the calibrations of a result.

    Parameters
    ----------
    result : mapping
        What `measure` returned.
    point : mapping
        One of its points.

    Returns
    -------
    float
        Seconds per step.
    """
    loss, messages = point["loss"], result["messages"][str(point["processes"])]
    coupled = loss == "bbt"
    costs = Costs(
        _by_rows(result["step"][loss]),
        _by_rows(result["loss"]) if coupled else {},
        _by_rows(messages["sharing"][loss]),
    )
    traffic = Traffic(result["weights"], gathered=2 * HEADS * WIDTH if coupled else 0)
    return simulate(
        costs,
        traffic,
        Network(**messages["network"]),
        processes=point["processes"],
        batch=point["batch"],
        rows=rows_for(point["batch"]),
        cores=result["cores"],
    )


def _by_rows(known: Mapping[str, float]) -> dict[int, float]:
    return {int(rows): seconds for rows, seconds in known.items()}
