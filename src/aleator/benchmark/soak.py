"""Fit, transform, save and load for an hour: ``python -m aleator.benchmark.soak --minutes 60``.

One process repeats the same round: every method, and LFR with the settings of the paper, on all
tables, series and images that it accepts; some of them on series of different lengths, texts,
graphs, audio, dicts of parts and a file larger than the buffer; and LFR on a Parquet file with
checkpoints. Each of them is fitted, embeds, is saved, loaded, and embeds again with the same
result. After every round the memory, the threads and the open files of the process are recorded.
Memory is what is resident and not part of a file: pages of libraries come and go with the memory
that other programs need.

The rounds are divided into tenths. The first tenth is the warm-up: libraries are loaded, and
allocators and caches reach their sizes. Memory is flat if the median of the last tenth is at most
2 % above or below the median of the second. The number of threads and of open files must be the
same after every round since the warm-up.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from aleator.benchmark.reliability import add_result
from aleator.benchmark.soak_data import ARRAYS, OTHERS, make_data

KEY = "soak"
TENTHS = 10
# One phase or two, views, labels, a weight per sample, no training.
_WITH_OTHER_DATA = ("LFR", "LFR.paper", "SimCLR", "Supervised", "DIET", "RandomFeatures")
_WITHOUT_VIEWS = (("SimCLR", "graph"), ("SimCLR", "parts"))
# A ResNet takes as long as ten other cases; two keep it, and those without a choice.
_DEFAULT_IMAGE_ENCODERS = ("LFR", "Supervised", "LogReg", "RandomFeatures")
_SETTINGS = {
    "embedding_dim": 8,
    "epochs": 2,
    "learning_rate": 1e-3,
    "batch_size": 16,
    "n_projectors": 2,
    "n_candidates": 4,
    "predictor_epochs": 1,
    "target_dim": 16,
    "n_features": 8,
    "progress": False,
    "device": "cpu",
    "random_state": 0,
}


def cases() -> list[tuple[str, str]]:
    """Return the estimators and kinds of data of a round.

    Examples
    --------
    >>> ("SCARF", "table") in cases(), ("SCARF", "image") in cases(), ("LFR", "graph") in cases()
    (True, False, True)
    """
    from aleator import methods

    every = [*methods.__all__, "LFR.paper"]
    found = []
    for name in every:
        supported = getattr(methods, name.partition(".")[0])._supported_modalities  # noqa: SLF001
        found += [(name, kind) for kind in ARRAYS if supported is None or kind in supported]
    others = [(name, kind) for kind in OTHERS for name in _WITH_OTHER_DATA]
    return found + [case for case in others if case not in _WITHOUT_VIEWS]


def run_round(number: int) -> None:
    """Fit, embed, save, load and embed again with all cases; other data in every round.

    Parameters
    ----------
    number : int
        Number of the round.
    """
    with tempfile.TemporaryDirectory() as place:
        for position, (name, kind) in enumerate(cases()):
            X, y = make_data(kind, (number, position), Path(place))
            model = _made(name)
            if kind == "image" and name not in _DEFAULT_IMAGE_ENCODERS:
                model.set_params(encoder="mlp")
            model.fit(X, y)
            _save_and_load(model, X, Path(place, str(position)))
        _round_of_files(number, Path(place))


def _made(name: str) -> Any:
    import aleator

    made: Any = aleator
    for part in name.split("."):
        made = getattr(made, part)
    model = made()
    return model.set_params(**{k: v for k, v in _SETTINGS.items() if k in model.get_params()})


def _save_and_load(model: Any, X: Any, folder: Path) -> None:
    import aleator

    embedded = model.transform(X)
    model.save(folder)
    if not np.array_equal(aleator.load(folder).transform(X), embedded):
        raise RuntimeError(f"{model} embeds otherwise after it was saved and loaded")


def _round_of_files(number: int, place: Path) -> None:
    """Train on a Parquet file, with checkpoints, and write the embedding to files."""
    import pyarrow as pa
    from pyarrow import parquet

    values = np.random.default_rng(number).random((5, 200), dtype=np.float32)
    table = pa.table(list(values), names=list("abcde"))
    parquet.write_table(table, place / "table.parquet", row_group_size=50)
    model = _made("LFR")
    path = str(place / "table.parquet")
    model.fit(path, checkpoint=place / "checkpoints", checkpoint_every=5)
    _save_and_load(model, path, place / "model")
    model.transform_to(path, place / "out", keep=["a"], rows_per_part=80)


def soak(minutes: float, rounds: int = 0) -> list[dict[str, int]]:
    """Repeat rounds, and print what the process holds after each.

    Parameters
    ----------
    minutes : float
        No round begins after this time.
    rounds : int, default=0
        At least so many rounds.

    Returns
    -------
    list of dict
        What the process holds after each round: "memory" (bytes), "threads" and "files".
    """
    began, readings = time.monotonic(), list[dict[str, int]]()
    while len(readings) < rounds or time.monotonic() - began < 60 * minutes:
        with _expected_warnings():
            run_round(len(readings))
        readings.append(read_process())
        print(json.dumps({"round": len(readings), **readings[-1]}), flush=True)
    return readings


@contextmanager
def _expected_warnings() -> Iterator[None]:
    """Ignore that two epochs on noise teach nothing."""
    from aleator.exceptions import CollapseWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CollapseWarning)
        yield


def read_process() -> dict[str, int]:
    """Return the anonymous memory in bytes, the threads and the open files of this process.

    Examples
    --------
    >>> sorted(read_process())  # doctest: +SKIP
    ['files', 'memory', 'threads']
    """
    with open("/proc/self/status") as lines:
        status = dict(line.split(":", 1) for line in lines)
    return {
        "memory": int(status["RssAnon"].split()[0]) * 1024,
        "threads": int(status["Threads"]),
        "files": len(os.listdir("/proc/self/fd")),
    }


def summarize(readings: Sequence[dict[str, int]]) -> dict[str, Any]:
    """Divide rounds into tenths and compare the last with the one after the warm-up.

    Parameters
    ----------
    readings : sequence of dict
        What the process held after each round, at least ten.

    Returns
    -------
    dict
        The growth of the memory, and the numbers of threads and files since the warm-up.

    Examples
    --------
    >>> held = [{"memory": 100 + i // 10, "threads": 3, "files": 5} for i in range(100)]
    >>> result = summarize(held)
    >>> result["bytes_by_tenth"][:3], round(result["growth"], 3)
    ([100, 101, 102], 0.079)
    """
    tenths = np.array_split(np.arange(len(readings)), TENTHS)
    memory = [int(np.median([readings[i]["memory"] for i in tenth])) for tenth in tenths]
    after = readings[len(tenths[0]) :]
    return {
        "rounds": len(readings),
        "bytes_by_tenth": memory,
        "growth": memory[-1] / memory[1] - 1,
        "threads_of_process": sorted({reading["threads"] for reading in after}),
        "open_files": sorted({reading["files"] for reading in after}),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m aleator.benchmark.soak",
        description="Fit, transform, save and load in one process; watch its memory (Linux).",
    )
    parser.add_argument("--minutes", type=float, default=60, help="default: 60")
    parser.add_argument("--out", type=Path, help="JSON file to which the result is added")
    options = parser.parse_args(arguments)

    import pyarrow
    import torch

    from aleator.benchmark.provenance import stamp

    # Arrow starts up to eight threads for reading, each when reads first overlap so far, which may
    # be late. One is there after the first round.
    pyarrow.set_io_thread_count(1)
    about = stamp("cpu")  # before the hour, in which files may be edited
    readings = soak(options.minutes, rounds=TENTHS)
    result = {
        "command": f"OMP_NUM_THREADS={torch.get_num_threads()} python -m aleator.benchmark.soak "
        f"--minutes {options.minutes:g}",
        **about,
        "minutes": options.minutes,
        "cases": len(cases()) + 1,
        **summarize(readings),
    }
    print(json.dumps(result, indent=1))
    if options.out is not None:
        add_result(options.out, KEY, result=result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
