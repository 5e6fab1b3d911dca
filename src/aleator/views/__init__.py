"""Views: random changes of a batch that are meant to leave its meaning alone.

LFR needs none; its rivals do. A view is a module that takes a batch on the device and returns a
changed copy of the same shape, drawn anew at every call, all rows at once.
"""

from aleator.views.mixing import Mixed
from aleator.views.series import Scaled, Shuffled
from aleator.views.table import Corrupted

__all__ = ["Corrupted", "Mixed", "Scaled", "Shuffled"]
