"""Audio: what is taken for clips, their spectrograms, .wav files, and what goes wrong."""

import struct
import tempfile
import tracemalloc
import wave

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.io import wavfile

from aleator import LFR, RandomEncoder, RandomFeatures, describe, load, open_audio
from aleator.exceptions import DamagedFileError
from aleator.inputs import AudioAdapter, fit_adapter, read
from aleator.inputs.audio.adapter import n_resampled, resampled
from aleator.inputs.audio.log_mel import LogMel
from aleator.inputs.audio.wav_files import read_wav
from aleator.modalities import get_modality
from aleator.projectors.length_groups import LengthGroups
from aleator.projectors.summaries import WindowSummaries
from tests.inputs.test_table_properties import QUICK
from tests.small import ALL, small

RATE = 4000
WITHOUT_GAPS = ("Autoencoder", "LogReg", "TSTCC", "SCARF")


def tones(n=20, seed=0, shortest=80, longest=1200):
    random = np.random.default_rng(seed)
    made = []
    for k in range(n):
        time = np.arange(random.integers(shortest, longest)) / RATE
        noise = 0.01 * random.normal(size=len(time))
        made.append((0.3 * np.sin(2 * np.pi * (200 + 90 * (k % 10)) * time) + noise).astype("f4"))
    return made


def adapter_of(clips, preprocessing="auto"):
    return fit_adapter(get_modality("audio").layout, read(clips), "LFR", preprocessing)


def test_the_spectrogram_against_a_literal_computation():
    rate, n_bands = 8000, 40
    signal = tones(1, longest=1200, shortest=1199)[0].astype(np.float64)
    found = LogMel(rate, n_bands)(signal)
    window, hop, n_fft = 200, 80, 512
    taper = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    top = 2595 * np.log10(1 + 4000 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, n_bands + 2) / 2595) - 1)
    frequency = np.arange(n_fft // 2 + 1) * rate / n_fft
    assert found.shape == (n_bands, 1 + (len(signal) - window) // hop)
    for frame in range(found.shape[1]):
        part = signal[frame * hop : frame * hop + window] * taper
        power = np.abs(np.fft.rfft(part, n_fft)) ** 2 / np.sum(taper**2)
        for band in range(n_bands):
            weight = np.interp(frequency, edges[band : band + 3], [0, 1, 0], left=0, right=0)
            expected = np.log(power @ weight / weight.sum() + 1e-8)
            assert found[band, frame] == pytest.approx(expected, abs=1e-4)


def test_a_tone_is_in_its_band():
    time = np.arange(4000) / 8000
    spectrogram = LogMel(8000, 40)(np.sin(2 * np.pi * 1000 * time))
    mel = 2595 * np.log10(1 + 1000 / 700) / (2595 * np.log10(1 + 4000 / 700)) * 41 - 1
    assert abs(spectrogram.mean(1).argmax() - mel) <= 0.5


def test_forms_of_clips_give_the_same_embedding(tmp_path):
    clips = [np.round(clip * 32768).clip(-32768, 32767).astype(np.int16) for clip in tones()]
    opened = open_audio(clips, rate=RATE)
    model = RandomFeatures(n_features=16, random_state=0).fit(opened)
    expected = model.transform(opened)
    floats = [clip.astype(np.float32) / 32768 for clip in clips]
    forms = [
        clips,  # at the rate of the training data
        [torch.from_numpy(clip) for clip in floats],
        [{"array": clip, "sampling_rate": RATE} for clip in floats],
        [np.stack([clip, clip], 1) for clip in floats],
        open_audio(floats, rate=RATE),
    ]
    for k, clip in enumerate(clips):
        folder = tmp_path / f"{'ab'[k % 2]}"
        folder.mkdir(exist_ok=True)
        with wave.open(str(folder / f"{k}.wav"), "wb") as file:
            file.setparams((1, 2, RATE, len(clip), "NONE", ""))
            file.writeframes(clip.tobytes())
    paths = [tmp_path / "ab"[k % 2] / f"{k}.wav" for k in range(len(clips))]
    for form in [*forms, paths]:
        np.testing.assert_allclose(model.transform(form), expected, rtol=1e-5, atol=1e-5)
    folder = open_audio(tmp_path)
    assert folder.labels.tolist() == ["a"] * 10 + ["b"] * 10
    order = [*range(0, 20, 2), *range(1, 20, 2)]
    np.testing.assert_allclose(model.transform(tmp_path), expected[order], rtol=1e-5, atol=1e-5)
    again = RandomFeatures(n_features=16, random_state=0).fit(tmp_path)
    assert again.adapter_.rate == RATE
    np.testing.assert_allclose(model.transform(folder[2:4]), expected[4:8:2], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["u1", "i2", "i4", "f4", "f8"])
@pytest.mark.parametrize("channels", [1, 2])
def test_wav_files_are_read_as_scipy_does(tmp_path, kind, channels):
    values = np.random.default_rng(0).uniform(-0.9, 0.9, (50, channels))
    scale = {"u1": 127, "i2": 32767, "i4": 2**31 - 1}.get(kind, 1)
    stored = (values * scale + (128 if kind == "u1" else 0)).astype(kind)
    wavfile.write(tmp_path / "x.wav", RATE, stored[:, 0] if channels == 1 else stored)
    found, rate = read_wav(str(tmp_path / "x.wav"))
    assert rate == RATE
    np.testing.assert_allclose(found, values.mean(1), atol=0.02 if kind == "u1" else 1e-4)


def test_24_bits_and_extensible_headers(tmp_path):
    values = [0, 1 << 22, -(1 << 22), (1 << 23) - 1]
    data = b"".join(struct.pack("<i", value)[:3] for value in values)
    fmt = struct.pack("<HHIIHHHHIH14s", 0xFFFE, 1, RATE, 3 * RATE, 3, 24, 22, 24, 0, 1, b"")
    extra = b"LIST" + struct.pack("<I", 3) + b"abc\0"  # parts of odd sizes are padded
    chunks = b"fmt " + struct.pack("<I", len(fmt)) + fmt + extra
    chunks += b"data" + struct.pack("<I", len(data)) + data
    path = tmp_path / "x.wav"
    path.write_bytes(b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks)
    np.testing.assert_allclose(read_wav(str(path))[0], [0, 0.5, -0.5, 1], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:10], r"is no \.wav file"),
        (lambda data: data[:36], "has no samples"),
        (lambda data: data[:20] + struct.pack("<H", 17) + data[22:], "format 17, 16 bits"),
        (lambda data: data[:22] + b"\0\0" + data[24:], "0 channels"),
    ],
)
def test_damaged_files_are_named(tmp_path, change, message):
    path = tmp_path / "x.wav"
    wavfile.write(path, RATE, np.zeros(50, np.int16))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(DamagedFileError, match=rf"x\.wav cannot be read.*{message}"):
        open_audio(tmp_path)


