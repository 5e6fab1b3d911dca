"""Drawing candidate projectors one at a time, and keeping a diverse few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from aleator.diversity import greedy_map, kernel_of_signatures, projector_signature
from aleator.networks.shapes import flatten_output
from aleator.projectors.initialization import initialize

# An output that varies by less than this share of its size does not depend on the input.
_CONSTANT = 1e-6


class Candidates:
    """Candidate projectors, each drawn from a seed of its own, or given by the user.

    Parameters
    ----------
    draw : callable
        Function of a position that returns the candidate there. It must return an equal network
        whenever it is called with the same position.
    count : int
        Number of candidates.
    given : bool, default=False
        Whether the user passed these modules; then none may be constant.

    Examples
    --------
    >>> candidates = Candidates.drawn(lambda position: nn.Linear(2, 3), seed=0, count=2)
    >>> torch.equal(candidates[1].weight, candidates[1].weight)
    True
    """

    def __init__(
        self, draw: Callable[[int], nn.Module], count: int, *, given: bool = False
    ) -> None:
        self._draw = draw
        self._count = count
        self.given = given

    @classmethod
    def drawn(
        cls,
        make: Callable[[int], nn.Module],
        seed: int,
        count: int,
        *,
        init: str = "default",
        weight_dropout: float = 0.0,
        keep: bool = False,
    ) -> Candidates:
        """Candidates that are drawn when they are asked for, each from a seed of its own.

        Parameters
        ----------
        make : callable
            Function of a position that returns a new network with weights from torch's global
            generator.
        seed : int
            Seed of all candidates.
        count : int
            Number of candidates.
        init : {"default", "beta"}, default="default"
            How weights are initialized (see `initialize`).
        weight_dropout : float, default=0.0
            Share of weights that are set to zero.
        keep : bool, default=False
            Keep every candidate instead of drawing it again: for factories of the user, which may
            return another network when they are called again.

        Returns
        -------
        Candidates
        """
        seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(count)]
        kept: dict[int, nn.Module] = {}

        def draw(position: int) -> nn.Module:
            if position in kept:
                return kept[position]
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seeds[position])
                candidate = initialize(make(position), init, weight_dropout).eval()
            if keep:
                kept[position] = candidate
            return candidate

        return cls(draw, count)

    @classmethod
    def from_modules(cls, modules: Sequence[nn.Module]) -> Candidates:
        """Candidates that the user passed as modules.

        Parameters
        ----------
        modules : sequence of torch.nn.Module
            The projectors.

        Returns
        -------
        Candidates
        """
        return cls(lambda position: modules[position].eval(), len(modules), given=True)

    def __len__(self) -> int:
        return self._count

    def split(self, count: int) -> tuple[Candidates, Candidates]:
        """Divide into the first ones and the others.

        Parameters
        ----------
        count : int
            Number of the first ones.

        Returns
        -------
        first, others : Candidates

        Examples
        --------
        >>> pool = Candidates.drawn(lambda position: nn.Linear(2, 3), seed=0, count=5)
        >>> first, others = pool.split(2)
        >>> len(first), len(others), torch.equal(others[0].weight, pool[2].weight)
        (2, 3, True)
        """
        first = Candidates(self._draw, count, given=self.given)
        others = Candidates(
            lambda position: self._draw(count + position), self._count - count, given=self.given
        )
        return first, others

    def __getitem__(self, position: int) -> nn.Module:
        return self._draw(position)


@dataclass(frozen=True)
class Selection:
    """The projectors that were kept.

    Attributes
    ----------
    projectors : list of torch.nn.Module
        The projectors, in order of choice.
    indices : ndarray of shape (k,)
        Their positions among the candidates.
    kernel : ndarray of shape (N, N)
        Similarity of all candidates.
    """

    projectors: list[nn.Module]
    indices: np.ndarray
    kernel: np.ndarray


def select(candidates: Candidates, batch: Tensor, k: int) -> Selection:
    """Keep `k` diverse candidates; all of them, in their order, if `k` is their number.

    Candidates are drawn, run and dropped one at a time, and those that were chosen are drawn again,
    so that only the chosen ones are ever in memory together. A projector whose output does not
    depend on its input is useless as a target: among candidates that were drawn it is skipped, one
    that the user passed is refused.

    Parameters
    ----------
    candidates : Candidates
        Projectors to choose from.
    batch : Tensor of shape (m, ...)
        Samples on which projectors are compared.
    k : int
        Number of projectors to keep.

    Returns
    -------
    Selection

    Examples
    --------
    >>> candidates = Candidates.drawn(lambda position: nn.Linear(2, 3), seed=0, count=5)
    >>> select(candidates, torch.arange(12.0).view(6, 2), 2).kernel.shape
    (5, 5)
    """
    keep_all = k == len(candidates)
    kept, signatures, widths, constant = [], [], set(), []
    for position in range(len(candidates)):
        candidate = candidates[position]
        if keep_all:
            kept.append(candidate)
        output = _run(candidate, batch, exact=not keep_all)
        if not torch.isfinite(output).all():
            raise ValueError(f"the output of projector {position} is NaN or infinite on these data")
        widths.add(output.shape[1])
        if _is_constant(output):
            constant.append(position)
        signatures.append(projector_signature(output))
    if len(widths) > 1:
        raise ValueError(
            f"all projectors must have the same output dimension, got {sorted(widths)}"
        )
    informative = [i for i in range(len(candidates)) if i not in constant]
    if constant and (candidates.given or len(informative) < k):
        raise ValueError(
            f"the output of projector{'s' if len(constant) > 1 else ''} "
            f"{', '.join(map(str, constant[:8]))}{' …' if len(constant) > 8 else ''} is the same "
            "for every row, so there is nothing to learn from: the projector is constant, or all "
            "rows of X are equal"
        )
    kernel = kernel_of_signatures(torch.stack(signatures))
    if keep_all:
        return Selection(kept, np.arange(k), kernel.float().numpy())
    usable = torch.tensor(informative)
    chosen = usable[greedy_map(kernel[usable][:, usable], k)]
    projectors = [candidates[int(position)] for position in chosen]
    return Selection(projectors, chosen.numpy(), kernel.float().numpy())


def _run(projector: nn.Module, batch: Tensor, *, exact: bool) -> Tensor:
    """Output of a projector; an exact one is computed in double precision.

    Candidates that are chosen among need it, so that rounding does not decide which ones are kept.
    """
    with torch.no_grad():
        if not exact:
            return flatten_output(projector(batch)).double()
        try:
            return flatten_output(projector.double()(batch.double())).double()
        except RuntimeError:  # a module of the user that works in single precision only
            return flatten_output(projector.float()(batch)).double()
        finally:
            projector.float()


def _is_constant(output: Tensor) -> bool:
    spread = (output - output[:1]).abs().max()
    return bool(spread <= _CONSTANT * output.abs().max())
