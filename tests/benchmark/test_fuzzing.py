"""Fuzzing of loaders: what it changes, what it notices, and a few inputs of every loader."""

import contextlib
import json
import random
import tempfile
from pathlib import Path

import numpy as np
import pytest

import aleator
from aleator.atomic_io import json_digest
from aleator.benchmark import recipes
from aleator.benchmark.fuzzing import checkpoints
from aleator.benchmark.fuzzing.__main__ import fuzz
from aleator.benchmark.fuzzing.loaders import LOADERS
from aleator.benchmark.fuzzing.mutations import (
    mutate_bytes,
    mutate_json,
    mutate_sealed,
    mutate_sealed_json,
    overwrite_bytes,
)
from aleator.benchmark.fuzzing.watching import Watch
from aleator.exceptions import CheckpointError, DataFileError, ModelFileError
from aleator.model_folder import DESCRIPTION
from aleator.training.trainer import Trainer


def test_mutations_depend_on_the_seed_and_change_something():
    data = bytes(range(200))
    changed = [mutate_bytes(data, random.Random(seed)) for seed in range(50)]
    assert changed == [mutate_bytes(data, random.Random(seed)) for seed in range(50)]
    assert len(set(changed) - {data}) > 40
    written = [overwrite_bytes(data, random.Random(seed)) for seed in range(50)]
    assert written == [overwrite_bytes(data, random.Random(seed)) for seed in range(50)]
    assert {len(bytes_) for bytes_ in written} == {200}
    assert len(set(written) - {data}) > 40
    value = {"a": [1, {"b": 2}], "c": None}
    texts = {json.dumps(mutate_json(value, random.Random(seed))) for seed in range(50)}
    assert len(texts) > 20
    assert value == {"a": [1, {"b": 2}], "c": None}


def test_sealed_changes_pass_the_checksums(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    aleator.RandomEncoder(embedding_dim=4, random_state=0).fit(X).save(tmp_path)
    before = (tmp_path / DESCRIPTION).read_bytes()
    (weights,) = tmp_path.glob("*.safetensors")
    for seed in range(20):
        (tmp_path / DESCRIPTION).write_bytes(before)
        mutate_sealed(tmp_path, DESCRIPTION, weights, random.Random(seed))
        written = json.loads((tmp_path / DESCRIPTION).read_text())
        assert written["sha256"] == json_digest(written["content"])
        with contextlib.suppress(ModelFileError):
            aleator.load(tmp_path)


class TestWatch:
    def found(self, folder, read, size=100):
        watch = Watch(folder, [ModelFileError])
        watch.call(read, size, "a case")
        return watch

    def test_own_errors_are_no_findings(self, tmp_path):
        def read():
            raise ModelFileError("damaged")

        assert self.found(tmp_path, read).findings == {}
        assert self.found(tmp_path, lambda: None).accepted == 1

    def test_other_errors_are(self, tmp_path):
        (finding,) = self.found(tmp_path, lambda: {}["x"]).findings.values()
        assert finding.startswith("KeyError at test_fuzzing.py:")
        assert finding.endswith("[a case]")

    def test_memory_is_compared_with_the_file(self, tmp_path):
        if not Path("/proc/self/clear_refs").exists():
            pytest.skip("needs Linux")

        def read():
            return np.ones(300_000_000, np.uint8).sum()

        (finding,) = self.found(tmp_path, read).findings.values()
        assert "MiB for a file of 100 bytes" in finding
        assert self.found(tmp_path, read, size=300_000_000).findings == {}

    def test_files_elsewhere_are_noticed(self, tmp_path):
        (tmp_path / "inside").mkdir()
        (tmp_path / "inside" / "a").write_text("")
        (tmp_path / "outside").write_text("")
        inside = self.found(tmp_path / "inside", (tmp_path / "inside" / "a").read_text)
        assert inside.findings == {}
        outside = self.found(tmp_path / "inside", (tmp_path / "outside").read_text)
        assert any("opened" in finding for finding in outside.findings.values())


@pytest.mark.parametrize("name", LOADERS)
def test_a_few_inputs_of_every_loader(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", None)  # `fuzz` sets it
    result = fuzz(name, range(40), tmp_path)
    assert result["findings"] == []
    assert result["inputs"] == 40 == result["read"] + result["rejected"]
    assert result["rejected"] > 5


def test_a_checkpoint_that_is_fuzzed_is_restored(tmp_path, monkeypatch):
    """All of its state, in the middle of a pass; in a finished run only networks are read."""
    restored = []
    restore = Trainer.load_state_dict
    monkeypatch.setattr(
        Trainer, "load_state_dict", lambda *given: (restored.append(given[1]), restore(*given))
    )
    monkeypatch.setattr(checkpoints, "_SHARE_OF_FITS", 1.0)
    checkpoints.make_stopped_run(tmp_path)
    checkpoints.read_run(tmp_path, random.Random(0))
    (state,) = restored
    assert state["position"]["round"] == 1
    assert state["phases"][0]["steps_in_pass"] == 2


def test_sealed_changes_of_records_pass_the_checksum(tmp_path):
    checkpoints.make_stopped_run(tmp_path)
    record = tmp_path / "run.json"
    before = record.read_bytes()
    for seed in range(20):
        record.write_bytes(before)
        mutate_sealed_json(record, random.Random(seed))
        written = json.loads(record.read_bytes())
        assert written["sha256"] == json_digest(written["content"])
        with contextlib.suppress(CheckpointError):
            checkpoints.read_run(tmp_path, random.Random(seed))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "is not a YAML file"),
        ("[1, 2]", "it has no entries"),
        ("dataset: har", "it has no entry"),
        ("dataset: har\nmethod: x\norigin: y\nparameters: {}\nprobe: {}", "no method 'x'"),
        ("dataset: har\nmethod: lfr\norigin: y\nparameters: 3\nprobe: {}", "parameters must be"),
        ("dataset: har\nmethod: lfr\norigin: y\nparameters: {}\nprobe: {}\nx: 1", "unknown entry"),
        ("!!python/object/apply:os.system ['true']", "is not a YAML file"),
    ],
)
def test_files_that_are_no_recipes(text, message, tmp_path):
    path = tmp_path / "lfr.yaml"
    path.write_text(text)
    with pytest.raises(DataFileError, match=message):
        recipes.read_file(path, "har")
