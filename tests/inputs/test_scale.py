"""The scale of saved adapters: whole and usable, or refused."""

import numpy as np
import pytest

from aleator.inputs.adapter import InputAdapter
from aleator.inputs.reading import read_numbers
from aleator.modalities import get_modality

MEAN, DEVIATION = np.zeros((2, 1)), np.ones((2, 1))


@pytest.fixture
def adapter():
    layout = get_modality("series").layout
    return InputAdapter(layout).fit(read_numbers(np.arange(24.0).reshape(3, 2, 4)))


def restored(adapter, stored, arrays):
    return InputAdapter.from_saved(adapter.layout, "LFR", stored, arrays)


def test_an_adapter_of_arrays_comes_back(adapter, random):
    X = random.normal(size=(5, 2, 4))
    again = restored(adapter, adapter.to_dict(), adapter.arrays())
    np.testing.assert_array_equal(again.transform(X), adapter.transform(X))
    as_they_are = restored(adapter, adapter.to_dict(), {})
    np.testing.assert_array_equal(as_they_are.transform(X), X.astype(np.float32))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"mean": MEAN}, "no mean or no deviation"),
        ({"deviation": DEVIATION}, "no mean or no deviation"),
        ({"mean": MEAN, "deviation": DEVIATION, "more": MEAN}, "no mean or no deviation"),
        ({"mean": MEAN[:1], "deviation": DEVIATION}, r"the shape \(1, 1\) instead of \(2, 1\)"),
        ({"mean": MEAN, "deviation": DEVIATION.astype(np.float32)}, "the type float32"),
        ({"mean": MEAN * np.nan, "deviation": DEVIATION}, "not finite"),
        ({"mean": MEAN, "deviation": DEVIATION * np.inf}, "not finite"),
        ({"mean": MEAN, "deviation": 0 * DEVIATION}, "not positive"),
    ],
)
def test_a_scale_that_is_not_whole_is_refused(adapter, arrays, message):
    with pytest.raises(ValueError, match=message):
        restored(adapter, adapter.to_dict(), arrays)


@pytest.mark.parametrize(
    "wrong",
    [{"shape": [2]}, {"shape": [2, 0]}, {"shape": [2, 4.0]}, {"shape": 2}, {"lacks_channels": 1}],
)
def test_a_shape_that_is_not_one_of_the_modality_is_refused(adapter, wrong):
    with pytest.raises(ValueError, match=r"the shape of the .* is wrong"):
        restored(adapter, {**adapter.to_dict(), **wrong}, adapter.arrays())
