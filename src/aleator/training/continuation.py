"""What a run that continues has to know of the conditions under which its state was saved."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from aleator.exceptions import CheckpointError, CheckpointWarning
from aleator.training.devices import rounding_conditions
from aleator.training.plan import Plan


@contextmanager
def fitting_state() -> Iterator[None]:
    """Context in which a state is restored; an error says that it is that of another run.

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
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"the state of the checkpoint does not fit this run: {' '.join(str(error).split())}"
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
    for number, record in enumerate(state["history"]):
        if not isinstance(record, dict):
            raise TypeError(f"entry {number} of the history is not a record")
        for name, kind in _RECORD.items():
            if name in record and not isinstance(record[name], kind):
                raise TypeError(f"{name!r} of record {number} of the history is {record[name]!r}")
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
    with fitting_state():
        return bool(state["position"]["round"] >= n_rounds > 0)


_RECORD: dict[str, Any] = {
    "epoch": int,
    "phase": str,
    "loss": (int, float),
    "seconds": (int, float),
    "steps": int,
    "embedding_std": (int, float),
    "effective_rank": (int, float),
}


def plan_of_state(state: dict[str, Any], present: Plan) -> Plan:
    """Return the plan that a state was trained with, or `present` if it is for other devices.

    A column that is computed again for every batch is rounded in other ways than one that is kept,
    so that a run continues with its own plan, whatever memory is free now.

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
    with fitting_state():
        saved = Plan.from_dict(state["plan"])
    same = all(
        getattr(saved, name) == getattr(present, name)
        for name in ("device", "precision", "processes")
    )
    return saved if same else present


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
    with fitting_state():
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
