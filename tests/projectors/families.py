"""The families of projectors that are drawn from data, with samples of the data."""

import torch

from aleator.projectors.convolutions import RandomConvolutions
from aleator.projectors.deep_patches import DeepPatchFeatures
from aleator.projectors.fourier import FourierFeatures
from aleator.projectors.hydra import CompetingConvolutions
from aleator.projectors.landmarks import Landmarks
from aleator.projectors.patches import PatchFeatures
from aleator.projectors.spectrum import SpectralBands
from aleator.projectors.subsequences import RandomSubsequences
from aleator.projectors.sums import RandomSums
from aleator.projectors.trees import RandomTrees
from aleator.projectors.vocabularies import DocumentSimilarity, VocabularyCounts

SERIES = [RandomConvolutions, CompetingConvolutions, RandomSubsequences, SpectralBands]
IMAGES = [PatchFeatures, DeepPatchFeatures]
TABLES = [RandomTrees, FourierFeatures, Landmarks, RandomSums]
TEXTS = [DocumentSimilarity, VocabularyCounts]
SHAPES = {"series": (3, 30), "image": (3, 13, 11), "table": (6,), "text": (20,)}
FAMILIES = [
    *((family, "series") for family in SERIES),
    *((family, "image") for family in IMAGES),
    *((family, "table") for family in TABLES),
    *((family, "text") for family in TEXTS),
]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def sample_of(modality, n_samples=40, seed=0):
    return torch.randn(n_samples, *SHAPES[modality], generator=generator(seed))
