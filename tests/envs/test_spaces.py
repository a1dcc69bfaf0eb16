from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, Text, Tuple

from evolute.envs.spaces import describe, supported

READABLE = [
    Box(-1.0, 1.0, (4,)),
    Box(0, 255, (84, 84, 4), np.uint8),
    Box(0.0, 1.0, (3, 5)),
    Discrete(4, start=2),
    MultiDiscrete([2, 3]),
    MultiBinary(5),
    Dict(place=Box(0.0, 1.0, (2,)), kind=Discrete(3)),
    Tuple([Discrete(2), MultiBinary(2)]),
]
DOABLE = [Discrete(3), MultiDiscrete([3, 2]), Box(-1.0, 1.0, (6,))]


@pytest.mark.parametrize("space", READABLE)
def test_observations_that_can_be_read(space):
    supported(space, Discrete(2))


@pytest.mark.parametrize("space", DOABLE)
def test_actions_that_can_be_given(space):
    supported(Box(-1.0, 1.0, (4,)), space)


@pytest.mark.parametrize(
    ("space", "says"),
    [
        (Text(5), "observations are Text"),
        (Box(0.0, 1.0, (2, 2, 2, 2)), "observations are 2x2x2x2 numbers"),
        (Dict(a=Discrete(2), b=Text(3)), "observations are Text"),
        (Tuple([Graph(Discrete(2), None)]), "observations are Graph"),
    ],
)
def test_observations_that_can_not_be_read_are_told(space, says):
    with pytest.raises(ValueError, match=f"{says}.*a learner reads a Box of 1 to 3 dimensions, .*wrap the environment"):
        supported(space, Discrete(2))


@pytest.mark.parametrize(
    "space",
    [Discrete(3, start=1), Box(0, 5, (2,), np.int32), Box(0.0, 1.0, (2, 2)), MultiBinary(3), Dict(a=Discrete(2))],
)
def test_actions_that_can_not_be_given_are_told(space):
    with pytest.raises(ValueError, match=r"actions are .*: a learner gives Discrete or .*wrap the environment"):
        supported(Box(-1.0, 1.0, (4,)), space)


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (Box(-1.0, 1.0, (4,)), "4 numbers (float32)"),
        (Box(-1.0, 1.0, (1,)), "a number (float32)"),
        (Box(0, 255, (84, 84, 4), np.uint8), "an image of 84x84x4 (uint8)"),
        (Discrete(3), "one of 3 choices"),
        (MultiDiscrete([3, 2]), "one each of 3, 2 choices"),
        (MultiBinary((2, 3)), "6 switches"),
        (Dict(a=Discrete(2), b=Box(0.0, 1.0, (2,))), "a dict of a (one of 2 choices) and b (2 numbers (float32))"),
    ],
)
def test_spaces_in_words(space, words):
    assert describe(space) == words
