"""Kinds of data: how they are found, and how one is added."""

from dataclasses import replace

import numpy as np
import pytest

import aleator
from aleator.inputs import ArrayLayout
from aleator.modalities import (
    get_modality,
    infer_modality,
    modality_names,
    register_modality,
    registry,
)
from aleator.modalities.choices import build_encoder
from aleator.projectors.landmarks import Landmarks
from aleator.projectors.trees import RandomTrees
from tests.small import small, small_lfr


@pytest.mark.parametrize(
    ("shape", "name"), [((5, 3), "table"), ((5, 3, 9), "series"), ((5, 3, 9, 9), "image")]
)
def test_a_modality_is_inferred_from_the_number_of_axes(shape, name):
    assert infer_modality("auto", shape).name == name
    assert infer_modality(name, (0,)) is get_modality(name)


def test_unknown_names_and_shapes_are_refused():
    with pytest.raises(ValueError, match="modality='video' is not known"):
        infer_modality("video", (5, 3))
    with pytest.raises(ValueError, match=r"shape \(5,\) cannot be inferred"):
        infer_modality("auto", (5,))


def test_encoders_of_long_series_do_not_grow_with_their_length():
    series = get_modality("series")
    assert series.encoder_name("auto", (1, 128)) == "cnn"
    assert series.encoder_name("auto", (1, 5120)) == "cnn-pooled"


def test_the_encoder_of_random_features_is_made_of_the_projectors_of_that_name():
    landmarks = replace(get_modality("table"), random_features=("landmarks", "trees"))
    assert landmarks.encoder_name("random-features", (3,)) == "random-features"
    encoder = build_encoder(landmarks, "random-features", (3,), 8)
    assert [type(part) for part in encoder.front.families] == [Landmarks, RandomTrees]
    plain = replace(landmarks, random_features=())
    assert list(plain.encoder_factories) == ["mlp", "mlp-hidden"]
    with pytest.raises(ValueError, match="'mlp-hidden', 'random-features', a torch"):
        landmarks.encoder_name("cnn", (3,))


@pytest.fixture
def spectrum(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    layout = ArrayLayout("spectrum", "spectra", ("bands",), "band")
    return register_modality(replace(get_modality("table"), layout=layout, inferred=False))


def test_a_registered_modality_works_everywhere(spectrum, table, tmp_path):
    assert modality_names()[-1] == "spectrum"
    assert infer_modality("auto", table.shape).name == "table"
    for name in ("LFR", "BYOL", "Autoencoder"):
        model = small(name, modality="spectrum").fit(table)
        expected = small(name).fit(table).transform(table)
        np.testing.assert_array_equal(model.transform(table), expected)
        model.save(tmp_path / name)
        again = aleator.load(tmp_path / name)
        assert again.adapter_.modality == "spectrum"
        np.testing.assert_array_equal(again.transform(table), expected)
    gap = table.copy()
    gap[7, 2] = np.nan
    with pytest.raises(ValueError, match="row 7, band 2"):
        small_lfr(modality="spectrum").fit(gap)


def test_a_name_is_registered_once(spectrum):
    assert register_modality(spectrum) is spectrum
    with pytest.raises(ValueError, match="there is a modality 'spectrum' already"):
        register_modality(replace(spectrum, learning_rate=1.0))
