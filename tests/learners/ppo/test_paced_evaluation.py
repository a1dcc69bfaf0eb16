"""Evaluations of rows at their own pace: the episodes are those of rows that wait for each step, and nobody plays in vain."""

import asyncio
from functools import cache

import gymnasium
import numpy as np
import pytest
from tests.envs import uneven
from tests.learners.ppo.training import learner, train

from evolute.core.order import Ref
from evolute.core.protocols import silently
from evolute.envs.spec import ActorSpec, EnvSpec
from evolute.games import Game
from evolute.learners.kit import host_evaluation
from evolute.learners.ppo.host_runner import HostRunner
from evolute.learners.ppo.paced_runner import PacedRunner

SMALL = {"envs": 4, "unroll": 8, "minibatches": 1, "widths": (8,), "epochs": 1, "normalize_obs": True}
UNEVEN, NOBODY = "tests.envs.uneven:Uneven", ActorSpec()


@cache
def trained(env=UNEVEN, *, delay=0.0, actors=NOBODY, **settings):
    """A learner, and a state of a member that it has trained."""
    options = {"Uneven": {"delay": delay}} if env == UNEVEN else {}
    made = learner(EnvSpec(env, options, actors=actors), **{**SMALL, **settings})
    return made, train(made, steps=64)[0].dump(Ref(0, 0))


def played(made, tree, *, greedy, episodes=11):
    return made.play(tree, {}, seed=7, episodes=episodes, greedy=greedy, progress=silently)


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (PacedRunner, {"pace": "rollout", "delay": 0.004}),
        (PacedRunner, {"actors": ActorSpec(2), "delay": 0.004}),
        (HostRunner, {"actors": ActorSpec(evaluators=3), "delay": 0.004}),
    ],
)
def test_rows_at_their_own_pace_play_the_episodes_of_rows_that_wait(kind, settings, greedy):
    made, tree = trained(**settings)
    assert isinstance(made.runner, kind)
    found = played(made, tree, greedy=greedy)
    assert found == played(*trained(), greedy=greedy)
    assert len(set(found)) == 11


@pytest.mark.slow("networks with memory, Gaussian actions, and stacked frames, in actors and all together")
def test_other_policies_play_the_episodes_of_rows_that_wait():
    for env, settings in ((UNEVEN, {"memory": 4}), ("gym:Pendulum-v1", {}), ("minatar:Breakout", {})):
        one, other = (trained(env, actors=ActorSpec(count), **settings) for count in (0, 2))
        assert played(*one, greedy=False) == played(*other, greedy=False)


def test_each_copy_stops_when_it_has_played_its_share(monkeypatch):
    made, tree = trained(pace="rollout", delay=0.004)
    steps, step = [], uneven.Uneven.step
    monkeypatch.setattr(uneven.Uneven, "step", lambda env, action: steps.append(1) or step(env, action))
    spec, player = made._spec(made._full({})), made.load(tree).player
    (result,) = made.runner.evaluate(spec, [player], 11, greedy=True, seed=7, progress=silently)
    assert len(steps) == sum(result.lengths)


@pytest.mark.slow("whole turns with evaluations, together, in threads and by evaluators")
def test_scores_by_evaluation_do_not_depend_on_who_evaluates():
    settings = {"fitness": "evaluation", "episodes": 5, "greedy": False}
    makers = [{}, {"pace": "rollout", "delay": 0.004}, {"actors": ActorSpec(evaluators=2)}]
    scores = []
    for maker in makers:
        made = trained(**settings, **maker)[0]
        scores.append([report.metrics["score"] for report in train(made, [{}, {"lr": 1e-2}], steps=64)[1]])
    assert scores[0] == scores[1] == scores[2]


class Matching(Game):
    """Two seats that act at the same time: the first is paid where both do the same, the second where they do not."""

    seats, repeatable = ("even", "odd"), True
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    async def play(self, seats, seed):
        rng = np.random.default_rng(seed)
        for _ in range(rng.integers(3, 9)):
            one, other = await asyncio.gather(*(seat.act(rng.uniform(-1, 1, 2).astype(np.float32)) for seat in seats.values()))
            seats["even" if one == other else "odd"].reward(float(rng.random()))


def test_seats_of_a_repeatable_game_play_as_if_all_rows_waited_for_each_step():
    made, tree = trained("tests.learners.ppo.test_paced_evaluation:Matching")
    spec, player = made._spec(made._full({})), made.load(tree).player
    about = {"greedy": False, "seed": 7, "progress": silently}
    (found,) = made.runner.evaluate(spec, [player], 5, **about)
    env, programs = made.runner.env, made.runner.programs
    (wanted,) = host_evaluation.evaluate(env, programs, spec.policy, [player], 5, unroll=spec.unroll, **about)
    np.testing.assert_array_equal(found.returns, wanted.returns)
    np.testing.assert_array_equal(found.lengths, wanted.lengths)


@pytest.mark.slow("evaluations in games that could not be stepped all together")
def test_games_are_evaluated_whose_seats_act_in_turn_or_say_what_is_legal():
    turns = played(*trained("tests.games.small_games:Paying", pace="free"), greedy=True, episodes=5)
    assert len(turns) == 5
    assert min(turns) > 0
    assert played(*trained("tests.learners.ppo.test_game_pace:Counting"), greedy=False) == [6.0] * 11


def test_evaluators_without_anything_to_do_are_told_of():
    made = learner(EnvSpec("cartpole", actors=ActorSpec(evaluators=2)))
    assert any("actors.evaluators=2 does nothing with cartpole" in text for text in made.advice(10_000, [{}]))
