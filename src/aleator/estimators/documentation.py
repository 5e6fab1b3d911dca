"""What estimators' docstrings say of the parameters and attributes that they share."""

from __future__ import annotations

_PARAGRAPHS = {
    "{encoding}": """\
embedding_dim : int or None
    Width of the embedding. None: 256 for tables, the flattened width of the CNN for series, 64 for
    a TCN, 2048 for images.
encoder : str, torch.nn.Module or callable
    A name ("auto", "mlp"; series: "cnn", "tcn"; images: "resnet18"), a module (copied; it keeps its
    own width), or a factory that gets (input_shape, embedding_dim).""",
    "{data}": """\
modality : {"auto", "table", "series", "image"}
    "auto" reads the shape of X: (n, columns), (n, channels, time) or
    (n, channels, height, width).
preprocessing : {"auto", None}
    "auto" centres every column or channel and scales it to unit deviation; None leaves values
    untouched.
device : str
    "auto", "cpu", "cuda", "cuda:1" …
precision : {"auto", "32", "tf32", "bf16"}
    "auto" is tf32 on a GPU. "bf16" trains the networks in half precision.
random_state : int, RandomState or None
    Fixes everything: same seed, same machine, same numbers.""",
    "{views}": """\
views : "auto", callable or two of them
    "auto": for series TS-TCC's weak and strong view; for tables the row as it is and corrupted as
    in SCARF; for images crop, flip, colour jitter, greyscale and blur
    (pip install 'aleator[image]'). A function gets a batch and returns a changed one.
view_options : dict or None
    Adjusts the built-in views. Series: weak_scale, weak_mean, segments, strong_noise (as in
    TSTCC). Tables: corruption. Images: least_area, flip, jitter, jitter_share, grey_share,
    blur_share, blur_kernel.""",
    "{view}": """\
views : "auto", "either", None or callable
    "auto" augments images as SimCLR does (pip install 'aleator[image]') and leaves tables and
    series as they are; "either" shows each sample in one or the other of SimCLR's views; None
    changes nothing. A function gets a batch and returns a changed one.
view_options : dict or None
    Adjusts the built-in views, as in SimCLR.""",
    "{projector}": """\
projector_layers, projector_hidden : int or None
    Layers of the head after the embedding, and their width. None, as in the paper: 2 of 256 for
    tables, 3 of 512 for series, 3 of 256 for images.
projector_norm : {"auto", "none", "hidden", "end", "both"}
    Where the head normalises batches: nowhere, between its layers, at its end. "auto" is "hidden";
    for tables "none" with a contrastive loss, "end" with STab.""",
    "{heads}": """\
projector_layers, projector_hidden : int or None
    Layers of the head after the embedding, and their width. None, as in the paper: 2 of 256 for
    tables, 3 of 512 for series, 3 of 256 for images.
projector_norm : {"auto", "none", "hidden", "end", "both"}
    Where the head normalises batches: nowhere, between its layers, at its end. "auto" is "hidden";
    for tables "none" with a contrastive loss, "end" with STab.
predictor : {"auto", "linear", "mlp"} or callable
    The layer after the projector. "auto" is the paper's: linear, but "mlp" for images and TCNs.
    "mlp" has `predictor_layers` layers of width `predictor_hidden`. A factory gets
    (projector_hidden, projector_hidden).""",
    "{training}": """\
epochs : int
    Passes over the data in which the encoder is trained.
steps : int or None
    Count in steps instead: stop after so many encoder steps; `warmup_epochs` then counts steps.
batch_size : int
    Rows a step looks at.
optimizer : {"adam", "adamw", "sgd"}
    With `learning_rate` (None: 1e-3 for tables, 3e-4 for series and images), `betas` (Adam),
    `momentum` (SGD) and `weight_decay`.
schedule : {"constant", "cosine"}
    Of the encoder's learning rate, after `warmup_epochs` of linear warm-up.
memory_limit : int or None
    Bytes that data and what is derived from them may take on the device; None: 70 % of what is
    free. What does not fit stays on the host or is computed again for every batch.
progress : bool
    Show a progress bar if there is a terminal.""",
    "{attributes}": """\
encoder_ : the trained network, on the CPU.
history_ : a dict for every pass over the data: epoch, phase, loss, seconds, steps, rates, and for
    passes that train the encoder `embedding_std` and `effective_rank` (see `training.watch`).
plan_ : what was kept where; print it.
embedding_dim_, n_features_in_, feature_names_in_ : as their names say.""",
}


def filled_in(docstring: str) -> str:
    """Replace each marker line by its paragraphs, indented as the marker is.

    >>> print(filled_in("    {attributes}").splitlines()[0])
        encoder_ : the trained network, on the CPU.
    """
    lines: list[str] = []
    for line in docstring.splitlines():
        paragraph = _PARAGRAPHS.get(line.strip())
        if paragraph is None:
            lines.append(line)
        else:
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + part if part else part for part in paragraph.splitlines()]
    return "\n".join(lines)
