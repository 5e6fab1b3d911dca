"""Data sets, encoders and projectors of the user."""

import numpy as np
import pytest
import torch
from torch import nn

from aleator import LFR, Autoencoder, load
from tests.small import SETTINGS


class Photos(torch.utils.data.Dataset):
    """Items are tuples, as torchvision has them; what was asked for is recorded."""

    def __init__(self, n=48):
        self.pixels = torch.rand(n, 3, 16, 16, generator=torch.Generator().manual_seed(0))
        self.asked = []

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, i):
        self.asked.append(i)
        return self.pixels[i], "a label"


class Classifier(nn.Module):
    """Convolution, batch normalization, dropout and a layer `fc`, as in torchvision and timm."""

    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU())
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(self.dropout(self.stem(x).mean((2, 3))))


def distances(input_shape, output_dim, sample):
    """Distances to samples, which a factory of the user gets on the CPU."""
    assert input_shape == (3, 16, 16)
    assert sample.shape[1:] == input_shape
    assert sample.device.type == "cpu"

    class Distances(nn.Module):
        def __init__(self):
            super().__init__()
            chosen = torch.randint(len(sample), (output_dim,))
            self.register_buffer("anchors", sample[chosen].flatten(1))

        def forward(self, x):
            return torch.cdist(x.flatten(1), self.anchors)

    return Distances()


def test_a_data_set_an_encoder_and_projectors(tmp_path):
    data, network = Photos(), Classifier()
    network.fc = nn.Identity()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    model = LFR(**{**SETTINGS, "embedding_dim": None}, encoder=network, projector=distances)
    embedding = model.fit(data).transform(data)
    assert embedding.shape == (48, 8)
    assert set(data.asked) == set(range(48))
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    trained = model.encoder_.state_dict()
    assert not torch.equal(trained["stem.0.weight"], before["stem.0.weight"])
    assert not model.encoder_.training
    # As an array, and as tensors without labels.
    pixels = data.pixels
    np.testing.assert_allclose(model.transform(pixels.numpy()), embedding, rtol=1e-4, atol=1e-5)
    unlabeled = torch.utils.data.TensorDataset(pixels)
    np.testing.assert_allclose(model.transform(unlabeled), embedding, rtol=1e-4, atol=1e-5)
    anchors = model.projectors_[0].anchors
    scale = {name: torch.from_numpy(array) for name, array in model.adapter_.scale.items()}
    rows = ((pixels.double() - scale["mean"]) / scale["deviation"]).flatten(1).float()
    nearest = (anchors[:, None] - rows).abs().amax(2).min(1).values
    assert float(nearest.max()) < 1e-4
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"encoder of this model is a module of your own"):
        load(tmp_path / "model")
    again = load(tmp_path / "model", encoder=network)
    np.testing.assert_array_equal(again.transform(data), embedding)


def test_a_classifier_with_its_head_also_in_baselines():
    data = Photos()
    for model in (LFR(**SETTINGS, encoder=Classifier(7)), Autoencoder(encoder=Classifier(7))):
        model.set_params(epochs=1, random_state=0, progress=False)
        assert model.fit_transform(data).shape == (48, 7)


class Ragged(Photos):
    def __getitem__(self, i):
        return self.pixels[i][:, :, : 16 - i % 2]


class Named(Photos):
    def __getitem__(self, i):
        return {"pixels": self.pixels[i]}


class Endless(torch.utils.data.IterableDataset):
    def __iter__(self):
        yield torch.zeros(3)


class Pair(Classifier):
    def forward(self, x):
        return super().forward(x), x


@pytest.mark.parametrize(
    ("data", "encoder", "message"),
    [
        (Ragged(), "auto", r"sample 1 of the dataset has the shape \(3, 16, 15\), but sample 0"),
        (Named(), "auto", "sample 0 of the dataset is dict, not a tensor"),
        (Endless(), "auto", "only map-style datasets can be read"),
        (Photos(), Pair(), "must return one tensor, not tuple: wrap it"),
        (Photos(), Classifier, r"the encoder is the class Classifier, .* pass a module, Class"),
        (Photos(), lambda shape, dim: "net", "encoder factory must return a torch.nn.Module"),
        (Photos(), nn.Linear(5, 3), r"the encoder cannot process samples of shape \(3, 16, 16\)"),
    ],
)
def test_what_is_wrong_is_said(data, encoder, message):
    model = LFR(**SETTINGS, encoder=encoder)
    with pytest.raises(ValueError, match=message):
        model.fit(data)
    assert not hasattr(model, "encoder_")


def test_an_encoder_of_rows_of_several_parts():
    random = np.random.default_rng(0)
    X = {"table": random.normal(size=(40, 3)), "series": random.normal(size=(40, 2, 10))}
    seen = []

    def encoder(input_shape, embedding_dim):
        seen.append((input_shape, embedding_dim))
        return nn.Linear(input_shape[0], embedding_dim)

    model = LFR(**SETTINGS, encoder=encoder).fit(X)
    assert seen == [((23,), 8)]
    rows = torch.from_numpy(model.adapter_.transform(X))
    expected = model.encoder_(rows).detach().numpy()
    np.testing.assert_allclose(model.transform(X), expected, rtol=1e-4, atol=1e-5)
