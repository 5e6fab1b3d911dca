"""Whole training runs of the authors' program, reproduced through LFR.paper(…).fit itself."""

import numpy as np
import pytest
import torch
from torch import nn

from aleator import LFR

TOLERANCE = 1e-4


def loaded(module, run, prefix):
    state = {
        k.removeprefix(prefix): torch.tensor(v) for k, v in run.items() if k.startswith(prefix)
    }
    module.load_state_dict(state)
    return module


def check(lfr, run):
    """Losses relative; tensors relative to their largest entry, as single precision allows."""
    losses = {
        phase: [record["loss"] for record in lfr.history_ if record["phase"] == phase]
        for phase in ("encoder", "predictors")
    }
    np.testing.assert_allclose(losses["encoder"], run["encoder_losses"], rtol=TOLERANCE)
    np.testing.assert_allclose(losses["predictors"], run["predictor_losses"], rtol=TOLERANCE)
    found = {"final_embedding": lfr.transform(run["X"])}
    for name, value in lfr.encoder_.state_dict().items():
        found[f"final/encoder/{name}"] = value.numpy()
    for k, predictor in enumerate(lfr.predictors_):
        for name, value in predictor.state_dict().items():
            found[f"final/predictor{k}/{name}"] = value.numpy()
    expected = {name for name in run if name.startswith("final")}
    assert set(found) == expected
    for name, value in found.items():
        size = np.abs(run[name]).max()
        np.testing.assert_allclose(value, run[name], rtol=0, atol=TOLERANCE * size, err_msg=name)


def settings_of(run, encoder, projectors, predictors):
    """The modules with the run's starting weights, and what the file says of the run."""
    return {
        "encoder": loaded(encoder, run, "init/encoder/"),
        "projectors": [loaded(p, run, f"init/projector{k}/") for k, p in enumerate(projectors)],
        "predictors": [loaded(p, run, f"init/predictor{k}/") for k, p in enumerate(predictors)],
        "preprocessing": None,
        "epochs": int(run["epochs"]),
        "predictor_epochs": int(run["predictor_epochs"]),
        "batch_size": int(run["batch_size"]),
        "off_diagonal_weight": float(run["lambda"]),
    }


def test_mlp_with_adam(golden):
    run = golden("trajectory_mlp_adam.npz")
    encoder = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 8))
    projectors = [nn.Sequential(nn.Linear(10, 12), nn.ReLU(), nn.Linear(12, 8)) for _ in range(3)]
    predictors = [nn.Linear(8, 8) for _ in range(3)]
    settings = settings_of(run, encoder, projectors, predictors)
    lfr = LFR.paper(**settings, optimizer="adam", learning_rate=1e-2, betas=(0.9, 0.99))
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    lfr.fit(run["X"], sample_order=run["sample_order"])
    check(lfr, run)
    for name, value in encoder.state_dict().items():
        assert torch.equal(value, before[name]), "a module that was given must not change"


@pytest.mark.parametrize("memory_limit", [None, 0])
def test_convolutions_with_batch_norm_and_sgd(golden, memory_limit):
    run = golden("trajectory_conv_bn_sgd.npz")
    encoder = nn.Sequential(
        nn.Conv1d(3, 8, 5, padding=2, bias=False), nn.BatchNorm1d(8), nn.ReLU(), nn.MaxPool1d(2),
        nn.Flatten(), nn.Linear(80, 8),
    )  # fmt: skip
    projectors = [
        nn.Sequential(nn.Conv1d(3, 4, 5, padding=2), nn.ReLU(), nn.Flatten(), nn.Linear(80, 8))
        for _ in range(2)
    ]
    predictors = [
        nn.Sequential(nn.Linear(8, 6, bias=False), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 8))
        for _ in range(2)
    ]
    lfr = LFR.paper(
        **settings_of(run, encoder, projectors, predictors),
        optimizer="sgd",
        learning_rate=0.05,
        momentum=0.9,
        weight_decay=5e-4,
        memory_limit=memory_limit,
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(2)  # as the authors' run: batches of two rows magnify rounding
    try:
        lfr.fit(run["X"], sample_order=run["sample_order"])
        check(lfr, run)
    finally:
        torch.set_num_threads(threads)
    assert lfr.plan_.where("targets") == ("recomputed" if memory_limit == 0 else "device")
