"""Tables, effects and figures of the studies of LFR, made from generated result lines."""

import pytest

from aleator.benchmark import presentation, research_page
from aleator.benchmark.cells import identity_fields
from aleator.benchmark.research_effects import effects
from aleator.benchmark.research_studies import DIAGNOSIS, FEATURE_COUNTS, RESEARCH_STUDIES
from aleator.benchmark.runner import lines_of

RESEARCH = {study.name: study for study in RESEARCH_STUDIES}


def lines(name, accuracy, datasets=("har", "income"), seeds=(0, 1, 2), **measured):
    """Lines of a study; `accuracy` maps a cell to its accuracy with few labels."""
    cells = RESEARCH[name].cells(datasets, seeds=seeds)
    stored = [
        {
            **identity_fields(cell, protocol),
            "metrics": {
                "accuracy": accuracy(cell) + 0.1 * number,
                "labels": 100 if len(cell.protocols) == 2 and number == 0 else 5000,
                **{metric: value(cell) for metric, value in measured.items()},
            },
            "device": "cpu", "version": "0.4", "commit": "abc",
        }
        for cell in cells
        for number, protocol in enumerate(cell.protocols)
    ]  # fmt: skip
    return lines_of(cells, stored)


def loss_lines():
    """The loss "bbt" is one point worse than the default, "mse"."""
    scores = {"bbt": 0.79, "mse": 0.8, "cosine": 0.8, "infonce": 0.7}
    # The difference of "cosine" depends on the seed; that of the others does not.
    noise = {"cosine": 0.01}
    return lines(
        "research-loss",
        lambda cell: (
            scores[cell.recipe.variant]
            + noise.get(cell.recipe.variant, 0) * (cell.seed - 1)
            + 0.001 * cell.seed
        ),
    )


def test_table_marks_the_default_of_every_data_set():
    ((head, table),) = presentation.tables_of(RESEARCH["research-loss"], loss_lines())
    assert head == ""
    assert table.columns == ["HAR, 200", "HAR, all", "Income, 200", "Income, all"]
    assert table.rows == ["bbt", "mse (default)", "cosine", "infonce"]
    assert table.values["bbt", "HAR, all"] == pytest.approx([89, 89.1, 89.2])
    assert "test sets were not used" in table.markdown()
    widths = lines("research-width", lambda cell: 0.5, ("har", "kvasir-v1"))
    ((_, table),) = presentation.tables_of(RESEARCH["research-width"], widths)
    assert table.rows == [
        *(f"{width}, random weights" for width in (64, 256, 1024)),
        "64", "128", "256", "512 (default: HAR)", "1024 (default: Kvasir v1)", "2048"]  # fmt: skip


def test_numbers_are_in_order():
    budget = lines("research-budget", lambda cell: 0.5)
    ((_, table),) = presentation.tables_of(RESEARCH["research-budget"], budget)
    assert table.rows == ["random weights", "0", "5 (default: Income)", "20 (default: HAR)", "80"]


def test_families_have_a_table_per_kind_of_data():
    made = dict(presentation.tables_of(RESEARCH["research-families"],
                                       lines("research-families", lambda cell: 0.5)))  # fmt: skip
    assert list(made) == ["Series", "Tables"]
    assert made["Tables"].columns == ["Income, 200", "Income, all"]
    assert made["Tables"].rows[:2] == ["trees + sums (default)", "trees"]


def test_effects_are_paired_differences_from_the_default():
    found = effects(loss_lines())
    assert set(found) == {"bbt", "cosine", "infonce"}
    bbt = found["bbt"]["few"]
    assert bbt.mean == pytest.approx(-1)
    assert bbt.half_width == pytest.approx(0, abs=1e-9)
    assert bbt.is_clear
    widths = lines("research-width", lambda cell: 0.5, ("har", "kvasir-v1"))
    assert effects(widths)["1024"]["few"].n_datasets == 1  # on Kvasir v1 it is the default
    cosine = found["cosine"]["all"]
    assert cosine.n_datasets == 2
    assert cosine.mean == pytest.approx(0)
    # Variance 1 of three seeds on two data sets; Student's quantile for 4 degrees of freedom.
    assert cosine.half_width == pytest.approx(2.776 * (2 / 3) ** 0.5 / 2, abs=1e-3)
    assert not cosine.is_clear


