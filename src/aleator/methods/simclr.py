"""SimCLR (Chen et al. 2020): two views of a sample should be closer than views of two samples."""

from __future__ import annotations

from torch import Tensor, nn

from aleator.losses import nt_xent
from aleator.methods.siamese import OfBoth
from aleator.networks.shapes import as_rows
from aleator.training.method import INPUT, Method, Phase, jointly


def simclr(
    encoder: nn.Module,
    head: nn.Module,
    first_view: nn.Module,
    second_view: nn.Module,
    *,
    temperature: float,
) -> Method:
    """Trains encoder and head; NT-Xent between what they make of the two views."""

    def represent(rows: Tensor) -> Tensor:
        return head(as_rows(encoder(rows)))

    of_both = OfBoth(represent, encoder, head)

    def loss(rows: Tensor) -> Tensor:
        first, second = of_both(first_view(rows), second_view(rows))
        return nt_xent(first, second, temperature)

    phase = Phase("contrast", {"encoder": jointly(encoder, head)}, (encoder, head), (INPUT,), loss)
    modules = {"encoder": encoder, "head": head, "view 1": first_view, "view 2": second_view}
    return Method(modules, [phase])
