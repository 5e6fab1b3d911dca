"""Protocols of fine-tuning: with the settings of the recipe, or with another rate and length."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Self

FINETUNED = "finetuned"
_VARIED = re.compile(rf"{FINETUNED}, rate x ([\d.]+), epochs x ([\d.]+)")


@dataclass(frozen=True)
class FineTuning:
    """The protocol that trains encoder and linear layer with labels.

    Parameters
    ----------
    rate : float, default=1
        Factor of the learning rate of the recipe.
    epochs : float, default=1
        Factor of the epochs of the recipe.

    Examples
    --------
    >>> FineTuning().protocol, FineTuning(rate=10, epochs=0.3).protocol
    ('finetuned', 'finetuned, rate x 10, epochs x 0.3')
    >>> FineTuning.parse("finetuned, rate x 10, epochs x 0.3").rate
    10.0
    """

    rate: float = 1
    epochs: float = 1

    @property
    def protocol(self) -> str:
        """Name of the protocol, as result files store it."""
        if self.rate == self.epochs == 1:
            return FINETUNED
        return f"{FINETUNED}, rate x {self.rate:g}, epochs x {self.epochs:g}"

    @classmethod
    def parse(cls, protocol: str) -> Self | None:
        """Read the name of a protocol; None if it is not fine-tuning.

        Parameters
        ----------
        protocol : str
            Name of a protocol.

        Returns
        -------
        FineTuning or None
        """
        if protocol == FINETUNED:
            return cls()
        found = _VARIED.fullmatch(protocol)
        return cls(*map(float, found.groups())) if found else None

    def applied_to(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the settings of a recipe with both factors applied.

        Parameters
        ----------
        settings : dict
            The settings for fine-tuning of a supervised recipe.

        Returns
        -------
        settings : dict
            Those to use; at least one epoch.

        Examples
        --------
        >>> FineTuning(rate=10, epochs=0.3).applied_to({"epochs": 10, "learning_rate": 1e-4})
        {'epochs': 3, 'learning_rate': 0.001}
        """
        return {
            **settings,
            "epochs": max(1, round(self.epochs * settings["epochs"])),
            "learning_rate": self.rate * settings["learning_rate"],
        }
