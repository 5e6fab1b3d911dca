"""Several kinds of data at once: an encoder and projectors per part, and of all parts."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn

from aleator.inputs import ArrayLayout
from aleator.modalities.spec import Factory, Modality
from aleator.networks.decoders import mlp_decoder
from aleator.networks.mlp import mlp
from aleator.networks.parts import JointEncoder, OnPart, Section, sections_of
from aleator.networks.projection_head import HeadShape
from aleator.projectors.fourier import FourierFeatures
from aleator.projectors.joint import JointFeatures
from aleator.projectors.trees import RandomTrees

# Families of all parts. Parts' own have the name of the part before theirs, "image/patches".
_JOINT = {"joint-fourier": FourierFeatures.build, "joint-trees": RandomTrees.build}
_DEFAULT_JOINT = "joint-fourier"
_PART_WIDTH = 256


def parts_modality(parts: Mapping[str, Modality], shapes: Mapping[str, Sequence[int]]) -> Modality:
    """Make the modality of rows that have several parts, one after another.

    Parameters
    ----------
    parts : mapping of str to Modality
        Kind of data of every part.
    shapes : mapping of str to sequence of int
        Shape of a sample of every part.

    Returns
    -------
    Modality

    Examples
    --------
    >>> from aleator.modalities import get_modality
    >>> kinds = {"age": get_modality("table"), "pulse": get_modality("series")}
    >>> made = parts_modality(kinds, {"age": (3,), "pulse": (1, 40)})
    >>> made.random_features  # parts take turns
    ['age/trees', 'pulse/convolutions', 'joint-fourier', 'age/trees', 'pulse/subsequences']
    """
    sections = sections_of(shapes)
    projectors: dict[str, Factory] = {"mlp": partial(mlp, layers=2)}
    groups: list[list[str]] = []
    for name, modality in parts.items():
        projectors |= {
            f"{name}/{kind}": on_part(factory, sections[name])
            for kind, factory in modality.projectors.items()
        }
        names = [f"{name}/{kind}" for kind in modality.random_features]
        if not names:  # random networks then take the place of features that are drawn
            names = [f"{name}/{kind}" for kind in list(modality.projectors)[:1]]
            projectors[names[0]] = _drawn(projectors[names[0]])
        groups.append(names)
    own = in_turn(groups)
    drawn = own
    if len(parts) > 1:
        families = [[projectors[kind] for kind in group] for group in groups]
        projectors |= {
            kind: partial(JointFeatures.build_of, parts=families, family=family)
            for kind, family in _JOINT.items()
        }
        drawn = [*own[: len(parts)], _DEFAULT_JOINT, *own[len(parts) :]]
    return Modality(
        layout=ArrayLayout.of_parts({name: part.layout for name, part in parts.items()}),
        encoders={"joint": partial(joint_encoder, parts=parts, sections=sections)},
        projectors=projectors,
        random_features=drawn,
        encoder_families=own,
        encoder_features=max(part.encoder_features for part in parts.values()),
        encoder_dim=max(part.encoder_dim for part in parts.values()),
        sampled_rows=min(part.sampled_rows for part in parts.values()),
        decoders={"joint": mlp_decoder},
        projection_head=HeadShape(layers=2, hidden=256, norm="hidden"),
        learning_rate=min(part.learning_rate for part in parts.values()),
        predictor_epochs=max(part.predictor_epochs for part in parts.values()),
        inferred=False,
    )


def joint_encoder(
    input_shape: Sequence[int],
    embedding_dim: int | None = None,
    *,
    parts: Mapping[str, Modality],
    sections: Mapping[str, Section],
) -> JointEncoder:
    """Build the default network of every part, and a head of them.

    Parameters
    ----------
    input_shape : sequence of int
        Shape of a row.
    embedding_dim : int, default=None
        Width of the embedding; None is 256.
    parts : mapping of str to Modality
        Kind of data of every part.
    sections : mapping of str to Section
        Where every part is in a row.

    Returns
    -------
    JointEncoder
    """
    encoders = []
    for name, modality in parts.items():
        section = sections[name]
        kind = modality.encoder_name("auto", section.shape)
        assert kind is not None
        network = modality.encoders[kind](section.shape, _PART_WIDTH)
        encoders.append(OnPart(section, network))
    width = _PART_WIDTH if embedding_dim is None else embedding_dim
    return JointEncoder(encoders, math.prod(input_shape), width)


def on_part(factory: Factory, section: Section) -> Factory:
    """Turn a factory of networks of a part into one of networks of rows.

    Parameters
    ----------
    factory : callable
        A factory ``(input_shape, output_dim) -> module``, which may have a parameter `sample`.
    section : Section
        Where the part is.

    Returns
    -------
    callable
        It has a parameter `sample` if the other one has.

    Examples
    --------
    >>> on_part(partial(mlp, layers=1), Section(2, (3,)))((9,), 5).network[1]
    Linear(in_features=3, out_features=5, bias=True)
    """
    if "sample" not in inspect.signature(factory).parameters:

        def build(input_shape: Sequence[int], output_dim: int) -> nn.Module:
            return OnPart(section, factory(section.shape, output_dim))

        return build

    def draw(
        input_shape: Sequence[int], output_dim: int, sample: Tensor | None = None
    ) -> nn.Module:
        rows = None if sample is None else section(sample)
        return OnPart(section, factory(section.shape, output_dim, sample=rows))

    return draw


def in_turn(groups: Sequence[Sequence[str]]) -> list[str]:
    """List names so that every group has as many, and groups take turns.

    Parameters
    ----------
    groups : sequence of sequences of str
        Names.

    Returns
    -------
    list of str

    Examples
    --------
    >>> in_turn([["a"], ["b", "c"]])
    ['a', 'b', 'a', 'c']
    """
    rounds = math.lcm(*map(len, groups))
    return [group[turn % len(group)] for turn in range(rounds) for group in groups]


def _drawn(factory: Factory) -> Factory:
    """Give a factory a parameter `sample`, which it does not use."""

    def build(input_shape: Sequence[int], output_dim: int, sample: Any = None) -> nn.Module:
        return factory(input_shape, output_dim)

    return build
