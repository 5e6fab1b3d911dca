"""Properties of images of any size and type: order, chunks and saving."""

import tempfile

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from aleator import RandomFeatures, load
from tests.inputs.test_images import adapter_of
from tests.inputs.test_table_properties import QUICK


@st.composite
def image_lists(draw):
    """Images of Pillow and arrays, of a few sizes."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = draw(
        st.lists(st.tuples(st.integers(5, 14), st.integers(5, 14)), min_size=1, max_size=3)
    )
    made = [Image.fromarray(random.integers(0, 256, (*sizes[0], 3), dtype=np.uint8))]
    for _ in range(draw(st.integers(3, 12))):
        height, width = sizes[random.integers(len(sizes))]
        pixels = random.integers(0, 256, (height, width, 3), dtype=np.uint8)
        forms = [
            Image.fromarray(pixels),
            Image.fromarray(pixels[..., 0]),
            pixels,
            np.moveaxis(pixels, -1, 0) / 255,
            pixels[..., 1],
        ]
        made.append(forms[random.integers(len(forms))])
    return made


@QUICK
@given(image_lists(), st.integers(0, 2**32), st.integers(1, 20))
def test_permuted_rows_permute_images_and_chunks_are_the_whole(images, seed, rows):
    adapter = adapter_of(images)
    whole = adapter.transform(images)
    assert np.isfinite(whole).all()
    order = np.random.default_rng(seed).permutation(len(images))
    np.testing.assert_array_equal(adapter.transform([images[i] for i in order]), whole[order])
    source = adapter.read(images)
    np.testing.assert_array_equal(np.concatenate(list(source.chunks(rows))), whole)
    np.testing.assert_array_equal(source.gather(order[:rows]), whole[order[:rows]])


@settings(QUICK, max_examples=6)
@given(image_lists())
def test_a_saved_model_gives_the_same_embedding(images):
    model = RandomFeatures(n_features=8, random_state=0, projector="patches").fit(images)
    expected = model.transform(images)
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        again = load(folder)
    np.testing.assert_array_equal(again.transform(images), expected)
    order = np.random.default_rng(0).permutation(len(images))
    permuted = model.transform([images[i] for i in order])
    np.testing.assert_allclose(permuted, expected[order], rtol=1e-4, atol=1e-4)
    pieces = [model.transform(part) for part in (images[:1], images[1:])]
    np.testing.assert_allclose(np.concatenate(pieces), expected, rtol=1e-4, atol=1e-4)
