"""What LFR with its defaults would keep where, from sizes alone."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from aleator.estimators.fit_context import sample_size
from aleator.losses import mean_squared_error
from aleator.methods.lfr import LFR, TARGET_DIM, default_duration
from aleator.modalities import Modality
from aleator.projectors.feature_encoder import default_width
from aleator.training.devices import resolve_precision
from aleator.training.host_rows import HostRows
from aleator.training.method import INPUT, DerivedColumn, Method, Phase
from aleator.training.plan import Plan, make_plan


class PlannedRows(HostRows):
    """Samples of which nothing is known but how many there are, their shape and where they are.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    sample_shape : tuple of int
        Shape of one sample.
    origin : {"device", "host", "streamed"}
        Where they are.
    """

    dtype = torch.float32

    def __init__(self, n_samples: int, sample_shape: tuple[int, ...], origin: str) -> None:
        self._length = n_samples
        self.sample_shape = sample_shape
        self.origin = origin

    def __len__(self) -> int:
        return self._length

    def gather(self, index: Tensor) -> Tensor:
        """Raise TypeError: there is nothing to read."""
        raise TypeError("a plan has no samples")

    def chunks(self, rows: int) -> Iterator[Tensor]:
        """Raise TypeError: there is nothing to read."""
        raise TypeError("a plan has no samples")


def default_plan(modality: Modality, rows: PlannedRows, device: torch.device) -> Plan | None:
    """Plan the training of ``LFR()``.

    Parameters
    ----------
    modality : Modality
        Kind of data.
    rows : PlannedRows
        The converted samples.
    device : torch.device
        Device of the training.

    Returns
    -------
    Plan or None
        None if the kind of data has no random features, so that sizes depend on networks.

    Examples
    --------
    >>> from aleator.modalities import get_modality
    >>> rows = PlannedRows(100, (3,), "host")
    >>> plan = default_plan(get_modality("table"), rows, torch.device("cpu"))
    >>> [(place.name, place.bytes) for place in plan.placements]
    [('input', 1200), ('targets', 1638400), ('features', 204800)]
    """
    if not modality.random_features or len(rows) < 2:
        return None
    lfr = LFR()
    sampled = sample_size(
        len(rows), int(torch.Size(rows.sample_shape).numel()), modality.sampled_rows
    )
    shapes = {
        "targets": (lfr.n_projectors, TARGET_DIM),
        "features": (default_width(sampled, modality.encoder_dim),),
    }
    derived = [
        DerivedColumn(name, INPUT, torch.Tensor.float, shape, fixed=True)
        for name, shape in shapes.items()
    ]
    phase = Phase(
        "joint",
        groups=[],
        train_mode=(),
        columns=("features", "targets"),
        outputs=lambda *columns: columns,
        criterion=mean_squared_error,
    )
    return make_plan(
        Method({}, [phase], derived=derived),
        {INPUT: rows},
        default_duration(len(rows), lfr.batch_size),
        pass_length=len(rows),
        batch_size=lfr.batch_size,
        device=device,
        precision=resolve_precision(lfr.precision, device),
    )