def test_cut_files_have_the_samples_that_are_there(tmp_path):
    path = tmp_path / "x.wav"
    wavfile.write(path, RATE, np.arange(50, dtype=np.int16))
    path.write_bytes(path.read_bytes()[:-21])
    assert len(read_wav(str(path))[0]) == 39
    assert open_audio(tmp_path).lengths.tolist() == [39]


def test_other_rates_are_resampled():
    time = np.arange(1600) / RATE
    slow = [np.sin(2 * np.pi * (300 + 100 * k) * time) for k in range(10)]
    fast = [np.sin(2 * np.pi * (300 + 100 * k) * np.arange(3200) / (2 * RATE)) for k in range(10)]
    model = RandomFeatures(n_features=16, random_state=0, projector="summaries")
    model.fit(open_audio(slow, rate=RATE))
    found = model.transform(open_audio(fast, rate=2 * RATE))
    expected = model.transform(slow)
    others = model.transform(slow[::-1])
    assert np.abs(found - expected).mean() < 0.3 * np.abs(others - expected).mean()
    mixed = [{"array": clip, "sampling_rate": RATE} for clip in slow]
    mixed += [{"array": clip, "sampling_rate": 2 * RATE} for clip in fast[:3]]
    assert "rate: 4000 Hz; 3 clips of other rates are resampled" in repr(describe(mixed))


