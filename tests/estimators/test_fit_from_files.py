"""Fitting on files: the same as in memory where it can be, and as good where it cannot."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aleator import open_table
from aleator.inputs.table_files import TableFiles
from aleator.training.piece_sampler import PieceSampler
from tests.small import TRAINED, small, small_lfr
from tests.training.saved_states import assert_same_fit, fit_and_save, fit_from

NAMES = list("abcde")


@pytest.fixture
def path(table, tmp_path):
    columns = {name: table[:, position] for position, name in enumerate(NAMES)}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=7)
    return tmp_path / "x.parquet"


@pytest.fixture
def small_buffer(path):
    """Nine row groups, of which four fit into the buffer."""
    opened = open_table(path, buffer_size=4 * 7 * 5 * 4)
    assert opened.window == 4
    assert len(opened.starts) == 10
    return opened


@pytest.mark.parametrize("name", [name for name in TRAINED if name != "TSTCC"])
def test_a_file_that_fits_into_the_buffer_gives_the_same_as_memory(name, path, table):
    y = np.arange(60) % 2
    expected = small(name).fit(table, y)
    for X in (path, str(path), pq.read_table(path)):
        model = small(name).fit(X, y)
        assert model.feature_names_in_.tolist() == NAMES
        np.testing.assert_array_equal(model.transform(X), expected.transform(table))


def test_a_run_of_few_steps_reads_the_same_samples_as_in_memory(small_buffer, table):
    expected = small_lfr(steps=2, batch_size=10).fit(table)
    model = small_lfr(steps=2, batch_size=10).fit(small_buffer)
    np.testing.assert_array_equal(model.transform(small_buffer), expected.transform(table))


@pytest.mark.parametrize("name", [name for name in TRAINED if name != "TSTCC"])
def test_every_method_trains_on_a_file_larger_than_the_buffer(name, small_buffer, table):
    y = np.arange(60) % 2
    model = small(name).fit(small_buffer, y)
    assert model.plan_.where("input") == "streamed"
    again = small(name).fit(small_buffer, y)
    embedding = model.transform(small_buffer)
    np.testing.assert_array_equal(again.transform(small_buffer), embedding)
    assert embedding.shape == (60, 8)
    assert not np.array_equal(small(name).fit(table, y).transform(table), embedding), "order"


@pytest.mark.parametrize("training", ["joint", "alternating"])
def test_a_pass_reads_every_row_group_once(training, small_buffer, monkeypatch):
    reads, passes = [], []
    read_piece, next_pass = TableFiles.read_piece, PieceSampler.next_pass

    def counted(self, piece):
        reads.append(piece)
        return read_piece(self, piece)

    def begun(self):
        passes.append(len(reads))
        return next_pass(self)

    monkeypatch.setattr(TableFiles, "read_piece", counted)
    monkeypatch.setattr(PieceSampler, "next_pass", begun)
    small_lfr(training=training, epochs=2, memory_limit=0).fit(small_buffer)
    assert len(passes) == (2 if training == "joint" else 4)
    for start, stop in zip(passes, [*passes[1:], len(reads)], strict=True):
        assert sorted(reads[start:stop]) == list(range(9))
    assert passes[0] <= 4 * 9, "values, sample of the data, selection, monitor"


def test_steps_of_two_phases_are_read_from_row_groups_of_their_own(small_buffer, monkeypatch):
    reads = []
    read_piece = TableFiles.read_piece
    monkeypatch.setattr(
        TableFiles, "read_piece", lambda self, i: reads.append(i) or read_piece(self, i)
    )
    # 40 steps of 6 rows in both phases: four passes each, far more than fit into the buffer.
    small_lfr(steps=40, batch_size=6, memory_limit=0).fit(small_buffer)
    assert len(reads) <= (4 + 2 * 4) * 9


# Batches of 16 of 60 rows: four steps per pass. One encoder pass, two predictor passes.
@pytest.mark.parametrize("steps", [2, 4, 7, 13])
def test_a_run_on_files_is_restored_bit_for_bit(steps, small_buffer, monkeypatch):
    def make():
        return small_lfr(predictor_epochs=2, memory_limit=0)

    whole, state = fit_and_save(monkeypatch, make(), small_buffer, steps)
    assert_same_fit(fit_from(monkeypatch, make(), small_buffer, state), whole)


def test_learning_from_files_is_as_good_as_in_memory(random, tmp_path):
    # Rows are sorted by what all columns depend on, so that row groups differ.
    hidden = np.sort(random.normal(size=1000))[:, None]
    X = (hidden * random.normal(size=(1, 6)) + 0.3 * random.normal(size=(1000, 6))).astype("f4")
    columns = pa.table(list(X.T.copy()), names=list("abcdef"))
    pq.write_table(columns, tmp_path / "x.parquet", row_group_size=60)
    table = open_table(tmp_path / "x.parquet", buffer_size=4 * 60 * 24)
    assert table.window == 4
    losses = []
    for source in (X, table):
        models = [small_lfr(epochs=4, loss="mse", random_state=s).fit(source) for s in range(3)]
        losses.append([model.history_[-1]["loss"] for model in models])
    spread = max(np.std(losses[0], ddof=1), 0.02 * np.mean(losses[0]))
    np.testing.assert_allclose(np.mean(losses[1]), np.mean(losses[0]), atol=spread)


def test_a_given_order_needs_data_in_the_buffer(path, small_buffer):
    order = np.tile(np.arange(60), (4, 1))
    with pytest.raises(ValueError, match="sample_order is for data in memory"):
        small_lfr().fit(small_buffer, sample_order=order)
    small_lfr(epochs=1).fit(path, sample_order=order)


def test_a_model_of_files_is_saved_with_the_names_of_its_columns(path, tmp_path, table):
    import aleator

    model = small_lfr(epochs=1).fit(path)
    model.save(tmp_path / "model")
    loaded = aleator.load(tmp_path / "model")
    shuffled = pq.read_table(path).select(["c", "a", "e", "b", "d"])
    np.testing.assert_array_equal(loaded.transform(shuffled), model.transform(path))
