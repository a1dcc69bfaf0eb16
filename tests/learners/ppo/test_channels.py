"""Reward channels: each with a value, a weight and a discount of its own; the score is the first channel's alone."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from training import learner, train, values

import evolute
from evolute.config.error import ConfigError
from evolute.config.layers import override, preset, python, stack
from evolute.config.resolve import resolved
from evolute.core.order import Order, Ref
from evolute.core.protocols import silently
from evolute.core.tree import digest
from evolute.envs.spec import EnvSpec, GameSpec
from evolute.learners.kit import adam, networks, normalise
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import Categories
from evolute.learners.kit.networks import Network
from evolute.learners.ppo import channels, gae, jax_turn, update
from evolute.learners.ppo.jax_turn import Chunk, Inputs, Row
from evolute.learners.ppo.learner import traced
from evolute.learners.ppo.rollout import Rollout
from evolute.learners.ppo.settings import PPOSettings, flat, packed, unpacked
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import TrainState, fresh
from evolute.learners.ppo.turn_stats import blank
from evolute.runs.assemble import assembled

TIME, ENVS = 7, 3
TINY = {"envs": 4, "unroll": 8, "minibatches": 2, "widths": (4,), "epochs": 1}
SHAPED = {"reward.to_ball": 0.1, "reward.ball_to_goal": 0.3, "discount.goal": 0.9}


def settings(used=(), **hparams):
    return traced({**flat(PPOSettings()), **hparams}, used)


def rollout(rng, number):
    """A rollout with this many channels."""
    grid, each = (TIME, ENVS), (TIME, ENVS, number)
    ends = (rng.random(grid) < 0.3).astype(np.float32)
    drawn = [rng.normal(size=(*grid, 4)), rng.integers(0, 2, size=(*grid, 1)), rng.normal(size=(*grid, 2))]
    learnt = [rng.normal(size=each), rng.normal(size=each), 0.1 * rng.normal(size=each)]
    rest = [1 - ends, ends, np.zeros(grid), np.ones(grid)]
    return Rollout(*(jnp.asarray(array, jnp.float32) for array in (*drawn, *learnt, *rest)))


def of_channel(played, place):
    return played._replace(**{name: getattr(played, name)[..., place] for name in ("value", "reward", "extra")})


def test_advantages_of_a_channel_are_those_of_its_rewards_alone():
    rng = np.random.default_rng(0)
    played, last = rollout(rng, 2), jnp.asarray(rng.normal(size=(ENVS, 2)), jnp.float32)
    both = gae.advantages(played, last, settings(("a", "b"), **{"discount.a": 0.9, "discount.b": 0.5}))
    for place, discount in enumerate((0.9, 0.5)):
        alone = gae.advantages(of_channel(played, place), last[:, place], settings(discount=discount))
        np.testing.assert_allclose(both[..., place], alone, rtol=1e-6)


@pytest.mark.parametrize("native", [False, True])
def test_one_step_follows_the_weighted_advantages_and_the_sum_of_value_losses(native):
    """The gradient by finite differences of the loss written out in numpy."""
    rng = np.random.default_rng(1)
    network = Network((4,), 2, widths=(6,), channels=2)
    policy = PolicySpec(network, Categories((2,), (0,), single=True))
    spec = PPOSpec(policy, ENVS, TIME, 1, masked=False, channels=("a", "b"), native=native)
    vector = (networks.initial(network, rng) + 0.05 * rng.normal(size=networks.size(network))).astype(np.float32)
    state = TrainState(adam.init(vector), normalise.fresh((4,)), normalise.fresh((2,)), jnp.float32(0))
    played, last = rollout(rng, 2), jnp.zeros((ENVS, 2))
    hparams = {"reward.a": 2.0, "reward.b": -0.5, "discount.b": 0.5, "epochs": 1, "max_grad_norm": 1e9}
    h = settings(spec.channels, **hparams)
    improve = jax.jit(lambda state: update.improve(spec, state, played, last, jnp.zeros((ENVS, 1)), h, jax.random.key(0)))
    after, _ = improve(state)
    each = np.asarray(gae.advantages(played, last, h), float).reshape(-1, 2)
    target = each + np.asarray(played.value, float).reshape(-1, 2)
    advantage = each @ np.array([2.0, -0.5])
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)

    def loss(vector):
        weights, x = networks.unpacked(network, vector), np.asarray(played.obs, float).reshape(-1, 4)
        features = {
            name: np.tanh(x @ weights[f"{name}/dense0/w"] + weights[f"{name}/dense0/b"]) for name in ("actor", "critic")
        }
        value = features["critic"] @ weights["value/w"] + weights["value/b"]
        logits = features["actor"] @ weights["policy/w"] + weights["policy/b"]
        rows, action = np.arange(len(x)), np.asarray(played.action, int).ravel()
        new, old = (_log_softmax(one)[rows, action] for one in (logits, np.asarray(played.outputs, float).reshape(-1, 2)))
        ratio = np.exp(new - old)
        gain = np.minimum(ratio * advantage, np.clip(ratio, 0.8, 1.2) * advantage)
        return 0.25 * ((value - target) ** 2).sum(axis=1).mean() - gain.mean()

    gradient = np.zeros(len(vector))
    for place in range(len(vector)):
        step = np.zeros(len(vector))
        step[place] = 1e-5
        gradient[place] = (loss(vector.astype(float) + step) - loss(vector.astype(float) - step)) / 2e-5
    np.testing.assert_allclose(after.adam.mean, 0.1 * gradient, rtol=1e-2, atol=2e-6)


def _log_softmax(logits):
    return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


@pytest.fixture(scope="module")
def two_ways():
    """A learner, and members who learn that one or the other channel weighs more."""
    made = learner("tests.envs.probes:two_channels", lr=3e-2, envs=16, unroll=32, widths=(16,), value_weight=1.0)
    both = {"discount.left": 0.9, "discount.right": 0.5}
    return made, *train(made, [{"reward.right": 0.1, **both}, {"reward.right": 10.0, **both}], steps=512 * 15)


def test_weights_decide_what_is_learnt_and_the_first_channel_alone_is_the_score(two_ways):
    _, _, (left, right) = two_ways
    assert left.metrics["return.left"] > 0.9
    assert right.metrics["return.right"] > 0.9
    for report in (left, right):
        assert report.metrics["score"] == report.metrics["return"] == report.metrics["return.left"]
        assert report.metrics["return.left"] + report.metrics["return.right"] == pytest.approx(1)


def test_every_channel_has_a_value_with_its_own_discount(two_ways):
    made, worker, _ = two_ways
    hparams = {"reward.right": 0.1, "discount.left": 0.9, "discount.right": 0.5}
    np.testing.assert_allclose(values(made, worker, [[0.0], [1.0]], **hparams), [[0.9, 0.0], [1.0, 0.0]], atol=0.12)


def test_fresh_episodes_and_the_policy_know_nothing_of_channels(two_ways):
    made, worker, _ = two_ways
    hparams = {"reward.right": 10.0}
    returns = made.evaluate(worker.dump(Ref(1, 0)), hparams, seed=0, episodes=4, progress=silently)
    assert returns == [0.0] * 4  # it goes for the other channel
    assert [int(made.policy(worker.dump(Ref(member, 0)))([1.0])) for member in range(2)] == [0, 1]


@pytest.mark.parametrize(
    "network",
    [
        {"memory": 5},
        {"shared": True},
        {"activation": "elu", "normalize_reward": True},
    ],
)
def test_every_network_fits_any_number_of_channels(network):
    """A whole turn, of which only the shapes are computed."""
    made = learner("tests.envs.probes:two_channels", **TINY, **network)
    hparams = made._full({"reward.right": 0.5})
    spec = made._spec(hparams)
    train_state = fresh(spec, np.random.default_rng(0))
    row = Row(train_state, made.runner._blank(spec), blank(10, len(spec.channels)))
    inputs = Inputs(np.zeros(2, np.uint32), packed(traced(hparams, spec.channels)), np.int32(1), np.int32(1))
    surroundings = made.runner._surroundings(spec)
    after = jax.eval_shape(lambda *given: jax_turn.updates(spec, surroundings, *given), row, inputs, Chunk(0, 1))
    jax.tree.map(lambda one, other: np.testing.assert_array_equal(np.shape(one), other.shape), row, after)


def test_channels_that_are_in_use():
    every, fixed = ("goal", "near", "far"), {"reward.near": 0.0, "lr": 1.0}
    assert channels.in_use(every, fixed, fixed) == ()
    assert channels.in_use(every, {**fixed, "reward.near": 0.1}, fixed) == ("goal", "near")
    assert channels.in_use(every, {**fixed, "reward.far": 0.0}, fixed) == ("goal", "far")  # evolved, and may change
    assert channels.in_use(every, {**fixed, "discount.goal": 0.9}, fixed) == ("goal",)
    assert channels.in_use(every, {**fixed, "discount.far": 0.9}, fixed) == ()


def test_settings_survive_as_one_row():
    h = settings(("a", "b"), **{"reward.b": 0.25, "discount.a": 0.5, "discount": 0.75, "lr": 0.125})
    back = unpacked(packed(h), 2)
    assert (back.lr, *back.channel_weights, *back.channel_discounts) == (0.125, 1.0, 0.25, 0.5, 0.75)
    assert unpacked(packed(settings()), 0).channel_weights == ()


@pytest.fixture(scope="module")
def soccer():
    """A learner of soccer, with and without shaping rewards, and a state of each kind."""
    how = GameSpec(tables=2, matches=0)
    spec = EnvSpec("soccer", {"soccer": {"players": 1}}, game=how)
    made = evolute.learners.ppo.ppo(env=spec, settings=PPOSettings(**TINY))
    orders = [Order(member, 0, SHAPED, steps=64, seed=member) for member in range(2)]
    states, outcomes = made.train(made.init(orders), orders, fetch={}.__getitem__, progress=silently)
    return made, orders, states, outcomes


def test_members_of_a_game_report_each_channel_and_repeat_themselves(soccer):
    made, orders, states, outcomes = soccer
    assert {name for name in outcomes[0].metrics if name.startswith("return.")} == {
        "return.goal", "return.to_ball", "return.ball_to_goal"
    }  # fmt: skip
    assert outcomes[0].metrics["score"] is None
    (alone,), _ = made.train(made.init(orders[1:]), orders[1:], fetch={}.__getitem__, progress=silently)
    assert digest(made.dump(alone)) == digest(made.dump(states[1]))
    assert made.load(made.dump(states[1])).train.adam.weights is not None


def test_members_with_other_channels_can_meet(soccer):
    made, _, states, _ = soccer
    (plain,) = made.init([Order(0, 0, {}, steps=64, seed=5)])
    assert "channels" not in plain.about["network"]
    tree, other = made.dump(states[0]), made.dump(plain)
    (played,) = made.play_matches(tree, SHAPED, [(Ref(1, 0),)], {Ref(1, 0): other}, games=2, seed=0, progress=silently)
    assert len(played.results) == 2
    weights = networks.with_channels(made._spec(made._full(SHAPED)).network, states[0].train.adam.weights, 0)[1]
    assert weights.shape == plain.train.adam.weights.shape


def test_a_guest_without_channels_is_an_opponent_and_acts_as_before(soccer):
    made, orders, _, _ = soccer
    (plain,) = made.init([Order(0, 0, {}, steps=64, seed=5)])
    made.check_guest(made.dump(plain))
    order = replace(orders[0], opponents=(("plain",), ("plain",)))
    _, (outcome,) = made.train(made.init([order]), [order], fetch={"plain": plain}.__getitem__, progress=silently)
    assert outcome.error is None
    network = made._spec(made._full({})).network
    wide, weights = networks.with_channels(network, plain.train.adam.weights, 3)
    assert weights.shape == (networks.size(wide),)
    arrays, before = networks.unpacked(wide, weights), networks.unpacked(network, plain.train.adam.weights)
    for name in before.keys() - {"value/w", "value/b"}:
        np.testing.assert_array_equal(arrays[name], before[name])
    np.testing.assert_array_equal(networks.with_channels(wide, weights, 0)[1], plain.train.adam.weights)


# Config


def config(*overrides, name="soccer-2v2", **given):
    return resolved(stack([preset(name), *map(override, overrides), python(given)]))


def test_channels_are_settings_of_the_learner_with_or_without_its_name():
    short = config("reward.to_ball=log[1e-4,1e-1]", "discount.goal=0.9", name="connect-four")
    long = config("ppo.reward.to_ball=log[1e-4,1e-1]", "ppo.discount.goal=0.9", name="connect-four")
    nested = config(ppo={"reward": {"to_ball": "log[1e-4,1e-1]"}, "discount": {"goal": 0.9}}, name="connect-four")
    for one in (short, long, nested):
        assert "reward.to_ball" in one.space
        assert one.learner.settings["discount.goal"] == 0.9
        assert one.learner.settings["discount"] == short.learner.settings["discount"]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            "reward.to_bal=0.1",
            r"ppo\.reward\.to_bal: there is no reward channel 'to_bal'; there are goal, to_ball, ball_to_goal$",
        ),
        ("discount.to_bal=[0.9, 0.99]", r"ppo\.discount\.to_bal: there is no .*; there are goal, to_ball, ball_to_goal$"),
        ("discount.goal=1.5", r"^ppo\.discount\.goal = 1\.5 \(-m\): should be less than or equal to 1$"),
        ("reward.to_ball=much", r"^ppo\.reward\.to_ball = 'much' \(-m\): should be a valid number"),
        ("reward=1", r"^reward = 1 \(-m\): reward is a section: set ppo\.reward\.NAME$"),
    ],
)
def test_wrong_channels_are_told_in_a_sentence(given, problem):
    with pytest.raises(ConfigError, match=problem):
        assembled(config(given), {})


def test_a_single_reward_has_no_channels():
    given = python({"learner": "ppo", "env": "cartpole", "reward": {"goal": 1}})
    with pytest.raises(ConfigError, match="this environment has a single reward, without channels"):
        assembled(resolved(stack([given])), {})


def test_a_discount_without_a_weight_is_told():
    parts = assembled(config("reward.to_ball=0", "discount.to_ball=0.9"), {})
    assert any("ppo.discount.to_ball does nothing" in text for text in parts.advice)


def test_a_run_with_channels_resumes(tmp_path):
    """Its config, in which `ppo.discount` has a value and others below it, is read back from the journal."""
    given = {"learner": "ppo", "env": "tests.envs.probes:two_channels", "population": 2, "interval": 32, "display": "none"}
    hparams = {"ppo": {**TINY, "discount": 0.9}, "reward": {"right": "log[0.1, 1]"}, "discount": {"left": [0.8, 0.9]}}
    given["evaluation"] = {"members": 0}
    evolute.run(**given, **hparams, folder=tmp_path / "run", stop={"turns": 1})
    run = evolute.resume(tmp_path / "run", stop={"turns": 2}, display="none")
    assert run.member(0).turn.ref.turn == 1
    assert run.member(0).hparams.keys() == {"reward.right", "discount.left"}
