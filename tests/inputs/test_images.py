"""Images as they are: arrays with channels first or last, Pillow's images, files and folders."""

import zlib

import numpy as np
import pytest
import torch
from PIL import Image

import aleator
from aleator import LFR, RandomFeatures, describe, load, open_images
from aleator.evaluation import label_curve
from aleator.exceptions import DamagedFileError
from aleator.inputs import fit_adapter, read
from aleator.inputs.images.decoding import decode, resize
from aleator.modalities import get_modality


def features(**changes):
    return RandomFeatures(n_features=8, random_state=0, device="cpu", **changes)


def photos(n=12, seed=0, height=12, width=10):
    random = np.random.default_rng(seed)
    return random.integers(0, 256, (n, height, width, 3), dtype=np.uint8)


def adapter_of(X, preprocessing="auto"):
    data = read(X, modality="image")
    return fit_adapter(get_modality("image").layout, data, "LFR", preprocessing)


@pytest.fixture
def folder(tmp_path):
    for row, pixels in enumerate(photos()):
        place = tmp_path / "photos" / ("cat" if row % 3 else "dog")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / f"{row}.png")
    (tmp_path / "photos" / "notes.txt").write_text("no image")
    (tmp_path / "photos" / ".hidden.png").write_text("no image")
    return tmp_path / "photos"


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_arrays_with_channels_last_are_those_with_channels_first(dtype):
    last = photos().astype(dtype)
    first = np.ascontiguousarray(np.moveaxis(last, -1, 1))
    expected = features().fit_transform(first)
    model = features().fit(last)
    assert model.adapter_.shape == (3, 12, 10)
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.transform(last), expected)
    np.testing.assert_array_equal(model.transform(first), expected)
    np.testing.assert_array_equal(model.transform(torch.from_numpy(last)), expected)
    np.testing.assert_array_equal(features().fit(first).transform(last), expected)
    assert "axes: height, width and channels; images have 3 channels" in repr(describe(last))
    assert "axes: channels, height and width" in repr(describe(first))


def test_datasets_and_memory_maps_with_channels_last(tmp_path):
    last = photos()
    expected = features().fit_transform(last)
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(last))
    np.testing.assert_array_equal(features().fit_transform(dataset), expected)
    np.save(tmp_path / "x.npy", last)
    np.testing.assert_array_equal(features().fit_transform(tmp_path / "x.npy"), expected)


@pytest.mark.parametrize("shape", [(4, 3, 12, 3), (4, 1, 9, 3), (4, 3, 3, 3), (4, 7, 9, 5)])
def test_ambiguous_axes_stay_channels_first(shape):
    X = np.random.default_rng(0).normal(size=shape)
    assert describe(X, device="cpu").input_shape == shape[1:]


def test_gray_arrays_need_the_name_of_the_modality():
    X = photos()[..., 0]
    assert describe(X, device="cpu").modality == "series"
    found = describe(X, modality="image", device="cpu")
    assert found.input_shape == (1, 12, 10)
    assert "axes: height and width; images are gray" in repr(found)


def test_a_folder_is_read_when_needed_and_its_folders_are_labels(folder):
    images = open_images(folder)
    assert images.labels.tolist() == ["cat"] * 8 + ["dog"] * 4
    assert [p.rsplit("/", 1)[1] for p in images.paths[:4]] == ["1.png", "2.png", "4.png", "5.png"]
    assert images[[0, -1]].labels.tolist() == ["cat", "dog"]
    rows = [row for row in range(12) if row % 3] + list(range(0, 12, 3))
    in_memory = [Image.fromarray(pixels) for pixels in photos()[rows]]
    model = features().fit(in_memory)
    expected = model.transform(in_memory)
    for X in (images, folder, str(folder), images.paths, [*map(str, images.paths)]):
        np.testing.assert_array_equal(features().fit(X).transform(X), expected)
        np.testing.assert_array_equal(model.transform(X), expected)
    np.testing.assert_array_equal(model.transform(photos()[rows]), expected)
    np.testing.assert_array_equal(model.transform(images[images.labels == "dog"]), expected[8:])
    assert not images.in_memory
    found = describe(folder, device="cpu")
    assert (found.modality, found.source, found.placement.where) == ("image", "files", "streamed")
    assert "images: RGB, 12 × 10 pixels (height × width)" in repr(found)


def test_training_and_saving_from_a_folder(folder, tmp_path):
    settings = {"epochs": 1, "n_projectors": 2, "embedding_dim": 8, "progress": False}
    model = LFR(random_state=0, device="cpu", target_dim=16, **settings).fit(folder)
    expected = model.transform(folder)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.transform(folder), expected)
    assert repr(again.adapter_) == repr(model.adapter_)
    classifier = aleator.Supervised(epochs=1, embedding_dim=8, progress=False, encoder="mlp")
    images = open_images(folder)
    assert set(classifier.fit(images, images.labels).predict(images)) <= {"cat", "dog"}


