"""Images of one or more channels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import torch

from aleator.inputs import ArrayLayout, Source
from aleator.modalities.spec import Modality, ViewPair
from aleator.networks.cnn2d import image_projector
from aleator.networks.decoders import mlp_decoder, resnet_decoder
from aleator.networks.mlp import mlp, mlp_encoder
from aleator.networks.projection_head import HeadShape
from aleator.networks.resnet import resnet18
from aleator.projectors.deep_patches import DeepPatchFeatures
from aleator.projectors.patches import PatchFeatures


def _make_views(source: Source, options: Mapping[str, Any]) -> ViewPair:
    """SimCLR's augmentation twice: it draws anew at every call."""
    from aleator.views.simclr_augmentation import SimCLRAugmentation

    extremes = [(c.min(axis=(0, 2, 3)), c.max(axis=(0, 2, 3))) for c in source.chunks()]
    low = torch.from_numpy(np.min([low for low, _ in extremes], axis=0))
    high = torch.from_numpy(np.max([high for _, high in extremes], axis=0))
    view = SimCLRAugmentation(low, high, **options)
    return view, view


IMAGE = Modality(
    layout=ArrayLayout(
        "image",
        "images",
        ("channels", "height", "width"),
        unit="channel",
        optional_channels=True,
        finds_channels=True,
        sizes={"height": "pixels in height", "width": "pixels in width"},
    ),
    encoders={
        "resnet18": resnet18,
        "resnet18-small": partial(resnet18, stem="small"),
        "resnet18-large": partial(resnet18, stem="large"),
        "mlp": mlp_encoder,
    },
    projectors={
        "cnn": image_projector,
        "cnn6": partial(image_projector, pairs=3),
        "mlp": partial(mlp, layers=2),
        "patches": PatchFeatures.build,
        "deep-patches": DeepPatchFeatures.build,
    },
    random_features=("patches", "deep-patches"),
    # What tells images apart spreads over more directions than it does in series or tables. So many
    # directions are only found in many samples.
    encoder_features=16384,
    encoder_dim=4096,
    sampled_rows=12288,
    extra_projectors=3,
    decoders={
        "resnet18": resnet_decoder,
        "resnet18-small": partial(resnet_decoder, stem="small"),
        "resnet18-large": partial(resnet_decoder, stem="large"),
        "mlp": mlp_decoder,
    },
    mlp_predictor_for=("resnet18", "resnet18-small", "resnet18-large", "mlp", None),
    # Appendix C; normalized as in SimSiam, from which the paper takes the heads of images.
    projection_head=HeadShape(layers=3, hidden=256, norm="hidden"),
    make_views=_make_views,
    view_options=(
        "least_area", "flip", "jitter", "jitter_share", "gray_share", "blur_share", "blur_kernel",
    ),
    augments_single_views=True,
    # The paper trains images with SGD; this is the rate of its series, for Adam.
    learning_rate=3e-4,
    predictor_epochs=5,
)  # fmt: skip
