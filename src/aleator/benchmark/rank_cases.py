"""The methods that are trained on several processes and on one, and how fits are compared.

Plain gradient descent shows every error of a gradient, which Adam's division by its size would
hide. In single precision it also does without Adam's steps along gradients that are zero but for
rounding, such as those of a bias before batch normalization, which differ between any two machines.
In double precision these gradients are far below Adam's epsilon, so that both can be compared.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F

if TYPE_CHECKING:
    from aleator.inputs.graphs.graph import Graph

_SERIES, _TABLE, _IMAGES, _GRAPHS = (2, 24), (6,), (3, 12, 10), (9, 3)
_FEW = {"n_projectors": 3, "target_dim": 16, "learning_rate": 0.5}
_PAPER = {"n_projectors": 2, "n_candidates": 4, "predictor_epochs": 2}


@dataclass(frozen=True)
class Case:
    """A method that is trained: an estimator, the shape of a sample, and parameters.

    If samples are graphs, the shape is that of the features of the nodes of the largest.
    """

    estimator: str
    shape: tuple[int, ...]
    parameters: dict[str, Any]
    graphs: bool = False


CASES = {
    "LFR, table": Case("LFR", _TABLE, _FEW),
    "LFR, series": Case("LFR", _SERIES, _FEW),
    # Encoder and predictors in turns, dropout, batch normalization, and a loss over pairs of rows.
    "LFR.paper, series": Case("LFR.paper", _SERIES, _PAPER),
    "LFR.paper, mlp and InfoNCE": Case(
        "LFR.paper", _TABLE, {**_PAPER, "predictor": "mlp", "loss": "infonce"}
    ),
    "LFR.paper, cosine": Case("LFR.paper", _TABLE, {**_PAPER, "loss": "cosine"}),
    "LFR.paper, function": Case("LFR.paper", _TABLE, {**_PAPER, "loss": F.mse_loss}),
    "Autoencoder, series": Case("Autoencoder", _SERIES, {}),
    "DIET, table": Case("DIET", _TABLE, {"learning_rate": 0.5}),
    "SimSiam, series": Case("SimSiam", _SERIES, {}),
    "BYOL, table": Case("BYOL", _TABLE, {}),
    "SimCLR, series": Case("SimCLR", _SERIES, {}),
    # Its gradients are so large that with a larger rate rounding grows tenfold per step.
    "SimCLR, images": Case("SimCLR", _IMAGES, {"encoder": "mlp", "learning_rate": 3e-6}),
    "SCARF, table": Case("SCARF", _TABLE, {"learning_rate": 0.5}),
    "STab, table": Case("STab", _TABLE, {}),
    "TSTCC, series": Case("TSTCC", _SERIES, {}),
    "DACL, table": Case("DACL", _TABLE, {"mixing": ("linear", "binary")}),
    "Supervised, series": Case("Supervised", _SERIES, {}),
    "Supervised, transformer": Case("Supervised", _SERIES, {"encoder": "transformer"}),
    "Supervised, images": Case("Supervised", _IMAGES, {"encoder": "mlp", "views": "auto"}),
    # Batch normalization over nodes, of which processes have different numbers.
    "LFR.paper, graphs": Case("LFR.paper", _GRAPHS, _PAPER, graphs=True),
    "Supervised, graphs": Case("Supervised", _GRAPHS, {}, graphs=True),
    "DIET, graphs": Case("DIET", _GRAPHS, {}, graphs=True),
}  # fmt: skip


def data_of(case: Case, rows: int, last_bits: int | None = None) -> tuple[Any, np.ndarray]:
    """Draw samples and labels.

    Parameters
    ----------
    case : Case
        What is trained.
    rows : int
        Number of samples.
    last_bits : int or None, default=None
        Seed with which half of the values are drawn, which are replaced by the next larger number;
        None changes no value.

    Returns
    -------
    X : ndarray of shape (rows, ...), or list of Graph
    y : ndarray of shape (rows,)
    """
    y = np.arange(rows) % 3
    X = np.random.default_rng(0).normal(size=(rows, *case.shape)).astype(np.float32)
    X[..., 0] += y.reshape(-1, *[1] * (len(case.shape) - 1))
    if last_bits is not None:
        chosen = np.random.default_rng([1, last_bits]).random(X.shape) < 0.5
        X = np.where(chosen, np.nextafter(X, np.float32(np.inf)), X)
    return _graphs_of(X) if case.graphs else X, y


def _graphs_of(features: np.ndarray) -> list[Graph]:
    """Make a path of the first nodes of every row, as many as are drawn."""
    from aleator.inputs.graphs.graph import Graph

    counts = np.random.default_rng(2).integers(1, features.shape[1], len(features), endpoint=True)
    graphs = []
    for nodes, count in zip(features, counts, strict=True):
        here = np.arange(count - 1)
        ends = np.stack([here, here + 1], 1)
        source, target = np.concatenate([ends, ends[:, ::-1]]).T
        graphs.append(Graph(int(count), source, target, {"x": nodes[:count].astype(np.float64)}))
    return graphs


def fit_case(
    name: str,
    processes: int,
    *,
    rows: int,
    batch: int,
    steps: int,
    precision: str = "32",
    optimizer: str = "sgd",
    strategy: str = "ddp",
    num_nodes: int = 1,
    last_bits: int | None = None,
    **fit: Any,
) -> dict[str, Any]:
    """Fit a case as one of `processes`, whose group exists if there are several.

    Parameters
    ----------
    name : str
        Name of the case.
    processes : int
        Number of processes.
    rows : int
        Number of samples.
    batch : int
        Rows per step of all processes together.
    steps : int
        Number of steps.
    precision : str, default="32"
        Precision of the training.
    optimizer : str, default="sgd"
        The optimizer. Adam has the learning rate that is the method's default.
    strategy : str, default="ddp"
        How processes are started that do not exist yet.
    num_nodes : int, default=1
        Number of machines, which have as many of the processes each.
    last_bits : int or None, default=None
        Argument of `data_of`.
    **fit : object
        Further arguments of `fit`.

    Returns
    -------
    dict
        Weights of all networks by name, and the losses.
    """
    import aleator

    case = CASES[name]
    X, y = data_of(case, rows, last_bits)
    make: Any = aleator
    for part in case.estimator.split("."):
        make = getattr(make, part)
    settings = {
        "embedding_dim": 128 if case.parameters.get("encoder") == "transformer" else 8,
        "steps": steps,
        "batch_size": batch // processes,
        "devices": processes // num_nodes,
        "num_nodes": num_nodes,
        "strategy": strategy,
        "device": "cpu",
        "optimizer": optimizer,
        "learning_rate": 1e-3,
        "precision": precision,
        "random_state": 0,
        "progress": False,
        **case.parameters,
    }
    if optimizer != "sgd":
        settings["learning_rate"] = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of collapse, after so few steps
        model = make(**settings).fit(X, y, **fit)
    return {"weights": weights_of(model), "losses": [r["loss"] for r in model.history_]}


def weights_of(model: Any) -> dict[str, np.ndarray]:
    """Return the weights and buffers of all trained networks of a fitted estimator by name."""
    found: dict[str, np.ndarray] = {}
    for attribute, value in vars(model).items():
        modules = value if isinstance(value, list) else [value]
        for k, module in enumerate(modules):
            if isinstance(module, torch.nn.Module) and attribute != "projectors_":
                for key, tensor in module.state_dict().items():
                    found[f"{attribute} {k} {key}"] = tensor.detach().numpy().copy()
    return found


def difference(first: dict[str, Any], second: dict[str, Any]) -> tuple[float, float]:
    """Return the largest difference of the weights, and of the losses relative to their size.

    Examples
    --------
    >>> one = {"weights": {"a": np.ones(2)}, "losses": [2.0]}
    >>> difference(one, {"weights": {"a": np.array([1.0, 1.5])}, "losses": [2.5]})
    (0.5, 0.25)
    """
    assert first["weights"].keys() == second["weights"].keys()
    weights = max(
        float(np.abs(value.astype(np.float64) - second["weights"][key]).max())
        for key, value in first["weights"].items()
    )
    losses = max(
        abs(a - b) / max(abs(a), 1e-12)
        for a, b in zip(first["losses"], second["losses"], strict=True)
    )
    return weights, losses


def largest_move(start: dict[str, Any], end: dict[str, Any]) -> float:
    """Return by how much training has moved the weights, with which differences are compared."""
    parts = [
        {"weights": {k: v for k, v in fit["weights"].items() if v.dtype.kind == "f"}, "losses": [0]}
        for fit in (start, end)
    ]
    return difference(*parts)[0]


def stop_after(checkpoints: int) -> None:
    """Let the first process fail after it has written so many checkpoints."""
    from aleator.training.checkpoint import CheckpointFolder

    write = CheckpointFolder.write
    left = checkpoints

    def write_or_fail(self: CheckpointFolder, *arguments: Any) -> None:
        nonlocal left
        write(self, *arguments)
        left -= 1
        if left == 0:
            CheckpointFolder.write = write  # type: ignore[method-assign]
            raise RuntimeError("stopped")

    CheckpointFolder.write = write_or_fail  # type: ignore[method-assign, assignment]


def fit_and_stop(name: str, processes: int, settings: dict[str, Any], folder: Path) -> str:
    """Fit a case, but stop it in the middle; return the message of the error."""
    stop_after(3)
    try:
        fit_case(name, processes, **settings, checkpoint=folder, checkpoint_every=5)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    raise AssertionError("the fit was not stopped")
