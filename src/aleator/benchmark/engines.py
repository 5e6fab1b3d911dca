"""Embed on local clusters of two workers: ``python -m aleator.benchmark.engines dask ray spark``.

A model is fitted, saved, and used by `aleator.integrations` on an engine that has two worker
processes. The data are a table with identifiers in partitions, one of them without rows. The result
is compared with `transform` in one process, row by row in the order of the data. Worker processes
report, through an audit hook of the interpreter, every time that they open the weights of a model.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from aleator.benchmark.reliability import add_result

KEY = "engines"
WORKERS, PARTITIONS, ROWS = 2, 12, 200

# Run by the interpreter of every process that starts with this folder in PYTHONPATH.
_HOOK = """
import os, sys

def report(event, arguments):
    if event == "open" and str(arguments[0]).endswith(".safetensors"):
        handle = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, b"%d\\n" % os.getpid())
        os.close(handle)

sys.addaudithook(report)
"""


class LoadRecord:
    """Which processes opened the weights of a model, and how often.

    Parameters
    ----------
    folder : Path
        An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self._log = folder / "loads"
        self.hooks = folder / "hooks"
        self.hooks.mkdir()
        code = _HOOK.format(log=str(self._log))
        (self.hooks / "sitecustomize.py").write_text(code, encoding="utf-8")

    def per_worker(self) -> list[int]:
        """Return how often each process that loaded a model did so."""
        lines = self._log.read_text().split() if self._log.exists() else []
        return sorted(Counter(lines).values())

    @contextmanager
    def in_new_processes(self) -> Iterator[None]:
        """Let processes that are started in the block report what they open."""
        before = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(self.hooks), before]))
        try:
            yield
        finally:
            if before is None:
                del os.environ["PYTHONPATH"]
            else:
                os.environ["PYTHONPATH"] = before


@contextmanager
def dask_cluster() -> Iterator[Any]:
    """Start Dask with two worker processes of two threads each, and yield a client."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=2, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def ray_cluster() -> Iterator[Any]:
    """Start Ray with two CPUs, and yield the module `ray.data`."""
    import ray

    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False)
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield ray.data
    finally:
        ray.shutdown()


@contextmanager
def spark_session() -> Iterator[Any]:
    """Start Spark with two cores in one machine, and yield the session."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master(f"local[{WORKERS}]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


def _with_dask(parts: Sequence[Any], embed: dict[str, Any]) -> Iterator[Any]:
    from dask import dataframe

    from aleator.integrations import transform_dask

    with dask_cluster():
        frame = dataframe.from_map(lambda part: part, parts, meta=parts[0].iloc[:0])
        yield transform_dask(frame, **embed).compute()


def _with_ray(parts: Sequence[Any], embed: dict[str, Any]) -> Iterator[Any]:
    from aleator.integrations import transform_ray

    with ray_cluster() as data:
        actors = data.ActorPoolStrategy(size=WORKERS)
        yield transform_ray(data.from_pandas(list(parts)), **embed, compute=actors).to_pandas()


def _with_spark(parts: Sequence[Any], embed: dict[str, Any]) -> Iterator[Any]:
    import pandas as pd

    from aleator.integrations import transform_spark

    with spark_session() as spark:
        schema = spark.createDataFrame(parts[0]).schema
        rows = [[tuple(row) for row in _plain(part)] for part in parts]
        spread = spark.sparkContext.parallelize(rows, len(parts)).flatMap(lambda part: part)
        frame = spark.createDataFrame(spread, schema)
        yield pd.DataFrame(transform_spark(frame, **embed).toPandas())


def _plain(part: Any) -> list[list[Any]]:
    """Return the rows of a data frame as objects of Python."""
    return [[getattr(v, "tolist", lambda v=v: v)() for v in row] for row in part.to_numpy()]


_Run = Callable[[Sequence[Any], dict[str, Any]], Iterator[Any]]
ENGINES: dict[str, tuple[_Run, tuple[str, ...]]] = {
    "dask": (_with_dask, ("dask", "distributed")),
    "ray": (_with_ray, ("ray",)),
    "spark": (_with_spark, ("pyspark",)),
}


def prove(engine: str, place: Path) -> dict[str, Any]:
    """Embed with an engine and in this process, and compare.

    Parameters
    ----------
    engine : str
        A key of `ENGINES`.
    place : Path
        An empty folder.

    Returns
    -------
    dict
        Loads of the model in each worker, and the largest difference of an embedding.
    """
    import pandas as pd

    from aleator import LFR

    random = np.random.default_rng(0)
    columns = [f"c{i}" for i in range(6)]
    whole = pd.DataFrame(random.normal(size=(PARTITIONS * ROWS, 6)), columns=columns)
    whole.insert(0, "id", [f"row {i}" for i in range(len(whole))])
    lfr = LFR(embedding_dim=16, n_projectors=2, epochs=1, random_state=0, progress=False)
    lfr.fit(whole[columns]).save(place / "model")
    bounds = [0, *range(ROWS, len(whole), ROWS), len(whole)]
    bounds.insert(PARTITIONS // 2, bounds[PARTITIONS // 2])  # a partition without rows
    parts = [whole.iloc[a:b] for a, b in pairwise(bounds)]

    run, packages = ENGINES[engine]
    record = LoadRecord(place)
    began = time.perf_counter()
    with record.in_new_processes():
        (found,) = run(parts, {"model": place / "model", "keep": ["id"]})
    seconds = time.perf_counter() - began
    names = lfr.get_feature_names_out().tolist()
    embedding, expected = found[names].to_numpy(), lfr.transform(whole[columns])
    return {
        "packages": {name: version(name) for name in (*packages, "pandas", "pyarrow")},
        "workers": WORKERS,
        "partitions": len(parts),
        "rows": len(found),
        "columns_as_named": found.columns.tolist() == ["id", *names],
        "rows_in_order": found["id"].tolist() == whole["id"].tolist(),
        "loads_per_worker": record.per_worker(),
        "largest_difference": float(np.abs(embedding - expected).max()),
        "largest_value": float(np.abs(expected).max()),
        "seconds": round(seconds, 1),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m aleator.benchmark.engines",
        description="Embed with Dask, Ray and Spark on local clusters of two workers.",
    )
    parser.add_argument("engines", nargs="+", metavar="ENGINE", choices=list(ENGINES))
    parser.add_argument("--out", type=Path, help="JSON file to which results are added")
    options = parser.parse_args(arguments)

    from aleator.benchmark.provenance import stamp

    for engine in options.engines:
        with tempfile.TemporaryDirectory() as place:
            result = prove(engine, Path(place))
        command = f"python -m aleator.benchmark.engines {engine}"
        result = {"command": command, **stamp("cpu"), **result}
        print(json.dumps({engine: result}), flush=True)
        if options.out is not None:
            add_result(options.out, KEY, engine, result=result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
