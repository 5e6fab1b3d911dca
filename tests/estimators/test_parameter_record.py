"""How parameters are compared when a run continues."""

import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from aleator.estimators.parameter_record import record_of
from aleator.exceptions import CheckpointError
from tests.estimators.stopped_fits import stop
from tests.small import small

ROWS = np.arange(320.0).reshape(20, 16).astype("float32") / 320


def jitter(x, scale):
    return x + scale * torch.randn_like(x)


def other(x, scale):
    return x * 0 + scale


def with_scale(scale):
    def view(x):
        return x * scale

    return view


class View:
    def __init__(self, **options):
        self.options = options

    def __call__(self, x):
        return x

    def method(self, x):
        return x


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale):
        self.scale = scale


class Scaled(nn.Module):
    """A module whose text and weights do not show its scale."""

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return x * self.scale


def module_of(activation):
    module = nn.Linear(1, 1, bias=False)
    nn.init.ones_(module.weight)
    module.activation = activation
    return module


DIFFERENT = {
    "keywords": (partial(jitter, scale=0.1), partial(jitter, scale=50.0)),
    "arguments": (partial(jitter, torch.ones(2)), partial(jitter, torch.zeros(2))),
    "functions of partials": (partial(jitter, scale=1.0), partial(other, scale=1.0)),
    "functions": (jitter, other),
    "closures": (with_scale(1), with_scale(2)),
    "lambdas": (lambda x: x, lambda x: x + 1),
    "dicts that hold functions": ({"a": 1, "f": jitter}, {"a": 2, "f": jitter}),
    "keys that are no texts": ({1: "a"}, {2: "a"}),
    "lists of several types": (["a", 1], ["a", 2]),
    "nested lists": (["a", {"b": 1}], ["a", {"b": 2}]),
    "lists of functions": ([jitter, other], [other, jitter]),
    "tuples of arrays": ((np.zeros(2),), (np.ones(2),)),
    "shapes": (np.zeros((2, 3)), np.zeros((3, 2))),
    "types of arrays": (np.zeros(2, "f4"), np.zeros(2, "i4")),
    "arrays of objects": (np.array(["a", None]), np.array(["b", None])),
    "tensors": (torch.zeros(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.bfloat16)),
    "attributes": (View(scale=1), View(scale=2)),
    "methods": (View(scale=1).method, View(scale=2).method),
    "slots": (Slotted(1), Slotted(2)),
    "classes": (SimpleNamespace(scale=1), View(scale=1)),
    "attributes of modules": (nn.Sequential(Scaled(1)), nn.Sequential(Scaled(2))),
    "functions of modules": (module_of(torch.relu), module_of(torch.tanh)),
    "numbers that are not finite": ([float("inf")], [float("nan")]),
    "sets": ({"a", "b"}, {"a", "c"}),
    "paths": (Path("a"), Path("b")),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_parameters_that_differ_have_other_records(name):
    first, second = DIFFERENT[name]
    assert record_of(first) != record_of(second)
    for value in (first, second):  # as it is written, and compared with what was read
        text = json.dumps(record_of(value), allow_nan=False)
        assert json.loads(text) == record_of(value)


def test_equal_parameters_have_equal_records():
    assert record_of(View(f=partial(jitter, scale=1))) == record_of(
        View(f=partial(jitter, scale=1))
    )
    assert record_of(with_scale(3)) == record_of(with_scale(3))
    assert record_of({"b": 1, "a": jitter}) == record_of({"a": jitter, "b": 1})
    assert record_of(module_of(with_scale(1))) == record_of(module_of(with_scale(1)))
    assert record_of([Scaled(1), None]) == record_of([Scaled(1), None])


def test_what_a_function_assigns_to_is_no_setting():
    calls, scale = 0, 2

    def counting(x):
        nonlocal calls
        calls += 1
        return x * scale

    before = record_of(counting)
    counting(1)
    assert record_of(counting) == before
    scale = 3
    assert record_of(counting) != before


def test_objects_that_hold_themselves_have_records():
    view, holder = View(), []
    view.owner = view
    holder.append(holder)
    for value in (view, holder, View(state=nn.Module(), other=view)):
        json.dumps(record_of(value))
    assert record_of(nested(9)) != record_of(nested(10))
    json.dumps(record_of(nested(5000)))


def nested(depth):
    value = [depth, "innermost"]
    for _ in range(depth):
        value = [value, "a"]
    return value


@pytest.mark.parametrize(
    ("views", "message"),
    [
        (partial(jitter, scale=50.0), "has another views than this one"),
        (partial(other, scale=0.1), r"has views='partial\(jitter\)', but .*='partial\(other\)'"),
        (View(scale=0.1), r"has views='partial\(jitter\)', but this one has views='View'"),
    ],
)
@pytest.mark.parametrize("finished", [False, True])
def test_another_view_does_not_continue_a_run(views, message, finished, tmp_path, monkeypatch):
    first = small("SimCLR", views=partial(jitter, scale=0.1))
    if finished:
        first.fit(ROWS, checkpoint=tmp_path)
    else:
        stop(monkeypatch, first, ROWS, None, tmp_path, writes=3)
    with pytest.raises(CheckpointError, match=message):
        small("SimCLR", views=views).fit(ROWS, checkpoint=tmp_path)
    small("SimCLR", views=partial(jitter, scale=0.1)).fit(ROWS, checkpoint=tmp_path)
