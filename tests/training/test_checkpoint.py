"""Checkpoint folders: atomic, checked when they are read, and never damaged."""

import errno
import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from aleator import atomic_io
from aleator.exceptions import CheckpointError, CheckpointWarning, DataFileError
from aleator.training import checkpoint as module
from aleator.training.checkpoint import CheckpointFolder, Interval
from aleator.training.state_tree import pack, unpack

ROOT = Path(__file__).parents[2]


def state_of(number):
    return {"weight": torch.full((3,), float(number)), "history": [{"loss": number / 3}]}


@pytest.fixture
def folder(tmp_path):
    with CheckpointFolder(tmp_path / "run", Interval(steps=10)) as folder:
        folder.begin({"estimator": "LFR"}, resume=True)
        yield folder


def names(folder):
    return sorted(path.name for path in folder.path.iterdir())


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, Interval(steps=3)), ("30 s", Interval(seconds=30)), ("5 min", Interval(seconds=300)),
     ("1.5 hours", Interval(seconds=5400)), ("10sec", Interval(seconds=10)),
     (np.int64(5), Interval(steps=5))],
)  # fmt: skip
def test_intervals(value, expected):
    assert Interval.parse(value) == expected


@pytest.mark.parametrize(
    "value",
    [0, -1, True, np.int64(0), np.True_, 2.5, None, "often", "0 min", "5", "5 days", "min 5"],
)
def test_other_intervals_are_refused(value):
    with pytest.raises(ValueError, match="checkpoint_every must be a number of steps"):
        Interval.parse(value)


