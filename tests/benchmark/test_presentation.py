"""Tables and figures made from result lines."""

import numpy as np
import pytest
from scipy import stats

from aleator.benchmark import paper, plots, presentation
from aleator.benchmark.result_table import Table
from aleator.benchmark.studies import STUDIES


def line(method, score, dataset="har", protocol="paper", scale=1.0, variant=None, **extra):
    return {"dataset": dataset, "method": method, "protocol": protocol, "epochs_scale": scale,
            "small": False, "variant": variant, "seed": 0, "epochs": 200, "seconds": 2.0,
            "metrics": {"accuracy": score, "kappa": score / 2}, **extra}  # fmt: skip


def table_of(study, lines, head=""):
    ((found, table),) = presentation.tables_of(study, lines)
    assert found == head
    return table


PAPER_LFR = "LFR, paper's recipe"
SCORES = {"lfr": [0.94, 0.95, 0.93], "supervised": [0.99], "dacl": [0.90, 0.91, 0.92]}
LINES = [line(method, score) for method, scores in SCORES.items() for score in scores]


class TestTable:
    def test_markdown_table(self):
        text = table_of(STUDIES["table1"], LINES).markdown()
        assert text.splitlines() == [
            "| method | HAR |",
            "| --- | --- |",
            "| Supervised | 99.0 (96.0 ± 0.6) |",
            "| DACL | 91.0 ± 1.0 (90.7 ± 0.4) |",
            "| LFR, paper's recipe | **94.0 ± 1.0** (93.1 ± 0.5) |",
            "",
            "- HAR: LFR, paper's recipe against DACL, Welch's test p = 0.021",
            "- HAR: 1 instead of 3 runs of Supervised",
        ]
        p = stats.ttest_ind([94, 95, 93], [90, 91, 92], equal_var=False).pvalue
        assert round(p, 3) == 0.021

    def test_latex_table(self):
        text = table_of(STUDIES["table1"], LINES).latex()
        assert r"LFR, paper's recipe & \textbf{94.0 $\pm$ 1.0} (93.1 $\pm$ 0.5) \\" in text
        assert text.startswith(r"\begin{tabular}{lc}")
        assert text.count(r"\\") == 4

    def test_each_protocol_has_a_column(self):
        lines = [line("lfr", 0.9), line("lfr", 0.5, protocol="standardised")]
        table = table_of(STUDIES["table1"], lines)
        assert table.columns == ["HAR", "HAR, standardized"]
        assert table.values[PAPER_LFR, "HAR, standardized"] == [50.0]
        assert (PAPER_LFR, "HAR, standardized") not in table.known

    def test_lowest_time_is_the_best(self):
        table = Table("method", lower_is_better=True)
        table.add("slow", "s", 2.0)
        table.add("fast", "s", 1.0)
        assert table.ranked("s") == ["fast", "slow"]
        assert table.comparison("s").p_value is None

    def test_kvasir_version_1_is_not_compared_with_the_paper(self):
        lines = [line("lfr", 0.7, dataset="kvasir-v1"), line("lfr", 0.7, dataset="kvasir")]
        table = table_of(STUDIES["table1"], lines)
        assert table.known == {(PAPER_LFR, "Kvasir"): (74.9, 0.6)}

    def test_fine_tuning_is_compared_with_its_own_results(self):
        table = table_of(STUDIES["finetune"], [line("lfr", 0.9, protocol="finetuned")])
        assert table.known == {(PAPER_LFR, "HAR"): (94.7, 1.4)}

    def test_kappa_is_shown_for_mimic3(self):
        table = table_of(STUDIES["table1"], [line("lfr", 0.8, dataset="mimic3")])
        assert table.values[PAPER_LFR, "MIMIC-III"] == [40.0]
        note = "The metric of MIMIC-III is kappa × 100, not accuracy"
        assert f"- {note}" in table.markdown()
        assert "The metric of" not in table_of(STUDIES["table1"], [line("lfr", 0.8)]).markdown()

    def test_variants_are_rows(self):
        lines = [line("lfr", s, "kvasir", variant=v) for v, s in (("bbt", 0.7), ("infonce", 0.6))]
        table = table_of(STUDIES["loss"], lines)
        assert table.rows == ["bbt", "infonce"]
        assert table.known["bbt", "Kvasir"] == (74.9, 0.6)

    def test_ablations_have_standard_errors_and_other_tables_standard_deviations(self):
        scores = (0.70, 0.72, 0.74, 0.76)
        lines = [line("lfr", s, "kvasir-v1", variant="bbt") for s in scores]
        text = table_of(STUDIES["loss"], lines).markdown()
        error = np.std([70, 72, 74, 76], ddof=1) / 2
        assert f"| bbt | **73.0 ± {error:.1f}** |" in text
        assert "standard error of the mean" in text
        assert "standard error" not in table_of(STUDIES["loss"], lines[:1]).markdown()
        text = table_of(STUDIES["table1"], lines).markdown()
        assert f"| {PAPER_LFR} | **73.0 ± {2 * error:.1f}** |" in text
        assert "standard error" not in text

    def test_varied_methods_have_a_table_per_data_set_and_protocol(self):
        lines = [
            line(method, 0.5, "theorem", protocol, variant=width)
            for method in ("lfr", "stab")
            for protocol in ("paper", "standardised")
            for width in ("16", "32")
        ]
        made = presentation.tables_of(STUDIES["embedding-dim"], lines)
        assert [head for head, _ in made] == [
            "Theorem, paper protocol", "Theorem, standardized protocol"]  # fmt: skip
        assert made[0][1].rows == ["STab", PAPER_LFR]
        assert made[0][1].columns == ["16", "32"]

    def test_shortened_runs_are_marked_in_tables(self):
        table = table_of(STUDIES["table1"], [line("lfr", 0.5, scale=0.1)])
        for text in (table.markdown(), table.latex()):
            assert "Shortened runs: 10 % of the recipes' epochs" in text
        mixed = [line("lfr", 0.5, scale=0.1), line("lfr", 0.6, dataset="income")]
        table = table_of(STUDIES["table1"], mixed)
        assert table.columns == ["HAR (10 % of epochs)", "Income"]
        assert "Columns marked with a percentage of epochs are shortened runs" in table.markdown()

    def test_special_characters_of_latex_are_escaped(self):
        table = table_of(STUDIES["table1"], [line("lfr", 0.5, scale=0.1)])
        assert r"HAR (10 \% of epochs)" in table.latex()
        pairs = [line("lfr", 0.9, dataset="fault-a", protocol="transfer to fault-c")]
        ((_, table),) = presentation.tables_of(STUDIES["transfer"], pairs)
        assert r"method & A $\to$ C \\" in table.latex()

    def test_fewer_seeds_are_noted(self):
        lines = [line("lfr", 0.5), line("lfr", 0.6), line("dacl", 0.6), line("diet", 0.4)]
        note = "HAR: 1 instead of 2 runs of DIET, DACL"
        assert f"- {note}" in table_of(STUDIES["table1"], lines).markdown()
        assert note not in table_of(STUDIES["table1"], lines[:2]).markdown()


