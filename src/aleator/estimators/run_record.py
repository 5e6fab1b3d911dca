"""What identifies a run: estimator, parameters, data, labels, order of samples and seed.

The record is written into a checkpoint folder when a run begins, and compared when it continues.
Parameters that change neither weights nor history may differ, and so may the device and its memory
limit, after which numbers are rounded in other ways.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from aleator.estimators.fit_context import repeatable_random_state, root_seed
from aleator.estimators.parameter_record import digest_of_array, record_of, shown
from aleator.exceptions import CheckpointError
from aleator.inputs import RawData, checksum_of
from aleator.training.checkpoint import RUN, CheckpointFolder, Interval
from aleator.training.distribution import OneProcess
from aleator.version import __version__

MAY_DIFFER = (
    "device", "devices", "memory_limit", "num_nodes", "progress", "strategy", "verbose",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A fit and where it is saved.

    Attributes
    ----------
    root_seed : int
        Seed from which all others are drawn.
    random_state : int or None
        Seed with which the fit can be repeated; None if a RandomState instance was given.
    checkpoints : CheckpointFolder or None
        The folder, open.
    """

    root_seed: int
    random_state: int | None
    checkpoints: CheckpointFolder | None = None


@contextmanager
def open_run(
    estimator: Any,
    data: RawData,
    labels: Any,
    sample_order: Tensor | None,
    checkpoint: Path | None,
    checkpoint_every: int | str,
    *,
    resume: bool,
    processes: OneProcess | None = None,
) -> Iterator[Run]:
    """Draw the seed of a fit, or take that of the run in the checkpoint folder, if it is the same.

    Parameters
    ----------
    estimator : RepresentationLearner
        The estimator.
    data : RawData
        Training data.
    labels : array-like or None
        Labels, for estimators that use them.
    sample_order : Tensor or None
        Order of the samples, if it is given.
    checkpoint : Path or None
        The folder; None: nothing is saved.
    checkpoint_every : int or str
        Steps or time between two checkpoints.
    resume : bool
        Whether to continue the run that is in the folder.
    processes : OneProcess, default=None
        The processes that train together, of which only the first has the folder.

    Yields
    ------
    Run
    """
    every = Interval.parse(checkpoint_every)
    processes = OneProcess() if processes is None else processes

    @cache
    def record() -> dict[str, Any]:
        parameters = estimator.get_params(deep=False)
        if "batch_size" in parameters:  # rows of all processes, whose number may change
            parameters["batch_size"] *= processes.size
        return describe_run(estimator, parameters, data, labels=labels, sample_order=sample_order)

    def draw_seeds() -> dict[str, Any]:
        given = repeatable_random_state(estimator.random_state)
        known = int(given) if isinstance(given, Integral) else None
        return {"root_seed": root_seed(given), "random_state": known}

    if checkpoint is None or not processes.is_first:
        yield Run(**processes.agree_on_run(lambda: _identity(record()), draw_seeds))
        return
    with CheckpointFolder(checkpoint, every) as folder:
        stored = None

        def seeds_of_folder() -> dict[str, Any]:
            nonlocal stored
            drawn = draw_seeds()
            stored = folder.begin({**record(), "seeds": drawn}, resume=resume)
            if stored is not None:
                check_record(stored, folder.path)
                check_same_run(stored, record(), folder.path)
            return drawn if stored is None else stored["seeds"]

        seeds = processes.agree_on_run(lambda: _identity(record()), seeds_of_folder)
        try:
            yield Run(**seeds, checkpoints=folder)
        except Exception:
            # For example a parameter that does not suit the data: it can be changed, and fitted
            # into the same folder, if the training had not begun.
            if stored is None:
                folder.forget_unused()
            raise


def _identity(record: dict[str, Any]) -> dict[str, Any]:
    """Return what must be the same in all processes."""
    parameters = {k: v for k, v in record["parameters"].items() if k not in MAY_DIFFER}
    return {**record, "parameters": parameters}


def describe_run(
    estimator: Any,
    parameters: Mapping[str, Any],
    data: RawData,
    *,
    labels: Any = None,
    sample_order: Tensor | None = None,
) -> dict[str, Any]:
    """Describe a run as a JSON value.

    Parameters
    ----------
    estimator : object
        The estimator.
    parameters : mapping of str to object
        Its parameters.
    data : RawData
        The training data.
    labels : array-like, default=None
        Labels, for estimators that use them.
    sample_order : Tensor, default=None
        Order of the samples, if it is given.

    Returns
    -------
    dict

    Examples
    --------
    >>> from aleator.inputs import read
    >>> record = describe_run(object(), {"epochs": 3}, read([[1.0, 2.0], [3.0, 4.0]]))
    >>> record["parameters"], record["data"]["shape"]
    ({'epochs': 3}, [2, 2])
    """
    return {
        "estimator": type(estimator).__name__,
        "parameters": {name: record_of(value) for name, value in parameters.items()},
        "data": {
            "shape": list(data.shape),
            "dtype": data.source.schema.dtype.str,
            "columns": data.feature_names,
            **checksum_of(data.source),
        },
        "labels": None if labels is None else _digest_of_labels(labels),
        "sample_order": None if sample_order is None else digest_of_array(sample_order.numpy()),
    }


