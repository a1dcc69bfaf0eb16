"""What must hold of off-policy learners in a population: cohorts, inheritance, settings that act at once, and refusals."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.envs import host_probes  # noqa: F401
from tests.learners.offpolicy.replaying import SMALL, learner, state_of
from tests.learners.ppo.training import train

from evolute.core.order import Order, Ref
from evolute.core.worker import Worker
from evolute.envs.spec import EnvSpec, GameSpec
from evolute.learners.offpolicy import buffer as buffers
from evolute.learners.offpolicy.make import make
from evolute.learners.offpolicy.settings import DQNSettings
from evolute.testing import check_learner
from evolute.testing.memory import MemoryStates

ENVS = {"sac": "gymnax:Pendulum-v1", "td3": "gymnax:Pendulum-v1", "dqn": "cartpole"}
HPARAMS = [{"lr": 1e-3}, {"lr": 1e-2, "ratio": 1.0, "n_step": 4}, {"lr": 1e-4, "discount": 0.9}]


def small(algorithm, **settings):
    return learner(algorithm, ENVS[algorithm], **{**SMALL, **settings})


@pytest.fixture(autouse=True)
def _short_pieces(monkeypatch):
    monkeypatch.setattr(buffers, "PIECE_BYTES", 1 << 10)


def test_the_laws_of_a_learner():
    check_learner(small("dqn"), HPARAMS, steps=96)


@pytest.mark.slow("each algorithm, inside the program and on the host, with each way to inherit a buffer")
@pytest.mark.parametrize(
    ("algorithm", "env", "settings"),
    [
        ("sac", "gymnax:Pendulum-v1", {"inherit_buffer": "copy", "normalize_obs": True}),
        ("td3", "gymnax:Pendulum-v1", {"inherit_buffer": "keep"}),
        ("sac", "gym:Pendulum-v1", {"inherit_buffer": "keep", "fitness": "evaluation"}),
        ("td3", "gym:Pendulum-v1", {"inherit_buffer": "reset", "normalize_obs": True}),
        ("dqn", "gym:CartPole-v1", {"inherit_buffer": "share", "dueling": True}),
        ("td3", "gym:Pendulum-v1", {"ahead": 1}),
        ("dqn", "gymnax:Breakout-MinAtar", {"inherit_buffer": "reset"}),
    ],
)
def test_the_laws_of_other_learners(algorithm, env, settings):
    check_learner(learner(algorithm, env, **{**SMALL, **settings}), HPARAMS, steps=96)


def digest_among(made, size, place):
    """The digest of a member after two turns in a cohort of this size; the others have turns of other lengths."""
    worker = Worker(made, MemoryStates())
    for turn in range(2):
        orders = []
        for member in range(size):
            mine = member == place
            steps, seed = (96, 7) if mine else (64 if member % 2 else 136, 1000 + member)
            start = Ref(member, turn - 1) if turn else None
            orders.append(Order(member, turn, {"lr": 1e-3 if mine else 2e-3}, start=start, steps=steps, seed=seed))
        reports = worker.train(orders)
    return reports[place].digest


def test_a_member_does_not_depend_on_who_shares_its_cohort():
    made = small("dqn")
    assert len({digest_among(made, 1, 0), digest_among(made, 3, 2)}) == 1


@pytest.mark.slow("larger cohorts, of each algorithm, give the same bits")
@pytest.mark.parametrize("algorithm", ["sac", "td3", "dqn"])
def test_a_member_does_not_depend_on_a_larger_cohort(algorithm):
    made = small(algorithm)
    assert len({digest_among(made, 1, 0), digest_among(made, 3, 2), digest_among(made, 8, 5)}) == 1


@pytest.mark.slow("the same on the host")
def test_a_member_on_the_host_does_not_depend_on_who_shares_its_cohort():
    made = learner("dqn", "gym:CartPole-v1", **SMALL)
    assert len({digest_among(made, 1, 0), digest_among(made, 3, 1)}) == 1


SCRIPT = """
import sys
from tests.learners.offpolicy.test_replay_laws import SMALL, digest_among, learner
print(digest_among(learner("td3", "gymnax:Pendulum-v1", **SMALL, devices=int(sys.argv[1])), int(sys.argv[2]), 0))
"""


@pytest.mark.slow("another process with another number of devices gives the same bits")
def test_a_member_does_not_depend_on_the_devices():
    found = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, devices, size],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "JAX_NUM_CPU_DEVICES": devices},
        ).stdout.strip()
        for devices, size in (("1", "1"), ("2", "3"), ("2", "8"))
    }
    assert len(found) == 1


@pytest.mark.parametrize(("algorithm", "settings"), [("dqn", {}), ("dqn", {"dueling": True}), ("td3", {})])
def test_dqn_plays_by_its_target_network_and_others_by_what_they_learnt_last(algorithm, settings):
    made = small(algorithm, **settings)
    one, other = made.init([Order(member, 0, {}, start=None, steps=8, seed=member) for member in range(2)])
    mixed = replace(one, train=one.train._replace(targets=other.train.targets))
    plays_as = other if algorithm == "dqn" else one
    np.testing.assert_array_equal(mixed.player.weights, plays_as.player.weights)
    mine, expected = (made.policy(made.dump(state)) for state in (mixed, plays_as))
    for obs in np.random.default_rng(0).normal(size=(32, *made.observation_space.shape)).astype(np.float32):
        np.testing.assert_array_equal(mine(obs), expected(obs))


def pieces(state):
    return [piece.facts.digest for piece in state.buffer.pieces]


def heir(made, **links):
    """The pieces of two members after two turns, of the first's heir, and what the heir began with."""
    worker, _ = train(made, [{}, {}], turns=2, steps=200)
    order = Order(1, 2, {}, start=Ref(0, 1), steps=8, seed=5, **links)
    (report,) = worker.train([order])
    assert not report.failed, report.error
    first, own, after = (state_of(made, worker, *ref) for ref in ((0, 1), (1, 1), (1, 2)))
    assert int(after.train.steps) == int(first.train.steps) + 8
    return first, own, after, worker