def test_when_a_checkpoint_is_due(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    with CheckpointFolder(tmp_path, Interval(seconds=60)) as folder:
        folder.begin({}, resume=True)
        now[0] += 59
        assert not folder.due(10**6)
        now[0] += 1
        assert folder.due(1)
        folder.write(state_of(0), steps=1)
        assert not folder.due(2)
    with CheckpointFolder(tmp_path, Interval(steps=5)) as folder:
        folder.write(state_of(0), steps=20)
        assert [folder.due(steps) for steps in (20, 24, 25, 30)] == [False, False, True, True]
    with CheckpointFolder(tmp_path, Interval(steps=5)) as folder:
        assert folder.latest().steps == 20
        assert [folder.due(steps) for steps in (21, 24, 25)] == [False, False, True]


def test_every_kind_of_value_survives():
    state = {
        "a": [torch.tensor(True), torch.tensor(2.0, dtype=torch.float64), {"b": None}],
        "bytes": torch.arange(5, dtype=torch.uint8),
        "strided": torch.arange(6.0).view(2, 3).T,
        "numbers": [1, 0.1, float("inf"), float("nan"), True, "tensor"],
        "empty": {},
    }
    tree, tensors = pack(state)
    back = unpack(json.loads(json.dumps(tree, allow_nan=False)), tensors)
    assert repr(back) == repr(state)
    assert back["a"][1].dtype == torch.float64
    for wrong in ({"tensor": "/nowhere"}, {"float": "1e999"}, {"items": [1]}, {"code": "x"}):
        with pytest.raises(DataFileError, match="cannot be read"):
            unpack({"items": {"a": wrong}}, tensors)
    with pytest.raises(TypeError, match=r"cannot hold set \(/a\)"):
        pack({"a": {1}})


def test_the_last_two_are_kept(folder):
    assert folder.latest() is None
    for steps in (0, 10, 20, 30):
        folder.write(state_of(steps), steps=steps)
    assert names(folder) == ["checkpoint-00000002", "checkpoint-00000003", "run.json"]
    last = folder.latest()
    assert last.steps == 30
    assert last.state["weight"].tolist() == [30.0] * 3
    assert last.state["history"] == [{"loss": 10.0}]


def flip_last_byte(path):
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


@pytest.mark.parametrize(
    "harm",
    [
        lambda f: flip_last_byte(f / "tensors.safetensors"),
        lambda f: (f / "tensors.safetensors").write_bytes(b""),
        lambda f: (f / "tensors.safetensors").unlink(),
        lambda f: (f / "state.json").write_text("{"),
        lambda f: (f / "state.json").unlink(),
        lambda f: (f / "state.json").write_text(
            (f / "state.json").read_text().replace('"steps": 20', '"steps": 21')
        ),
        lambda f: shutil.rmtree(f) or f.mkdir(),
    ],
)
def test_a_damaged_checkpoint_is_set_aside_for_the_one_before(folder, harm):
    for steps in (0, 10, 20):
        folder.write(state_of(steps), steps=steps)
    harm(folder.path / "checkpoint-00000002")
    with pytest.warns(CheckpointWarning, match=r"checkpoint-00000002 is damaged.*before it"):
        assert folder.latest().steps == 10
    assert "damaged-checkpoint-00000002" in names(folder)
    folder.write(state_of(15), steps=15)
    assert names(folder)[:2] == ["checkpoint-00000001", "checkpoint-00000003"]
    assert folder.latest().steps == 15


def test_a_file_is_not_read_if_its_size_is_another(folder, monkeypatch):
    """Sizes are compared before memory is taken for the content."""
    folder.write(state_of(0), steps=0)
    with open(folder.path / "checkpoint-00000000" / "tensors.safetensors", "ab") as file:
        file.truncate(10**12)  # sparse

    def forbidden(path):
        raise AssertionError("read")

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    with pytest.raises(CheckpointError, match="its checksum does not match"):
        folder.latest()


def contents(folder):
    return {path: path.is_file() and path.read_bytes() for path in folder.path.rglob("*")}


def test_nothing_is_begun_anew_if_all_checkpoints_are_damaged(folder):
    for steps in (0, 10):
        folder.write(state_of(steps), steps=steps)
        flip_last_byte(folder.path / f"checkpoint-{steps // 10:08d}" / "tensors.safetensors")
    before = contents(folder)
    message = (
        r"no checkpoint in .*run can be read \(.*00000001.*its checksum does not match; "
        r".*00000000.*\): to start anew, delete this folder, or give another one"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # there is none before it that could be used
        with pytest.raises(CheckpointError, match=message):
            folder.latest()
    assert contents(folder) == before


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
@pytest.mark.parametrize("name", ["state.json", "tensors.safetensors"])
@pytest.mark.parametrize("newest_is_damaged", [False, True])
def test_a_file_that_cannot_be_read_is_not_damaged(
    folder, monkeypatch, number, name, newest_is_damaged
):
    for steps in (0, 10):
        folder.write(state_of(steps), steps=steps)
    if newest_is_damaged:
        flip_last_byte(folder.path / "checkpoint-00000001" / "tensors.safetensors")
    file = folder.path / f"checkpoint-0000000{0 if newest_is_damaged else 1}" / name
    before = contents(folder)
    original = Path.open

    def refused(self, *arguments, **named):
        if self == file:
            raise OSError(number, os.strerror(number))
        return original(self, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refused)
        message = rf"{name} cannot be read \({os.strerror(number)}\): .*call fit again"
        with pytest.raises(CheckpointError, match=message) as caught:
            folder.latest()
    assert str(caught.value).startswith(str(file))
    assert contents(folder) == before
    if not newest_is_damaged:
        assert folder.latest().steps == 10


@pytest.mark.parametrize("crash_at", range(1, 40))
def test_a_crash_leaves_the_old_or_the_new_checkpoint(folder, monkeypatch, crash_at):
    """Fail at every call that changes the disk, and clean nothing up, as if power had failed."""
    for steps in (0, 10):
        folder.write(state_of(steps), steps=steps)
    calls = 0

    class PowerFailure(BaseException):
        pass

    def counted(original):
        def call(*arguments, **named):
            nonlocal calls
            calls += 1
            if calls >= crash_at:
                raise PowerFailure
            return original(*arguments, **named)

        return call

    with monkeypatch.context() as patch:
        for name in ("fsync", "replace", "open", "mkdir", "rmdir", "unlink"):
            patch.setattr(os, name, counted(getattr(os, name)))
        patch.setattr(atomic_io, "open", counted(open), raising=False)
        try:
            folder.write(state_of(20), steps=20)
            crashed = False
        except PowerFailure:
            crashed = True
    assert crashed == (crash_at <= calls)
    there = folder.latest()
    assert there.steps in (10, 20)
    assert there.state["weight"].tolist() == [float(there.steps)] * 3
    assert crashed or there.steps == 20
    with CheckpointFolder(folder.path.parent / "run2", folder.every) as other:
        shutil.rmtree(other.path)
        shutil.copytree(folder.path, other.path)
        assert other.begin({}, resume=True)["estimator"] == "LFR"
        assert not [name for name in names(other) if name.startswith(".")], "leftovers are removed"
        assert other.latest().steps == there.steps


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, r"checkpoint of step 20 was not written in .*run \(No space left on device\)"
                       r": free some space, and call fit again; what was there is unchanged"),
        (errno.EROFS, r"was not written in .* \(Read-only file system\): make it writable"),
        (errno.EIO, r"was not written in .* \(Input/output error\): check the folder"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("call", ["mkdir", "fsync", "replace"])
def test_a_disk_that_refuses_leaves_what_was_there(folder, monkeypatch, number, message, call):
    folder.write(state_of(10), steps=10)
    before = {path: path.read_bytes() for path in folder.path.rglob("*.*")}

    def refused(*arguments, **named):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, refused)
        with pytest.raises(CheckpointError, match=message):
            folder.write(state_of(20), steps=20)
    assert {path: path.read_bytes() for path in folder.path.rglob("*.*")} == before
    folder.write(state_of(20), steps=20)
    assert folder.latest().steps == 20


def test_a_folder_that_cannot_be_made_or_read(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(CheckpointError, match="is a file: give a folder"):
        CheckpointFolder(file, Interval(steps=1)).__enter__()
    with pytest.raises(CheckpointError, match=r"cannot be opened in .*Not a directory"):
        CheckpointFolder(file / "below", Interval(steps=1)).__enter__()
    with CheckpointFolder(tmp_path / "new", Interval(steps=1)) as folder:
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        with pytest.raises(CheckpointError, match="read-only"):
            folder.check_writable()


def test_folders_of_others_are_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("text")
    for resume, message in ((True, "holds no checkpoints of aleator"), (False, "is not empty")):
        with (
            CheckpointFolder(tmp_path, Interval(steps=1)) as folder,
            pytest.raises(CheckpointError, match=message),
        ):
            folder.begin({}, resume=resume)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_record_that_is_damaged_or_newer(tmp_path):
    with CheckpointFolder(tmp_path, Interval(steps=1)) as folder:
        folder.begin({"a": 1}, resume=True)
        path = tmp_path / "run.json"
        text = path.read_text()
        path.write_text(text.replace('"a": 1', '"a": 2'))
        with pytest.raises(CheckpointError, match=r"cannot be continued.*checksum does not match"):
            folder.begin({"a": 1}, resume=True)
        path.write_text(text.replace('"format_version": 1', '"format_version": 9'))
        with pytest.raises(CheckpointError, match="newer than this version of aleator"):
            folder.begin({"a": 1}, resume=True)


def test_one_process_at_a_time(folder):
    other = CheckpointFolder(folder.path, Interval(steps=1))
    with pytest.raises(CheckpointError, match="another process is training with the checkpoint"):
        other.__enter__()


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
def test_a_real_file_that_cannot_grow(folder):
    """The kernel refuses to write more; the process gets an error from the write itself."""
    folder.write(state_of(10), steps=10)
    code = f"""
import resource, signal, torch
from pathlib import Path
from aleator.training.checkpoint import CheckpointFolder, Interval
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = CheckpointFolder(Path({str(folder.path)!r}), Interval(steps=1))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    folder.write({{"weight": torch.zeros(100_000)}}, steps=20)
except Exception as error:
    print(type(error).__name__, error)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert run.stdout.startswith("CheckpointError the checkpoint of step 20 was not written")
    assert "File too large): free some space" in run.stdout
    assert names(folder) == ["checkpoint-00000000", "run.json"]
    assert folder.latest().steps == 10
