import itertools

import numpy as np
import pytest
import torch

from aleator.diversity import greedy_map, projector_kernel, select_diverse


def literal_kernel(outputs):
    """Section 3.3 step by step."""
    signatures = []
    for output in outputs.astype(np.float64):
        rows = output / np.linalg.norm(output, axis=1, keepdims=True)
        signature = (rows @ rows.T).ravel()
        signatures.append(signature / np.linalg.norm(signature))
    return np.array([[a @ b for b in signatures] for a in signatures])


def literal_greedy(kernel, k):
    """Add whatever raises the determinant most, by computing every determinant."""
    chosen = [int(np.argmax(np.diag(kernel)))]
    while len(chosen) < k:
        rest = [i for i in range(len(kernel)) if i not in chosen]
        gains = [np.linalg.det(kernel[np.ix_([*chosen, i], [*chosen, i])]) for i in rest]
        chosen.append(rest[int(np.argmax(gains))])
    return chosen


@pytest.mark.parametrize("case", range(3))
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_golden(golden, case, threads):
    cases = golden("dpp_selection.npz")
    outputs = torch.tensor(cases[f"{case}_outputs"])
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        kernel = projector_kernel(outputs)
        # The first choice is a tie in exact arithmetic; the others follow from it.
        expected = cases[f"{case}_selected"].tolist()
        selected = select_diverse(outputs, int(cases[f"{case}_k"]), first=expected[0])
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    np.testing.assert_allclose(kernel, cases[f"{case}_kernel"], rtol=1e-4)
    assert selected.tolist() == expected


@pytest.mark.parametrize("case", range(3))
def test_without_first_the_lowest_index_is_chosen_first(golden, case):
    cases = golden("dpp_selection.npz")
    outputs = torch.tensor(cases[f"{case}_outputs"])
    selected = select_diverse(outputs, int(cases[f"{case}_k"]))
    assert selected[0] == 0
    from_zero = select_diverse(outputs, int(cases[f"{case}_k"]), first=0)
    assert selected.tolist() == from_zero.tolist()


def test_diagonal_of_the_kernel_is_exactly_one(random):
    outputs = torch.tensor(random.normal(size=(40, 30, 6)), dtype=torch.float32)
    kernel = projector_kernel(outputs)
    assert kernel.dtype == torch.float64
    assert (kernel.diagonal() == 1).all()


@pytest.mark.parametrize(("difference", "expected"), [(1e-10, 0), (-1e-10, 0), (1e-8, 1)])
def test_ties_go_to_the_lowest_index(difference, expected):
    kernel = torch.diag(torch.tensor([1.0, 1.0 + difference, 0.5], dtype=torch.float64))
    assert greedy_map(kernel, 1).tolist() == [expected]


def test_later_ties_go_to_the_lowest_index():
    """Candidates 1 and 2 are equally far from the first choice, up to rounding."""
    kernel = torch.eye(4, dtype=torch.float64)
    for i, similarity in ((1, 0.3), (2, 0.3 - 1e-11), (3, 0.6)):
        kernel[0, i] = kernel[i, 0] = similarity
    assert greedy_map(kernel, 4).tolist() == [0, 1, 2, 3]
    assert greedy_map(kernel, 2, first=3).tolist() == [3, 1]


def test_kernel_matches_the_formula(random):
    outputs = random.normal(size=(5, 7, 3)).astype(np.float32)
    ours = projector_kernel(torch.tensor(outputs))
    np.testing.assert_allclose(ours, literal_kernel(outputs), rtol=1e-5)


def test_greedy_matches_determinants(random):
    for _ in range(10):
        vectors = random.normal(size=(8, 20))
        kernel = vectors @ vectors.T
        ours = greedy_map(torch.tensor(kernel), 5)
        assert ours.tolist() == literal_greedy(kernel, 5)


def test_greedy_comes_close_to_the_best_subset(random):
    vectors = random.normal(size=(8, 20))
    kernel = vectors @ vectors.T
    ours = greedy_map(torch.tensor(kernel), 3).tolist()
    best = max(np.linalg.det(kernel[np.ix_(s, s)]) for s in itertools.combinations(range(8), 3))
    assert np.linalg.det(kernel[np.ix_(ours, ours)]) > 0.5 * best


def test_copies_come_last_and_only_once():
    kernel = torch.tensor([[1.0, 1.0, 0.2], [1.0, 1.0, 0.2], [0.2, 0.2, 1.0]])
    assert greedy_map(kernel, 3).tolist() == [0, 2, 1]


def test_kernel_is_differentiable():
    outputs = torch.randn(3, 4, 2, requires_grad=True)
    projector_kernel(outputs)[0, 1].backward()
    assert outputs.grad.abs().sum() > 0


def test_wrong_rank_and_count_are_refused():
    with pytest.raises(ValueError, match=r"\(N, m, d\)"):
        projector_kernel(torch.zeros(3, 4))
    with pytest.raises(ValueError, match="cannot choose 5 of 3"):
        select_diverse(torch.randn(3, 4, 2), 5)
    with pytest.raises(ValueError, match="first=3 is not the index of one of 3"):
        select_diverse(torch.randn(3, 4, 2), 2, first=3)
