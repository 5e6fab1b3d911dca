"""Which of the processes that were started together train together, and which alone.

A process that waits for others cannot see that one of them trains a model of its own, because it
was given other numbers. So it is told, through a store of `torch.distributed`.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import threading
import time
import warnings
from contextlib import suppress
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from aleator.exceptions import ProcessError, SeparateModelsWarning

# For a process that trains alone and joins the others afterwards.
_SECONDS_ALONE = 20.0
_SECONDS_TO_JOIN = 1800.0  # as long as Lightning and torch wait
_SECONDS_TO_TELL = 300.0
_MOMENT = 0.2
_PREFIX = "aleator"


def started_processes() -> int:
    """Return how many processes torchrun or srun started, of which this is one.

    Examples
    --------
    >>> started_processes()
    1
    """
    if multiprocessing.current_process().name != "MainProcess":
        return 1  # a worker, as of joblib, which inherits the variables of the process that has it
    if dist.is_available() and dist.is_torchelastic_launched():
        return int(os.environ.get("WORLD_SIZE", "1"))
    if os.environ.get("SLURM_JOB_NAME") in ("bash", "interactive"):
        return 1  # as in Lightning
    # Only srun sets it. SLURM_NTASKS is also there if a batch file starts one process without srun.
    return int(os.environ.get("SLURM_STEP_NUM_TASKS", "1"))


class Presence:
    """What this process tells others about its fits, and hears from them."""

    def __init__(self) -> None:
        self._alone = 0  # fits since this process last joined others
        self._before = 0  # what that number was when it last joined
        self._own: Any = None
        self._is_copy = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._note_fork)

    def train_alone(self) -> None:
        """Note that a fit with one process begins; warn if several processes were started."""
        self._alone += 1
        started = started_processes()
        if started > 1:
            warnings.warn(
                f"{started} processes were started together, but devices=1 and num_nodes=1: each "
                "process trains a model of its own; if they are to train one, give the number of "
                "processes per machine as devices=…, and that of machines as num_nodes=…",
                SeparateModelsWarning,
                stacklevel=2,
            )
        if self._is_copy or (started == 1 and not _is_in_group()):
            return
        if not self._tell_alone() and _rank() > 0:
            # The first process opens the store when it joins, which may be later.
            threading.Thread(target=self._tell_later, daemon=True, name="aleator-alone").start()

    def join(self) -> None:
        """Note that this process joins the others, whatever it did before."""
        self._before, self._alone = self._alone, 0
        if self._before:
            self._tell_alone()

    def wait_for_others(self, size: int) -> None:
        """Wait until all processes want to join, but not for one that trains alone.

        Parameters
        ----------
        size : int
            Number of processes.
        """
        if started_processes() != size or not {"MASTER_ADDR", "MASTER_PORT"} <= os.environ.keys():
            return  # they are started by this one, or do not know each other yet
        began = time.monotonic()
        alone: dict[int, float] = {}
        try:
            store = self._store(_SECONDS_TO_JOIN)
            store.set(f"{_PREFIX}/joined/{_rank()}", "")
            while missing := [k for k in range(size) if not store.check([f"{_PREFIX}/joined/{k}"])]:
                if time.monotonic() > began + _SECONDS_TO_JOIN:
                    names = ", ".join(map(str, missing))
                    raise ProcessError(f"of {size} processes, these have not come: {names}")
                self.check_others(missing, size, alone)
                time.sleep(_MOMENT)
        except RuntimeError as error:
            if _rank() == 0:
                raise
            raise ProcessError(f"process 0 of {size} cannot be reached: it has ended") from error

    def check_others(
        self, missing: list[int], size: int, alone: dict[int, float], has_ended: bool = False
    ) -> None:
        """Raise ProcessError if one of the missing processes has trained alone for some time.

        Parameters
        ----------
        missing : list of int
            Processes that have not come.
        size : int
            Number of processes.
        alone : dict of int to float
            Since when they train alone; changed.
        has_ended : bool, default=False
            Whether one of them will never come.
        """
        store, now = self._store(_SECONDS_TO_JOIN), time.monotonic()
        for rank in missing:
            key = f"{_PREFIX}/alone/{rank}"
            # All may have trained alone before they join; some are still at that.
            if not store.check([key]) or int(store.get(key)) <= self._before:
                continue
            if has_ended or now > alone.setdefault(rank, now) + _SECONDS_ALONE:
                raise ProcessError(
                    f"process {rank} of {size} trains a model of its own, with devices=1 and "
                    "num_nodes=1, and does not join the others: give all processes the same "
                    "devices and num_nodes"
                )

    def _note_fork(self) -> None:
        # A connection of the process that was copied is not for this one.
        self._own, self._is_copy = None, dist.is_available() and dist.is_initialized()

    def _tell_alone(self) -> bool:
        if not (dist.is_initialized() or self._own or _port_is_open()):
            return False
        with suppress(RuntimeError, KeyError):
            self._store(5.0).set(f"{_PREFIX}/alone/{_rank()}", str(self._alone))
        return True

    def _tell_later(self) -> None:
        end = time.monotonic() + _SECONDS_TO_TELL
        while time.monotonic() < end and not self._tell_alone():
            time.sleep(1.0)

    def _store(self, seconds: float) -> Any:
        if dist.is_initialized():
            return dist.distributed_c10d._get_default_store()  # noqa: SLF001
        if self._own is None:
            by_torchrun = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
            # In one process, all that open a port with `multi_tenant` share it.
            store = dist.TCPStore(
                os.environ["MASTER_ADDR"],
                int(os.environ["MASTER_PORT"]),
                is_master=_rank() == 0 and not by_torchrun,
                timeout=timedelta(seconds=seconds),
                wait_for_workers=False,
                multi_tenant=not by_torchrun,
            )
            # torchrun starts all processes again if one fails.
            attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
            self._own = dist.PrefixStore(attempt, store)
        return self._own


presence = Presence()


def _rank() -> int:
    if dist.is_initialized():
        return dist.get_rank()
    return int(os.environ.get("RANK") or os.environ.get("SLURM_PROCID", "0"))


def _is_in_group() -> bool:
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def _port_is_open() -> bool:
    """Whether somebody listens at the address of the first process; torch would write warnings."""
    try:
        address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
        with socket.create_connection(address, 2.0):
            return True
    except (OSError, KeyError, ValueError):
        return False
