"""Audio of any length, as spectrograms."""

from __future__ import annotations

from functools import partial

from aleator.inputs import ArrayLayout
from aleator.modalities.irregular_series import IRREGULAR_SERIES
from aleator.modalities.spec import Modality
from aleator.networks.irregular_cnn import irregular_cnn_encoder, irregular_cnn_projector
from aleator.projectors.convolutions import RandomConvolutions
from aleator.projectors.hydra import CompetingConvolutions
from aleator.projectors.irregular import IrregularFeatures
from aleator.projectors.length_groups import in_length_groups
from aleator.projectors.subsequences import RandomSubsequences
from aleator.projectors.summaries import WindowSummaries

_CONVOLUTIONS = partial(IrregularFeatures.build, family=RandomConvolutions)
_HYDRA = partial(IrregularFeatures.build, family=CompetingConvolutions)
_SUBSEQUENCES = partial(IrregularFeatures.build, family=RandomSubsequences)

AUDIO = Modality(
    layout=ArrayLayout(
        "audio",
        "audio",
        ("bands", "time"),
        unit="band",
        sizes={"time": "time steps"},
        given_as="audio",
        has_gaps=True,
    ),
    encoders={"cnn": irregular_cnn_encoder},
    projectors={
        "cnn": irregular_cnn_projector,
        # Clips differ in length more than series do: see `LengthGroups`.
        "convolutions": partial(in_length_groups, build=_CONVOLUTIONS),
        "hydra": partial(in_length_groups, build=_HYDRA),
        "subsequences": partial(in_length_groups, build=_SUBSEQUENCES),
        "summaries": partial(in_length_groups, build=WindowSummaries.build),
    },
    random_features=("convolutions", "subsequences", "summaries"),
    projection_head=IRREGULAR_SERIES.projection_head,
    make_views=IRREGULAR_SERIES.make_views,
    view_options=IRREGULAR_SERIES.view_options,
    learning_rate=3e-4,
    predictor_epochs=5,
    inferred=False,
)
