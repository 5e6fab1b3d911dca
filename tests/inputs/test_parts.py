"""Several parts at once: what is a part, what becomes of it, and what goes wrong."""

import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from sklearn.base import clone

import aleator
from aleator import LFR, Autoencoder, RandomEncoder, RandomFeatures, describe, load
from aleator.evaluation import fine_tune, label_curve, logistic_regression
from aleator.inputs import fit_adapter, read
from aleator.inputs.parts import adapted
from aleator.modalities import infer_layout
from aleator.projectors.joint import JointFeatures
from tests.small import ALL, SPECIAL, small


def parts(n=40, seed=0):
    """A table with text and gaps, images, texts and series."""
    random = np.random.default_rng(seed)
    cities = random.choice(["A", "B", "C"], n)
    table = pd.DataFrame({"age": random.normal(50, 9, n), "city": cities})
    table.loc[3, "age"] = np.nan
    return {
        "people": table,
        "photo": random.integers(0, 256, (n, 12, 10, 3), dtype=np.uint8),
        "note": [f"note {i} of {random.integers(9)}" for i in range(n)],
        "pulse": random.normal(3, 2, (n, 2, 16)),
    }


def adapter_of(X, **options):
    data = read(X, **options)
    return fit_adapter(infer_layout(options.get("modality", "auto"), data), data, "LFR", "auto")


def some(X, rows):
    """Rows of all parts."""
    return {
        name: part.iloc[rows] if hasattr(part, "iloc") else
        [part[i] for i in rows] if isinstance(part, list) else part[rows]
        for name, part in X.items()
    }  # fmt: skip


def test_a_row_is_what_every_part_would_be_alone():
    X = parts()
    adapter = adapter_of(X)
    assert [part.modality for part in adapter.parts.values()] == [
        "table", "image", "text", "series",
    ]  # fmt: skip
    alone = [adapter_of(part).transform(part).reshape(40, -1) for part in X.values()]
    np.testing.assert_array_equal(adapter.transform(X), np.concatenate(alone, 1))
    assert adapter.shape == (sum(part.shape[1] for part in alone),)
    assert adapter.n_features == 2 + 3 + 1 + 2
    text = repr(adapter)
    assert "part 'people'\n  column  kind" in text
    assert "part 'photo'\n  images: 3 × 12 × 10 values, standardized" in text


def test_the_order_of_parts_and_of_columns_does_not_matter():
    X = parts()
    model = RandomFeatures(n_features=24, random_state=0).fit(X)
    shuffled = {name: X[name] for name in ("pulse", "note", "people", "photo")}
    shuffled["people"] = X["people"].assign(more=1)[["city", "more", "age"]]
    np.testing.assert_array_equal(model.transform(shuffled), model.transform(X))
    assert not hasattr(model, "feature_names_in_")
    numbers = {"a": pd.DataFrame({"x": [1.0, 2, 3], "y": [5.0, 1, 2]}), "b": ["u", "v", "w"]}
    model.fit(numbers)
    swapped = {**numbers, "a": numbers["a"][["y", "x"]]}
    np.testing.assert_array_equal(model.transform(swapped), model.transform(numbers))


