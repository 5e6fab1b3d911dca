"""The projectors of LFR: how many are drawn and kept, and which."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn

from aleator.diversity import default_n_candidates
from aleator.estimators import FitContext
from aleator.estimators.network_specs import ProjectorsSpec, copy_modules
from aleator.modalities import Modality
from aleator.modalities.choices import is_drawn_from_data
from aleator.networks.shapes import checked_output_width
from aleator.projectors import Candidates, Selection, select


class ProjectorCounts(NamedTuple):
    """Number of projectors that are kept, of candidates that are drawn, and of further ones."""

    kept: int
    drawn: int
    extra: int


def are_drawn_from_data(estimator: Any, modality: Modality) -> bool:
    """Return whether all projectors are drawn from the data, not networks with random weights."""
    if estimator.projectors is not None:
        return False
    choices = modality.projector_choices(estimator.projector)
    return all(is_drawn_from_data(modality, choice) for choice in choices)


def projector_counts(
    estimator: Any, modality: Modality, *, drawn_from_data: bool, solvable: bool
) -> ProjectorCounts:
    """Resolve numbers of projectors, and check them against given modules.

    `solvable` says whether the encoder has a linear part that is solved for; others have no use for
    further projectors.
    """
    kept, drawn = estimator.n_projectors, estimator.n_candidates
    if estimator.projectors is not None:
        given = len(estimator.projectors)
        if drawn is None:
            kept = drawn = given
        elif drawn != given:
            raise ValueError(
                f"n_candidates={drawn}, but {given} projectors are given: to select among "
                f"them set n_candidates={given}, to use them all leave it None"
            )
    if drawn is None:
        drawn = kept if drawn_from_data else default_n_candidates(kept)
    if kept > drawn:
        raise ValueError(
            f"n_projectors={kept} is larger than n_candidates={drawn}: "
            "no more projectors can be kept than are drawn"
        )
    if estimator.predictors is not None and len(estimator.predictors) != kept:
        raise ValueError(
            f"{len(estimator.predictors)} predictors are given for {kept} projectors: "
            "there must be one for each"
        )
    extra = estimator.n_extra_projectors
    if not solvable or estimator.projectors is not None:
        extra = 0
    elif extra is None:
        extra = modality.extra_projectors * kept
    return ProjectorCounts(kept, drawn, extra)


def select_projectors(
    estimator: Any,
    spec: ProjectorsSpec,
    context: FitContext,
    counts: ProjectorCounts,
    target_dim: int,
) -> tuple[Selection, Candidates]:
    """Draw candidates, or copy those that are given, and keep a diverse few of them.

    Returns the selection, and the further projectors, which take no part in it.
    """
    shape = context.adapter.shape
    if estimator.projectors is not None:
        candidates = Candidates.from_modules(copy_modules(estimator.projectors))
        checked_output_width(candidates[0], shape, "projector")
    else:
        network_context = context.network_context({"target_dim_": target_dim})
        candidates = Candidates.drawn(
            lambda position: spec.build_one(estimator, network_context, position),
            context.seeds.projectors,
            counts.drawn + counts.extra,
            init=estimator.projector_init,
            weight_dropout=estimator.weight_dropout,
            keep=not isinstance(estimator.projector, (str, nn.Module)),
        )
        if isinstance(estimator.projector, nn.Module):
            checked_output_width(estimator.projector, shape, "projector")
    batch_size = estimator.batch_size * context.processes.size
    rows = context.sampler.peek()[: estimator.selection_size or max(2, batch_size)]
    batch = torch.from_numpy(context.source.gather(rows.numpy()))
    candidates, extra = candidates.split(counts.drawn)
    return select(candidates, batch, counts.kept), extra
