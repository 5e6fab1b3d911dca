"""Time series of one or more channels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from aleator.inputs import ArrayLayout, Source
from aleator.modalities.irregular_series import IRREGULAR_SERIES
from aleator.modalities.spec import Modality, ViewPair
from aleator.networks import cnn1d, tcn
from aleator.networks.decoders import TCNDecoder, cnn_decoder, mlp_decoder, transposed_cnn_decoder
from aleator.networks.mlp import mlp, mlp_encoder
from aleator.networks.projection_head import HeadShape
from aleator.networks.series_transformer import SeriesTransformer
from aleator.projectors.convolutions import RandomConvolutions
from aleator.projectors.hydra import CompetingConvolutions
from aleator.projectors.spectrum import SpectralBands
from aleator.projectors.subsequences import RandomSubsequences
from aleator.views import RandomScaling, SegmentPermutation


def weak_and_strong_views(
    weak_scale: float = 0.1, weak_mean: float = 1.0, segments: int = 4, strong_noise: float = 0.05
) -> tuple[RandomScaling, SegmentPermutation]:
    """TS-TCC's two views of series; the defaults are those of the LFR authors' program.

    Examples
    --------
    >>> weak_and_strong_views(segments=7)[1].segments
    7
    """
    return RandomScaling(weak_scale, weak_mean), SegmentPermutation(segments, strong_noise)


def _make_views(source: Source, options: Mapping[str, Any]) -> ViewPair:
    return weak_and_strong_views(**options)


def _default_encoder(input_shape: Sequence[int]) -> str:
    """Choose the paper's CNN; for long series its pooled variant, whose size is bounded."""
    wide = cnn1d.flat_embedding_width(input_shape[1]) > cnn1d.WIDEST_FLAT_EMBEDDING
    return "cnn-pooled" if wide else "cnn"


SERIES = Modality(
    layout=ArrayLayout(
        "series",
        "series",
        ("channels", "time"),
        unit="channel",
        optional_channels=True,
        sizes={"time": "time steps"},
        with_gaps=IRREGULAR_SERIES.layout,
    ),
    encoders={
        "cnn": cnn1d.cnn_encoder,
        "cnn-pooled": partial(cnn1d.cnn_encoder, pooled=True),
        "cnn-strided": partial(cnn1d.cnn_encoder, strided=True),
        "tcn": tcn.tcn_encoder,
        "transformer": SeriesTransformer,
        "mlp": mlp_encoder,
    },
    projectors={
        "cnn": cnn1d.cnn_projector,
        "tcn": tcn.tcn_projector,
        "mlp": partial(mlp, layers=2),
        "convolutions": RandomConvolutions.build,
        "hydra": CompetingConvolutions.build,
        "subsequences": RandomSubsequences.build,
        "spectrum": SpectralBands.build,
    },
    random_features=("convolutions", "subsequences"),
    decoders={
        "cnn": cnn_decoder,
        "cnn-pooled": cnn_decoder,
        "cnn-strided": cnn_decoder,
        "cnn-transposed": transposed_cnn_decoder,
        "tcn": TCNDecoder,
        "transformer": cnn_decoder,
        "mlp": mlp_decoder,
    },
    default_encoder=_default_encoder,
    mlp_predictor_for=("tcn",),
    # Appendix C; the paper normalizes the heads of series.
    projection_head=HeadShape(layers=3, hidden=512, norm="hidden"),
    make_views=_make_views,
    view_options=("weak_scale", "weak_mean", "segments", "strong_noise"),
    learning_rate=3e-4,
    predictor_epochs=5,
)
