"""The input adapter of texts: weights of hashed n-grams, and counts of bytes.

A text has three blocks of features. The first are its n-grams of two to four characters within
words, upper and lower case apart: counted under a hash of theirs, with the logarithm of counts,
weighted by how rare they are, and scaled to length one (tf-idf). The second are the logarithms of
the counts of its bytes in UTF-8, which say how much of it is digits, capitals, punctuation or
another script. The last one is the logarithm of its length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from aleator.inputs.adapter_base import Adapter, ColumnRecord, check_preprocessing
from aleator.inputs.frames import Frame, Kind, as_frame, is_frame
from aleator.inputs.hashed_ngrams import rarity, vectorizer, weighted
from aleator.inputs.layout import ArrayLayout
from aleator.inputs.opening import open_source
from aleator.inputs.reading import RawData
from aleator.inputs.scale import read_scale
from aleator.inputs.sources import evenly_spaced
from aleator.inputs.table_files import TableFiles
from aleator.inputs.table_source import TableSource
from aleator.inputs.tables.adapted import AdaptedTable
from aleator.inputs.tables.adapted_files import AdaptedTableFiles
from aleator.inputs.tables.values import Place
from aleator.inputs.texts.source import TextSource, as_texts, checked_text

N_HASHES = 1 << 12
_N_BYTES = 1 << 8
_N_FEATURES = N_HASHES + _N_BYTES + 1
_SHORTEST, _LONGEST = 2, 4
# Weights and scales are learned from so many texts at most, evenly spaced.
_MOST_TEXTS = 1 << 15
_TEXTS_AT_ONCE = 1 << 10
# Bytes that hardly occur must not become outliers where they do.
_LEAST_DEVIATION = 0.1


class TextAdapter(Adapter):
    """Converts texts to weights of hashed n-grams and counts of bytes.

    Parameters
    ----------
    layout : ArrayLayout
        Axes of the converted samples.
    estimator_name : str, default="the estimator"
        Name of the estimator for messages.

    Attributes
    ----------
    weights : ndarray of shape (4096,)
        Weight of every hash.
    scale : dict of str to ndarray
        What is subtracted from every feature, and by what it is divided ("mean", "deviation");
        empty if features are not scaled.
    missing : float
        Share of the training texts that are missing; they are treated as empty ones.

    Examples
    --------
    >>> from aleator.inputs.reading import read
    >>> layout = ArrayLayout("text", "texts", ("features",), "feature", given_as="text")
    >>> adapter = TextAdapter(layout).fit(read(["see you", "WIN now!!", None]))
    >>> adapter.transform(["a new text", ""]).shape
    (2, 4353)
    >>> adapter
    texts: 4096 hashed n-grams of 2 to 4 characters, weighted; 256 counts of bytes; the length
    """

    form: ClassVar[str] = "text"
    shape = (_N_FEATURES,)
    n_features = 1

    def __init__(self, layout: ArrayLayout, estimator_name: str = "the estimator") -> None:
        self.layout = layout
        self.estimator_name = estimator_name
        self.weights = np.ones(N_HASHES)
        self.scale: dict[str, np.ndarray] = {}
        self.missing = 0.0
        self._lengths: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return (
            f"texts: {N_HASHES} hashed n-grams of {_SHORTEST} to {_LONGEST} characters, weighted; "
            f"{_N_BYTES} counts of bytes; the length"
        )

    @property
    def columns_(self) -> list[ColumnRecord]:
        """Texts have no columns."""
        return []

    @property
    def array_modality(self) -> str:
        """Converted texts are a table."""
        return "table"

    @property
    def missing_share(self) -> float:
        """Share of the training texts that are missing."""
        return self.missing

    def facts(self) -> dict[str, str]:
        """Lengths of the training texts, and how many are missing."""
        found = {"features": repr(self).removeprefix("texts: ")}
        if self._lengths:
            shortest, median, longest = self._lengths
            found["characters"] = f"{shortest} to {longest}, median {median}"
        if self.missing:
            share = f"{self.missing:.1%}".replace("%", " %")
            found["missing"] = f"{share} of the texts, which are treated as empty ones"
        return found

    def fit(self, data: RawData, preprocessing: str | None = "auto") -> Self:
        """Learn the weights of n-grams and the scales of features.

        With "auto", n-grams are divided by one number, and counts of bytes are standardized.
        """
        check_preprocessing(preprocessing)
        texts = self._sample(data)
        if len(set(texts)) < 2:
            raise ValueError("all rows of X are equal: every text is the same, or empty")
        self.missing = sum(text is None for text in texts) / len(texts)
        lengths = sorted(len(text or "") for text in texts)
        self._lengths = lengths[0], lengths[len(lengths) // 2], lengths[-1]
        frequency = np.zeros(N_HASHES, np.int64)
        for part in _parts(texts):
            frequency += np.bincount(_counts(part).indices, minlength=N_HASHES)
        self.weights = rarity(frequency, len(texts))
        self.scale = {}
        scale = self._scale_of(texts)
        self.scale = scale if preprocessing == "auto" else {}
        return self

    def adapt(self, data: RawData) -> AdaptedTable | AdaptedTableFiles:
        """Return a source of converted texts; nothing is converted yet."""
        _check_form(data)
        if isinstance(data.source, TableFiles):
            return AdaptedTableFiles(data.source, self)
        return AdaptedTable(data, self)

    def read(self, X: Any) -> AdaptedTable | AdaptedTableFiles:
        """Read new texts and return a source of converted ones."""
        X = open_source(X)
        if isinstance(X, (TextSource, TableFiles, TableSource)):
            return self.adapt(RawData(X))
        source = TableSource(as_frame(X)) if is_frame(X) else as_texts(X, asked=True)
        if source is None:
            raise ValueError(
                f"{self.estimator_name} is expecting texts as input (a list, a column or an array "
                f"of text), but X is {type(X).__name__}"
            )
        return self.adapt(RawData(source))

    def convert(self, batch: Any, place: Place) -> np.ndarray:
        """Convert texts to features.

        Parameters
        ----------
        batch : ndarray of shape (m,) or Frame of one column
            Texts.
        place : callable
            How messages name a row.

        Returns
        -------
        ndarray of shape (m, 4353), float32
        """
        texts = _texts_of(batch, place)
        features = np.empty((len(texts), _N_FEATURES), np.float32)
        start = 0
        for part in _parts(texts):
            rows = slice(start, start + len(part))
            features[rows] = self._features(part)
            start += len(part)
        return features

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as JSON values."""
        return {"form": self.form, "modality": self.modality, "missing": self.missing}

    def arrays(self) -> dict[str, np.ndarray]:
        """Weights and scale."""
        return {"weights": self.weights, **{f"scale/{k}": v for k, v in self.scale.items()}}

    @classmethod
    def from_saved(
        cls,
        layout: ArrayLayout,
        estimator_name: str,
        stored: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
    ) -> Self:
        """Make an adapter of what `to_dict` and `arrays` returned; ValueError if it cannot be."""
        made = cls(layout, estimator_name)
        missing = stored["missing"]
        if layout.given_as != cls.form or not isinstance(missing, float) or not 0 <= missing <= 1:
            raise ValueError("the description of the texts is wrong")
        made.missing = missing
        made.weights = _checked(arrays["weights"], (N_HASHES,))
        scale = {k.removeprefix("scale/"): v for k, v in arrays.items() if k != "weights"}
        made.scale = read_scale(scale, (_N_FEATURES,))
        return made

    def _sample(self, data: RawData) -> list[str | None]:
        _check_form(data)
        index = evenly_spaced(len(data.source), _MOST_TEXTS)
        place: Place = lambda row: data.source.describe_row(int(index[row]))  # noqa: E731
        if isinstance(data.source, TableFiles):
            return _texts_of(data.source.frame_at(index), place)
        return _texts_of(data.source.gather(index), place)

    def _features(self, texts: list[str | None]) -> np.ndarray:
        counts = _counts(texts).astype(np.float64)
        counts.data = 1 + np.log(counts.data)
        encoded = [np.frombuffer((text or "").encode(), np.uint8) for text in texts]
        features = np.empty((len(texts), _N_FEATURES))
        features[:, :N_HASHES] = weighted(counts, self.weights).toarray()
        for row, letters in enumerate(encoded):
            features[row, N_HASHES:-1] = np.bincount(letters, minlength=_N_BYTES)
            features[row, -1] = len(letters)
        features[:, N_HASHES:] = np.log1p(features[:, N_HASHES:])
        if self.scale:
            features -= self.scale["mean"]
            features /= self.scale["deviation"]
        return features

    def _scale_of(self, texts: list[str | None]) -> dict[str, np.ndarray]:
        total, squares = np.zeros(_N_FEATURES), np.zeros(_N_FEATURES)
        for part in _parts(texts):
            features = self._features(part)
            total += features.sum(axis=0)
            squares += np.square(features).sum(axis=0)
        mean = total / len(texts)
        deviation = np.sqrt(np.maximum(squares / len(texts) - np.square(mean), 0))
        # An n-gram that a text does not have stays zero, and frequent ones keep their weight.
        mean[:N_HASHES] = 0
        deviation[:N_HASHES] = deviation[:N_HASHES].max() or 1.0
        deviation[N_HASHES:] = np.maximum(deviation[N_HASHES:], _LEAST_DEVIATION)
        return {"mean": mean, "deviation": deviation}


