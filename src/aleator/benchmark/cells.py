"""A cell of a benchmark: one recipe and one seed, trained once and evaluated by some protocols."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from aleator.benchmark import datasets, protocols
from aleator.benchmark.method_names import CLASSIFIERS
from aleator.benchmark.protocols import Case
from aleator.benchmark.provenance import stamp
from aleator.benchmark.recipes import Recipe, hash_of
from aleator.exceptions import InterruptedTrainingWarning

Key = tuple[Any, ...]
_KEY_FIELDS = ("dataset", "method", "config_hash", "seed", "protocol", "epochs_scale", "small",
               "held_out")  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """What to train and how to evaluate it.

    Parameters
    ----------
    recipe : Recipe
        Data set, method and settings.
    seed : int
        Seed of the training and of the probes.
    protocols : tuple of str
        Evaluation protocols; each gives one result line.
    epochs_scale : float, default=1.0
        Fraction of the recipe's epochs, for a quick test. Stored in every result line.
    small : bool, default=False
        Use a small synthetic data set instead of files. Stored in every result line.
    held_out : bool, default=False
        Train on four fifths of the training part and evaluate on the other fifth; the test part is
        not used. Stored in every result line.
    """

    recipe: Recipe
    seed: int
    protocols: tuple[str, ...]
    epochs_scale: float = 1.0
    small: bool = False
    held_out: bool = False

    def key(self, protocol: str) -> Key:
        """Identify the result line of this cell under one protocol.

        Parameters
        ----------
        protocol : str
            One of the cell's protocols.

        Returns
        -------
        key : tuple
            Equal to `key_of` of the finished line.
        """
        recipe = self.recipe
        config_hash = protocols.config_hash(recipe, protocol)
        return (
            recipe.dataset, recipe.method, config_hash, self.seed, protocol, self.epochs_scale,
            self.small, self.held_out,
        )  # fmt: skip

    @property
    def keys(self) -> set[Key]:
        """The keys of all result lines of this cell."""
        return {self.key(protocol) for protocol in self.protocols}

    @property
    def training(self) -> str:
        """A name for the training of this cell, whatever its protocols are."""
        fields = dict(zip(_KEY_FIELDS, self.key(protocols.PAPER), strict=True))
        return f"{self.recipe.dataset}-{self.recipe.method}-{self.seed}-{hash_of(fields)}"

    @property
    def cost(self) -> int:
        """Approximate number of samples seen in training, to run long cells first."""
        parameters = self.recipe.parameters
        if parameters.get("steps"):
            return int(parameters["steps"] * parameters["batch_size"])
        return int(parameters.get("epochs", 0)) * datasets.DATASETS[self.recipe.dataset].train


def key_of(line: dict[str, Any]) -> Key:
    """Return the key of a result line, comparable with `Cell.key`.

    Parameters
    ----------
    line : dict
        A line of a results file.

    Returns
    -------
    key : tuple
        Values of the identifying fields; None for a missing field.
    """
    # Lines that are older than the field are results on the test part.
    fields = {"held_out": False, **line}
    return tuple(fields.get(name) for name in _KEY_FIELDS)


def merged(cells: Iterable[Cell], done: set[Key]) -> list[Cell]:
    """Remove finished protocols and merge cells that share a training.

    Parameters
    ----------
    cells : iterable of Cell
        Cells of one or several studies.
    done : set of tuple
        Keys of the finished result lines.

    Returns
    -------
    todo : list of Cell
        One cell per training, with the protocols that are still missing.
    """
    todo: dict[Key, Cell] = {}
    for cell in cells:
        missing = [p for p in cell.protocols if cell.key(p) not in done]
        if not missing:
            continue
        training = cell.key(protocols.PAPER)  # identifies the training, whatever the protocol
        earlier = todo[training].protocols if training in todo else ()
        todo[training] = replace(cell, protocols=tuple(dict.fromkeys([*earlier, *missing])))
    return list(todo.values())


def run(
    cell: Cell,
    data: str | None,
    device: str,
    checkpoint: Path | None = None,
    checkpoint_every: str = "5 min",
) -> list[dict[str, Any]]:
    """Train a cell once and evaluate it under each of its protocols.

    An exception becomes a line with an ``"error"`` field. If the training fails, all lines have it;
    if a protocol fails, only its own line does.

    Parameters
    ----------
    cell : Cell
        What to run.
    data : str or None
        Folder of the data sets; None uses the environment variable ``ALEATOR_DATA``.
    device : str
        Device for training and probes.
    checkpoint : Path or None, default=None
        Folder for checkpoints of the training, which continues from there. None, and timed
        cells: no checkpoints.
    checkpoint_every : str, default="5 min"
        Time between two checkpoints.

    Returns
    -------
    lines : list of dict
        One result line per protocol.
    """
    options: dict[str, Any] = {}
    if checkpoint is not None and protocols.TIMED not in cell.protocols:
        options = {"checkpoint": checkpoint, "checkpoint_every": checkpoint_every}
    try:
        with _complete_trainings_only():
            case, training_fields = _train(cell, data, device, options)
    except Exception as error:
        return [_error_line(cell, protocol, error) for protocol in cell.protocols]
    return [_evaluate(cell, protocol, case, training_fields) for protocol in cell.protocols]


@contextmanager
def _complete_trainings_only() -> Iterator[None]:
    """End the benchmark on Ctrl-C, so that no result comes from a partly trained model."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedTrainingWarning)
        try:
            yield
        except InterruptedTrainingWarning:
            raise KeyboardInterrupt from None


