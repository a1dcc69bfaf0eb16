"""The eight augmentations of images that DrAC chooses from (Raileanu et al. 2021, appendix), inside the compiled program.

Each is a function of one image [height, width, channel] of numbers from 0 to 1 and of what was drawn for it. Which one is
used is a value, so that members with different ones train in one program and a change compiles nothing. Channels are
colours, three for each of the stacked frames. Sizes are those for Procgen's 64 x 64 pixels, and in proportion for others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import jax
import jax.numpy as jnp

from evolute.learners.ppo.settings import Augmentation

AUGMENTATIONS: tuple[str, ...] = get_args(Augmentation)
SIDE = 64
PAD = 12
BOX, CORNER = (7, 22), (12, 24)
"""Sides of a cut-out box (from, up to), and what is added to them for the place of its corner: row and column."""
GREY = (0.299, 0.587, 0.114)
JITTER, HUE = 0.4, 0.5 * 255 / 360
"""How far brightness, contrast and saturation move from 1, and hue from 0."""
Image = jax.Array
RandomImage = Callable[[jax.Array, Image], Image]


def augmented(which: jax.Array, key: jax.Array, images: jax.Array) -> jax.Array:
    """Images [batch, height, width, channel] as this augmentation shows them, each by its own draw; type and shape stay."""
    bytes_ = images.dtype == jnp.uint8
    x = images.astype(jnp.float32) / 255 if bytes_ else images
    keys = jax.random.split(key, images.shape[0])
    branches = [lambda keys, x: x, *(jax.vmap(DRAWS[name]) for name in AUGMENTATIONS[1:])]
    x = jnp.clip(jax.lax.switch(which.astype(jnp.int32), branches, keys, x), 0, 1)
    return jnp.round(x * 255).astype(jnp.uint8) if bytes_ else x


def crop(image: Image, row: Any, column: Any) -> Image:
    """The image shifted: it is padded by its edges, and a window of its size is taken from there."""
    pad = _scaled(PAD, image)
    padded = jnp.pad(image, ((pad, pad), (pad, pad), (0, 0)), mode="edge")
    return jax.lax.dynamic_slice(padded, (row, column, 0), image.shape)


def random_conv(image: Image, kernel: jax.Array) -> Image:
    """The image after a 3 x 3 convolution of its colours with this kernel [3, 3, colour, colour], zeros around it."""
    height, width, channels = image.shape
    frames = jnp.pad(image, ((1, 1), (1, 1), (0, 0))).reshape((height + 2, width + 2, channels // 3, 3))
    total = jnp.zeros((height, width, channels // 3, 3))
    for row in range(3):
        for column in range(3):
            total += frames[row : row + height, column : column + width] @ kernel[row, column]
    return total.reshape(image.shape)


def grayscale(image: Image) -> Image:
    """The luminance of each frame, in all three colours."""
    frames = image.reshape((*image.shape[:2], -1, 3))
    return jnp.broadcast_to((frames @ jnp.asarray(GREY))[..., None], frames.shape).reshape(image.shape)


def flip(image: Image, on: Any) -> Image:
    """The image, or its mirror image."""
    return jnp.where(on, image[:, ::-1], image)


def rotate(image: Image, turns: Any) -> Image:
    """The image turned to the left by this many right angles."""
    return jnp.choose(turns, [jnp.rot90(image, number) for number in range(4)], mode="wrap")


def cutout(image: Image, height: Any, width: Any, colour: jax.Array) -> Image:
    """The image with a box of this size and colour [3] in it; a larger box lies further down and to the right."""
    down, right = _scaled(CORNER[0], image) + height, _scaled(CORNER[1], image) + width
    rows, columns = jnp.arange(image.shape[0])[:, None, None], jnp.arange(image.shape[1])[None, :, None]
    inside = (rows >= down) & (rows < down + height) & (columns >= right) & (columns < right + width)
    return jnp.where(inside, jnp.tile(colour, image.shape[2] // 3), image)


def color_jitter(image: Image, contrast: Any, brightness: Any, hue: Any, saturation: Any, contrast_first: Any) -> Image:
    """The image with more or less contrast, brightness and saturation, and other hues."""
    frames = image.reshape((*image.shape[:2], -1, 3))
    first = _coloured(_contrasted(frames, contrast), brightness, hue, saturation)
    last = _contrasted(_coloured(frames, brightness, hue, saturation), contrast)
    return jnp.where(contrast_first, first, last).reshape(image.shape)


def _contrasted(frames: jax.Array, factor: Any) -> jax.Array:
    mean = jnp.mean(frames, axis=(0, 1), keepdims=True)
    return jnp.clip((frames - mean) * factor + mean, 0, 1)


def _coloured(frames: jax.Array, brightness: Any, hue: Any, saturation: Any) -> jax.Array:
    """Frames […, colour] with brightness, hue and saturation changed in the space of those."""
    h, s, v = _hsv(frames)
    return _rgb((h + hue) % 1, jnp.clip(s * saturation, 0, 1), jnp.clip(v * brightness, 0, 1))


def _hsv(rgb: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Hue, saturation and value, each 0 to 1."""
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    high, low = jnp.max(rgb, axis=-1), jnp.min(rgb, axis=-1)
    span = high - low
    safe = jnp.where(span > 0, span, 1)
    sixth = jnp.where(high == r, ((g - b) / safe) % 6, jnp.where(high == g, (b - r) / safe + 2, (r - g) / safe + 4))
    return sixth / 6, jnp.where(high > 0, span / jnp.where(high > 0, high, 1), 0), high


