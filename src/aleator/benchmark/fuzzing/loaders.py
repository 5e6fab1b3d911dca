"""What is fuzzed: for every loader, files that it can read, and how they are changed and read."""

from __future__ import annotations

import contextlib
import gzip
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import aleator
from aleator.benchmark import recipes
from aleator.benchmark.datasets import ucr
from aleator.benchmark.fuzzing.checkpoints import (
    make_stopped_run,
    mutate_run,
    read_run,
)
from aleator.benchmark.fuzzing.mutations import (
    Mutation,
    mutate_bytes,
    mutate_file,
    mutate_sealed,
    overwrite_bytes,
)
from aleator.exceptions import CheckpointError, DamagedFileError, DataFileError, ModelFileError
from aleator.inputs.graphs.graph import Graph
from aleator.model_folder import DESCRIPTION

_SHARE_OF_TABLE_FITS = 0.05
# File with the name of the model that was changed, and has to be read.
_CHANGED = "changed"
_PACKED = "uneven.ts.gz"
_TINY: dict[str, Any] = {
    "epochs": 2,
    "embedding_dim": 4,
    "random_state": 0,
    "progress": False,
    "device": "cpu",
}


@dataclass(frozen=True)
class Loader:
    """Something that reads files.

    Parameters
    ----------
    make : callable
        Writes valid files into an empty folder.
    mutate : callable
        Changes the files of a folder.
    read : callable
        Reads the folder; the second argument is a source of random numbers.
    own_errors : sequence of type
        Errors that it may raise.
    """

    make: Callable[[Path], None]
    mutate: Mutation
    read: Callable[[Path, random.Random], Any]
    own_errors: Sequence[type[Exception]]


def _table() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)


def _mixed_table() -> Any:
    """Columns of all kinds, with gaps."""
    import pandas as pd

    numbers = _table()
    numbers[::5, 1] = np.nan
    frame = pd.DataFrame(numbers, columns=["a", "b", "c"])
    frame["city"] = pd.Categorical(["Rome", "Bonn", None, "Oslo"] * 10)
    frame["name"] = pd.Categorical([f"{word} {i * i}" for i in range(20) for word in ("x", "old")])
    frame["day"] = pd.date_range("2024-01-01", periods=40, freq="31h")
    frame["hired"] = pd.date_range("2001-01-01", periods=40).strftime("%d/%m/%Y")
    frame["none"] = None
    return frame


def _texts() -> list[str | None]:
    return [
        f"{'Call' if i % 3 else 'see you'} at {i * i} — später {chr(0x4E00 + i)}" for i in range(39)
    ] + [None]


def _parts() -> dict[str, Any]:
    return {"table": _mixed_table(), "numbers": _table(), "note": _texts()}


def _graphs() -> list[Graph]:
    ring = np.arange(5)
    return [
        Graph(5, ring, (ring + k % 4) % 5, {"size": ring[:, None] * 0.5 + k}, {"kind": ring % 2})
        for k in range(20)
    ]


def _make_models(folder: Path) -> None:
    series = np.random.default_rng(0).normal(size=(40, 2, 12)).astype(np.float32)
    labels = np.arange(40) % 2
    fitted = {
        "lfr": aleator.LFR(n_projectors=2, target_dim=4, **_TINY).fit(_table()),
        "paper": aleator.LFR.paper().set_params(n_projectors=2, **_TINY).fit(_table()),
        "supervised": aleator.Supervised(**_TINY).fit(_table(), labels.astype(str)),
        "tstcc": aleator.TSTCC(**{**_TINY, "embedding_dim": None}).fit(series),
        "features": aleator.RandomFeatures(n_features=64, n_components=4, random_state=0).fit(
            series
        ),
        "mixed": aleator.RandomFeatures(n_features=8, random_state=0).fit(_mixed_table()),
        "text": aleator.RandomFeatures(n_features=8, random_state=0).fit(_texts()),
        "parts": aleator.LFR(n_projectors=4, target_dim=4, **_TINY).fit(_parts()),
        "graph": aleator.RandomFeatures(n_features=8, random_state=0).fit(_graphs()),
    }
    for name, estimator in fitted.items():
        estimator.save(folder / name)


def _mutate_model(folder: Path, draw: random.Random) -> None:
    model = draw.choice(sorted(folder.iterdir()))
    (folder / _CHANGED).write_text(model.name)
    (weights,) = model.glob("*.safetensors")
    if draw.random() < 0.5:
        mutate_sealed(model, DESCRIPTION, weights, draw)
    else:
        mutate_file(draw.choice([model / DESCRIPTION, weights]), draw)


