"""Processes as users start them: by a script, by torchrun, by SLURM; and wrong parameters."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from aleator import LFR, SimCLR
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


SCRIPT = """
    import json, os, sys, warnings
    from pathlib import Path
    import numpy as np
    import torch
    from aleator import SimCLR

    warnings.simplefilter("ignore")
    folder, steps = Path(sys.argv[1]), int(sys.argv[2])
    rank = os.environ.get("LOCAL_RANK", "0")
    (folder / f"process-{rank}").write_text(str(os.getpid()))
    if len(sys.argv) > 3:  # a group of the user's own
        torch.distributed.init_process_group("gloo")
    X = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    model = SimCLR(
        embedding_dim=4, steps=steps, batch_size=8, devices=2, device="cpu", random_state=0,
        optimizer="sgd", learning_rate=1e-3, momentum=0.0, verbose=2, progress=False,
    )
    model.fit(X, checkpoint=folder / "run", checkpoint_every=20)
    result = [float(model.transform(X).sum()), model.plan_.processes, len(model.history_)]
    (folder / f"result-{rank}.json").write_text(json.dumps(result))
"""


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(SCRIPT))
    return file


def environment(**variables):
    return {**os.environ, "OMP_NUM_THREADS": "1", **variables}


def expected_sum(steps):
    settings = {"embedding_dim": 4, "batch_size": 16, "device": "cpu", "random_state": 0}
    settings |= {"optimizer": "sgd", "learning_rate": 1e-3, "momentum": 0.0, "progress": False}
    return float(SimCLR(steps=steps, **settings).fit(X).transform(X).sum())


def check_results(folder, steps):
    expected = [pytest.approx(expected_sum(steps), rel=1e-4), 2]
    for rank in range(2):
        result = json.loads((folder / f"result-{rank}.json").read_text())
        assert result[:2] == expected


def test_a_script_continues_after_one_of_its_processes_was_killed(script, tmp_path):
    command = [sys.executable, str(script), str(tmp_path), "400"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    written = tmp_path / "run" / "checkpoint-00000002"
    while process.poll() is None and not written.exists():
        time.sleep(0.02)
    os.kill(int((tmp_path / "process-1").read_text()), signal.SIGKILL)
    began = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - began < 30
    assert process.returncode != 0
    assert "process 1 of 2 has ended (it was killed, or its machine failed)" in errors
    assert not (tmp_path / "result-0.json").exists()

    again = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    check_results(tmp_path, 400)
    epochs = [line for line in again.stdout.splitlines() if line.startswith("[SimCLR]")]
    assert len(epochs) == len(set(epochs)), "only the first process shows progress"


def test_torchrun_with_a_group_of_the_users_own(script, tmp_path):
    torchrun = Path(sys.executable).with_name("torchrun")
    command = [str(torchrun), "--nproc-per-node", "2", str(script), str(tmp_path), "20", "own"]
    subprocess.run(command, capture_output=True, env=environment(), check=True)
    check_results(tmp_path, 20)
