"""The augmentations of DrAC on golden images: 4 x 4 pixels, small enough to be read, and drawn ones of Procgen's size."""

from __future__ import annotations

import colorsys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolute.learners.ppo import augment
from evolute.learners.ppo.augment import AUGMENTATIONS, augmented

LETTERS = np.arange(16, dtype=np.float32).reshape(4, 4, 1).repeat(3, axis=2) / 16
"""The golden image: 16 shades of grey, row by row."""

compiled = jax.jit(augmented)


def shades(image) -> list[list[int]]:
    """The first colour of each pixel of a golden image, as the numbers 0 to 15."""
    return np.rint(np.asarray(image)[..., 0] * 16).astype(int).tolist()


def pictures(count=6, side=64, frames=1):
    return np.random.default_rng(0).integers(0, 256, (count, side, side, 3 * frames), np.uint8)


def show(name, images, seed=0):
    return np.asarray(compiled(jnp.float32(AUGMENTATIONS.index(name)), jax.random.key(seed), jnp.asarray(images)))


def test_a_flip_mirrors_left_and_right():
    assert shades(augment.flip(LETTERS, True)) == [[3, 2, 1, 0], [7, 6, 5, 4], [11, 10, 9, 8], [15, 14, 13, 12]]
    assert shades(augment.flip(LETTERS, False)) == shades(LETTERS)


@pytest.mark.parametrize("turns", range(4))
def test_a_rotation_turns_by_right_angles(turns):
    quarter = [[3, 7, 11, 15], [2, 6, 10, 14], [1, 5, 9, 13], [0, 4, 8, 12]]
    expected = shades(np.rot90(LETTERS, turns))
    assert shades(augment.rotate(LETTERS, jnp.int32(turns))) == expected
    assert turns != 1 or expected == quarter


def test_a_crop_shifts_and_repeats_the_edges():
    image = np.zeros((64, 64, 3), np.float32)
    image[0, 0] = 1
    shifted = np.asarray(augment.crop(image, 10, 7))
    assert np.argwhere(shifted[..., 0]).max(axis=0).tolist() == [2, 5]
    assert shifted[:3, :6].all()
    np.testing.assert_array_equal(augment.crop(image, 12, 12), image)


def test_grey_is_the_luminance():
    image = np.zeros((4, 4, 6), np.float32)
    image[0, 0, :3], image[0, 1, 3:] = (1, 0, 0), (0, 1, 0)
    grey = np.asarray(augment.grayscale(image))
    np.testing.assert_allclose(grey[0, 0], [0.299] * 3 + [0] * 3, rtol=1e-6)
    np.testing.assert_allclose(grey[0, 1], [0] * 3 + [0.587] * 3, rtol=1e-6)


def test_a_cutout_is_a_box_whose_corner_moves_with_its_size():
    image = np.ones((64, 64, 6), np.float32)
    cut = np.asarray(augment.cutout(image, 8, 10, jnp.array([0.1, 0.2, 0.3])))
    inside = np.zeros((64, 64), bool)
    inside[20:28, 34:44] = True
    np.testing.assert_allclose(cut[inside], np.tile([0.1, 0.2, 0.3], (80, 2)), rtol=1e-6)
    assert (cut[~inside] == 1).all()


def test_a_random_convolution_is_a_convolution_of_the_colours():
    rng = np.random.default_rng(1)
    image, kernel = rng.random((5, 5, 3), np.float32), rng.normal(size=(3, 3, 3, 3)).astype(np.float32)
    around = np.pad(image, ((1, 1), (1, 1), (0, 0)))
    expected = [[np.einsum("ijc,ijco->o", around[y : y + 3, x : x + 3], kernel) for x in range(5)] for y in range(5)]
    np.testing.assert_allclose(augment.random_conv(image, kernel), expected, atol=1e-5)


def test_jitter_acts_in_the_space_of_hue_saturation_and_value():
    image = np.random.default_rng(2).random((4, 4, 3), np.float32)
    mean = image.mean(axis=(0, 1))
    contrasted = np.clip((image - mean) * 1.2 + mean, 0, 1)
    expected = np.zeros_like(image)
    for place in np.ndindex(4, 4):
        h, s, v = colorsys.rgb_to_hsv(*contrasted[place])
        expected[place] = colorsys.hsv_to_rgb((h + 0.3) % 1, min(s * 1.3, 1), min(v * 0.7, 1))
    np.testing.assert_allclose(augment.color_jitter(image, 1.2, 0.7, 0.3, 1.3, True), expected, atol=1e-5)
    unchanged = augment.color_jitter(image, 1.0, 1.0, 0.0, 1.0, False)
    np.testing.assert_allclose(unchanged, image, atol=1e-5)


@pytest.mark.parametrize("name", AUGMENTATIONS)
@pytest.mark.parametrize(("side", "frames"), [(64, 1), (32, 2)])
def test_shape_and_type_stay_and_the_draw_follows_from_the_key(name, side, frames):
    images = pictures(side=side, frames=frames)
    shown = show(name, images)
    assert (shown.shape, shown.dtype) == (images.shape, np.uint8)
    np.testing.assert_array_equal(shown, show(name, images))
    assert (shown == images).all() == (name == "none")
    if name not in ("none", "grayscale"):
        assert (shown != show(name, images, seed=1)).any()


def test_each_image_of_a_batch_has_its_own_draw():
    images = np.repeat(pictures(1, side=32, frames=2), 32, axis=0)
    for name in set(AUGMENTATIONS) - {"none", "grayscale"}:
        assert len({picture.tobytes() for picture in show(name, images)}) > 1, name
    assert len({picture.tobytes() for picture in show("rotate", images)}) == 4
    assert len({picture.tobytes() for picture in show("flip", images)}) == 2


def test_floats_stay_floats():
    images = pictures().astype(np.float32) / 255
    assert show("color_jitter", images).dtype == np.float32