def test_an_heir_has_a_copy_of_its_parents_buffer_and_writes_nothing_old(tmp_path, monkeypatch):
    from evolute.store import points
    from evolute.store.checkpoints import Checkpoints

    first, own, after, worker = heir(small("dqn"))
    assert pieces(after) == pieces(first) != pieces(own)
    assert len(pieces(first)) > 3
    checkpoints, passed = Checkpoints(tmp_path), []
    checkpoints.write(Ref(0, 1), worker.dump(Ref(0, 1)))
    monkeypatch.setattr(points, "hooks", [passed.append])
    checkpoints.write(Ref(1, 2), worker.dump(Ref(1, 2)))
    assert "segment.begin" not in passed
    assert "checkpoint.named" in passed


def test_an_heir_keeps_its_own_buffer():
    first, own, after, _ = heir(small("dqn", inherit_buffer="keep"), own=Ref(1, 1))
    assert pieces(after) == pieces(own) != pieces(first)


def test_an_heir_starts_with_an_empty_buffer_and_waits_until_there_is_something_in_it():
    made = small("dqn", inherit_buffer="reset")
    _, _, after, worker = heir(made)
    assert len(after.buffer) == 2 * 5
    (report,) = worker.train([Order(1, 3, {}, start=Ref(1, 2), steps=80, seed=6)])
    assert report.metrics["updates"] == (80 - (SMALL["warmup"] - 10)) * SMALL["ratio"]


def test_members_learn_from_one_shared_buffer_and_keep_what_they_made_themselves():
    made = small("dqn", inherit_buffer="share", capacity=300)
    worker = Worker(made, MemoryStates())
    worker.train([Order(member, 0, {}, steps=96, seed=member + 1) for member in range(3)])
    others = (Ref(1, 0), Ref(2, 0))
    (alone,) = worker.train([Order(0, 1, {}, start=Ref(0, 0), steps=96, seed=9)])
    alone_state = state_of(made, worker, 0, 1)
    (report,) = worker.train([Order(0, 1, {}, start=Ref(0, 0), others=others, steps=96, seed=9)])
    after = state_of(made, worker, 0, 1)
    assert report.digest != alone.digest
    assert len(alone_state.buffer) > len(after.buffer) == 100
    (report,) = worker.train([Order(1, 1, {}, start=Ref(0, 1), own=Ref(1, 0), others=(Ref(0, 1), Ref(2, 0)), steps=8, seed=9)])
    assert not report.failed, report.error
    heir, own = state_of(made, worker, 1, 1), state_of(made, worker, 1, 0)
    rows, before = (np.concatenate(state.buffer.arrays(1)) for state in (heir, own))
    assert len(rows) == 100
    assert (rows[:90] == before[-90:]).all()


def test_the_newest_rows_of_a_buffer():
    facts = np.arange(100 * 3, dtype=np.float32).reshape(100, 3)
    empty = buffers.Buffer.empty((16,), np.float32, 1)
    for full in (empty.extended(buffers.Rows(np.zeros((100, 16), np.float32), facts), capacity) for capacity in (100, 70)):
        assert full.pieces
        for count in (0, 1, 30, 69, 200):
            newest = full.newest(count)
            assert len(newest) == min(count, len(full))
            assert (np.concatenate(newest.arrays(1)) == facts[100 - len(newest) :]).all()


def test_members_that_learn_while_their_environments_are_stepped_have_the_same_bits_at_any_speed():
    quick = {"explore": 1, "epsilon": 0.0, "lr": 0.1}

    def digests(ahead, delay):
        env = EnvSpec("tests.envs.uneven:Uneven", {"Uneven": {"delay": delay}})
        made = make("dqn", env, DQNSettings(**{**SMALL, "devices": 2, "ahead": ahead, **quick}))
        worker, found = Worker(made, MemoryStates()), []
        for turn in range(2):
            start = Ref(0, turn - 1) if turn else None
            (report,) = worker.train([Order(0, turn, {}, start=start, steps=64, seed=turn + 1)])
            assert report.metrics["updates"] == (16, 32)[turn]
            found.append(report.digest)
        return tuple(found)

    found = {digests(1, delay) for delay in (0.0, 0.002, 0.004)}
    assert len(found) == 1
    assert digests(0, 0.0) not in found


