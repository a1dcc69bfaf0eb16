from __future__ import annotations

import json

import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, flatten_space
from gymnasium.spaces import flatten as gymnasium_flatten
from gymnasium.vector.utils import batch_space
from test_spaces import READABLE

from evolute import policy
from evolute.envs.flatten import FlatBox, flat_space, flatten, is_flat

IMAGE = Box(0, 255, (4, 84, 84), np.uint8)


@pytest.mark.parametrize("space", [*READABLE, IMAGE])
@pytest.mark.parametrize("array", [np, jnp])
def test_a_flat_observation_lies_in_the_flat_space(space, array):
    space.seed(0)
    for _ in range(5):
        flat = np.asarray(flatten(space, space.sample(), array))
        assert flat_space(space).contains(flat)


@pytest.mark.parametrize("space", [*READABLE, IMAGE])
def test_many_are_flattened_as_one_is(space):
    many = batch_space(space, 3)
    many.seed(1)
    batch = many.sample()
    flat = flatten(space, batch, np, batch=1)
    assert flat.shape == (3, *flat_space(space).shape)
    if isinstance(batch, np.ndarray):
        for one, row in zip(flat, batch, strict=True):
            np.testing.assert_array_equal(one, flatten(space, row, np))


@pytest.mark.parametrize("space", [space for space in READABLE if len(space.shape or ()) != 3])
def test_the_order_is_gymnasiums(space):
    space.seed(2)
    obs = space.sample()
    np.testing.assert_array_equal(flatten(space, obs, np), gymnasium_flatten(space, obs))
    assert flat_space(space).shape == flatten_space(space).shape


def test_images_stay_bytes_with_the_channel_last():
    IMAGE.seed(0)
    picture = IMAGE.sample()
    flat = flatten(IMAGE, picture, np)
    assert flat.dtype == np.uint8
    np.testing.assert_array_equal(flat[..., 3], picture[3])
    assert not is_flat(IMAGE)
    assert is_flat(flat_space(IMAGE))


def test_what_is_flat_is_left_alone():
    space = Box(-1.0, 1.0, (4,), np.float64)
    obs = space.sample()
    assert is_flat(space)
    assert flatten(space, obs, np) is obs
    assert flat_space(space) == space


def test_choices_become_one_hot_from_their_start():
    np.testing.assert_array_equal(flatten(Discrete(3, start=5), np.array([5, 7]), np, batch=1), [[1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize("space", [*READABLE, IMAGE])
def test_policies_flatten_by_the_layout_alone_as_envs_do(space):
    flat = flat_space(space)
    layout = json.loads(json.dumps(flat.layout)) if isinstance(flat, FlatBox) else None
    assert (layout is None) == is_flat(space)
    space.seed(3)
    obs, many = space.sample(), batch_space(space, 3)
    many.seed(4)
    batch = many.sample()
    one, several = flatten(space, obs, np), flatten(space, batch, np, batch=1)
    np.testing.assert_array_equal(policy.flattened(layout, obs), one)
    np.testing.assert_array_equal(policy.flattened(layout, batch), several)
    np.testing.assert_array_equal(policy.flattened(layout, one), one)
    np.testing.assert_array_equal(policy.flattened(layout, several), several)


def test_a_dict_that_lacks_a_part_is_refused():
    layout = flat_space(Dict({"me": Discrete(2), "you": Discrete(3)})).layout
    with pytest.raises(ValueError, match="a dict of me, you, and this has no 'you'"):
        policy.flattened(layout, {"me": 1})


def test_a_part_of_another_shape_is_refused():
    layout = flat_space(Dict({"me": Discrete(2), "place": Box(0, 1, (2,))})).layout
    with pytest.raises(ValueError, match=r"has the shape \(3,\), and should have \(2,\)"):
        policy.flattened(layout, {"me": 1, "place": [0.0, 0.5, 1.0]})
