"""What to do when memory runs out: keep less of it resident, then run networks on fewer rows.

The plan is made from sizes and from what is free at the start. Activations are not part of it, and
other programs may take memory later.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from aleator.exceptions import LessMemoryWarning
from aleator.training.devices import rng_state, set_rng_state
from aleator.training.head_bank import uses_batch_norm
from aleator.training.host_rows import HostRows
from aleator.training.memory_errors import memory_error
from aleator.training.method import Method, Phase
from aleator.training.micro_batches import can_be_divided
from aleator.training.phase_state import PhaseState
from aleator.training.plan import DEVICE, HOST, RECOMPUTED, STREAMED, Placement, Plan
from aleator.training.sampler import Sampler


def less_resident(plan: Plan, origins: Mapping[str, str | None]) -> tuple[Plan, Placement] | None:
    """Return a plan that keeps one column less, the largest, and where that column is now.

    A column on the device goes to the host, or stays in its file if it comes from one; a derived
    column on the host, or on a CPU, is computed again for every batch.

    Parameters
    ----------
    plan : Plan
        The plan for which memory did not suffice.
    origins : mapping of str to str or None
        Where columns come from: "device", "host", "streamed", or None for derived columns. Other
        placements of the plan, of large layers, cannot be moved.

    Returns
    -------
    tuple of (Plan, Placement) or None
        None if nothing is left to move.

    Examples
    --------
    >>> placed = (Placement("input", "device", 10), Placement("targets", "device", 90))
    >>> plan = Plan("cuda:0", "32", False, 8, placed, 100)
    >>> origins = {"input": "host", "targets": None}
    >>> for _ in range(3):
    ...     plan, moved = less_resident(plan, origins)
    ...     print(moved.name, moved.where)
    targets host
    input host
    targets recomputed
    >>> less_resident(plan, origins) is None
    True
    """
    on_cpu = torch.device(plan.device).type == "cpu"
    moves = {
        place: where
        for place in plan.placements
        if place.name in origins
        and (where := _next_place(place, origins[place.name], on_cpu=on_cpu)) is not None
    }
    if not moves:
        return None
    # What is on the device first, then what is on the host.
    chosen = max(moves, key=lambda place: (place.where == DEVICE, place.bytes))
    moved = replace(chosen, where=moves[chosen])
    placements = tuple(moved if place is chosen else place for place in plan.placements)
    return replace(plan, placements=placements), moved


def _next_place(place: Placement, origin: str | None, *, on_cpu: bool) -> str | None:
    if origin is not None:  # a given column stays where it comes from
        if on_cpu or place.where != DEVICE:
            return None
        return STREAMED if origin == STREAMED else HOST
    if place.where == RECOMPUTED:
        return None
    return HOST if place.where == DEVICE and not on_cpu else RECOMPUTED


def plan_for_less(
    plan: Plan, method: Method, given: Mapping[str, HostRows], phase: Phase | None, failure: str
) -> Plan:
    """Return the next plan that needs less memory, with a warning.

    Parameters
    ----------
    plan : Plan
        The plan for which memory did not suffice.
    method : Method
        What is trained.
    given : mapping of str to HostRows
        Columns that are not derived from others.
    phase : Phase or None
        The phase for whose step memory did not suffice; None if that was before any.
    failure : str
        The message of the error.

    Returns
    -------
    Plan

    Raises
    ------
    MemoryError
        If nothing is left to move.
    """
    origins: dict[str, str | None] = {name: rows.origin for name, rows in given.items()}
    origins |= {column.name: None for column in method.derived}
    if (found := less_resident(plan, origins)) is not None:
        changed, moved = found
        measure = f"the column {moved.name!r} is now {moved.description}"
    elif (divided := with_micro_batches(plan, phase)) is not None:
        changed, measure = divided, f"networks now run on {divided.micro_batch} rows at a time"
    else:
        raise out_of_memory(plan, failure, phase)
    warnings.warn(
        f"memory did not suffice on {plan.device}: {measure}, and training continues",
        LessMemoryWarning,
        stacklevel=2,
    )
    return changed


def with_micro_batches(plan: Plan, phase: Phase | None) -> Plan | None:
    """Return a plan with micro-batches half as large, or None if that would change the loss.

    Examples
    --------
    >>> from torch import nn
    >>> layer = nn.Linear(2, 2)
    >>> phase = Phase("fit", [], [layer], (), tuple, torch.sum, row_wise=[layer])
    >>> with_micro_batches(Plan("cpu", "32", False, 100, (), 0), phase).micro_batch
    50
    """
    rows = (plan.micro_batch or plan.batch_size) // 2
    if phase is None or rows < 1 or not can_be_divided(phase.row_wise):
        return None
    # The second computation of a piece restores generators, which a graph cannot.
    return replace(plan, micro_batch=rows, graphs=False)


def out_of_memory(plan: Plan, failure: str, phase: Phase | None = None) -> MemoryError:
    """Return an error that says what the training needs.

    Examples
    --------
    >>> out_of_memory(Plan("cuda:0", "32", False, 8, (), 100), "CUDA out of memory. Tried to …")
    MemoryError('memory does not suffice on cuda:0 for batches of 8 rows, ...')
    """
    why = "no more of it can be freed"
    if phase is not None and any(uses_batch_norm(module) for module in phase.row_wise):
        why += ", nor can a batch be divided, since the networks normalize batches"
    purpose = f"for batches of {plan.batch_size} rows, and {why}"
    advice = "lower batch_size or embedding_dim, or train on another device"
    return memory_error(plan.device, purpose, advice, failure)


def undo_step(state: PhaseState, sampler: Sampler, device: torch.device) -> Callable[[], None]:
    """Copy what a step changes before its update, and return a function that restores it.

    These are the generators, the order of samples, and buffers such as the averages of batch
    normalization.
    """
    order, noise = sampler.state_dict(), rng_state(device)
    buffers: list[Tensor] = [b for module in state.phase.train_mode for b in module.buffers()]
    copies = [buffer.clone() for buffer in buffers]

    def undo() -> None:
        state.optimizer.zero_grad()
        for buffer, copy in zip(buffers, copies, strict=True):
            buffer.copy_(copy)
        sampler.load_state_dict(order)
        set_rng_state(noise, device)

    return undo
