"""The data sets by name, with the metric by which models are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from aleator.benchmark.real_data.audio import load_fsdd
from aleator.benchmark.real_data.graphs import load_mutag, load_proteins
from aleator.benchmark.real_data.parts import RealParts
from aleator.benchmark.real_data.series import load_japanese_vowels, load_physionet2012
from aleator.benchmark.real_data.tables import MIXED_TABLES, load_adult, load_mixed
from aleator.benchmark.real_data.texts import load_sms_spam


@dataclass(frozen=True)
class RealDataset:
    """A data set.

    Attributes
    ----------
    kind : str
        What it consists of, in the plural.
    load : callable
        Reads it from a folder.
    metric : str
        Metric by which models are compared.
    has_folds : bool, default=False
        Whether `load` also takes a seed, and returns folds, since the data are few.
    seeds : sequence of int, default=range(3)
        Seeds with which models are compared.
    """

    kind: str
    load: Callable[..., Any]
    metric: str = "accuracy"
    has_folds: bool = False
    seeds: Sequence[int] = range(3)

    def read(self, folder: Path, seed: int) -> list[RealParts]:
        """Read the data: one split, or the folds of a seed if they are few."""
        return self.load(folder, seed) if self.has_folds else [self.load(folder)]


REAL_DATASETS = {
    "adult": RealDataset("tables", load_adult),
    **{
        name: RealDataset(
            "tables",
            partial(load_mixed, name=name),
            # Their classes are two, of unequal size.
            "auroc" if table.task in ("classes", "other than None") else "r2",
        )
        for name, table in MIXED_TABLES.items()
    },
    "sms-spam": RealDataset("texts", load_sms_spam),
    "japanese-vowels": RealDataset("series", load_japanese_vowels),
    "physionet2012": RealDataset("series", load_physionet2012, "auroc"),
    "fsdd": RealDataset("audio", load_fsdd),
    # So few graphs that three seeds could not tell models from each other.
    "mutag": RealDataset("graphs", load_mutag, has_folds=True, seeds=range(30)),
    "proteins": RealDataset("graphs", load_proteins, has_folds=True),
}
