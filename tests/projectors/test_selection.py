"""Drawing candidate projectors and keeping a diverse few."""

import pytest
import torch
from torch import nn

from aleator.projectors import Candidates, select


def drawing_from(modules):
    return Candidates(lambda position: modules[position], len(modules))


def test_selection_prefers_difference():
    torch.manual_seed(0)
    same = nn.Linear(4, 6)
    candidates = [same, same, same, nn.Sequential(nn.Linear(4, 6), nn.ReLU())]
    selection = select(drawing_from(candidates), torch.randn(30, 4), 2)
    assert 3 in selection.indices
    assert selection.kernel[0, 1] == pytest.approx(1, abs=1e-5)
    chosen = [candidates[i] for i in selection.indices]
    assert all(a is b for a, b in zip(selection.projectors, chosen, strict=True))


def test_drawn_projectors_differ():
    first, second = Candidates.drawn(lambda position: nn.Linear(3, 3), seed=0, count=2)
    assert not torch.equal(first.weight, second.weight)


def test_a_candidate_is_drawn_again_as_it_was():
    settings = {"init": "beta", "weight_dropout": 0.3}
    candidates = Candidates.drawn(lambda position: nn.Conv1d(3, 3, 3), seed=0, count=4, **settings)
    first = candidates[2]
    torch.rand(5)
    again = candidates[2]
    assert first is not again
    assert torch.equal(first.weight, again.weight)
    assert torch.equal(first.bias, again.bias)
    other = Candidates.drawn(lambda position: nn.Conv1d(3, 3, 3), seed=1, count=4, **settings)
    assert not torch.equal(other[2].weight, first.weight)


def test_drawing_leaves_the_global_generator_as_it_was():
    state = torch.get_rng_state()
    select(
        Candidates.drawn(lambda position: nn.Linear(3, 3), seed=0, count=4),
        torch.ones(5, 3).cumsum(0).cumsum(1),
        2,
    )
    assert torch.equal(torch.get_rng_state(), state)


def test_candidates_of_a_factory_are_kept():
    made = []

    def make(position):
        made.append(nn.Linear(3, 3))
        return made[-1]

    candidates = Candidates.drawn(make, seed=0, count=3, keep=True)
    assert candidates[1] is candidates[1]
    assert len(made) == 1


def test_all_candidates_are_kept_in_their_order():
    candidates = Candidates.drawn(lambda position: nn.Linear(4, 3), seed=0, count=3)
    selection = select(candidates, torch.randn(20, 4), 3)
    assert selection.indices.tolist() == [0, 1, 2]
    assert [projector.weight.dtype for projector in selection.projectors] == [torch.float32] * 3


class Exploding(nn.Module):
    def forward(self, x):
        return x / 0


def test_a_projector_that_explodes_is_refused():
    message = "output of projector 1 is NaN or infinite"
    with pytest.raises(ValueError, match=message):
        select(drawing_from([nn.Identity(), Exploding()]), torch.randn(5, 2), 1)
    with pytest.raises(ValueError, match=message):
        select(Candidates.from_modules([nn.Identity(), Exploding()]), torch.randn(5, 2), 1)
