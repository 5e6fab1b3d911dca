"""Models, checkpoints and embeddings are on the disk: a URL is refused, and nothing is written."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

import aleator
from aleator.evaluation import fine_tune
from aleator.integrations.worker_model import WorkerModel
from aleator.validation import check_local
from tests.small import small

X = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
LABELS = np.arange(40) % 2


@pytest.fixture(scope="module")
def model():
    return small("DIET").fit(X)


CALLS = {
    "fit": ("checkpoint", lambda model, url: small("DIET").fit(X, checkpoint=url)),
    "untrained": ("checkpoint", lambda model, url: small("RandomEncoder").fit(X, checkpoint=url)),
    "fine_tune": (
        "checkpoint",
        lambda model, url: fine_tune(model, X, LABELS, X, LABELS, epochs=1, checkpoint=url),
    ),
    "save": ("path", lambda model, url: model.save(url)),
    "load": ("path", lambda model, url: aleator.load(url)),
    "workers": ("model", lambda model, url: WorkerModel.saved_in(url)),
    "transform_to": ("folder", lambda model, url: model.transform_to(X, url)),
}


@pytest.mark.parametrize(
    "url",
    ["s3://bucket/runs/1", "memory://runs", "HTTPS://host/x", "simplecache::s3://bucket/x",
     Path("s3://bucket/runs/1")],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("call", CALLS)
def test_a_url_is_refused_and_nothing_is_written(call, url, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parameter, function = CALLS[call]
    with pytest.raises(ValueError, match="give the path of a local folder") as caught:
        function(model, url)
    assert str(caught.value) == (
        f"{parameter}={os.fspath(url)!r} is a URL: give the path of a local folder"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="names have no colons there")
@pytest.mark.parametrize("kind", [str, Path, os.fsencode])
def test_folders_on_the_disk_are_used(kind, model, tmp_path):
    """Also with colons in their names, as times have."""
    folder = tmp_path / "run 12:30" / "a:b"
    small("DIET").fit(X, checkpoint=kind(folder / "run"))
    model.save(kind(folder / "model"))
    model.transform_to(X, kind(folder / "out"))
    loaded = aleator.load(kind(folder / "model"))
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    assert sorted(path.name for path in folder.iterdir()) == ["model", "out", "run"]


@pytest.mark.parametrize(
    "folder",
    ["C:\\runs\\1", "C:/runs/1", "\\\\server\\share\\runs", "D:", "runs/:1", "a/b:c", "~/runs"],
)
def test_paths_that_are_no_urls(folder):
    assert check_local("path", folder) == Path(folder)
