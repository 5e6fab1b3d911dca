"""Audio: waveforms in memory or in .wav files become spectrograms."""
