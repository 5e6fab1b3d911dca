"""Tables, figures and statements in README files agree with the committed results."""

import re

import pytest

from aleator import cli
from aleator.benchmark import command, presentation
from aleator.benchmark.research_effects import effects
from aleator.benchmark.studies import STUDIES
from audits.committed import RESULTS, ROOT, held_out_lines_of, lines, make_tables, text_of

# What benchmarks/README.md says about the best method, and the columns of table 1 that must confirm
# it. If a sentence is reworded, change it here too.
BEST_METHODS = {
    "RandomFeatures, 8192 features wide, leads on HAR, Epilepsy and Kvasir v1": (
        "RandomFeatures", ["HAR", "HAR, standardized", "Epilepsy", "Epilepsy, standardized",
                           "Kvasir v1", "Kvasir v1, standardized"]),
    "LFR leads on Theorem under the paper's probe": ("LFR", ["Theorem"]),
}  # fmt: skip

# What docs/research.md concludes, and the differences from the defaults that must confirm it: the
# study, the variant, the labels, and the range in points.
CONCLUSIONS = {
    "are about three points behind an encoder that begins with random features": [
        ("research-encoder", "the paper's encoder, default projectors", labels, (-3.5, -2.5))
        for labels in ("few", "all")],
    "LFR is one to four points behind": [
        ("research-families", f"networks ({network})", labels, (-4.5, -0.5))
        for network in ("cnn", "mlp") for labels in ("few", "all")],
    "a point better than random weights with all labels, less with few": [
        ("research-budget", "random weights", "all", (-1.5, -0.5)),
        ("research-budget", "random weights", "few", (-0.9, -0.1))],
    "be it for five epochs, for twenty or for eighty": [
        ("research-budget", epochs, labels, (-0.25, 0.25))
        for epochs in ("0", "5", "80") for labels in ("few", "all")],
    "whether encoder and predictors are trained together or in turns": [
        *(("research-loss", loss, labels, (-0.5, 0.5))
          for loss in ("bbt", "cosine", "infonce") for labels in ("few", "all")),
        *(("research-training", "alternating", labels, (-0.25, 0.25))
          for labels in ("few", "all"))],
    "LFR loses half a point on average with all labels, and nothing with few": [
        ("research-width", "256", "all", (-0.75, -0.25)),
        ("research-width", "256", "few", (-0.25, 0.25))],
    "is slightly better with few labels than one that is solved for 16": [
        ("research-projectors", "16", "few", (-0.5, -0.1))],
    "Whitening costs two points with few labels": [
        ("research-scaling", "whiten", "few", (-2.5, -1.5))],
    "8192 random features without training are less than a point better": [
        ("research-feature-counts", "8192", labels, (0, 1)) for labels in ("few", "all")],
    "as few features as that, without a map, are worse": [
        ("research-feature-counts", count, "all", (-2, -0.2)) for count in ("512", "1024")],
}  # fmt: skip

# The tables that contain the numbers in each paragraph of "What the figures show".
TABLES_OF_PARAGRAPH = {
    "Kvasir v1": ("table1", "finetune"),
    "CIFAR-10": ("cifar10",),
    "Ablations on Kvasir v1": ("projectors", "batch-size", "predictor-epochs", "selection-size",
                               "loss", "diversity", "embedding-dim"),
    "CWRU bearings by load": ["transfer"],
    "CWRU bearings by size of the fault": ["transfer"],
    "PhysioNet 2012": ("table1",),
    "Theorem": (),
    "STab on Income": ("stab-dropout",),
    "Nearest neighbors on CIFAR-10": (),
}  # fmt: skip

# Cells of table 1 whose difference from the paper no committed run explains yet.
UNSHOWN = {"table1: Income, DIET"}


def test_sections_of_documents_are_generated():
    make_tables("--check")


def test_label_curves_come_before_the_first_section():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = make_tables("labels").strip()
    assert table.startswith("![")
    assert 0 < readme.find(table) < readme.index("## ")


@pytest.mark.parametrize("sentence", BEST_METHODS)
def test_best_methods_in_the_readme(sentence):
    assert sentence in text_of("benchmarks/README.md"), "reworded? update BEST_METHODS"
    study = STUDIES["table1"]
    stored = command.lines_of_study(study, lines("runs.jsonl"))
    ((_, table),) = presentation.tables_of(study, stored)
    method, columns = BEST_METHODS[sentence]
    assert {column: table.ranked(column)[0] for column in columns} == dict.fromkeys(columns, method)


