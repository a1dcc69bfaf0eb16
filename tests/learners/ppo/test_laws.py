"""What must hold of PPO in a population: independence of the cohort, inheritance, and no needless compiling."""

import subprocess
import sys

import jax
import numpy as np
import pytest
from tests.learners.ppo.training import learner, train

from evolute.core.order import Order, Ref
from evolute.core.tree import digest
from evolute.core.worker import Worker
from evolute.learners.kit import networks
from evolute.testing import check_learner
from evolute.testing.memory import MemoryStates

SMALL = {"envs": 4, "unroll": 16, "minibatches": 2, "widths": (8,)}
EVERYTHING = {
    **SMALL,
    "normalize_obs": True,
    "normalize_reward": True,
    "value_clip": 0.2,
    "fitness": "evaluation",
    "episodes": 4,
}


@pytest.mark.parametrize(
    ("env", "settings"),
    [
        ("cartpole", EVERYTHING),
        ("cartpole", {**SMALL, "memory": 4}),
        ("pong", SMALL),
        ("gym:CartPole-v1", EVERYTHING),
        ("gym:Acrobot-v1", {**SMALL, "memory": 4}),
    ],
)
def test_the_laws_of_a_learner(env, settings):
    check_learner(learner(env, **settings), [{"lr": 1e-3}, {"lr": 1e-2, "epochs": 2}, {"lr": 1e-4}], steps=200)


def digests(size, *, among=0):
    """The digest of member 0 after two turns in a population of this size, in which it has the slot `among`."""
    hparams = [{"lr": 1e-3 * (1 + m)} for m in range(1, size + 1)]
    hparams[among] = {"lr": 3e-4}
    worker = Worker(COMMON, MemoryStates())
    for turn in range(2):
        orders = [
            Order(m, turn, values, start=Ref(m, turn - 1) if turn else None, steps=256, seed=7 if m == among else 1000 + m)
            for m, values in enumerate(hparams)
        ]
        reports = worker.train(orders)
    return reports[among].digest


COMMON = learner("cartpole", **SMALL)


def test_a_member_does_not_depend_on_who_shares_its_cohort():
    assert len({digests(1), digests(4), digests(4, among=3), digests(16), digests(16, among=11), digests(5, among=4)}) == 1


SCRIPT = """
import sys
from evolute.learners.kit import members
from tests.learners.ppo.training import learner, train
made = learner("cartpole", envs=4, unroll=16, minibatches=2, widths=(8,), devices=int(sys.argv[1]))
print(train(made, [{}] * int(sys.argv[2]), steps=256)[1][0].digest)
"""


@pytest.mark.parametrize(("devices", "size", "cores"), [(2, 1, None), (2, 3, "0"), (3, 4, None), (4, 8, None)])
def test_a_member_does_not_depend_on_the_devices_nor_on_the_cores(devices, size, cores):
    pinned = [] if cores is None else ["taskset", "-c", cores]
    command = [*pinned, sys.executable, "-c", SCRIPT, str(devices), str(size)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert found == train(COMMON, steps=256)[1][0].digest


def test_changing_hyper_parameters_compiles_nothing():
    made = learner("cartpole", **SMALL)
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiled.append(event) if "backend_compile" in event else None
    )
    worker, _ = train(made, [{}] * 4, turns=2, steps=128)
    before, programs = len(compiled), len(made.runner.programs)
    assert programs == 1
    assert before > 0
    changed = {
        "lr": 1e-2, "anneal": 10_000, "discount": 0.8, "gae_lambda": 0.7, "clip": 0.3, "value_clip": 0.1, "entropy": 0.1,
        "value_weight": 1.0, "max_grad_norm": 0.1, "adam_eps": 1e-3, "reward_scale": 0.1, "normalize_obs": True,
        "normalize_reward": True, "normalize_advantage": False, "epochs": 7,
    }  # fmt: skip
    marks = set()
    for number, (name, value) in enumerate(changed.items()):
        orders = [Order(m, 2, {name: value}, start=Ref(m, 1), steps=128, seed=5) for m in range(3)]
        reports = worker.train([orders[number % 3]])
        assert not reports[0].failed
        marks.add(digest(worker.dump(reports[0].order.ref)))
    assert len(marks) == len(changed)  # each change acted at once
    assert len(made.runner.programs) == programs
    assert len(compiled) == before


