"""What each data set is, where its publisher has it, and which files are looked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """A data set as its publisher distributes it.

    `shape` is that of a sample, `train` and `test` count samples. `files` are the names looked for,
    any one of each group; a packed copy counts as well as the original.
    """

    name: str
    title: str
    address: str
    terms: str
    files: tuple[tuple[str, ...], ...]
    shape: tuple[int, ...]
    train: int
    test: int
    classes: int

    def find(self, folder: Path, group: int = 0) -> Path:
        """The file of a group that is there, or an error that says how to get it."""
        for name in self.files[group]:
            if (folder / name).exists():
                return folder / name
        names = " or ".join(repr(name) for name in self.files[group])
        raise FileNotFoundError(
            f"{self.title} is not in {folder}: there is no {names}. Get it from {self.address} "
            f"({self.terms})"
        )


_UCI = "https://archive.ics.uci.edu/dataset"

# In the order of the paper's table of data sets (appendix B).
SOURCES = {
    source.name: source
    for source in (
        Source(
            "har", "Human Activity Recognition", f"{_UCI}/240", "free, not for commercial use",
            (("UCI HAR Dataset", "UCI HAR Dataset.zip", "uci_har_inertial.npz"),),
            (9, 128), 7352, 2947, 6,
        ),
        Source(
            "epilepsy", "Epileptic Seizure Recognition",
            "https://www.kaggle.com/datasets/harunshimanto/epileptic-seizure-recognition",
            "free; cite Andrzejak et al. 2001",
            (("Epileptic Seizure Recognition.csv", "epileptic_seizure_data.csv",
              "epileptic_seizure_data.csv.gz"),),
            (1, 178), 9200, 2300, 2,
        ),
        Source(
            "income", "Adult Income", f"{_UCI}/2", "CC BY 4.0",
            (("adult.data", "adult.data.gz"), ("adult.test", "adult.test.gz")),
            (104,), 30162, 15060, 2,
        ),
        Source(
            "theorem", "First-order theorem proving", f"{_UCI}/249", "CC BY 4.0",
            (("train.csv", "theorem_train.csv.gz"), ("test.csv", "theorem_test.csv.gz")),
            (51,), 3059, 1530, 6,
        ),
        Source(
            "hepmass", "HEPMASS", f"{_UCI}/347", "CC BY 4.0",
            (("all_train.csv.gz", "all_train.csv"), ("all_test.csv.gz", "all_test.csv")),
            (27,), 7_000_000, 3_500_000, 2,
        ),
        Source(
            "kvasir", "Kvasir", "https://datasets.simula.no/kvasir", "research and education",
            (("kvasir-dataset-v2", "kvasir-dataset-v2.zip"),),
            (3, 80, 100), 6000, 2000, 8,
        ),
        Source(  # not the paper's: half as many images, so its figures do not compare
            "kvasir-v1", "Kvasir, version 1", "https://datasets.simula.no/kvasir",
            "research and education",
            (("kvasir_v1_100x80.zip", "kvasir-dataset", "kvasir-dataset.zip"),),
            (3, 80, 100), 3000, 1000, 8,
        ),
        Source(
            "cifar10", "CIFAR-10", "https://www.cs.toronto.edu/~kriz/cifar.html",
            "free; cite Krizhevsky 2009",
            (("cifar-10-batches-py", "cifar-10-python.tar.gz", "cifar-10-batches-bin",
              "cifar-10-binary.tar.gz"),),
            (3, 32, 32), 50_000, 10_000, 10,
        ),
    )
}  # fmt: skip
