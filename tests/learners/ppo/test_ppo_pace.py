"""Paces: rows that wait for each step, for the update, or for nobody, in threads and in actors."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from tests.learners.ppo.training import learner, learnt_from, train

from evolute.core.order import Order
from evolute.core.worker import Worker
from evolute.envs.spec import ActorSpec, EnvSpec
from evolute.learners.kit.episodes import env_seeds
from evolute.learners.ppo.free_turn import FreeTurn
from evolute.learners.ppo.paced_runner import Cohort, PacedRunner
from evolute.testing.memory import MemoryStates

SMALL = {"envs": 4, "unroll": 8, "minibatches": 1, "widths": (8,), "epochs": 1, "normalize_obs": True}
UNEVEN = "tests.envs.uneven:Uneven"
STAMPED = "tests.envs.uneven:Stamped"
TWO = [{}, {"lr": 1e-2}]


def uneven(*, actors=0, delay=0.0, env=UNEVEN, limit=60.0, **settings):
    name = env.rpartition(":")[2]
    spec = EnvSpec(env, {name: {"delay": delay}}, actors=ActorSpec(actors, limit))
    return learner(spec, **{**SMALL, **settings})


def outcome(made):
    """Digests and metrics of two members after two turns."""
    reports = train(made, TWO, turns=2, steps=96)[1]
    if isinstance(made.runner, PacedRunner) and made.runner.actors is not None:
        made.runner.actors.close()
    return [report.digest for report in reports], [dict(report.metrics) for report in reports]


@pytest.fixture(scope="module")
def together():
    return outcome(uneven(pace="step"))


@pytest.mark.parametrize(
    ("actors", "pace"),
    [(0, "rollout"), (3, "auto"), pytest.param(1, "rollout", marks=pytest.mark.slow("one actor for all rows"))],
)
def test_rows_at_their_own_pace_give_the_bits_of_rows_that_wait_for_each_step(together, actors, pace):
    made = uneven(actors=actors, delay=0.004, pace=pace)
    assert made.repeatable
    assert made.pace.pace == "rollout"
    assert outcome(made) == together


@pytest.mark.slow(
    "all rows together, but in actors; networks with memory, images, Gaussian actions, wrapped frames, turns of unequal lengths"
)
def test_other_environments_give_the_bits_of_rows_that_wait_for_each_step(together):
    assert outcome(uneven(actors=2, pace="step")) == together
    assert outcome(uneven(pace="rollout", memory=4, delay=0.004)) == outcome(uneven(memory=4))
    others = [("gym:Pendulum-v1", {"frame_stack": 3}), ("gym:Pendulum-v1", {"reward_scale": 0.1}), ("minatar:Breakout", {})]
    for env, settings in others:
        one, other = (learner(EnvSpec(env, actors=ActorSpec(actors), **settings), **SMALL) for actors in (0, 2))
        assert outcome(one) == outcome(other)
    orders = [Order(0, 0, {}, steps=32, seed=5), Order(1, 0, {}, steps=320, seed=6)]
    reports = [Worker(made, MemoryStates()).train(orders) for made in (uneven(), uneven(pace="rollout"))]
    assert [report.digest for report in reports[0]] == [report.digest for report in reports[1]]
    assert [report.metrics for report in reports[0]] == [report.metrics for report in reports[1]]


@pytest.mark.slow(
    "while one rollout is learnt from the next is sampled, and the result repeats itself, with actors and without"
)
def test_sampling_ahead_always_lags_by_one_update(together):
    made = uneven(ahead=1, delay=0.004)
    assert made.repeatable
    assert made._spec(made._full({})).lagged
    first, again = outcome(made), outcome(uneven(ahead=1, actors=2))
    assert first == again
    assert first[0] != together[0]
    assert first[1][0]["lag"] == pytest.approx(1 - 1 / 3)  # the first of three rollouts is the policy's own


@pytest.fixture(scope="module")
def free():
    return uneven(pace="free", max_lag=2)


def test_a_free_pace_says_that_it_cannot_be_repeated_and_how_far_it_lags(free):
    made = free
    assert not made.repeatable
    assert made._spec(made._full({})).estimate == "vtrace"
    _, reports = train(made, TWO, turns=2, steps=96)
    for report in reports:
        assert report.metrics["episodes"] > 0
        assert 0 <= report.metrics["lag"] <= report.metrics["lag_max"] <= 2
        assert report.steps == 96


def test_a_slow_learner_drops_what_it_has_no_time_for(free, monkeypatch):
    update, put, sizes = Cohort.update_some, FreeTurn._put, []

    def slowly(cohort, trajectory, numbers):
        enough, deadline = len(sizes) + 10 * SMALL["envs"], time.monotonic() + 60
        while len(sizes) < enough and time.monotonic() < deadline:
            time.sleep(0.01)
        update(cohort, trajectory, numbers)

    def watched(turn, fragment):
        put(turn, fragment)
        sizes.append(max(len(queue) for queue in turn.queues))

    train(free, TWO, steps=32)  # compiles
    monkeypatch.setattr(Cohort, "update_some", slowly)
    monkeypatch.setattr(FreeTurn, "_put", watched)
    _, reports = train(free, TWO, steps=32 * 6)
    for report in reports:
        assert report.metrics["dropped"] > 0
        assert report.metrics["lag_max"] <= 2
    assert max(sizes) <= 2 * SMALL["envs"]


@pytest.mark.slow("an environment that raises is its member's failure, in the middle of rollouts of others")
@pytest.mark.parametrize("pace", ["rollout", "free"])
def test_an_environment_that_raises_fails_its_member_alone(pace):
    bad = [any(seed % 4 == 0 for seed in env_seeds([number], SMALL["envs"])[0]) for number in range(20)]
    orders = [Order(0, 0, {}, steps=320, seed=bad.index(True)), Order(1, 0, {}, steps=320, seed=bad.index(False))]
    broken, whole = Worker(uneven(env="tests.envs.uneven:Raises", pace=pace), MemoryStates()).train(orders)
    assert "the simulator exploded" in broken.error
    assert not whole.failed


@pytest.mark.slow("an actor killed again and again while members train: the bits stay, or episodes are cut off")
@pytest.mark.parametrize("pace", ["rollout", "free"])
def test_killed_actors_are_replaced_while_members_train(pace):
    settings = {"delay": 0.004, "pace": pace}
    wanted = train(uneven(**settings), TWO, steps=2_000)[1]
    made = uneven(actors=3, **settings)
    crew, over, killed = made.runner.actors, threading.Event(), []

    def murder():
        rng = np.random.default_rng(0)
        while not over.wait(1.0) and len(killed) < 5:
            alive = [process for process in list(crew._processes) if process.begun]
            if alive:
                killed.append(alive[rng.integers(len(alive))].handle.pid)
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=murder)
    thread.start()
    try:
        _, reports = train(made, TWO, steps=2_000)
    finally:
        over.set()
        thread.join()
        crew.close()
    assert killed
    assert crew.restarts >= 1
    if pace == "rollout":
        assert [report.digest for report in reports] == [report.digest for report in wanted]
    assert all(report.steps == wanted[0].steps for report in reports)
    for report in reports:
        assert report.incidents[0].startswith("an actor died (signal 9) and was replaced")
        assert {**report.metrics, **report.timing}["restarts"] == crew.restarts
        assert {**report.metrics, **report.timing}["samples_per_second"] > 0
        assert bool(report.timing) == (pace == "rollout")  # what does not repeat itself is no metric of a turn that does


def test_no_step_is_learnt_from_twice_though_actors_are_killed(monkeypatch):
    made, seen, killed, put = uneven(actors=2, env=STAMPED, pace="free", max_lag=2), learnt_from(monkeypatch), [], FreeTurn._put
    crew = made.runner.actors

    def watched(turn, fragment):
        if len(seen) > 200 * len(killed) and len(killed) < 3:
            process = list(crew._processes)[len(killed) % 2]
            if process.begun:
                killed.append(process.handle.pid)
                os.kill(killed[-1], signal.SIGKILL)
        if crew.restarts >= len(killed):
            put(turn, fragment)  # before that there is nothing to learn from, so the turn goes on

    monkeypatch.setattr(FreeTurn, "_put", watched)
    train(made, TWO, steps=640)
    crew.close()
    assert crew.restarts == len(killed) >= 1
    assert len(seen) > 800
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(
    ("env", "settings", "said"),
    [
        ("cartpole", {"pace": "rollout"}, "part of the compiled program"),
        ("cartpole", {"ahead": 1}, "part of the compiled program"),
        ("tests.learners.ppo.test_ppo_pace:vectors", {"pace": "free"}, "stepped together in one call"),
        (UNEVEN, {"pace": "free", "ahead": 1}, "nobody waits"),
    ],
)
def test_a_pace_that_an_environment_does_not_have_is_refused(env, settings, said):
    with pytest.raises(ValueError, match=said):
        learner(env, **settings)


def test_actors_without_anything_to_do_are_told_of():
    made = learner(EnvSpec("cartpole", actors=ActorSpec(2)))
    assert any("actors.count=2 does nothing with cartpole" in text for text in made.advice(10_000, [{}]))


def vectors(num_envs):
    import gymnasium

    return gymnasium.make_vec("CartPole-v1", num_envs, "vector_entry_point")


@pytest.mark.slow("the learner sleeps while environments do")
def test_waiting_takes_no_computing_time():
    """While all rows are on the move, the learner sleeps.

    They move for so long that its own work, of which a busy machine makes no more, is a small part of a tenth.
    """
    made = uneven(pace="rollout", actors=1, delay=0.4)
    train(made, steps=32)  # compiles, and starts the actor
    begun, cpu = time.perf_counter(), time.process_time()
    train(made, steps=32)
    took = time.perf_counter() - begun
    assert took > 2
    assert time.process_time() - cpu < 0.1 * took
    made.runner.actors.close()
