"""Studies: which cells they run."""

import pytest

from aleator.benchmark.datasets import DATASETS
from aleator.benchmark.datasets.catalog import DOMAINS
from aleator.benchmark.studies import STUDIES
from aleator.benchmark.study import label_counts
from aleator.diversity import default_n_candidates


def test_studies_reject_methods_without_the_varied_parameter():
    wanted = ["logreg", "random", "lfr"]
    assert STUDIES["efficiency"].methods_on("har", wanted) == ["lfr"]
    assert STUDIES["loss"].methods_on("kvasir-v1", wanted) == ["lfr"]
    assert STUDIES["table1"].methods_on("har", wanted) == wanted


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_variants_of_every_study_are_valid(name):
    study = STUDIES[name]
    todo = study.cells(seeds=[0])
    assert todo
    assert len({cell.key(cell.protocols[0]) for cell in todo}) == len(todo)
    for cell in todo:
        estimator = cell.recipe.estimator("cpu", 0)
        if hasattr(estimator, "_check_parameters"):  # not one of scikit-learn's
            estimator._check_parameters()
        assert (cell.recipe.variant is not None) == (study.vary is not None)


def test_transfer_has_both_probes_and_every_other_domain():
    lfr, supervised = (
        next(iter(STUDIES["transfer"].cells(["fault-a"], [method], [0])))
        for method in ("lfr", "supervised")
    )
    plain = [f"transfer to fault-{domain}" for domain in "bcd"]
    target = [f"{name}, labeled target" for name in plain]
    assert list(lfr.protocols) == [
        *plain, *(f"{name}, standardised" for name in plain),
        *target, *(f"{name}, standardised" for name in target),
    ]  # fmt: skip
    assert list(supervised.protocols) == plain  # it has no probe


@pytest.mark.parametrize("group", DOMAINS)
def test_transfer_compares_all_methods_for_series(group):
    methods = {"logreg", "supervised", "supervised-transformer", "random", "random-default",
               "random-features", "autoencoder", "diet", "simsiam", "byol", "simclr", "tstcc",
               "tstcc-transformer", "dacl", "lfr", "lfr-default"}  # fmt: skip
    for domain in DOMAINS[group]:
        assert set(STUDIES["transfer"].methods_on(domain, None)) == methods
        assert len(STUDIES["transfer"].cells([domain])) == 3 * len(methods)


def test_selection_studies_draw_the_default_number_of_candidates():
    for name in ("selection-size", "diversity"):
        cell = STUDIES[name].cells(["kvasir-v1"], seeds=[0])[-1]
        parameters = cell.recipe.parameters
        assert parameters["n_candidates"] == default_n_candidates(parameters["n_projectors"])


@pytest.mark.parametrize(
    ("dataset", "counts"),
    [("har", [30, 200, 1000]), ("epilepsy", [10, 200, 1000]), ("kvasir-v1", [40, 400]),
     ("cifar10", [50, 1000, 10_000]), ("theorem", [30, 200, 1000]), ("income", [10, 200, 1000])],
)  # fmt: skip
def test_label_curves_start_at_five_labels_per_class(dataset, counts):
    assert label_counts(dataset) == counts
    assert counts[0] == 5 * DATASETS[dataset].classes
    for cell in STUDIES["labels"].cells([dataset], seeds=[0]):
        assert cell.protocols == (*(f"{n} labels" for n in counts), "all labels")


def test_label_curves_include_methods_that_the_paper_leaves_out():
    labels, table1 = (STUDIES[name].methods_on("income", None) for name in ("labels", "table1"))
    assert set(labels) - set(table1) == {"boosting"}
    assert {"random-default", "random-features", "lfr-default"} < set(table1)
    assert STUDIES["table1"].methods_on("income", ["boosting"]) == ["boosting"]
    assert "logreg" in STUDIES["labels"].methods_on("cifar10", None)
    assert "logreg" not in STUDIES["cifar10"].methods_on("cifar10", None)
