"""The rounds that are repeated for an hour: which data they read, and that differences are seen."""

import numpy as np
import pytest

import aleator
from aleator.benchmark import soak
from aleator.benchmark.soak_data import ARRAYS, OTHERS, make_data
from aleator.modalities import modality_of

KINDS = {
    "series of different lengths": "irregular-series", "text": "text", "graph": "graph",
    "audio": "audio", "parts": "parts", "file": "table",
}  # fmt: skip


def test_a_round_fits_saves_and_loads_every_kind_of_data(monkeypatch):
    seen = []
    save_and_load = soak._save_and_load

    def noted(model, X, folder):
        save_and_load(model, X, folder)
        seen.append(modality_of(model.adapter_).layout.name)

    monkeypatch.setattr(soak, "cases", lambda: [("RandomFeatures", kind) for kind in OTHERS])
    monkeypatch.setattr(soak, "_save_and_load", noted)
    soak.run_round(0)
    assert seen == [*(KINDS[kind] for kind in OTHERS), "table"], "the last is LFR on a file"


def test_a_model_that_embeds_otherwise_after_loading_is_an_error(monkeypatch, tmp_path):
    X, _ = make_data("table", (1, 0), tmp_path)
    other = aleator.RandomFeatures(n_features=8, random_state=1).fit(X)
    monkeypatch.setattr(aleator, "load", lambda folder: other)
    monkeypatch.setattr(soak, "cases", lambda: [("RandomFeatures", "table")])
    with pytest.raises(RuntimeError, match="embeds otherwise"):
        soak.run_round(0)


@pytest.mark.parametrize("kind", [*ARRAYS, *OTHERS])
def test_rounds_have_other_values_of_the_same_shapes(kind, tmp_path):
    def embedded(seed):
        place = tmp_path / str(seed)
        place.mkdir()
        X, y = make_data(kind, (seed, 0), place)
        embedding = aleator.RandomFeatures(n_features=8, random_state=0).fit_transform(X)
        assert len(embedding) == len(y)
        return embedding

    first, second = embedded(1), embedded(2)
    assert first.shape == second.shape
    assert not np.array_equal(first, second)