def test_different_sizes_are_resized_to_the_most_frequent_one():
    X = [*photos(5), *photos(3, 1, 20, 16), photos(1, 2, 9, 9)[0][..., 0]]
    adapter = adapter_of(X, None)
    assert adapter.shape == (3, 12, 10)
    assert repr(adapter).endswith("the size of 55.6 % of them; others are resized")
    found = adapter.transform(X)
    np.testing.assert_allclose(found[0], np.moveaxis(X[0], -1, 0) / 255, rtol=1e-6)
    # Pillow's own bilinear filter, up to its rounding to whole numbers
    for row in (5, 8):
        image = Image.fromarray(X[row]).convert("RGB").resize((10, 12), Image.Resampling.BILINEAR)
        expected = np.moveaxis(np.asarray(image), -1, 0) / 255
        assert np.abs(found[row] - expected).max() < 2 / 255
    scaled = adapter_of(X).transform(X)
    np.testing.assert_allclose(scaled.mean(axis=(0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(scaled.std(axis=(0, 2, 3)), 1, rtol=1e-4)


def test_gray_and_color_are_converted():
    color, gray = photos(4), [image[..., 0] for image in photos(3, 1)]
    of_gray = adapter_of([Image.fromarray(image) for image in gray], None)
    assert of_gray.shape == (1, 12, 10)
    found = of_gray.transform(list(color))[:, 0]
    expected = np.stack([np.asarray(Image.fromarray(image).convert("L")) for image in color]) / 255
    assert np.abs(found - expected).max() < 1 / 255
    of_color = adapter_of([Image.fromarray(image) for image in color], None)
    repeated = of_color.transform([Image.fromarray(gray[0])])[0]
    for channel in repeated:
        np.testing.assert_allclose(channel, gray[0] / 255, rtol=1e-6)


def test_modes_of_pillow_and_what_files_may_hold(tmp_path):
    pixels = photos(1)[0]
    image = Image.fromarray(pixels)
    expected = np.moveaxis(pixels, -1, 0) / np.float32(255)
    opaque = image.convert("RGBA")
    opaque.putalpha(7)
    np.testing.assert_allclose(decode(opaque, ""), expected, rtol=1e-6)
    palette = image.convert("P")
    np.testing.assert_array_equal(decode(palette, ""), decode(palette.convert("RGB"), ""))
    cmyk = image.convert("CMYK")
    np.testing.assert_array_equal(decode(cmyk, ""), decode(cmyk.convert("RGB"), ""))
    assert decode(image.convert("1"), "").shape == (1, 12, 10)
    assert decode(image.convert("LA"), "").shape == (1, 12, 10)
    deep = (np.arange(120, dtype=np.uint16) * 500).reshape(12, 10)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    np.testing.assert_allclose(decode(tmp_path / "deep.png", "")[0], deep / 65535, rtol=1e-6)
    np.testing.assert_allclose(decode(deep, "")[0], deep / 65535, rtol=1e-6)
    turned = Image.Exif()
    turned[0x0112] = 6  # to be turned by 90 degrees clockwise
    image.save(tmp_path / "turned.png", exif=turned)
    np.testing.assert_allclose(
        decode(tmp_path / "turned.png", ""), np.rot90(expected, -1, axes=(1, 2)), rtol=1e-6
    )


def test_a_damaged_file_is_named(folder):
    model = features().fit(folder)
    path = folder / "cat" / "4.png"
    path.write_bytes(path.read_bytes()[:60])
    for read_again in (lambda: model.transform(folder), lambda: features().fit(folder)):
        with pytest.raises(DamagedFileError, match=r"cat/4\.png cannot be read"):
            read_again()
    with pytest.raises(FileNotFoundError, match="nothing"):
        model.transform([folder / "nothing.png"])


def test_a_header_that_tells_of_too_many_pixels_is_refused_before_memory_is_taken(tmp_path):
    whole = tmp_path / "blank.png"
    Image.new("L", (400, 300)).save(whole)
    data = bytearray(whole.read_bytes())
    data[16:24] = (9000).to_bytes(4, "big") * 2  # width and height
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    damaged = tmp_path / "damaged.png"
    damaged.write_bytes(data)
    with pytest.raises(DamagedFileError, match=r"damaged\.png.*9000 × 9000 pixels.*cannot hold"):
        features().fit([whole, damaged])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([np.zeros((8, 8, 5)), np.zeros((9, 9, 5))], r"row 0 .* 1, 3 or 4 channels"),
        ([np.zeros((8, 8, 3)), np.full((9, 9, 3), np.nan)], "row 1 of X contains NaN or inf"),
        ([Image.new("L", (5, 5)), "words"], "No such file.*words"),
        ([Image.new("L", (5, 5)), np.zeros((2, 0))], r"row 1 of X is no image.*\(2, 0\)"),
    ],
)
def test_what_is_no_image_is_named(X, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        features().fit(X)


def test_folders_without_images_and_other_modalities(tmp_path):
    with pytest.raises(ValueError, match="has no images"):
        open_images(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        open_images(tmp_path / "nothing")
    with pytest.raises(ValueError, match="X is images, but the modality is 'table'"):
        features(modality="table").fit([Image.new("L", (5, 5))] * 3)
    model = features().fit([Image.fromarray(image) for image in photos()])
    with pytest.raises(
        ValueError, match=r"expecting images as input, but X has the shape \(3, 2\)"
    ):
        model.transform(np.ones((3, 2)))


def test_resizing_keeps_what_has_the_size():
    image = np.random.default_rng(0).random((3, 5, 6), dtype=np.float32)
    assert resize(image, (5, 6)) is image
    assert resize(image, (2, 9)).shape == (3, 2, 9)


def test_label_curves_of_a_folder(folder):
    images = open_images(folder)
    models = {
        "features": features().fit(images),
        "mlp": aleator.Supervised(epochs=1, encoder="mlp"),
    }
    curve = label_curve(
        images, images.labels, folder, images.labels, models=models, n_labels=[4, "all"], draws=1
    )
    assert all(curve.accuracy[name].shape == (2, 1) for name in models)
