"""The loss of each method on a tiny case, against the formula written out."""

import inspect
import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from aleator import BYOL, losses
from aleator.methods.autoencoder import autoencoder
from aleator.methods.byol import byol
from aleator.methods.diet import diet
from aleator.methods.siamese import forward_pair
from aleator.methods.simclr import simclr
from aleator.methods.simsiam import simsiam
from aleator.methods.stab import stab
from aleator.methods.supervised import supervised
from aleator.methods.tstcc import TemporalContrast, tstcc
from aleator.networks.dropconnect import DropConnect
from aleator.networks.transformer import AttentionBlock, ContextTransformer
from aleator.views import FeatureCorruption, Mixup


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def the_phase(method):
    (phase,) = method.phases
    return phase


class Plus(nn.Module):
    """A view that adds a number."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, x):
        return x + self.number


def parameters_of(*modules):
    """Of modules or parameter groups."""
    return {id(parameter) for module in modules for parameter in module.parameters()}


def groups_of(method):
    return {group.name: parameters_of(group) for group in the_phase(method).groups}


def test_autoencoder():
    encoder, decoder = nn.Linear(3, 2), nn.Linear(2, 3)
    method = autoencoder(encoder, decoder)
    x = torch.randn(5, 3)
    error = ((decoder(encoder(x)) - x) ** 2).sum() / 15
    torch.testing.assert_close(the_phase(method).loss(x), error)
    assert groups_of(method) == {"encoder": parameters_of(encoder, decoder)}


def literal_nt_xent(first, second, temperature):
    rows = [row / row.norm() for row in [*first.detach(), *second.detach()]]
    total = 0.0
    for i, row in enumerate(rows):
        partner = (i + len(first)) % len(rows)
        others = [math.exp(row @ rows[j] / temperature) for j in range(len(rows)) if j != i]
        total -= math.log(math.exp(row @ rows[partner] / temperature) / sum(others))
    return total / len(rows)


def test_simclr():
    encoder, head = nn.Linear(3, 4), nn.Linear(4, 2)
    method = simclr(encoder, head, Plus(1), Plus(-1), temperature=0.3)
    x = torch.randn(5, 3)
    expected = literal_nt_xent(head(encoder(x + 1)), head(encoder(x - 1)), 0.3)
    assert the_phase(method).loss(x).item() == pytest.approx(expected, rel=1e-5)


def test_scarf_compares_a_row_as_it_is_with_itself_corrupted():
    seen = []

    class Encoder(nn.Linear):
        def forward(self, x):
            seen.append(x)
            return super().forward(x)

    table = torch.randn(50, 10)
    views = nn.Identity(), FeatureCorruption(table, 0.6)
    method = simclr(Encoder(10, 4), nn.Identity(), *views, temperature=1.0)
    the_phase(method).loss(table[:8])
    anchors, corrupted = seen[0].chunk(2)
    assert torch.equal(anchors, table[:8])
    assert ((corrupted != anchors).sum(1) == 6).all()


def test_dacl_compares_two_mixtures():
    seen = []

    class Encoder(nn.Linear):
        def forward(self, x):
            seen.append(x)
            return super().forward(x)

    x = torch.randn(8, 10)
    mixup = Mixup(["linear"], 0.9)
    method = simclr(Encoder(10, 4), nn.Identity(), mixup, mixup, temperature=1.0)
    the_phase(method).loss(x)
    first, second = seen[0].chunk(2)
    for view in (first, second):
        assert not torch.equal(view, x)
        assert (F.cosine_similarity(view, x) > 0.9).all()
    assert not torch.equal(first, second)


def simsiam_parts():
    return nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 4)


def test_simsiam():
    encoder, projector, predictor = simsiam_parts()
    method = simsiam(encoder, projector, predictor, Plus(0.5), Plus(-0.5))
    x = torch.randn(5, 3)
    z1, z2 = projector(encoder(x + 0.5)), projector(encoder(x - 0.5))
    cosine = F.cosine_similarity(predictor(z1), z2) + F.cosine_similarity(predictor(z2), z1)
    torch.testing.assert_close(the_phase(method).loss(x), 1 - cosine.mean() / 2)


def test_simsiams_gradient_stops():
    encoder, projector, predictor = simsiam_parts()
    method = simsiam(encoder, projector, predictor, Plus(0.5), Plus(-0.5))
    x = torch.randn(5, 3)
    ours = torch.autograd.grad(the_phase(method).loss(x), encoder.weight)[0]
    z1, z2 = projector(encoder(x + 0.5)), projector(encoder(x - 0.5))

    def loss(target1, target2):
        one = F.cosine_similarity(predictor(z1), target2).mean()
        other = F.cosine_similarity(predictor(z2), target1).mean()
        return -(one + other) / 2

    stopped = torch.autograd.grad(loss(z1.detach(), z2.detach()), encoder.weight, retain_graph=True)
    flowing = torch.autograd.grad(loss(z1, z2), encoder.weight)
    torch.testing.assert_close(ours, stopped[0])
    assert not torch.allclose(ours, flowing[0])


def test_simsiams_predictor_is_a_group_with_its_own_constant_learning_rate():
    encoder, projector, predictor = simsiam_parts()
    views = Plus(0.5), Plus(-0.5)
    method = simsiam(encoder, projector, predictor, *views, predictor_lr=0.3)
    assert groups_of(method) == {
        "encoder": parameters_of(encoder, projector),
        "predictor": parameters_of(predictor),
    }
    group = next(group for group in the_phase(method).groups if group.name == "predictor")
    assert (group.lr, group.schedule) == (0.3, "constant")


def byol_parts(momentum):
    encoder, projector, predictor = simsiam_parts()
    online = nn.Sequential(encoder, nn.Flatten(), projector)
    return byol(online, predictor, Plus(0.5), Plus(-0.5), momentum), online, predictor


def moved(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter))


def test_byol_is_one_short_file():
    """What a method with a moving average asks of the trainer fits on a few screens."""
    assert len(Path(inspect.getfile(BYOL)).read_text(encoding="utf-8").splitlines()) <= 100


def test_byol():
    method, online, predictor = byol_parts(0.9)
    target = method.modules["target"]
    moved(target)  # at first it equals the online network
    x = torch.randn(5, 3)
    views = x + 0.5, x - 0.5
    predictions = [predictor(online(view)) for view in views]
    targets = [target(view).detach() for view in views]
    cosine = F.cosine_similarity(predictions[0], targets[1])
    cosine = cosine + F.cosine_similarity(predictions[1], targets[0])
    loss = the_phase(method).loss(x)
    torch.testing.assert_close(loss, 2 - cosine.mean())
    loss.backward()
    assert all(p.grad is not None for p in [*online.parameters(), *predictor.parameters()])
    assert all(p.grad is None for p in target.parameters())
    assert groups_of(method) == {"encoder": parameters_of(online, predictor)}


def test_byols_target_is_a_moving_average():
    method, online, _ = byol_parts(0.9)
    target = method.modules["target"]
    average = [parameter.detach().clone() for parameter in online.parameters()]
    assert all(map(torch.equal, average, target.parameters())), "it starts as a copy"
    for _ in range(3):
        moved(online)
        with torch.no_grad():
            the_phase(method).after_step()
        average = [
            0.9 * a + 0.1 * b.detach() for a, b in zip(average, online.parameters(), strict=True)
        ]
        for ours, expected in zip(target.parameters(), average, strict=True):
            torch.testing.assert_close(ours.detach(), expected)
    assert not parameters_of(target) & parameters_of(online)


def test_stabs_two_masks_differ():
    encoder = nn.Linear(40, 30)
    thinned = DropConnect(encoder, 0.25)
    first, second = thinned.draw_weights()["weight"], thinned.draw_weights()["weight"]
    assert not torch.equal(first == 0, second == 0)
    for weight in (first, second):
        assert (weight == 0).float().mean().item() == pytest.approx(0.25, abs=0.05)
        kept = weight != 0
        torch.testing.assert_close(weight[kept], encoder.weight[kept] / 0.75)
    assert set(thinned.draw_weights()) == {"weight"}  # not the bias


def test_stab_sees_the_same_rows_twice_and_trains_the_whole_encoder():
    encoder, projector, predictor = simsiam_parts()
    method = stab(encoder, projector, predictor, drop_rate=0.5)
    x = torch.randn(6, 3)
    loss = the_phase(method).loss(x)
    loss.backward()
    assert all(p.grad is not None and p.grad.any() for p in encoder.parameters())
    same = stab(encoder, projector, predictor, drop_rate=0.0)
    z = projector(encoder(x))
    whole = 1 - F.cosine_similarity(predictor(z), z).mean()
    torch.testing.assert_close(the_phase(same).loss(x), whole)


def test_diets_smoothing_by_hand():
    encoder, layer = nn.Linear(3, 4), nn.Linear(4, 7)
    method = diet(encoder, layer, nn.Identity(), label_smoothing=0.8)
    x, index = torch.randn(2, 3), torch.tensor([6, 0])
    log_share = layer(encoder(x)).log_softmax(1)
    expected = 0.0
    for row in range(2):
        for at in range(7):
            target = 0.8 / 7 + (0.2 if at == index[row] else 0.0)
            expected -= target * log_share[row, at].item() / 2
    assert the_phase(method).loss(x, index).item() == pytest.approx(expected, rel=1e-5)
    assert the_phase(method).columns == ("input", "index")
    (large,) = method.large_layers
    assert (large.n_parameters, large.n_outputs) == (35, 7)


def test_supervised():
    encoder, classifier = nn.Linear(3, 4), nn.Linear(4, 2)
    method = supervised(encoder, classifier, nn.Identity())
    x, labels = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
    share = classifier(encoder(x)).softmax(1)
    expected = -torch.stack([share[i, label].log() for i, label in enumerate(labels)]).mean()
    torch.testing.assert_close(the_phase(method).loss(x, labels), expected)


def test_temporal_contrast_matches_the_formula():
    prediction, future = torch.randn(3, 5, 4).double(), torch.randn(3, 5, 4).double()
    total = 0.0
    for k in range(3):
        for i in range(5):
            scores = [math.exp(future[k, i] @ prediction[k, j]) for j in range(5)]
            total -= math.log(scores[i] / sum(scores))
    ours = losses.temporal_contrast(prediction, future)
    assert ours.item() == pytest.approx(total / 15, rel=1e-12)


def test_the_context_never_sees_beyond_its_last_step():
    context = ContextTransformer(6, width=8).eval()
    steps = torch.randn(4, 10, 6)
    last = torch.tensor([0, 3, 8, 9])
    changed = steps.clone()
    for row, at in enumerate(last):
        changed[row, at + 1 :] = float("inf")
    torch.testing.assert_close(context(changed, last), context(steps, last))
    for row, at in enumerate(last):
        nearer = steps.clone()
        nearer[row, at] += 1
        assert not torch.allclose(context(nearer, last)[row], context(steps, last)[row])


def test_attention_is_scaled_by_the_width_of_a_head_and_in_tstcc_by_all_of_them():
    def attended(block, tokens, scale):
        split = block.qkv(block.norm1(tokens)).chunk(3, dim=2)
        query, key, value = (part.unflatten(2, (4, 2)).transpose(1, 2) for part in split)
        heads = F.scaled_dot_product_attention(query, key, value, scale=scale)
        tokens = tokens + block.proj(heads.transpose(1, 2).flatten(2))
        return tokens + block.mlp(block.norm2(tokens))

    tokens = torch.randn(3, 5, 8)
    plain = AttentionBlock(8, heads=4, mlp_width=6).eval()
    torch.testing.assert_close(plain(tokens), attended(plain, tokens, 2**-0.5))
    block = ContextTransformer(6, width=8).eval().blocks[0]
    torch.testing.assert_close(block(tokens), attended(block, tokens, 8**-0.5))


def test_what_is_predicted_begins_after_the_context_and_exists():
    contrast = TemporalContrast(channels=2, future_steps=4)
    steps = torch.arange(10.0)[None, :, None].expand(3, 10, 2)
    lasts = set()
    for _ in range(300):
        last = contrast.draw_last(10, 3, torch.device("cpu"))
        assert (last == last[0]).all()
        future = contrast.future(steps, last)
        assert future.shape == (3, 4, 2)
        assert future[0, :, 0].tolist() == [last[0] + 1 + k for k in range(4)]
        lasts.add(int(last[0]))
    assert lasts == set(range(6))  # 5 + 4 is the last step there is


def test_tstcc_weighs_two_contrasts():
    encoder = nn.Conv1d(2, 4, kernel_size=3)
    contrast = TemporalContrast(4, 3, width=8).eval()  # no dropout
    views = Plus(0.1), Plus(-0.1)
    x = torch.randn(6, 2, 12)

    def loss(temporal, contextual):
        torch.manual_seed(3)
        method = tstcc(
            encoder, contrast, *views,
            temporal_weight=temporal, contextual_weight=contextual, temperature=0.2,
        )  # fmt: skip
        return the_phase(method).loss(x)

    torch.testing.assert_close(loss(1, 0.7), loss(1, 0) + 0.7 * loss(0, 1))
    # And each of them written out.
    torch.manual_seed(3)
    maps = [F.normalize(encoder(x + shift), dim=1).transpose(1, 2) for shift in (0.1, -0.1)]
    lasts = [contrast.draw_last(10, 6, torch.device("cpu")) for _ in range(2)]
    temporal, contexts = 0.0, []
    for mine, other, last in ((maps[0], maps[1], lasts[0]), (maps[1], maps[0], lasts[1])):
        context = contrast.context(mine, last)
        contexts.append(contrast.head(context))
        ahead = contrast.predict(context).view(6, 3, 4)
        for k in range(3):
            scores = other[:, int(last[0]) + 1 + k] @ ahead[:, k].T
            temporal -= scores.log_softmax(1).diagonal().mean() / 3
    torch.testing.assert_close(loss(1, 0), temporal)
    assert loss(0, 1).item() == pytest.approx(literal_nt_xent(*contexts, 0.2), rel=1e-4)


def test_views_are_normalized_apart_only_where_batches_are():
    calls = []

    def function(x):
        calls.append(len(x))
        return x

    views = torch.zeros(3, 2), torch.ones(3, 2)
    forward_pair(function, nn.Linear(2, 2))(*views)
    forward_pair(function, nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))(*views)
    assert calls == [6, 3, 3]
