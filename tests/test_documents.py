"""Every example in the documents runs."""

import doctest
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import aleator
from aleator import LFR

DOCS = Path(__file__).parents[1] / "docs"
DOCUMENTS = [
    "audio", "graphs", "images", "large-data", "series", "several-parts", "tables", "text",
    "your-own",
]  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    result = doctest.testfile(str(DOCS / f"{name}.md"), module_relative=False, optionflags=options)
    assert result.failed == 0
    assert result.attempted > 5


# How docs/distributed.md starts its script, without the name of the script.
STARTS = {
    "python": [sys.executable],
    "torchrun": [str(Path(sys.executable).with_name("torchrun")), "--nproc-per-node", "2"],
}


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(0).normal(size=(120, 5)).astype(np.float32)


@pytest.fixture(scope="module")
def embedding(table):
    return LFR(batch_size=256, random_state=0, device="cpu", progress=False).fit_transform(table)


def script_of_distributed(table, folder, devices="devices=2"):
    """Write the script of docs/distributed.md and its data; return how to start it."""
    document = (DOCS / "distributed.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```python\n(# train\.py\n.*?)```", document, re.DOTALL)
    assert "devices=2" in script
    script = script.replace("devices=2", devices) + 'lfr.transform_to(X, "embedding")\n'
    (folder / "train.py").write_text(script, encoding="utf-8")
    np.save(folder / "X.npy", table)
    # Without the GPU that the machine may have: there is only one.
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return {"cwd": folder, "env": variables}


@pytest.mark.parametrize("start", STARTS)
def test_the_script_for_several_devices(start, table, embedding, tmp_path):
    place = script_of_distributed(table, tmp_path)
    subprocess.run([*STARTS[start], "train.py"], **place, check=True, capture_output=True)
    model = aleator.load(tmp_path / "model")
    assert model.devices == 2
    np.testing.assert_allclose(model.transform(table), embedding, atol=0.01)
    assert list((tmp_path / "runs" / "1").glob("checkpoint-*"))
    written = pq.read_table(tmp_path / "embedding").to_pandas().to_numpy()
    np.testing.assert_allclose(written, model.transform(table), atol=1e-6)


def test_the_script_for_several_machines(table, embedding, tmp_path):
    """Two machines, which both are this one."""
    place = script_of_distributed(table, tmp_path, devices="devices=1, num_nodes=2")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    meeting = ["--nnodes", "2", "--master-addr", "127.0.0.1", "--master-port", port]
    one_process = [STARTS["torchrun"][0], *meeting, "--nproc-per-node", "1"]
    commands = [[*one_process, "--node-rank", rank, "train.py"] for rank in "01"]
    machines = [subprocess.Popen(command, **place) for command in commands]
    assert [machine.wait(timeout=300) for machine in machines] == [0, 0]
    model = aleator.load(tmp_path / "model")
    assert (model.devices, model.num_nodes) == (1, 2)
    np.testing.assert_allclose(model.transform(table), embedding, atol=0.01)
