"""Devices, precision and random state of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

from aleator.training.host_memory import free_host_memory

PRECISIONS = ("auto", "64", "32", "tf32", "bf16")

CPU = torch.device("cpu")


def resolve_device(choice: str | torch.device) -> torch.device:
    """Resolve the parameter `device`; "auto" is the first GPU, else the CPU.

    Examples
    --------
    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if isinstance(choice, str) and choice == "auto":
        return torch.device("cuda", 0) if torch.cuda.is_available() else CPU
    try:
        device = torch.device(choice)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"device={choice!r} is not known: give 'auto', 'cpu', 'cuda' or 'cuda:0'"
        ) from error
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(f"device={str(choice)!r} was requested, but torch finds no GPU")
        if device.index is None:
            device = torch.device("cuda", torch.cuda.current_device())
        if device.index >= torch.cuda.device_count():
            raise ValueError(f"device={str(choice)!r}: there are {torch.cuda.device_count()} GPUs")
    return device


def resolve_precision(choice: str, device: torch.device) -> str:
    """Resolve the parameter `precision`; "auto" is tf32 on a GPU and 32 bits elsewhere.

    Examples
    --------
    >>> resolve_precision("auto", torch.device("cpu"))
    '32'
    """
    if choice not in PRECISIONS:
        names = ", ".join(map(repr, PRECISIONS))
        raise ValueError(f"precision must be one of {names}, got {choice!r}")
    if choice == "auto":
        return "tf32" if device.type == "cuda" else "32"
    if choice == "tf32" and device.type != "cuda":
        return "32"  # only GPUs have tf32, and the CPU computes the same products exactly
    return choice


def dtype_of(precision: str) -> torch.dtype:
    """Type of weights, optimizer state and batches in training; "64" is Lightning's "64-true".

    Examples
    --------
    >>> dtype_of("64"), dtype_of("bf16")
    (torch.float64, torch.float32)
    """
    return torch.float64 if precision == "64" else torch.float32


def autocast(precision: str, device: torch.device) -> AbstractContextManager[None]:
    """Context in which networks run."""
    return torch.autocast(
        device.type, dtype=torch.bfloat16, enabled=precision == "bf16", cache_enabled=False
    )


def current_device(device: torch.device) -> AbstractContextManager[object]:
    """Make a GPU the current one, where graphs are captured and kernels are launched."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


@contextmanager
def seeded(seed: int, device: torch.device = CPU) -> Iterator[None]:
    """Run with torch's global generators seeded, and restore them.

    Dropout and initialization draw from these generators only, so that the random numbers of a run
    depend on its seed alone.
    """
    gpus = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        torch.manual_seed(seed)
        yield


def rng_state(device: torch.device) -> dict[str, torch.Tensor]:
    """State of torch's global generators on the CPU and on a device.

    Examples
    --------
    >>> sorted(rng_state(CPU))
    ['cpu']
    """
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def set_rng_state(state: dict[str, torch.Tensor], device: torch.device) -> None:
    """Restore a state returned by `rng_state`, as far as it is of the same kind of device."""
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)


def rounding_conditions(device: torch.device) -> dict[str, str]:
    """Describe what the rounding of numbers depends on besides the program.

    Examples
    --------
    >>> sorted(rounding_conditions(CPU))
    ['device', 'instructions of the CPU', 'threads', 'torch']
    """
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {
        "device": name,
        "instructions of the CPU": torch.backends.cpu.get_cpu_capability(),
        "threads": str(torch.get_num_threads()),
        "torch": str(torch.__version__),
    }


def free_memory(device: torch.device) -> int:
    """Return the number of bytes that can be allocated on a device."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return free_host_memory()
