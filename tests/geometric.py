"""PyTorch Geometric, which warns of its own use of torch while it is imported."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch_geometric.data import Data

__all__ = ["Data"]