def _read_models(folder: Path, draw: random.Random) -> None:
    changed = folder / _CHANGED
    for model in [folder / changed.read_text()] if changed.exists() else sorted(folder.iterdir()):
        loaded = aleator.load(model)
        if model.name == "mixed":
            # A name of a column that was changed does not fit, but nothing else may happen.
            with contextlib.suppress(ValueError):
                loaded.transform(_mixed_table())
        if model.name == "text":
            # Nor may a parameter that is checked in `transform`.
            with contextlib.suppress(ValueError):
                loaded.transform(_texts())
        if model.name == "parts":
            # As with the names of columns, so with those of parts.
            with contextlib.suppress(ValueError):
                loaded.transform(_parts())
        if model.name == "graph":
            with contextlib.suppress(ValueError):
                loaded.transform(_graphs())


def _make_recipe(folder: Path) -> None:
    for method in ("lfr", "supervised"):
        source = recipes.config_folder() / "har" / f"{method}.yaml"
        (folder / f"{method}.yaml").write_bytes(source.read_bytes())


def _mutate_any(folder: Path, draw: random.Random) -> None:
    mutate_file(draw.choice(sorted(p for p in folder.rglob("*") if p.is_file())), draw)


def _read_recipes(folder: Path, draw: random.Random) -> None:
    for path in sorted(folder.iterdir()):
        recipes.read_file(path, "har")


def _make_ts(folder: Path) -> None:
    values = np.random.default_rng(0).normal(size=(8, 150)).round(4)
    lines = ["# two classes", "@problemName GunPoint", "@classLabel true 1 2", "@data"]
    lines += [",".join(map(str, row)) + f":{1 + k % 2}" for k, row in enumerate(values)]
    for part in ("TRAIN", "TEST"):
        (folder / f"GunPoint_{part}.ts").write_text("\n".join(lines) + "\n")
    rows = [f"{k},2.5,?:{',7' * k}4:{'ab'[k % 2]}" for k in range(9)]
    content = "\n".join(["@classLabel true a b", "@data", *rows])
    (folder / _PACKED).write_bytes(gzip.compress(content.encode(), mtime=0))


def _mutate_ts(folder: Path, draw: random.Random) -> None:
    packed = folder / _PACKED
    if draw.random() < 0.2:  # or its checksum would reject nearly all changes
        changed = mutate_bytes(gzip.decompress(packed.read_bytes()), draw)
        packed.write_bytes(gzip.compress(changed, mtime=0))
    else:
        _mutate_any(folder, draw)


def _read_ts(folder: Path, draw: random.Random) -> None:
    ucr.ucr(folder, "gunpoint")
    with contextlib.suppress(ValueError):  # of series that do not fit together
        aleator.open_series(folder / _PACKED)


def _write_csv(folder: Path) -> None:
    lines = ["a,b,c", *(",".join(map(str, row)) for row in _table().round(3).tolist())]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")


