"""Output shapes of networks, found by running them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


def output_width(network: nn.Module, input_shape: Sequence[int]) -> int:
    """Return the number of features per sample of a network's output.

    Runs on two samples of zeros in evaluation mode, so that no random numbers are drawn and the
    network is left as it was.

    Parameters
    ----------
    network : torch.nn.Module
        The network.
    input_shape : sequence of int
        Shape of a sample.

    Returns
    -------
    int

    Examples
    --------
    >>> output_width(nn.Conv1d(3, 4, kernel_size=2), (3, 6))
    20
    """
    device = next(network.parameters(), torch.empty(0)).device
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        with torch.no_grad():
            return flatten_output(network(torch.zeros(2, *input_shape, device=device))).shape[1]
    finally:
        for module, training in modes:
            module.training = training


def checked_output_width(network: nn.Module, input_shape: Sequence[int], role: str) -> int:
    """As `output_width`, with an error that names the network's role if it cannot be run.

    Parameters
    ----------
    network : torch.nn.Module
        The network.
    input_shape : sequence of int
        Shape of a sample.
    role : str
        What the network is called in the error message.

    Returns
    -------
    int

    Examples
    --------
    >>> checked_output_width(nn.Linear(3, 5), (3,), "head")
    5
    """
    try:
        return output_width(network, input_shape)
    except (RuntimeError, TypeError, IndexError) as error:
        raise ValueError(
            f"the {role} cannot process samples of shape {tuple(input_shape)}: {error}"
        ) from error


def flatten_output(output: Tensor) -> Tensor:
    """Flatten a network's output to one row per sample.

    Parameters
    ----------
    output : Tensor of shape (n, ...)
        What the network returned.

    Returns
    -------
    Tensor of shape (n, n_features)

    Examples
    --------
    >>> flatten_output(torch.zeros(5, 2, 3)).shape
    torch.Size([5, 6])
    """
    if not isinstance(output, Tensor):
        raise ValueError(
            f"a network must return one tensor, not {type(output).__name__}: "
            "wrap it in a module that selects the output you want"
        )
    if output.ndim == 0:
        raise ValueError("a network must return one row per sample; this one returned a scalar")
    return output.flatten(1) if output.ndim != 1 else output[:, None]


def feature_maps(encoder: nn.Module, x: Tensor) -> Tensor:
    """Output of an encoder of series before it flattens time.

    If the encoder has a method of this name, it is called. An ``nn.Sequential`` is run up to its
    first ``nn.Flatten``; any other module is run as a whole.

    Parameters
    ----------
    encoder : torch.nn.Module
        The encoder.
    x : Tensor of shape (n, channels, time)
        A batch.

    Returns
    -------
    Tensor of shape (n, channels, time)

    Examples
    --------
    >>> layers = nn.Sequential(nn.Conv1d(2, 4, kernel_size=3), nn.Flatten())
    >>> feature_maps(layers, torch.zeros(5, 2, 9)).shape
    torch.Size([5, 4, 7])
    """
    if callable(own := getattr(encoder, "feature_maps", None)):
        return own(x)
    if not isinstance(encoder, nn.Sequential):
        return encoder(x)
    for layer in encoder:
        if isinstance(layer, nn.Flatten):
            break
        x = layer(x)
    return x.flatten(2) if x.ndim > 3 else x
