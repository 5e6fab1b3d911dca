"""The revision that results are marked with."""

import subprocess

import pytest

import aleator
from aleator.benchmark.provenance import commit


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package in a repository of its own, in place of the installed one."""
    monkeypatch.delenv("ALEATOR_COMMIT", raising=False)
    module = tmp_path / "src" / "aleator" / "__init__.py"
    module.parent.mkdir(parents=True)
    module.write_text("")
    (tmp_path / "runs.jsonl").write_text("")
    (tmp_path / "benchmarks" / "configs").mkdir(parents=True)
    (tmp_path / "benchmarks" / "configs" / "lfr.yaml").write_text("")
    monkeypatch.setattr(aleator, "__file__", str(module))
    return module


def run_git(folder, *arguments):
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("changed", ["src/aleator/__init__.py", "benchmarks/configs/lfr.yaml"])
@pytest.mark.usefixtures("package")
def test_only_changes_of_the_program_make_a_revision_dirty(changed, tmp_path):
    run_git(tmp_path, "init")
    run_git(tmp_path, "add", ".")
    run_git(tmp_path, "commit", "-m", "first")
    revision = commit()
    assert len(revision) == 12
    (tmp_path / "runs.jsonl").write_text("{}")
    assert commit() == revision
    (tmp_path / changed).write_text("x = 1")
    assert commit() == f"{revision}-dirty"


def test_without_a_repository(package, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit() == "unknown"
    monkeypatch.setenv("ALEATOR_COMMIT", "abc")
    assert commit() == "abc"
