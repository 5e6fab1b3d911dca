"""The door: anything a user holds becomes columns of float32, or one clear sentence."""

from aleator.inputs.door import Door
from aleator.inputs.modalities import MODALITIES

__all__ = ["Door", "MODALITIES"]
