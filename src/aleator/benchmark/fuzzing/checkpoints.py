"""Fuzzing of checkpoints: of a run that was stopped, so that all of its state is restored."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import nn

import aleator
from aleator.benchmark.fuzzing.mutations import (
    mutate_file,
    mutate_sealed,
    mutate_sealed_json,
)
from aleator.estimators.run_record import open_run
from aleator.inputs import RawData, read
from aleator.training.checkpoint import RUN, STATE, TENSORS, CheckpointFolder
from aleator.training.micro_batches import micro_batches

# A fit takes as long as ten readings of its checkpoint, but checks more of it.
_SHARE_OF_FITS = 0.2
# Within the second pass of two, in which the order of samples and all moments are of use.
_STEPS = 8


class _StoppedError(Exception):
    pass


def make_stopped_run(folder: Path) -> None:
    """Write the checkpoints of a run that was stopped in the middle.

    Parameters
    ----------
    folder : Path
        An empty folder.
    """
    layer = nn.Linear(1, 1)
    with micro_batches([layer], 1):
        layer(torch.zeros(2, 1))  # imports what only some of the changed plans need
    write = CheckpointFolder.write

    def write_and_stop(self: CheckpointFolder, state: dict[str, Any], steps: int) -> None:
        write(self, state, steps)
        if steps == _STEPS:
            raise _StoppedError

    with mock.patch.object(CheckpointFolder, "write", write_and_stop):
        try:
            _continue(folder, every=1)
        except _StoppedError:
            return
    raise RuntimeError(f"the run has no step {_STEPS}")


def mutate_run(folder: Path, draw: random.Random) -> None:
    """Change the record of a run, or a checkpoint, mostly such that checksums fit.

    Parameters
    ----------
    folder : Path
        The folder of the run.
    draw : random.Random
        Source of random numbers.
    """
    *earlier, last = sorted(folder.glob("checkpoint-*"))
    part = last if draw.random() < 0.8 else earlier[-1]
    kind = draw.random()
    if kind < 0.2:
        mutate_sealed_json(folder / RUN, draw)
    elif kind < 0.7:
        mutate_sealed(part, STATE, part / TENSORS, draw)
    else:
        mutate_file(draw.choice([folder / RUN, part / STATE, part / TENSORS]), draw)


def read_run(folder: Path, draw: random.Random) -> None:
    """Continue a run, or only read what it would continue from.

    Parameters
    ----------
    folder : Path
        The folder of the run.
    draw : random.Random
        Source of random numbers.
    """
    if draw.random() < _SHARE_OF_FITS:
        _continue(folder)
        return
    with open_run(_model(), _data(), None, None, folder, 10**6, resume=True) as run:
        assert run.checkpoints is not None
        run.checkpoints.latest()


def _continue(folder: Path, every: int = 10**6) -> None:
    _model().fit(_data().source.gather(np.arange(40)), checkpoint=folder, checkpoint_every=every)


def _data() -> RawData:
    return read(np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32))


def _model() -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # another encoder would be another run
        encoder = nn.Linear(3, 4)  # small, so that most of a file is not weights
    return aleator.LFR.paper(  # whose training has two phases
        encoder=encoder, n_projectors=2, n_candidates=2, epochs=2, predictor_epochs=1,
        batch_size=16, embedding_dim=4, random_state=0, progress=False, device="cpu",
    )  # fmt: skip