@pytest.mark.parametrize("sentence", CONCLUSIONS)
def test_conclusions_of_the_research(sentence):
    assert sentence in text_of("docs/research.md"), "reworded? update CONCLUSIONS"
    for study, variant, labels, (low, high) in CONCLUSIONS[sentence]:
        found = effects(held_out_lines_of(study))[variant][labels]
        assert low <= found.mean <= high


def test_lead_over_random_weights_by_width():
    text = text_of("docs/research.md")
    assert "With 64 dimensions LFR is four points ahead of it on average" in text
    assert "with 256 one to two points, with 1024 less than one" in text
    found = effects(held_out_lines_of("research-width"))
    for width, low, high in (("64", 3.5, 4.5), ("256", 1, 2), ("1024", 0.1, 1)):
        for labels in ("few", "all"):
            # Both are differences from the defaults; where a width is the default, it has none.
            untrained, trained = found[f"{width}, random weights"][labels], found[width][labels]
            lead = trained.mean * trained.n_datasets / untrained.n_datasets - untrained.mean
            assert low <= lead <= high


def test_committed_tables_are_generated(tmp_path):
    (tmp_path / "runs.jsonl").write_bytes((RESULTS / "runs.jsonl").read_bytes())
    assert cli.main(["bench", "all", "--tables-only", "--out", str(tmp_path)]) == 0
    generated = {path.name: path.read_text("utf-8") for path in (tmp_path / "tables").iterdir()}
    committed = {path.name: path.read_text("utf-8") for path in (RESULTS / "tables").iterdir()}
    assert generated == committed
    # Figures depend on the version of matplotlib, so only their names are compared; those of
    # `neighbors` need the data set.
    names = {path.name for path in (RESULTS / "figures").iterdir()}
    figures = {path.name for path in (tmp_path / "figures").iterdir()}
    assert figures == {name for name in names if not name.startswith("neighbors-")}
    assert names - figures


def test_numbers_in_prose_are_in_the_tables():
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    section = text.split("## What the figures show")[1].split("\n## ")[0]
    paragraphs = section.split("\n- **")[1:]
    titles = [paragraph.split("**")[0] for paragraph in paragraphs]
    assert titles == list(TABLES_OF_PARAGRAPH), "retitled? update TABLES_OF_PARAGRAPH"
    for paragraph, names in zip(paragraphs, TABLES_OF_PARAGRAPH.values(), strict=True):
        tables = "".join((RESULTS / "tables" / f"{name}.md").read_text("utf-8") for name in names)
        numbers = set(re.findall(r"\d\d\.\d", paragraph))
        assert bool(numbers) == bool(names)
        assert numbers <= set(re.findall(r"\d\d\.\d", tables))


def test_missed_targets_are_those_of_the_tables():
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    section = text.split("## Targets that LFR's defaults miss")[1].split("\n## ")[0]
    names = ("labels", "table1", "cifar10", "research-width")
    tables = "".join((RESULTS / "tables" / f"{name}.md").read_text("utf-8") for name in names)
    numbers = set(re.findall(r"\d\d\.\d", section))
    assert len(numbers) >= 15
    assert numbers <= set(re.findall(r"\d\d\.\d", tables))


def test_explanations_name_the_study_that_shows_them():
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    section = text.split("## Where we differ from the paper")[1].split("\n## ")[0]
    rows = [row.strip("| ").split(" | ") for row in section.splitlines() if row.startswith("| ")]
    stored = {(line["dataset"], line.get("held_out", False)) for line in lines("runs.jsonl")}
    without = set()
    for cells, why in rows[2:]:
        named = set(re.findall(r"`([a-z0-9-]+)`", why)) & set(STUDIES)
        if not named:
            without |= set(cells.split("; "))
        for name in named:
            study = STUDIES[name]
            tables = (RESULTS / "tables" / f"{name}.md").read_text("utf-8")
            assert any((dataset, study.held_out) in stored for dataset in study.datasets)
            numbers = set(re.findall(r"\d\d\.\d", why)) if len(named) == 1 else set()
            assert numbers <= set(re.findall(r"\d\d\.\d", tables)), name
    assert {cell for cell in without if not cell.startswith(("finetune", "cifar10"))} == UNSHOWN


def test_every_difference_from_the_paper_is_explained():
    rows = make_tables("--differences").splitlines()[2:]
    differences = {row.split(" | ")[0].strip("| ") for row in rows}
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"(?:table1|finetune|cifar10): [^;|]+?(?=;| \|)", text))
    assert differences == explained
