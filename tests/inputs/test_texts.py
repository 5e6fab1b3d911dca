"""Texts: what is taken for them, what their features are, and what goes wrong."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import aleator
from aleator import LFR, RandomFeatures, describe, load
from aleator.inputs import fit_adapter, read
from aleator.inputs.hashed_ngrams import vectorizer
from aleator.inputs.texts.adapter import N_HASHES
from aleator.modalities import get_modality
from tests.small import ALL, SPECIAL, small

WORDS = ["win", "NOW", "call", "see", "you", "free", "123", "später", "今日", "🎉", "ok."]


def messages(n=60, seed=0):
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(1, 9))) for _ in range(n)]


def adapter_of(X, preprocessing="auto"):
    data = read(X, modality="text")
    return fit_adapter(get_modality("text").layout, data, "LFR", preprocessing)


FORMS = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda texts: np.array(texts, object),
    "bytes": lambda texts: [text.encode() for text in texts],
    "pandas": pd.Series,
    "pandas objects": lambda texts: pd.Series(texts, dtype=object),
    "category": lambda texts: pd.Series(texts, dtype="category"),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "chunks": lambda texts: pa.chunked_array([texts[:7], texts[7:]]),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_are_texts_and_give_the_same_features(form):
    texts = messages()
    X = FORMS[form](texts)
    assert describe(X, device="cpu").modality == "text"
    model = RandomFeatures(n_features=8, random_state=0).fit(X)
    assert model.n_features_in_ == 1
    expected = RandomFeatures(n_features=8, random_state=0).fit(texts).transform(texts)
    np.testing.assert_array_equal(model.transform(X), expected)


FRAMES = {
    "pandas": lambda texts: pd.DataFrame({"note": texts}),
    "polars": lambda texts: pl.DataFrame({"note": texts}),
    "pyarrow": lambda texts: pa.table({"note": texts}),
}


@pytest.mark.parametrize("library", FRAMES)
def test_a_frame_of_one_column_is_text_if_asked_for(library, tmp_path):
    texts = [*messages(), None]
    model = RandomFeatures(n_features=8, random_state=0, modality="text")
    expected = model.fit_transform(texts)
    X = FRAMES[library](texts)
    np.testing.assert_array_equal(model.fit_transform(X), expected)
    assert model.feature_names_in_.tolist() == ["note"]
    pq.write_table(pa.table({"note": texts}), tmp_path / "x.parquet", row_group_size=16)
    np.testing.assert_array_equal(model.transform(tmp_path / "x.parquet"), expected)
    assert np.isfinite(model.fit_transform(tmp_path / "x.parquet")).all()
    np.testing.assert_array_equal(model.transform(X), expected)


def test_the_features_are_weighted_n_grams_and_counts_of_bytes():
    texts = ["ab AB", "ab", "", "xyz ab ab"]
    found = adapter_of(texts, None).transform(texts)
    counts = vectorizer(N_HASHES, 2, 4, False).transform(texts).toarray()
    assert (counts[0] > 0).sum() > (counts[1] > 0).sum()  # capitals are n-grams of their own
    rare = np.log(5 / (1 + (counts > 0).sum(0))) + 1
    expected = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0) * rare
    length = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found[:, :N_HASHES], expected / np.maximum(length, 1e-9), rtol=1e-6)
    of_bytes = found[:, N_HASHES:-1]
    assert of_bytes[0, ord("A")] == pytest.approx(np.log(2))
    assert of_bytes[:, ord("Z")].tolist() == [0, 0, 0, 0]
    np.testing.assert_allclose(found[:, -1], np.log1p([5, 2, 0, 9]), rtol=1e-6)
    scaled = adapter_of(texts).transform(texts)
    assert (scaled[:, :N_HASHES] == 0).sum() == (found[:, :N_HASHES] == 0).sum()
    assert scaled[:, -1].mean() == pytest.approx(0, abs=1e-6)
    assert scaled[:, -1].std() == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_texts_are_empty_ones(missing):
    model = RandomFeatures(n_features=8, random_state=0).fit([*messages(), missing])
    found = model.transform([missing, "", "win"])
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[1] != found[2]).any()
    assert model.adapter_.missing == pytest.approx(1 / 61)
    assert "1.6 % of the texts" in repr(describe([*messages(), missing], device="cpu"))


def test_odd_texts_are_embedded():
    odd = ["", " ", "\x00\n\t", "long " * 50_000, "👩‍👩‍👧", "مرحبا", "a\u0301"]
    model = RandomFeatures(n_features=8, random_state=0).fit([*messages(), *odd])
    assert np.isfinite(model.transform(odd)).all()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (["a", b"\xff\xfe", "c"], r"row 1 of X holds bytes that are not UTF-8 \(byte 0 is 0xff"),
        (["a", "b\ud800"], "row 1 of X holds half of a surrogate pair"),
        (["a", "b", 3.5], r"row 2 of X is float \(3.5\), but the others are text"),
        (["a", ["b"]], "row 1 of X is list"),
        (["a", "a", "a"], "all rows of X are equal"),
        (["a"], "1 sample"),
    ],
)
def test_what_is_wrong_is_named(X, message):
    model = LFR()
    with pytest.raises(ValueError, match=message):
        model.fit(X)
    assert not hasattr(model, "encoder_")


@pytest.mark.parametrize(
    ("X", "modality", "message"),
    [
        (["a", "b"], "table", "X is text, but data of modality 'table'"),
        (np.ones((5, 3)), "text", "X has the shape .5, 3. and holds numbers"),
        (pd.DataFrame({"a": ["x", "y"], "b": ["x", "y"]}), "text", "one column of text.*has 2"),
        (pd.DataFrame({"a": pd.to_datetime(["2024-01-01", None])}), "text", "kind 'date'"),
    ],
)
def test_data_of_another_modality(X, modality, message):
    with pytest.raises(ValueError, match=message):
        RandomFeatures(modality=modality).fit(X)


def test_new_data_must_be_texts_and_the_model_stays_as_it_was():
    model = RandomFeatures(n_features=8, random_state=0).fit(messages())
    expected = model.transform(["win"])
    with pytest.raises(ValueError, match="row 0 of X is float"):
        model.transform([1.0, 2.0])
    with pytest.raises(ValueError, match="is expecting texts"):
        model.transform(np.ones((3, 4)))
    np.testing.assert_array_equal(model.transform(["win"]), expected)


@pytest.mark.parametrize("name", [n for n in ALL if "text" in SPECIAL.get(n, ("text",))])
def test_every_method_embeds_saves_and_loads_texts(name, tmp_path):
    texts, labels = messages(), np.arange(60) % 2
    model = small(name).fit(texts, labels)
    expected = model.transform(texts)
    assert expected.shape == (60, model.embedding_dim_)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(texts), expected)


def test_defaults_projectors_and_description():
    texts = messages()
    model = LFR(random_state=0, epochs=1, progress=False, device="cpu").fit(texts)
    kinds = {type(projector).__name__ for projector in model.projectors_}
    assert kinds == {"DocumentSimilarity", "VocabularyCounts"}
    assert "hashed n-grams of 2 to 4 characters" in repr(model.adapter_)
    lines = repr(describe(texts, device="cpu")).splitlines()
    assert lines[0] == "text: 60 samples, which become 4353 features"
    shortest, longest = min(map(len, texts)), max(map(len, texts))
    assert f"characters: {shortest} to {longest}, median" in lines[3]
    assert lines[1] == "missing: none"
    assert aleator.describe(texts).missing == 0
    found = aleator.describe([*texts, None, None])
    assert found.missing == 2 / 62
    assert "missing: 3.2 % of the texts, which are treated as empty ones" in repr(found)
