"""Columns that are indicators of one category, in arrays of numbers."""

import numpy as np
import pandas as pd
import pytest

import aleator
from aleator import LFR, RandomFeatures
from aleator.inputs.tables.one_hot import one_hot_groups, read_groups
from aleator.modalities.registry import modality_of

GROUPS = [slice(2, 5), slice(6, 8)]


@pytest.fixture
def encoded(random):
    """Two numbers, a category of three, an indicator of its own, and a category of two."""
    first, second = (np.eye(n)[random.integers(n, size=300)] for n in (3, 2))
    alone = random.integers(2, size=(300, 1))
    return np.hstack([random.normal(size=(300, 2)), first, alone, second])


def test_groups_of_indicators_are_found(encoded, random):
    assert one_hot_groups(encoded) == GROUPS
    assert one_hot_groups(5 - 3 * encoded[:, :2]) == []
    shifted = (encoded - encoded.mean(0)) / encoded.std(0)
    assert one_hot_groups(shifted) == GROUPS, "standardized columns still have two values"
    assert one_hot_groups(encoded.astype(bool)[:, 2:]) == [slice(0, 3), slice(4, 6)]
    assert one_hot_groups(random.integers(2, size=(300, 6))) == []


def test_categories_that_the_rows_do_not_have_stay_in_their_group(encoded):
    absent = np.zeros((300, 1))
    within = np.hstack([encoded[:, :3], absent, encoded[:, 3:5]])
    assert one_hot_groups(within) == [slice(2, 6)]
    around = np.hstack([absent, encoded[:, 2:5], absent])
    assert one_hot_groups(around) == [slice(1, 4)]
    assert one_hot_groups(np.ones((5, 3))) == []


def test_two_rows_have_no_categories():
    assert one_hot_groups(np.array([[0.3, 1.7], [0.8, 0.2]])) == []


def test_a_row_with_none_or_two_set_is_no_category(encoded):
    for value in (0, 1):
        X = encoded.copy()
        X[7, 2:5] = value
        assert one_hot_groups(X) == [slice(6, 8)]


def test_a_category_may_have_thousands_of_indicators(random):
    X = np.zeros((1024, 5000))
    X[np.arange(1024), random.permutation(5000)[:1024]] = 1
    (group,) = one_hot_groups(X)
    assert (X[:, group].sum(1) == 1).all()


def test_estimators_treat_them_as_one_column(encoded):
    model = RandomFeatures(n_features=64, random_state=0).fit(encoded)
    assert model.adapter_.one_hot == GROUPS
    blocks = [slice(0, 1), slice(1, 2), slice(2, 5), slice(5, 6), slice(6, 8)]
    assert model.adapter_.column_blocks == blocks
    assert modality_of(model.adapter_).random_features == ("trees", "sums")
    treatments = [column.treatment for column in model.adapter_.columns_]
    assert treatments[2:6] == ["standardized, an indicator of a category of 3"] * 3 + [
        "standardized"
    ]
    assert "an indicator of a category of 3" in str(aleator.describe(encoded))


def test_numbers_alone_have_no_groups(random):
    model = RandomFeatures(n_features=16, random_state=0).fit(random.normal(size=(50, 3)))
    assert model.adapter_.column_blocks == []
    assert modality_of(model.adapter_).random_features == ("trees",)


@pytest.mark.parametrize("estimator", [LFR(random_state=0), RandomFeatures(n_features=64)])
def test_saved_models_know_them(estimator, encoded, tmp_path):
    model = estimator.fit(encoded)
    model.save(tmp_path / "model")
    again = aleator.load(tmp_path / "model")
    assert again.adapter_.one_hot == GROUPS
    np.testing.assert_array_equal(again.transform(encoded), model.transform(encoded))


def test_dummies_of_a_frame_are_found_too(encoded):
    frame = pd.DataFrame(encoded, columns=[*"abcdefgh"])
    model = RandomFeatures(n_features=64, random_state=0).fit(frame)
    assert model.adapter_.one_hot == GROUPS


def test_files_are_read_like_arrays(encoded, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    pd.DataFrame(encoded, columns=[*"abcdefgh"]).to_parquet(path)
    model = RandomFeatures(n_features=64, random_state=0).fit(path)
    assert model.adapter_.one_hot == GROUPS
    in_memory = RandomFeatures(n_features=64, random_state=0).fit(encoded)
    np.testing.assert_allclose(model.transform(path), in_memory.transform(encoded), atol=1e-5)


@pytest.mark.parametrize("stored", ["ab", [[0]], [[0, 9]], [[2, 5], [4, 6]], [[3, 3]], [[0.0, 2]]])
def test_groups_of_a_damaged_model_are_refused(stored):
    with pytest.raises(ValueError, match="the groups of columns"):
        read_groups(stored, 8)
    assert read_groups([[2, 5], [6, 8]], 8) == GROUPS
