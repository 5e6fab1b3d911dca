"""The fields of a result line that describe the program and the machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import aleator


def commit() -> str:
    """Return the git revision of the running program.

    The environment variable ``ALEATOR_COMMIT`` takes precedence, for copies without history.

    Returns
    -------
    commit : str
        Abbreviated hash, with ``-dirty`` if the package or a recipe has uncommitted changes, or
        ``"unknown"``.

    Examples
    --------
    >>> len(commit()) > 0
    True
    """
    if revision := os.environ.get("ALEATOR_COMMIT"):
        return revision
    try:
        revision = _git("rev-parse", "--short=12", "HEAD")
        # Other files, such as those of results, do not change what the program computes.
        program = (".", ":(top)benchmarks/configs")
        changes = _git("status", "--porcelain", "--untracked-files=no", "--", *program)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{revision}-dirty" if changes else revision


def _git(*arguments: str) -> str:
    """Run git in the folder of the package, and return what it prints."""
    folder = Path(aleator.__file__).parent
    return subprocess.run(
        ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


def stamp(device: str) -> dict[str, Any]:
    """Return the fields that every result line has about program and machine.

    Parameters
    ----------
    device : str
        Device as given by the user.

    Returns
    -------
    fields : dict
        Version, commit, name of the device and number of CPU threads.

    Examples
    --------
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
    """Return the model name of the GPU, or the type of any other device.

    Parameters
    ----------
    choice : str
        Device as given by the user, for example ``"auto"``.

    Returns
    -------
    name : str
        Name of the device.

    Examples
    --------
    >>> device_name("cpu")
    'cpu'
    """
    import torch

    from aleator.training.devices import resolve_device

    device = resolve_device(choice)
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