@pytest.mark.parametrize(("rate", "to"), [(526_287, 2000), (44_101, 8000), (2000, 44_101)])
def test_rates_without_a_common_divisor_are_resampled_in_little_memory(rate, to):
    wave = np.sin(2 * np.pi * 200 * np.arange(rate // 2) / rate)
    tracemalloc.start()
    found = resampled(wave, rate, to)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) == n_resampled(len(wave), rate, to)
    assert peak < 10 * max(wave.nbytes, found.nbytes) + (2 << 20)
    expected = np.sin(2 * np.pi * 200 * np.arange(len(found)) / to)
    inner = slice(len(found) // 20, -(len(found) // 20))  # filters see zeros beyond the ends
    assert np.abs(found - expected)[inner].max() < 0.02


def test_rates_that_are_too_different_are_named(tmp_path):
    for name, rate in (("a", 44_100), ("b", 44_100), ("slow", 44)):
        wavfile.write(tmp_path / f"{name}.wav", rate, np.arange(4000, dtype=np.int16))
    with pytest.raises(ValueError, match=r"slow\.wav of X has 44 samples per second, .* 44100"):
        RandomFeatures().fit(tmp_path)


def test_padding_and_lengths_do_not_matter():
    clips = tones()
    longer = np.tile(tones(1, seed=3)[0], 20)
    for model in (small("LFR"), RandomFeatures(n_features=48, random_state=0), RandomEncoder()):
        model.fit(open_audio(clips, rate=RATE))
        alone = np.concatenate([model.transform([clip]) for clip in clips])
        beside = model.transform([*clips, longer])
        np.testing.assert_allclose(beside[:-1], alone, rtol=1e-5, atol=1e-5)
        assert np.isfinite(model.transform([np.zeros(0), np.zeros(1), np.zeros(500)])).all()


@pytest.mark.parametrize("name", [name for name in ALL if name not in WITHOUT_GAPS])
def test_methods_embed_save_and_load_audio(name, tmp_path):
    clips = open_audio(tones(), rate=RATE)
    model = small(name).fit(clips, np.arange(20) % 2)
    expected = model.transform(clips)
    assert expected.shape == (20, model.embedding_dim_)
    assert np.isfinite(expected).all()
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.adapter_.to_dict() == model.adapter_.to_dict()
    np.testing.assert_array_equal(again.transform(clips), expected)


@pytest.mark.parametrize("name", WITHOUT_GAPS)
def test_other_methods_say_why_not(name):
    with pytest.raises(ValueError, match=r"needs samples of one length|works on|X is audio"):
        small(name).fit(open_audio(tones(), rate=RATE), np.arange(20) % 2)


@settings(QUICK, max_examples=8)
@given(st.lists(st.integers(0, 900), min_size=2, max_size=8), st.integers(0, 2**32))
def test_order_chunks_and_saving(lengths, seed):
    random = np.random.default_rng(seed)
    clips = [random.uniform(-1, 1, n).astype("f4") for n in [*lengths, 400, 700]]
    model = RandomFeatures(n_features=12, random_state=0).fit(open_audio(clips, rate=RATE))
    expected = model.transform(clips)
    order = random.permutation(len(clips))
    near = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(model.transform([clips[k] for k in order]), expected[order], **near)
    pieces = [model.transform(part) for part in (clips[:1], clips[1:])]
    np.testing.assert_allclose(np.concatenate(pieces), expected, **near)
    source = model.adapter_.read(clips)
    whole = model.adapter_.transform(clips)
    np.testing.assert_array_equal(np.concatenate(list(source.chunks(3))), whole)
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        np.testing.assert_array_equal(load(folder).transform(clips), expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LFR(modality="audio").fit(tones()), r"aleator\.open_audio\(clips, rate=16000\)"),
        (lambda: open_audio([np.zeros((2, 2, 2))], rate=8000), "row 0 of X is no clip"),
        (lambda: open_audio([np.zeros(9)], rate=0), "rate must be the number of samples"),
        (
            lambda: LFR().fit(open_audio([np.zeros(50), np.full(50, np.nan)], 8000)),
            "row 1 of X con",
        ),
        (lambda: LFR(modality="table").fit(open_audio(tones(), 8000)), "X is audio, but the mod"),
        (lambda: LFR(modality="audio").fit(np.zeros((3, 4, 5))), "must be clips"),
    ],
)
def test_what_is_wrong_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_description_and_defaults(tmp_path):
    lines = repr(describe(open_audio(tones(), rate=RATE), device="cpu"))
    assert "spectrograms of 40 bands, every 10 ms, at 4000 Hz" in lines
    seconds = sorted(len(clip) / RATE for clip in tones())
    assert f"length: {seconds[0]:.2f} to {seconds[-1]:.2f} s, median {seconds[10]:.2f} s" in lines
    with pytest.raises(ValueError, match="has no files that end in"):
        open_audio(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        open_audio(tmp_path / "none")


def test_descriptions_that_were_changed_are_refused():
    adapter = adapter_of(open_audio(tones(), rate=RATE))
    stored, arrays = adapter.to_dict(), adapter.arrays()
    layout = get_modality("audio").layout
    assert AudioAdapter.from_saved(layout, "LFR", stored, arrays).rate == RATE
    for rate in (0, 1.5, True, 1 << 40):
        with pytest.raises(ValueError, match="the rate or the bands of the audio are wrong"):
            AudioAdapter.from_saved(layout, "LFR", {**stored, "rate": rate}, arrays)


def test_groups_of_similar_length_change_nothing():
    series = torch.randn(40, 3, 60)
    for row, length in enumerate(torch.randint(1, 61, (40,)).tolist()):
        series[row, :, length:] = torch.nan
    inner = WindowSummaries.draw(series, 24, torch.Generator().manual_seed(0))
    torch.testing.assert_close(LengthGroups(inner)(series), inner(series), rtol=1e-5, atol=1e-5)
    longest = []
    inner.register_forward_hook(lambda module, given, output: longest.append(given[0].shape[2]))
    LengthGroups(inner)(series)
    assert longest == sorted(longest, reverse=True)
    assert longest[-1] < 30
