"""Environments on the host: they learn as those inside the program do, and one that breaks fails its member alone."""

import gymnasium
import numpy as np
import pytest
from tests.learners.ppo.training import learner, played, train, values

from evolute.core.order import Order, Ref
from evolute.core.worker import Worker
from evolute.envs.spec import EnvSpec
from evolute.testing.memory import MemoryStates

QUICK = {"lr": 1e-2, "envs": 8, "unroll": 32, "minibatches": 2, "widths": (16,), "discount": 0.9}


class EndlessReward(gymnasium.Env):
    """1 a step, for ever."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), 1.0, False, False, {}


class Breaks(EndlessReward):
    """Raises, or gives NaN, in an episode that the seed picks: about half of them."""

    def __init__(self, how="raise"):
        self.how, self.time = how, 0

    def reset(self, *, seed=None, options=None):
        obs, info = super().reset(seed=seed)
        self.bad = self.np_random.random() < 0.1
        return obs, info

    def step(self, action):
        self.time += 1
        if self.bad and self.time > 5 and self.how == "raise":
            raise RuntimeError("the simulator exploded")
        reward = np.nan if self.bad and self.time > 5 else 1.0
        return np.zeros(1, np.float32), reward, self.time % 20 == 0, False, {}


def test_the_better_action_is_taken():
    made = learner("tests.envs.host_probes:ActionByObs", **QUICK)
    worker, _ = train(made, steps=16_000)
    assert played(made, worker, Ref(0, 0), episodes=24) == 1


def test_the_value_at_a_time_limit_is_bootstrapped_and_at_a_true_end_it_is_not():
    made = learner(EnvSpec("tests.learners.ppo.test_host:EndlessReward", time_limit=10), gae_lambda=0.9, **QUICK)
    worker, _ = train(made, steps=120_000)
    assert values(made, worker, [[0.0]]) == pytest.approx(10, abs=0.7)
    made = learner("tests.envs.host_probes:TrueEnd", gae_lambda=0.9, **QUICK)
    worker, _ = train(made, steps=60_000)
    assert values(made, worker, [[0.0]])[0] < 7


@pytest.mark.parametrize(("how", "said"), [("raise", "the simulator exploded"), ("nan", "not a finite number")])
def test_an_env_that_breaks_fails_its_member_alone(how, said):
    made = learner(EnvSpec("tests.learners.ppo.test_host:Breaks", {"Breaks": {"how": how}}), **{**QUICK, "envs": 4})
    orders = [Order(m, 0, {}, steps=256, seed=m) for m in range(8)]
    worker = Worker(made, MemoryStates())
    reports = worker.train(orders)
    failed = [report for report in reports if report.failed]
    assert 0 < len(failed) < 8
    assert all(said in report.error for report in failed)
    alone = Worker(made, MemoryStates()).train([next(r.order for r in reports if not r.failed)])
    assert alone[0].digest in {report.digest for report in reports}


def test_a_turn_that_is_over_does_not_count_what_comes_after_it():
    made = learner("gym:CartPole-v1", envs=2, unroll=8, widths=(4,), minibatches=1, epochs=1)
    short, long = Order(0, 0, {}, steps=64, seed=5), Order(1, 0, {}, steps=640, seed=6)
    alone = Worker(made, MemoryStates()).train([short])[0]
    beside = Worker(made, MemoryStates()).train([short, long])[0]
    assert beside.metrics == alone.metrics
    assert beside.digest == alone.digest


def test_turns_start_afresh_and_repeat_themselves():
    made = learner("gym:CartPole-v1", **QUICK)
    one, other = train(made, turns=2)[1][0], train(made, turns=2)[1][0]
    assert one.digest == other.digest
    state = made.load(train(made)[0].dump(Ref(0, 0)))
    assert state.envs is None