def _evaluate(
    cell: Cell, protocol: str, case: Case, training_fields: dict[str, Any]
) -> dict[str, Any]:
    start = time.perf_counter()
    try:
        with _complete_trainings_only():
            metrics = protocols.evaluate(protocol, case)
    except Exception as error:
        return _error_line(cell, protocol, error)
    return {
        **identity_fields(cell, protocol),
        **training_fields,
        "metrics": {name: round(value, 5) for name, value in metrics.items()},
        "probe_seconds": round(time.perf_counter() - start, 3),
    }


def _train(
    cell: Cell, data: str | None, device: str, options: dict[str, Any]
) -> tuple[Case, dict[str, Any]]:
    """Return the fitted estimator as a case, and the fields that all its lines share."""
    split, checksum = loaded(cell.recipe.dataset, data, cell.small, cell.held_out)
    # Samples without a label are only of use to methods that learn without labels.
    training = split.labeled if cell.recipe.method in CLASSIFIERS else split
    n_samples = len(training.X_train)
    recipe = cell.recipe.shortened(cell.epochs_scale, n_samples)
    if protocols.TIMED in cell.protocols:
        # The first fit of a process also pays for the initialization of libraries.
        short = recipe.shortened(0, n_samples).estimator(device, cell.seed)
        short.fit(training.X_train, training.y_train)
    continued = "checkpoint" in options and Path(options["checkpoint"]).exists()
    start = time.perf_counter()
    estimator = recipe.estimator(device, cell.seed)
    if any(protocols.needs_training(recipe, protocol) for protocol in cell.protocols):
        estimator.fit(training.X_train, training.y_train, **options)
    # The time of a part of a training says nothing.
    seconds = None if continued else round(time.perf_counter() - start, 3)
    history = [r for r in getattr(estimator, "history_", []) if "effective_rank" in r]
    last: dict[str, Any] = history[-1] if history else {}
    training_fields = {
        "dataset_sha256": checksum,
        **stamp(device),
        "epochs": recipe.parameters.get("epochs"),
        "embedding_std": last.get("embedding_std"),
        "effective_rank": last.get("effective_rank"),
        "seconds": seconds,
    }
    case = Case(
        recipe, estimator, split.labeled, cell.seed, device, cell.epochs_scale,
        load=lambda name: loaded(name, data, cell.small, cell.held_out)[0].labeled,
    )  # fmt: skip
    return case, training_fields


def _error_line(cell: Cell, protocol: str, error: Exception) -> dict[str, Any]:
    return {**identity_fields(cell, protocol), "error": f"{type(error).__name__}: {error}"}


def identity_fields(cell: Cell, protocol: str) -> dict[str, Any]:
    """Return the fields of a result line that identify its cell.

    Parameters
    ----------
    cell : Cell
        The cell.
    protocol : str
        The protocol of the line.

    Returns
    -------
    fields : dict
        The fields of the key, and the name of the variant.
    """
    key = dict(zip(_KEY_FIELDS, cell.key(protocol), strict=True))
    return {**key, "variant": cell.recipe.variant}


@cache
def loaded(
    name: str, data: str | None, small: bool, held_out: bool = False
) -> tuple[datasets.Split, str]:
    """Load a data set once per process.

    Parameters
    ----------
    name : str
        Name of the data set.
    data : str or None
        Folder of the data sets; None uses the environment variable ``ALEATOR_DATA``.
    small : bool
        Make a small synthetic data set instead.
    held_out : bool, default=False
        Split the training part again and leave the test part out.

    Returns
    -------
    split : Split
        Training and test part.
    checksum : str
        SHA-256 of the values.
    """
    split = datasets.small(name) if small else datasets.load(name, data)
    if held_out:
        groups = None if small else datasets.training_groups(name, datasets.data_folder(data))
        split = datasets.hold_out(split, groups)
    return split, split.sha256
