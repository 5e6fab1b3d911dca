"""A disk that is full or read-only, for real: one clear sentence, and nothing is damaged."""

import errno
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch

import aleator
from aleator.exceptions import CheckpointError
from tests.small import small_lfr

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mounts, and limits sizes of files")

FULL = r"\(No space left on device\): free some space, "
NOT_WRITABLE = r"\((Read-only file system|Permission denied|the folder is read-only)\): make it "


@pytest.fixture
def disk(tmp_path):
    """A file system of 16 megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a file system needs the rights of root")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk, leave=0):
    """Write a file until the disk is full but for some bytes; deleting it frees them."""
    path = disk / "filler"
    with open(path, "wb", buffering=0) as file:
        with suppress(OSError):
            while True:
                file.write(bytes(4096))
        assert os.statvfs(disk).f_bavail == 0
        file.truncate(file.tell() - leave)
    return path


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_checkpoints_on_a_full_disk(disk, tmp_path, series):
    def fit(folder):
        return small_lfr(embedding_dim=64).fit(series, checkpoint=folder, checkpoint_every=2)

    whole = fit(tmp_path / "elsewhere")
    last = max((tmp_path / "elsewhere").glob("checkpoint-*"))
    size = sum(map(len, contents(last).values()))
    filler = fill(disk, leave=round(2.5 * size))  # the third is written beside two
    with pytest.raises(CheckpointError, match=rf"^the checkpoint of step \d+ was not .* {FULL}"):
        fit(disk / "run")
    before = contents(disk / "run")
    names = [path.name for path in (disk / "run").iterdir()]
    assert len([name for name in names if name.startswith("checkpoint-")]) == len(names) - 1 == 2
    with pytest.raises(CheckpointError, match=FULL):
        fit(disk / "run")
    assert contents(disk / "run") == before
    filler.unlink()
    continued = fit(disk / "run")
    for name, weight in whole.encoder_.state_dict().items():
        assert torch.equal(continued.encoder_.state_dict()[name], weight), name


def test_save_on_a_full_disk(disk, table):
    old, new = (small_lfr(random_state=seed).fit(table) for seed in (0, 1))
    filler = fill(disk)
    with pytest.raises(OSError, match=rf"the model was not saved in .*new {FULL}and save it again"):
        new.save(disk / "new")
    filler.unlink()
    old.save(disk / "model")
    before = contents(disk / "model")
    for leave in (0, 4096, 20_000):  # not even a name; part of the weights; more of them
        filler = fill(disk, leave)
        with pytest.raises(OSError, match=rf"the model was not saved in .*model {FULL}") as caught:
            new.save(disk / "model")
        assert caught.value.errno == errno.ENOSPC
        assert contents(disk / "model") == before
        assert np.array_equal(aleator.load(disk / "model").transform(table), old.transform(table))
        filler.unlink()
    new.save(disk / "model")
    assert np.array_equal(aleator.load(disk / "model").transform(table), new.transform(table))


def test_weights_that_fit_without_their_description(disk, table):
    """The weights are written first; if the description does not fit, they are removed."""
    model = small_lfr().fit(table)
    model.save(disk / "probe")
    weights = next((disk / "probe").glob("*.safetensors")).stat().st_size
    for file in (disk / "probe").iterdir():
        file.unlink()
    (disk / "probe").rmdir()
    pages = -(-weights // 4096) * 4096
    (disk / "model").mkdir()
    filler = fill(disk, leave=pages)
    with pytest.raises(OSError, match=FULL):
        model.save(disk / "model")
    assert list((disk / "model").iterdir()) == []
    filler.unlink()
    model.save(disk / "model")


def test_transform_to_on_a_full_disk(disk, table):
    model = small_lfr(embedding_dim=64).fit(table)
    X = np.random.default_rng(0).normal(size=(1200, 5))
    call = {"rows_per_part": 300}
    filler = fill(disk, leave=250_000)  # of about 320 kB
    with pytest.raises(OSError, match=rf"part [1-3] of the embedding was not written in .*{FULL}"):
        model.transform_to(X, disk / "out", **call)
    before = contents(disk / "out")
    assert before
    assert all(not path.name.startswith(".") for path in before)
    for path in before:
        if path.suffix == ".parquet":
            assert pq.read_table(path).num_rows == 300
    filler.unlink()
    model.transform_to(X, disk / "out", **call)
    assert {path: path.read_bytes() for path in before} == before, "these were not written again"
    written = np.stack(
        [column.to_numpy() for column in pq.read_table(disk / "out").columns], axis=1
    )
    assert np.abs(written - model.transform(X)).max() < 1e-5


@pytest.fixture
def read_only(request, tmp_path):
    """A function that makes a folder with content read-only, also for root."""
    place = tmp_path / "place"
    place.mkdir()
    if os.geteuid() != 0:
        yield place, lambda: [path.chmod(0o555) for path in [place, *place.rglob("*")]]
        for path in [place, *place.rglob("*")]:
            path.chmod(0o755)
        return
    disk = request.getfixturevalue("disk")
    remount = ["mount", "-o", "remount,ro", str(disk)]
    yield disk, lambda: subprocess.run(remount, check=True)


def test_a_folder_that_is_read_only(read_only, series, table):
    place, close = read_only
    training = {"checkpoint": place / "run", "checkpoint_every": 2}
    small_lfr(epochs=1).fit(series, **training)
    model = small_lfr().fit(table)
    model.save(place / "model")
    model.transform_to(table, place / "out", rows_per_part=40)
    (place / "out" / "part-00001.parquet").unlink()
    before = contents(place)
    close()
    with pytest.raises(CheckpointError, match=NOT_WRITABLE):
        small_lfr(epochs=1).fit(series, checkpoint=place / "new")
    with pytest.raises(OSError, match=rf"model was not saved in .*model {NOT_WRITABLE}"):
        small_lfr(random_state=1).fit(table).save(place / "model")
    with pytest.raises(OSError, match=rf"part 1 of the embedding was not .*{NOT_WRITABLE}"):
        model.transform_to(table, place / "out", rows_per_part=40)
    with pytest.raises(OSError, match=rf"the embedding was not written in .*{NOT_WRITABLE}"):
        model.transform_to(table, place / "other")
    assert contents(place) == before
    assert np.array_equal(aleator.load(place / "model").transform(table), model.transform(table))


_LIMITED = """
import resource, signal
import numpy as np
from tests.small import small_lfr
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
random = np.random.default_rng(0)
table, series = random.normal(size=(60, 5)), random.normal(size=(40, 2, 24))
model = small_lfr().fit(table)
model.save("model")
again = small_lfr(random_state=1).fit(table)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
for call in (
    lambda: again.save("model"),
    lambda: small_lfr(embedding_dim=64).fit(series, checkpoint="run", checkpoint_every=2),
    lambda: model.transform_to(random.normal(size=(3000, 5)), "out"),
):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_a_file_that_cannot_grow(tmp_path, table):
    """For every user: the kernel refuses to write more than a limit."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", _LIMITED]
    run = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True
    )
    saved, trained, written = run.stdout.splitlines()
    assert saved.startswith("OSError [Errno 27] the model was not saved in model (File too large)")
    assert trained.startswith("CheckpointError the checkpoint of step 0 was not written in run")
    assert written.startswith("OSError [Errno 27] part 0 of the embedding was not written in out")
    assert all(
        "(File too large): free some space, and " in line for line in run.stdout.splitlines()
    )
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["_manifest.json"]
    assert len(list((tmp_path / "model").iterdir())) == 2
    assert aleator.load(tmp_path / "model").transform(table).shape == (60, 8)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_copy_of_a_table_on_a_full_disk(ending, disk, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(disk))
    path = tmp_path / f"x.{ending}"
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20_000, 8)))
    frame.columns = list("abcdefgh")
    frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    filler = fill(disk, leave=1 << 19)
    message = rf"x\.{ending} cannot be copied to {disk}, .*No space left.*TMPDIR chooses another"
    with pytest.raises(OSError, match=message):
        aleator.open_table(path, buffer_size=10_000)
    assert list(disk.iterdir()) == [filler]
    filler.unlink()
    assert len(aleator.open_table(path, buffer_size=10_000)) == 20_000
