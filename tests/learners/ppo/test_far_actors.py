"""Actors on other machines: what they act by and record, what is learnt from it, and what becomes of those that die."""

from __future__ import annotations

import os
import re
import signal
import threading
import time

import cloudpickle
import gymnasium
import jax
import numpy as np
import pytest
from tests.engines.workers import children
from tests.learners.ppo.crews import ProcessCrew
from tests.learners.ppo.training import learner, learnt_from, played, train

from evolute.core.order import Order, Ref
from evolute.core.worker import Worker
from evolute.envs.host_sync import SyncHostEnv
from evolute.envs.spec import ActorSpec, EnvSpec
from evolute.learners.kit import acting, networks, normalise
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import actions_of
from evolute.learners.kit.episodes import Episodes
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.far_actor import FarActor
from evolute.learners.kit.far_actors import FarActors, FarFragments
from evolute.learners.kit.networks import Network
from evolute.learners.kit.sampled_actions import sampled
from evolute.learners.ppo.free_turn import FreeTurn
from evolute.learners.ppo.paced_runner import Cohort
from evolute.testing.memory import MemoryStates

SMALL = {"envs": 4, "unroll": 8, "minibatches": 1, "widths": (8,), "epochs": 1, "pace": "free", "max_lag": 2}
UNEVEN = "tests.envs.uneven:Uneven"
TWO = [{}, {"lr": 1e-2}]


def far(env=UNEVEN, *, count=2, limit=60.0, options=None, **settings):
    name = env.rpartition(":")[2]
    spec = EnvSpec(env, {name: options or {}}, actors=ActorSpec(count, limit, ProcessCrew()))
    return learner(spec, **{**SMALL, **settings})


SPACES = {
    "discrete": (gymnasium.spaces.Discrete(3, start=-1), {}),
    "several": (gymnasium.spaces.MultiDiscrete([2, 3]), {}),
    "gaussian": (gymnasium.spaces.Box(-1, 2, (2,)), {}),
    "by state": (gymnasium.spaces.Box(-1, 2, (2,)), {"std": "state"}),
    "squashed": (gymnasium.spaces.Box(-1, 2, (2,)), {"squash": True}),
}


def described(space, **more):
    """A policy of this action space, and its weights."""
    actions = actions_of(space, **{"std": "constant", "squash": False, **more})
    network = Network((3,), actions.outputs, actions.spread, widths=(5,))
    return PolicySpec(network, actions), networks.initial(network, np.random.default_rng(0)) + np.float32(0.1)


@pytest.mark.parametrize("kind", SPACES)
def test_log_probabilities_in_numpy_are_those_of_the_program(kind):
    space, more = SPACES[kind]
    spec, vector = described(space, **more)
    about = acting.description(spec)
    assert acting.described_actions(about) == spec.actions
    outputs = np.random.default_rng(1).normal(size=(50, spec.actions.outputs)).astype(np.float32)
    weights = networks.unpacked(spec.network, vector)
    action, log_prob = sampled(about["actions"], outputs, weights.get("log_std"), np.random.default_rng(2))
    wanted = jax.jit(spec.actions.log_prob_and_entropy)(weights, outputs.T, action.T)[0]
    np.testing.assert_allclose(log_prob, wanted, rtol=1e-4, atol=1e-5)
    assert action.shape == (50, spec.actions.width)
    assert all(space.contains(one) for one in spec.actions.to_env(action).astype(space.dtype))


class Alone:
    """A team of one actor, in this process."""

    def __init__(self, actor):
        self.actor = actor

    def __len__(self):
        return 1

    def all(self, method, *arguments, aside=False, retries=0):
        return [getattr(self.actor, method)(*arguments)]

    def stream(self, method, *arguments, retries=2):
        while True:
            yield 0, getattr(self.actor, method)(*arguments)

    def greet(self, method, *arguments): ...

    def close(self): ...


class Here:
    """A crew of such teams."""

    where = "ray"

    def open(self, make, count):
        return Alone(make())


class Counts(gymnasium.Env):
    """Shows the last action and the time; episodes end after three steps, in turn by an end and a time limit."""

    observation_space = gymnasium.spaces.Box(-10, 10, (3,))
    action_space = gymnasium.spaces.MultiDiscrete([2, 3])

    def __init__(self):
        self.episode = 0

    def reset(self, *, seed=None, options=None):
        self.time, self.episode = 0, self.episode + 1
        return np.zeros(3, np.float32), {}

    def step(self, action):
        self.time += 1
        over = self.time == 3
        obs = np.array([*action, self.time], np.float32)
        return obs, float(action[0]), over and self.episode % 2 == 1, over and self.episode % 2 == 0, {}


