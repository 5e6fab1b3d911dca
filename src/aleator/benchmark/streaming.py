"""Prove training on files: ``python -m aleator.benchmark.streaming hepmass income flights donors``.

- hepmass: one epoch of LFR on a generated table of the size of HEPMASS, 10.5 million rows of 27
  columns in one Parquet file with the row groups that pyarrow makes, and its embedding, written to
  Parquet; from the file and from memory in turn, each in a process of its own;
- income: accuracy of probes on three epochs of LFR of Income with the settings of the paper, from
  Parquet with a buffer of an eighth of the table and from memory;
- flights, donors: real tables; LFR from the file and from memory, and the embedding of the file.

Results go to the file given by ``--out``, a JSON object with one key per proof, of which this is
"streaming".
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from aleator.benchmark.reliability import add_result

KEY = "streaming"
ROWS, COLUMNS, ROW_GROUP = 10_500_000, 27, 1 << 20
_NAMES = [f"f{column}" for column in range(COLUMNS)]
_SEEDS = (0, 1, 2)


def prove_hepmass(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Compare memory and speed of a large file with those of the same data in memory."""
    path = folder / "hepmass.parquet"
    rows = round(ROWS * options.scale)
    write_hepmass(path, rows)
    runs = [
        _in_own_process(where, path) for _ in range(options.rounds) for where in ("memory", "file")
    ]
    return {"shape": [rows, COLUMNS], "file_bytes": path.stat().st_size, "runs": runs}


def write_hepmass(path: Path, rows: int) -> None:
    """Write normally distributed columns that depend on each other, and a number for every row."""
    import pyarrow as pa
    from pyarrow import parquet

    random = np.random.default_rng(0)
    mixing = random.normal(size=(COLUMNS, COLUMNS)).astype(np.float32)
    schema = pa.schema([("id", pa.int64()), *((name, pa.float32()) for name in _NAMES)])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, ROW_GROUP):
            count = min(ROW_GROUP, rows - start)
            values = random.standard_normal((count, COLUMNS), dtype=np.float32) @ mixing
            columns = [np.arange(start, start + count), *np.ascontiguousarray(values.T)]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=ROW_GROUP)


def run_hepmass(where: str, path: Path) -> dict[str, Any]:
    """Fit and transform, from the file or from memory, and measure this process.

    The networks are narrow and batches large, so that computing does not hide reading.
    """
    import torch
    from pyarrow import parquet

    from aleator import LFR, open_table
    from aleator.networks.mlp import mlp

    source: Any = open_table(path, columns=_NAMES)
    if where == "memory":
        source = np.concatenate(list(source.chunks()))
    torch.manual_seed(0)
    network = mlp((COLUMNS,), 16, layers=3, hidden=64)
    lfr = LFR(
        epochs=1, batch_size=4096, n_projectors=6, encoder=network, projector=network, loss="mse",
        selection_size=512, random_state=0, device="cpu", progress=False,
    )  # fmt: skip
    start = time.perf_counter()
    lfr.fit(source)
    fitted = time.perf_counter()
    target = path.parent / f"embedding-{where}"
    if where == "file":
        lfr.transform_to(source, target, keep=["id"])
    else:
        _write_whole(lfr.transform(source), target)
    written = time.perf_counter()
    assert lfr.plan_ is not None
    found = parquet.read_table(target, columns=["id", "lfr0"])
    rows = len(source)
    assert np.array_equal(found["id"].to_numpy(), np.arange(rows))
    result = {
        "where": where,
        "fit_rows_per_second": round(rows / (fitted - start)),
        "transform_rows_per_second": round(rows / (written - fitted)),
        "resident_bytes": _peak_resident(),
        "loss": lfr.history_[-1]["loss"],
        "input": lfr.plan_.where("input"),
        "targets": lfr.plan_.where("targets"),
    }
    shutil.rmtree(target)
    return result


