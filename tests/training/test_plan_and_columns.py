"""Where columns are kept, and that a run does not depend on it."""

import dataclasses
import time
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from torch import nn

from aleator.estimators import trained
from aleator.inputs import ArraySource
from aleator.training import plan as plan_module
from aleator.training.columns import ColumnStore, HostCache, ResidentColumn, StagedColumn
from aleator.training.host_rows import SourceRows, TensorRows
from aleator.training.method import DerivedColumn
from aleator.training.plan import (
    DEVICE,
    HOST,
    RECOMPUTED,
    STREAMED,
    ColumnNeed,
    Placement,
    Plan,
    place_columns,
)
from tests.small import small_lfr

CPU = torch.device("cpu")
NEEDS = [
    ColumnNeed("input", n_samples=1000, sample_shape=(25,), reads=2, origin=DEVICE),  # 100 kB
    ColumnNeed("targets", n_samples=1000, sample_shape=(5, 10), reads=6),  # 200 kB
    ColumnNeed("embedding", n_samples=1000, sample_shape=(10,), reads=5),  # 40 kB
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


@pytest.mark.parametrize("origin", [DEVICE, HOST, STREAMED])
def test_a_given_column_stays_where_it_is_if_the_device_is_the_host(origin):
    needs = [dataclasses.replace(NEEDS[0], origin=origin), *NEEDS[1:]]
    assert where(10**9, None, needs)["input"] == origin
    assert where(0, None, needs)["input"] == origin


def test_a_streamed_column_is_copied_to_the_device_or_stays_streamed():
    needs = [dataclasses.replace(NEEDS[0], origin=STREAMED), *NEEDS[1:]]
    assert where(10**9, 10**9, needs)["input"] == DEVICE
    assert where(0, 10**9, needs)["input"] == STREAMED


def test_a_column_that_would_be_stale_is_never_kept():
    stale = [NEEDS[0], NEEDS[1], dataclasses.replace(NEEDS[2], never_kept=True)]
    assert where(10**9, 10**9, stale)["embedding"] == RECOMPUTED


def test_targets_of_samples_that_are_never_read_are_not_computed(table):
    few = small_lfr(steps=2, batch_size=16).fit(table)
    assert few.plan_.where("targets") == RECOMPUTED
    many = small_lfr(steps=4, batch_size=16).fit(table)
    assert many.plan_.where("targets") == DEVICE


def test_derived_columns_of_streamed_data_do_not_fill_the_memory(table, tmp_path, monkeypatch):
    np.save(tmp_path / "X.npy", table)
    assert small_lfr().fit(tmp_path / "X.npy").plan_.where("targets") == DEVICE
    monkeypatch.setattr(plan_module, "_STREAMED_LIMIT", 100)
    streamed = small_lfr().fit(tmp_path / "X.npy")
    assert streamed.plan_.where("input") == STREAMED
    assert streamed.plan_.where("targets") == RECOMPUTED
    assert small_lfr().fit(table).plan_.where("targets") == DEVICE


def run_with(monkeypatch, X, places, **changes):
    """Fit with columns in the given places, though the device is the CPU."""
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


PLACES = [
    {"input": HOST},
    {"input": STREAMED},
    {"targets": HOST},
    {"embedding": HOST},
    {"targets": RECOMPUTED},
    {"embedding": RECOMPUTED},
    {"input": HOST, "targets": HOST, "embedding": HOST},
    {"input": HOST, "targets": RECOMPUTED, "embedding": RECOMPUTED},
]


@pytest.mark.parametrize(
    ("data", "places"),
    [
        *((data, places) for data in ("table", "series") for places in PLACES),
        *(("images", places) for places in PLACES[-2:]),  # which take the most time
    ],
)
def test_a_run_is_the_same_wherever_columns_are_kept(monkeypatch, data, places, request):
    X = request.getfixturevalue(data)
    # Small steps: a ResNet on 24 tiny images would turn another rounding into another run.
    with monkeypatch.context() as patch:
        everywhere = {"input": DEVICE, "targets": DEVICE, "embedding": DEVICE}
        expected = run_with(patch, X, everywhere, learning_rate=1e-5)
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


@pytest.mark.parametrize("kind", [TensorRows, lambda rows: SourceRows(ArraySource(rows.numpy()))])
def test_staging_brings_the_right_rows(kind):
    column = StagedColumn(kind(torch.arange(20.0).view(10, 2)), CPU)
    for index in ([3, 1], [9, 0], [4, 4], [7]):
        column.stage(torch.tensor(index))
        rows = column.rows(torch.tensor(index))
        assert rows[:, 0].tolist() == [2.0 * i for i in index]
    assert torch.cat(list(column.chunks(3)))[:, 1].tolist() == list(range(1, 20, 2))


def test_a_cache_returns_what_was_written():
    column = HostCache((6, 2), CPU)
    column.write(0, torch.zeros(4, 2))
    column.write(4, torch.ones(2, 2))
    column.stage(torch.tensor([5, 0]))
    assert column.rows(torch.tensor([5, 0]))[:, 0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize("origin", [DEVICE, HOST])
@pytest.mark.parametrize("doubled", [DEVICE, HOST, RECOMPUTED])
@pytest.mark.parametrize("summed", [DEVICE, HOST, RECOMPUTED])
def test_a_column_is_derived_from_a_derived_column(origin, doubled, summed):
    rows = TensorRows(torch.arange(20.0).view(10, 2))
    places = {"input": origin, "doubled": doubled, "summed": summed}
    plan = Plan(
        device="cpu",
        precision="32",
        graphs=False,
        batch_size=2,
        placements=tuple(Placement(name, where, 0) for name, where in places.items()),
        device_limit=0,
    )
    derived = [
        DerivedColumn("doubled", "input", lambda x: 2 * x, (2,), fixed=True),
        DerivedColumn("summed", "doubled", lambda x: x.sum(1, keepdim=True), (1,), fixed=False),
    ]
    store = ColumnStore({"input": rows}, derived, plan, CPU, nullcontext)
    store.refresh(["doubled", "summed"], fixed=True)
    store.refresh(["doubled", "summed"], fixed=False)
    index = torch.tensor([7, 0])
    for column in store.staged(["summed"]):
        column.stage(index)
    assert store.gather(["summed"], index)[0].tolist() == [[58.0], [2.0]]
    names = ["summed", "input", "doubled"]
    assert len(store.staged(names)) == list(places.values()).count(HOST), "each once"


def test_a_resident_column_shares_the_memory_of_a_tensor():
    tensor = torch.arange(20.0).view(10, 2)
    column = ResidentColumn.copied(TensorRows(tensor), CPU)
    tensor[3] = -1
    assert column.rows(torch.tensor([3])).tolist() == [[-1.0, -1.0]]
    source = SourceRows(ArraySource(tensor.numpy()))
    assert torch.equal(torch.cat(list(ResidentColumn.copied(source, CPU).chunks(4))), tensor)


def test_the_time_of_a_pass_includes_the_columns_computed_for_it(table):
    class Slow(nn.Linear):
        def forward(self, x):
            time.sleep(0 if self.training else 0.1)
            return super().forward(x)

    lfr = small_lfr(encoder=Slow(5, 8), predictor_epochs=2).fit(table)
    seconds = [r["seconds"] for r in lfr.history_ if r["phase"] == "predictors"]
    assert seconds[0] > 0.1, "the first predictor pass waits for the embedding"
    assert seconds[1] < 0.1


def test_in_the_predictor_phase_the_encoder_does_not_run(table):
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
    # Twice per epoch, over all rows and over a sample of them; and once to find its width.
    assert calls["eval"] == 2 * 3 + 1
    assert calls["projector"] == 2 + 2 + 2  # selection, targets, and twice to find the width
    assert len(lfr.history_) == 3 * 6