@pytest.mark.parametrize("memory", [0, 4])
def test_a_fragment_has_what_happened_and_how_likely_its_actions_were(memory):
    actions = actions_of(Counts.action_space, std="constant", squash=False)
    network = Network((3,), actions.outputs, widths=(5,), memory=memory, shared=memory > 0)
    spec = PolicySpec(network, actions)
    rng = np.random.default_rng(0)
    weights = np.stack([networks.initial(network, rng) + np.float32(0.1) for _ in range(2)])
    moments = normalise.Moments(np.full((2, 3), 0.5, np.float32), np.full((2, 3), 2.0, np.float32), np.ones(2))
    players, episodes = Player(weights, moments, np.array([1.0, 0.0])), Episodes(2, 3)
    actors = FarActors(Here(), SyncHostEnv(Counts), 1, 60.0)
    source = FarFragments(actors, spec, episodes, [7, 8], envs=3, unroll=5)
    source.use(players, np.array([4, 6]))
    fragments = []
    while len(fragments) < 12:
        fragments += source.take(np.array([False, True]), 0.0)
    assert [(one.member, one.row, one.first_version, one.mean_version) for one in fragments[:6]] == [
        (member, copy, version, version) for member, version in ((0, 4), (1, 6)) for copy in range(3)
    ]

    @jax.jit
    def log_probs(weights, moments, on, steps):
        """What the program makes of the actions of a fragment."""
        arrays = networks.unpacked(network, weights)
        seen = acting.preprocessing(spec, moments, on)(steps.obs[:-1])
        remembers = seen[:, None], steps.first[:-1, None], steps.memory[None]
        outputs = networks.along(network, arrays, *remembers)[0][:, 0] if memory else acting.outputs(spec, arrays, seen)
        return actions.log_prob_and_entropy(arrays, outputs.T, steps.action_outputs[:, :2].T)[0]

    for first, second in zip(fragments[:6], fragments[6:], strict=True):
        steps = first.steps
        np.testing.assert_array_equal(steps.valid, [1, 1, 1, 0, 1])  # after an end, a step resets
        np.testing.assert_array_equal(steps.ends, [0, 0, 1, 0, 0])
        np.testing.assert_array_equal(steps.terminated, steps.ends)
        np.testing.assert_array_equal(steps.first, [1, 0, 0, 0, 1, 0])
        np.testing.assert_array_equal(steps.obs[1:4, :2], steps.action_outputs[:3, :2])
        np.testing.assert_array_equal(steps.reward, steps.action_outputs[:, 0] * steps.valid)
        np.testing.assert_array_equal(second.steps.obs[0], steps.obs[-1])
        np.testing.assert_array_equal(second.steps.ends * (1 - second.steps.terminated), [0, 1, 0, 0, 0])
        mine = [
            weights[first.member],
            moments._make(part[first.member] for part in moments),
            players.normalize_obs[first.member],
        ]
        np.testing.assert_allclose(steps.action_outputs[:, 2], log_probs(*mine, steps), atol=1e-5)
    assert episodes.ended[1] == []  # its turn is over
    assert [length for _, _, length in episodes.ended[0]] == [3.0] * 6
    returned = [one.steps.reward[:3].sum() for one in fragments[:3]]
    assert sorted(float(value) for _, value, _ in episodes.ended[0][:3]) == sorted(map(float, returned))


def test_weights_of_another_turn_are_ignored():
    actor = FarActor(SyncHostEnv(Counts), 60.0)
    spec, vector = described(Counts.action_space)
    actors = FarActors(Here(), SyncHostEnv(Counts), 1, 60.0)
    actors._team = Alone(actor)
    players = Player(vector[None], normalise.fresh((3,))._replace(mean=np.zeros((1, 3)), variance=np.ones((1, 3))), np.zeros(1))
    one, other = (FarFragments(actors, spec, Episodes(1, 1), [0], envs=1, unroll=2) for _ in range(2))
    one.use(players, np.array([3]))
    actor.use(other._weights(players, np.array([9])))
    assert actor._acting.versions.tolist() == [3]
    actor.use(one._weights(players, np.array([4])))
    assert actor._acting.versions.tolist() == [4]


@pytest.fixture(scope="module")
def made():
    before, one = children(), far()
    yield one
    one.runner.actors.close()
    assert children() == before


def test_members_learn_from_actors_elsewhere_and_say_how_far_those_lag(made):
    before = children()
    assert not made.repeatable
    assert made._spec(made._full({})).estimate == "vtrace"
    _, reports = train(made, TWO, turns=2, steps=96)
    pids = children()
    assert len(set(pids) - set(before)) == 2
    for report in reports:
        assert report.metrics["episodes"] > 0
        assert 0 <= report.metrics["lag"] <= report.metrics["lag_max"] <= 2
        assert report.metrics["restarts"] == 0
        assert report.steps == 96
    train(made, TWO[:1], steps=32)
    assert children() == pids  # they stay from turn to turn


def test_an_actor_that_is_killed_is_replaced(made, monkeypatch):
    put, killed = FreeTurn._put, []

    def watched(turn, fragment):
        if not killed:
            killed.append(max(children()))  # the youngest: whoever else there is, it is one of these actors
            os.kill(killed[0], signal.SIGKILL)
        if made.runner.actors.restarts:
            put(turn, fragment)  # before that there is nothing to learn from, so the turn goes on

    before = made.runner.actors.restarts
    monkeypatch.setattr(FreeTurn, "_put", watched)
    _, reports = train(made, TWO, steps=96)
    assert made.runner.actors.restarts == before + 1
    assert all(report.metrics["restarts"] == 1 and report.steps == 96 for report in reports)
    assert killed[0] not in children()


