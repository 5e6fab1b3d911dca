"""LFR for a user: inputs, parameters, attributes, interruptions, failures."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from torch import nn

from aleator import LFR
from aleator.exceptions import InterruptedTrainingWarning
from tests.small import small_lfr


@pytest.mark.parametrize("data", ["table", "series", "images"])
def test_every_modality_gives_rows_of_float32(data, request):
    X = request.getfixturevalue(data)
    Z = small_lfr().fit_transform(X)
    assert Z.shape == (len(X), 8)
    assert Z.dtype == np.float32
    assert np.isfinite(Z).all()
    assert Z.std(0).min() > 0


def test_default_widths(table, series, images):
    fast = {"epochs": 0, "n_projectors": 1, "n_candidates": 1}
    assert LFR.paper(**fast).fit(table).embedding_dim_ == 256
    assert LFR.paper(**fast).fit(series).embedding_dim_ == 128 * 5
    assert LFR.paper(**fast, encoder="tcn").fit(series).embedding_dim_ == 64
    assert LFR.paper(**fast).fit(images).embedding_dim_ == 2048


@pytest.mark.parametrize(
    ("data", "encoder", "rate", "passes", "head"),
    [
        ("table", "auto", 1e-3, 1, nn.Linear),
        ("series", "auto", 3e-4, 5, nn.Linear),
        ("series", "tcn", 3e-4, 5, nn.Sequential),
        ("images", "auto", 3e-4, 5, nn.Sequential),
    ],
)
def test_none_stands_for_the_papers_settings(data, encoder, rate, passes, head, request):
    settings = {"epochs": 1, "n_projectors": 1, "n_candidates": 1, "embedding_dim": 4}
    lfr = LFR.paper(**settings, encoder=encoder)
    lfr.fit(request.getfixturevalue(data))
    assert [r["phase"] for r in lfr.history_] == ["encoder", *["predictors"] * passes]
    assert lfr.history_[0]["learning_rates"] == {"encoder": pytest.approx(rate)}
    assert type(lfr.predictors_[0]) is head
    assert lfr.get_params()["learning_rate"] is None


@pytest.mark.parametrize(
    "convert",
    [
        torch.from_numpy,
        lambda X: torch.from_numpy(X).double(),
        pd.DataFrame,
        lambda X: pl.DataFrame(X, schema=[f"c{i}" for i in range(X.shape[1])]),
        lambda X: X.tolist(),
        lambda X: X.astype(object),
        lambda X: np.asfortranarray(X.astype(np.float64)),
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    ],
    ids=["torch", "torch64", "pandas", "polars", "list", "object", "fortran", "strided"],
)
def test_every_kind_of_table_gives_the_same(table, convert):
    expected = small_lfr().fit_transform(table)
    np.testing.assert_allclose(small_lfr().fit_transform(convert(table)), expected, atol=1e-5)


def test_torch_inputs_of_other_ranks(series, images):
    for X in (series, images):
        expected = small_lfr().fit_transform(X)
        np.testing.assert_array_equal(small_lfr().fit_transform(torch.from_numpy(X)), expected)
    half = torch.from_numpy(series).bfloat16()
    assert small_lfr().fit_transform(half).shape == (40, 8)


def test_named_modalities_accept_a_missing_channel_axis(random):
    signals = random.normal(size=(30, 20))
    assert small_lfr(modality="series").fit(signals).adapter_.shape == (1, 20)
    gray = random.random((20, 9, 9))
    lfr = small_lfr(modality="image").fit(gray)
    assert lfr.adapter_.shape == (1, 9, 9)
    assert lfr.transform(gray).shape == (20, 8)


def test_preprocessing_is_fitted_once(random):
    X = random.normal(3.0, 5.0, size=(50, 4))
    lfr = small_lfr(epochs=0).fit(X)
    inside = lfr.adapter_.transform(X)
    np.testing.assert_allclose(inside.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(inside.std(0), 1, atol=1e-5)
    np.testing.assert_allclose(lfr.adapter_.transform(X[:1]), inside[:1], atol=1e-6)
    untouched = small_lfr(epochs=0, preprocessing=None).fit(X)
    np.testing.assert_array_equal(untouched.adapter_.transform(X), X.astype(np.float32))


def test_integer_images_and_wide_integers(random):
    images = random.integers(0, 256, size=(20, 3, 8, 8), dtype=np.uint8)
    assert np.isfinite(small_lfr().fit_transform(images)).all()
    assert np.isfinite(small_lfr(preprocessing=None).fit_transform(images)).all()


def test_a_seed_fixes_everything(series):
    first, second = small_lfr().fit(series), small_lfr().fit(series)
    np.testing.assert_array_equal(first.transform(series), second.transform(series))
    assert [r["loss"] for r in first.history_] == [r["loss"] for r in second.history_]
    other = small_lfr(random_state=1).fit(series)
    assert not np.allclose(other.transform(series), first.transform(series))


def test_a_fit_leaves_torchs_generator_alone(table):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    small_lfr().fit(table)
    assert torch.equal(torch.rand(3), expected)


def test_fitted_attributes(table):
    lfr = small_lfr(predictor_epochs=2).fit(table)
    assert lfr.projector_kernel_.shape == (4, 4)
    assert len(lfr.projectors_) == len(lfr.predictors_) == 2
    assert sorted(set(lfr.selected_projectors_)) == sorted(lfr.selected_projectors_)
    assert [r["phase"] for r in lfr.history_] == ["encoder", "predictors", "predictors"] * 2
    assert [r["epoch"] for r in lfr.history_] == [0, 0, 0, 1, 1, 1]
    assert all(r["seconds"] > 0 and np.isfinite(r["loss"]) for r in lfr.history_)
    assert "targets" in str(lfr.plan_)
    assert lfr.n_features_in_ == 5
    with torch.no_grad():
        rows = lfr.encoder_(torch.from_numpy(lfr.adapter_.transform(table)))
        np.testing.assert_array_equal(rows, lfr.transform(table))
        assert lfr.predictors_[0](rows).shape == (60, 8)


def test_selection_is_that_of_select_diverse(table):
    from aleator.diversity import select_diverse

    lfr = small_lfr(n_projectors=3, n_candidates=3, epochs=0).fit(table)
    assert lfr.selected_projectors_.tolist() == [0, 1, 2], "N = K switches selection off"
    settings = {"n_candidates": 9, "epochs": 0, "selection_size": 60}
    more = small_lfr(n_projectors=3, **settings).fit(table)
    assert more.projector_kernel_.shape == (9, 9)
    everything = small_lfr(n_projectors=9, **settings).fit(table)
    inside = torch.from_numpy(everything.adapter_.transform(table))
    with torch.no_grad():
        outputs = torch.stack([project(inside) for project in everything.projectors_])
    assert select_diverse(outputs, 3).tolist() == more.selected_projectors_.tolist()


def test_ready_projectors_are_used_or_selected_from(table):
    torch.manual_seed(0)
    modules = [nn.Linear(5, 3) for _ in range(5)]
    lfr = small_lfr(projectors=modules, n_candidates=None).fit(table)
    assert len(lfr.projectors_) == 5
    chosen = small_lfr(projectors=modules, n_candidates=5).fit(table)
    assert len(chosen.projectors_) == 2
    with pytest.raises(ValueError, match="n_candidates=4, but 5 projectors are given"):
        small_lfr(projectors=modules).fit(table)


def test_modules_and_factories(series):
    def encoder(input_shape, embedding_dim):
        return nn.Sequential(nn.Flatten(), nn.Linear(np.prod(input_shape), embedding_dim))

    def head(embedding_dim, target_dim):
        return nn.Sequential(nn.Linear(embedding_dim, 6), nn.PReLU(), nn.Linear(6, target_dim))

    lfr = small_lfr(encoder=encoder, projector=encoder, predictor=head).fit(series)
    assert lfr.transform(series).shape == (40, 8)
    assert isinstance(lfr.predictors_[0][1], nn.PReLU)
    module = nn.Sequential(nn.Conv1d(2, 4, 3), nn.ReLU())  # its output is flattened
    lfr = small_lfr(encoder=module, projector=module).fit(series)
    assert lfr.transform(series).shape == (40, 4 * 22)
    weights = [tuple(p[0].weight.flatten().tolist()) for p in lfr.projectors_]
    assert len(set(weights)) == 2, "a projector module is drawn anew for every candidate"


def test_a_torchvision_module(images):
    torchvision = pytest.importorskip("torchvision", exc_type=Exception)
    lfr = small_lfr(encoder=torchvision.models.resnet18(num_classes=6)).fit(images)
    assert lfr.transform(images).shape == (24, 6)


def test_frozen_parameters_of_a_given_encoder_stay(table):
    module = nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 8))
    module[0].requires_grad_(False)
    lfr = small_lfr(encoder=module).fit(table)
    assert torch.equal(lfr.encoder_[0].weight, module[0].weight)
    assert not torch.equal(lfr.encoder_[2].weight, module[2].weight)
    module[2].requires_grad_(False)
    with pytest.raises(ValueError, match="the encoder has no parameter to train"):
        small_lfr(encoder=module).fit(table)


@pytest.mark.parametrize("rows", [33, 17])
def test_a_single_last_row_joins_the_batch_before_it(random, rows):
    X = random.normal(size=(rows, 5))
    lfr = small_lfr(predictor="mlp", predictor_hidden=4).fit(X)
    assert lfr.history_[0]["steps"] == rows // 16
    plain = small_lfr().fit(X)
    assert plain.history_[0]["steps"] == rows // 16 + 1


def test_a_batch_larger_than_the_data(table):
    lfr = small_lfr(batch_size=1000).fit(table)
    assert lfr.plan_.batch_size == 60
    assert lfr.history_[0]["steps"] == 1


def test_half_precision_on_the_cpu(series):
    lfr = small_lfr(precision="bf16").fit(series)
    assert lfr.plan_.precision == "bf16"
    full = small_lfr().fit(series)
    assert lfr.history_[0]["loss"] == pytest.approx(full.history_[0]["loss"], rel=0.05)
    assert lfr.transform(series).dtype == np.float32


def test_beta_and_dropout_reach_the_projectors(images):
    lfr = small_lfr(projector_init="beta", weight_dropout=0.4, n_candidates=2).fit(images)
    first = lfr.projectors_[0][0].weight
    assert int((first == 0).sum()) == round(0.4 * first.numel())
    assert first.abs().max() <= 1


class _Interrupting:
    """A loss that is interrupted after some calls, as by Ctrl-C."""

    def __init__(self, after):
        self.left = after

    def __call__(self, prediction, target):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return ((prediction - target) ** 2).mean()


def test_an_interrupted_fit_can_be_used(table):
    lfr = small_lfr(loss=_Interrupting(after=9), epochs=50)
    with pytest.warns(InterruptedTrainingWarning, match="interrupted.*estimator is fitted"):
        lfr.fit(table)
    assert lfr.transform(table).shape == (60, 8)
    assert sum(record["steps"] for record in lfr.history_) == 9


def test_a_failed_fit_leaves_the_estimator_as_it_was(table):
    lfr = small_lfr().fit(table)
    before = dict(vars(lfr))
    expected = lfr.transform(table)
    with pytest.raises(ValueError, match="inf"):
        lfr.fit(np.full((10, 3), np.inf))

    def broken(prediction, target):
        raise RuntimeError("broken loss")

    lfr.set_params(loss=broken)
    with pytest.raises(RuntimeError, match="broken loss"):
        lfr.fit(table[:, :3])
    lfr.set_params(loss="bbt")
    assert {k: v for k, v in vars(lfr).items() if k != "loss"} == {
        k: v for k, v in before.items() if k != "loss"
    }
    np.testing.assert_array_equal(lfr.transform(table), expected)
    fresh = small_lfr()
    with pytest.raises(ValueError, match="inf"):
        fresh.fit(np.full((10, 3), np.inf))
    assert set(vars(fresh)) == set(fresh.get_params())


def test_a_loss_that_diverges_is_an_error(table):
    with pytest.raises(FloatingPointError, match="smaller learning_rate"):
        small_lfr(loss="mse", optimizer="sgd", learning_rate=1e6, epochs=5).fit(table)


def test_importing_aleator_does_not_import_torch():
    code = "import sys, aleator; print('torch' in sys.modules, 'sklearn' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "False"]


def test_a_fit_does_not_import_the_compiler():
    code = (
        "import sys, numpy as np, aleator;"
        "aleator.LFR(epochs=1, embedding_dim=4).fit(np.random.rand(20, 3));"
        "print('torch._dynamo' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False"]
