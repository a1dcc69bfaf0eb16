"""The check of games on the host notices each thing that it is for."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from evolute.envs.host_game import Moment
from evolute.testing import check_host_game


class Dice:
    """Both choose one of two, the third is illegal; a die decides who gets what was chosen. The game lasts three steps."""

    def __init__(self, **changes):
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (1,))
        self.action_space = gymnasium.spaces.Discrete(3)
        self.teams, self.has_legal, self.zero_sum, self.bots = (0, 1), True, True, ()
        self.acting, self.seen, self.length, self.legal, self.share = (0, 1), 0.5, 3, [True, True, False], -1
        vars(self).update(changes)

    def copy(self):
        return Throws(self)


class Throws:
    def __init__(self, game):
        self.game = game

    def reset(self, seed):
        self.rng, self.time = np.random.default_rng(seed), 0
        return self.moment(0.0)

    def step(self, actions):
        assert all(self.game.legal[action] for action in actions.values())
        self.time += 1
        return self.moment(self.gain(actions))

    def gain(self, actions):
        return self.rng.choice([-1.0, 1.0]) * sum(actions.values())

    def moment(self, gain):
        game = self.game
        acting = game.acting if self.time < game.length else ()
        legal = np.array([game.legal] * 2) if game.has_legal is True else None
        return Moment(
            acting, np.full((2, 1), game.seen, np.float32), legal, np.array([gain, game.share * gain]), np.zeros(2, bool)
        )

    def close(self):
        pass


def test_a_game_that_keeps_the_laws_passes():
    check_host_game(Dice(), limit=5)


@pytest.mark.parametrize(
    ("message", "changes"),
    [
        ("two seats or more", {"teams": (0,)}),
        ("teams are numbered from 0", {"teams": (1, 2)}),
        ("only Discrete actions", {"action_space": gymnasium.spaces.Box(0, 1, (2,))}),
        ("names a seat twice", {"acting": (0, 0)}),
        ("there are seats 0 to 1", {"acting": (0, 2)}),
        ("outside the observation space", {"seen": 2.0}),
        (r"it must be \[seat, …\]", {"observation_space": gymnasium.spaces.Box(0.0, 1.0, (2,))}),
        ("legal is None where", {"has_legal": 1}),
        ("has no legal action", {"legal": [False] * 3}),
        ("zero_sum is said", {"share": 1}),
        ("after 5 steps a game runs on", {"length": 9}),
    ],
)
def test_it_says_what_is_wrong(message, changes):
    with pytest.raises(AssertionError, match=message):
        check_host_game(Dice(**changes), limit=5)


def test_it_notices_randomness_from_elsewhere(monkeypatch):
    free = np.random.default_rng()
    monkeypatch.setattr(Throws, "gain", lambda self, actions: free.normal())
    with pytest.raises(AssertionError, match="follows from its seed and the actions alone"):
        check_host_game(Dice(), limit=5)
