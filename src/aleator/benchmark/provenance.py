"""What ran, and on what: for the lines that results are made of."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import aleator


def commit() -> str:
    """The revision that ran; a copy without its history is told by ALEATOR_COMMIT.

    >>> len(commit()) > 0
    True
    """
    if named := os.environ.get("ALEATOR_COMMIT"):
        return named
    here = Path(__file__).parent
    try:
        command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
        return subprocess.run(
            command, cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def stamp(device: str) -> dict[str, Any]:
    """What every line of results says of the program and the machine.

    >>> sorted(stamp("cpu"))
    ['commit', 'device', 'threads', 'version']
    """
    import torch

    return {
        "version": aleator.__version__,
        "commit": commit(),
        "device": device_name(device),
        "threads": torch.get_num_threads(),
    }


def device_name(choice: str) -> str:
    """The GPU's own name, or the kind of device.

    >>> device_name("cpu")
    'cpu'
    """
    import torch

    from aleator.training.devices import resolve_device

    device = resolve_device(choice)
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