def prove_income(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Compare probes on LFR that was trained from Parquet and from memory."""
    from aleator import LFR, open_table
    from aleator.benchmark import datasets
    from aleator.evaluation import logistic_regression

    split = datasets.load("income", options.data)
    path = folder / "income.parquet"
    names = _write_table(path, split.X_train, row_group_size=1000)
    size = split.X_train.astype(np.float32).nbytes // 8
    accuracies: dict[str, list[float]] = {"memory": [], "file": []}
    for seed in _SEEDS:
        for where, found in accuracies.items():
            source: Any = split.X_train
            if where == "file":
                source = open_table(path, columns=names, buffer_size=size)
            settings: dict[str, Any] = {"epochs": 3, "device": "cpu", "progress": False}
            lfr = LFR.paper("income", random_state=seed, **settings).fit(source)
            train, test = (lfr.adapter_.read(X) for X in (split.X_train, split.X_test))
            embedded = [_embed(lfr, part) for part in (train, test)]
            result = logistic_regression(
                embedded[0], split.y_train, embedded[1], split.y_test, device="cpu"
            )
            found.append(result.mean("accuracy"))
            print(where, seed, found[-1], file=sys.stderr, flush=True)
    table = open_table(path, columns=names, buffer_size=size)
    return {"shape": list(split.X_train.shape), "pieces": len(table.starts) - 1,
            "window": table.window, "seeds": list(_SEEDS), "accuracy": accuracies}  # fmt: skip


def prove_flights(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train on the date, the numbers and the airports of three million flights."""
    columns = ["date", "delay", "distance", "origin", "destination"]
    return _real(Path(options.data) / "flights-3m.parquet", columns, folder)


def prove_donors(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train on the table of donors, written to Parquet."""
    with np.load(Path(options.data) / "donors.npz") as file:
        values = file["X"]
    path = folder / "donors.parquet"
    return _real(path, _write_table(path, values, row_group_size=1 << 16), folder)


PROOFS: dict[str, Callable[[argparse.Namespace, Path], dict[str, Any]]] = {
    "hepmass": prove_hepmass,
    "income": prove_income,
    "flights": prove_flights,
    "donors": prove_donors,
}


def _real(path: Path, columns: list[str], folder: Path) -> dict[str, Any]:
    """Train on a table that is larger than the buffer, and on the same table in memory."""
    import torch
    from pyarrow import parquet

    from aleator import LFR, open_table
    from aleator.networks.mlp import mlp

    probe = open_table(path, columns=columns)
    table = open_table(path, columns=columns, buffer_size=probe.bytes_of(len(probe)) // 2)
    memory = parquet.read_table(path, columns=columns)
    settings: dict[str, Any] = {"random_state": 0, "device": "cpu", "progress": False}
    few = memory.slice(0, 2000)

    def narrow(input_shape: tuple[int, ...], output_dim: int | None) -> torch.nn.Module:
        return mlp(input_shape, 8, layers=2, hidden=32)

    network: dict[str, Any] = {
        "encoder": narrow, "projector": narrow, "n_projectors": 2, "n_candidates": 2,
        "batch_size": 4096, "selection_size": 256,
    }  # fmt: skip
    short = [LFR(steps=20, loss="mse", **network, **settings).fit(X) for X in (memory, table)]
    epoch = [LFR(epochs=1, loss="mse", **network, **settings).fit(X) for X in (memory, table)]
    target = folder / f"{path.stem}-embedding"
    epoch[1].transform_to(table, target)
    written = parquet.read_table(target)
    embedded = np.stack([written[name].to_numpy() for name in written.column_names], 1)
    whole = _embed(epoch[1], epoch[1].adapter_.read(memory))
    first, second = (_embed(lfr, lfr.adapter_.read(few)) for lfr in short)
    return {
        "shape": [len(table), len(columns)],
        "pieces": len(table.starts) - 1,
        "window": table.window,
        "largest_difference_of_short_runs": float(np.abs(first - second).max()),
        "loss_of_an_epoch": {"memory": epoch[0].history_[-1]["loss"],
                             "file": epoch[1].history_[-1]["loss"]},
        "largest_difference_of_written_embedding": float(np.abs(embedded - whole).max()),
    }  # fmt: skip


def _embed(lfr: Any, source: Any) -> np.ndarray:
    import torch

    from aleator.training.embedding import embed

    return embed(lfr.encoder_, source, torch.device("cpu"), "32")


def _write_table(path: Path, values: np.ndarray, row_group_size: int) -> list[str]:
    import pyarrow as pa
    from pyarrow import parquet

    names = [f"c{column}" for column in range(values.shape[1])]
    parquet.write_table(
        pa.table(list(np.ascontiguousarray(values.T)), names=names), path,
        row_group_size=row_group_size,
    )  # fmt: skip
    return names


def _write_whole(embedding: np.ndarray, folder: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir()
    names = ["id", *(f"lfr{column}" for column in range(embedding.shape[1]))]
    columns = [np.arange(len(embedding)), *np.ascontiguousarray(embedding.T)]
    table = pa.table(columns, names=names)
    parquet.write_table(table, folder / "whole.parquet", use_dictionary=["id"])


def _in_own_process(where: str, path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "aleator.benchmark.streaming", "--run", where, str(path)]
    # Threads that wait must not take the cores from those that work, or from other programs.
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    output = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=environment
    ).stdout
    print(output.splitlines()[-1], file=sys.stderr, flush=True)
    return json.loads(output.splitlines()[-1])


def _peak_resident() -> int:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m aleator.benchmark.streaming",
        description="Train on files and in memory, and compare memory, speed and result (Linux).",
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"one of {', '.join(PROOFS)}")
    parser.add_argument(
        "--data", default=os.environ.get("ALEATOR_DATA"), help="folder of the data sets"
    )
    parser.add_argument("--out", type=Path, help="JSON file to which results are added")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each kind; default: 2")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows; default: 1")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        print(json.dumps(run_hepmass(options.run[0], Path(options.run[1]))))
        return 0
    if unknown := [case for case in options.cases if case not in PROOFS]:
        parser.error(f"there is no case {unknown[0]!r}")

    from aleator.benchmark.provenance import stamp

    for case in options.cases:
        with tempfile.TemporaryDirectory() as folder:
            result = PROOFS[case](options, Path(folder))
        command = f"python -m aleator.benchmark.streaming {case}"
        result = {"command": command, **result, "scale": options.scale, **stamp("cpu")}
        print(json.dumps({case: result}), flush=True)
        if options.out is not None:
            add_result(options.out, KEY, case, result=result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
