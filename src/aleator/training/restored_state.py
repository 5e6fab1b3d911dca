"""Restoring phases and the order of samples from a saved state, whose every number is checked.

How many steps a phase has made follows from the round and the turn, and the number of passes from
the steps. A state in which they do not agree was not written by a trainer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from aleator.training.passes import Passes
from aleator.training.phase_state import PhaseState
from aleator.training.sampler import Sampler


def restore_phases(
    state: dict[str, Any], phases: Sequence[PhaseState], passes: Passes, sampler: Sampler
) -> tuple[int, int]:
    """Restore optimizers, positions in passes and the order of samples.

    Parameters
    ----------
    state : dict
        State of a trainer.
    phases : sequence of PhaseState
        Phases as they are at the start.
    passes : Passes
        How many steps they make.
    sampler : Sampler
        Order of the samples.

    Returns
    -------
    round, turn : int
        Where training continues.

    Raises
    ------
    KeyError, TypeError, ValueError, RuntimeError
        If the state is not one of this run; see `aleator.training.continuation.fitting_state`.
    """
    position = state["position"]
    round_ = whole_number(position, "round", passes.rounds)
    turn = whole_number(position, "turn", len(phases) - 1 if round_ < passes.rounds else 0)
    begun = 0
    for number, (phase, saved) in enumerate(zip(phases, state["phases"], strict=True)):
        turns = round_ + (number < turn)
        _check_phase(saved, phase, passes, sampler, turns, in_turn=number == turn)
        phase.load_state_dict(saved)
        phase.prepare_reading(passes.rows_left(phase))
        if not phase.optimizer.is_finite():
            raise ValueError(f"weights or moments of phase {number} are not finite")
        begun += -(-phase.steps // len(passes.sizes))
    if whole_number(state["sampler"], "passes", begun) != begun:
        raise ValueError(f"'passes' is {state['sampler']['passes']}, but {begun} were begun")
    sampler.load_state_dict(state["sampler"])
    return round_, turn


def whole_number(entries: dict[str, Any], name: str, largest: int) -> int:
    """Return an entry that is an integer from zero to `largest`; any other is a ValueError.

    Parameters
    ----------
    entries : dict
        Part of a state.
    name : str
        Name of the entry.
    largest : int
        Largest value that it can have.

    Returns
    -------
    int

    Examples
    --------
    >>> whole_number({"turn": 1}, "turn", 2)
    1
    >>> whole_number({"turn": 3}, "turn", 2)
    Traceback (most recent call last):
    ...
    ValueError: 'turn' is 3, not an integer from 0 to 2
    """
    value = entries[name]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= largest:
        raise ValueError(f"{name!r} is {str(value)[:40]}, not an integer from 0 to {largest}")
    return value


def _check_phase(
    saved: dict[str, Any],
    phase: PhaseState,
    passes: Passes,
    sampler: Sampler,
    turns: int,
    *,
    in_turn: bool,
) -> None:
    """Check the state of a phase that has ended `turns` turns, and may be within another."""
    per_turn = passes.steps_per_turn(phase.phase)
    steps_in_turn = whole_number(saved, "steps_in_turn", per_turn if in_turn else 0)
    expected = turns * per_turn + steps_in_turn
    steps_in_pass = expected % len(passes.sizes)
    for name, value in (("steps", expected), ("steps_in_pass", steps_in_pass)):
        if whole_number(saved, name, value) != value:
            raise ValueError(f"{name!r} is {saved[name]}, but the position is that of {value}")
    whole_number(saved, "round", max(0, passes.rounds - 1))
    length = sampler.length
    seen = whole_number(saved, "seen", length)
    if steps_in_pass and seen != sum(passes.sizes[:steps_in_pass]):
        raise ValueError(f"'seen' is {seen} after {steps_in_pass} steps of a pass")
    # A phase that has made no step has no order, or one that was drawn in vain.
    _check_order(saved["order"], length, sampler.n_samples, may_be_empty=not expected)
    if not isinstance(saved["seconds"], Real) or not math.isfinite(saved["seconds"]):
        raise ValueError(f"'seconds' is {str(saved['seconds'])[:40]}")
    if not bool(saved["loss_sum"].isfinite().all()):
        raise ValueError("the sum of losses is not finite")


def _check_order(order: Any, length: int, n_samples: int, *, may_be_empty: bool) -> None:
    if not isinstance(order, Tensor) or order.dtype != torch.int64 or order.ndim != 1:
        raise TypeError("the order of samples is not a list of integers")
    if len(order) != length and (len(order) or not may_be_empty):
        raise ValueError(f"the order of samples has {len(order)} numbers instead of {length}")
    if len(order) and not 0 <= int(order.min()) <= int(order.max()) < n_samples:
        raise ValueError(f"the order of samples has numbers that are not from 0 to {n_samples - 1}")