def test_one_seed_has_no_interval():
    found = effects(lines("research-training", lambda cell: 0.5, seeds=[0]))
    assert str(found["alternating"]["few"]) == "+0.0"


def test_summary():
    text = research_page.summary({"research-loss": loss_lines()}).splitlines()
    assert text[0] == "| what is varied | variant | few labels | all labels | data sets |"
    assert "| Loss of LFR | bbt | **−1.0 ± 0.0** | **−1.0 ± 0.0** | 2 |" in text
    assert research_page.summary({}) == research_page.NOT_MEASURED


def test_setup_names_sizes_and_machines():
    text = research_page.setup({"research-loss": loss_lines(), "research-width": []})
    assert "| HAR | 5000 | 2352 | 6 | 200 |" in text
    assert text.endswith("48 results, seeds 0, 1, 2. Device: cpu. Aleator 0.4, commits abc.")
    assert research_page.setup({}) == research_page.NOT_MEASURED


def test_section_of_projectors_compares_networks_with_the_default():
    def is_network(cell):
        return "networks" in cell.recipe.variant

    measured = {
        "linear_r2": lambda cell: 0.9 if is_network(cell) else 0.2,
        "rank_of_one": lambda cell: 10 if is_network(cell) else 60,
        "rank_of_all": lambda cell: 20 if is_network(cell) else 600,
    }
    found = lines(DIAGNOSIS, lambda cell: 0.5 if is_network(cell) else 0.7, **measured)
    text = research_page.section(RESEARCH[DIAGNOSIS], found)
    assert "Series:\n\n| family | HAR, linear, % | HAR, rank of one |" in text
    assert "**" not in text  # no value is the best
    assert "research-diagnosis.svg" in text
    assert text.splitlines()[-4:] == [
        "| linear in the raw values, % of the variance | 90.0 | 20.0 |",
        "| effective rank of one projector | 10.0 | 60.0 |",
        "| effective rank of all together | 20.0 | 600.0 |",
        "| accuracy of a probe on the outputs | 50.0 | 70.0 |",
    ]
    assert research_page.section(RESEARCH[DIAGNOSIS], []) == research_page.NOT_MEASURED


def test_figures(tmp_path):
    measured = {n: lambda cell: 0.5 for n in ("linear_r2", "rank_of_one", "rank_of_all")}
    for name, extra in ((DIAGNOSIS, measured), (FEATURE_COUNTS, {}), ("research-loss", {})):
        found = lines(name, lambda cell: 0.5 + 0.01 * cell.seed, **extra)
        presentation.write(RESEARCH[name], found, tmp_path, tmp_path)
    svgs = {path.stem for path in tmp_path.glob("*.svg")}
    assert svgs == {DIAGNOSIS, FEATURE_COUNTS}


def test_figure_of_features_has_lfr_as_a_point():
    found = lines(FEATURE_COUNTS, lambda cell: 0.5, ["har"])
    figure = presentation.research_figures.feature_counts(found, title="a title")
    (axes,) = figure.axes
    curves = {line.get_label(): line for line in axes.lines}
    assert list(curves) == ["RandomFeatures, all labels", "LFR, all labels",
                            "RandomFeatures, few labels", "LFR, few labels"]  # fmt: skip
    positions = curves["RandomFeatures, all labels"].get_xdata()
    assert list(positions) == [512, 1024, 2048, 4096, 8192]
    assert list(curves["LFR, few labels"].get_xdata()) == [512]
    assert list(curves["LFR, all labels"].get_ydata()) == pytest.approx([60])
