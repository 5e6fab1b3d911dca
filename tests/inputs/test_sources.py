"""Sources and the input adapter: data are read where they are, in any form, without a copy."""

import tracemalloc

import numpy as np
import pytest
import torch

from aleator.inputs import (
    ArraySource,
    DatasetSource,
    InputAdapter,
    evenly_spaced,
    read,
    sources,
)
from aleator.modalities import get_modality
from aleator.modalities import table as table_modality
from aleator.training.host_rows import SourceRows, TensorRows, rows_of
from tests.small import TRAINED, small, small_lfr


class Samples(torch.utils.data.Dataset):
    """A dataset of (sample, label) pairs that counts what is read."""

    def __init__(self, array):
        self.array = array
        self.reads = 0

    def __len__(self):
        return len(self.array)

    def __getitem__(self, position):
        self.reads += 1
        return torch.from_numpy(self.array[position]), 0


def adapter_for(X, preprocessing="auto"):
    layout = get_modality({2: "table", 3: "series", 4: "image"}[np.ndim(X)]).layout
    return InputAdapter(layout, "LFR").fit(read(X), preprocessing)


@pytest.fixture(params=["array", "memory map", "dataset"])
def source(request, table, tmp_path):
    if request.param == "array":
        return ArraySource(table)
    if request.param == "dataset":
        return DatasetSource(Samples(table))
    np.save(tmp_path / "X.npy", table)
    return ArraySource(np.load(tmp_path / "X.npy", mmap_mode="r"))


def test_every_source_has_the_same_abilities(source, table):
    assert len(source) == 60
    assert source.schema.shape == (5,)
    assert source.schema.dtype == np.float32
    index = np.array([7, 0, 7, 59])
    np.testing.assert_array_equal(source.gather(index), table[index])
    for rows in (None, 1, 7, 60, 100):
        chunks = list(source.chunks(rows))
        assert max(map(len, chunks)) <= (rows or 60)
        np.testing.assert_array_equal(np.concatenate(chunks), table)


@pytest.mark.parametrize("preprocessing", ["auto", None])
def test_an_adapted_source_gives_the_transformed_samples(source, table, preprocessing):
    adapter = adapter_for(table, preprocessing)
    whole = adapter.transform(table)
    adapted = adapter.read(source)
    assert adapted.schema.shape == (5,)
    index = np.array([3, 3, 59])
    np.testing.assert_array_equal(adapted.gather(index), whole[index])
    np.testing.assert_array_equal(np.concatenate(list(adapted.chunks(7))), whole)
    np.testing.assert_array_equal(adapted.materialize(), whole)


def test_the_scale_is_that_of_all_samples_in_double_precision(random):
    X = random.normal(1e6, 2.0, size=(500, 3, 20))
    adapter = adapter_for(X)
    np.testing.assert_allclose(adapter.scale["mean"].ravel(), X.mean((0, 2)), rtol=1e-12)
    np.testing.assert_allclose(adapter.scale["deviation"].ravel(), X.std((0, 2)), rtol=1e-9)
    inside = adapter.transform(X)
    np.testing.assert_allclose(inside.mean((0, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(inside.std((0, 2)), 1, rtol=1e-5)


@pytest.mark.parametrize("data", ["table", "series", "images"])
@pytest.mark.parametrize("preprocessing", ["auto", None])
def test_fit_does_not_change_the_data(data, preprocessing, request):
    X = request.getfixturevalue(data)
    before = X.copy()
    lfr = small_lfr(preprocessing=preprocessing).fit(X)
    lfr.transform(X)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("name", TRAINED)
def test_read_only_data_can_be_fitted(name, table, series):
    X = series if name == "TSTCC" else table
    expected = small(name, preprocessing=None, epochs=1).fit(X, np.arange(len(X)) % 2)
    frozen = X.copy()
    frozen.flags.writeable = False
    model = small(name, preprocessing=None, epochs=1).fit(frozen, np.arange(len(X)) % 2)
    np.testing.assert_array_equal(model.transform(frozen), expected.transform(X))


def test_float32_data_without_preprocessing_are_shared(table):
    source = adapter_for(table, None).read(table)
    assert np.shares_memory(source.as_array(), table)
    rows = rows_of(source)
    assert isinstance(rows, TensorRows)
    assert np.shares_memory(rows.whole().numpy(), table)
    assert isinstance(rows_of(adapter_for(table).read(table)), SourceRows)


@pytest.mark.parametrize("name", ["LFR", "SimCLR", "DACL"])
def test_fit_does_not_copy_the_data(name, random, monkeypatch):
    monkeypatch.setattr(sources, "_CHUNK_VALUES", 1 << 14)
    monkeypatch.setattr(table_modality, "_MOST_CORRUPTION_ROWS", 100)
    X = random.normal(size=(50_000, 40))
    model = small(name, steps=3)
    model.fit(X[:500])  # what is imported and built once is not counted
    tracemalloc.start()
    try:
        model.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.plan_.where("input") == "host"
    assert peak < X.nbytes / 4, "a copy in single precision would take half"


def test_a_memory_map_is_read_by_batches(table, tmp_path):
    np.save(tmp_path / "X.npy", table)
    expected = small_lfr().fit(table)
    for X in (tmp_path / "X.npy", str(tmp_path / "X.npy"), np.load(tmp_path / "X.npy", "r")):
        lfr = small_lfr().fit(X)
        assert lfr.plan_.where("input") == "streamed"
        np.testing.assert_array_equal(lfr.transform(X), expected.transform(table))
    (tmp_path / "X.txt").write_text("1 2")
    with pytest.raises(ValueError, match=r"only files that end in .*\.npy can be read"):
        small_lfr().fit(tmp_path / "X.txt")
    with pytest.raises(FileNotFoundError, match=r"X\.csv', but there is no such file"):
        small_lfr().fit(tmp_path / "X.csv")


@pytest.mark.parametrize("data", ["table", "series", "images"])
def test_a_dataset_gives_the_same_as_its_array(data, request):
    X = request.getfixturevalue(data)
    dataset = Samples(X)
    lfr = small_lfr().fit(dataset)
    assert lfr.plan_.where("input") == "streamed"
    expected = small_lfr().fit(X)
    np.testing.assert_array_equal(lfr.transform(dataset), expected.transform(X))
    assert dataset.reads > 0


def test_bad_datasets_are_explained(table):
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(table)

    with pytest.raises(ValueError, match="only map-style datasets"):
        small_lfr().fit(Stream())
    ragged = Samples([np.zeros(3, np.float32), np.zeros(4, np.float32)])
    with pytest.raises(ValueError, match=r"sample 1 .*shape \(4,\), but sample 0 has \(3,\)"):
        small_lfr().fit(ragged)
    with pytest.raises(ValueError, match="0 sample"):
        small_lfr().fit(Samples([]))
    gap = table.copy()
    gap[41, 2] = np.inf
    with pytest.raises(ValueError, match=r"inf.*row 41, column 2.*1 of 60 rows"):
        small_lfr().fit(Samples(gap))


def test_positions_are_spread_evenly():
    assert evenly_spaced(5, 10).tolist() == [0, 1, 2, 3, 4]
    spread = evenly_spaced(1000, 11)
    assert spread[0] == 0
    assert spread[-1] == 999
    assert np.ptp(np.diff(spread)) <= 1
