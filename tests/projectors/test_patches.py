"""Families of images against explicit loops."""

import numpy as np
import pytest
import torch

from aleator.projectors.deep_patches import DeepPatchFeatures, feature_maps
from aleator.projectors.patch_filters import PatchFilters, draw_patches
from aleator.projectors.patches import PatchFeatures, pool_signs
from tests.projectors.families import generator, sample_of


def images_of(n_images=30, channels=3, size=13, seed=0):
    """Images whose neighboring pixels are alike."""
    noise = torch.randn(n_images, channels, size + 4, size + 4, generator=generator(seed))
    return torch.nn.functional.avg_pool2d(noise, 5, 1) * 3 + 1


def responses_of(filters, image):
    """Normalize every patch to zero mean and unit contrast, and correlate it with the filters."""
    weight = filters.weight.double().numpy()
    side = weight.shape[-1]
    x = image.double().numpy()
    height, width = x.shape[1] - side + 1, x.shape[2] - side + 1
    found = np.zeros((len(weight), height, width))
    for top in range(height):
        for left in range(width):
            patch = x[:, top : top + side, left : left + side]
            patch = patch - patch.mean()
            patch = patch / np.sqrt((patch**2).mean() + float(filters.floor))
            for k in range(len(weight)):
                found[k, top, left] = (weight[k] * patch).sum() - float(filters.offset[k])
    return found


def halves(size):
    """Two cells that cover a side; they overlap by one if it is odd."""
    return [slice(0, (size + 1) // 2), slice(size // 2, size)]


def pooled_of(found):
    rows = []
    for sign in (1, -1):
        active = np.maximum(sign * found - 0.25, 0)
        for one in active:
            cells = [one[a, b] for a in halves(one.shape[0]) for b in halves(one.shape[1])]
            rows += [np.log(cell.mean() + 0.03) for cell in cells]
    return rows


def reduced_of(image):
    """Average squares of two by two pixels."""
    x = image[:, : image.shape[1] // 2 * 2, : image.shape[2] // 2 * 2].double()
    return (x[:, ::2, ::2] + x[:, 1::2, ::2] + x[:, ::2, 1::2] + x[:, 1::2, 1::2]) / 4


def test_responses_of_patch_filters():
    x = images_of(3)
    filters = PatchFilters.draw(x, 4, 5, generator())
    expected = np.stack([responses_of(filters, image) for image in x])
    np.testing.assert_allclose(filters(x), expected, rtol=1e-3, atol=1e-4)


def normalized_patches(x, side):
    """Patches with zero mean and unit contrast, the floor of the contrast, and their whitening."""
    patches = draw_patches(x, 1 << 16, side, generator()).flatten(1).double().numpy()
    patches = patches - patches.mean(1, keepdims=True)
    variance = (patches**2).mean(1, keepdims=True)
    floor = 0.01 * variance.mean()
    patches = patches / np.sqrt(variance + floor)
    values, vectors = np.linalg.eigh(np.cov(patches.T))
    whitening = vectors / np.sqrt(np.maximum(values, 0) + 0.1 * values.mean()) @ vectors.T
    return patches, floor, whitening


def test_filters_are_whitened_patches():
    x = images_of(200, channels=1, size=9)
    filters = PatchFilters.draw(x, 50, 3, generator())
    patches, floor, whitening = normalized_patches(x, 3)
    assert float(filters.floor) == pytest.approx(floor, rel=0.05)
    # A filter is a whitened patch of unit length, whitened once more.
    unit = filters.weight.flatten(1).double().numpy() @ np.linalg.inv(whitening)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=0.05)
    chosen = (patches - patches.mean(0)) @ whitening
    chosen = chosen / np.linalg.norm(chosen, axis=1, keepdims=True)
    assert (unit @ chosen.T).max(1).min() > 0.99, "every filter is a patch of the data"
    offsets = filters.weight.flatten(1).double().numpy() @ patches.mean(0)
    np.testing.assert_allclose(filters.offset, offsets, atol=0.05)


def test_whitening_whitens():
    x = images_of(400, channels=1, size=9)
    filters = PatchFilters.draw(x, 2000, 3, generator())
    patches, _, whitening = normalized_patches(x, 3)
    unit = filters.weight.flatten(1).double().numpy() @ np.linalg.inv(whitening)
    # The direction in which all values are equal is missing, as patches have zero mean.
    before = np.linalg.eigvalsh(np.cov(patches.T))[1:]
    after = np.linalg.eigvalsh(np.cov(unit.T))[1:]
    assert before.max() / before.min() > 20
    # The floor leaves directions with little variance shorter than the others.
    shrunk = before / (before + 0.1 * before.sum() / 9)
    assert after.max() / after.min() < 2 * shrunk.max() / shrunk.min() < 6


@pytest.mark.parametrize("size", [13, 26])
def test_patch_features(size):
    x = images_of(3, size=size)
    module = PatchFeatures.draw(x, 48, generator())
    both = size == 26
    assert bool(module.coarse.weight.numel()) == both, "small images have no coarse scale"
    expected = []
    for image in x:
        row = pooled_of(responses_of(module.fine, image))
        if both:
            row += pooled_of(responses_of(module.coarse, reduced_of(image)))
        expected.append(row[:48])
    np.testing.assert_allclose(module(x), expected, rtol=1e-3, atol=1e-4)


def test_deep_patch_features():
    x = images_of(3)
    module = DeepPatchFeatures.draw(x, 40, generator())
    expected = []
    for image in x:
        found = responses_of(module.first, image)
        maps = np.concatenate([np.maximum(sign * found - 0.25, 0) for sign in (1, -1)])
        maps = reduced_of(torch.from_numpy(maps))
        np.testing.assert_allclose(
            feature_maps(module.first, image[None])[0], maps, rtol=1e-3, atol=1e-4
        )
        expected.append(pooled_of(responses_of(module.second, maps))[:40])
    np.testing.assert_allclose(module(x), expected, rtol=5e-3, atol=5e-4)


def test_large_images_are_reduced():
    x = images_of(4, size=97)
    module = PatchFeatures.draw(x, 16, generator())
    assert int(module.factor) == 3
    smaller = torch.nn.functional.avg_pool2d(x, 3)
    module._factor = 1
    expected = module(smaller)
    module._factor = 3
    torch.testing.assert_close(module(x), expected)


def test_brightness_and_contrast_do_not_matter():
    x = images_of(10)
    module = PatchFeatures.draw(x, 64, generator())
    torch.testing.assert_close(module(x + 5), module(x), rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(module(10 * x), module(x), rtol=0.2, atol=0.05)


def test_cells_are_logarithms_of_average_thresholded_responses():
    responses = sample_of("image", 5)[:, :2]
    expected = [pooled_of(found) for found in responses.double().numpy()]
    np.testing.assert_allclose(pool_signs(responses), expected, rtol=1e-5, atol=1e-6)


def test_patches_are_drawn_from_all_images():
    x = torch.arange(7.0)[:, None, None, None].expand(-1, 1, 6, 6)
    patches = draw_patches(x, 21, 3, generator())
    assert patches.shape == (21, 1, 3, 3)
    values, counts = patches[:, 0, 0, 0].unique(return_counts=True)
    assert values.tolist() == list(range(7))
    assert counts.tolist() == [3] * 7
