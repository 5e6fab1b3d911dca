"""Fixtures, and the folder of golden values where there is one."""

import os
from pathlib import Path

# Some virtual machines announce AMX but do not support it, and torch's bfloat16 product then ends
# with an illegal instruction. This must be set before torch is first used.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

import numpy as np
import pytest
import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # kernels then run on the CPU

SHARED = Path(os.environ.get("ALEATOR_SHARED", Path(__file__).parents[2] / "shared"))


def pytest_configure(config):
    # One process per core: more threads would wait for each other.
    if os.environ.get("PYTEST_XDIST_WORKER"):
        torch.set_num_threads(1)


@pytest.fixture(scope="session")
def golden():
    folder = SHARED / "golden"
    if not folder.is_dir():
        pytest.skip("no golden values: there is no folder 'shared' beside the repository")

    def read(name):
        with np.load(folder / name) as file:
            return dict(file)

    return read


@pytest.fixture(scope="session")
def data_folder():
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("no real data: there is no folder 'shared' beside the repository")
    return folder


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory):
    """Keep the cache of data sets out of the user's folder."""
    os.environ["ALEATOR_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def random():
    return np.random.default_rng(0)


@pytest.fixture
def table(random):
    return random.normal(size=(60, 5)).astype(np.float32)


@pytest.fixture
def series(random):
    return random.normal(size=(40, 2, 24)).astype(np.float32)


@pytest.fixture
def images(random):
    return random.random((24, 3, 12, 10), dtype=np.float32)
