"""Checkpoint folders: the state of a run on disk, such that a run can be killed at any moment.

    folder/run.json              what is trained on which data, with which seed
    folder/checkpoint-00000017/  state.json and tensors.safetensors
    folder/checkpoint-00000018/

A checkpoint is written into a temporary folder, brought to disk, and renamed, so that one that is
only half written never has the name of a checkpoint. The last two are kept. All are data, JSON and
safetensors, with sizes and checksums that are compared when they are read.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from types import TracebackType
from typing import Any

from aleator.atomic_io import describe_failure, make_folder, replace_folder, write_file
from aleator.data_files import FileFormat, read_tensors, tensors_to_bytes
from aleator.exceptions import CheckpointError, CheckpointWarning, DataFileError
from aleator.folder_lock import lock_folder
from aleator.training.state_tree import pack, unpack

RUN, STATE, TENSORS = "run.json", "state.json", "tensors.safetensors"

_ANEW = "finish the run with that version, or start anew in another folder"
_RUN = FileFormat("aleator-run", version=1, oldest=1, if_too_old=_ANEW)
_CHECKPOINT = FileFormat("aleator-checkpoint", version=1, oldest=1, if_too_old=_ANEW)

_KEPT = 2
# Leftovers of a process that was killed while it wrote; see `aleator.atomic_io`.
_LEFTOVER = re.compile(r"\.(run\.json|checkpoint-\d{8})\.[0-9a-f]+\.part")

_INTERVAL = re.compile(r"\s*(\d+\.?\d*)\s*(s|sec|seconds?|min|minutes?|h|hours?)\s*")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class Interval:
    """How often a checkpoint is written: after a number of steps, or of seconds.

    Examples
    --------
    >>> Interval.parse(500), Interval.parse("5 min")
    (Interval(steps=500, seconds=None), Interval(steps=None, seconds=300.0))
    """

    steps: int | None = None
    seconds: float | None = None

    @classmethod
    def parse(cls, value: Any) -> Interval:
        """Read the parameter `checkpoint_every`.

        Parameters
        ----------
        value : int or str
            Steps, or a time such as "30 s", "5 min" or "1 h".

        Returns
        -------
        Interval
        """
        if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1:
            return cls(steps=int(value))
        match = _INTERVAL.fullmatch(value) if isinstance(value, str) else None
        if match is not None and float(match[1]) > 0:
            return cls(seconds=float(match[1]) * _SECONDS[match[2][0]])
        raise ValueError(
            "checkpoint_every must be a number of steps of at least 1, or a time such as '5 min', "
            f"got {value!r}"
        )


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was read.

    Attributes
    ----------
    state : dict
        State of the trainer.
    steps : int
        Steps made so far.
    """

    state: dict[str, Any]
    steps: int


