"""The modality of several parts, and the networks of their rows."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch

from aleator.modalities import get_modality
from aleator.modalities.choices import build_encoder, is_drawn_from_data
from aleator.modalities.parts import parts_modality
from aleator.networks.parts import sections_of

SHAPES = {"table": (3,), "series": (2, 30)}
OWN = {"table": range(3), "series": range(3, 63)}
ROWS = torch.randn(50, 63, generator=torch.Generator().manual_seed(0))


def modality_of(**changes):
    kinds = {name: get_modality(name) for name in SHAPES}
    return parts_modality({**kinds, "series": replace(kinds["series"], **changes)}, SHAPES)


def draw(factory, rows=ROWS):
    torch.manual_seed(0)
    given = {"sample": rows} if "sample" in inspect.signature(factory).parameters else {}
    return factory((63,), 8, **given).eval()


def test_sections_follow_one_another():
    sections = sections_of(SHAPES)
    np.testing.assert_array_equal(sections["table"](ROWS), ROWS[:, :3])
    np.testing.assert_array_equal(sections["series"](ROWS), ROWS[:, 3:].view(50, 2, 30))


@pytest.mark.parametrize("part", SHAPES)
def test_projectors_of_a_part_are_those_it_has_alone(part):
    modality = modality_of()
    alone = get_modality(part).projectors
    assert [name for name in modality.projectors if name.startswith(f"{part}/")] == [
        f"{part}/{kind}" for kind in alone
    ]
    samples = ROWS[:, list(OWN[part])].view(50, *SHAPES[part])
    for kind, factory in alone.items():
        projector = draw(modality.projectors[f"{part}/{kind}"])
        torch.manual_seed(0)
        given = {"sample": samples} if is_drawn_from_data(get_modality(part), kind) else {}
        expected = factory(SHAPES[part], 8, **given).eval()(samples)
        np.testing.assert_allclose(
            projector(ROWS).detach(), expected.flatten(1).detach(), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("name", ["joint-fourier", "joint-trees"])
def test_joint_projectors_see_all_parts_with_the_same_weight(name):
    factory = modality_of().projectors[name]
    projector = draw(factory)
    parts = [
        bank(ROWS) * weight for bank, weight in zip(projector.banks, projector.weight, strict=True)
    ]
    for part in parts:
        assert part.shape == (50, 8)
        assert float(part.var(0, correction=0).sum()) == pytest.approx(1, rel=1e-3)
    expected = projector.network(torch.cat(parts, 1))
    np.testing.assert_array_equal(projector(ROWS), expected)
    loaded = factory((63,), 8)
    loaded.load_state_dict(projector.state_dict())
    np.testing.assert_array_equal(loaded(ROWS), expected)


def test_a_part_without_random_features_has_random_networks_instead():
    modality = modality_of(random_features=())
    assert modality.random_features == ["table/trees", "series/cnn", "joint-fourier"]
    assert modality.encoder_families == ["table/trees", "series/cnn"]
    encoder = build_encoder(modality, "random-features", (63,), 5, lambda on_device: ROWS)
    assert encoder(ROWS).shape == (50, 5)
    assert draw(modality.projectors["joint-fourier"])(ROWS).shape == (50, 8)


def test_one_part_has_no_joint_projectors():
    modality = parts_modality({"a": get_modality("series")}, {"a": (2, 30)})
    assert modality.random_features == ["a/convolutions", "a/subsequences"]
    assert not [name for name in modality.projectors if name.startswith("joint")]