class TestFigures:
    def test_each_data_set_has_a_figure(self, tmp_path):
        lines = [
            line("stab", 0.8 + k / 100, dataset, protocol, variant=str(k))
            for dataset in ("income", "theorem")
            for protocol in ("paper", "standardised")
            for k in range(3)
        ]
        presentation.write(STUDIES["stab-dropout"], lines, tmp_path, tmp_path)
        assert {p.name for p in tmp_path.iterdir()} == {
            f"stab-dropout{rest}" for rest in (".md", ".tex", "-income.svg", "-income.png",
                                               "-theorem.svg", "-theorem.png")
        }  # fmt: skip

    def test_curves_show_means_of_both_protocols(self):
        values = {("LFR", "paper"): {"2": [1.0, 3.0], "4": [5.0]},
                  ("LFR", "standardized"): {"4": [7.0]}}  # fmt: skip
        axes = plots.curves(values, title="t", x_axis="x", y_axis="y", note="n").axes[0]
        first, second = (bars.lines[0] for bars in axes.containers)
        assert list(first.get_ydata()) == [2.0, 5.0]
        assert list(second.get_xdata()) == [1]
        (bar, _) = axes.containers[0].lines[2][0].get_segments()
        assert list(bar[:, 1]) == [1.0, 3.0]  # the standard error of 1 and 3 is 1
        assert [t.get_text() for t in axes.get_legend().get_texts()] == [
            "LFR, paper", "LFR, standardized"]  # fmt: skip

    def test_lines_connect_numeric_variants_only(self):
        values = {("LFR", "paper"): {"joint": [3.0], "1": [1.0], "2": [2.0]}}
        axes = plots.curves(values, title="t", x_axis="x", y_axis="y").axes[0]
        assert list(axes.lines[0].get_xdata()) == [1, 2]
        assert list(axes.containers[0].lines[0].get_xdata()) == [0, 1, 2]

    def test_shortened_runs_are_marked_in_figures(self, tmp_path):
        lines = [
            line("lfr", 0.5, dataset, variant=width, scale=scale)
            for dataset, scale in (("theorem", 1.0), ("kvasir-v1", 0.25))
            for width in ("16", "32")
        ]
        presentation.write(STUDIES["embedding-dim"], lines, tmp_path, tmp_path)
        marked = {n: "Shortened runs" in (tmp_path / f"embedding-dim-{n}.svg").read_text()
                for n in ("theorem", "kvasir-v1")}  # fmt: skip
        assert marked == {"theorem": False, "kvasir-v1": True}

    def test_times_are_drawn_as_bars(self, tmp_path):
        here = {"protocol": "timed", "device": "cpu", "threads": 2}
        lines = [
            line("lfr", 0, **here, metrics={"seconds_per_epoch": 0.1}),
            line("dacl", 0, **here, metrics={"seconds_per_epoch": 0.2}),
        ]
        text = presentation.write(STUDIES["efficiency"], lines, tmp_path, tmp_path)
        assert f"| {PAPER_LFR} | **0.10** |" in text
        assert "- Timed on 2 CPU threads" in text
        assert (tmp_path / "efficiency-har.svg").exists()


def test_results_of_the_paper_are_complete():
    """The transcribed tables have as many entries as the paper's."""
    assert {name: len(cells) for name, cells in paper.ACCURACY.items()} == {
        "har": 10, "epilepsy": 10, "mimic3": 10, "income": 10, "theorem": 10, "hepmass": 9,
        "kvasir": 8, "cifar10": 8,
    }  # fmt: skip
    averages = {"supervised-transformer": 63.83, "supervised": 64.04, "random": 75.05,
                "tstcc-transformer": 67.83, "lfr": 82.16}  # fmt: skip
    for method, values in paper.TRANSFER.items():
        assert len(values) == len(paper.PAIRS) == 12
        assert sum(values) / 12 == pytest.approx(averages[method], abs=0.02)
