"""Start, or find, the processes that train together, through Lightning Fabric."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from aleator.exceptions import SeparateModelsWarning
from aleator.training.devices import CPU, resolve_device
from aleator.training.distribution import OneProcess
from aleator.validation import check_int

SCRIPT = "ddp"
# These run a function in new processes; those that fork also work in notebooks.
FUNCTION = ("ddp_spawn", "ddp_fork", "ddp_notebook")


@dataclass(frozen=True)
class ProcessChoice:
    """The parameters `devices`, `num_nodes`, `strategy` and `device` of an estimator.

    Parameters
    ----------
    devices : int
        Processes per machine, each with a device of its own.
    num_nodes : int
        Number of machines.
    strategy : {"ddp", "ddp_spawn", "ddp_fork", "ddp_notebook"}
        How processes are started.
    device : str
        "auto", "cpu" or "cuda" if there are several processes.

    Examples
    --------
    >>> ProcessChoice(1, 1, "ddp", "cpu").join().size
    1
    >>> ProcessChoice(2, 1, "fsdp", "cpu").check()
    Traceback (most recent call last):
    ...
    ValueError: strategy='fsdp' divides the weights of a model among processes, ...
    """

    devices: int
    num_nodes: int
    strategy: str
    device: Any

    @property
    def size(self) -> int:
        """Number of processes."""
        return self.devices * self.num_nodes

    def check(self) -> None:
        """Raise ValueError for parameters that are wrong whatever the data are."""
        check_int("devices", self.devices, minimum=1)
        check_int("num_nodes", self.num_nodes, minimum=1)
        names = ", ".join(map(repr, (SCRIPT, *FUNCTION)))
        if self.strategy not in (SCRIPT, *FUNCTION):
            if any(word in str(self.strategy) for word in ("fsdp", "deepspeed", "parallel")):
                raise ValueError(
                    f"strategy={self.strategy!r} divides the weights of a model among processes, "
                    "which is not supported: every process holds the whole model and a part of "
                    f"the rows; give one of {names}"
                )
            raise ValueError(f"strategy must be one of {names}, got {self.strategy!r}")
        if self.size == 1:
            return
        if self.num_nodes > 1 and self.strategy != SCRIPT:
            raise ValueError(
                f"strategy={self.strategy!r} starts processes on one machine only: use "
                "strategy='ddp', and torchrun or SLURM to start one process per device on every "
                "machine"
            )
        if isinstance(self.device, torch.device) or str(self.device) not in ("auto", "cpu", "cuda"):
            raise ValueError(
                f"device={str(self.device)!r} is one device, but devices={self.devices} and "
                f"num_nodes={self.num_nodes} ask for {self.size}: give device='auto', 'cpu' or "
                "'cuda'"
            )
        resolve_device(self.device)

    @property
    def runs_function(self) -> bool:
        """Whether a function has to be passed to processes that are still to be started."""
        return self.size > 1 and self.strategy in FUNCTION and not _is_initialized()

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Start processes, call a function in all of them, and return the result of the first."""
        with tempfile.TemporaryDirectory() as folder:
            # By way of a file: the first process ends before its result is asked for.
            result = Path(folder) / "result"
            self._fabric().launch(_run_and_keep, result, function, arguments)
            return pickle.loads(result.read_bytes())

    def join(self) -> OneProcess:
        """Return the processes of which this is one, and start the others if nobody has.

        Those of a group of `torch.distributed` that exists, those that torchrun or SLURM started,
        or new ones, which run the same script from its beginning.
        """
        if self.size == 1:
            _warn_of_separate_models()
            return OneProcess()
        from aleator.training.ranks import Ranks

        if _is_initialized():
            device = self._device_of_this_process()
        else:
            fabric = self._fabric()
            fabric.launch()
            device = fabric.device
        found = torch.distributed.get_world_size()
        if found != self.size:
            raise ValueError(
                f"devices={self.devices} and num_nodes={self.num_nodes} ask for {self.size} "
                f"processes, but {found} were started: give the numbers with which they were "
                "started"
            )
        return Ranks(device, self.devices)

    def _fabric(self) -> Any:
        accelerator = "cpu" if resolve_device(self.device) == CPU else "cuda"
        return _fabric_class()(
            accelerator=accelerator,
            devices=self.devices,
            num_nodes=self.num_nodes,
            strategy=self.strategy,
        )

    def _device_of_this_process(self) -> torch.device:
        if resolve_device(self.device) == CPU:
            return CPU
        local = os.environ.get("LOCAL_RANK", torch.distributed.get_rank() % self.devices)
        return torch.device("cuda", int(local))


def in_group() -> bool:
    """Whether this process is one of several that run the same script, as far as torch knows.

    Examples
    --------
    >>> in_group()
    False
    """
    if _is_initialized():
        return torch.distributed.get_world_size() > 1
    # Started by torchrun, before there is a group.
    started = torch.distributed.is_available() and torch.distributed.is_torchelastic_launched()
    return started and int(os.environ.get("WORLD_SIZE", "1")) > 1


def started_processes() -> int:
    """Return how many processes torchrun or srun started, of which this is one.

    Examples
    --------
    >>> started_processes()
    1
    """
    if multiprocessing.current_process().name != "MainProcess":
        return 1  # a worker, as of joblib, which inherits the variables of the process that has it
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_torchelastic_launched():
        return int(os.environ.get("WORLD_SIZE", "1"))
    if os.environ.get("SLURM_JOB_NAME") in ("bash", "interactive"):
        return 1  # as in Lightning
    # Only srun sets it. SLURM_NTASKS is also there if a batch file starts one process without srun.
    return int(os.environ.get("SLURM_STEP_NUM_TASKS", "1"))


def _warn_of_separate_models() -> None:
    started = started_processes()
    if started > 1:
        warnings.warn(
            f"{started} processes were started together, but devices=1 and num_nodes=1: this "
            "process trains a model of its own; if all are to train one, give the number of "
            "processes per machine as devices=…, and that of machines as num_nodes=…",
            SeparateModelsWarning,
            stacklevel=2,
        )


def _is_initialized() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def _fabric_class() -> Any:
    # Of its own, or as a part of Lightning.
    for name in ("lightning_fabric", "lightning.fabric"):
        with suppress(ImportError):
            return import_module(name).Fabric
    raise ImportError(
        "training on several devices needs Lightning Fabric: pip install 'aleator[distributed]'"
    )


def _run_and_keep(
    fabric: Any, result: Path, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    value = function(*arguments)
    if fabric.global_rank == 0:
        result.write_bytes(pickle.dumps(value))
    fabric.barrier()
    torch.distributed.destroy_process_group()
