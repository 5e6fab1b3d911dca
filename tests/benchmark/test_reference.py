"""The plain PyTorch loop that the trainer is compared with."""

import numpy as np
import pytest
import torch
from torch import nn

from aleator import LFR
from aleator.benchmark import reference

ROWS, FEATURES, WIDTH, EPOCHS = 400, 12, 16, 5
CPU = torch.device("cpu")


@pytest.fixture
def X(random):
    return random.normal(size=(ROWS, FEATURES)).astype(np.float32)


def lfr(**parameters):
    return LFR.paper(
        epochs=EPOCHS, n_projectors=3, embedding_dim=WIDTH, batch_size=50, random_state=0,
        preprocessing=None, progress=False, **parameters,
    )  # fmt: skip


@pytest.mark.parametrize(
    "schedule",
    [
        {},
        {"schedule": "cosine", "predictor_learning_rate": 3e-3},
        {"schedule": "cosine", "warmup_epochs": 2},
        {"warmup_epochs": 2},
    ],
)
def test_reference_and_estimator_have_the_same_losses(X, random, schedule):
    """With the same networks and sample order nothing is left to chance but rounding."""
    torch.manual_seed(0)
    settings = lfr(
        encoder=nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, WIDTH)),
        projectors=[nn.Sequential(nn.Linear(FEATURES, WIDTH), nn.Tanh()) for _ in range(3)],
        predictors=[nn.Linear(WIDTH, WIDTH) for _ in range(3)],
        **schedule,
    )
    orders = np.stack([random.permutation(ROWS) for _ in range(2 * EPOCHS)])
    run = reference.train_literally(settings, X, CPU, sample_order=orders)
    history = settings.fit(X, sample_order=orders).history_
    for phase, losses in (("encoder", run.encoder_losses), ("predictors", run.predictor_losses)):
        expected = [record["loss"] for record in history if record["phase"] == phase]
        assert len(losses) == EPOCHS
        np.testing.assert_allclose(losses, expected, rtol=1e-4)
    with torch.no_grad():
        embedding = run.encoder(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(embedding, settings.transform(X), rtol=1e-3, atol=1e-4)


def test_reference_draws_selects_and_trains(X):
    run = reference.train_literally(lfr(), X, CPU)
    assert run.encoder_losses[-1] < 0.8 * run.encoder_losses[0]
    assert len(run.encoder_losses) == len(run.predictor_losses) == len(run.seconds) == EPOCHS


def test_selection_does_not_use_up_the_sample_order(X, random):
    orders = np.stack([random.permutation(ROWS) for _ in range(2 * EPOCHS)])
    run = reference.train_literally(lfr(), X, CPU, sample_order=orders)
    assert len(run.encoder_losses) == EPOCHS


@pytest.mark.parametrize("encoder", ["cnn", "tcn"])
def test_kinds_of_networks_follow_the_encoder(encoder, random, monkeypatch):
    """Where projectors and predictors are left at "auto", both programs build the same ones."""
    X = random.normal(size=(40, 2, 24)).astype(np.float32)
    settings = LFR.paper(
        encoder=encoder, epochs=1, predictor_epochs=1, n_projectors=2, embedding_dim=8,
        batch_size=20, random_state=0, progress=False, device="cpu",
    )  # fmt: skip
    built = {}

    def kept(name):
        build = getattr(reference, name)

        def call(*arguments):
            built[name] = list(build(*arguments))
            return nn.ModuleList(built[name])

        return call

    for name in ("_projectors", "_predictors"):
        monkeypatch.setattr(reference, name, kept(name))
    reference.train_literally(settings, X, CPU)
    settings.fit(X)
    for name in ("projectors", "predictors"):
        ours = [shapes_of(network) for network in getattr(settings, f"{name}_")]
        assert ours == [shapes_of(network) for network in built[f"_{name}"]]


def shapes_of(network):
    return {key: value.shape for key, value in network.state_dict().items()}
