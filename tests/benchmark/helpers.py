"""What several test files of the benchmark need."""

from dataclasses import replace

from aleator.benchmark import recipes
from aleator.benchmark.cells import Cell
from aleator.benchmark.datasets import DATASETS
from aleator.benchmark.protocols import PAPER, STANDARDIZED

BOTH = (PAPER, STANDARDIZED)


def quick_cell(dataset="theorem", method="random", seed=0, protocols=BOTH, scale=0.01):
    """A cell on small data that takes little time."""
    return Cell(recipes.read(dataset, method), seed, protocols, scale, small=True)


def expect_size(monkeypatch, name, train, test, classes, shape=None):
    """Make `load` accept a small data set as a complete one."""
    info = DATASETS[name]
    small = replace(info, train=train, test=test, classes=classes, shape=shape or info.shape)
    monkeypatch.setitem(DATASETS, name, small)
