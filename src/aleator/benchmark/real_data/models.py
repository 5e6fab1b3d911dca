"""What is compared: estimators, and what people use without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Penalties that the pipelines choose from, on parts of the labeled rows.
_PENALTIES = np.logspace(-4, 3, 8)
_FOLDS = 3
# A dense matrix of more words would be larger than any embedding.
_MOST_WORDS = 2000


def estimators() -> dict[str, Callable[[int], Any]]:
    """Return functions that make the compared estimators from a seed.

    Returns
    -------
    dict of str to callable

    Examples
    --------
    >>> list(estimators())
    ['LFR', 'RandomFeatures', 'RandomEncoder']
    """
    from aleator import LFR, RandomEncoder, RandomFeatures

    return {
        "LFR": lambda seed: LFR(random_state=seed, progress=False),
        "RandomFeatures": lambda seed: RandomFeatures(random_state=seed),
        "RandomEncoder": lambda seed: RandomEncoder(random_state=seed),
    }


def table_pipeline(frame: Any, *, is_regression: bool) -> Any:
    """Make the usual pipeline for a table: impute, one-hot, scale, linear model.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of the table.
    is_regression : bool
        Whether numbers are to be predicted: by a ridge regression, else by a logistic regression.
        Their penalty is chosen by cross-validation.

    Returns
    -------
    sklearn.pipeline.Pipeline
        Not fitted.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [1.0, None, 3.0] * 4, "town": ["a", "b", None] * 4})
    >>> pipeline = table_pipeline(frame, is_regression=True).fit(frame, np.arange(12.0))
    >>> pipeline[0].transform(frame).shape
    (12, 4)
    """
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numeric = frame.select_dtypes("number").columns.tolist()
    others = [column for column in frame.columns if column not in numeric]
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
        (
            make_pipeline(
                SimpleImputer(strategy="constant", fill_value="missing"),
                OneHotEncoder(handle_unknown="ignore"),
            ),
            others,
        ),
    )
    # RidgeCV would decompose a matrix of all categories, of which there may be one per row.
    found = (
        GridSearchCV(Ridge(), {"alpha": _PENALTIES}, scoring="r2", cv=_FOLDS)
        if is_regression
        else GridSearchCV(
            LogisticRegression(max_iter=1000),
            {"C": 1 / _PENALTIES},
            scoring="neg_log_loss",
            cv=_FOLDS,
        )
    )
    return make_pipeline(encode, found)


def word_frequencies(train: list[str], test: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Weigh the most frequent words of texts by tf-idf, the usual features of a text.

    Parameters
    ----------
    train, test : list of str
        Texts; words and their weights are those of the training part.

    Returns
    -------
    train, test : ndarray of shape (n, n_words)
        Weights.

    Examples
    --------
    >>> train, test = word_frequencies(["call now", "see you"], ["see you now"])
    >>> train.shape, (test > 0).tolist()
    ((2, 4), [[False, True, True, True]])
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(sublinear_tf=True, max_features=_MOST_WORDS).fit(train)
    weights = [words.transform(texts).toarray().astype(np.float32) for texts in (train, test)]
    return weights[0], weights[1]
