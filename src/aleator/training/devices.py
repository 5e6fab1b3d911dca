"""Where and how precisely to compute."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

PRECISIONS = ("auto", "32", "tf32", "bf16")


def resolve_device(choice: str | torch.device) -> torch.device:
    """The device a user means; `"auto"` is the first GPU, else the CPU.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if isinstance(choice, str) and choice == "auto":
        return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    try:
        device = torch.device(choice)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"device={choice!r} is not known: give 'auto', 'cpu', 'cuda' or 'cuda:0'"
        ) from error
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(f"device={str(choice)!r} was asked for, but torch finds no GPU here")
        if device.index is None:
            device = torch.device("cuda", torch.cuda.current_device())
        if device.index >= torch.cuda.device_count():
            raise ValueError(f"device={str(choice)!r}: there are {torch.cuda.device_count()} GPUs")
    return device


def resolve_precision(choice: str, device: torch.device) -> str:
    """The precision a user means; `"auto"` is tf32 on a GPU and 32 bits elsewhere.

    >>> resolve_precision("auto", torch.device("cpu"))
    '32'
    """
    if choice not in PRECISIONS:
        raise ValueError(f"precision={choice!r}: give one of {', '.join(map(repr, PRECISIONS))}")
    if choice == "auto":
        return "tf32" if device.type == "cuda" else "32"
    if choice == "tf32" and device.type != "cuda":
        return "32"  # only GPUs have it, and what they round the CPU computes exactly
    return choice


@contextmanager
def arithmetic(precision: str) -> Iterator[None]:
    """Set torch's global switches for a run, and put them back.

    Deterministic convolutions are part of it: the same seed gives the same numbers.
    """
    matmul = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest" if precision == "32" else "high")
    try:
        with torch.backends.cudnn.flags(
            enabled=True, benchmark=False, deterministic=True, allow_tf32=precision != "32"
        ):
            yield
    finally:
        torch.set_float32_matmul_precision(matmul)


def autocast(precision: str, device: torch.device) -> AbstractContextManager[None]:
    """The context in which networks run."""
    return torch.autocast(
        device.type, dtype=torch.bfloat16, enabled=precision == "bf16", cache_enabled=False
    )


def current(device: torch.device) -> AbstractContextManager[object]:
    """Make a GPU the current one: graphs are captured and kernels launched there."""
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Run with torch's global generators seeded, and give them back as they were.

    Dropout draws from them and from nothing else, so a run's noise depends on its seed alone.
    """
    gpus = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        torch.manual_seed(seed)
        yield


def free_memory(device: torch.device) -> int:
    """Bytes that may be taken on a device now."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, ValueError, OSError):
        return 4 << 30
