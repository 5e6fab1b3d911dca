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
TRAINED = [name for name in ALL if name not in ("RandomEncoder", "LogReg")]
# Kinds of data of the methods that do not accept all.
SPECIAL = {"SCARF": ("table",), "TSTCC": ("series",)}


def small_lfr(**changes):
    return LFR(**{**SETTINGS, **changes})


def small(name, **changes):
    """Any estimator by name, with those of the small settings that it has."""
    made = getattr(aleator, name)()
    known = made.get_params()
    return made.set_params(**{k: v for k, v in SETTINGS.items() if k in known} | changes)