@pytest.mark.parametrize("changed", [{"lr": 1e-2}, {"ratio": 1.0}, {"n_step": 1}, {"tau": 0.1}, {"discount": 0.5}])
def test_a_changed_setting_acts_in_the_next_turn_and_compiles_nothing(changed):
    made = small("dqn")
    worker = Worker(made, MemoryStates())
    (same,) = worker.train([Order(0, 0, {}, steps=96, seed=4)])
    programs = len(made.runner.programs)
    (other,) = worker.train([Order(0, 0, changed, steps=96, seed=4)])
    assert same.digest != other.digest
    assert len(made.runner.programs) == programs
    if "ratio" in changed:
        assert (same.metrics["updates"], other.metrics["updates"]) == (32, 64)


@pytest.mark.slow("an environment on the host that raises fails its member and nobody else")
def test_a_member_whose_environment_raises_fails_alone():
    made = learner("dqn", "gym:probes/Raises-v0", **SMALL)
    worker = Worker(made, MemoryStates())
    broken, whole = worker.train([Order(0, 0, {}, steps=200, seed=1), Order(1, 0, {}, steps=64, seed=2)])
    assert "the 50th step" in broken.error
    assert not whole.failed


def test_a_member_that_diverges_fails():
    (report,) = Worker(small("dqn"), MemoryStates()).train([Order(0, 0, {"lr": 1e30}, steps=200, seed=1)])
    assert "learning rate" in report.error


# Policies.


@pytest.mark.parametrize("algorithm", ["sac", "td3", "dqn"])
def test_an_exported_policy_acts_as_the_learner_does(algorithm, tmp_path):
    made = small(algorithm, **({"dueling": True} if algorithm == "dqn" else {"normalize_obs": True}))
    check_export(made, tmp_path)


def test_an_exported_policy_sees_images(tmp_path):
    check_export(learner("dqn", "minatar:Breakout", **{**SMALL, "widths": (16,)}), tmp_path)


def check_export(made, folder):
    from evolute.learners.kit import acting, networks
    from evolute.policy import load

    (state,) = made.init([Order(0, 0, {}, steps=96, seed=5)])
    if made.settings.normalize_obs:
        seen = state.train.obs._replace(mean=np.full(3, 0.3, np.float32), variance=np.full(3, 2.0, np.float32))
        state = replace(state, train=state.train._replace(obs=seen))
    tree = made.dump(state)
    made.policy(tree).save(folder / "policy.npz")
    policy, state = load(folder / "policy.npz"), made.load(tree)
    spec, rng = made._spec(made._full({})), np.random.default_rng(0)
    shape = made.observation_space.shape
    obs = rng.normal(size=(20, *shape)) if len(shape) == 1 else rng.integers(0, 2, (20, *shape))
    obs = obs.astype(np.float32)
    player = state.player
    seen = acting.preprocessing(spec.policy, player.moments, player.normalize_obs)(obs)
    arrays = networks.unpacked(state.network, player.weights)
    outputs = networks.policy(state.network, arrays, seen, np.zeros((20, 1), np.float32))[0]
    wanted = np.asarray(spec.policy.actions.to_env(spec.policy.actions.mode(arrays, outputs)))
    found = np.stack([policy(one) for one in obs])
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert "dueling" not in policy.about
    space = made.action_space
    assert all(space.contains(np.asarray(action, space.dtype)) for action in found)


# Refusals and sizes.


@pytest.mark.parametrize(
    ("algorithm", "env", "settings", "said"),
    [
        ("sac", "cartpole", {}, "use learner=dqn"),
        ("td3", "cartpole", {}, "use learner=dqn"),
        ("dqn", "gymnax:Pendulum-v1", {}, "one choice among actions"),
        ("dqn", "tests.envs.probes:multi_discrete", {}, "one choice among actions"),
        ("sac", "tests.learners.offpolicy.boxed:images", {}, "not for images"),
        ("td3", "tests.learners.offpolicy.boxed:unbounded", {}, "bounded actions"),
        ("dqn", "cartpole", {"network": "cnn"}, "is for images"),
        ("dqn", "cartpole", {"envs": 8, "capacity": 15}, "16 rows or more"),
        ("dqn", "cartpole", {"ahead": 1}, "for environments on the host"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_run(algorithm, env, settings, said):
    with pytest.raises(ValueError, match=said):
        learner(algorithm, env, **settings).advice(1000, [{}])


def test_opponents_are_refused():
    game = EnvSpec("pong", game=GameSpec())
    with pytest.raises(ValueError, match="no games against opponents"):
        make("dqn", game, DQNSettings())


def test_policies_with_nothing_to_sample_are_evaluated_once():
    assert (small("sac").ways, small("td3").ways, small("dqn").ways) == ((True, False), (True,), (True,))
