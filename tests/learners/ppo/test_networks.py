"""The networks: their products against JAX's own operations, and numpy's policy against both."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolute.core.order import Order
from evolute.learners.kit import layers, networks
from evolute.learners.kit.networks import Network
from evolute.learners.kit.programs import Programs
from evolute.learners.ppo.jax_runner import JaxRunner
from evolute.learners.ppo.learner import PPO
from evolute.learners.ppo.settings import PPOSettings
from evolute.policy import Policy, load

RNG = np.random.default_rng(0)


def random_weights(network):
    """Weights without zeros, so that biases count too."""
    return RNG.normal(size=networks.size(network)).astype(np.float32) * 0.2


def with_gradients(f, *given):
    """What f makes, and its gradients by all that it is given; one program, as operations compiled one by one take long."""

    def loss(*given):
        made = f(*given)
        return jnp.sum(jnp.sin(made)), made

    gradients, made = jax.jit(jax.grad(loss, argnums=tuple(range(len(given))), has_aux=True))(*given)
    return made, gradients


def test_fresh_weights_are_orthogonal_with_the_gains_of_the_reference():
    network = Network((4,), 2)
    arrays = networks.unpacked(network, networks.initial(network, np.random.default_rng(1)))
    hidden = arrays["actor/dense1/w"]
    np.testing.assert_allclose(hidden.T @ hidden, 2 * np.eye(64), atol=1e-5)
    np.testing.assert_allclose(arrays["policy/w"].T @ arrays["policy/w"], 1e-4 * np.eye(2), atol=1e-9)
    np.testing.assert_allclose(arrays["value/w"].T @ arrays["value/w"], np.eye(1), atol=1e-5)
    assert all(not array.any() for name, array in arrays.items() if name.endswith("/b"))


def test_the_weight_vector_holds_every_array_once():
    network = Network((8, 8, 3), 4, kind="cnn", shared=True)
    vector = np.arange(networks.size(network))
    parts = networks.unpacked(network, vector)
    assert sorted(np.concatenate([part.ravel() for part in parts.values()])) == list(vector)


@pytest.mark.parametrize(("side", "stride", "padding"), [(3, 1, 0), (3, 1, 1), (8, 4, 0), (4, 2, 0)])
def test_a_convolution_over_patches_is_a_convolution(side, stride, padding):
    x = jnp.asarray(RNG.normal(size=(2, 20, 17, 3)), jnp.float32)
    weights = {"c/w": jnp.asarray(RNG.normal(size=(side, side, 3, 5)), jnp.float32), "c/b": jnp.ones(5)}

    def ours(weights, x):
        return layers.convolve(weights, "c", x, stride, padding)

    def theirs(weights, x):
        pads = [(padding, padding)] * 2
        numbers = ("NHWC", "HWIO", "NHWC")
        made = jax.lax.conv_general_dilated(x, weights["c/w"], (stride, stride), pads, dimension_numbers=numbers)
        return made + weights["c/b"]

    (made, gradients), (expected, others) = (with_gradients(convolve, weights, x) for convolve in (ours, theirs))
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)
    for one, other in zip(jax.tree.leaves(gradients), jax.tree.leaves(others), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("size", [8, 9, 16, 21])
def test_pooling_over_shifts_is_pooling(size):
    x = jnp.asarray(RNG.normal(size=(2, size, size + 1, 3)), jnp.float32)
    theirs = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    np.testing.assert_array_equal(layers.max_pool(x), theirs)


@pytest.mark.parametrize("width", [2, 64])
def test_the_gradient_of_a_product_is_that_of_jax(width):
    x, w = jnp.asarray(RNG.normal(size=(3, 5, 7)), jnp.float32), jnp.asarray(RNG.normal(size=(7, width)), jnp.float32)
    (_, ours), (_, theirs) = with_gradients(layers.product, x, w), with_gradients(jnp.matmul, x, w)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("widths", [(8,), (8, 6), (8, 6, 4)])
def test_twins_taken_together_are_the_two_networks(widths):
    network = Network((3,), 2, spread=2, widths=widths)
    vector = jnp.asarray(random_weights(network))
    together = networks.grouped(network, vector)
    np.testing.assert_array_equal(np.concatenate([part.ravel() for part in together.values()]), vector)
    obs, memory = jnp.asarray(RNG.normal(size=(7, 3)), jnp.float32), jnp.zeros((7, 1))

    @jax.jit
    def apart(vector):
        weights = networks.unpacked(network, vector)
        return networks.policy(network, weights, obs, memory)[0].T, networks.value(network, weights, obs, memory)

    made = jax.jit(lambda parts: networks.twins(network, parts, obs.T))(together)
    for one, other in zip(made, apart(vector), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_memory_along_a_rollout_is_that_of_single_steps():
    network = Network((3,), 2, memory=5, shared=True, widths=(8,))
    weights = networks.unpacked(network, jnp.asarray(random_weights(network)))
    obs = jnp.asarray(RNG.normal(size=(6, 2, 3)), jnp.float32)
    first = jnp.zeros((6, 2)).at[3, 1].set(1)
    memory = before = jnp.asarray(RNG.normal(size=(2, 5)), jnp.float32)
    outputs, values = jax.jit(lambda *given: networks.along(network, *given))(weights, obs, first, before)
    step = jax.jit(lambda obs, memory, first: networks.both(network, weights, obs, memory * (1 - first)[:, None]))
    for time in range(6):
        output, value, memory = step(obs[time], memory, first[time])
        np.testing.assert_allclose(outputs[time], output, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(values[time], value, rtol=1e-5, atol=1e-6)


BOX = gymnasium.spaces.Box(-1, 1, (4,), np.float32)
IMAGE = gymnasium.spaces.Box(0, 255, (40, 44, 3), np.uint8)
GRID = gymnasium.spaces.Box(0, 1, (10, 10, 4), np.float32)
TWO = gymnasium.spaces.Discrete(3, start=2)
MANY = gymnasium.spaces.MultiDiscrete([3, 2])
REAL = gymnasium.spaces.Box(-2, 2, (2,), np.float32)


@pytest.mark.parametrize(
    ("obs_space", "action_space", "settings"),
    [
        (BOX, TWO, {}),
        (BOX, MANY, {"activation": "relu"}),
        (BOX, REAL, {"activation": "elu", "normalize_obs": True}),
        (BOX, REAL, {"activation": "gelu", "squash": True}),
        (BOX, REAL, {"activation": "silu", "std": "state"}),
        (BOX, TWO, {"memory": 6}),
        (IMAGE, TWO, {}),
        (IMAGE, TWO, {"network": "impala", "memory": 4, "widths": (16,)}),
        (GRID, REAL, {"widths": (16,)}),
    ],
)
def test_an_exported_policy_acts_as_the_network_does(tmp_path, obs_space, action_space, settings):
    made = PPO(JaxRunner(Programs(2), None), obs_space, action_space, PPOSettings(**settings), {"code": "xla"})
    tree = made.dump(made.init([Order(0, 0, {}, steps=1, seed=3)])[0])
    tree["learnt"]["optimiser"]["weights"] = RNG.normal(size=tree["learnt"]["optimiser"]["weights"].shape).astype("f") * 0.1
    if settings.get("normalize_obs"):
        tree["learnt"]["obs"]["mean"] = np.array([0.1, -0.2, 0.3, 0], np.float32)
        tree["learnt"]["obs"]["variance"] = np.array([2, 0.5, 1, 1], np.float32)
    made.policy(tree).save(tmp_path / "policy.npz")
    policy = load(tmp_path / "policy.npz")
    state = made.load(tree)
    spec = made._spec(made._full({}))
    weights = networks.unpacked(spec.network, jnp.asarray(state.train.adam.weights))
    memory = jnp.zeros((2, spec.network.units))

    @jax.jit
    def act(obs, memory):
        outputs, memory = networks.policy(spec.network, weights, obs, memory)
        return spec.actions.to_env(spec.actions.mode(weights, outputs)), memory

    for _ in range(3):
        obs = np.stack([obs_space.sample(), obs_space.sample()])
        seen = obs
        if settings.get("normalize_obs"):
            moments = state.train.obs
            seen = np.clip((obs - moments.mean) / np.sqrt(moments.variance + 1e-8), -10, 10)
        expected, memory = act(jnp.asarray(seen), memory)
        acted = policy(obs)
        np.testing.assert_allclose(acted, expected, rtol=1e-3, atol=1e-4)
        assert action_space.contains(acted[0].astype(action_space.dtype))
    policy.reset()
    assert np.shape(policy(obs[0])) == action_space.shape
    drawn = {str(policy(obs[0], greedy=False, rng=np.random.default_rng(seed))) for seed in range(20)}
    assert len(drawn) > 1


def test_a_file_that_is_no_policy_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(ValueError, match="not a policy that Evolute exported"):
        load(tmp_path / "other.npz")


def hand_made(**names):
    """A network of one layer on two numbers whose outputs are twice what relu leaves of them."""
    network = {"obs": [2], "kind": "mlp", "widths": [2], "activation": "relu"}
    actions = {"kind": "categories", "sizes": [2], "starts": [0], "single": True}
    torso, head = names.get("torso", "actor"), names.get("head", "policy")
    arrays = {f"{torso}/dense0/w": np.eye(2), f"{torso}/dense0/b": [0, 0], f"{head}/w": 2 * np.eye(2), f"{head}/b": [0, 1]}
    about = {"network": network, "actions": actions, "strides": [], "normalize_obs": False, **names}
    return Policy(arrays, about, np.zeros(2), np.ones(2))


@pytest.mark.parametrize("names", [{}, {"torso": "q", "head": "q/out"}, {"torso": "critic", "head": "advantage"}])
def test_a_file_names_the_torso_and_the_head_that_act(tmp_path, names):
    """As a Q-network does; in files from before there are no names, and they are PPO's."""
    hand_made(**names).save(tmp_path / "policy.npz")
    policy = load(tmp_path / "policy.npz")
    np.testing.assert_array_equal(policy.outputs(np.array([[3.0, -1.0], [0.5, 1.0]])), [[6, 1], [1, 3]])
    assert policy(np.array([3.0, -1.0])) == 0
    assert policy(np.array([0.5, 1.0])) == 1


def test_what_ppo_exports_names_its_torso_and_head():
    made = PPO(JaxRunner(Programs(2), None), IMAGE, TWO, PPOSettings(), {"code": "xla"})
    about = made.policy(made.dump(made.init([Order(0, 0, {}, steps=1, seed=3)])[0])).about
    assert (about["torso"], about["head"]) == ("shared", "policy")