def test_an_heir_copies_weights_moments_normaliser_and_env_states():
    made = learner("cartpole", **{**EVERYTHING, "fitness": "training"})
    worker, _ = train(made, [{}, {}], steps=256)
    parent, other = (made.load(worker.dump(Ref(m, 0))) for m in (0, 1))
    heir = Order(1, 1, {"lr": 0.0, "epochs": 1}, start=Ref(0, 0), steps=64, seed=3)
    (report,) = worker.train([heir])
    child = made.load(worker.dump(report.order.ref))
    np.testing.assert_array_equal(child.train.adam.weights, parent.train.adam.weights)
    assert child.train.adam.count == parent.train.adam.count + 2
    assert child.train.obs.count == parent.train.obs.count + 64
    assert child.envs.episode_length.max() > 16 or child.envs.first.any()  # episodes went on
    assert not np.array_equal(other.train.adam.weights, parent.train.adam.weights)


def test_members_of_different_shapes_train_in_cohorts_and_inherit_from_one_another():
    made = learner("cartpole", **SMALL)
    hparams = [{"envs": 4}, {"envs": 8}, {"envs": 4, "minibatches": 4}]
    worker, reports = train(made, hparams, steps=128)
    assert len(worker.groups([report.order for report in reports])) == 3
    heir = Order(0, 1, {"envs": 8}, start=Ref(0, 0), steps=128, seed=3)
    peer = Order(1, 1, {"envs": 8}, start=Ref(1, 0), steps=128, seed=4)
    assert not any(report.failed for report in worker.train([heir, peer]))
    child = made.load(worker.dump(Ref(0, 1)))
    assert child.envs.obs.shape == (8, 4)


def test_weights_that_are_no_numbers_fail_the_member_alone():
    made = learner("cartpole", **SMALL)
    orders = [Order(m, 0, {"lr": 1e30 if m == 1 else 1e-3}, steps=512, seed=m) for m in range(3)]
    reports = Worker(made, MemoryStates()).train(orders)
    assert [report.failed for report in reports] == [False, True, False]
    assert "finite" in reports[1].error


def test_scores_of_an_evaluation_are_on_the_same_seeds():
    """Members with the same weights get the same score, whatever their own seeds are."""
    made = learner("cartpole", **{**SMALL, "fitness": "evaluation", "episodes": 10})
    worker, _ = train(made, [{}], steps=64)
    heirs = [Order(m, 1, {"lr": 0.0}, start=Ref(0, 0), steps=64, seed=50 + m) for m in range(3)]
    reports = worker.train(heirs)
    assert len({report.metrics["score"] for report in reports}) == 1
    assert len({report.metrics["return"] for report in reports}) > 1


def test_dense_networks_can_look_at_images():
    """The first layer has a row for every pixel, each pixel that was seen is learnt from, and episodes end."""
    made = learner("gymnax:Breakout-MinAtar", **{**SMALL, "network": "mlp", "normalize_obs": True})
    before, (first,) = train(made, [{"lr": 0.0}], steps=512)
    after, (report,) = train(made, [{"lr": 1e-2}], steps=512)
    assert first.metrics["episodes"] > 0
    assert report.metrics["episode_length"] > 1
    states = [made.load(worker.dump(Ref(0, 0))) for worker in (before, after)]
    network = made._spec(made._full({})).network
    assert network.obs == (10 * 10 * 4,)
    frozen, learnt = (networks.unpacked(network, state.train.adam.weights)["actor/dense0/w"] for state in states)
    assert frozen.shape == (400, 8)
    moved = np.any(frozen != learnt, axis=1)
    np.testing.assert_array_equal(moved, states[1].train.obs.mean > 1e-6)
    assert moved.sum() > 50
