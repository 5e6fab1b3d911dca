"""Train a method in a process of its own: whole, up to a step, or from a saved state.

python -m tests.training.resume METHOD STOP STATE OUT: with STOP 0 the run is whole; with another
number it stops after so many steps and writes the trainer's state to STATE; with "resume" it
continues from STATE. The weights and the history of a run that ended are written to OUT.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch

from aleator.estimators.trained import TrainedLearner
from tests.small import small, small_lfr


class StoppedError(Exception):
    pass


def run(name, stop, state, out):
    make_trainer = TrainedLearner._make_trainer
    trainers = []

    def make(self, *arguments):
        trainer, monitor = make_trainer(self, *arguments)
        if stop == "resume":
            trainer.load_state_dict(torch.load(state, weights_only=True))

        def save_and_stop(trainer):
            if trainer.steps == int(stop):
                torch.save(trainer.state_dict(), state)
                raise StoppedError

        if stop not in ("0", "resume"):
            trainer._on_step = save_and_stop
        trainers.append(trainer)
        return trainer, monitor

    TrainedLearner._make_trainer = make
    X = np.random.default_rng(0).normal(size=(40, 2, 24)).astype(np.float32)
    settings = {"schedule": "cosine", "warmup_epochs": 1, "epochs": 4}
    if name == "LFR":
        settings |= {"predictor_epochs": 2, "predictor": "mlp"}
    if name == "SCARF":
        X = X[:, 0]
    model = small_lfr(**settings) if name == "LFR" else small(name, **settings)
    try:
        model.fit(X, np.arange(40) % 2)
    except StoppedError:
        return
    weights = {
        f"{module}/{key}": value.numpy()
        for module, network in trainers[0]._method.modules.items()
        for key, value in network.state_dict().items()
    }
    np.savez(out, **weights)
    history = [{k: v for k, v in r.items() if k != "seconds"} for r in model.history_]
    Path(out).with_suffix(".json").write_text(json.dumps(history))


if __name__ == "__main__":
    torch.set_num_threads(1)
    run(*sys.argv[1:])