WRONG = {
    "empty": ({}, "X is a dict without parts"),
    "column": ({"age": [1, 2, 3], "city": ["a", "b", "c"]}, r"part 'age': .*pandas.DataFrame\(X\)"),
    "array": ({"a": np.zeros(3), "b": np.zeros((3, 2))}, "part 'a': it is a single column"),
    "series": ({"a": pd.Series([1.0, 2.0])}, "part 'a': it is a single column of numbers"),
    "tensor": ({"a": torch.zeros(3)}, "part 'a': it is a single column of numbers"),
    "lengths": (
        {"a": np.eye(3), "b": ["x", "y"]},
        "same number of rows, but 'a' has 3, 'b' has 2",
    ),
    "nested": ({"a": {"b": np.eye(3)}}, "part 'a': it is a dict; parts cannot have parts"),
    "name": ({1: np.eye(3)}, "names of the parts of X must be text, but one is 1"),
    "infinity": (
        {"a": np.eye(3), "pulse": np.full((3, 1, 4), np.inf)},
        "part 'pulse': X contains an infinity .* row 0, channel 0, time 0",
    ),
    "no file": ({"a": np.eye(3), "b": "nowhere.parquet"}, "part 'b': X is the path"),
    "one row": ({"a": np.ones((1, 3))}, r"part 'a': .* 1 sample"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_with_the_name_of_the_part(case):
    X, message = WRONG[case]
    model = RandomFeatures(n_features=8)
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        model.fit(X)
    assert not hasattr(model, "adapter_")


def test_new_data_have_the_same_parts():
    X = parts(8)
    model = RandomFeatures(n_features=8, random_state=0).fit(X)
    without = {name: part for name, part in X.items() if name not in ("note", "pulse")}
    with pytest.raises(ValueError, match="X lacks the parts 'note' and 'pulse'; RandomFeatures is"):
        model.transform(without)
    with pytest.raises(ValueError, match="X has the part 'more', which RandomFeatures was not"):
        model.transform({**X, "more": X["note"]})
    with pytest.raises(
        ValueError, match=r"expecting a dict with the parts 'people', .* is ndarray"
    ):
        model.transform(X["photo"])
    with pytest.raises(ValueError, match="same number of rows, but 'people' has 8, 'photo' has 3"):
        model.transform({**X, "photo": X["photo"][:3]})
    with pytest.raises(ValueError, match=r"part 'pulse': X has 9 time steps, but .* expecting 16"):
        model.transform({**X, "pulse": X["pulse"][:, :, :9]})
    with pytest.raises(ValueError, match=r"part 'people': .*'city'"):
        model.transform({**X, "people": X["people"][["age"]]})
    alone = RandomFeatures(n_features=8, random_state=0).fit(X["pulse"])
    with pytest.raises(ValueError, match="X is a dict of several parts, but RandomFeatures is"):
        alone.transform(X)


def test_a_part_whose_samples_change_their_shape_is_refused():
    X = parts(8)
    adapter = adapter_of(X)
    longer = adapter_of({**X, "pulse": np.pad(X["pulse"], ((0, 0), (0, 0), (0, 2)))})
    adapter.parts["pulse"].adapt = longer.parts["pulse"].adapt
    adapter.parts["pulse"].read = longer.parts["pulse"].read
    new = {**X, "pulse": np.zeros((8, 2, 18))}
    with pytest.raises(ValueError, match=r"part 'pulse': samples have the shape \(2, 18\), but"):
        adapter.read(new)
    with pytest.raises(ValueError, match=r"part 'pulse': samples have the shape \(2, 18\), but"):
        adapter.adapt(read(new))


def test_modalities_of_parts_can_be_named():
    pulse = np.random.default_rng(0).normal(size=(3, 30))
    X = {"note": pd.DataFrame({"text": ["a b", "c d", "e f"]}), "pulse": pulse}
    kinds = {"note": "text", "pulse": "series"}
    model = RandomFeatures(n_features=8, modality=kinds, random_state=0).fit(X)
    assert {name: part.modality for name, part in model.adapter_.parts.items()} == kinds
    assert model.adapter_.parts["pulse"].shape == (1, 30)
    assert describe(X, modality=kinds, device="cpu").parts["note"].modality == "text"
    with pytest.raises(ValueError, match=r"modality='text' is one for all.*\{'note': 'text'\}"):
        clone(model).set_params(modality="text").fit(X)
    with pytest.raises(ValueError, match="modality names the part 'image', which X does not have"):
        clone(model).set_params(modality={"image": "image"}).fit(X)
    with pytest.raises(ValueError, match="modality is a dict, but X is not a dict"):
        clone(model).fit(X["pulse"])


def test_files_are_read_when_they_are_needed(tmp_path):
    X = parts(30)
    (tmp_path / "photos").mkdir()
    for row, pixels in enumerate(X["photo"]):
        Image.fromarray(pixels).save(tmp_path / "photos" / f"{row}.png")
    pq.write_table(pa.Table.from_pandas(X["people"]), tmp_path / "p.parquet", row_group_size=7)
    # Five row groups, which do not fit into the buffer.
    table = aleator.open_table(tmp_path / "p.parquet", buffer_size=4 * 7 * 5 * 4)
    files = {**X, "photo": tmp_path / "photos", "people": table}
    in_memory = {**X, "photo": aleator.open_images(tmp_path / "photos")}
    model = small("LFR").fit(files)
    assert model.plan_.where("input") == "streamed"
    again = small("LFR").fit(files)
    np.testing.assert_array_equal(again.transform(files), model.transform(files))
    np.testing.assert_array_equal(model.transform(in_memory), model.transform(files))
    # Whatever is read, no more than a chunk of rows is in memory at once.
    source = model.adapter_.read(files)
    assert source.as_array() is None
    assert [len(chunk) for chunk in source.chunks(8)] == [8, 8, 8, 6]
    rows = np.array([29, 0, 11])
    whole = source.materialize()
    np.testing.assert_array_equal(source.gather(rows), whole[rows])
    np.testing.assert_array_equal(source.in_order(rows).gather(rows), whole[rows])
    np.testing.assert_array_equal(np.concatenate(list(source.chunks(4, 3, 17))), whole[3:17])
    # The table in files decides in which order they are read; of others, the same rows are.
    starts = source.in_pieces.starts
    assert len(starts) > 5
    own = source.part(np.array([1, 4]))
    chosen = [*range(starts[1], starts[2]), *range(starts[4], starts[5])]
    np.testing.assert_array_equal(own.materialize(), whole[chosen])
    second = np.array([1])
    np.testing.assert_array_equal(own.in_order(second).gather(second), whole[chosen][second])
    with pytest.raises(TypeError, match="not read in pieces"):
        model.adapter_.read(in_memory).part(np.array([0]))


def test_rows_in_memory_are_converted_once_if_they_are_few(monkeypatch):
    X = parts()
    adapter = adapter_of(X)
    source = adapter.adapt(read(X))
    kept = source.as_array()
    np.testing.assert_array_equal(kept, adapter.transform(X))
    assert source.gather(np.arange(3)).base is None
    assert source.in_order(np.arange(3)) is source
    np.testing.assert_array_equal(np.concatenate(list(source.chunks(7, 2, 20))), kept[2:20])
    monkeypatch.setattr(adapted, "BUFFER_SIZE", 100)
    large = adapter.adapt(read(X))
    assert large.as_array() is None
    assert large._parts["note"]._kept is not None
    np.testing.assert_array_equal(large.gather(np.array([5, 2])), kept[[5, 2]])


@pytest.mark.parametrize("name", ALL)
def test_every_estimator_takes_parts_or_says_why_not(name):
    X = {key: part for key, part in parts(32).items() if key != "photo"}
    y = np.arange(32) % 2
    model = small(name)
    if name in SPECIAL:
        with pytest.raises(ValueError, match=f"{name} works on .*, but X is several parts"):
            model.fit(X, y)
    elif name in ("SimCLR", "SimSiam", "BYOL", "STab") and hasattr(model, "views"):
        with pytest.raises(ValueError, match="no built-in views for several parts: pass views"):
            model.fit(X, y)
    else:
        Z = model.fit(X, y).transform(X)
        assert Z.shape == (32, model.embedding_dim_)
        assert np.isfinite(Z).all()


def test_checkpoints_and_fine_tuning(tmp_path):
    X = {name: part for name, part in parts().items() if name != "photo"}
    y = np.arange(40) % 2
    whole = small("LFR").fit(X)
    folder = tmp_path / "run"
    saved = small("LFR").fit(X, checkpoint=folder, checkpoint_every=1)
    np.testing.assert_array_equal(saved.transform(X), whole.transform(X))
    # Continue from the last checkpoint but one, as if the process had been killed.
    shutil.rmtree(max(folder.glob("checkpoint-*")))
    again = small("LFR").fit(X, checkpoint=folder)
    np.testing.assert_array_equal(again.transform(X), whole.transform(X))
    changed = {**X, "note": [*X["note"][:-1], "another one"]}
    with pytest.raises(aleator.exceptions.CheckpointError, match="other data than X"):
        small("LFR").fit(changed, checkpoint=folder)
    renamed = {("notes" if name == "note" else name): part for name, part in X.items()}
    with pytest.raises(aleator.exceptions.CheckpointError, match="other data than X"):
        small("LFR").fit(renamed, checkpoint=folder)
    tuned = fine_tune(whole, X, y, X, y, epochs=2, label_fraction=0.5)
    assert 0 <= tuned.mean("accuracy") <= 1
    again = load_saved(whole, tmp_path / "model")
    np.testing.assert_array_equal(again.transform(X), whole.transform(X))
    assert repr(again.adapter_) == repr(whole.adapter_)


def load_saved(model, folder):
    model.save(folder)
    return load(folder)


def test_transform_to_and_set_output(tmp_path):
    X = parts()
    model = RandomFeatures(n_features=6, random_state=0).set_output(transform="pandas").fit(X)
    expected = model.transform(X)
    assert list(expected.columns) == [f"randomfeatures{i}" for i in range(6)]
    model.transform_to(X, tmp_path / "out", rows_per_part=16)
    found = pd.read_parquet(tmp_path / "out")
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), rtol=1e-4, atol=1e-5)


