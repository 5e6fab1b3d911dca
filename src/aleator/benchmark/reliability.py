"""The file in which commands store their proofs of reliability."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aleator.atomic_io import write_file

RESULTS = Path("benchmarks/results/reliability.json")


def add_result(path: Path, *keys: str, result: dict[str, Any]) -> None:
    """Add a result to the file, and keep all others.

    Parameters
    ----------
    path : Path
        The file, such as `RESULTS`.
    *keys : str
        Name of the proof, and of a case of it if there are several.
    result : dict
        The result, with the command that repeats it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "reliability.json"
    ...     add_result(path, "soak", result={"growth": 0.0})
    ...     add_result(path, "streaming", "donors", result={"scale": 1.0})
    ...     json.loads(path.read_bytes())
    {'soak': {'growth': 0.0}, 'streaming': {'donors': {'scale': 1.0}}}
    """
    content = json.loads(path.read_bytes()) if path.exists() else {}
    place = content
    for key in keys[:-1]:
        place = place.setdefault(key, {})
    place[keys[-1]] = result
    write_file(path, (json.dumps(content, indent=1) + "\n").encode())
