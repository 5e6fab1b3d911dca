"""Starting processes: wrong parameters, missing packages, SLURM, functions.

`tests/test_documents.py` starts scripts, by themselves and with torchrun.
"""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from aleator import LFR
from aleator.benchmark import rank_cases as proofs
from aleator.training import launch
from aleator.training.launch import ProcessChoice
from aleator.training.presence import started_processes
from tests.training.process_pool import ProcessPool

SETTINGS = {"rows": 50, "batch": 30, "steps": 5}
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


@pytest.fixture(scope="module")
def launching():
    """Processes that import what starts processes, which those of `pool` must not have done."""
    pool = ProcessPool(2, daemon=False)
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def alone():
    return proofs.fit_case("DIET, table", 1, **SETTINGS)


@pytest.mark.parametrize("num_nodes", [1, 2])
def test_slurm(launching, alone, num_nodes):
    results = launching.run(2, fit_in_slurm, num_nodes, group=False)
    assert proofs.difference(alone, results[0])[0] < 1e-5
    assert proofs.difference(*results) == (0, 0)


def fit_in_slurm(num_nodes):
    """Two tasks, on one machine or on two, which both are this one."""
    rank = multiprocessing.current_process().name.rpartition("-")[2]
    node, task = (rank, "0") if num_nodes == 2 else ("0", rank)
    variables = {
        "SLURM_NTASKS": "2", "SLURM_NTASKS_PER_NODE": str(2 // num_nodes), "SLURM_JOB_ID": "17",
        "SLURM_JOB_NAME": "train", "SLURM_NODELIST": "127.0.0.1", "SLURM_NNODES": str(num_nodes),
        "SLURM_NODEID": node, "SLURM_PROCID": rank, "SLURM_LOCALID": task,
    }  # fmt: skip
    os.environ.update(variables)
    try:
        return proofs.fit_case("DIET, table", 2, **SETTINGS, num_nodes=num_nodes)
    finally:
        assert "lightning_fabric" in sys.modules
        for name in variables:
            del os.environ[name]


def test_processes_for_a_fit_only(launching, alone):
    (result,) = launching.run(1, fit_in_forks, group=False)
    assert proofs.difference(alone, result)[0] < 1e-5


def fit_in_forks():
    os.environ.pop("MASTER_PORT")  # Lightning finds a free one
    return proofs.fit_case("DIET, table", 2, **SETTINGS, strategy="ddp_fork")


def start_by_torchrun(folder, script):
    """Run a script in two processes; return the status and what both wrote."""
    (folder / "train.py").write_text(
        "import os\nimport numpy as np\nfrom aleator import LFR\n"
        "from aleator.training import presence\n"
        "presence._SECONDS_ALONE = 1.0\nrank = int(os.environ['RANK'])\n"
        "X = np.random.default_rng(0).normal(size=(60, 5))\n"
        "settings = dict(steps=2, n_projectors=2, embedding_dim=4, progress=False, device='cpu')\n"
        f"{script}"
    )
    torchrun = Path(sys.executable).with_name("torchrun")
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [str(torchrun), "--standalone", "--nproc-per-node", "2", "train.py"]
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=240, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_processes_that_train_a_model_each_say_so_and_may_join_later(tmp_path):
    status, written = start_by_torchrun(
        tmp_path,
        "import time\n"
        "LFR(**settings).fit(X)\n"
        "if rank == 1: time.sleep(3)\n"
        "LFR(devices=2, **settings).fit(X)\n"
        "if rank == 1: time.sleep(3)\n"
        "LFR(devices=2, **settings).fit(X)\n",
    )
    assert status == 0, written
    assert written.count("SeparateModelsWarning: 2 processes were started together") == 2


@pytest.mark.parametrize("before", ["", "LFR(devices=2, **settings).fit(X)\n"])
def test_a_process_that_trains_alone_is_named_by_one_that_waits(tmp_path, before):
    # It is still there when the first process ends.
    wait = "if rank == 1: __import__('time').sleep(8)\n"
    status, written = start_by_torchrun(
        tmp_path, f"{before}LFR(devices=2 - rank, **settings).fit(X)\n{wait}"
    )
    assert status != 0
    assert "ProcessError: process 1 of 2 trains a model of its own, with devices=1" in written


@pytest.mark.parametrize(
    ("variables", "number"),
    [
        ({}, 1),
        ({"SLURM_NTASKS": "8", "SLURM_JOB_NAME": "train", "SLURM_PROCID": "0"}, 1),  # no srun
        ({"SLURM_STEP_NUM_TASKS": "8", "SLURM_JOB_NAME": "train"}, 8),
        ({"SLURM_STEP_NUM_TASKS": "8", "SLURM_JOB_NAME": "interactive"}, 1),
        ({"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "3"}, 3),
        ({"WORLD_SIZE": "3"}, 1),
    ],
)
def test_how_many_processes_were_started(monkeypatch, variables, number):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert started_processes() == number
