"""What is told of a space before training: the largest state."""

from __future__ import annotations

import pytest

from evolute.config.layers import override, preset, stack
from evolute.config.resolve import resolved
from evolute.core.order import Order
from evolute.core.tree import pack
from evolute.runs.assemble import assembled
from evolute.runs.corners import largest_state

SPACE = ["ppo.width=ordinal[8,64,16]", "ppo.depth=int[1,3]", "ppo.activation=choice[tanh,relu]"]


@pytest.mark.parametrize("drawn", [{"width": 8, "depth": 1}, {"width": 64, "depth": 2}])
def test_the_largest_state_is_that_of_the_largest_network(drawn):
    config = resolved(stack([preset("cartpole"), *map(override, SPACE)]))
    learner = assembled(config, {}).learner
    largest = {"width": 64, "depth": 3, "activation": "tanh"}
    expected = sum(map(len, pack(learner.dump(learner.init([Order(0, 0, largest)])[0]))))
    assert largest_state(learner, config, {**drawn, "activation": "tanh"}) == expected


def test_of_states_that_are_not_known_yet_nothing_is_told():
    config = resolved(preset("toy"))
    assert largest_state(assembled(config, {}).learner, config, {"h0": 1.0, "h1": 0.5}) is None