def check_record(stored: Mapping[str, Any], folder: Path) -> None:
    """Raise CheckpointError if a record of a folder has other entries than `open_run` writes.

    Parameters
    ----------
    stored : mapping of str to object
        Record in the folder.
    folder : Path
        The folder, for the message.

    Examples
    --------
    >>> check_record({"aleator": __version__, "parameters": []}, Path("runs/1"))
    Traceback (most recent call last):
    ...
    aleator.exceptions.CheckpointError: the run in runs/1 cannot be continued: in its run.json, ...
    """
    if stored.get("aleator") != __version__:
        return  # whose records may have other entries; `check_same_run` names the version
    for name, (kind, is_valid) in _ENTRIES.items():
        entry = stored.get(name)
        if not isinstance(entry, kind) or not is_valid(entry):
            raise CheckpointError(
                f"the run in {folder} cannot be continued: in its {RUN}, {name!r} is missing or "
                "has a wrong value"
            )


def _are_seeds(seeds: dict[str, Any]) -> bool:
    known = seeds.get("random_state")
    return (
        set(seeds) == {"root_seed", "random_state"}
        and _is_seed(seeds["root_seed"])
        and (known is None or _is_seed(known))
    )


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32


_ENTRIES: dict[str, tuple[Any, Callable[[Any], bool]]] = {
    "estimator": (str, lambda name: True),
    "parameters": (dict, lambda parameters: True),
    "data": (dict, lambda data: isinstance(data.get("shape"), list)),
    "labels": ((str, type(None)), lambda digest: True),
    "sample_order": ((str, type(None)), lambda digest: True),
    "seeds": (dict, _are_seeds),
}


def check_same_run(stored: Mapping[str, Any], present: Mapping[str, Any], folder: Any) -> None:
    """Raise CheckpointError, which names the difference, if two records are of different runs.

    Parameters
    ----------
    stored : mapping of str to object
        Record in the folder.
    present : mapping of str to object
        Record of the present fit.
    folder : path-like
        The folder, for the message.

    Examples
    --------
    >>> from aleator.inputs import read
    >>> X = read([[1.0, 2.0], [3.0, 4.0]])
    >>> stored = {"aleator": __version__, **describe_run(object(), {"epochs": 3}, X)}
    >>> check_same_run(stored, describe_run(object(), {"epochs": 4}, X), "runs/1")
    Traceback (most recent call last):
    ...
    aleator.exceptions.CheckpointError: the run in runs/1 has epochs=3, but this one has epochs=4...
    """
    difference = _difference(stored, present)
    if difference is not None:
        raise CheckpointError(
            f"the run in {folder} {difference}: repeat that fit to continue it, or give another "
            "folder"
        )


def _difference(stored: Mapping[str, Any], present: Mapping[str, Any]) -> str | None:
    if stored.get("aleator") != __version__:
        return f"is of aleator {stored.get('aleator')}, but this is version {__version__}"
    if stored.get("estimator") != present["estimator"]:
        return f"trains {stored.get('estimator')}, but this is {present['estimator']}"
    theirs, ours = stored.get("parameters", {}), present["parameters"]
    for name in sorted({*theirs, *ours} - {*MAY_DIFFER}):
        if name not in theirs or name not in ours or theirs[name] != ours[name]:
            old, new = (shown(values.get(name)) for values in (theirs, ours))
            if old == new:
                return f"has another {name} than this one"
            return f"has {name}={old}, but this one has {name}={new}"
    data, our_data = stored.get("data", {}), present["data"]
    if data.get("shape") != our_data["shape"]:
        shapes = [tuple(d.get("shape") or ()) for d in (data, our_data)]
        return f"is of data of shape {shapes[0]}, but X has shape {shapes[1]}"
    if data.get("dtype") != our_data["dtype"]:
        return f"is of data of type {data.get('dtype')}, but X has type {our_data['dtype']}"
    if data != our_data:
        return "is of other data than X"
    if stored.get("labels") != present["labels"]:
        return "is of other labels than y"
    if stored.get("sample_order") != present["sample_order"]:
        return "is of another sample_order"
    return None


def _digest_of_labels(labels: Any) -> str:
    array = np.asarray(labels)
    if array.dtype.kind == "O":
        return hashlib.sha256("\0".join(map(str, array.ravel())).encode()).hexdigest()
    return digest_of_array(array)
