"""Text of many different values: principal directions of its hashed character n-grams.

Text is divided into n-grams of three and four characters within words. They are counted under a
hash of theirs, weighted by how rare they are, and projected onto the directions that explain most
of the training data: latent semantic analysis (Deerwester et al., 1990) of n-grams, as in skrub's
`StringEncoder`. Similar text has similar features, also text that was not in the training data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from aleator.inputs.frames import Frame
from aleator.inputs.hashed_ngrams import rarity, vectorizer, weighted
from aleator.inputs.sources import evenly_spaced
from aleator.inputs.tables.encoders import ColumnEncoder
from aleator.inputs.tables.values import Place, texts_of

# The directions of a column take 480 KiB with these.
N_HASHES = 1 << 12
MOST_DIRECTIONS = 30
# The directions are learned from so many rows at most.
_MOST_ROWS = 1 << 15


@dataclass(frozen=True)
class NGrams(ColumnEncoder):
    """Principal directions of hashed character n-grams.

    Parameters
    ----------
    weights : ndarray of shape (4096,)
        Weight of every hash.
    directions : ndarray of shape (n_outputs, 4096), float32
        The directions.
    """

    treatment: ClassVar[str] = "n-grams"

    weights: np.ndarray = field(repr=False)
    directions: np.ndarray = field(repr=False)

    @classmethod
    def learn(cls, texts: list[str | None], n_outputs: int) -> NGrams:
        """Learn weights and directions from the text of a column.

        Parameters
        ----------
        texts : list of str or None
            Text of the training data.
        n_outputs : int
            Number of directions.

        Returns
        -------
        NGrams
        """
        from sklearn.decomposition import TruncatedSVD

        known = [text for text in texts if text is not None]
        known = [known[row] for row in evenly_spaced(len(known), _MOST_ROWS)]
        counts, rows = _distinct_counts(known)
        frequency = np.bincount(counts[rows].indices, minlength=N_HASHES)
        weights = rarity(frequency, len(known))
        rows_of_sample = weighted(counts, weights)[rows]
        solver = TruncatedSVD(n_outputs, random_state=0).fit(rows_of_sample)
        return cls(weights, solver.components_.astype(np.float32))

    @property
    def n_outputs(self) -> int:
        """Number of features."""
        return len(self.directions)

    @property
    def description(self) -> str:
        """What is done, in words."""
        return f"{self.n_outputs} principal directions of hashed character n-grams"

    def encode(self, frame: Frame, column: int, place: Place) -> np.ndarray:
        """Return the position of every text along the directions."""
        texts = texts_of(frame, column)
        counts, rows = _distinct_counts(["" if text is None else text for text in texts])
        # A sparse matrix is multiplied row by row, whatever the other rows are.
        features = (weighted(counts, self.weights) @ self.directions.T.astype(np.float64))[rows]
        features[[text is None for text in texts]] = np.nan
        return features

    def arrays(self) -> dict[str, np.ndarray]:
        """Weights and directions."""
        return {"weights": self.weights, "directions": self.directions}

    @classmethod
    def from_saved(cls, stored: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> NGrams:
        """Make an encoder of what `arrays` returned."""
        weights, directions = arrays["weights"], arrays["directions"]
        if weights.shape != (N_HASHES,) or directions.ndim != 2 or len(directions) < 1:
            raise ValueError("the weights of n-grams have another shape")
        if directions.shape[1] != N_HASHES or len(directions) > MOST_DIRECTIONS:
            raise ValueError("the directions of n-grams have another shape")
        if weights.dtype != np.float64 or directions.dtype != np.float32:
            raise ValueError("the directions of n-grams have another data type")
        if not (np.isfinite(weights).all() and np.isfinite(directions).all()):
            raise ValueError("the directions of n-grams are not numbers")
        return cls(weights, directions)


def _vectorizer() -> Any:
    return vectorizer(N_HASHES, 3, 4, True)


def _distinct_counts(texts: list[str]) -> tuple[Any, np.ndarray]:
    """Count the n-grams of every distinct text; return also the position of each text in these."""
    positions: dict[str, int] = {}
    rows = np.array([positions.setdefault(text, len(positions)) for text in texts], np.int64)
    if not positions:
        return _vectorizer().transform([""])[:0], rows
    return _vectorizer().transform(list(positions)), rows
