"""Views: random changes of a batch that should preserve its meaning.

LFR needs none; methods that compare views do. A view is a module that maps a batch on the device to
a changed batch of the same shape, drawn anew at every call.
"""

from aleator.views.corruption import FeatureCorruption
from aleator.views.mixup import Mixup
from aleator.views.observation_dropout import ObservationDropout
from aleator.views.tstcc_augmentation import RandomScaling, SegmentPermutation

__all__ = [
    "FeatureCorruption",
    "Mixup",
    "ObservationDropout",
    "RandomScaling",
    "SegmentPermutation",
]
