"""Graphs of any size, packed into rows."""

from __future__ import annotations

from aleator.inputs import ArrayLayout
from aleator.modalities.spec import Modality
from aleator.networks.gin import gin_encoder
from aleator.networks.projection_head import HeadShape
from aleator.projectors.graph_networks import RandomGraphNetworks
from aleator.projectors.graph_walks import RandomWalks

GRAPH = Modality(
    layout=ArrayLayout(
        "graph", "graphs", ("numbers",), unit="number", given_as="graph", packed=True
    ),
    encoders={"gin": gin_encoder},
    projectors={"gin": RandomGraphNetworks.build, "walks": RandomWalks.build},
    random_features=("gin", "walks"),
    projection_head=HeadShape(layers=2, hidden=256, norm="none"),
    learning_rate=1e-3,
    predictor_epochs=1,
    inferred=False,
)
