"""Texts, as weights of hashed n-grams and counts of bytes."""

from __future__ import annotations

from functools import partial

from aleator.inputs import ArrayLayout
from aleator.modalities.spec import Modality
from aleator.modalities.table import corrupted_views
from aleator.networks.decoders import mlp_decoder
from aleator.networks.mlp import mlp, mlp_encoder
from aleator.networks.projection_head import HeadShape
from aleator.projectors.vocabularies import DocumentSimilarity, VocabularyCounts

TEXT = Modality(
    layout=ArrayLayout("text", "texts", ("features",), unit="feature", given_as="text"),
    encoders={"mlp": mlp_encoder},
    projectors={
        "mlp": partial(mlp, layers=2),
        "documents": DocumentSimilarity.build,
        "vocabularies": VocabularyCounts.build,
    },
    random_features=("documents", "vocabularies"),
    decoders={"mlp": mlp_decoder},
    projection_head=HeadShape(layers=2, hidden=256, norm="none"),
    make_views=corrupted_views,
    view_options=("corruption",),
    learning_rate=1e-3,
    predictor_epochs=1,
    inferred=False,
)