def _write_parquet(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({name: column for name, column in zip("abc", _table().T, strict=True)})
    pq.write_table(table, folder / "table.parquet", row_group_size=10)


def _mixed_frame() -> Any:
    frame = _mixed_table().assign(note=_texts())
    _fit_tiny(frame)  # imports what the first fit needs
    return frame


def _fit_tiny(X: Any) -> None:
    aleator.RandomFeatures(n_features=4, random_state=0).fit(X)


def _write_mixed_csv(folder: Path) -> None:
    _mixed_frame().to_csv(folder / "table.csv", index=False)


def _arrow_table() -> Any:
    import pyarrow as pa

    table = pa.Table.from_pandas(_mixed_frame(), preserve_index=False)
    return table.replace_schema_metadata()  # that of pandas is longer than the table


def _write_mixed_parquet(folder: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(_arrow_table(), folder / "table.parquet", row_group_size=10)


def _write_arrow(folder: Path) -> None:
    import pyarrow as pa
    from pyarrow.feather import write_feather

    table = _arrow_table()
    write_feather(table, folder / "table.feather", compression="zstd", chunksize=10)
    position = table.schema.names.index("name")
    names = table["name"].combine_chunks().cast(table.schema.types[position].value_type)
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    with pa.ipc.new_file(folder / "table.arrow", table.schema, options=options) as writer:
        for start in range(0, 40, 10):
            # Every batch adds its names to the dictionary of the file.
            index = pa.array(range(start, start + 10), pa.int8())
            part = pa.DictionaryArray.from_arrays(index, names[: start + 10])
            writer.write(table.slice(start, 10).set_column(position, "name", part))


def _mutate_table(folder: Path, draw: random.Random) -> None:
    """Change one file, more often without moving the rest of it, and remove the others."""
    chosen = draw.choice(sorted(folder.iterdir()))
    for path in folder.iterdir():
        if path != chosen:
            path.unlink()
    if draw.random() < 0.6:
        chosen.write_bytes(overwrite_bytes(chosen.read_bytes(), draw))
    else:
        mutate_file(chosen, draw)


def _read_mixed_tables(folder: Path, draw: random.Random) -> None:
    for path in sorted(folder.iterdir()):
        table = aleator.open_table(path)
        if draw.random() < _SHARE_OF_TABLE_FITS:
            _fit_tiny(table)
        else:
            table.row_bytes(np.arange(len(table)))


def _read_table(folder: Path, draw: random.Random) -> None:
    for path in folder.iterdir():
        table = aleator.open_table(path)
        table.gather(np.arange(len(table)))


def _make_npy(folder: Path) -> None:
    np.save(folder / "table.npy", _table())
    _embed(folder)


def _embed(folder: Path) -> None:
    """Write an embedding, or compare the manifest of one, and write what is missing."""
    model = aleator.RandomEncoder(embedding_dim=4, random_state=0).fit(_table())
    model.transform_to(_table(), folder / "embedding")


def _read_npy(folder: Path, draw: random.Random) -> None:
    if draw.random() < 0.3:
        _embed(folder)
    for path in folder.glob("*.npy"):
        aleator.RandomEncoder(embedding_dim=4, random_state=0).fit(path)


def _write_images(folder: Path) -> None:
    from PIL import Image

    Image.init()  # all readers, which Pillow imports when it sees a file that it does not know
    pixels = np.random.default_rng(0).integers(0, 256, (8, 9, 12, 3), dtype=np.uint8)
    for name, ending in (("cat", "png"), ("dog", "jpg"), ("owl", "gif"), ("fox", "tiff")):
        (folder / name).mkdir()
        for number in range(2):
            image = Image.fromarray(pixels[number, : 9 - number])
            image.save(folder / name / f"{number}.{ending}")


def _read_images(folder: Path, draw: random.Random) -> None:
    aleator.RandomEncoder(encoder="mlp", embedding_dim=4, random_state=0).fit(folder)


def _write_graphs(folder: Path) -> None:
    arcs = [(4 * g + a, 4 * g + b) for g in range(6) for a, b in ((1, 2), (2, 3), (3, 4), (4, 1))]
    both = [pair for a, b in arcs for pair in ((a, b), (b, a))]
    files: dict[str, list[Any]] = {
        "A": [f"{a}, {b}" for a, b in both],
        "graph_indicator": [1 + node // 4 for node in range(24)],
        "graph_labels": [1, -1] * 3,
        "node_labels": [node % 3 for node in range(24)],
        "node_attributes": [f"{0.5 * node}, {node}" for node in range(24)],
        "edge_labels": [k % 2 for k in range(len(both))],
    }
    for name, lines in files.items():
        (folder / f"SQUARES_{name}.txt").write_text("\n".join(map(str, lines)) + "\n")


def _read_graphs(folder: Path, draw: random.Random) -> None:
    graphs = aleator.open_graphs(folder)
    aleator.RandomFeatures(n_features=4, random_state=0).fit(graphs)


def _write_wav(folder: Path) -> None:
    import wave

    random_numbers = np.random.default_rng(0)
    for number, width in enumerate((1, 2, 3, 4)):
        data = random_numbers.integers(0, 256, 120 * width, dtype=np.uint8).tobytes()
        (folder / f"{number % 2}").mkdir(exist_ok=True)
        with wave.open(str(folder / f"{number % 2}" / f"{number}.wav"), "wb") as file:
            file.setparams((1 + number % 2, width, 2000, 0, "NONE", ""))
            file.writeframes(data)


def _read_wav(folder: Path, draw: random.Random) -> None:
    aleator.RandomFeatures(n_features=4, projector="summaries", random_state=0).fit(folder)


LOADERS = {
    "model": Loader(_make_models, _mutate_model, _read_models, [ModelFileError]),
    "checkpoint": Loader(make_stopped_run, mutate_run, read_run, [CheckpointError]),
    "recipe": Loader(_make_recipe, _mutate_any, _read_recipes, [DataFileError]),
    "ts": Loader(_make_ts, _mutate_ts, _read_ts, [DamagedFileError, FileNotFoundError]),
    "csv": Loader(_write_csv, _mutate_any, _read_table, [ValueError]),
    "parquet": Loader(_write_parquet, _mutate_any, _read_table, [ValueError]),
    "csv-mixed": Loader(_write_mixed_csv, _mutate_any, _read_mixed_tables, [ValueError]),
    "parquet-mixed": Loader(_write_mixed_parquet, _mutate_table, _read_mixed_tables, [ValueError]),
    "arrow": Loader(_write_arrow, _mutate_table, _read_mixed_tables, [ValueError]),
    "images": Loader(_write_images, _mutate_any, _read_images, [ValueError]),
    "graphs": Loader(_write_graphs, _mutate_any, _read_graphs, [ValueError, FileNotFoundError]),
    "wav": Loader(_write_wav, _mutate_any, _read_wav, [ValueError, FileNotFoundError]),
    "npy": Loader(_make_npy, _mutate_any, _read_npy, [ValueError]),
}
