"""Members that imitate a teacher while they learn: which may have another network, and may be on the host."""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from training import learner

from evolute.config.error import ConfigError
from evolute.config.layers import python, stack
from evolute.config.resolve import resolved
from evolute.core.order import Order, Ref
from evolute.core.protocols import TurnError, silently
from evolute.core.tree import digest
from evolute.core.worker import Worker
from evolute.envs.spec import EnvSpec, GameSpec
from evolute.learners.kit import adam
from evolute.learners.kit import teaching as weighing
from evolute.learners.kit.actions import Categories, Gaussian, LegalCategories, masked
from evolute.learners.kit.normalise import Moments
from evolute.learners.kit.teaching import TeacherInputs
from evolute.learners.ppo import teacher as teaching
from evolute.learners.ppo.settings import PPOSettings, flat
from evolute.learners.ppo.spec import TeacherSpec, _widths
from evolute.runs.assemble import assembled
from evolute.testing.memory import MemoryStates

QUICK = {"envs": 8, "unroll": 32, "minibatches": 2, "widths": (16,), "lr": 3e-2}
ENV, HOST = "tests.envs.probes:action_by_obs", "tests.envs.host_probes:ActionByObs"
TEACHER, LR = Ref(0, 0), 2e-2
ARCHITECTURES = ({"widths": (8,)}, {"widths": (6, 6), "activation": "relu"})


def taught(member, hparams, weight=(1.0, 1.0), turn=0, steps=1024, **given):
    return Order(member, turn, hparams, steps=steps, seed=10 + member, teacher=TEACHER, teacher_weight=weight, **given)


def trained(made, worker, orders, states=None):
    return made.train(states or made.init(orders), orders, fetch=worker._fetch, progress=silently)


def chances(made, state):
    """The probability of action 1 when +1 and -1 are shown."""
    outputs = made.policy(made.dump(state)).outputs(np.array([[1.0], [-1.0]]))
    return 1 / (1 + np.exp(outputs[:, 0] - outputs[:, 1]))


def divergence(one, other):
    return float(np.mean(one * np.log(one / other) + (1 - one) * np.log((1 - one) / (1 - other))))


def school_in(env, **settings):
    """A learner, and a worker that holds a teacher with two layers, who has opinions and has seen something."""
    made = learner(env, **{**QUICK, **settings}, normalize_obs=True, teacher_lr=LR, teacher_policy=20.0)
    (state,) = made.init([Order(0, 0, {"widths": (16, 16)}, seed=1)])
    weights = state.train.adam.weights
    opinions = -(weights + np.random.default_rng(3).normal(size=weights.shape)).astype(np.float32)
    seen = Moments(*(np.float32([number]) for number in (0.1, 2.0)), np.float32(100))
    worker = Worker(made, MemoryStates())
    worker.adopt(TEACHER, made.dump(replace(state, train=state.train._replace(adam=adam.init(opinions), obs=seen))))
    return made, worker


@pytest.fixture(scope="module")
def school():
    return school_in(ENV)


@pytest.fixture(scope="module")
def students(school):
    """Two of each architecture, one with a teacher and one without, after one turn in one call."""
    made, worker = school
    untaught = [Order(place + 1, 0, hparams, steps=1024, seed=50 + place) for place, hparams in enumerate(ARCHITECTURES)]
    groups = [[taught(place + 3, hparams, steps=2048), untaught[place]] for place, hparams in enumerate(ARCHITECTURES)]
    before = len(made.runner.programs)
    results = [trained(made, worker, orders) for orders in groups]
    return groups, results, len(made.runner.programs) - before


def test_students_of_any_architecture_come_to_act_as_the_teacher_does(school, students):
    made, worker = school
    groups, results, _ = students
    target = chances(made, worker._fetch(TEACHER))
    for orders, (states, outcomes) in zip(groups, results, strict=True):
        fresh = made.init(orders[:1])[0]
        assert divergence(target, chances(made, states[1])) > divergence(target, chances(made, fresh))  # by rewards alone
        assert divergence(target, chances(made, states[0])) < 0.1 * divergence(target, chances(made, fresh))
        assert 0 < outcomes[0].metrics["teacher_kl"] < 0.2
        assert "teacher_kl" not in outcomes[1].metrics