def _rgb(h: jax.Array, s: jax.Array, v: jax.Array) -> jax.Array:
    def colour(offset: int) -> jax.Array:
        place = (offset + h * 6) % 6
        return v - v * s * jnp.clip(jnp.minimum(place, 4 - place), 0, 1)

    return jnp.stack([colour(5), colour(3), colour(1)], axis=-1)


def _scaled(pixels: int, image: Image) -> int:
    return pixels * image.shape[0] // SIDE


def _crop(key: jax.Array, image: Image) -> Image:
    row, column = jax.random.randint(key, (2,), 0, 2 * _scaled(PAD, image) + 1)
    return crop(image, row, column)


def _random_conv(key: jax.Array, image: Image) -> Image:
    return random_conv(image, jax.random.normal(key, (3, 3, 3, 3)) * (2 / 54) ** 0.5)


def _flip(key: jax.Array, image: Image) -> Image:
    return flip(image, jax.random.bernoulli(key))


def _rotate(key: jax.Array, image: Image) -> Image:
    return rotate(image, jax.random.randint(key, (), 0, 4))


def _box(key: jax.Array, image: Image) -> tuple[jax.Array, jax.Array]:
    height, width = jax.random.randint(key, (2,), _scaled(BOX[0], image), max(_scaled(BOX[1], image), 1))
    return height, width


def _cutout(key: jax.Array, image: Image) -> Image:
    return cutout(image, *_box(key, image), jnp.zeros(3))


def _cutout_color(key: jax.Array, image: Image) -> Image:
    size, colour = jax.random.split(key)
    return cutout(image, *_box(size, image), jax.random.uniform(colour, (3,)))


def _color_jitter(key: jax.Array, image: Image) -> Image:
    factors, order = jax.random.split(key)
    contrast, brightness, saturation, hue = jax.random.uniform(factors, (4,), minval=-1)
    near = 1 + JITTER * jnp.stack([contrast, brightness, saturation])
    return color_jitter(image, near[0], near[1], HUE * hue, near[2], jax.random.bernoulli(order))


DRAWS: dict[str, RandomImage] = {
    "crop": _crop,
    "random_conv": _random_conv,
    "grayscale": lambda key, image: grayscale(image),
    "flip": _flip,
    "rotate": _rotate,
    "cutout": _cutout,
    "cutout_color": _cutout_color,
    "color_jitter": _color_jitter,
}
