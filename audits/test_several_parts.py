"""The committed result of several parts: both tell more than either, as the document says."""

import json
from statistics import fmean, stdev

import pytest

from audits.committed import RESULTS, ROOT

MODELS, PARTS = ("LFR", "RandomFeatures", "RandomEncoder"), ("table", "text", "both")
SHARES = ("10% of the labels", "100% of the labels")


def scores(model, part, share):
    stored = json.loads((RESULTS / "several_parts.json").read_text(encoding="utf-8"))
    assert stored["command"] == "python benchmarks/several_parts.py employee_salaries.zip"
    runs = stored["results"][model][part]
    assert [run["seed"] for run in runs] == [0, 1, 2]
    return [run[share] for run in runs]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("share", SHARES)
def test_both_parts_tell_more_than_either(model, share):
    both = scores(model, "both", share)
    for part in ("table", "text"):
        # With every seed, and by more than their spread.
        assert all(ours > one for ours, one in zip(both, scores(model, part, share), strict=True))
        assert fmean(both) - fmean(scores(model, part, share)) > stdev(both)


def test_the_table_of_the_document():
    text = (ROOT / "docs" / "several-parts.md").read_text(encoding="utf-8")
    for model in MODELS:
        for share, words in zip(SHARES, ("10 % of the labels", "all labels"), strict=True):
            cells = (scores(model, part, share) for part in PARTS)
            shown = " | ".join(f"{fmean(values):.1f} ± {stdev(values):.1f}" for values in cells)
            assert f"| `{model}()`, {words} | {shown} |" in text, shown
