"""Kill one of two processes that train together, again and again, and let the run continue."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch


def fit_for_kills(out: Path, folder: Path) -> None:
    """Run a fit on two processes that Lightning Fabric starts; it is this that is killed."""
    from aleator import SimCLR
    from aleator.benchmark.rank_cases import weights_of

    torch.set_num_threads(1)
    X = np.random.default_rng(0).normal(size=(240, 2, 24)).astype(np.float32)
    model = SimCLR(
        embedding_dim=8, epochs=60, batch_size=20, devices=2, device="cpu", random_state=0,
        optimizer="sgd", learning_rate=1e-3, progress=False,
    )  # fmt: skip
    rank = os.environ.get("LOCAL_RANK", "0")
    (out.parent / f"process-{rank}").write_text(str(os.getpid()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, checkpoint=folder, checkpoint_every=7)
    if rank == "0":
        np.savez(out, **weights_of(model))  # type: ignore[arg-type]


def kill_processes(kills: int, seed: int) -> list[dict[str, Any]]:
    """Kill one of two processes at random moments, and continue.

    Parameters
    ----------
    kills : int
        How often.
    seed : int
        Seed of the moments, and of which process it is.

    Returns
    -------
    list of dict
        One record per kill, and one for the result.
    """
    drawn = random.Random(seed)
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        _run(here / "whole.npz", here / "whole")
        while len(found) < kills:
            (here / "again").mkdir(exist_ok=True)
            victim = drawn.randrange(2)
            record = _kill(here / "again.npz", here / "again", victim, drawn.uniform(0, 2))
            if record is None:  # it ended before
                _compare_archives(here)
                continue
            found.append(record)
            print(json.dumps(record), flush=True)
        if not (here / "again.npz").exists():
            _run(here / "again.npz", here / "again")
        found.append({"difference_of_weights": _compare_archives(here)})
    return found


def _compare_archives(here: Path) -> float:
    with np.load(here / "whole.npz") as whole, np.load(here / "again.npz") as again:
        return max(float(np.abs(whole[key] - again[key]).max()) for key in whole.files)


def _fit_command(out: Path, folder: Path) -> list[str]:
    command = [sys.executable, "-m", "aleator.benchmark.ranks", "--fit", str(out)]
    return [*command, "--folder", str(folder)]


def _run(out: Path, folder: Path) -> None:
    subprocess.run(_fit_command(out, folder), check=True, capture_output=True)


def _kill(out: Path, folder: Path, victim: int, wait: float) -> dict[str, Any] | None:
    """Kill a process of a run once it has written a checkpoint; None if it ended before."""
    files = [out.parent / f"process-{rank}" for rank in range(2)]
    for file in files:
        file.unlink(missing_ok=True)
    before = {path.name for path in folder.glob("checkpoint-*")}
    with subprocess.Popen(_fit_command(out, folder), stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            written = {path.name for path in folder.glob("checkpoint-*")}
            if written - before and all(file.exists() for file in files):
                break
            time.sleep(0.02)
        time.sleep(wait)
        if process.poll() is not None:
            return None
        pids = [int(file.read_text()) for file in files]
        os.kill(pids[victim], signal.SIGKILL)
        began = time.monotonic()
        while _is_running(pids[1 - victim], process) and time.monotonic() - began < 60:
            time.sleep(0.02)
        seconds = time.monotonic() - began
        _, errors = process.communicate()
    named = f"process {victim} of 2 has ended" in errors
    return {"killed": victim, "others_ended_after": round(seconds, 2), "named": named}


def _is_running(pid: int, process: subprocess.Popen[str]) -> bool:
    if pid == process.pid:
        return process.poll() is None
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
