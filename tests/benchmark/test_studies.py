"""Studies: which cells they run."""

import pytest

from aleator.benchmark.studies import STUDIES
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
        cell.recipe.estimator("cpu", 0)._check_parameters()
        assert (cell.recipe.variant is not None) == (study.vary is not None)


def test_transfer_has_both_probes_and_every_other_domain():
    lfr, supervised = (
        next(iter(STUDIES["transfer"].cells(["fault-a"], [method], [0])))
        for method in ("lfr", "supervised")
    )
    plain = tuple(f"transfer to fault-{domain}" for domain in "bcd")
    assert lfr.protocols == (*plain, *(f"{name}, standardised" for name in plain))
    assert supervised.protocols == plain  # it has no probe


def test_selection_studies_draw_the_default_number_of_candidates():
    for name in ("selection-size", "diversity"):
        cell = STUDIES[name].cells(["kvasir-v1"], seeds=[0])[-1]
        parameters = cell.recipe.parameters
        assert parameters["n_candidates"] == default_n_candidates(parameters["n_projectors"])