def test_probes_and_label_curves_take_parts():
    X = parts(60)
    y = (X["pulse"].mean((1, 2)) > 3).astype(int)
    train, test = some(X, np.arange(40)), some(X, np.arange(40, 60))
    model = RandomFeatures(n_features=64, random_state=0).fit(train)
    found = logistic_regression(train, y[:40], test, y[40:], model=model)
    assert 0 <= found.mean("accuracy") <= 1
    curve = label_curve(
        train, y[:40], test, y[40:], models={"features": model}, n_labels=[10, "all"], draws=1
    )
    assert "features" in repr(curve)


@pytest.mark.parametrize(
    "model",
    [
        RandomFeatures(n_features=512, random_state=0),
        RandomEncoder(random_state=0),
        RandomEncoder(encoder="random-features", random_state=0),
    ],
)
def test_a_narrow_table_has_as_much_say_as_wide_images(model):
    random = np.random.default_rng(0)
    X = {"table": random.normal(size=(60, 3)), "photo": random.random((60, 3, 20, 20))}
    Z = model.fit_transform(X)
    changes = {}
    for name, part in X.items():  # rows get the part of another row
        changes[name] = np.square(model.transform({**X, name: part[::-1]}) - Z).mean()
    # To random networks, all images of noise look rather alike.
    assert 0.2 < changes["table"] / changes["photo"] < 5


