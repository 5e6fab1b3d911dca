"""Selection gives the same indices whatever instructions and threads the CPU uses."""

import json
import os
import subprocess
import sys

import pytest
import torch

SCRIPT = """
import json, sys
import numpy as np, torch
torch.set_num_threads(int(sys.argv[1]))
from aleator import LFR
from aleator.diversity import projector_kernel, greedy_map
random = np.random.default_rng(0)
chosen = {}
for name, shape, settings in [
    ("table", (100, 20), {}),
    ("series", (40, 3, 32), {}),
    ("tcn", (24, 3, 16), {"encoder": "tcn"}),
    ("image", (24, 3, 10, 10), {"projector_init": "beta", "weight_dropout": 0.4}),
]:
    X = random.normal(size=shape).astype(np.float32)
    lfr = LFR.paper(epochs=0, embedding_dim=32, n_projectors=6, random_state=7, **settings).fit(X)
    chosen[name] = lfr.selected_projectors_.tolist()
outputs = torch.from_numpy(random.normal(size=(60, 64, 16)))
chosen["outputs"] = greedy_map(projector_kernel(outputs.float()), 30).tolist()
print(torch.backends.cpu.get_cpu_capability(), json.dumps(chosen), sep="|")
"""


def run(capability, threads):
    environment = dict(os.environ)
    environment.pop("ATEN_CPU_CAPABILITY", None)
    if capability is not None:
        environment["ATEN_CPU_CAPABILITY"] = capability
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(threads)],
        env=environment, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    used, chosen = result.stdout.strip().splitlines()[-1].split("|")
    return used, json.loads(chosen)


@pytest.mark.skipif(
    torch.backends.cpu.get_cpu_capability() == "DEFAULT", reason="this CPU has one set only"
)
def test_selection_does_not_depend_on_the_instruction_set_or_the_threads():
    used, expected = run(None, 1)
    assert all(len(set(chosen)) == len(chosen) for chosen in expected.values())
    seen = {used}
    for capability, threads in [(None, 4), ("default", 1), ("default", 2), ("avx2", 4)]:
        used, chosen = run(capability, threads)
        seen.add(used)
        assert chosen == expected, (capability, threads)
    assert "DEFAULT" in seen
    assert len(seen) >= 2
