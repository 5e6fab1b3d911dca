"""Properties of series of different lengths and with gaps: order, chunks, saving and padding."""

import tempfile

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aleator import LFR, RandomEncoder, RandomFeatures, load
from aleator.inputs import fit_adapter, read
from aleator.modalities import get_modality
from tests.inputs.test_table_properties import QUICK

_SERIES = get_modality("series").layout


@st.composite
def _collections(draw, channels=2):
    """Series of up to 20 steps, some of them empty, with any share of gaps."""
    lengths = draw(st.lists(st.integers(0, 20), min_size=4, max_size=12))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    size, gaps = draw(st.sampled_from([1e-3, 1.0, 1e5])), draw(st.sampled_from([0.0, 0.3, 0.9]))
    made = []
    for length in [*lengths, 5, 9]:
        one = size * random.normal(size=(channels, length)).cumsum(1)
        one[random.random(one.shape) < gaps] = np.nan
        made.append(one)
    made[-1][:, 3] = size, -size  # so that something was observed, and it varies
    return made


def _padded(series, longest):
    whole = np.full((len(series), len(series[0]), longest), np.nan)
    for row, one in enumerate(series):
        whole[row, :, : one.shape[1]] = one
    return whole


@QUICK
@given(_collections(), st.integers(0, 2**32), st.integers(1, 20))
def test_permuted_rows_permute_samples_and_chunks_are_the_whole(series, seed, rows):
    adapter = fit_adapter(_SERIES, read(series), "LFR", "auto")
    whole = adapter.transform(series)
    order = np.random.default_rng(seed).permutation(len(series))
    np.testing.assert_array_equal(adapter.transform([series[k] for k in order]), whole[order])
    source = adapter.read(series)
    np.testing.assert_array_equal(np.concatenate(list(source.chunks(rows))), whole)
    np.testing.assert_array_equal(source.gather(order[:rows]), whole[order[:rows]])
    again = adapter.transform(_padded(series, 40))
    np.testing.assert_array_equal(again[:, :, : whole.shape[2]], whole)


def _check_padding(model, series):
    """A series alone, among longer ones, or followed by NaN has the same embedding."""
    whole = model.transform(series)
    assert np.isfinite(whole).all()
    close = {"rtol": 1e-5, "atol": 1e-5 * max(1.0, np.abs(whole).max())}
    np.testing.assert_allclose(model.transform(_padded(series, 67)), whole, **close)
    alone = [model.transform([one]) for one in series]
    np.testing.assert_allclose(np.concatenate(alone), whole, **close)
    long = np.random.default_rng(0).normal(size=(2, 90))
    np.testing.assert_allclose(model.transform([long, *series])[1:], whole, **close)


@settings(QUICK, max_examples=8)
@given(_collections(), st.sampled_from(["convolutions", "hydra", "subsequences", "summaries"]))
def test_padding_never_changes_a_feature_of_a_family(series, family):
    model = RandomFeatures(n_features=48, projector=family, random_state=0).fit(series)
    _check_padding(model, series)


@settings(QUICK, max_examples=5)
@given(_collections())
def test_padding_never_changes_the_embedding_of_a_network(series):
    _check_padding(RandomEncoder(random_state=0).fit(series), series)


@settings(QUICK, max_examples=5)
@given(_collections())
def test_a_saved_model_gives_the_same_embedding(series):
    model = LFR(
        n_projectors=3, target_dim=16, epochs=1, embedding_dim=8, random_state=0, progress=False
    ).fit(series)
    expected = model.transform(series)
    _check_padding(model, series)
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        again = load(folder)
    np.testing.assert_array_equal(again.transform(series), expected)
    order = np.random.default_rng(0).permutation(len(series))
    permuted = model.transform([series[k] for k in order])
    np.testing.assert_allclose(permuted, expected[order], rtol=1e-5, atol=1e-5)
    pieces = [model.transform(part) for part in (series[:2], series[2:])]
    np.testing.assert_allclose(np.concatenate(pieces), expected, rtol=1e-5, atol=1e-5)
