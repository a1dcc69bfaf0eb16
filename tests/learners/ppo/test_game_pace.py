"""PPO in games that run by themselves: rows are seats, rewards have channels, and what games tell become metrics."""

import asyncio

import gymnasium
import numpy as np
import pytest
from tests.learners.ppo.training import learner, train

from evolute.core.order import Order
from evolute.core.worker import Worker
from evolute.games import Game
from evolute.learners.kit.actions import LegalCategories
from evolute.testing.memory import MemoryStates

SMALL = {"envs": 4, "unroll": 8, "minibatches": 1, "widths": (8,), "epochs": 1}


class Counting(Game):
    """Pays 1 for each legal action; which of three are, is drawn by the seed. A repeatable game for one."""

    observation_space = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)
    repeatable = legal = True

    async def play(self, seats, seed):
        rng, seat = np.random.default_rng(seed), seats["player"]
        good = 0
        for _ in range(6):
            legal = np.ones(3, bool)
            legal[rng.integers(3)] = False
            action = await seat.act(legal.astype(np.float32), legal)
            seat.reward(float(legal[action]))
            good += legal[action]
        return {"good": float(good)}


class Undeclared(Counting):
    """Does not say beforehand that not all actions are legal."""

    legal = False


class Talks(Counting):
    """Has two seats, and a word for the user."""

    seats = ("player", "partner")

    def advice(self, games):
        return [f"each member plays {games} of these"]


class Breaks(Counting):
    """Raises in every episode of every second seed."""

    repeatable = False

    async def play(self, seats, seed):
        await asyncio.sleep(0)
        await seats["player"].act(np.zeros(3))
        raise ArithmeticError("the game went wrong")


def test_seats_at_a_free_pace_get_what_the_game_has_paid():
    """Two seats that act in turn, in an order of chance, with rewards in two channels."""
    made = learner("tests.games.small_games:Paying", pace="free", **SMALL)
    assert not made.repeatable
    assert made.channels == ("gold", "silver")
    _, reports = train(made, [{"reward.silver": 0.5}, {"reward.silver": -1.0}], steps=256)
    for report in reports:
        metrics = report.metrics
        assert metrics["return.gold"] == pytest.approx(metrics["gold"], rel=1e-5)
        assert metrics["return.silver"] == pytest.approx(metrics["silver"], rel=1e-5)
        assert metrics["score"] == metrics["return.gold"]
        assert metrics["episodes"] > 5


def test_environments_that_are_no_whole_games_are_refused_before_training():
    made = learner("tests.games.small_games:Paying", **{**SMALL, "envs": 3})
    with pytest.raises(ValueError, match=r"ppo.envs=3: the member plays 2 seats of each .*Paying, .*set a multiple of 2, or"):
        made.advice(64, [{}])


def test_what_a_game_has_to_say_is_told_before_training():
    assert "each member plays 2 of these" in learner("tests.learners.ppo.test_game_pace:Talks", **SMALL).advice(64, [{}])


@pytest.mark.slow("a repeatable game with legal actions, all together and at its own pace")
def test_a_repeatable_game_gives_the_same_bits_at_any_pace_and_only_legal_actions_are_taken():
    made = learner("tests.learners.ppo.test_game_pace:Counting", **SMALL)
    assert made.repeatable
    assert isinstance(made._spec(made._full({})).actions, LegalCategories)
    (report,) = train(made, steps=256)[1]
    assert report.metrics["good"] == report.metrics["return"] == 6
    paced = learner("tests.learners.ppo.test_game_pace:Counting", pace="rollout", **SMALL)
    assert train(paced, steps=256)[1][0].digest == report.digest


@pytest.mark.parametrize(("game", "said"), [("Breaks", "the game went wrong"), ("Undeclared", "has legal = False")])
def test_a_game_that_goes_wrong_fails_its_members(game, said):
    made = learner(f"tests.learners.ppo.test_game_pace:{game}", **SMALL)
    (report,) = Worker(made, MemoryStates()).train([Order(0, 0, {}, steps=256, seed=3)])
    assert said in report.error
