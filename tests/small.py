"""Settings under which a fit takes a fraction of a second."""

from aleator import LFR

SETTINGS = {
    "embedding_dim": 8,
    "n_projectors": 2,
    "n_candidates": 4,
    "epochs": 2,
    "predictor_epochs": 1,
    "learning_rate": 1e-3,
    "batch_size": 16,
    "random_state": 0,
    "progress": False,
}


def small_lfr(**changes):
    return LFR(**{**SETTINGS, **changes})
