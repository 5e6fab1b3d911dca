"""Families are drawn on the device of the sample, with numbers from a generator on the CPU.

The device "meta" has shapes but no values, and stands for a GPU.
"""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from aleator.projectors import trees, vocabularies
from aleator.projectors.drawn import DrawnModule
from aleator.projectors.feature_encoder import FeatureTrunk
from aleator.projectors.target_scaling import TargetScaling
from tests.projectors.families import FAMILIES, generator, sample_of


class OneDevice(TorchDispatchMode):
    """Refuses operations on tensors of different devices, as a GPU does; copies are allowed."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        devices = {x.device.type for x in tensors if x.ndim or x.device.type != "cpu"}
        copies = func.overloadpacket in (torch.ops.aten._to_copy, torch.ops.aten.copy_)
        assert copies or len(devices) < 2, f"{func} of tensors on {devices}"
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("family", "modality"), FAMILIES)
def test_a_family_is_drawn_on_the_device_of_the_sample(family, modality, monkeypatch):
    # Columns are drawn on the CPU, which needs the values.
    for module, name in ((trees, "column_entropies"), (vocabularies, "column_weights")):
        monkeypatch.setattr(module, name, lambda sample: torch.ones(sample.shape[1]))
    sample = sample_of(modality).to("meta")
    with OneDevice():
        drawn = family.draw(sample, 33, generator())
        assert drawn(sample).shape == (40, 33)
    assert {part.device.type for part in drawn.state_dict().values()} == {"meta"}


class Shift(DrawnModule):
    def __init__(self, offset=None):
        super().__init__()
        self.store(offset=offset)


@pytest.mark.filterwarnings("ignore:.*which is a no-op")  # there are no values on "meta"
@pytest.mark.parametrize(
    ("empty", "saved"),
    [
        (Shift(), Shift(torch.ones(3))),
        (Shift(torch.ones(3)), Shift(torch.ones(3))),
        (FeatureTrunk(2, 2), FeatureTrunk(4, 3)),
    ],
)
def test_a_module_stays_on_its_device_when_a_state_is_loaded(empty, saved):
    """A checkpoint is read on the CPU, and restored when the modules are on the GPU already."""
    module = empty.to("meta")
    module.load_state_dict(saved.state_dict())
    for name, part in module.state_dict().items():
        assert part.device.type == "meta"
        assert part.shape == saved.state_dict()[name].shape


def test_entropies_are_computed_on_the_device_of_the_sample():
    with OneDevice():
        assert trees.column_entropies(sample_of("table").to("meta")).device.type == "meta"


@pytest.mark.parametrize("how", ["standardize", "whiten"])
def test_targets_are_scaled_on_the_device_of_the_outputs(how, monkeypatch):
    # The typical spread is that of some features, and which ones depends on the values.
    monkeypatch.setattr("aleator.projectors.target_scaling.scale_of", lambda spread, mean: spread)
    with OneDevice():
        scaling = TargetScaling.fit([torch.zeros(9, 4, device="meta")], how)
        assert scaling(torch.zeros(5, 1, 4, device="meta")).device.type == "meta"


def test_mixed_devices_are_refused():
    with OneDevice(), pytest.raises(AssertionError, match="add"):
        torch.ones(2) + torch.ones(2, device="meta")
