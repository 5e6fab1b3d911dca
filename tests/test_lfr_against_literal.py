"""LFR.fit against Algorithm 1 written as a plain loop with torch.optim."""

import copy
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from aleator import LFR

ROWS, BATCH, EPOCHS, PREDICTOR_EPOCHS = 35, 10, 3, 2


def make(seed, batch_norm):
    torch.manual_seed(seed)
    encoder = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 5))
    projectors = [nn.Sequential(nn.Linear(6, 7), nn.Tanh(), nn.Linear(7, 4)) for _ in range(3)]
    if batch_norm:
        predictors = [
            nn.Sequential(
                nn.Linear(5, 9, bias=False), nn.BatchNorm1d(9), nn.ReLU(), nn.Linear(9, 4)
            )
            for _ in range(3)
        ]
    else:
        predictors = [nn.Linear(5, 4) for _ in range(3)]
    return encoder, projectors, predictors


def bbt(prediction, target, weight=0.01):
    cosine = F.normalize(target, dim=1) @ F.normalize(prediction, dim=1).T
    diagonal = torch.diagonal(cosine)
    rest = cosine - torch.diag(diagonal)
    return ((1 - diagonal) ** 2).sum() + weight * (rest**2).sum()


def infonce(prediction, target):
    cosine = F.normalize(prediction, dim=1) @ F.normalize(target, dim=1).T
    return F.cross_entropy(cosine / 0.1, torch.arange(len(cosine)))


def literal(X, modules, orders, optimizer, *, joint, loss, rate_at=None):
    """Returns the encoder and the mean loss of every pass."""
    encoder, projectors, predictors = (copy.deepcopy(part) for part in modules)
    heads = nn.ModuleList(predictors)
    if joint:
        optimizers = [optimizer([*encoder.parameters(), *heads.parameters()])]
    else:
        optimizers = [optimizer(encoder.parameters()), optimizer(heads.parameters())]
    losses, step = [], 0
    kinds = ["encoder"] if joint else ["encoder", *["predictors"] * PREDICTOR_EPOCHS]
    for number, order in enumerate(orders):
        kind = kinds[number % len(kinds)]
        encoder.train(kind == "encoder")
        heads.train()
        batch_losses = []
        for start in range(0, ROWS, BATCH):
            x = X[order[start : start + BATCH]]
            z = encoder(x)
            total = sum(
                loss(head(z), project(x).detach())
                for head, project in zip(heads, projectors, strict=True)
            ) / len(projectors)
            for each in optimizers:
                each.zero_grad()
            total.backward()
            update = optimizers[0 if kind == "encoder" else 1]
            if rate_at is not None and kind == "encoder":
                update.param_groups[0]["lr"] = rate_at(step)
                step += 1
            update.step()
            batch_losses.append(total.item())
        losses.append(sum(batch_losses) / len(batch_losses))
    return encoder.eval(), losses


def orders_for(random, passes):
    return np.stack([random.permutation(ROWS) for _ in range(passes)])


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_same_losses_and_embedding(random, joint, batch_norm, name):
    X = torch.tensor(random.normal(size=(ROWS, 6)), dtype=torch.float32)
    modules = make(0, batch_norm)
    orders = orders_for(random, EPOCHS * (1 if joint else 1 + PREDICTOR_EPOCHS))
    make_optimizer = {
        "adam": lambda p: torch.optim.Adam(p, 0.01, betas=(0.8, 0.95), weight_decay=0.01),
        "adamw": lambda p: torch.optim.AdamW(p, 0.01, betas=(0.8, 0.95), weight_decay=0.01),
        "sgd": lambda p: torch.optim.SGD(p, 0.01, momentum=0.7, weight_decay=0.01),
    }[name]
    encoder, losses = literal(X, modules, orders, make_optimizer, joint=joint, loss=bbt)
    lfr = LFR.paper(
        encoder=modules[0], projectors=modules[1], predictors=modules[2], preprocessing=None,
        training="joint" if joint else "alternating", epochs=EPOCHS,
        predictor_epochs=PREDICTOR_EPOCHS, batch_size=BATCH, optimizer=name, learning_rate=0.01,
        betas=(0.8, 0.95), momentum=0.7, weight_decay=0.01,
    ).fit(X, sample_order=orders)  # fmt: skip
    np.testing.assert_allclose([r["loss"] for r in lfr.history_], losses, rtol=1e-4)
    with torch.no_grad():
        ours, theirs = torch.tensor(lfr.transform(X)), encoder(X)
    if batch_norm:
        # A shift of the embedding is undone by the heads' normalization, so its gradient is zero
        # but for rounding, which Adam scales up to full steps: compare what is not arbitrary.
        ours, theirs = ours - ours.mean(0), theirs - theirs.mean(0)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=2e-4)


