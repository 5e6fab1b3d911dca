"""Time series of different lengths, with gaps, or observed at irregular times."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from aleator.inputs import ArrayLayout, Source
from aleator.modalities.spec import Modality, ViewPair
from aleator.networks.irregular_cnn import irregular_cnn_encoder, irregular_cnn_projector
from aleator.networks.projection_head import HeadShape
from aleator.projectors.convolutions import RandomConvolutions
from aleator.projectors.hydra import CompetingConvolutions
from aleator.projectors.irregular import IrregularFeatures
from aleator.projectors.subsequences import RandomSubsequences
from aleator.projectors.summaries import WindowSummaries
from aleator.views import ObservationDropout, RandomScaling


def _make_views(source: Source, options: Mapping[str, Any]) -> ViewPair:
    """Scaled series, and series of which some observations are left out."""
    weak = RandomScaling(options.get("weak_scale", 0.1), options.get("weak_mean", 1.0))
    return weak, ObservationDropout(options.get("dropout", 0.3))


IRREGULAR_SERIES = Modality(
    layout=ArrayLayout(
        "irregular-series",
        "series of different lengths or with gaps",
        ("channels", "time"),
        unit="channel",
        optional_channels=True,
        sizes={"time": "time steps"},
        given_as="series",
        has_gaps=True,
    ),
    encoders={"cnn": irregular_cnn_encoder},
    projectors={
        "cnn": irregular_cnn_projector,
        "convolutions": partial(IrregularFeatures.build, family=RandomConvolutions),
        "hydra": partial(IrregularFeatures.build, family=CompetingConvolutions),
        "subsequences": partial(IrregularFeatures.build, family=RandomSubsequences),
        "summaries": WindowSummaries.build,
    },
    random_features=("convolutions", "subsequences", "summaries"),
    projection_head=HeadShape(layers=3, hidden=512, norm="hidden"),
    make_views=_make_views,
    view_options=("weak_scale", "weak_mean", "dropout"),
    learning_rate=3e-4,
    predictor_epochs=5,
    inferred=False,
)
