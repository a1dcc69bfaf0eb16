"""Members of SAC, TD3 and DQN that imitate a teacher of another architecture while they learn by themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from tests.learners.offpolicy.replaying import SMALL, learner

import evolute
from evolute.core.order import Order, Ref
from evolute.core.protocols import TurnError, silently
from evolute.core.tree import digest
from evolute.core.worker import Worker
from evolute.learners.kit import adam
from evolute.learners.offpolicy import teacher as teaching
from evolute.testing.memory import MemoryStates

TEACHER = Ref(0, 0)
ENVS = {"sac": "gymnax:Pendulum-v1", "td3": "gymnax:Pendulum-v1", "dqn": "cartpole"}
QUICK = {**SMALL, "lr": 1e-2, "ratio": 1.0, "warmup": 16, "n_step": 1}


def order(member, turn=0, hparams=None, **given):
    return Order(member, turn, hparams or {"widths": (8,)}, steps=512, seed=10 + member, **given)


def taught(member, **given):
    return order(member, teacher=TEACHER, teacher_weight=(1.0, 1.0), **given)


def trained(school, orders, states=None):
    made, worker = school
    return made.train(states or made.init(orders), orders, fetch=worker._fetch, progress=silently)


def opened(algorithm, **settings):
    """A learner, and a worker that holds a teacher with two layers, who has opinions, and has seen and kept something."""
    made = learner(algorithm, ENVS[algorithm], **{**QUICK, "teacher_policy": 100.0, **settings})
    begun = order(0, hparams={"widths": (12, 6)})
    (state,), _ = made.train(made.init([begun]), [begun], fetch=None, progress=silently)
    weights = state.train.actor.weights
    opinions = (weights + np.random.default_rng(3).normal(0, 0.3, weights.shape)).astype(np.float32)
    worker = Worker(made, MemoryStates())
    worker.adopt(TEACHER, made.dump(replace(state, train=state.train._replace(actor=adam.init(opinions)))))
    return made, worker


SLOW = pytest.mark.slow("TD3's students, too, act as their teachers do and begin with what these have seen")


@pytest.fixture(scope="module", params=["sac", pytest.param("td3", marks=SLOW), "dqn"])
def school(request):
    return opened(request.param)


def apart(school, state):
    """The mean distance to the teacher, where the teacher has been."""
    made, worker = school
    teacher = worker._fetch(TEACHER)
    theirs, ours = (made.policy(made.dump(one)).outputs(teacher.buffer.tail.obs) for one in (teacher, state))
    spec = made._spec(made._full({"widths": (8,)}))
    return float(np.mean(teaching.distance(spec, theirs, ours)))


def test_a_student_comes_to_act_as_its_teacher_does_beside_one_without_and_alone(school):
    made, _ = school
    orders = [taught(1), order(2)]
    (student, other), outcomes = trained(school, orders)
    fresh = made.init([orders[0]])[0]
    assert apart(school, student) < 0.3 * apart(school, fresh)
    assert apart(school, student) < 0.3 * apart(school, other)
    assert outcomes[0].metrics["teacher_distance"] > 0
    assert "teacher_distance" not in outcomes[1].metrics
    (alone,), _ = trained(school, orders[:1])
    assert digest(made.dump(alone)) == digest(made.dump(student))


def test_a_fresh_student_begins_with_what_its_teacher_has_seen_and_need_not_act_at_random(school):
    teacher = school[1]._fetch(TEACHER)
    (student,), (outcome,) = trained(school, [taught(1)])
    assert len(student.buffer) > len(teacher.buffer) > 512
    assert student.train.steps == teacher.train.steps + 512
    assert outcome.metrics["updates"] == 512
    (later,), _ = trained(school, [taught(1, turn=1, start=Ref(1, 0))], [student])
    assert later.train.steps == teacher.train.steps + 1024


def test_a_student_that_inherits_no_buffer_has_its_own_rows_alone():
    school = opened("dqn", inherit_buffer="reset")
    (student,), (outcome,) = trained(school, [taught(1)])
    (untaught,), _ = trained(school, [order(2)])
    assert abs(len(student.buffer) - len(untaught.buffer)) < 100
    assert outcome.metrics["updates"] == 512 - 16  # it waits for rows


def test_the_distance_is_a_divergence_of_policies_or_preferences_or_one_of_actions():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 5, 2)).astype(np.float32)
    specs = {name: (made := learner(name, env, **QUICK))._spec(made._full({})) for name, env in ENVS.items()}
    (mean, log), (mean_, log_) = one.T, other.T
    divergence = log_ - log + (np.exp(2 * log) + (mean - mean_) ** 2) / (2 * np.exp(2 * log_)) - 0.5
    np.testing.assert_allclose(teaching.distance(specs["sac"], one, other), divergence, rtol=1e-4, atol=1e-5)
    squares = ((np.tanh(one) - np.tanh(other)) ** 2).sum(axis=1) / 2
    np.testing.assert_allclose(teaching.distance(specs["td3"], one, other), squares, rtol=1e-4)
    gap = np.mean(np.abs(one[:, 0] - one[:, 1]))
    logs, logs_ = (np.log(softmax(values / gap, axis=1)) for values in (one, other))
    preferences = gap * (np.exp(logs) * (logs - logs_)).sum(axis=1)
    np.testing.assert_allclose(teaching.distance(specs["dqn"], one, other), preferences, rtol=1e-4, atol=1e-5)


def test_a_teacher_with_other_observations_is_refused():
    made, _ = opened("dqn")
    other = learner("dqn", "tests.envs.probes:action_by_obs", **QUICK)
    (state,) = other.init([order(0)])
    with pytest.raises(TurnError, match=r"^the teacher observes 1 numbers and the student 4: both must be trained"):
        made.train(made.init([taught(1)]), [taught(1)], fetch=lambda ref: state, progress=silently)


@pytest.mark.slow("DQN in generations: architectures are searched and students taught by the best, as with PPO")
def test_generations_search_architectures_of_networks_with_replay_buffers(tmp_path):
    run = evolute.run(
        "dqn", env="cartpole", population=2, interval=512, stop={"turns": 24}, strategy="bg_pbt", seed=1,
        bg_pbt={"generations": 1, "patience": 2, "candidates": 2, "taught": 3},
        dqn={**QUICK, "lr": "log[1e-4,1e-2]", "widths": "choice[[8],[12]]", "devices": 2},
        folder=tmp_path / "run", display="none",
    )  # fmt: skip
    turns = [turn for member in run.population.members for turn in member.history()]
    students = [turn for turn in turns if turn.order.teacher is not None]
    assert students
    assert all(turn.report.error is None for turn in students)
    assert all("teacher_distance" in turn.report.metrics for turn in students)
