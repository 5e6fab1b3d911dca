"""Properties of texts: order, chunks and saving."""

import tempfile

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aleator import RandomFeatures, load
from tests.inputs.test_table_properties import QUICK
from tests.inputs.test_texts import adapter_of

# Any Unicode text, but for halves of surrogate pairs.
_TEXTS = st.lists(
    st.none() | st.text(st.characters(codec="utf-8"), max_size=40), min_size=2, max_size=30
).map(lambda texts: [*texts, "one", "Other 2!"])


@QUICK
@given(_TEXTS, st.integers(0, 2**32), st.integers(1, 40))
def test_permuted_rows_permute_features_and_chunks_are_the_whole(texts, seed, rows):
    adapter = adapter_of(texts)
    whole = adapter.transform(texts)
    assert np.isfinite(whole).all()
    order = np.random.default_rng(seed).permutation(len(texts))
    np.testing.assert_array_equal(adapter.transform([texts[i] for i in order]), whole[order])
    source = adapter.read(texts)
    np.testing.assert_array_equal(np.concatenate(list(source.chunks(rows))), whole)
    np.testing.assert_array_equal(source.gather(order[:rows]), whole[order[:rows]])


@settings(QUICK, max_examples=8)
@given(_TEXTS)
def test_a_saved_model_gives_the_same_embedding(texts):
    model = RandomFeatures(n_features=24, random_state=0).fit(texts)
    expected = model.transform(texts)
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        again = load(folder)
    np.testing.assert_array_equal(again.adapter_.transform(texts), model.adapter_.transform(texts))
    np.testing.assert_array_equal(again.transform(texts), expected)
    assert again.adapter_.missing == model.adapter_.missing
    order = np.random.default_rng(0).permutation(len(texts))
    permuted = model.transform([texts[i] for i in order])
    np.testing.assert_allclose(permuted, expected[order], rtol=1e-4, atol=1e-5)
    pieces = [model.transform(part) for part in (texts[:1], texts[1:])]
    np.testing.assert_allclose(np.concatenate(pieces), expected, rtol=1e-4, atol=1e-5)
