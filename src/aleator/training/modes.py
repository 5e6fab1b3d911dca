"""Which modules are in training mode, and which parameters get gradients."""

from __future__ import annotations

from collections.abc import Iterable

from torch import nn

from aleator.training.method import Phase


class Modes:
    """The modes of all modules of a method.

    Parameters
    ----------
    modules : iterable of torch.nn.Module
        The modules, of which some parameters may be frozen already.

    Examples
    --------
    >>> import torch
    >>> layer = nn.Linear(2, 2)
    >>> modes = Modes([layer])
    >>> modes.evaluate()
    >>> layer.training, layer.weight.requires_grad
    (False, False)
    >>> modes.restore()
    >>> layer.weight.requires_grad
    True
    """

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        self._modules = list(modules)
        self._trainable = {
            parameter: parameter.requires_grad
            for module in self._modules
            for parameter in module.parameters()
        }

    def evaluate(self) -> None:
        """Set everything to evaluation mode, without gradients."""
        for module in self._modules:
            module.eval()
        for parameter in self._trainable:
            parameter.requires_grad_(False)

    def train(self, phase: Phase) -> None:
        """Only what a phase trains gets gradients; only its `train_mode` is in training mode."""
        self.evaluate()
        for module in phase.train_mode:
            module.train()
        for group in phase.groups:
            for parameter in group.parameters():
                parameter.requires_grad_(self._trainable[parameter])

    def restore(self) -> None:
        """Let all parameters get gradients that did so at the beginning."""
        for parameter, trainable in self._trainable.items():
            parameter.requires_grad_(trainable)