def test_an_architecture_has_two_programs_at_most(school, students):
    made, worker = school
    assert students[2] == 2 * len(ARCHITECTURES)
    before = len(made.runner.programs)
    for place, hparams in enumerate(ARCHITECTURES):
        trained(made, worker, [taught(place, hparams, (0.5, 0.25)), taught(9, {**hparams, "lr": 1e-4})])
    assert len(made.runner.programs) == before


@pytest.mark.parametrize("size", [1, 8, 3, 17])
def test_cohorts_of_other_sizes_need_no_other_programs(school, students, size):
    """Neither those with a teacher nor those without."""
    made, worker = school
    for hparams in ARCHITECTURES:
        orders = [order for m in range(size) for order in (taught(m, hparams, steps=256), Order(m, 0, hparams, steps=256))]
        _, outcomes = trained(made, worker, orders)
        assert all(outcome.error is None for outcome in outcomes)
    assert len(made.runner.programs) == 2 * len(ARCHITECTURES)


def test_a_turn_is_the_same_beside_members_with_another_teacher_or_none(school, students):
    made, worker = school
    for orders, (together, _) in zip(*students[:2], strict=True):
        for order, state in zip(orders, together, strict=True):
            (alone,), _ = trained(made, worker, [order])
            assert digest(made.dump(alone)) == digest(made.dump(state))


def test_a_teacher_that_does_not_count_changes_nothing(school):
    made, worker = school
    order = Order(3, 1, {"widths": (8,), "epochs": 10, "lr": LR}, start=Ref(3, 0), steps=512, seed=5)
    nothing = replace(order, teacher=TEACHER, teacher_weight=(0.0, 0.0))
    start = made.init([order])
    (plain,), _ = trained(made, worker, [order], start)
    (other,), _ = trained(made, worker, [nothing], start)
    kept = [one.train.adam.weights for one in (plain, other)]
    assert np.abs(kept[0] - start[0].train.adam.weights).max() > 1e-2
    np.testing.assert_allclose(*kept, atol=1e-5)


def test_a_fresh_student_begins_with_the_moments_of_its_teacher(school):
    made, worker = school
    teacher = worker._fetch(TEACHER).train
    order = taught(1, {"widths": (8,)}, steps=256)
    (student,), _ = trained(made, worker, [order])
    assert student.train.obs.count == pytest.approx(float(teacher.obs.count) + 256)
    later = taught(1, {"widths": (8,)}, turn=1, start=Ref(1, 0), steps=256)
    (student,), _ = trained(made, worker, [later], [student])
    assert student.train.obs.count == pytest.approx(float(teacher.obs.count) + 512)


def test_a_teacher_counts_linearly_less_along_the_turn():
    inputs = TeacherInputs(None, np.array([1.0, 0.5], np.float32))
    assert [float(weighing.weight(inputs, number, 5)) for number in range(5)] == [1.0, 0.875, 0.75, 0.625, 0.5]
    assert float(weighing.weight(inputs, 0, 1)) == 1.0


def test_students_on_the_host_are_taught_as_well():
    made, worker = school_in(HOST, envs=4)
    order = taught(1, {"widths": (8,)}, steps=512)
    (student,), (outcome,) = trained(made, worker, [order])
    target = chances(made, worker._fetch(TEACHER))
    assert divergence(target, chances(made, student)) < 0.1 * divergence(target, chances(made, made.init([order])[0]))
    assert outcome.metrics["teacher_kl"] > 0


# Distances


def test_the_teacher_may_have_another_kind_of_deviation():
    """One value for all states, and one for each: KL between two normal distributions, written out."""
    constant, by_state = Gaussian((-1.0,), (1.0,), (1,)), Gaussian((-1.0,), (1.0,), (1,), std="state")
    none = jnp.zeros((1, 1))
    one = constant.parameters({"log_std": jnp.array([np.log(2.0)])}, jnp.array([[1.0]]), none)
    other = by_state.parameters({}, jnp.array([[4.0], [np.log(3.0)]]), none)
    expected = np.log(3 / 2) + (2.0**2 + 3.0**2) / (2 * 3.0**2) - 0.5
    np.testing.assert_allclose(by_state.divergence(one, other), expected, rtol=1e-5)


