import math

import numpy as np
import pytest
import torch

from aleator import losses


def literal_bbt(prediction, target, weight):
    """Equation 5, written with loops over plain numbers."""
    total = 0.0
    for i, y in enumerate(target.tolist()):
        for j, p in enumerate(prediction.tolist()):
            dot = sum(a * b for a, b in zip(y, p, strict=True))
            cosine = dot / (math.hypot(*y) * math.hypot(*p))
            total += (1 - cosine) ** 2 if i == j else weight * cosine**2
    return total


def literal_nt_xent(view1, view2, temperature):
    rows = [*view1.tolist(), *view2.tolist()]
    m = len(view1)

    def cosine(a, b):
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        return dot / (math.hypot(*a) * math.hypot(*b))

    total = 0.0
    for i, row in enumerate(rows):
        partner = (i + m) % (2 * m)
        scores = {j: math.exp(cosine(row, other) / temperature) for j, other in enumerate(rows)}
        del scores[i]
        total -= math.log(scores[partner] / sum(scores.values()))
    return total / (2 * m)


def test_bbt_matches_golden(golden):
    cases = golden("bbt_loss.npz")
    for i in range(4):
        prediction = torch.tensor(cases[f"{i}_prediction"], requires_grad=True)
        target = torch.tensor(cases[f"{i}_target"])
        loss = losses.batchwise_barlow_twins(prediction, target, float(cases[f"{i}_lambda"]))
        loss.backward()
        np.testing.assert_allclose(loss.item(), cases[f"{i}_loss"], rtol=1e-4)
        np.testing.assert_allclose(prediction.grad, cases[f"{i}_grad"], rtol=1e-4, atol=1e-6)


def test_nt_xent_matches_golden(golden):
    cases = golden("nt_xent.npz")
    for i in range(2):
        views = [torch.tensor(cases[f"{i}_view{v}"], requires_grad=True) for v in (1, 2)]
        loss = losses.nt_xent(*views, float(cases[f"{i}_temperature"]))
        loss.backward()
        np.testing.assert_allclose(loss.item(), cases[f"{i}_loss"], rtol=1e-4)
        for v, view in enumerate(views, start=1):
            np.testing.assert_allclose(view.grad, cases[f"{i}_grad{v}"], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("weight", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("shape", [(7, 4), (21, 4), (1, 3)])
def test_bbt_matches_the_formula(weight, shape):
    torch.manual_seed(0)
    prediction, target = torch.randn(shape).double(), torch.randn(shape).double()
    ours = losses.batchwise_barlow_twins(prediction, target, weight)
    assert ours.item() == pytest.approx(literal_bbt(prediction, target, weight), rel=1e-12)


def test_bbt_averages_over_heads():
    torch.manual_seed(0)
    prediction, target = torch.randn(3, 6, 4), torch.randn(3, 6, 4)
    alone = [losses.batchwise_barlow_twins(prediction[k], target[k]) for k in range(3)]
    together = losses.batchwise_barlow_twins(prediction, target)
    torch.testing.assert_close(together, torch.stack(alone).mean())


@pytest.mark.parametrize("rows", [5, 20])
def test_bbt_gradients_of_both_arguments_are_right(rows):
    torch.manual_seed(0)
    arguments = [torch.randn(2, rows, 3, dtype=torch.double, requires_grad=True) for _ in range(2)]
    assert torch.autograd.gradcheck(losses.batchwise_barlow_twins, arguments)


def test_both_ways_to_bbt_agree():
    torch.manual_seed(0)
    prediction, target = torch.randn(3, 50, 6), losses.unit_rows(torch.randn(3, 50, 6))
    found = []
    for way in (losses._BarlowTwinsByPairs, losses._BarlowTwinsByGram):
        mine = prediction.clone().requires_grad_()
        loss = way.apply(mine, target, 0.3)
        loss.backward()
        found.append((loss.detach(), mine.grad))
    torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-5)


def test_bbt_is_full_precision_under_autocast():
    torch.manual_seed(0)
    prediction, target = torch.randn(4, 8), torch.randn(4, 8)
    exact = losses.batchwise_barlow_twins(prediction, target)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(losses.batchwise_barlow_twins(prediction, target), exact)


def test_bbt_of_a_row_of_zeros_is_finite():
    prediction = torch.zeros(3, 4, requires_grad=True)
    loss = losses.batchwise_barlow_twins(prediction, torch.eye(3, 4))
    loss.backward()
    assert loss.item() == pytest.approx(3.0)
    assert torch.isfinite(prediction.grad).all()


def test_nt_xent_matches_the_formula():
    torch.manual_seed(0)
    view1, view2 = torch.randn(5, 3).double(), torch.randn(5, 3).double()
    ours = losses.nt_xent(view1, view2, 0.3)
    assert ours.item() == pytest.approx(literal_nt_xent(view1, view2, 0.3), rel=1e-12)


def test_info_nce_matches_the_formula():
    prediction = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    target = torch.tensor([[3.0, 0.0], [1.0, 1.0]])
    half = 2**-0.5
    first = -math.log(math.exp(1 / 0.5) / (math.exp(1 / 0.5) + math.exp(half / 0.5)))
    second = -math.log(math.exp(half / 0.5) / (math.exp(0) + math.exp(half / 0.5)))
    ours = losses.info_nce(prediction, target, temperature=0.5)
    assert ours.item() == pytest.approx((first + second) / 2, rel=1e-6)


def test_cosine_and_mse_by_hand():
    prediction = torch.tensor([[[2.0, 0.0]], [[0.0, 1.0]]])
    target = torch.tensor([[[1.0, 0.0]], [[1.0, 0.0]]])
    assert losses.cosine_distance(prediction, target).item() == pytest.approx(0.5)
    assert losses.mean_squared_error(prediction, target).item() == pytest.approx(3 / 4)


@pytest.mark.parametrize("loss", [losses.batchwise_barlow_twins, losses.info_nce])
def test_unequal_shapes_are_refused(loss):
    with pytest.raises(ValueError, match=r"same shape.*\(3, 2\) and \(4, 2\)"):
        loss(torch.zeros(3, 2), torch.zeros(4, 2))