def test_no_step_is_learnt_from_twice_though_an_actor_is_killed(monkeypatch):
    made, seen, killed, put = far("tests.envs.uneven:Stamped"), learnt_from(monkeypatch), [], FreeTurn._put
    before = set(children())

    def watched(turn, fragment):
        if len(seen) > 200 and not killed:
            killed.extend(set(children()) - before)
            os.kill(killed[0], signal.SIGKILL)
        if not killed or made.runner.actors.restarts:
            put(turn, fragment)

    monkeypatch.setattr(FreeTurn, "_put", watched)
    train(made, TWO, steps=640)
    assert made.runner.actors.restarts == 1
    made.runner.actors.close()
    assert len(seen) > 800
    assert len(set(seen)) == len(seen)


def test_a_slow_learner_drops_what_it_has_no_time_for(made, monkeypatch):
    update, put, sizes = Cohort.update_some, FreeTurn._put, []

    def slowly(cohort, trajectory, numbers):
        enough, deadline = len(sizes) + 10 * SMALL["envs"], time.monotonic() + 60
        while len(sizes) < enough and time.monotonic() < deadline:
            time.sleep(0.01)
        update(cohort, trajectory, numbers)

    def watched(turn, fragment):
        put(turn, fragment)
        sizes.append(max(len(queue) for queue in turn.queues))

    monkeypatch.setattr(Cohort, "update_some", slowly)
    monkeypatch.setattr(FreeTurn, "_put", watched)
    _, reports = train(made, TWO, steps=32 * 6)
    for report in reports:
        assert report.metrics["dropped"] > 0
        assert report.metrics["lag_max"] <= 2
    assert max(sizes) <= 2 * SMALL["envs"]


@pytest.mark.slow("what actors elsewhere send is good to learn from: a cue is answered")
def test_members_learn_what_to_do():
    made = far("tests.envs.host_probes:ActionByObs", envs=16, unroll=16, lr=3e-3, widths=(16,), epochs=4, max_lag=8)
    worker, _ = train(made, steps=16 * 16 * 40)
    made.runner.actors.close()
    assert played(made, worker, Ref(0, 0)) > 0.9


@pytest.mark.slow("an environment that ends its process, or hangs, fails its member when it has done so three times")
@pytest.mark.parametrize(
    ("env", "delay", "said"),
    [
        ("Deadly", 0.0, r"an actor failed \(actors.where=ray\): worker 0 died \(exit code 3\)"),  # before its first answer
        ("Deadly", 0.05, "an actor died 3 times in a row before it had made a rollout: the environment may end its process"),
        ("Stuck", 0.05, "an actor died 3 times in a row before it had made a rollout"),
    ],
)
def test_an_environment_that_kills_its_actors_fails_its_member(env, delay, said):
    before = children()
    made = far(f"tests.learners.ppo.crews:{env}", count=1, limit=1.0, options={"delay": delay})
    (report,) = Worker(made, MemoryStates()).train([Order(0, 0, {}, steps=320)])
    assert re.match(said, report.error)
    assert "Traceback" not in report.error
    made.runner.actors.close()
    assert children() == before


@pytest.mark.slow("an environment that raises elsewhere is its member's failure, with its traceback")
def test_an_environment_that_raises_fails_its_member():
    made = far("tests.envs.uneven:Raises", count=1, envs=16)
    (report,) = Worker(made, MemoryStates()).train([Order(0, 0, {}, steps=3200)])
    assert "the simulator exploded" in report.error
    made.runner.actors.close()


def test_another_process_has_actors_of_its_own(made):
    sent = cloudpickle.loads(cloudpickle.dumps(made.runner.actors))
    assert sent.count == 2
    assert sent._team is None


def vectors(num_envs):
    return gymnasium.make_vec("CartPole-v1", num_envs, "vector_entry_point")


@pytest.mark.parametrize(
    ("env", "settings", "said"),
    [
        (UNEVEN, {"pace": "auto"}, "actors.where=ray: these actors wait for no update, so set ppo.pace=free, not auto"),
        (UNEVEN, {"pace": "rollout"}, "so set ppo.pace=free, not rollout"),
        (UNEVEN, {"ahead": 1}, "nobody waits"),
        ("cartpole", {}, "actors.where=ray: this environment is part of the compiled program"),
    ],
)
def test_what_actors_elsewhere_cannot_do_is_refused(env, settings, said):
    with pytest.raises(ValueError, match=said):
        far(env, **settings)


def test_an_environment_that_cannot_be_sent_is_refused():
    class Locked(SyncHostEnv):
        lock = None

    env = Locked(Counts)
    env.lock = threading.Lock()
    with pytest.raises(ValueError, match=r"actors.where=ray: this environment cannot be sent elsewhere: "):
        FarActors(ProcessCrew(), env, 2, 60.0)


def test_copies_that_are_stepped_in_one_call_suit_actors_elsewhere():
    assert far("tests.learners.ppo.test_far_actors:vectors").pace.pace == "free"
