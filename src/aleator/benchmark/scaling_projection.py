"""Memory and time of a large run on many GPUs, from what was measured on one machine.

`HOST` measurements are of this program on a CPU, those of the GPU are committed lines of
`aleator.benchmark.speed`. What was not measured is an `Assumption`, with where it comes from.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from aleator.benchmark.scaling_measure import median_seconds
from aleator.benchmark.scaling_model import Costs, Network, Traffic, interpolate, simulate
from aleator.training.owners import RowOwners
from aleator.training.plan import ColumnNeed, place_columns
from aleator.training.shares import Share

ROWS, COLUMNS, GPUS, GPUS_PER_MACHINE = 10**9, 100, 64, 8
ROWS_PER_GPU = (256, 1024, 4096)
_SAMPLE = 3072


@dataclass(frozen=True)
class Assumption:
    """A number that was not measured here."""

    value: float
    unit: str
    source: str


ASSUMPTIONS = {
    "bandwidth": Assumption(
        25e9, "B/s per GPU", "half of the port of 400 Gb/s that a DGX H200 has per GPU (user guide)"
    ),
    "latency": Assumption(1e-4, "s per message", "not measured; small beside a step in any case"),
    "slow bandwidth": Assumption(
        25e9 / 8 / GPUS_PER_MACHINE, "B/s per GPU", "one port of 25 Gb/s per machine of 8 GPUs"
    ),
    "GPU memory": Assumption(139 * 2**30, "B", "free on an NVIDIA H200"),
    "host memory": Assumption(2e12, "B per machine", "DGX H200 (data sheet)"),
}  # fmt: skip


def measure_host() -> dict[str, Any]:
    """Measure what a large run does on the host, in seconds of one core.

    Returns
    -------
    dict
        Seconds of a step whose layers are so small that only the program itself takes time; per row
        of a random order; per value that the scale of columns is computed from; to find the share
        of a batch; and how much of the time of random features targets take. Also the sizes of LFR
        on tables of 100 columns.
    """
    from aleator import LFR
    from aleator.inputs import fit_adapter, read
    from aleator.modalities import infer_modality

    torch.set_num_threads(1)
    X = np.random.default_rng(0).normal(size=(100_000, COLUMNS)).astype(np.float32)
    data = read(X, min_samples=2, estimator_name="LFR")
    modality = infer_modality("auto", data.shape)
    scale = median_seconds(lambda: fit_adapter(modality.layout, data, "LFR", "auto"), 3)
    order = median_seconds(lambda: torch.randperm(20_000_000), 2)
    settings: dict[str, Any] = {"random_state": 0, "progress": False, "device": "cpu"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tiny = LFR(embedding_dim=4, target_dim=16, epochs=4, batch_size=2, **settings).fit(X[:400])
        model = LFR(steps=1, batch_size=64, **settings).fit(X[:_SAMPLE])
    rows = torch.from_numpy(X[:1024])
    with torch.no_grad():
        front = median_seconds(lambda: model.encoder_.front(rows), 3)
        targets = median_seconds(lambda: [project(rows) for project in model.projectors_], 3)
        width = model.encoder_.front(rows[:2]).shape[1]
    networks = [model.encoder_, *model.predictors_]
    trained = [p for network in networks for p in network.parameters() if p.requires_grad]
    return {
        "step_seconds": min(r["seconds"] / r["steps"] for r in tiny.history_),
        "order_seconds_per_row": order / 20_000_000,
        "scale_seconds_per_value": scale / X.size,
        "sharing_seconds": {str(GPUS * rows): _share_seconds(GPUS * rows) for rows in ROWS_PER_GPU},
        "targets_per_features": targets / front,
        "sizes": {
            "weights": sum(p.numel() for p in trained),
            "features": width,
            "targets": len(model.projectors_) * model.target_dim_,
        },
    }


def _share_seconds(rows: int) -> float:
    owners = RowOwners(GPUS)
    batch = torch.randperm(4 * rows)[:rows]

    def find() -> None:
        Share.of(batch, owners.owner(batch), owners.local, 0, GPUS)

    return median_seconds(find, 5)


def gpu_rates(line: Mapping[str, Any], rows: int, embedded: int) -> dict[str, float]:
    """Return seconds per row of training and embedding from a line of `speed.jsonl`.

    Parameters
    ----------
    line : mapping
        A line of LFR with its defaults on a table, on a GPU.
    rows : int
        Rows of its training set.
    embedded : int
        Rows that it has embedded.

    Returns
    -------
    dict

    Examples
    --------
    >>> line = {"seconds_per_encoder_pass": 2.0, "seconds_transform": 0.5}
    >>> gpu_rates(line, rows=100, embedded=200)
    {'training': 0.02, 'embedding': 0.0025}
    """
    return {
        "training": line["seconds_per_encoder_pass"] / rows,
        "embedding": line["seconds_transform"] / embedded,
    }


def memory(sizes: Mapping[str, int]) -> dict[str, Any]:
    """Bytes of a run, and where its columns are kept, by the rules of the plan.

    Parameters
    ----------
    sizes : mapping of str to int
        Values per row of features and targets, and the number of trained weights.

    Returns
    -------
    dict
        Bytes per GPU of columns and of weights, gradients and Adam's moments; bytes per process of
        the host for the order of samples, and while a share of it is found.

    Examples
    --------
    >>> found = memory({"features": 1024, "targets": 4096, "weights": 10})
    >>> found["columns"]["input"], found["weights"]
    ({'bytes': 6250000000, 'where': 'device'}, 160)
    """
    own = ROWS // GPUS
    needs = [
        ColumnNeed("input", own, (COLUMNS,), reads=0, origin="streamed"),
        ColumnNeed("targets", own, (sizes["targets"],), reads=1),
        ColumnNeed("features", own, (sizes["features"],), reads=1),
    ]
    usable = 0.7
    on_device = int(usable * ASSUMPTIONS["GPU memory"].value)
    on_host = int(usable * ASSUMPTIONS["host memory"].value / GPUS_PER_MACHINE)
    placed = place_columns(needs, on_device, on_host)
    return {
        "columns": {p.name: {"bytes": p.bytes, "where": p.where} for p in placed},
        "weights": 4 * 4 * sizes["weights"],
        "order": 8 * ROWS,
        # The order, the process of every row, and whether it is this one.
        "order_peak": (8 + 8 + 1) * ROWS + 2 * 8 * own,
    }


def project(
    host: Mapping[str, Any], rates: Mapping[str, float], rows_per_gpu: int, network: Network
) -> dict[str, float]:
    """Predict one epoch of LFR with its defaults.

    Parameters
    ----------
    host : mapping
        What `measure_host` returned.
    rates : mapping
        What `gpu_rates` returned.
    rows_per_gpu : int
        `batch_size`.
    network : Network
        What connects the GPUs.

    Returns
    -------
    dict
        Steps; seconds of a step, and of its parts; seconds of the epoch and of what comes before.
    """
    batch = rows_per_gpu * GPUS
    kept = memory(host["sizes"])["columns"]
    recomputed = kept["targets"]["where"] == "recomputed"
    per_row = rates["training"]
    targets = rates["embedding"] * host["targets_per_features"]
    per_row += targets if recomputed else 0.0
    sharing = interpolate({int(k): v for k, v in host["sharing_seconds"].items()}, batch)
    # The host prepares the next step while the GPU computes: the slower of both counts.
    on_host = host["step_seconds"] + sharing
    turn = max(1, round(on_host / per_row))  # rows from which on the GPU is the slower
    costs = Costs({0: on_host, turn: on_host, 2 * turn: on_host + turn * per_row})
    traffic = Traffic(host["sizes"]["weights"])
    step = simulate(costs, traffic, network, processes=GPUS, batch=batch, rows=ROWS)
    steps = math.ceil(ROWS / batch)
    own = ROWS / GPUS
    return {
        "steps": steps,
        "step": step,
        "gpu": rows_per_gpu * per_row,
        "host": on_host,
        "network": network.sum_seconds(traffic.summed_bytes, GPUS),
        "epoch": steps * step,
        "rows_per_second": batch / step,
        "scale": ROWS * COLUMNS * host["scale_seconds_per_value"],
        "order": ROWS * host["order_seconds_per_row"],
        "features": own * (rates["embedding"] + (0.0 if recomputed else targets)),
    }


def networks() -> dict[str, Network]:
    """Return the two networks that are assumed."""
    latency = ASSUMPTIONS["latency"].value
    return {
        "fast": Network(latency, ASSUMPTIONS["bandwidth"].value),
        "slow": Network(latency, ASSUMPTIONS["slow bandwidth"].value),
    }
