"""Tables and the figure of label curves, made from result lines."""

import pytest

from aleator.benchmark import label_figure, label_tables, presentation
from aleator.benchmark.method_names import METHODS
from aleator.benchmark.studies import STUDIES

STUDY = STUDIES["labels"]
TOTAL = {"har": 7352, "income": 30162, "cifar10": 50_000}


def line(method, accuracy, count, dataset="har", seed=0, scale=1.0, small=False):
    is_all = count == TOTAL[dataset]
    return {"dataset": dataset, "method": method, "seed": seed, "epochs_scale": scale,
            "protocol": "all labels" if is_all else f"{count} labels", "small": small,
            "variant": None, "seconds": 1.0,
            "metrics": {"accuracy": accuracy, "labels": count, "draws": 3}}  # fmt: skip


@pytest.fixture
def lines():
    """LFR is better than raw values and two rivals, and supervised training is with all labels."""
    few = {"logreg": 0.3, "supervised": 0.4, "simclr": 0.45, "dacl": 0.5, "lfr": 0.6}
    many = {"logreg": 0.6, "supervised": 0.98, "simclr": 0.9, "dacl": 0.91, "lfr": 0.95}
    return [
        line(method, accuracy + 0.02 * seed, count, seed=seed)
        for count, scores in ((7352, many), (30, few))
        for method, accuracy in scores.items()
        for seed in (0, 1)
    ]


def test_table_has_a_column_per_number_of_labels(lines):
    ((head, table),) = presentation.tables_of(STUDY, lines)
    assert head == "HAR"
    text = table.markdown().splitlines()
    assert text[0] == "| method | 30 labels | all 7352 labels |"
    assert text[2] == "| Raw values | 31.0 ± 1.4 | 61.0 ± 1.4 |"
    # Classifiers have the same labels as the others, so they are compared with them.
    assert text[3] == "| Supervised | 41.0 ± 1.4 | **99.0 ± 1.4** |"
    assert text[-4] == "| LFR, paper's recipe | **61.0 ± 1.4** | 96.0 ± 1.4 |"
    assert text[-2].startswith("- 30 labels: LFR, paper's recipe against DACL, Welch's test p =")


def test_every_data_set_has_a_table(lines):
    more = [line("boosting", 0.8, 10, "income"), line("random", 0.5, 50, "cifar10", scale=0.05)]
    made = dict(presentation.tables_of(STUDY, [*more, *lines]))
    assert list(made) == ["HAR", "Income", "CIFAR-10 (5 % of epochs)"]
    assert made["Income"].rows == ["Gradient boosting"]
    assert made["CIFAR-10 (5 % of epochs)"].rows == ["Random encoder"]
    assert "Shortened runs: 5 %" in made["CIFAR-10 (5 % of epochs)"].markdown()


def test_summary_has_highlighted_methods_and_the_best_rival(lines):
    few = [{**x, "protocol": "200 labels"} if x["protocol"] == "30 labels" else x for x in lines]
    fewest = [line("lfr", 0.8, 30), line("dacl", 0.99, 30)]
    assert label_tables.summary([*few, *fewest]).splitlines() == [
        "| method | HAR, 200 | HAR, all |",
        "| --- | --- | --- |",
        "| Raw values | 31.0 | 61.0 |",
        "| Supervised | 41.0 | **99.0** |",
        "| LFR, paper's recipe | **61.0** | 96.0 |",
        "| Best other method | 51.0 | 92.0 |",
    ]
    assert label_tables.summary([]) == ""


def test_summary_marks_what_was_not_run(lines):
    text = label_tables.summary([*lines, line("boosting", 0.8, 200, "income")])
    assert "| method | HAR, all | Income, 200 |" in text
    assert "| Gradient boosting | – | **80.0** |" in text


def test_figure_has_a_panel_per_data_set(lines):
    more = [line("boosting", 0.8, 10, "income"), line("boosting", 0.9, 200, "income")]
    figure = label_figure.draw([*lines, *more], title="a title")
    har, income = figure.axes
    assert [axes.get_title("left") for axes in figure.axes] == ["HAR", "Income"]
    assert har.get_xscale() == "log"
    ticks = {text.get_text(): text.get_position()[0] for text in har.get_xticklabels()}
    assert ticks == {"30": 30, "all\n7352": 7352}
    assert [t.get_text() for t in income.get_xticklabels()] == ["10", "200"]
    drawn = {curve.get_label(): curve for curve in har.lines}
    assert list(drawn["LFR, paper's recipe"].get_xdata()) == [30, 7352]
    assert list(drawn["LFR, paper's recipe"].get_ydata()) == pytest.approx([61, 96])
    assert len(har.lines) == 5
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "LFR, paper's recipe", "Supervised", "Gradient boosting", "Raw values",
        "other self-supervised methods"]  # fmt: skip
    gray = drawn["other self-supervised methods"].get_color()
    rivals = [curve for curve in har.lines if curve.get_color() == gray]
    assert len(rivals) == 2


def test_highlighted_methods_have_a_style():
    assert set(label_figure._STYLES) == set(label_tables.HIGHLIGHTED)
    known = set(label_tables.HIGHLIGHTED) & set(METHODS)
    assert known >= {"logreg", "boosting", "supervised", "random", "lfr"}


def test_shortened_runs_beside_full_ones(lines):
    mixed = [
        line("lfr-default", 0.7, 1000, "cifar10"),
        line("dacl", 0.5, 1000, "cifar10", scale=0.05),
    ]
    ((head, table),) = presentation.tables_of(STUDY, mixed)
    assert head == "CIFAR-10"
    assert table.rows == ["DACL, 5 % of epochs", "LFR"]
    assert "Shortened" not in table.markdown()
    figure = label_figure.draw([*lines, *mixed], title="a title")
    assert [axes.get_title("left") for axes in figure.axes] == ["HAR", "CIFAR-10"]
    note = "CIFAR-10: methods other than LFR were trained for 5 % of their epochs"
    assert note in figure.legends[0].get_title().get_text()


def test_small_data_sets_have_tables_only(lines):
    TOTAL["gunpoint"] = 50
    more = [*lines, line("lfr-default", 0.9, 50, "gunpoint")]
    assert [head for head, _ in presentation.tables_of(STUDY, more)] == ["HAR", "GunPoint"]
    assert "GunPoint" not in label_tables.summary(more)
    assert len(label_figure.draw(more, title="a title").axes) == 1


def test_files(lines, tmp_path):
    small = [{**one, "small": True} for one in lines]
    text = presentation.write(STUDY, small, tmp_path, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "labels.md", "labels.tex", "labels.svg", "labels.png"}  # fmt: skip
    assert text.startswith("HAR:\n\n| method |")
    first = (tmp_path / "labels.svg").read_bytes()
    presentation.write(STUDY, small, tmp_path, tmp_path)
    assert (tmp_path / "labels.svg").read_bytes() == first
    assert b"Small synthetic data" in first
