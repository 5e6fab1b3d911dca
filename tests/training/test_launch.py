"""Starting processes: wrong parameters, missing packages, SLURM, functions.

`tests/test_documents.py` starts scripts, by themselves and with torchrun.
"""

import multiprocessing
import os
import sys

import numpy as np
import pytest
import torch

from aleator import LFR
from aleator.benchmark import rank_cases as proofs
from aleator.exceptions import SeparateModelsWarning
from aleator.training import launch
from aleator.training.launch import ProcessChoice, started_processes
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


def test_a_process_that_trains_alone_though_others_were_started_says_so(monkeypatch, random):
    for name, value in {"TORCHELASTIC_RUN_ID": "x", "WORLD_SIZE": "3"}.items():
        monkeypatch.setenv(name, value)
    lfr = LFR(steps=2, n_projectors=2, embedding_dim=4, progress=False, device="cpu")
    with pytest.warns(SeparateModelsWarning, match="3 processes were started together, but devic"):
        lfr.fit(random.normal(size=(60, 5)))


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