def test_illegal_actions_of_the_student_do_not_count():
    actions = LegalCategories(Categories((3,), (0,), single=True))
    action = jnp.array([[0.0], [1.0], [1.0], [0.0]])  # the choice, then what was legal
    one, other = jnp.array([[0.0], [1.0], [5.0]]), jnp.array([[1.0], [0.0], [-5.0]])
    found = actions.divergence(*(actions.parameters({}, outputs, action) for outputs in (one, other)))
    expected = Categories((2,), (0,), single=True).divergence(one[:2], other[:2])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert masked(one, action[1:])[2, 0] < -1e8


@pytest.mark.parametrize("value", [jnp.array([1.0, 2.0]), jnp.array([[1.0, 2.0], [0.0, 1.0]])])
def test_values_count_if_they_are_asked_to(value):
    actions = Categories((2,), (0,), single=True)
    logits, columns = jnp.zeros((2, 2)), jnp.full((max(1, value.ndim and value.size // 2), 2), 3.0)
    spec = TeacherSpec(None, 5.0, 0.5)
    kl, distance = teaching.distances(spec, actions, jnp.concatenate([logits, columns]), logits, value)
    np.testing.assert_allclose(kl, 0.0, atol=1e-7)
    np.testing.assert_allclose(distance, 0.5 * np.sum((np.asarray(value).reshape(-1, 2) - 3.0) ** 2, axis=0))


# What is refused


def refused(made, states, hparams=()):
    orders = [taught(1, dict(hparams))]
    with pytest.raises(TurnError) as caught:
        made.train(made.init(orders), orders, fetch=states.__getitem__, progress=silently)
    return str(caught.value)


def test_a_teacher_with_other_observations_or_actions_is_refused(school):
    _, worker = school
    states = {TEACHER: worker._fetch(TEACHER)}
    text = refused(learner("cartpole", **QUICK), states)
    assert text == (
        "the teacher observes 1 numbers and the student 4: both must be trained in environments with the same observations"
    )
    text = refused(learner("tests.envs.probes:continuous", **QUICK), states)
    assert text.startswith("the teacher's actions are {'kind': 'categories'")


def test_networks_with_memory_are_neither_taught_nor_teach(school):
    _, worker = school
    text = refused(learner(ENV, **QUICK), {TEACHER: worker._fetch(TEACHER)}, {"memory": 4})
    assert text == "networks with memory cannot be taught: set ppo.memory=0"
    (state,) = learner(ENV, **QUICK, memory=4).init([Order(0, 0, {})])
    assert (
        refused(learner(ENV, **QUICK), {TEACHER: state}) == "the teacher's network has memory (ppo.memory=4), and cannot teach"
    )
    assert learner(ENV, **QUICK).links == ("teacher",)
    assert learner(ENV, **QUICK, memory=4).links == ()
    how = EnvSpec("matrix:rps", game=GameSpec(tables=2, matches=4))
    assert learner(how, **QUICK).links == ("opponents", "teacher")


# Architectures


def test_width_and_depth_replace_the_list_of_widths():
    settings = flat(PPOSettings())
    assert _widths(settings, "ppo") == (64, 64)
    assert _widths({**settings, "width": 32}, "ppo") == (32, 32)
    assert _widths({**settings, "depth": 3}, "ppo") == (64, 64, 64)
    assert _widths({**settings, "width": 8, "depth": 1}, "ppo") == (8,)
    with pytest.raises(ValueError, match=r"^ppo\.widths=\[32\] does not go with ppo\.width and ppo\.depth"):
        _widths({**settings, "widths": (32,), "depth": 1}, "ppo")


def test_architectures_can_be_ranges():
    ranges = {"width": "ordinal[32, 64]", "depth": "int[1, 3]", "activation": "choice[tanh, relu]"}
    given = {"learner": "ppo", "env": "cartpole", "ppo": {**ranges, "lr": "log[1e-4, 1e-3]"}}
    parts = assembled(resolved(stack([python(given)])), {})
    assert parts.plan.architecture == {"width", "depth", "activation"}
    assert "teacher" in parts.plan.links
    with pytest.raises(ConfigError, match=r"ppo\.teacher_lr = .*: cannot be evolved"):
        resolved(stack([python({**given, "ppo": {"teacher_lr": "log[1e-4, 1e-3]"}})]))
