"""`transform_to` in processes that run the same script: one writes, the others wait."""

import sys
import time

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch.distributed as dist

import aleator
from aleator.estimators.embedding_parts import PartWriter
from tests.small import small

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders are not locked there")

X = np.random.default_rng(0).normal(size=(400, 5)).astype(np.float32)
PARTS = 8


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "model"
    small("RandomEncoder").fit(X).save(folder)
    return folder


def write_together(model, out, callers=(0, 1), shift=0):
    """Write slowly in some of the processes, at once; return who wrote what, and saw what."""
    written = []
    write = PartWriter.write

    def slow(self, part, chunks):
        time.sleep(0.02)
        write(self, part, chunks)
        written.append(part)

    model = aleator.load(model)
    PartWriter.write = slow
    try:
        dist.barrier()
        if dist.get_rank() in callers:
            data = X + shift * dist.get_rank()
            model.transform_to(data, out, rows_per_part=len(X) // PARTS)
        seen = sorted(file.name for file in out.glob("*")) if dist.get_rank() in callers else []
    finally:
        PartWriter.write = write
    return written, seen


def test_one_process_writes_and_the_others_find_all_parts(pool, saved, tmp_path):
    answers = pool.run(2, write_together, saved, tmp_path / "out")
    assert sorted(written for written, _ in answers) == [[], list(range(PARTS))]
    names = ["_manifest.json", *(f"part-{part:05d}.parquet" for part in range(PARTS))]
    assert [seen for _, seen in answers] == [names, names]
    model = aleator.load(saved)
    table = pq.read_table(tmp_path / "out")
    found = np.stack([table[name].to_numpy() for name in model.get_feature_names_out()], 1)
    np.testing.assert_allclose(found, model.transform(X), atol=1e-6)


@pytest.mark.parametrize("caller", [0, 1])
def test_a_process_that_calls_it_alone_waits_for_nobody(caller, pool, saved, tmp_path):
    answers = pool.run(2, write_together, saved, tmp_path / "out", (caller,))
    assert [written for written, _ in answers] == [
        list(range(PARTS)) if rank == caller else [] for rank in range(2)
    ]


def test_processes_with_other_data_are_not_mixed(pool, saved, tmp_path):
    answers = pool.try_run(2, write_together, saved, tmp_path / "out", (0, 1), 1)
    assert sorted(succeeded for succeeded, _ in answers) == [False, True]
    (error,) = [answer for succeeded, answer in answers if not succeeded]
    assert "holds an embedding that was written from other data" in error[1]
