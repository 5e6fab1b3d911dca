"""Starting processes: wrong parameters, missing packages, and a script that is killed."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import torch

from aleator import LFR, SimCLR
from aleator.exceptions import CheckpointWarning
from aleator.training import launch
from aleator.training.launch import ProcessChoice

X = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"devices": 0}, "devices must be"),
        ({"devices": "auto"}, "devices must be"),
        ({"num_nodes": 0}, "num_nodes must be"),
        ({"strategy": "horovod"}, "strategy must be one of 'ddp', 'ddp_spawn'"),
        ({"strategy": "fsdp"}, "strategy='fsdp' divides the weights"),
        ({"strategy": "deepspeed_stage_2"}, "divides the weights of a model"),
        ({"devices": 2, "device": "cuda:0"}, "device='cuda:0' is one device"),
        ({"devices": 2, "num_nodes": 2, "strategy": "ddp_fork"}, "on one machine only"),
    ],
)
def test_wrong_parameters_are_refused_before_anything_is_started(changes, message):
    with pytest.raises(ValueError, match=message):
        LFR(**changes).fit(X)


def test_without_lightning_the_error_names_what_to_install(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(launch, "import_module", missing)
    with pytest.raises(ImportError, match=r"pip install 'aleator\[distributed\]'"):
        LFR(devices=2, device="cpu").fit(X)


def test_one_process_needs_no_lightning(monkeypatch):
    monkeypatch.setattr(launch, "_fabric_class", None)
    LFR(steps=1, n_projectors=2, embedding_dim=4, progress=False).fit(X)
    assert ProcessChoice(1, 1, "ddp", torch.device("cpu")).join().alone


# It runs until it is killed.
SCRIPT = """
    import os, sys, warnings
        import numpy as np
    from aleator import SimCLR

    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    rank = os.environ.get("LOCAL_RANK", "0")
    (folder / f"process-{rank}").write_text(str(os.getpid()))
    X = np.load(folder / "X.npy")
    model = SimCLR(
        embedding_dim=4, steps=400, batch_size=8, devices=2, device="cpu", random_state=0,
        optimizer="sgd", learning_rate=1e-3, momentum=0.0, progress=False,
    )
    model.fit(X, checkpoint=folder / "run", checkpoint_every=20)
    (folder / "result").touch()
"""


def test_a_run_continues_after_one_of_its_processes_was_killed(tmp_path):
    """Fabric starts the second process; `tests/test_documents.py` lets such a script end."""
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    np.save(tmp_path / "X.npy", X)
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py"), str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    written = tmp_path / "run" / "checkpoint-00000002"
    while process.poll() is None and not written.exists():
        time.sleep(0.02)
    os.kill(int((tmp_path / "process-1").read_text()), signal.SIGKILL)
    began = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - began < 30
    assert process.returncode != 0
    assert "process 1 of 2 has ended (it was killed, or its machine failed)" in errors
    assert not (tmp_path / "result").exists()

    # On one process, which takes no time to start.
    settings = {"embedding_dim": 4, "steps": 400, "batch_size": 16, "device": "cpu",
                "random_state": 0, "optimizer": "sgd", "learning_rate": 1e-3, "momentum": 0.0,
                "progress": False}  # fmt: skip
    with pytest.warns(CheckpointWarning, match="processes 2 → 1"):
        again = SimCLR(**settings).fit(X, checkpoint=tmp_path / "run")
    whole = SimCLR(**settings).fit(X)
    np.testing.assert_allclose(again.transform(X), whole.transform(X), atol=1e-4)
    assert sum(record["steps"] for record in again.history_) == 400
