"""What a run that continues has to know of the conditions under which its state was saved."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from aleator.exceptions import CheckpointError, CheckpointWarning, LessMemoryWarning
from aleator.training.devices import rounding_conditions
from aleator.training.memory_errors import is_out_of_memory
from aleator.training.plan import DEVICE, HOST, Plan
from aleator.training.restored_state import whole_number

# A run that continues may keep more of the free memory than a new one, since what is computed again
# is rounded in other ways; and no run is killed for keeping as little as this.
_SHARE_FOR_KEPT = 0.9
_LITTLE = 64 << 20

# What an entry of the wrong type, or out of range, leads to.
_WRONG_ENTRY_ERRORS = (
    LookupError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError,
)  # fmt: skip


@contextmanager
def fitting_state(folder: Path | None = None) -> Iterator[None]:
    """Context in which a state is restored; an error says that it is that of another run.

    Parameters
    ----------
    folder : Path, default=None
        Folder that the state is from, for the message.

    Examples
    --------
    >>> with fitting_state():
    ...     torch.nn.Linear(1, 1).load_state_dict({"weight": torch.zeros(1, 1)})
    Traceback (most recent call last):
    ...
    aleator.exceptions.CheckpointError: the state of the checkpoint does not fit this run: ...
    """
    try:
        yield
    except _WRONG_ENTRY_ERRORS as error:
        if is_out_of_memory(error):
            raise
        place = "" if folder is None else f" in {folder}"
        reason = " ".join(str(error).split())
        if isinstance(error, KeyError):
            reason = f"it has no entry {reason}"
        raise CheckpointError(
            f"the state of the checkpoint{place} does not fit this run: {reason}"
        ) from error


def history_of_state(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a copy of the history in a state, whose entries are what the trainer writes.

    Parameters
    ----------
    state : dict
        State of a trainer.

    Returns
    -------
    list of dict

    Examples
    --------
    >>> record = {"epoch": 0, "phase": "joint", "loss": 0.5, "seconds": 0.1, "steps": 3}
    >>> history_of_state({"history": [record]}) == [record]
    True
    """
    if not isinstance(state["history"], list):
        raise TypeError("the history is not a list")
    for number, record in enumerate(state["history"]):
        if not isinstance(record, dict):
            raise TypeError(f"entry {number} of the history is not a record")
        watched = any(name in record for name in _WATCHED)
        for name, kind in {**_RECORD, **(_WATCHED if watched else {})}.items():
            if not isinstance(record.get(name), kind):
                found = str(record.get(name))[:40]
                raise TypeError(f"{name!r} of record {number} of the history is {found}")
    return copy.deepcopy(state["history"])


def is_finished(state: dict[str, Any], n_rounds: int) -> bool:
    """Whether nothing is left to train, so that only the networks are of use.

    Parameters
    ----------
    state : dict
        State of a trainer.
    n_rounds : int
        Rounds of the whole training.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_finished({"position": {"round": 3, "turn": 0}}, 3)
    True
    """
    return whole_number(state["position"], "round", n_rounds) == n_rounds > 0


_NUMBER = (int, float)
_RECORD: dict[str, Any] = {
    "epoch": int, "phase": str, "loss": _NUMBER, "seconds": _NUMBER, "steps": int,
}  # fmt: skip
_WATCHED: dict[str, Any] = {"embedding_std": _NUMBER, "effective_rank": _NUMBER}


def plan_of_state(state: dict[str, Any], present: Plan) -> Plan:
    """Return the plan that a state was trained with, or `present` if it is for other devices.

    A column that is computed again for every batch is rounded in other ways than one that is kept,
    so that a run continues with its own plan, also if less memory is free now.

    Parameters
    ----------
    state : dict
        State of a trainer.
    present : Plan
        Plan for the present device.

    Returns
    -------
    Plan

    Examples
    --------
    >>> plan = Plan("cpu", "32", False, 128, (), 2**20)
    >>> plan_of_state({"plan": plan.to_dict()}, Plan("cpu", "32", False, 128, (), 7)) == plan
    True
    """
    saved = Plan.from_dict(state["plan"])
    same = all(
        getattr(saved, name) == getattr(present, name)
        for name in ("device", "precision", "processes")
    )
    if not same:
        return present
    names, expected = ([place.name for place in plan.placements] for plan in (saved, present))
    if sorted(names) != sorted(expected):
        raise ValueError(f"its plan has the columns {names}, but there are {expected}")
    # A present plan for a GPU may have no graphs only because less of its memory is free now.
    if saved.graphs and torch.device(present.device).type != "cuda":
        raise ValueError(f"its plan has CUDA graphs, which there are not on {present.device}")
    if saved.batch_size != present.batch_size:
        raise ValueError(
            f"its plan has batches of {saved.batch_size} rows, not of {present.batch_size}"
        )
    return saved


def plan_with_room(plan: Plan, present: Plan, given: Container[str], free: int) -> Plan:
    """Return a plan that keeps no more on the host than there is room for, with a warning if less.

    The kernel kills a process for what it keeps in the memory of the host. Unlike on a GPU, there
    is no error after which training could continue with less.

    Parameters
    ----------
    plan : Plan
        Plan with which a run was trained.
    present : Plan
        Plan that a new run would have now.
    given : container of str
        Names of the columns that are not derived from others, and need no further memory.
    free : int
        Bytes of the host that are free.

    Returns
    -------
    Plan
        Columns that do not fit, the largest first, are where `present` has them.

    Examples
    --------
    >>> from aleator.training.plan import Placement
    >>> then, now = (
    ...     Plan("cpu", "32", False, 128, (Placement("targets", where, 2**30),), 2**30)
    ...     for where in ("device", "recomputed")
    ... )
    >>> plan_with_room(then, now, {"input"}, free=2**31) == then
    True
    """
    on_host = {DEVICE, HOST} if torch.device(plan.device).type == "cpu" else {HOST}
    kept = {p.name: p for p in plan.placements if p.where in on_host and p.name not in given}
    places = {place.name: place for place in present.placements}
    moved = []
    for name, place in sorted(kept.items(), key=lambda item: -item[1].bytes):
        if sum(p.bytes for p in kept.values()) <= max(_LITTLE, _SHARE_FOR_KEPT * free):
            break
        if name in places and places[name].where not in on_host:
            del kept[name]
            moved.append(replace(place, where=places[name].where))
    if not moved:
        return plan
    measures = ", ".join(f"the column {place.name!r} is now {place.description}" for place in moved)
    warnings.warn(
        f"less memory is free than before: {measures}, and training continues, but will not be the "
        "same bit for bit as without a stop",
        LessMemoryWarning,
        stacklevel=2,
    )
    changed = {place.name: place for place in moved}
    return replace(plan, placements=tuple(changed.get(p.name, p) for p in plan.placements))


def warn_of_other_conditions(
    state: dict[str, Any], device: torch.device, processes: int = 1
) -> None:
    """Warn if a run will be rounded in other ways than it was, so that it is not repeated exactly.

    Parameters
    ----------
    state : dict
        State of a trainer.
    device : torch.device
        Device of the training.
    processes : int, default=1
        Number of processes that train together.
    """
    then = dict(state["conditions"]) | {"processes": str(state["plan"].get("processes", 1))}
    now = rounding_conditions(device) | {"processes": str(processes)}
    changes = [
        f"{name} {then.get(name)} → {now[name]}" for name in now if then.get(name) != now[name]
    ]
    if changes:
        warnings.warn(
            f"training continues under other conditions ({', '.join(changes)}), so that it will "
            "not be the same bit for bit as without a stop",
            CheckpointWarning,
            stacklevel=2,
        )
