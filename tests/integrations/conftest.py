"""A saved model of a table, and the table with identifiers."""

import numpy as np
import pandas as pd
import pytest

from aleator import RandomEncoder

FEATURES = ["age", "income", "visits"]


@pytest.fixture
def people():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(30, 3)), columns=FEATURES)
    frame["visits"] = random.integers(0, 9, 30)
    # Neither first nor last, and before the features that come in another order than in training.
    frame.insert(1, "id", [f"p{i}" for i in range(30)])
    return frame[["visits", "id", "income", "age"]]


@pytest.fixture
def encoder(people):
    return RandomEncoder(embedding_dim=4, random_state=0).fit(people[FEATURES])


@pytest.fixture
def folder(encoder, tmp_path):
    encoder.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def expected(encoder, people):
    """The kept column and the embedding, from `transform` alone."""
    names = [f"randomencoder{i}" for i in range(4)]
    embedded = pd.DataFrame(encoder.transform(people[FEATURES]), columns=names)
    return pd.concat([people[["id"]], embedded], axis=1)
