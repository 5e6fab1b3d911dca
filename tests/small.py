"""Settings with which a fit takes a fraction of a second."""

import aleator
from aleator import LFR, methods

TRAINING = {
    "embedding_dim": 8,
    "epochs": 2,
    "learning_rate": 1e-3,
    "batch_size": 16,
    "random_state": 0,
    "progress": False,
}
SETTINGS = {**TRAINING, "n_projectors": 2, "n_candidates": 4, "predictor_epochs": 1}

ALL = sorted(methods.__all__)
TRAINED = [name for name in ALL if name not in ("RandomEncoder", "RandomFeatures", "LogReg")]
# Methods that need samples of one size, and built-in views, which graphs do not have.
NOT_FOR_GRAPHS = ("Autoencoder", "DACL", "LogReg", "BYOL", "SimCLR", "SimSiam", "SCARF", "TSTCC")
# Kinds of data of the methods that do not accept all.
SPECIAL = {"SCARF": ("table",), "TSTCC": ("series",)}


def small_lfr(**changes):
    """LFR as in the paper: two phases, and networks that are small and fast."""
    return LFR.paper(**{**SETTINGS, **changes})


def small(name, **changes):
    """Any estimator by name: its defaults, but those of the small settings that it has."""
    made = getattr(aleator, name)()
    known = made.get_params()
    settings = {**SETTINGS, "target_dim": 16, "n_features": 8}
    return made.set_params(**{k: v for k, v in settings.items() if k in known} | changes)
