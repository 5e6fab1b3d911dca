"""Random projectors: initialization, drawing and selection."""

from aleator.projectors.initialization import INITIALIZATIONS, initialize
from aleator.projectors.selection import Candidates, Selection, select

__all__ = ["Candidates", "INITIALIZATIONS", "Selection", "initialize", "select"]
