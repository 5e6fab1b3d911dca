"""Model folders whose checksums fit, but whose descriptions were made to do harm."""

import json

import numpy as np
import pytest

import aleator
from aleator import data_files
from aleator.benchmark.fuzzing.mutations import seal
from aleator.exceptions import CheckpointError, ModelFileError
from tests.small import small, small_lfr


@pytest.fixture
def saved(table, tmp_path):
    lfr = small_lfr().fit(table)
    lfr.save(tmp_path / "model")
    return lfr, tmp_path / "model"


@pytest.mark.parametrize("name", ["aleator.json", "precious.csv", "../precious.csv", None, [1]])
def test_a_file_that_is_no_weights_is_neither_read_nor_removed(saved, name):
    lfr, folder = saved
    for place in (folder, folder.parent):
        (place / "precious.csv").write_text("mine")
    content = json.loads((folder / "aleator.json").read_text())["content"]
    content["weights"]["file"] = name
    seal(folder / "aleator.json", content)
    with pytest.raises(ModelFileError, match="which is no file of weights"):
        aleator.load(folder)
    lfr.save(folder)
    aleator.load(folder)
    for place in (folder, folder.parent):
        assert (place / "precious.csv").read_text() == "mine"


@pytest.mark.parametrize(
    "dtype", ["<U500000000", "|V100000000", "|S100000000", "(100000000,)<f8", "<f8,<f8", None, 3]
)
def test_types_of_arrays_are_checked_before_memory_is_taken(dtype, table, tmp_path):
    resource = pytest.importorskip("resource")
    small("Supervised").fit(table, np.array(["no", "yes"])[np.arange(60) % 2]).save(tmp_path)
    content = json.loads((tmp_path / "aleator.json").read_text())["content"]
    assert content["attributes"]["classes_"]["dtype"] == "<U3"
    content["attributes"]["classes_"]["dtype"] = dtype
    seal(tmp_path / "aleator.json", content)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelFileError, match="has the type"):
        aleator.load(tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


@pytest.mark.parametrize(
    "classes",
    [
        np.array([3, 5], "i2"),
        np.array([False, True]),
        np.array([1.0, 2.0]),
        np.array(["no", "yes"], dtype=object),
        np.array([3, 5]).astype(str),  # whose type has room for longer texts
        np.array(["2024-01-01", "2025-01-01"], "M8[ns]"),
    ],
    ids=lambda classes: classes.dtype.str,
)
def test_classes_of_every_type_survive(classes, table, tmp_path):
    fitted = small("Supervised").fit(table, classes[np.arange(60) % 2])
    fitted.save(tmp_path)
    loaded = aleator.load(tmp_path)
    assert loaded.classes_.dtype == fitted.classes_.dtype
    np.testing.assert_array_equal(loaded.classes_, fitted.classes_)


def test_the_size_of_a_description_is_checked_before_it_is_read(saved, tmp_path):
    _, folder = saved
    with open(folder / "aleator.json", "ab") as file:
        file.truncate(10**12)  # sparse
    with pytest.raises(ModelFileError, match=f"of {10**12} bytes: the largest has 67108864"):
        aleator.load(folder)
    text = '{"content": [' + "[]," * (1 << 20) + "[]]}"
    (folder / "aleator.json").write_text(text)
    with pytest.raises(ModelFileError, match="of 1048579 lists and objects: the largest has"):
        aleator.load(folder)


@pytest.mark.parametrize("limit", ["_LARGEST_DESCRIPTION", "_MOST_CONTAINERS"])
def test_no_description_is_written_that_cannot_be_read(limit, saved, table, tmp_path, monkeypatch):
    lfr, folder = saved
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with monkeypatch.context() as patch:
        patch.setattr(data_files, limit, 10)
        with pytest.raises(ModelFileError, match="the largest has 10"):
            small_lfr(random_state=1).fit(table).save(folder)
        with pytest.raises(CheckpointError, match="the largest has 10"):
            lfr.fit(table, checkpoint=tmp_path / "run")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