def test_cosine_schedule_with_warm_up_moves_the_encoder_only(random):
    X = torch.tensor(random.normal(size=(ROWS, 6)), dtype=torch.float32)
    modules = make(1, batch_norm=False)
    orders = orders_for(random, EPOCHS * (1 + PREDICTOR_EPOCHS))
    steps_per_pass = math.ceil(ROWS / BATCH)
    warmup, total = steps_per_pass, EPOCHS * steps_per_pass

    def rate_at(step):
        if step < warmup:
            return 0.02 * (0.01 + 0.99 * step / warmup)
        return 0.02 * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))

    encoder, losses = literal(
        X, modules, orders, lambda p: torch.optim.SGD(p, 0.02), joint=False, loss=bbt,
        rate_at=rate_at,
    )  # fmt: skip
    lfr = LFR.paper(
        encoder=modules[0], projectors=modules[1], predictors=modules[2], preprocessing=None,
        epochs=EPOCHS, predictor_epochs=PREDICTOR_EPOCHS, batch_size=BATCH, optimizer="sgd",
        momentum=0.0, learning_rate=0.02, schedule="cosine", warmup_epochs=1,
    ).fit(X, sample_order=orders)  # fmt: skip
    np.testing.assert_allclose([r["loss"] for r in lfr.history_], losses, rtol=1e-4)
    rates = [r["learning_rates"] for r in lfr.history_ if r["phase"] == "predictors"]
    assert {rate["predictor"] for rate in rates} == {0.02}
    with torch.no_grad():
        np.testing.assert_allclose(lfr.transform(X), encoder(X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("infonce", infonce),
        ("cosine", lambda p, t: 1 - F.cosine_similarity(p, t).mean()),
        ("mse", F.mse_loss),
        (lambda p, t: (p - t).abs().mean(), lambda p, t: (p - t).abs().mean()),
    ],
    ids=["infonce", "cosine", "mse", "function"],
)
def test_other_losses(random, name, loss):
    X = torch.tensor(random.normal(size=(ROWS, 6)), dtype=torch.float32)
    modules = make(2, batch_norm=False)
    orders = orders_for(random, EPOCHS * (1 + PREDICTOR_EPOCHS))
    _, losses = literal(
        X, modules, orders, lambda p: torch.optim.Adam(p, 0.01), joint=False, loss=loss
    )
    lfr = LFR.paper(
        encoder=modules[0], projectors=modules[1], predictors=modules[2], preprocessing=None,
        epochs=EPOCHS, predictor_epochs=PREDICTOR_EPOCHS, batch_size=BATCH, learning_rate=0.01,
        loss=name,
    ).fit(X, sample_order=orders)  # fmt: skip
    np.testing.assert_allclose([r["loss"] for r in lfr.history_], losses, rtol=1e-4)


def test_counting_in_steps(random):
    """Each encoder step is followed by `predictor_epochs` predictor steps, each on its own pass."""
    X = torch.tensor(random.normal(size=(ROWS, 6)), dtype=torch.float32)
    modules = make(3, batch_norm=False)
    orders = orders_for(random, 5)
    encoder, projectors, predictors = (copy.deepcopy(part) for part in modules)
    heads = nn.ModuleList(predictors)
    update = {
        "encoder": torch.optim.SGD(encoder.parameters(), 0.01),
        "predictors": torch.optim.SGD(heads.parameters(), 0.01),
    }
    waiting = {"encoder": [], "predictors": []}
    passes = iter(orders)
    for _ in range(6):
        for kind in ("encoder", "predictors", "predictors"):
            if not waiting[kind]:
                order = next(passes)
                waiting[kind] = [order[i : i + BATCH] for i in range(0, ROWS, BATCH)]
            x = X[waiting[kind].pop(0)]
            z = encoder(x)
            loss = sum(
                bbt(head(z), project(x).detach())
                for head, project in zip(heads, projectors, strict=True)
            )
            for each in update.values():
                each.zero_grad()
            (loss / 3).backward()
            update[kind].step()
    lfr = LFR.paper(
        encoder=modules[0], projectors=modules[1], predictors=modules[2], preprocessing=None,
        steps=6, predictor_epochs=2, batch_size=BATCH, optimizer="sgd", momentum=0.0,
        learning_rate=0.01, epochs=1,
    ).fit(X, sample_order=orders)  # fmt: skip
    with torch.no_grad():
        np.testing.assert_allclose(lfr.transform(X), encoder(X), rtol=1e-4, atol=1e-5)
    steps = {"encoder": 0, "predictors": 0}
    for record in lfr.history_:
        steps[record["phase"]] += record["steps"]
    assert steps == {"encoder": 6, "predictors": 12}
    assert lfr.plan_.where("embedding") == "recomputed"


def test_too_few_rows_of_sample_order_are_named(random):
    X = random.normal(size=(ROWS, 6))
    orders = orders_for(random, 2)
    with pytest.raises(ValueError, match="sample_order has 2 rows"):
        LFR.paper(epochs=2, n_projectors=1, embedding_dim=4).fit(X, sample_order=orders)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (np.zeros(5, dtype=int), "one row of sample indices"),
        (np.zeros((2, 5)), "array of integers"),
        (np.full((2, 5), ROWS), f"rows 0 to {ROWS - 1}"),
        (np.full((2, 5), -1), "indices from -1"),
    ],
)
def test_a_wrong_sample_order_is_refused(random, order, message):
    with pytest.raises(ValueError, match=message):
        LFR.paper(epochs=1).fit(random.normal(size=(ROWS, 6)), sample_order=order)
