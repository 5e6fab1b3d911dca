"""Tables: numeric columns, or features of columns of any kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn

from aleator.inputs import ArrayLayout, Source, evenly_spaced
from aleator.modalities.spec import Factory, Modality, ViewPair
from aleator.networks.decoders import mlp_decoder
from aleator.networks.mlp import mlp, mlp_encoder
from aleator.networks.projection_head import HeadShape
from aleator.projectors.fourier import FourierFeatures
from aleator.projectors.landmarks import Landmarks
from aleator.projectors.sums import RandomSums
from aleator.projectors.trees import RandomTrees
from aleator.views import FeatureCorruption

# Rows of the training data from which the values of corrupted cells are drawn.
_MOST_CORRUPTION_ROWS = 1 << 16


def corruption_of(source: Source, share: float = 0.6) -> FeatureCorruption:
    """SCARF's corruption with values of the training data.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator.inputs import ArraySource
    >>> corruption_of(ArraySource(np.zeros((4, 5), np.float32)), share=0.2).count
    1
    """
    rows = source.gather(evenly_spaced(len(source), _MOST_CORRUPTION_ROWS))
    return FeatureCorruption(torch.from_numpy(rows), share)


def corrupted_views(source: Source, options: Mapping[str, Any]) -> ViewPair:
    """Rows as they are, and corrupted as in SCARF.

    Examples
    --------
    >>> import numpy as np
    >>> from aleator.inputs import ArraySource
    >>> corrupted_views(ArraySource(np.zeros((4, 5), np.float32)), {})[1].count
    3
    """
    return nn.Identity(), corruption_of(source, options.get("corruption", 0.6))


TABLE = Modality(
    layout=ArrayLayout(
        "table",
        "tables",
        ("columns",),
        unit="column",
        sizes={"columns": "features"},
        mixed_columns=True,
    ),
    encoders={"mlp": mlp_encoder, "mlp-hidden": partial(mlp_encoder, ends_hidden=True)},
    projectors={
        "mlp": partial(mlp, layers=2),
        "trees": RandomTrees.build,
        "fourier": FourierFeatures.build,
        "landmarks": Landmarks.build,
        "sums": RandomSums.build,
    },
    random_features=("trees",),
    encoder_features=8192,
    encoder_dim=1024,
    extra_projectors=3,
    decoders={"mlp": mlp_decoder, "mlp-hidden": mlp_decoder},
    # Appendix C. The paper does not mention a normalization in the heads of tables.
    projection_head=HeadShape(layers=2, hidden=256, norm="none"),
    make_views=corrupted_views,
    view_options=("corruption",),
    learning_rate=1e-3,
    predictor_epochs=1,
)


def with_column_blocks(blocks: Sequence[slice]) -> Modality:
    """Make the modality of tables whose columns became several features each.

    Parameters
    ----------
    blocks : sequence of slice
        The features of every column.

    Returns
    -------
    Modality
        Columns count about equally, whatever their number of features. Random sums stand beside
        random trees, since a node of a tree tells apart no more than one category.

    Examples
    --------
    >>> with_column_blocks([slice(0, 2), slice(2, 32)]).random_features
    ('trees', 'sums')
    """
    of_columns: dict[str, Factory] = {
        "trees": partial(RandomTrees.build, blocks=blocks),
        "sums": partial(RandomSums.build, blocks=blocks),
    }
    return replace(
        TABLE,
        projectors={**TABLE.projectors, **of_columns},
        random_features=("trees", "sums"),
    )
