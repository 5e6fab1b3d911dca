"""The estimators: what a user imports."""

from aleator.estimators.autoencoder import Autoencoder
from aleator.estimators.contrastive import DACL, SCARF, SimCLR
from aleator.estimators.diet import DIET
from aleator.estimators.lfr import LFR
from aleator.estimators.noncontrastive import SimSiam, STab
from aleator.estimators.supervised import LogReg, Supervised
from aleator.estimators.tstcc import TSTCC
from aleator.estimators.untrained import RandomEncoder

__all__ = [
    "Autoencoder", "DACL", "DIET", "LFR", "LogReg", "RandomEncoder", "SCARF", "STab", "SimCLR",
    "SimSiam", "Supervised", "TSTCC",
]  # fmt: skip
