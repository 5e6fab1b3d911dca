"""The estimators: what a user imports."""

from aleator.estimators.lfr import LFR

__all__ = ["LFR"]
