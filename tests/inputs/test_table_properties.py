"""Properties of tables with columns of all kinds: order, chunks, saving, and libraries."""

import datetime
import tempfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aleator import RandomFeatures, load
from aleator.inputs import fit_adapter, read
from aleator.inputs.tables import adapted
from aleator.modalities import get_modality
from tests.frames import LIBRARIES, to_pandas
from tests.small import small_lfr

QUICK = settings(
    max_examples=25, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip

# Text without halves of surrogate pairs, which no file can hold.
_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
_EPOCH = datetime.datetime(1970, 1, 1)
_INSTANTS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1))
_VALUES = {
    "number": st.floats(-1e6, 1e6) | st.just(float("nan")),
    "integer": st.integers(-(2**40), 2**40),
    "boolean": st.booleans(),
    "text": _TEXT | st.sampled_from(["Rome", " Bonn", "?", "N/A", "10", "x y"]),
    "category": st.sampled_from(["low", "mid", "high"]),
    "date": _INSTANTS.map(datetime.datetime.date),
    "instant": _INSTANTS,
    "time": st.times(),
    "duration": st.timedeltas(datetime.timedelta(-999), datetime.timedelta(999)),
}
# Columns of text that is all numbers, or all dates.
_TEXT_KINDS = {
    "digits": st.integers(0, 99).map(str),
    "dates": _INSTANTS.map(lambda when: when.strftime("%d.%m.%Y %H:%M")),
    "many": st.integers(0, 10**6).map(lambda i: f"item {i} of {i % 7}"),
}


@st.composite
def tables(draw):
    """Columns as lists: what `tests.frames` makes frames of."""
    n = draw(st.integers(4, 60))
    columns = {}
    for position in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from([*_VALUES, *_TEXT_KINDS]))
        values = draw(st.lists({**_VALUES, **_TEXT_KINDS}[kind], min_size=1, max_size=12))
        gaps = draw(st.sampled_from([0.0, 0.3, 1.0]))
        random = np.random.default_rng(draw(st.integers(0, 2**32)))
        chosen = random.integers(0, len(values), n)
        if kind == "many":
            made = [f"item {i} of {i % 7}" for i in random.integers(0, 10**6, n)]
        else:
            made = [values[i] for i in chosen]
        missing = random.random(n) < gaps
        filled = [None if gap else value for value, gap in zip(made, missing, strict=True)]
        columns[f"column {position}"] = (kind if kind in _VALUES else "text", filled)
    columns["always"] = ("integer", list(range(n)))  # so that not all rows are equal
    columns["gap"] = ("number", [None, *map(float, range(n - 1))])
    return columns


def adapter_of(X):
    return fit_adapter(get_modality("table").layout, read(X), "LFR", "auto")


@QUICK
@given(tables())
def test_all_libraries_give_the_same_features(columns):
    found = {}
    for library, make in LIBRARIES.items():
        X = make(columns)
        adapter = adapter_of(X)
        found[library] = adapter.transform(X), [record.n_outputs for record in adapter.columns_]
    first, outputs = found.pop("pandas")
    assert np.isfinite(first).all()
    for library, (other, other_outputs) in found.items():
        assert outputs == other_outputs, library
        np.testing.assert_array_equal(first, other, err_msg=library)


@QUICK
@given(tables(), st.integers(0, 2**32), st.integers(1, 70))
def test_permuted_rows_permute_features_and_chunks_are_the_whole(columns, seed, rows):
    X = to_pandas(columns)
    adapter = adapter_of(X)
    whole = adapter.transform(X)
    order = np.random.default_rng(seed).permutation(len(X))
    np.testing.assert_array_equal(adapter.transform(X.iloc[order]), whole[order])
    source = adapter.read(X)
    np.testing.assert_array_equal(np.concatenate(list(source.chunks(rows))), whole)
    np.testing.assert_array_equal(source.gather(order[:rows]), whole[order[:rows]])


@settings(QUICK, max_examples=12)
@given(tables())
def test_a_saved_model_gives_the_same_embedding(columns):
    X = to_pandas(columns)
    model = RandomFeatures(n_features=12, random_state=0).fit(X)
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        again = load(folder)
    np.testing.assert_array_equal(again.adapter_.transform(X), model.adapter_.transform(X))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    assert again.adapter_.columns_ == model.adapter_.columns_
    assert repr(again.adapter_) == repr(model.adapter_)


@pytest.mark.parametrize("make", [small_lfr, lambda: RandomFeatures(n_features=12, random_state=0)])
def test_embeddings_have_the_same_properties(make, monkeypatch):
    monkeypatch.setattr(adapted, "ROWS_AT_ONCE", 16)

    @settings(QUICK, max_examples=4)
    @given(tables())
    def check(columns):
        X = {library: to_library(columns) for library, to_library in LIBRARIES.items()}
        models = {library: make().fit(X[library]) for library in X}
        expected = models["pandas"].transform(X["pandas"])
        for library in X:
            np.testing.assert_array_equal(models[library].transform(X[library]), expected)
            np.testing.assert_array_equal(models["pandas"].transform(X[library]), expected)
        order = np.random.default_rng(0).permutation(len(expected))
        permuted = models["pandas"].transform(X["pandas"].iloc[order])
        np.testing.assert_allclose(permuted, expected[order], rtol=1e-4, atol=1e-5)
        parts = np.array_split(np.arange(len(expected)), 3)
        pieces = [models["pandas"].transform(X["pandas"].iloc[part]) for part in parts if len(part)]
        np.testing.assert_allclose(np.concatenate(pieces), expected, rtol=1e-4, atol=1e-5)

    check()
