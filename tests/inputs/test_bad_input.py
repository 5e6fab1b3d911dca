"""Every mistake in the data or the parameters gives an error that names it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from torch import nn

from aleator import LFR
from tests.small import small_lfr


def with_value(shape, where, value):
    X = np.random.default_rng(0).normal(size=shape)
    X[where] = value
    return X


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (with_value((20, 3), (7, 1), np.inf), r"inf.*row 7, column 1"),
        (with_value((20, 2, 9), (3, 1, 4), np.inf), r"inf.*row 3, channel 1, time 4; 1 of 20"),
        (
            with_value((9, 1, 4, 5), (2, 0, 3, 1), np.nan),
            r"NaN.*row 2, channel 0, height 3.*1 of 9",
        ),
        (with_value((9, 1, 4, 5), (2, 0, 3, 1), -np.inf), r"row 2, channel 0, height 3, width 1"),
        (pd.DataFrame({"age": [1.0, np.inf], "pay": [1, 2]}), "inf.*row 1, column 'age'"),
        (pl.DataFrame({"age": [1.0, np.inf], "pay": [1, None]}), "inf.*row 1, column 'age'"),
        (pl.DataFrame({"a": [[1], [2]], "b": [1, 2]}), r"column 'a' holds List\(Int64\) values"),
        (pd.DataFrame({"a": [{1}, {2}], "b": [1, 2]}), r"column 'a' holds values such as \{1\}"),
        (pd.DataFrame({"a": [1j, 2j], "b": [1, 2]}), "column 'a' holds complex numbers"),
        (pd.DataFrame({"a": [None, None], "b": ["x", "x"]}), "all rows of X are equal"),
        (np.empty((0, 3)), "0 sample"),
        (np.empty((5, 0)), "0 feature"),
        (np.empty((5, 2, 0)), "no time"),
        (np.ones((1, 3)), "1 sample"),
        (np.ones(8), "[Rr]eshape your data"),
        (np.ones((4, 3, 2, 2, 2)), r"shape \(4, 3, 2, 2, 2\) cannot be inferred"),
        (np.ones((20, 3)), "all rows of X are equal"),
        (np.array([["1", "b"], ["c", "d"]]), r"text \(row 0, column 1: 'b'\): pass a data frame"),
        (
            np.array([[1, 2], [3, "?"]], object),
            r"text \(row 1, column 1: '\?'\): pass a",
        ),
        (
            np.array([["2024-01-01"], ["2024-01-02"]], "M8[D]"),
            r"datetime64\[D\] values.*frame",
        ),
        (np.ones((4, 2)) * 1j, "[Cc]omplex"),
    ],
)
def test_fit_explains_what_is_wrong(X, message):
    lfr = small_lfr()
    with pytest.raises(ValueError, match=message):
        lfr.fit(X)
    assert not hasattr(lfr, "encoder_")


def test_values_beyond_float32(random):
    X = random.normal(size=(20, 3))
    X[4, 1] = 1e300
    with pytest.raises(ValueError, match=r"row 4, column 1.*too large for float32"):
        small_lfr(preprocessing=None).fit(X)


def test_values_that_cannot_be_standardized(random):
    X = random.normal(size=(20, 3))
    X[:, 1] *= 1e200  # its variance is infinite
    with pytest.raises(ValueError, match=r"column 1 that are too large to be standardized"):
        small_lfr().fit(X)


@pytest.mark.parametrize(
    ("fitted", "given", "message"),
    [
        ((20, 3), (5, 4), "X has 4 features, but LFR is expecting 3 features"),
        ((20, 2, 9), (5, 3, 9), "X has 3 channels, but LFR is expecting 2 channels"),
        ((20, 2, 9), (5, 2, 8), "X has 8 time steps, but LFR is expecting 9"),
        ((20, 3, 8, 8), (5, 3, 8, 9), "9 pixels in width, but LFR is expecting 8"),
        ((20, 3), (5, 3, 2), r"'table' must have the shape \(n, columns\)"),
        ((20, 2, 9), (5, 2, 9, 1), r"'series' must have the shape \(n, channels, time\)"),
    ],
)
def test_transform_explains_what_is_wrong(random, fitted, given, message):
    lfr = small_lfr(epochs=1).fit(random.normal(size=fitted))
    with pytest.raises(ValueError, match=message):
        lfr.transform(random.normal(size=given))


def test_transform_names_a_gap_too(random):
    lfr = small_lfr(epochs=1).fit(random.normal(size=(20, 3)))
    with pytest.raises(ValueError, match=r"NaN.*row 0, column 1"):
        lfr.transform([[0.0, np.nan, 1.0]])


def test_constant_columns_work(random):
    X = random.normal(size=(30, 3))
    X[:, 1] = 7.1
    lfr = small_lfr().fit(X)
    assert np.abs(lfr.adapter_.transform(X)[:, 1]).max() < 1e-12
    assert np.isfinite(lfr.transform(X)).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_projectors": 5, "n_candidates": 3}, "n_projectors=5 is larger than n_candidates=3"),
        ({"n_projectors": 0}, "n_projectors must be an integer of at least 1, got 0"),
        ({"epochs": 1.5}, "epochs must be an integer"),
        ({"batch_size": True}, "batch_size must be an integer"),
        ({"selection_size": 1}, "selection_size must be an integer of at least 2"),
        ({"learning_rate": 0}, "learning_rate must be a finite number greater than 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be a finite number greater than 0"),
        (
            {"predictor_learning_rate": -1},
            "predictor_learning_rate must be a finite number greater than 0",
        ),
        (
            {"weight_dropout": 1.0},
            "weight_dropout must be a finite number of at least 0 and less than 1",
        ),
        ({"betas": 0.9}, "betas must be two numbers"),
        ({"betas": (0.9, 1.0)}, "betas must be a finite number"),
        ({"loss": "hinge"}, "loss must be one of 'auto', 'bbt'.*or a function, got 'hinge'"),
        ({"training": "both"}, "training must be one of"),
        ({"optimizer": "lion"}, "optimizer must be one of 'adam', 'adamw', 'sgd'"),
        ({"schedule": "linear"}, "schedule must be one of"),
        ({"projector_init": "gamma"}, "projector_init must be one of"),
        ({"predictor": "tree"}, "predictor='tree' is not known"),
        ({"encoder": "cnn"}, "encoder='cnn' is not known for modality 'table': give one of 'mlp'"),
        ({"encoder": 3}, "encoder must be a name, a torch.nn.Module or a factory"),
        ({"projector": "cnn"}, "projector='cnn' is not known for modality 'table'"),
        ({"encoder": nn.Linear(7, 8)}, r"the encoder cannot process samples of shape \(3,\)"),
        ({"encoder": lambda shape, dim: "net"}, "encoder factory must return a torch.nn.Module"),
        ({"modality": "video"}, "modality='video' is not known"),
        ({"modality": "image"}, r"'image' must have the shape"),
        ({"preprocessing": "minmax"}, "preprocessing must be 'auto' or None"),
        ({"precision": "8"}, "precision must be one of .*got '8'"),
        ({"device": "abacus"}, "device='abacus' is not known"),
        ({"memory_limit": -1}, "memory_limit must be an integer of at least 0"),
        ({"projectors": []}, "projectors must be a list of torch.nn.Modules that is not empty"),
        ({"projectors": nn.Linear(3, 2)}, r"pass projectors=\[module\]"),
        ({"predictors": [nn.Linear(8, 8)]}, "1 predictors are given for 2 projectors"),
        ({"predictors": [nn.Linear(8, 4)] * 2}, "predictor 0 returns 4 features"),
        (
            {"predictor": "mlp", "batch_size": 1},
            "batch normalization cannot train on batches of one row",
        ),
    ],
)
def test_parameters_are_checked_in_fit(random, changes, message):
    with pytest.raises(ValueError, match=message):
        small_lfr(**changes).fit(random.normal(size=(20, 3)))


def test_a_gpu_that_does_not_exist(random):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(ValueError, match="finds no GPU"):
        small_lfr(device="cuda").fit(random.normal(size=(20, 3)))


class Constant(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.value = value

    def forward(self, x):
        return torch.full((len(x), 4), self.value)


@pytest.mark.parametrize("value", [0.0, 2.5])
def test_a_constant_projector_that_was_given_is_refused(random, value):
    projectors = [nn.Linear(3, 4), Constant(value)]
    with pytest.raises(ValueError, match="projector 1 is the same for every row"):
        LFR(projectors=projectors, epochs=1).fit(random.normal(size=(20, 3)))


def test_a_constant_candidate_is_skipped(random):
    made = []

    def factory(input_shape, output_dim):
        made.append(Constant(1.0) if len(made) % 2 else nn.Linear(3, output_dim))
        return made[-1]

    lfr = LFR(projector=factory, embedding_dim=4, n_projectors=2, n_candidates=6, epochs=1)
    lfr.fit(random.normal(size=(20, 3)))
    assert (lfr.selected_projectors_ % 2 == 0).all()
    made.clear()
    lfr.set_params(n_projectors=4)
    with pytest.raises(ValueError, match="projectors 1, 3, 5"):
        lfr.fit(random.normal(size=(20, 3)))


def test_projectors_of_different_widths_are_refused(random):
    with pytest.raises(ValueError, match=r"same output dimension, got \[3, 4\]"):
        LFR(projectors=[nn.Linear(3, 3), nn.Linear(3, 4)]).fit(random.normal(size=(20, 3)))


def test_a_network_that_returns_a_tuple_is_refused(random):
    class Pair(nn.Module):
        def forward(self, x):
            return x, x

    with pytest.raises(ValueError, match="one tensor, not tuple"):
        LFR(encoder=Pair()).fit(random.normal(size=(20, 3)))
