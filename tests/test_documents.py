"""Every example in the documents runs."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
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


@pytest.mark.parametrize("start", STARTS)
def test_the_script_for_several_devices(start, table, embedding, tmp_path):
    document = (DOCS / "distributed.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```python\n(# train\.py\n.*?)```", document, re.DOTALL)
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    np.save(tmp_path / "X.npy", table)
    # Without the GPU that the machine may have: there is only one.
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [*STARTS[start], "train.py"]
    subprocess.run(command, cwd=tmp_path, env=variables, check=True, capture_output=True)
    model = aleator.load(tmp_path / "model")
    assert model.devices == 2
    np.testing.assert_allclose(model.transform(table), embedding, atol=0.01)
    assert list((tmp_path / "runs" / "1").glob("checkpoint-*"))
