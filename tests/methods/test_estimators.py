"""Every estimator on every kind of data: training, embedding, saving, errors."""

import re

import numpy as np
import pytest
import torch
from torch import nn

import aleator
from aleator import DACL, DIET, TSTCC, Autoencoder, LogReg, SimCLR, SimSiam, Supervised
from aleator.inputs import ArraySource
from aleator.networks import cnn_encoder
from tests.small import ALL, SPECIAL, TRAINED, small

MODALITIES = {"table": "table", "series": "series", "image": "images"}
RAW = {"table": 5, "series": 48, "image": 360}


def supported():
    return [
        (name, modality)
        for name in ALL
        for modality in SPECIAL.get(name, MODALITIES)
    ]  # fmt: skip


def some_labels(X):
    return np.array(["a", "b", "c"])[np.arange(len(X)) % 3]


@pytest.mark.parametrize(("name", "modality"), supported())
def test_one_tiny_epoch_and_a_file(name, modality, request, tmp_path):
    X = request.getfixturevalue(MODALITIES[modality])
    before = X.copy()
    model = small(name, **({"epochs": 1} if name in TRAINED else {}))
    model.fit(X, some_labels(X))
    Z = model.transform(X)
    assert Z.shape == (len(X), RAW[modality] if name == "LogReg" else 8)
    assert Z.dtype == np.float32
    assert np.isfinite(Z).all()
    np.testing.assert_array_equal(X, before)
    if name in TRAINED:
        record = model.history_[0]
        assert record["epoch"] == 0
        assert np.isfinite(record["loss"])
        assert record["embedding_std"] > 0
        assert record["effective_rank"] >= 1
    else:
        assert model.history_ == []
    model.save(tmp_path)
    again = aleator.load(tmp_path)
    np.testing.assert_array_equal(again.transform(X), Z)
    assert again.history_ == model.history_
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.predict(X).dtype == some_labels(X).dtype


@pytest.mark.parametrize("name", sorted(SPECIAL))
def test_unsupported_modalities_are_named(name, request):
    for modality, fixture in MODALITIES.items():
        if modality in SPECIAL[name]:
            continue
        X = request.getfixturevalue(fixture)
        with pytest.raises(ValueError, match=f"{name} works on {SPECIAL[name][0]}"):
            small(name, modality=modality).fit(X)


@pytest.mark.parametrize("name", TRAINED)
def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(name, request):
    X = request.getfixturevalue(MODALITIES[SPECIAL.get(name, ["table"])[0]])
    first, second, other = (small(name, random_state=s).fit(X, some_labels(X)) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.transform(X), second.transform(X))
    assert [r["loss"] for r in first.history_] == [r["loss"] for r in second.history_]
    assert not np.allclose(first.transform(X), other.transform(X))


@pytest.mark.parametrize("name", TRAINED)
def test_training_lowers_the_loss_and_changes_the_encoder(name, random):
    shape = (200, 2, 24) if name == "TSTCC" else (200, 6)
    common = random.normal(size=(200, 2)) @ random.normal(size=(2, int(np.prod(shape[1:]))))
    X = (common.reshape(shape) + 0.1 * random.normal(size=shape)).astype(np.float32)
    labels = common[:, 0] > 0
    # Smoothing leaves little to lower, and so does an encoder whose linear part is solved for.
    changes = {"DIET": {"label_smoothing": 0.0}, "LFR": {"encoder": "auto"}}.get(name, {})
    model = small(name, epochs=30, batch_size=50, **changes).fit(X, labels)
    losses = [r["loss"] for r in model.history_ if "effective_rank" in r]
    assert np.mean(losses[-5:]) < 0.97 * np.mean(losses[:3])
    untrained = aleator.RandomEncoder(embedding_dim=8, random_state=0, modality=model.modality)
    assert not np.allclose(untrained.fit_transform(X), model.transform(X), atol=1e-3)


def test_a_random_encoder_is_where_all_others_start(table):
    random_encoder = small("RandomEncoder").fit_transform(table)
    for name in TRAINED:
        if name != "TSTCC":
            start = small(name, epochs=0, encoder="auto").fit(table, some_labels(table))
            np.testing.assert_array_equal(start.transform(table), random_encoder)
    with_features = small("RandomEncoder", encoder="random-features").fit(table).encoder_
    solved = small("LFR", epochs=0).fit(table).encoder_
    drawn = with_features.front.families.state_dict()
    for name, value in solved.front.families.state_dict().items():
        assert torch.equal(value, drawn[name]), "the same features; the linear map is solved for"
    assert not torch.allclose(with_features.front.components, solved.front.components)


