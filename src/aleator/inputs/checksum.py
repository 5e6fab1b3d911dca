"""Checksums that tell data from other data, for what is continued after a stop."""

from __future__ import annotations

import hashlib
from typing import Any

from aleator.inputs.sources import Source, evenly_spaced

# Data with more values than this are compared by a checksum of rows that are spread evenly over
# them and have about this many values together: 64 MiB in single precision.
_VALUES_COMPARED = 1 << 24
_MOST_AT_ONCE = 1 << 12


def checksum_of(source: Source) -> dict[str, Any]:
    """Return a checksum of all rows, or of evenly spaced ones if there are many values.

    Parameters
    ----------
    source : Source
        The data.

    Returns
    -------
    dict
        "rows_compared", how many rows were read, and "sha256".

    Examples
    --------
    >>> import numpy as np
    >>> from aleator.inputs.sources import ArraySource
    >>> checksum_of(ArraySource(np.ones((3, 2))))["rows_compared"]
    3
    """
    most = max(2, _VALUES_COMPARED // max(1, source.schema.size))
    rows = evenly_spaced(len(source), most)
    digest = hashlib.sha256()
    at_once = min(source.rows_per_chunk, _MOST_AT_ONCE)
    for start in range(0, len(rows), at_once):
        digest.update(source.row_bytes(rows[start : start + at_once]))
    return {"rows_compared": len(rows), "sha256": digest.hexdigest()}
