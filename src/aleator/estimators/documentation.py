"""Descriptions of the parameters and attributes that several estimators share."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

_PARAGRAPHS = {
    "{encoder}": """\
embedding_dim : int or None, default=?
    Width of the embedding. For "random-features", None is 1024 for tables, 4096 for images, 512
    for all others and the largest of them for several parts, but not more than the largest power
    of two that is at most half of the number of samples from which features are drawn (few, if
    samples are large), and at least 512. For networks, None is 256 for tables, texts, graphs and
    several parts, 2048 for images, the flattened width of the CNN for series (at most 1024 for long
    series, whose CNN is pooled), 64 for a TCN and 128 for a transformer.
encoder : str, torch.nn.Module or callable, default=?
    A name, a module (copied; it keeps its own width), or a factory called with
    (input_shape, embedding_dim) and, if it has a parameter `sample`, with up to 4096 samples of the
    training data (12 288 of images). Names are "random-features" (random features of the data,
    followed by a small network, which is trained), "auto" (the paper's network) and "mlp"; for
    tables "mlp-hidden" (which ends with a hidden layer and its ReLU); for series "cnn",
    "cnn-pooled" (width independent of the length; "auto" for long series), "cnn-strided" (a first
    convolution for long series), "tcn" and "transformer" (of patches of time steps); for images
    "resnet18"; for graphs "gin".""",
    "{data}": """\
modality : str or dict of str, default=?
    Kind of data: "auto", "table", "series", "irregular-series", "image", "text", "graph" or
    "audio". "auto" infers it from the shape of X: (n, columns), (n, channels, time) or
    (n, channels, height, width). A data frame is a table; a list, an array or a column of strings
    is text; a list or a folder of images is images, one of graphs is graphs, and what
    `aleator.open_audio` returns is audio. A list of arrays of different lengths, series with NaN
    and what `aleator.open_series` returns are "irregular-series". If X is a dict of several parts,
    a dict names the kinds of those parts that "auto" would not find.
preprocessing : {"auto", None}, default=?
    "auto" standardizes every column, feature or channel to zero mean and unit variance; None leaves
    values as they are.
device : str, default=?
    "auto" is the first GPU, else the CPU; or "cpu", "cuda", "cuda:1" and so on.
precision : {"auto", "64", "32", "tf32", "bf16"}, default=?
    "auto" is tf32 on a GPU. "bf16" trains the networks in half precision, "64" in double precision,
    which is slow, for comparisons. A fitted estimator is in single precision.
random_state : int, RandomState instance or None, default=?
    Seed of everything random. The same seed on the same machine gives the same numbers.""",
    "{views}": """\
views : "auto", callable or tuple of two callables, default=?
    "auto" is the weak and the strong view of TS-TCC for series; the row itself and its corruption
    as in SCARF for tables and texts; crop, flip, color jitter, grayscale and blur for images
    (``pip install 'aleator[image]'``). A function maps a batch to a changed batch.
view_options : dict or None, default=?
    Options of the built-in views. Series: weak_scale, weak_mean, segments, strong_noise (see
    TSTCC). Tables and texts: corruption. Images: least_area, flip, jitter, jitter_share,
    gray_share, blur_share, blur_kernel.""",
    "{single view}": """\
views : "auto", "either", None or callable, default=?
    "auto" augments images as SimCLR does (``pip install 'aleator[image]'``) and leaves tables and
    series as they are; "either" applies one of SimCLR's two views at random; None changes nothing.
    A function maps a batch to a changed batch.
view_options : dict or None, default=?
    Options of the built-in views (see SimCLR).""",
    "{projection head}": """\
projector_layers : int or None, default=?
    Layers of the projection head. None, as in the paper: 2 for tables, 3 for series and images.
projector_hidden : int or None, default=?
    Width of its hidden layers. None, as in the paper: 256 for tables and images, 512 for series.
projector_dim : int or None, default=?
    Width of its output. None is the width of the embedding.
projector_norm : {"auto", "none", "hidden", "end", "both"}, default=?
    Where the projection head normalizes batches: nowhere, between its layers, at its end, or both.
    "auto" is "hidden" for series and images; for tables it is "none" with a contrastive loss,
    "hidden" for SimSiam and BYOL, "end" for STab.""",
    "{predictor}": """\
predictor : {"auto", "linear", "mlp"} or callable, default=?
    Head after the projection head. "auto" is the paper's: linear, but "mlp" for images and TCNs. A
    factory is called with the width of the output of the projection head, twice.
predictor_layers : int, default=?
    Layers of an "mlp" predictor.
predictor_hidden : int, default=?
    Width of the hidden layers of an "mlp" predictor.""",
    "{predictor lr}": """\
predictor_learning_rate : float or None, default=?
    Learning rate of the predictor, which stays constant whatever the schedule. None is
    `learning_rate`.""",
    "{training}": """\
epochs : int (for LFR also None), default=?
    Passes over the data that train the encoder. None is 20, or fewer so that there are at most 500
    steps.
steps : int or None, default=?
    Number of encoder steps, instead of `epochs`; `warmup_epochs` then counts steps.
batch_size : int, default=?
    Rows per step, in every process.
optimizer : {"adam", "adamw", "sgd"}, default=?
    The optimizer.
learning_rate : float or None, default=?
    None is 1e-3 for tables and texts, and for LFR with the encoder "random-features"; 3e-4 for
    series and images.
betas : tuple of two floats, default=?
    Decay of the moments of Adam.
momentum : float, default=?
    Momentum of SGD.
weight_decay : float, default=?
    Weight decay.
schedule : {"constant", "cosine"}, default=?
    Schedule of the learning rate after the warm-up.
warmup_epochs : int, default=?
    Epochs of linear warm-up.
memory_limit : int or None, default=?
    Bytes that the data and what is derived from them may take on the device. None is 70 % of what
    is free. What does not fit stays on the host or is computed again for every batch.
devices : int, default=?
    Processes per machine that train together, each on a device of its own. More than one need
    ``pip install 'aleator[distributed]'`` (docs/distributed.md).
num_nodes : int, default=?
    Number of machines.
strategy : {"ddp", "ddp_spawn", "ddp_fork", "ddp_notebook"}, default=?
    How Lightning Fabric starts processes. "ddp" runs the script again for each, or finds those that
    torchrun or SLURM started; the others start them for `fit` only, the last also in notebooks.
progress : bool, default=?
    Show a progress bar if stderr is a terminal.
verbose : int, default=?
    1 prints a line per encoder pass, 2 a line per pass over the data.""",
    "{head attributes}": """\
projection_head_ : torch.nn.Module
    The trained projection head, on the CPU.
predictor_ : torch.nn.Module
    The trained predictor, on the CPU.""",
    "{trained attributes}": """\
encoder_ : torch.nn.Module
    The trained encoder, on the CPU.
embedding_dim_ : int
    Width of the embedding.
history_ : list of dict
    One record per pass over the data: epoch, phase, loss, seconds, steps, learning rates and, for
    passes that train the encoder, `embedding_std` and `effective_rank`.
plan_ : Plan
    What was kept where; print it.
random_state_ : int or None
    Seed with which the fit can be repeated: `random_state`, or what was drawn if that is None. None
    for a RandomState instance, which would have to be in the same state again.
adapter_ : Adapter
    How new data are converted; print it to see what is done with the columns of a table.
n_features_in_ : int
    Number of columns or channels of the training data.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns; only if X had names that are all strings.""",
    "{untrained attributes}": """\
embedding_dim_ : int
    Width of the embedding.
history_ : list
    Empty: nothing is trained by the trainer.
plan_ : None
    Nothing is trained by the trainer.
random_state_ : int or None
    Seed with which the fit can be repeated: `random_state`, or what was drawn if that is None. None
    for a RandomState instance, which would have to be in the same state again.
adapter_ : Adapter
    How new data are converted; print it to see what is done with the columns of a table.
n_features_in_ : int
    Number of columns or channels of the training data.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns; only if X had names that are all strings.""",
}

_DEFAULT = re.compile(r"^\s*(\w+) : .*default=(\?)$")


def complete_docstring(docstring: str, defaults: dict[str, Any]) -> str:
    """Replace markers by shared descriptions, and every ``default=?`` by the default.

    Examples
    --------
    >>> print(complete_docstring("{predictor lr}", {"predictor_learning_rate": None}))
    predictor_learning_rate : float or None, default=None
        Learning rate of the predictor, which stays constant whatever the schedule. None is
        `learning_rate`.
    """
    lines: list[str] = []
    for line in docstring.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        paragraph = _PARAGRAPHS.get(line.strip())
        added = [line] if paragraph is None else [indent + p for p in paragraph.splitlines()]
        for text in added:
            if (match := _DEFAULT.match(text)) and match[1] in defaults:
                default = defaults[match[1]]
                shown = f'"{default}"' if isinstance(default, str) else repr(default)
                text = text[:-1] + shown
            lines.append(text)
    return "\n".join(lines)


def field_defaults(cls: type) -> dict[str, Any]:
    """Defaults of the fields of a dataclass.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: int = 3
    >>> field_defaults(Point)
    {'x': 3}
    """
    return {field.name: field.default for field in dataclasses.fields(cls)}
