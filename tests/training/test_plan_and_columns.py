"""Where columns go, and that a run is the same wherever they are."""

import dataclasses

import numpy as np
import pytest
import torch

from aleator.estimators import trained
from aleator.training.columns import Staged
from aleator.training.plan import DEVICE, HOST, RECOMPUTED, ColumnNeed, place_columns
from tests.small import small_lfr

NEEDS = [
    ColumnNeed("input", rows=1000, row_shape=(25,), reads=2, derived=False),  # 100 kB
    ColumnNeed("targets", rows=1000, row_shape=(5, 10), reads=6, derived=True),  # 200 kB
    ColumnNeed("embedding", rows=1000, row_shape=(10,), reads=5, derived=True),  # 40 kB
]


def where(device_limit, host_limit, needs=NEEDS):
    return {p.name: p.where for p in place_columns(needs, device_limit, host_limit)}


def test_everything_fits():
    assert set(where(400_000, 0).values()) == {DEVICE}


@pytest.mark.parametrize(
    ("device", "host", "expected"),
    [
        (340_000, 10**9, (DEVICE, DEVICE, DEVICE)),
        (339_999, 10**9, (HOST, DEVICE, DEVICE)),
        (240_000, 10**9, (HOST, DEVICE, DEVICE)),
        (199_999, 10**9, (DEVICE, HOST, DEVICE)),
        (50_000, 10**9, (HOST, HOST, DEVICE)),
        (0, 10**9, (HOST, HOST, HOST)),
        (0, 100_000, (HOST, RECOMPUTED, HOST)),
        (0, 0, (HOST, RECOMPUTED, RECOMPUTED)),
        (0, None, (DEVICE, RECOMPUTED, RECOMPUTED)),
        (50_000, None, (DEVICE, RECOMPUTED, DEVICE)),
    ],
)
def test_what_does_not_fit_moves_down(device, host, expected):
    assert tuple(where(device, host).values()) == expected


def test_a_column_that_would_be_stale_is_never_kept():
    stale = [NEEDS[0], NEEDS[1], dataclasses.replace(NEEDS[2], never_kept=True)]
    assert where(10**9, 10**9, stale)["embedding"] == RECOMPUTED


def run_with(monkeypatch, X, places, **changes):
    """Fit with columns placed as told, though the device is the CPU."""
    original = trained.make_plan

    def placed(*arguments, **named):
        plan = original(*arguments, **named)
        placements = tuple(
            dataclasses.replace(place, where=places.get(place.name, place.where))
            for place in plan.placements
        )
        return dataclasses.replace(plan, placements=placements)

    monkeypatch.setattr(trained, "make_plan", placed)
    return small_lfr(predictor_epochs=2, epochs=3, **changes).fit(X)


@pytest.mark.parametrize("data", ["table", "series", "images"])
@pytest.mark.parametrize(
    "places",
    [
        {"input": HOST},
        {"targets": HOST},
        {"embedding": HOST},
        {"input": HOST, "targets": HOST, "embedding": HOST},
        {"targets": RECOMPUTED},
        {"embedding": RECOMPUTED},
        {"input": HOST, "targets": RECOMPUTED, "embedding": RECOMPUTED},
    ],
    ids=lambda places: "-".join(f"{name}@{where}" for name, where in places.items()),
)
def test_a_run_is_the_same_wherever_columns_live(monkeypatch, data, places, request):
    X = request.getfixturevalue(data)
    # Small steps: a ResNet on 24 tiny images would turn another rounding into another run.
    expected = small_lfr(predictor_epochs=2, epochs=3, learning_rate=1e-5).fit(X)
    lfr = run_with(monkeypatch, X, places, learning_rate=1e-5)
    for name, place in places.items():
        assert lfr.plan_.where(name) == place
    losses, wanted = ([r["loss"] for r in run.history_] for run in (lfr, expected))
    np.testing.assert_allclose(losses, wanted, rtol=1e-4)
    np.testing.assert_allclose(lfr.transform(X), expected.transform(X), rtol=1e-2, atol=1e-3)


def test_a_small_memory_limit_is_kept(table):
    needed = 60 * 2 * 8 * 4  # targets
    assert small_lfr(memory_limit=needed).fit(table).plan_.where("targets") == DEVICE
    tight = small_lfr(memory_limit=needed - 1).fit(table)
    assert tight.plan_.where("targets") == RECOMPUTED
    assert tight.plan_.where("embedding") == DEVICE
    assert "recomputed" in str(tight.plan_)
    full = small_lfr().fit(table)
    np.testing.assert_allclose(
        [r["loss"] for r in tight.history_], [r["loss"] for r in full.history_], rtol=1e-5
    )


def test_staging_brings_the_right_rows():
    column = Staged(torch.arange(20.0).view(10, 2), torch.device("cpu"))
    for index in ([3, 1], [9, 0], [4, 4], [7]):
        column.stage(torch.tensor(index))
        rows = column.rows(torch.tensor(index))
        assert rows[:, 0].tolist() == [2.0 * i for i in index]


def test_a_pass_is_charged_with_what_was_computed_for_it(table):
    import time

    from torch import nn

    class Slow(nn.Linear):
        def forward(self, x):
            time.sleep(0 if self.training else 0.1)
            return super().forward(x)

    lfr = small_lfr(encoder=Slow(5, 8), predictor_epochs=2).fit(table)
    seconds = [r["seconds"] for r in lfr.history_ if r["phase"] == "predictors"]
    assert seconds[0] > 0.1, "the first predictor pass waits for the embedding"
    assert seconds[1] < 0.1


def test_in_the_predictor_phase_the_encoder_does_not_run(table):
    from torch import nn

    calls = {"train": 0, "eval": 0, "projector": 0}

    class Counting(nn.Linear):
        def forward(self, x):
            calls["train" if self.training else "eval"] += 1
            return super().forward(x)

    class Projector(nn.Linear):
        def forward(self, x):
            calls["projector"] += 1
            return super().forward(x)

    lfr = small_lfr(
        encoder=Counting(5, 8),
        projectors=[Projector(5, 8), Projector(5, 8)],
        n_candidates=None,
        epochs=3,
        predictor_epochs=5,
    ).fit(table)
    steps = 4  # 60 rows in batches of 16
    assert calls["train"] == 3 * steps
    # Twice a round, over all rows and over a sample of them; and once to learn its width.
    assert calls["eval"] == 2 * 3 + 1
    assert calls["projector"] == 2 + 2 + 1  # selection, targets, and once to learn the width
    assert len(lfr.history_) == 3 * 6