def _counts(texts: list[str | None]) -> Any:
    hashed = vectorizer(N_HASHES, _SHORTEST, _LONGEST, False)
    return hashed.transform([text or "" for text in texts])


def _parts(texts: list[str | None]) -> list[list[str | None]]:
    return [texts[start : start + _TEXTS_AT_ONCE] for start in range(0, len(texts), _TEXTS_AT_ONCE)]


def _texts_of(batch: Any, place: Place) -> list[str | None]:
    values = batch.objects(0) if isinstance(batch, Frame) else batch.tolist()
    return [checked_text(value, place(row)) for row, value in enumerate(values)]


def _check_form(data: RawData) -> None:
    source = data.source
    if isinstance(source, TextSource):
        return
    if not isinstance(source, (TableSource, TableFiles)):
        raise ValueError(
            "data of modality 'text' must be a list, a column or an array of text, but X has the "
            f"shape {data.shape} and holds numbers"
        )
    names = source.feature_names or []
    if len(names) != 1:
        raise ValueError(
            f"data of modality 'text' must be one column of text, but X has {len(names)}: choose "
            "one of them, or join them"
        )
    if isinstance(source, TableSource):
        kind = source.frame.kind(0)
        if kind not in (Kind.TEXT, Kind.CATEGORY, Kind.EMPTY):
            raise ValueError(
                f"column {names[0]!r} holds values of the kind {kind.value!r}, but data of "
                "modality 'text' must be text: convert it"
            )


def _checked(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError("the weights of the texts have another shape, or are not numbers")
    return array
