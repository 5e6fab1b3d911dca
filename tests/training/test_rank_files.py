"""Files that do not fit into memory, read by several processes."""

import os
import warnings

import numpy as np
import pytest
import torch

from aleator import DIET, open_table
from aleator.benchmark import rank_cases as proofs
from aleator.estimators.fit_context import Seeds, root_seed
from aleator.exceptions import CheckpointError, CheckpointWarning
from aleator.inputs.table_files import TableFiles
from aleator.training.owners import PieceOwners
from aleator.training.piece_sampler import DividedPieceSampler, PieceSampler
from aleator.training.trainer import Trainer


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    import pyarrow.parquet

    X, _ = proofs.data_of(proofs.CASES["LFR, table"], 90)
    path = tmp_path_factory.mktemp("files") / "table.parquet"
    table = pyarrow.table({f"c{k}": X[:, k] for k in range(X.shape[1])})
    pyarrow.parquet.write_table(table, path, row_group_size=10)
    return path


def fit_file(path, size, buffer_size=500, **named):
    """Fit on a file of nine row groups with a buffer of two; return also who read what."""
    read = []
    read_piece = TableFiles.read_piece

    def counted(self, piece):
        read.append(piece)
        return read_piece(self, piece)

    train = Trainer.fit

    def fit(self, progress):
        read.clear()
        train(self, progress)

    source = open_table(path, buffer_size=buffer_size)
    settings = {"embedding_dim": 4, "epochs": 2, "batch_size": 30 // size, "optimizer": "sgd",
                "learning_rate": 0.1, "random_state": 0, "progress": False}  # fmt: skip
    TableFiles.read_piece, Trainer.fit = counted, fit
    try:
        model = DIET(devices=size, device="cpu", **settings).fit(source, **named)
    finally:
        TableFiles.read_piece, Trainer.fit = read_piece, train
    result = {"weights": proofs.weights_of(model), "losses": [r["loss"] for r in model.history_]}
    return result, read, settings


def test_a_process_reads_only_its_own_row_groups(pool, file):
    answers = pool.run(2, fit_file, file, 2)
    pieces = [sorted(set(read)) for _, read, _ in answers]
    assert sorted(pieces[0] + pieces[1]) == list(range(9)), "each is read by one process"
    for _, read, _ in answers:
        assert len(read) == 2 * len(set(read)), "and once per pass"
    # The same rows in the same order from memory, in one process.
    whole = PieceSampler(np.arange(0, 91, 10), 2, Seeds.from_root(root_seed(0)).order)
    sampler = DividedPieceSampler(whole, PieceOwners(whole.starts, 2))
    orders = torch.stack([sampler.next_pass(), sampler.next_pass()])
    settings = {**answers[0][2], "batch_size": 30}
    X, _ = proofs.data_of(proofs.CASES["LFR, table"], 90)
    model = DIET(device="cpu", **settings).fit(X, sample_order=orders)
    alone = {"weights": proofs.weights_of(model), "losses": [r["loss"] for r in model.history_]}
    assert max(proofs.difference(alone, answers[0][0])) < 1e-5
    assert proofs.difference(answers[0][0], answers[1][0]) == (0, 0)


def stop_on_file(path, size, folder):
    proofs.stop_after(2)
    try:
        fit_file(path, size, checkpoint=folder, checkpoint_every=2)
    except Exception as error:
        return str(error)


def continue_quietly(*arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckpointWarning)
        return continue_on_file(*arguments)


def continue_on_file(path, size, folder):
    return fit_file(path, size, checkpoint=folder, checkpoint_every=2)[0]


@pytest.mark.parametrize(("before", "after"), [(2, 3), (2, 1), (1, 2)])
def test_files_are_read_further_by_the_same_number_of_processes(
    pool, file, tmp_path, before, after
):
    def run(size, function):
        if size == 1:
            return [function(file, 1, tmp_path)]
        return pool.run(size, function, file, size, tmp_path)

    run(before, stop_on_file)
    message = f"it was trained on {before} processes, but now there are {after}"
    if after == 1:
        with (
            pytest.warns(CheckpointWarning, match="processes 2 → 1"),
            pytest.raises(CheckpointError, match=message),
        ):
            continue_on_file(file, 1, tmp_path)
    else:
        for _, error in pool.try_run(after, continue_quietly, file, after, tmp_path):
            assert error[0] == "CheckpointError"
            assert message in error[1]
    whole = run(before, continue_on_file)[0]
    other = run(before, fit_without_stop)[0]
    assert proofs.difference(whole, other) == (0, 0)


def fit_without_stop(path, size, folder):
    return fit_file(path, size)[0]


def test_few_row_groups_are_read_by_all_processes(pool, file):
    alone = fit_few_groups(file, 1)
    assert proofs.difference(alone, pool.run(3, fit_few_groups, file, 3)[0])[0] < 1e-5


def fit_few_groups(path, size):
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path)
    few = path.with_name(f"few-{size}-{os.getpid()}.parquet")
    pyarrow.parquet.write_table(table, few, row_group_size=45)
    return fit_file(few, size, buffer_size=1200)[0]
