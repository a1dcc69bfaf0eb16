"""V-trace against its formulas and its fixed points, and log-probabilities that are those of the policy that acted."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from tests.learners.ppo.test_update import ENVS, TIME, begun, rollout, traced

from evolute.core.protocols import silently
from evolute.learners.kit import networks
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import Categories, Gaussian
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.host_acting import HostPolicy
from evolute.learners.kit.host_rollout import Trajectory
from evolute.learners.kit.layout import layout
from evolute.learners.kit.networks import Network
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data, stacked
from evolute.learners.ppo import estimates, gae, host_turn, minibatches, update, vtrace
from evolute.learners.ppo.rollout import Rollout
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import fresh

corrected = jax.jit(vtrace.corrected)
TWO = PolicySpec(Network((4,), 2, widths=(8, 8)), Categories((2,), (0,), single=True))


def fragment(rng, time, envs):
    """A rollout of float64 with ends of both kinds, as host environments have them, and the values after it."""
    grid = (time, envs)
    terminated = rng.random(grid) < 0.1
    ends = np.maximum(terminated, rng.random(grid) < 0.1).astype(float)
    void, each = np.zeros(grid), [rng.normal(size=grid) for _ in range(3)]
    log_ratio = rng.normal(size=grid)
    return Rollout((), (), (), each[0], each[1], void, 1.0 - terminated, ends, void, void + 1, each[2], log_ratio), rng.normal(
        size=envs
    )


def settings(**numbers):
    """Settings as float64."""
    return traced()._replace(**{name: np.float64(number) for name, number in numbers.items()})


def brute_force(played, last, h):
    """Targets and advantages as sums over all later steps of the episode."""
    ratio, values = np.exp(played.log_ratio), np.concatenate([played.value, last[None]])
    weight, trace = np.minimum(h.rho_bar, ratio), h.gae_lambda * np.minimum(h.c_bar, ratio)
    time, envs = played.reward.shape
    discount = np.broadcast_to(h.discount if isinstance(played.discount, tuple) else played.discount, (time, envs))
    targets, advantages = np.zeros((time, envs)), np.zeros((time, envs))
    for env in range(envs):
        for start in range(time):
            factor, total, beyond = 1.0, 0.0, 0.0
            for step in range(start, time):
                delta = played.reward[step, env] + discount[step, env] * played.follows[step, env] * values[step + 1, env]
                delta -= values[step, env]
                total += factor * weight[step, env] * delta
                if step == start:
                    beyond, onward = delta, discount[step, env] * h.gae_lambda
                else:
                    beyond += onward * weight[step, env] * delta
                    onward *= discount[step, env] * trace[step, env]
                factor *= discount[step, env] * trace[step, env]
                if played.ends[step, env]:
                    break
            targets[start, env], advantages[start, env] = values[start, env] + total, beyond
    return targets, advantages, weight


def test_vtrace_is_the_sum_over_all_later_steps():
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        for _ in range(5):
            h = settings(discount=0.97, gae_lambda=rng.uniform(0.5, 1), rho_bar=rng.uniform(0.5, 4), c_bar=rng.uniform(0, 2))
            played, last = fragment(rng, 12, 40)
            advantage, target, weight = corrected(played, last, h)
            wanted = brute_force(played, last, h)
            for found, expected in zip((target, advantage, weight), wanted, strict=True):
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
            through = brute_force(played._replace(ends=np.zeros_like(played.ends)), last, h)
            assert np.abs(through[0] - target).max() > 0.1


def test_vtrace_of_the_policys_own_actions_is_generalised_advantage_estimation():
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        h = settings(discount=0.97, gae_lambda=0.9, rho_bar=1.0, c_bar=1.0)
        played, last = fragment(rng, 30, 20)
        wanted = gae.advantages(played, last, h)
        for own in (np.zeros_like(played.log_ratio), ()):
            advantage, target, weight = corrected(played._replace(log_ratio=own), last, h)
            np.testing.assert_allclose(advantage, wanted, atol=1e-12)
            np.testing.assert_allclose(target, wanted + played.value, atol=1e-12)
            assert (weight == 1).all()


def test_each_channel_is_corrected_with_the_same_ratio():
    rng = np.random.default_rng(2)
    with jax.enable_x64(True):
        h = settings(gae_lambda=0.9, rho_bar=2.0, c_bar=1.0)
        played, last = fragment(rng, 12, 5)
        both = played._replace(value=np.stack([played.value, 2 * played.value], -1), extra=np.zeros((12, 5, 2)))
        both = both._replace(reward=np.stack([played.reward, -played.reward], -1))
        found = corrected(both, np.stack([last, 2 * last], -1), h._replace(channel_discounts=np.array([0.9, 0.5])))
        for place, (sign, scale, discount) in enumerate([(1, 1, 0.9), (-1, 2, 0.5)]):
            alone = played._replace(value=scale * played.value, reward=sign * played.reward)
            wanted = corrected(alone, scale * last, h._replace(discount=discount))
            np.testing.assert_allclose(found[0][..., place], wanted[0], atol=1e-12)
            np.testing.assert_allclose(found[1][..., place], wanted[1], atol=1e-12)


# A chain of five states: left ends at the left with 0, right at the right with 10. Members act right half of the time, and
# learn about a policy that goes right nine times out of ten.

STATES, DISCOUNT, RIGHT, ACTED, GOAL = 5, 0.95, 0.9, 0.5, 10.0


def chain_values(right):
    """The values of a policy that goes right with this probability."""
    moves, rewards = np.zeros((STATES, STATES)), np.zeros(STATES)
    for state in range(STATES):
        if state > 0:
            moves[state, state - 1] = 1 - right
        if state < STATES - 1:
            moves[state, state + 1] = right
    rewards[-1] = GOAL * right
    return np.linalg.solve(np.eye(STATES) - DISCOUNT * moves, rewards)


def chain_rollout(rng, state, time):
    """States, actions, rewards and ends of `time` steps from these states on; an end starts again at a random place."""
    rows = []
    for _ in range(time):
        right = rng.random(len(state)) < ACTED
        after = state + np.where(right, 1, -1)
        ends = (after < 0) | (after >= STATES)
        rows.append((state, right, GOAL * (after >= STATES), ends.astype(float)))
        state = np.where(ends, rng.integers(0, STATES, len(state)), after)
    return [np.stack(column) for column in zip(*rows, strict=True)], state


def learnt_values(h, *, corrected):
    """The values after many rollouts of the policy that acts, by the mean target of each state."""
    rng, values = np.random.default_rng(3), np.zeros(STATES)
    state = rng.integers(0, STATES, 256)
    estimate = jax.jit(lambda played, last: vtrace.corrected(played, last, h)[1])
    without = jax.jit(lambda played, last: gae.advantages(played, last, h) + played.value)
    for number in range(400):
        (states, right, reward, ends), state = chain_rollout(rng, state, 12)
        log_ratio = np.log(np.where(right, RIGHT / ACTED, (1 - RIGHT) / (1 - ACTED)))
        void = np.zeros_like(ends)
        played = Rollout((), (), (), values[states], reward, void, 1 - ends, ends, void, void + 1, (), log_ratio)
        target = np.asarray((estimate if corrected else without)(played, values[state]))
        count, total = (np.bincount(states.ravel(), weights, STATES) for weights in (None, target.ravel()))
        values = values + max(0.01, 0.5 / (1 + number / 20)) * (total / np.maximum(count, 1) - values)
    return values


@pytest.mark.parametrize(("rho_bar", "right"), [(10.0, RIGHT), (1.0, 0.5 / (0.5 + 0.1))])
def test_values_on_a_chain_are_those_of_the_policy_that_vtrace_aims_at(rho_bar, right):
    """With a high limit that is the policy that learns; with 1 it is in between: min(mu, pi), normalised."""
    with jax.enable_x64(True):
        h = settings(discount=DISCOUNT, gae_lambda=1.0, rho_bar=rho_bar, c_bar=1.0)
        assert np.abs(learnt_values(h, corrected=True) - chain_values(right)).max() < 0.1


def test_without_correction_values_are_those_of_the_policy_that_acted():
    with jax.enable_x64(True):
        found = learnt_values(settings(discount=DISCOUNT, gae_lambda=1.0), corrected=False)
    assert np.abs(found - chain_values(RIGHT)).max() > 1
    assert np.abs(found - chain_values(ACTED)).max() < 0.2


def test_advantages_are_centred_and_then_weighted():
    rng = np.random.default_rng(4)
    spec = PPOSpec(TWO, ENVS, TIME, 1, masked=True, estimate="vtrace", objective="gradient", lagged=True)
    valid = (rng.random((TIME, ENVS)) < 0.8).astype(np.float32)
    played = rollout(valid=valid, log_prob=np.zeros((TIME, ENVS)), log_ratio=rng.normal(size=(TIME, ENVS)))
    h, last = traced(rho_bar=1.5), jnp.zeros(ENVS)
    state = begun(networks.initial(TWO.network, rng), 0)

    @jax.jit
    def first(played):
        made = estimates.estimated(spec, played, last, h)
        batch = minibatches.batch_of(spec, state, played, made, jnp.zeros((ENVS, 1)), h)
        return minibatches.step_data(spec, minibatches.gathered(spec, batch, jnp.arange(spec.batch)[None], h)[1][0])

    data = first(played)
    advantage, _, weight = (np.asarray(x, float).ravel() for x in corrected(played, last, h))
    counted = weight * valid.ravel()
    mean = np.sum(counted * advantage) / np.sum(counted)
    deviation = np.sqrt(np.sum(counted * (advantage - mean) ** 2) / np.sum(counted))
    np.testing.assert_allclose(data.weight, weight, rtol=1e-5)
    np.testing.assert_allclose(data.advantage, (advantage - mean) / deviation, rtol=1e-4, atol=1e-5)
    assert np.sum(counted * np.asarray(data.advantage)) == pytest.approx(0, abs=1e-4)


@pytest.mark.slow("a whole update with V-trace, which on the policy's own actions is PPO's")
def test_one_update_with_vtrace_on_own_actions_is_ppos():
    rng = np.random.default_rng(5)
    vector = networks.initial(TWO.network, rng)
    ends = (rng.random((TIME, ENVS)) < 0.2).astype(np.float32)
    played, last, memory = rollout(ends=ends, follows=1 - ends), jnp.ones(ENVS), jnp.zeros((ENVS, 1))
    plain = PPOSpec(TWO, ENVS, TIME, 1, masked=True)
    spec = replace(plain, estimate="vtrace", lagged=True)
    h = traced(epochs=3, lr=1e-2)
    log_prob = TWO.distribution.log_prob_and_entropy(
        {}, jnp.moveaxis(played.outputs, -1, 0), jnp.moveaxis(played.action, -1, 0)
    )[0]
    own = played._replace(log_prob=log_prob, log_ratio=jnp.zeros_like(log_prob))

    def improved(spec, played):
        improve = jax.jit(lambda state, played: update.improve(spec, state, played, last, memory, h, jax.random.key(0)))
        return improve(begun(vector, 0), played)[0].adam.weights

    found, wanted = improved(spec, own), improved(plain, played)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert np.abs(np.asarray(wanted) - vector).max() > 1e-3


@pytest.mark.parametrize("squash", [False, pytest.param(True, marks=pytest.mark.slow("the same behind tanh"))])
def test_log_probabilities_are_those_recorded_when_acting(squash):
    """Also of a Gaussian with a deviation that has changed since: by what is known now they would be others."""
    actions = Gaussian((-9.0, -9.0), (9.0, 9.0), (2,), squash=squash)
    policy = PolicySpec(Network((3,), 2, spread=2, widths=(8,)), actions)
    spec = PPOSpec(policy, 4, 3, 1, masked=True, estimate="vtrace", lagged=True)
    rng, h = np.random.default_rng(6), traced()
    acted, learns = (fresh(spec, np.random.default_rng(seed)) for seed in (7, 8))
    for state, log_std in ((acted, -0.7), (learns, 0.4)):
        state.adam.weights[-2:] = log_std
    programs, keys = Programs(2), key_data(9)[None]
    made = HostPolicy(
        programs, policy, layout=layout(1), envs=4, unroll=3, keys=keys, greedy=False, progress=silently, lagged=True
    )
    made.begin(layout(1).spread(stacked([Player(acted.adam.weights, acted.obs, np.float32(0))])), 0)
    obs = rng.normal(size=(4, 4, 3)).astype(np.float32)
    first = np.zeros((4, 4), np.float32)
    steps = np.stack([made(obs[None, time], first[None, time], time)[0] for time in range(3)])
    void = np.zeros((3, 4), np.float32)
    trajectory = Trajectory(obs, steps, void, void, void, first, void + 1, np.zeros((4, 1), np.float32))

    @jax.jit
    def learnt_from(trajectory):
        played, value = host_turn.rollout_of(spec, learns, trajectory, h)
        made = estimates.estimated(spec, played, value[-1], h)
        batch = minibatches.batch_of(spec, learns, played, made, jnp.zeros((4, 1)), h)
        return played, minibatches.step_data(spec, jnp.moveaxis(batch.data, -1, 0))

    played, data = learnt_from(trajectory)
    np.testing.assert_allclose(np.asarray(data.log_prob).reshape(3, 4), steps[..., 2], atol=1e-6)

    def density(state):
        weights = networks.unpacked(policy.network, state.adam.weights)
        mean = networks.policy(policy.network, weights, obs[:3].reshape(-1, 3), jnp.zeros((12, 1)))[0]
        normal = stats.norm(np.asarray(mean).reshape(3, 4, 2), np.exp(state.adam.weights[-2:])).logpdf(steps[..., :2])
        return np.sum(normal - (np.log(1 - np.tanh(steps[..., :2].astype(float)) ** 2) if squash else 0), axis=-1)

    np.testing.assert_allclose(played.log_prob, density(acted), atol=2e-5)
    np.testing.assert_allclose(played.log_ratio, density(learns) - density(acted), atol=2e-4)
    assert np.abs(density(learns) - density(acted)).min() > 0.05
