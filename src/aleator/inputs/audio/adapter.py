"""The input adapter of audio: spectrograms, treated as series of different lengths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from aleator.inputs.audio.log_mel import LogMel
from aleator.inputs.audio.source import Clips, as_audio
from aleator.inputs.audio.wav_files import HIGHEST_RATE
from aleator.inputs.layout import ArrayLayout
from aleator.inputs.opening import open_source
from aleator.inputs.reading import RawData
from aleator.inputs.series.adapted import AdaptedSeries
from aleator.inputs.series.adapter import SeriesAdapter
from aleator.inputs.sources import Schema, Source

N_BANDS = 40
# The filter of a resampling has twenty times as many weights as the larger number of its ratio.
_LARGEST_DENOMINATOR = 1 << 12
_LARGEST_RATIO = 100


class AudioAdapter(SeriesAdapter):
    """Converts clips to spectrograms, standardized and padded with NaN to the longest.

    A clip of another rate than that of most clips of the training data is resampled.

    Parameters
    ----------
    layout : ArrayLayout
        Axes of the converted samples.
    estimator_name : str, default="the estimator"
        Name of the estimator for messages.

    Attributes
    ----------
    rate : int
        Samples per second.

    Examples
    --------
    >>> from aleator.inputs.audio.source import open_audio
    >>> layout = ArrayLayout("audio", "audio", ("bands", "time"), "band", given_as="audio")
    >>> random = np.random.default_rng(0)
    >>> clips = open_audio([random.normal(size=n) for n in (2000, 4000)], rate=8000)
    >>> adapter = AudioAdapter(layout).fit(RawData(clips))
    >>> adapter
    audio: spectrograms of 40 bands, every 10 ms, at 8000 Hz
    >>> adapter.transform(clips).shape
    (2, 40, 48)
    """

    form: ClassVar[str] = "audio"

    def __init__(self, layout: ArrayLayout, estimator_name: str = "the estimator") -> None:
        super().__init__(layout, estimator_name)
        self.rate = 1
        self._facts: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"audio: spectrograms of {self.shape[0]} bands, every 10 ms, at {self.rate} Hz"

    def facts(self) -> dict[str, str]:
        """Lengths and rates of the training data, and what becomes of them."""
        return {**self._facts, "features": repr(self).removeprefix("audio: ")}

    def fit(self, data: RawData, preprocessing: str | None = "auto") -> Self:
        """Learn rate, lengths and scale of the training data.

        Parameters
        ----------
        data : RawData
            Training data.
        preprocessing : {"auto", None}, default="auto"
            "auto" standardizes every band; None leaves logarithms of powers as they are.

        Returns
        -------
        AudioAdapter
        """
        clips = _checked_source(data)
        rates = Counter(clips.rates.tolist())
        self.rate = max(rates, key=lambda rate: (rates[rate], rate))
        super().fit(RawData(self._spectrograms(clips)), preprocessing)
        seconds = np.sort(clips.lengths / clips.rates)
        self._facts = {
            "length": f"{seconds[0]:.2f} to {seconds[-1]:.2f} s, median "
            f"{seconds[len(seconds) // 2]:.2f} s",
            "rate": f"{self.rate} Hz",
        }
        if len(rates) > 1:
            others = len(clips) - rates[self.rate]
            self._facts["rate"] += f"; {others} clips of other rates are resampled"
        return self

    def adapt(self, data: RawData) -> AdaptedSeries:
        """Return a source of spectrograms; nothing is computed yet.

        Parameters
        ----------
        data : RawData
            Clips.

        Returns
        -------
        AdaptedSeries
        """
        return super().adapt(RawData(self._spectrograms(_checked_source(data))))

    def read(self, X: Any) -> AdaptedSeries:
        """Read new clips and return a source of spectrograms.

        Parameters
        ----------
        X : what `open_audio` returns, a folder, or a list of clips
            Clips; arrays are taken to have the rate of the training data.

        Returns
        -------
        AdaptedSeries
        """
        clips = as_audio(open_source(X), rate=self.rate, asked=True)
        if clips is None:
            raise ValueError(
                f"{self.estimator_name} is expecting audio as input (a list of clips, or a folder "
                f"of .wav files), but X is {type(X).__name__}"
            )
        return self.adapt(RawData(clips))

    def to_dict(self) -> dict[str, Any]:
        """Everything but the arrays, as JSON values."""
        return {**super().to_dict(), "rate": self.rate}

    @classmethod
    def from_saved(
        cls,
        layout: ArrayLayout,
        estimator_name: str,
        stored: Mapping[str, Any],
        arrays: Mapping[str, np.ndarray],
    ) -> Self:
        """Make an adapter of what `to_dict` and `arrays` returned; ValueError if it cannot be."""
        made = super().from_saved(layout, estimator_name, stored, arrays)
        rate = stored["rate"]
        if type(rate) is not int or not 0 < rate <= HIGHEST_RATE or made.shape[0] != N_BANDS:
            raise ValueError("the rate or the bands of the audio are wrong")
        if made.grid is not None:
            raise ValueError("audio has no grid")
        made.rate = rate
        return made

    def _spectrograms(self, clips: Clips) -> Spectrograms:
        ratio = np.maximum(clips.rates / self.rate, self.rate / clips.rates)
        for row in np.flatnonzero(ratio > _LARGEST_RATIO)[:1].tolist():
            raise ValueError(
                f"{clips.describe_row(row)} of X has {clips.rates[row]} samples per second, but "
                f"{self.estimator_name} works with {self.rate}, the rate of most clips of the "
                f"training data: they may differ by a factor of {_LARGEST_RATIO} at most"
            )
        return Spectrograms(clips, LogMel(self.rate, N_BANDS))


class Spectrograms(Source):
    """Spectrograms of clips, computed when they are read.

    Parameters
    ----------
    clips : Clips
        The clips.
    log_mel : LogMel
        Computes spectrograms.
    """

    modality = "audio"
    n_channels = N_BANDS

    def __init__(self, clips: Clips, log_mel: LogMel) -> None:
        self._clips = clips
        self._log_mel = log_mel
        self.schema = Schema((), np.dtype(object))
        self.in_memory = clips.in_memory

    def __len__(self) -> int:
        return len(self._clips)

    @property
    def longest(self) -> int:
        """Number of columns of the longest spectrogram."""
        lengths = [
            n_resampled(n, rate, self._log_mel.rate)
            for n, rate in zip(
                self._clips.lengths.tolist(), self._clips.rates.tolist(), strict=True
            )
        ]
        return self._log_mel.n_frames(max(lengths, default=0))

    @property
    def rows_per_chunk(self) -> int:
        """Spectrograms per chunk if nothing else is asked for."""
        return self._clips.rows_per_chunk

    def gather(self, index: np.ndarray) -> np.ndarray:
        """Return the spectrograms at `index`: an array of arrays (bands, frames)."""
        waves, rates = self._clips.gather(index), self._clips.rates[index]
        found = np.empty(len(waves), object)
        for position, (wave, rate) in enumerate(zip(waves, rates.tolist(), strict=True)):
            found[position] = self._log_mel(resampled(wave, rate, self._log_mel.rate))
        return found

    def describe_row(self, row: int) -> str:
        """Name a clip by its file, or by its row."""
        return self._clips.describe_row(row)

    def row_bytes(self, index: np.ndarray) -> bytes:
        """Return what tells clips apart."""
        return self._clips.row_bytes(index)


def resampled(wave: np.ndarray, rate: int, to: int) -> np.ndarray:
    """Change the number of samples per second.

    Examples
    --------
    >>> resampled(np.zeros(100, np.float32), 44100, 22050).shape
    (50,)
    """
    if rate == to or len(wave) == 0:
        return wave
    from scipy.signal import resample_poly  # scikit-learn depends on scipy

    # Rates without a common divisor, such as 44101 and 8000, have a ratio close to theirs.
    if to < rate:
        ratio = Fraction(to, rate).limit_denominator(_LARGEST_DENOMINATOR)
    else:
        ratio = 1 / Fraction(rate, to).limit_denominator(_LARGEST_DENOMINATOR)
    found = resample_poly(wave, ratio.numerator, ratio.denominator)
    length = n_resampled(len(wave), rate, to)
    return np.pad(found[:length], (0, max(0, length - len(found))), mode="edge")


def n_resampled(n_samples: int, rate: int, to: int) -> int:
    """Return the number of samples at another rate.

    Examples
    --------
    >>> n_resampled(101, 44100, 22050)
    51
    """
    return -(-n_samples * to // rate)


def _checked_source(data: RawData) -> Clips:
    if not isinstance(data.source, Clips):
        raise ValueError(
            "data of modality 'audio' must be clips: give what aleator.open_audio returns, or a "
            f"folder of .wav files, but X has the shape {data.shape}"
        )
    return data.source
