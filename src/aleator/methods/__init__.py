"""One file per method: its parameters, its networks, what it trains, its loss."""

from aleator.methods.autoencoder import Autoencoder
from aleator.methods.byol import BYOL
from aleator.methods.dacl import DACL
from aleator.methods.diet import DIET
from aleator.methods.lfr import LFR
from aleator.methods.logreg import LogReg
from aleator.methods.random_encoder import RandomEncoder
from aleator.methods.random_features import RandomFeatures
from aleator.methods.scarf import SCARF
from aleator.methods.simclr import SimCLR
from aleator.methods.simsiam import SimSiam
from aleator.methods.stab import STab
from aleator.methods.supervised import Supervised
from aleator.methods.tstcc import TSTCC

__all__ = [
    "Autoencoder", "BYOL", "DACL", "DIET", "LFR", "LogReg", "RandomEncoder", "RandomFeatures",
    "SCARF", "STab", "SimCLR", "SimSiam", "Supervised", "TSTCC",
]  # fmt: skip
