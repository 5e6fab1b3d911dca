"""fit(checkpoint=…) continues bit for bit with every kind of data.

Every fit is given data that were made or opened again, as after a restart.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import aleator
from aleator.inputs.graphs.graph import Graph
from aleator.modalities import modality_of
from aleator.training.checkpoint import CheckpointFolder
from tests.estimators.stopped_fits import stop
from tests.small import small, small_lfr
from tests.training.saved_states import assert_same_fit

ROWS, RATE = 40, 4000
LABELS = np.arange(ROWS) % 2


def series(rng, place):
    return [rng.normal(size=(2, 10 + row % 9)).astype("f4") for row in range(ROWS)]


def series_with_gaps(rng, place):
    whole = rng.normal(size=(ROWS, 2, 18)).astype("f4")
    whole[rng.random(whole.shape) < 0.2] = np.nan
    return whole


def texts(rng, place):
    words = np.array("call me back at home free now".split())
    return [" ".join(rng.choice(words, 2 + row % 5)) for row in range(ROWS)]


def frame(rng, place):
    number = rng.normal(size=ROWS)
    number[::5] = np.nan
    kinds = rng.choice(["x", "y", "z", None], ROWS)
    days = pd.date_range("2020", periods=ROWS)[rng.permutation(ROWS)]
    return pd.DataFrame({"number": number, "kind": kinds, "day": days})


def file(rng, place):
    """Row groups of seven rows, and a buffer of two of them, as features."""
    path, rows = place / "frame.parquet", frame(rng, place)
    if not path.exists():
        rows.to_parquet(path, row_group_size=7)
    opened = aleator.open_table(path, buffer_size=800)
    assert not opened.fits_buffer
    return opened


def graphs(rng, place):
    def graph(row):
        ring = np.arange(5 + row % 3)
        other = (ring + 1 + rng.integers(0, 3)) % len(ring)
        nodes = {"size": rng.normal(size=(len(ring), 1)), "kind": rng.integers(0, 2, len(ring))}
        return Graph(len(ring), np.r_[ring, other], np.r_[other, ring], nodes)

    return [graph(row) for row in range(ROWS)]


def images(rng, place):
    sizes = rng.integers(10, 16, (ROWS, 2))
    return [rng.integers(0, 256, (*size, 3), dtype=np.uint8) for size in sizes]


def audio(rng, place):
    clips = [rng.uniform(-0.5, 0.5, RATE // 4 + 50 * (row % 4)) for row in range(ROWS)]
    return aleator.open_audio([clip.astype("f4") for clip in clips], rate=RATE)


def parts(rng, place):
    signal = rng.normal(size=(ROWS, 2, 16)).astype("f4")
    return {"record": frame(rng, place), "signal": signal, "note": texts(rng, place)}


def parts_with_a_file(rng, place):
    return {"record": file(rng, place), "note": texts(rng, place)}


KINDS = {
    series: "irregular-series", series_with_gaps: "irregular-series", texts: "text",
    frame: "table", file: "table", graphs: "graph", images: "image", audio: "audio",
    parts: "parts", parts_with_a_file: "parts",
}  # fmt: skip
# Besides LFR and LFR.paper: views where there are some, labels, or a weight per sample.
OTHERS = {
    series: "SimCLR", texts: "SimCLR", file: "SimCLR", images: "SimCLR", audio: "SimCLR",
    frame: "Supervised", parts: "Supervised", parts_with_a_file: "Supervised",
    series_with_gaps: "DIET", graphs: "DIET",
}  # fmt: skip
CASES = [
    *((make, name) for make in KINDS for name in ("LFR", OTHERS[make])),
    # Without audio and parts with a file, which are read as series and parts are, but slowly.
    *((make, "LFR.paper") for make in KINDS if make not in (audio, parts_with_a_file)),
]


def made(name, kind):
    # A default image network takes longer than everything else.
    changes = {"encoder": "mlp"} if kind == "image" else {}
    if name == "LFR.paper":
        return small_lfr(batch_size=12, **changes)
    return small(name, batch_size=12, **changes)


@pytest.mark.parametrize(
    ("make", "name"), CASES, ids=[f"{make.__name__}-{name}" for make, name in CASES]
)
def test_a_fit_continues_bit_for_bit(make, name, monkeypatch, tmp_path):
    def data():
        return make(np.random.default_rng(0), tmp_path)

    model, folder = made(name, KINDS[make]), tmp_path / "checkpoints"
    whole = clone(model).fit(data(), LABELS)
    assert modality_of(whole.adapter_).layout.name == KINDS[make]
    for writes in (2, 2):  # the states after steps 1 and 3, in mid-pass
        stop(monkeypatch, clone(model), data(), LABELS, folder, writes)
    with CheckpointFolder(folder, None) as written:
        assert written.latest().steps == 3 < sum(record["steps"] for record in whole.history_)
    resumed = clone(model).fit(data(), LABELS, checkpoint=folder, checkpoint_every=4)
    assert_same_fit(resumed, whole)
    np.testing.assert_array_equal(resumed.transform(data()), whole.transform(data()))
