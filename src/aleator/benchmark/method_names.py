"""The methods that benchmarks compare: their names in recipes, results and tables."""

from __future__ import annotations

# Names used in recipes and results, and the estimators they stand for, in the order of tables. An
# estimator that Aleator does not have is one of scikit-learn's ensembles. The suffix "-default"
# stands for the default encoder and settings of LFR, "-transformer" for another encoder than the
# CNN.
METHODS = {
    "logreg": "LogReg",
    "boosting": "HistGradientBoostingClassifier",
    "supervised": "Supervised",
    "supervised-transformer": "Supervised",
    "random": "RandomEncoder",
    "random-default": "RandomEncoder",
    "random-features": "RandomFeatures",
    "autoencoder": "Autoencoder",
    "diet": "DIET",
    "simsiam": "SimSiam",
    "byol": "BYOL",
    "simclr": "SimCLR",
    "scarf": "SCARF",
    "stab": "STab",
    "tstcc": "TSTCC",
    "tstcc-transformer": "TSTCC",
    "dacl": "DACL",
    "lfr": "LFR.paper",
    "lfr-default": "LFR",
}

# Names in tables and figures, where they are not those of the estimators.
_TITLES = {
    "boosting": "Gradient boosting",
    "supervised-transformer": "Supervised, transformer",
    "tstcc-transformer": "TSTCC, transformer",
    "random-default": "LFR's encoder, random weights",
    "lfr": "LFR, paper's recipe",
}

# Methods that learn from labels; they are evaluated by their own predictions.
CLASSIFIERS = ("logreg", "boosting", "supervised", "supervised-transformer")


def title_of(method: str) -> str:
    """Return the name of a method in tables and figures.

    Parameters
    ----------
    method : str
        A key of `METHODS`.

    Returns
    -------
    title : str
        The name.

    Examples
    --------
    >>> title_of("lfr"), title_of("boosting")
    ("LFR, paper's recipe", 'Gradient boosting')
    """
    return _TITLES.get(method, METHODS[method])
