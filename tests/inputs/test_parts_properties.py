"""Properties of several parts: order, chunks, saving, and libraries of tables."""

import tempfile

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from aleator import RandomFeatures, load
from tests.frames import LIBRARIES
from tests.inputs.test_parts import adapter_of, some
from tests.inputs.test_table_properties import QUICK, tables


@st.composite
def several(draw):
    """A table of any columns, beside one to three other parts, with as many rows."""
    columns = draw(tables())
    n = len(next(iter(columns.values()))[1])
    columns["row"] = "number", [float(row) for row in range(n)]  # rows must not all be equal
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    others = {
        "note": [f"{random.integers(99)} words" for _ in range(n)],
        "pulse": random.normal(size=(n, 1, 9)),
        "photo": random.integers(0, 256, (n, 8, 9, 3), dtype=np.uint8),
    }
    names = draw(st.lists(st.sampled_from(list(others)), min_size=1, max_size=3, unique=True))
    return columns, {name: others[name] for name in names}


def taken(columns, others, rows):
    chosen = {name: (kind, [values[i] for i in rows]) for name, (kind, values) in columns.items()}
    return chosen, some(others, rows)


@settings(QUICK, max_examples=15)
@given(several(), st.integers(0, 2**32), st.integers(1, 30))
def test_permuted_rows_permute_and_chunks_are_the_whole(data, seed, rows):
    columns, others = data
    X = {"table": LIBRARIES["pandas"](columns), **others}
    adapter = adapter_of(X)
    whole = adapter.transform(X)
    n = len(whole)
    order = np.random.default_rng(seed).permutation(n)
    permuted, permuted_others = taken(columns, others, order)
    for library, make in LIBRARIES.items():
        found = adapter.transform({**permuted_others, "table": make(permuted)})
        np.testing.assert_array_equal(found, whole[order], err_msg=library)
    source = adapter.read(X)
    np.testing.assert_array_equal(np.concatenate(list(source.chunks(rows))), whole)
    np.testing.assert_array_equal(source.gather(order[:rows]), whole[order[:rows]])


@settings(QUICK, max_examples=4)
@given(several(), st.integers(0, 2**32))
def test_a_saved_model_gives_the_same_embedding_and_libraries_agree(data, seed):
    columns, others = data
    X = {"table": LIBRARIES["pandas"](columns), **others}
    model = RandomFeatures(n_features=24, random_state=0).fit(X)
    expected = model.transform(X)
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        again = load(folder)
    np.testing.assert_array_equal(again.transform(X), expected)
    for library in ("polars", "pyarrow"):
        other = {"table": LIBRARIES[library](columns), **others}
        fitted = RandomFeatures(n_features=24, random_state=0).fit(other)
        np.testing.assert_array_equal(fitted.transform(other), expected, err_msg=library)
    order = np.random.default_rng(seed).permutation(len(expected))
    chosen, rest = taken(columns, others, order)
    permuted = model.transform({"table": LIBRARIES["pandas"](chosen), **rest})
    np.testing.assert_allclose(permuted, expected[order], rtol=1e-4, atol=1e-5)
    halves = [taken(columns, others, part) for part in np.array_split(np.arange(len(order)), 2)]
    chunks = [model.transform({"table": LIBRARIES["pandas"](c), **o}) for c, o in halves]
    np.testing.assert_allclose(np.concatenate(chunks), expected, rtol=1e-4, atol=1e-5)
