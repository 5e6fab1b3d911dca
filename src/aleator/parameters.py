"""Checks of what a user passed, each with one sentence naming the parameter."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any


def require_int(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least`.

    >>> require_int("epochs", 3, least=0)
    3
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def require_number(
    name: str, value: Any, low: float, high: float = math.inf, *, low_allowed: bool = True
) -> float:
    """A finite number in [low, high), or in (low, high).

    >>> require_number("learning_rate", 0.1, 0, low_allowed=False)
    0.1
    """
    fine = isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isfinite(value)
    if fine:
        number = float(value)
        fine = (number >= low if low_allowed else number > low) and number < high
    if not fine:
        least = f"at least {low:g}" if low_allowed else f"above {low:g}"
        most = "" if high == math.inf else f" and below {high:g}"
        raise ValueError(f"{name} must be a number {least}{most}, not {value!r}")
    return number


def require_one_of(name: str, value: Any, known: Sequence[str], also: str = "") -> None:
    """A string among `known`.

    >>> require_one_of("schedule", "cosine", ("constant", "cosine"))
    """
    if not (isinstance(value, str) and value in known):
        names = ", ".join(map(repr, known))
        raise ValueError(f"{name} must be one of {names}{also}, not {value!r}")


class NotStored:
    """Stands for a parameter that a model file cannot hold (a function, a module).

    >>> NotStored("loss", "my_loss")
    <loss: my_loss, not stored>
    """

    def __init__(self, name: str, description: str) -> None:
        self.name = name
        self.description = description

    def __repr__(self) -> str:
        return f"<{self.name}: {self.description}, not stored>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NotStored) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def refuse_not_stored(parameters: dict[str, Any]) -> None:
    """Say which parameters must be given again before training."""
    for name, value in parameters.items():
        if isinstance(value, NotStored):
            raise ValueError(
                f"this estimator was loaded from a file, which cannot hold its {name} "
                f"({value.description}): set_params({name}=…) before fitting it again"
            )