def test_parts_take_turns_as_projectors():
    X = {name: part for name, part in parts(30).items() if name in ("people", "photo")}
    model = LFR(epochs=0, n_projectors=8, embedding_dim=4, random_state=0, progress=False).fit(X)
    of_all = [k for k, p in enumerate(model.projectors_) if isinstance(p, JointFeatures)]
    assert 0 < len(of_all) <= 3
    starts = [p.section.start for p in model.projectors_ if not isinstance(p, JointFeatures)]
    assert abs(starts.count(0) - starts.count(5)) <= 1
    # A projector of all parts depends on each of them.
    joint = model.projectors_[of_all[0]]
    rows = torch.from_numpy(model.adapter_.transform(X))
    for start, stop in ((0, 5), (5, rows.shape[1])):
        changed = rows.clone()
        changed[:, start:stop] = changed[:, start:stop].flip(0)
        assert not torch.allclose(joint(changed), joint(rows))


def test_both_parts_tell_more_than_either():
    """The label is the sum of what a table and a series say."""
    random = np.random.default_rng(0)
    n = 400
    left, right = random.normal(size=(2, n))
    table = np.column_stack([left, random.normal(size=(n, 3))])
    time = np.linspace(0, 6, 24)
    noise = 0.3 * random.normal(size=(n, 1, 24))
    series = (right[:, None] * np.sin(time))[:, None] + noise
    y = left + right > 0

    def accuracy(X, take):
        Z = LFR(epochs=3, n_projectors=6, embedding_dim=16, random_state=0, progress=False)
        embedded = Z.fit(take(X, slice(0, 200))).transform
        sets = embedded(take(X, slice(0, 200))), embedded(take(X, slice(200, 400)))
        return logistic_regression(sets[0], y[:200], sets[1], y[200:]).mean("accuracy")

    either = [accuracy(part, lambda X, rows: X[rows]) for part in (table, series)]
    both = accuracy(
        {"table": table, "series": series}, lambda X, rows: {k: v[rows] for k, v in X.items()}
    )
    assert both > max(either) + 0.03
    assert both > 0.85


def ragged_parts(n=30):
    random = np.random.default_rng(0)
    series = [random.normal(size=(2, random.integers(5, 20))) for _ in range(n)]
    return {"age": random.normal(size=(n, 1)), "pulse": series}


@pytest.mark.parametrize("estimator", [RandomFeatures(n_features=32), RandomEncoder()])
def test_a_series_has_the_same_embedding_alone_and_among_longer_ones(estimator):
    X = ragged_parts()
    model = estimator.set_params(random_state=0).fit(X)
    whole = model.transform(X)
    assert np.isfinite(whole).all()
    for row in range(3):
        alone = {name: part[row : row + 1] for name, part in X.items()}
        np.testing.assert_allclose(model.transform(alone), whole[row : row + 1], atol=1e-5)


def test_a_series_longer_than_all_of_training_is_refused():
    X = ragged_parts()
    model = RandomFeatures(n_features=32, random_state=0).fit(X)
    X["pulse"][0] = np.zeros((2, 21))
    with pytest.raises(ValueError, match=r"part 'pulse': .* \(2, 21\), .* had \(2, 19\); .* cut"):
        model.transform(X)


def test_a_method_without_masks_refuses_parts_with_gaps():
    with pytest.raises(ValueError, match="Autoencoder needs samples of one length"):
        Autoencoder(epochs=1).fit(ragged_parts())