def test_documentation_lists_every_parameter():
    for name in ALL:
        cls = getattr(aleator, name)
        parameters = cls.__doc__.split("Parameters\n")[1].split("Attributes\n")[0]
        for parameter in cls().get_params():
            entry = rf"(?m)^\s*{parameter} : .+default="
            assert re.search(entry, parameters), (name, parameter)
        assert "default=?" not in parameters
        assert "{" not in parameters.replace('{"', "").replace("{None", "")


def test_simclr_of_a_table_is_scarf(table):
    scarf, simclr = small("SCARF").fit(table), small("SimCLR").fit(table)
    np.testing.assert_array_equal(scarf.transform(table), simclr.transform(table))


def test_user_views(table):
    calls = []

    def view(batch):
        calls.append(len(batch))
        return batch + 0.1 * torch.randn_like(batch)

    SimCLR(epochs=1, batch_size=30, views=view, progress=False).fit(table)
    assert calls == [30, 30] * 2
    for cls in (DIET, Supervised):
        calls.clear()
        model = cls(epochs=1, batch_size=30, views=view, progress=False)
        model.fit(table, some_labels(table))
        assert calls == [30, 30]


class TestClassifiers:
    def test_labels_of_any_kind(self, table):
        for labels in (table[:, 0] > 0, np.where(table[:, 0] > 0, 7, -2), some_labels(table)):
            for model in (small("Supervised", epochs=1), LogReg()):
                model.fit(table, labels)
                assert model.classes_.tolist() == np.unique(labels).tolist()
                share = model.predict_proba(table)
                assert share.shape == (60, len(model.classes_))
                np.testing.assert_allclose(share.sum(1), 1)
                picked = model.classes_[share.argmax(1)]
                np.testing.assert_array_equal(model.predict(table), picked)

    def test_supervised_learns(self, table):
        labels = (table[:, 0] > 0).astype(int)
        model = Supervised(epochs=30, random_state=0, progress=False, learning_rate=3e-3)
        assert model.fit(table, labels).score(table, labels) > 0.95

    def test_logistic_regression_is_scikit_learns(self, table):
        from sklearn.linear_model import LogisticRegression

        for labels in (table[:, 0] > 0, some_labels(table)):
            theirs = LogisticRegression(C=0.3, max_iter=1000).fit(table, labels)
            ours = LogReg(C=0.3, preprocessing=None).fit(table, labels)
            mine, yours = ours.predict_proba(table), theirs.predict_proba(table)
            np.testing.assert_allclose(mine, yours, rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal(ours.transform(table), table)

    @pytest.mark.parametrize("name", ["Supervised", "LogReg"])
    def test_bad_labels_are_explained(self, table, name):
        model = small(name)
        with pytest.raises(ValueError, match="requires y"):
            model.fit(table)
        with pytest.raises(ValueError, match="only one class"):
            model.fit(table, np.zeros(60))
        with pytest.raises(ValueError, match=r"\[60, 59\]"):
            model.fit(table, np.zeros(59))
        with pytest.raises(ValueError, match="continuous"):
            model.fit(table, table[:, 0])
        assert not hasattr(model, "encoder_")


class TestDIET:
    def test_the_plan_reports_what_the_index_layer_needs(self, table):
        diet = small("DIET", optimizer="adam").fit(table)
        (place,) = [place for place in diet.plan_.placements if place.name == "index layer"]
        # 60 × (8 weights and a bias), their gradients and two moments; 16 × 60 outputs three times.
        assert place.bytes == 4 * (60 * 9 * 4 + 3 * 16 * 60)
        assert "index layer" in str(diet.plan_)
        sgd = small("DIET", optimizer="sgd").fit(table)
        assert sgd.plan_.placements[0].bytes == place.bytes - 4 * 60 * 9

    def test_what_cannot_fit_is_refused_before_it_is_made(self, table, monkeypatch):
        made = []
        monkeypatch.setattr(nn.Linear, "to_empty", lambda self, **_: made.append(self))
        message = (
            r"index layer needs 19\.7 KiB.*9\.8 KiB are available on cpu.*fewer.*embedding_dim"
        )
        with pytest.raises(ValueError, match=message):
            small("DIET", memory_limit=10_000).fit(table)
        assert made == []


class TestSTab:
    def test_heads_only_ends_with_thinned_random_weights(self, table, tmp_path):
        settings = {"drop_rate": 0.25, "learning_rate": 0.01, "embedding_dim": 8}
        untrained = small("RandomEncoder", embedding_dim=8).fit(table).encoder_
        model = small("STab", trains="heads", **settings).fit(table)
        parameters = dict(model.encoder_.named_parameters())
        for name, initial in untrained.named_parameters():
            if initial.ndim == 1:
                assert not torch.equal(parameters[name], initial), f"{name} was not trained"
            else:
                dropped = parameters[name] == 0
                assert dropped.float().mean().item() == pytest.approx(0.25, abs=0.12)
                torch.testing.assert_close(parameters[name][~dropped], initial[~dropped] / 0.75)
        assert all(parameter.requires_grad for parameter in parameters.values())
        model.save(tmp_path)
        assert np.array_equal(aleator.load(tmp_path).transform(table), model.transform(table))

    def test_it_trains_the_encoder_by_default(self, table):
        untrained = small("RandomEncoder").fit(table).encoder_
        trained = small("STab").fit(table).encoder_
        assert not any(map(torch.equal, trained.parameters(), untrained.parameters()))


class TestDACL:
    def test_geometric_mixing_needs_positive_values(self, table):
        with pytest.raises(ValueError, match="geometric mixing needs positive values"):
            small("DACL", mixing="geometric").fit(table)
        positive = np.abs(table) + 0.1
        small("DACL", mixing="geometric", preprocessing=None).fit(positive)

    def test_auto_takes_what_the_data_allow(self, table):
        model = DACL(mixing="auto")
        assert list(model._mixings(ArraySource(table))) == ["linear", "binary"]
        positive = ArraySource(np.ones((2, 2), np.float32))
        assert list(model._mixings(positive)) == ["linear", "geometric", "binary"]


class TestAutoencoder:
    @pytest.mark.parametrize("encoder", ["cnn", "cnn-strided", "tcn", "transformer", "mlp"])
    @pytest.mark.parametrize("length", [1, 2, 7, 24])
    def test_decoders_of_series(self, random, encoder, length):
        X = random.normal(size=(20, 3, length))
        model = small("Autoencoder", encoder=encoder).fit(X)
        assert model.decoder_(torch.zeros(2, 8)).shape == (2, 3, length)

    @pytest.mark.parametrize("length", [1, 24])
    def test_decoder_with_a_bottleneck(self, random, length):
        X = random.normal(size=(20, 3, length))
        model = small("Autoencoder", decoder="cnn-transposed").fit(X)
        assert model.decoder_(torch.zeros(2, 8)).shape == (2, 3, length)
        assert model.decoder_[0].out_features == 256

    @pytest.mark.parametrize("encoder", ["resnet18", "resnet18-small", "resnet18-large", "mlp"])
    def test_decoders_of_images(self, images, encoder):
        model = small("Autoencoder", encoder=encoder, epochs=1).fit(images[:8])
        assert model.decoder_(torch.zeros(2, 8)).shape == (2, 3, 12, 10)

    def test_user_decoder(self, table, tmp_path):
        model = small("Autoencoder", decoder=nn.Linear(8, 5)).fit(table)
        model.save(tmp_path)
        assert aleator.load(tmp_path).decoder_ is None
        again = aleator.load(tmp_path, decoder=nn.Linear(8, 5))
        assert torch.equal(again.decoder_.weight, model.decoder_.weight)
        factory = small("Autoencoder", decoder=lambda width, shape: nn.Linear(width, *shape))
        factory.fit(table)
        with pytest.raises(ValueError, match="returns 4 features per sample, but a sample has 5"):
            small("Autoencoder", decoder=nn.Linear(8, 4)).fit(table)
        with pytest.raises(ValueError, match="'cnn' is not known for modality 'table'"):
            small("Autoencoder", decoder="cnn").fit(table)

    def test_it_reconstructs(self, random):
        X = (random.normal(size=(300, 2)) @ random.normal(size=(2, 6))).astype(np.float32)
        model = Autoencoder(epochs=60, embedding_dim=2, random_state=0, progress=False).fit(X)
        assert model.history_[-1]["loss"] < 0.1


class TestTSTCC:
    def test_encoders_without_a_time_axis_are_refused(self, series):
        with pytest.raises(ValueError, match="TSTCC needs the encoder's output along time"):
            small("TSTCC", encoder="mlp").fit(series)
        flat = nn.Sequential(nn.Flatten(), nn.Linear(48, 3))
        with pytest.raises(ValueError, match="TSTCC needs"):
            small("TSTCC", encoder=flat).fit(series)

    @pytest.mark.parametrize(
        "encoder", ["cnn", "cnn-pooled", "tcn", "transformer", nn.Conv1d(2, 4, 3), cnn_encoder]
    )
    def test_encoders_with_one(self, series, encoder):
        TSTCC(encoder=encoder, epochs=1, progress=False).fit(series)

    def test_too_many_steps_ahead(self, series):
        with pytest.raises(ValueError, match="future_steps=5 must be less than the 5 time steps"):
            TSTCC(future_steps=5, progress=False).fit(series)

    def test_layers_after_the_maps_stay_random(self, series):
        trained, untrained = (
            TSTCC(embedding_dim=8, epochs=epochs, progress=False, random_state=0).fit(series)
            for epochs in (2, 0)
        )
        assert torch.equal(trained.encoder_[-1].weight, untrained.encoder_[-1].weight)
        assert not torch.equal(trained.encoder_[1].weight, untrained.encoder_[1].weight)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("SimCLR", {"temperature": 0}, "temperature must be a finite number greater than 0"),
        ("SCARF", {"corruption": 1.0}, "corruption must be a finite number"),
        (
            "STab",
            {"drop_rate": 1},
            "drop_rate must be a finite number of at least 0 and less than 1",
        ),
        ("DIET", {"label_smoothing": -1}, "label_smoothing"),
        ("DACL", {"mixing": "cubic"}, "mixing must be one of 'auto', 'linear'"),
        ("DACL", {"mixing": []}, "mixing must contain at least one"),
        ("DACL", {"least_share": 2}, "least_share"),
        ("TSTCC", {"context_dim": 10}, "context_dim must be a multiple of four"),
        ("TSTCC", {"segments": 0}, "segments must be an integer"),
        ("SimSiam", {"predictor_learning_rate": 0}, "predictor_learning_rate"),
        ("BYOL", {"momentum_target": 1.0}, "momentum_target must be a finite number"),
        ("BYOL", {"verbose": -1}, "verbose must be an integer of at least 0"),
        ("SimSiam", {"projector_layers": 0}, "projector_layers"),
        ("SimCLR", {"predictor": "cubic"}, "predictor='cubic' is not known"),
        ("LogReg", {"C": 0}, "C must be a finite number greater than 0"),
        ("RandomEncoder", {"embedding_dim": 0}, "embedding_dim"),
    ],
)
def test_bad_parameters_are_explained(name, change, message, request):
    X = request.getfixturevalue("series" if name == "TSTCC" else "table")
    with pytest.raises(ValueError, match=message):
        small(name, **change).fit(X, some_labels(X))


def test_heads_follow_appendix_c(series, table):
    assert [type(m).__name__ for m in small("SimCLR").fit(series).projection_head_] == [
        "Linear", "BatchNorm1d", "ReLU", "Linear", "BatchNorm1d", "ReLU", "Linear",
    ]  # fmt: skip
    head = small("SimCLR").fit(table).projection_head_
    assert [type(m).__name__ for m in head] == ["Linear", "ReLU", "Linear"]
    assert head[0].out_features == 256
    assert head[2].out_features == 8  # the width of the embedding
    wide = small("SimCLR", projector_dim=5).fit(table)
    assert wide.projection_head_[2].out_features == 5
    assert (wide.predictor_.in_features, wide.predictor_.out_features) == (5, 5)
    two = SimSiam(projector_layers=2, projector_hidden=256, epochs=0, progress=False).fit(series)
    assert [m.out_features for m in two.projection_head_ if isinstance(m, nn.Linear)] == [256, 640]
    assert isinstance(two.predictor_, nn.Linear)
    tcn = SimSiam(encoder="tcn", epochs=0, progress=False).fit(series)
    assert [m.out_features for m in tcn.predictor_ if isinstance(m, nn.Linear)] == [256, 64]
