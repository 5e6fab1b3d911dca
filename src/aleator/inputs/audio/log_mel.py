"""Spectrograms: the logarithm of the power in bands that are even on the mel scale."""

from __future__ import annotations

import numpy as np
import torch

_WINDOW, _HOP = 0.025, 0.010  # seconds
_LEAST_POWER = 1e-8


class LogMel:
    """Computes the spectrogram of a clip, one column every 10 ms.

    Power is that of windows of 25 ms (Hann), summed up in overlapping triangles that are even on
    the mel scale (Stevens, Volkmann and Newman 1937).

    Parameters
    ----------
    rate : int
        Samples per second.
    n_bands : int
        Number of bands between zero and half the rate.

    Examples
    --------
    >>> log_mel = LogMel(8000, 40)
    >>> tone = np.sin(2 * np.pi * 1000 * np.arange(8000) / 8000).astype(np.float32)
    >>> log_mel(tone).shape, log_mel.n_frames(8000)
    ((40, 98), 98)
    """

    def __init__(self, rate: int, n_bands: int) -> None:
        self.rate = rate
        self._window = max(2, round(_WINDOW * rate))
        self._hop = max(1, round(_HOP * rate))
        # Zeros make the spectrum finer than the lowest bands.
        self._n_fft = 2 << (self._window - 1).bit_length()
        self._taper = torch.hann_window(self._window, dtype=torch.float64)
        self._bands = torch.from_numpy(_triangles(rate, self._n_fft, n_bands))

    def n_frames(self, n_samples: int) -> int:
        """Return the number of columns for a number of samples, at least one.

        Examples
        --------
        >>> LogMel(8000, 40).n_frames(0)
        1
        """
        return 1 + max(0, n_samples - self._window) // self._hop

    def __call__(self, wave: np.ndarray) -> np.ndarray:
        """Compute a spectrogram.

        Parameters
        ----------
        wave : ndarray of shape (n_samples,)
            Samples in [-1, 1].

        Returns
        -------
        ndarray of shape (n_bands, n_frames), float32
        """
        samples = torch.from_numpy(np.ascontiguousarray(wave, np.float64))
        missing = self._window - len(samples)
        if missing > 0:
            samples = torch.nn.functional.pad(samples, (0, missing))
        frames = samples.unfold(0, self._window, self._hop) * self._taper
        power = torch.fft.rfft(frames, self._n_fft).abs().square() / self._taper.square().sum()
        return (power @ self._bands.T + _LEAST_POWER).log().T.float().numpy()


def _triangles(rate: int, n_fft: int, n_bands: int) -> np.ndarray:
    """Weights of frequencies in bands, which sum up to one in each."""
    top = _to_mel(np.array(rate / 2))
    edges = _to_hertz(np.linspace(0, float(top), n_bands + 2))
    frequency = np.linspace(0, rate / 2, n_fft // 2 + 1)
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    rising = (frequency - low) / (middle - low)
    falling = (high - frequency) / (high - middle)
    weight = np.maximum(0, np.minimum(rising, falling))
    return weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-12)


def _to_mel(hertz: np.ndarray) -> np.ndarray:
    return 2595 * np.log10(1 + hertz / 700)


def _to_hertz(mel: np.ndarray) -> np.ndarray:
    return 700 * (10 ** (mel / 2595) - 1)
