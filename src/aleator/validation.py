"""Checks of parameters; each error names the parameter, what is allowed and what was given."""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Also chained ("zip::s3://…"), and as pathlib leaves them: s3:/bucket. "C:/" is not one.
_URL = re.compile(r"([a-z][a-z0-9+.-]+::)*[a-z][a-z0-9+.-]+:/", re.IGNORECASE)


def check_int(name: str, value: Any, minimum: int) -> int:
    """Check that a parameter is an integer of at least `minimum`.

    Examples
    --------
    >>> check_int("epochs", 3, minimum=0)
    3
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}, got {value!r}")
    return int(value)


def check_optional_int(name: str, value: Any, minimum: int) -> int | None:
    """Check that a parameter is None or an integer of at least `minimum`.

    Examples
    --------
    >>> check_optional_int("steps", None, minimum=1)
    """
    return None if value is None else check_int(name, value, minimum)


def check_number(
    name: str, value: Any, low: float, high: float = math.inf, *, include_low: bool = True
) -> float:
    """Check that a parameter is a finite number in [low, high), or in (low, high).

    Examples
    --------
    >>> check_number("learning_rate", 0.1, 0, include_low=False)
    0.1
    """
    if isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value):
        number = float(value)
        if (number >= low if include_low else number > low) and number < high:
            return number
    lower = f"of at least {low:g}" if include_low else f"greater than {low:g}"
    bounds = "" if low == -math.inf else f" {lower}"
    if high != math.inf:
        bounds += f" and less than {high:g}"
    raise ValueError(f"{name} must be a finite number{bounds}, got {value!r}")


def check_optional_number(
    name: str, value: Any, low: float, high: float = math.inf, *, include_low: bool = True
) -> float | None:
    """Check that a parameter is None or a number as in `check_number`.

    Examples
    --------
    >>> check_optional_number("learning_rate", None, 0)
    """
    return None if value is None else check_number(name, value, low, high, include_low=include_low)


def check_choice(name: str, value: Any, allowed: Sequence[str], alternative: str = "") -> None:
    """Check that a parameter is one of some strings.

    `alternative` completes the error message where values other than strings are allowed too.

    Examples
    --------
    >>> check_choice("schedule", "cosine", ("constant", "cosine"))
    """
    if not (isinstance(value, str) and value in allowed):
        names = ", ".join(map(repr, allowed))
        raise ValueError(f"{name} must be one of {names}{alternative}, got {value!r}")


def check_local(name: str, folder: str | os.PathLike[str]) -> Path:
    """Return a folder that is on the disk; a URL is refused, which would become a folder ``s3:``.

    Parameters
    ----------
    name : str
        Name of the parameter.
    folder : str or path-like
        Its value.

    Returns
    -------
    Path

    Examples
    --------
    >>> check_local("checkpoint", "runs/1").name
    '1'
    >>> check_local("checkpoint", "s3://bucket/runs/1")
    Traceback (most recent call last):
    ValueError: checkpoint='s3://bucket/runs/1' is a URL: give the path of a local folder
    """
    given = os.fsdecode(folder)
    if _URL.match(given):
        raise ValueError(f"{name}={given!r} is a URL: give the path of a local folder")
    return Path(given)