class CheckpointFolder:
    """The checkpoints of one run. A context manager: one process at a time may have a folder open.

    Parameters
    ----------
    path : Path
        The folder; it is created if it does not exist.
    every : Interval
        How often a checkpoint is due.

    Attributes
    ----------
    record : dict
        What identifies the run, once it has begun.

    Examples
    --------
    >>> import tempfile
    >>> import torch
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with CheckpointFolder(Path(place), Interval(steps=10)) as folder:
    ...         _ = folder.begin({"estimator": "LFR"}, resume=True)
    ...         folder.write({"weight": torch.ones(2)}, steps=10)
    ...         folder.latest().state["weight"].tolist()
    [1.0, 1.0]
    """

    def __init__(self, path: Path, every: Interval) -> None:
        self.path = path
        self.every = every
        self.record: dict[str, Any] = {}
        self._held = ExitStack()
        self._steps_then = 0
        self._time_then = time.monotonic()

    def __enter__(self) -> CheckpointFolder:
        if self.path.exists() and not self.path.is_dir():
            raise CheckpointError(f"checkpoint={str(self.path)!r} is a file: give a folder")
        try:
            make_folder(self.path)
            self._held.enter_context(lock_folder(self.path))
        except BlockingIOError:
            raise CheckpointError(
                f"another process is training with the checkpoint folder {self.path}: wait for it, "
                "or give another folder"
            ) from None
        except OSError as error:
            raise self._explained("the checkpoint folder cannot be opened", error) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()

    def begin(self, record: dict[str, Any], *, resume: bool) -> dict[str, Any] | None:
        """Begin a run in an empty folder, or return the record of the run that is there.

        Parameters
        ----------
        record : dict
            What identifies the run; it is written into an empty folder.
        resume : bool
            Whether a run that is there may be continued.

        Returns
        -------
        dict or None
            The record that is in the folder; None if it was empty.
        """
        names = [entry.name for entry in self.path.iterdir()]
        found = [name for name in names if not _LEFTOVER.fullmatch(name)]
        if found and not resume:
            raise CheckpointError(
                f"the checkpoint folder {self.path} is not empty: resume=True continues the run in "
                "it, another folder starts anew"
            )
        if found and RUN not in found:
            raise CheckpointError(
                f"the folder {self.path} is not empty, but holds no checkpoints of aleator: give "
                "an empty or a new folder"
            )
        if found:
            try:
                stored = _RUN.read(self.path / RUN)
            except (DataFileError, OSError) as error:
                raise CheckpointError(f"the run cannot be continued: {error}") from None
        try:
            for name in set(names) - set(found):
                _remove(self.path / name)
            if not found:
                _RUN.write(self.path / RUN, record)
        except (OSError, DataFileError) as error:
            raise self._explained("no checkpoint can be written", error) from error
        self.record = stored if found else record
        return stored if found else None

    def forget_unused(self) -> None:
        """Leave an empty folder if no checkpoint was written, so that another run can use it."""
        if not self._checkpoints():
            with suppress(OSError):
                (self.path / RUN).unlink()

    def latest(self) -> Checkpoint | None:
        """Read the last whole checkpoint; damaged ones after it are set aside, with a warning.

        Returns
        -------
        Checkpoint or None
            None if there are no checkpoints.

        Raises
        ------
        CheckpointError
            If a checkpoint cannot be read now, or all are damaged. The folder is left as it was.
        """
        damaged: dict[Path, str] = {}
        for path in reversed(self._checkpoints()):
            try:
                found = _read(path)
            except (DataFileError, FileNotFoundError, KeyError, TypeError) as error:
                damaged[path] = str(error)
                continue
            self._set_aside(damaged)
            self._steps_then = found.steps
            return found
        if damaged:
            raise CheckpointError(
                f"no checkpoint in {self.path} can be read ({'; '.join(damaged.values())}): to "
                "start anew, delete this folder, or give another one"
            )
        return None

    def _set_aside(self, damaged: dict[Path, str]) -> None:
        for path, reason in damaged.items():
            with suppress(OSError):  # else it is read again next time, and passed over again
                os.replace(path, path.with_name(f"damaged-{path.name}"))
            warnings.warn(
                f"{path} is damaged, so that training continues from the checkpoint before it "
                f"({reason})",
                CheckpointWarning,
                stacklevel=3,
            )

    def check_writable(self) -> None:
        """Raise CheckpointError if a checkpoint could not be written, before training begins."""
        if not os.access(self.path, os.W_OK | os.X_OK):
            error = PermissionError(errno.EACCES, "the folder is read-only")
            raise self._explained("no checkpoint can be written", error)

    def due(self, steps: int) -> bool:
        """Whether it is time for a checkpoint, given the number of steps made so far."""
        if self.every.steps is not None:
            return steps - self._steps_then >= self.every.steps
        assert self.every.seconds is not None
        return time.monotonic() - self._time_then >= self.every.seconds

    def write(self, state: dict[str, Any], steps: int) -> None:
        """Write a checkpoint, then remove all but the last two.

        Parameters
        ----------
        state : dict
            State of the trainer: dicts and lists of tensors, numbers, strings and None.
        steps : int
            Steps made so far.
        """
        there = self._checkpoints()
        taken = [_number(path) for path in [*there, *self.path.glob("damaged-*")]]
        number = max(taken, default=-1) + 1
        tree, tensors = pack(state)
        data, description = tensors_to_bytes(tensors)
        content = {"steps": steps, "state": tree, "tensors": description}
        try:
            with replace_folder(self.path / f"checkpoint-{number:08d}") as folder:
                write_file(folder / TENSORS, data)
                _CHECKPOINT.write(folder / STATE, content)
        except (OSError, DataFileError) as error:
            raise self._explained(f"the checkpoint of step {steps} was not written", error) from (
                error
            )
        for old in there[: 1 - _KEPT]:
            with suppress(OSError):  # it takes space, but does no harm
                _remove(old)
        self._steps_then, self._time_then = steps, time.monotonic()

    def _checkpoints(self) -> list[Path]:
        """Folders of checkpoints, the oldest first."""
        return sorted(self.path.glob(f"checkpoint-{'[0-9]' * 8}"), key=_number)

    def _explained(self, what: str, error: OSError | DataFileError) -> CheckpointError:
        if isinstance(error, DataFileError):
            return CheckpointError(f"{what}: {error}")
        then = "and call fit again; what was there is unchanged"
        return CheckpointError(describe_failure(what, self.path, error, then))


def _read(path: Path) -> Checkpoint:
    with _readable(path / STATE):
        content = _CHECKPOINT.read(path / STATE)
    with _readable(path / TENSORS):
        tensors = read_tensors(path / TENSORS, content["tensors"])
    steps = content["steps"]
    if not isinstance(steps, int) or steps < 0:
        raise DataFileError(f"{path / STATE} says that {str(steps)[:40]} steps were made")
    try:
        return Checkpoint(unpack(content["state"], tensors), steps)
    except RecursionError:
        raise DataFileError(f"the state in {path / STATE} is too deep") from None


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """Say that a file cannot be read now, which is another matter than that it is damaged."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise CheckpointError(
            f"{file} cannot be read ({error.strerror or error}): make it readable, and call fit "
            "again; the folder is unchanged"
        ) from error


def _number(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def _remove(path: Path) -> None:
    """Remove a file or a folder, which no longer has its name while it is being removed."""
    if not path.is_dir():
        path.unlink()
        return
    if not path.name.startswith("."):
        hidden = path.with_name(f".{path.name}.{os.getpid():x}.part")
        os.replace(path, hidden)
        path = hidden
    shutil.rmtree(path)
