"""Machine code against the same mathematics in JAX and numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from evolute.learners.ppo import networks
from evolute.learners.ppo.native import activations, passes, twins, xla
from evolute.learners.ppo.native.passes import Plan
from evolute.learners.ppo.networks import Network

RNG = np.random.default_rng(0)
SHAPES = [
    (Network((4,), 2), 64),
    (Network((4,), 2, widths=(64, 64), activation="relu"), 256),
    (Network((17,), 6, spread=6, widths=(33, 20, 7)), 50),
    (Network((1,), 1, spread=1, widths=(3,)), 1),
    (Network((40,), 19, widths=(5, 24), activation="relu"), 9),
    (Network((3,), 4, spread=4, widths=(130, 140)), 200),
]


def numbers(*shape):
    return jnp.asarray(RNG.normal(size=shape), jnp.float32)


def given(network, rows):
    fresh = networks.initial(network, np.random.default_rng(1))
    return jnp.asarray(fresh) + 0.1 * numbers(fresh.size), numbers(network.obs[0], rows)


def check(network, rows):
    """Outputs, values and slopes are those of JAX."""
    weights, obs = given(network, rows)

    def theirs(weights):
        parts = networks.grouped(network, weights)
        return *networks.twins(network, parts, obs), {"log_std": parts["log_std"]} if network.spread else {}

    said, back = jax.vjp(lambda weights: twins.said(network, weights, obs), weights)
    expected, back_in_jax = jax.vjp(theirs, weights)
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-5, atol=2e-6), said, expected)
    slopes = jax.tree.map(lambda leaf: numbers(*leaf.shape), said)
    np.testing.assert_allclose(back(slopes)[0], back_in_jax(slopes)[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("network", "rows"), SHAPES)
def test_machine_code_says_and_learns_what_jax_does(network, rows):
    check(network, rows)


SIZE = st.integers(1, 30)


@settings(max_examples=5, deadline=None)
@drawn(obs=SIZE, widths=st.lists(SIZE, min_size=1, max_size=4), outputs=SIZE, rows=SIZE)
def test_so_it_does_in_any_shape(obs, widths, outputs, rows):
    check(Network((obs,), outputs, spread=outputs, widths=tuple(widths)), rows)


def computed(name, lanes, arrays, shapes, body, monkeypatch):
    monkeypatch.setattr(xla.code(), "lanes", lanes)
    xla.register(f"{name}_{lanes}", given=len(arrays), made=len(shapes), body=body)
    made = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    return [np.asarray(array) for array in jax.ffi.ffi_call(f"{name}_{lanes}", made)(*arrays)]


@pytest.mark.parametrize(("network", "rows"), SHAPES[:4])
def test_the_lanes_of_a_machine_do_not_change_a_bit(network, rows, monkeypatch):
    plan = Plan(network, rows)
    weights, obs = given(network, rows)
    shapes = ((network.outputs, rows), (rows,), (plan.hidden,), (plan.room(16),))
    backward = (weights.shape, (plan.slopes,), (plan.turned,), (plan.room(16),))
    found = []
    for lanes in (4, 8, 16):
        name = f"lanes_{network.activation}_{rows}"
        *said, hidden, _ = computed(
            f"{name}_f", lanes, (weights, obs), shapes, lambda emit, *both: passes.forward(emit, plan, *both), monkeypatch
        )
        slopes = (*said, np.ones(network.spread, np.float32)) if network.spread else said
        slope, *_ = computed(
            f"{name}_b",
            lanes,
            (weights, obs, hidden, *slopes),
            backward,
            lambda emit, *both: passes.backward(emit, plan, *both),
            monkeypatch,
        )
        found.append([*said, hidden, slope])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


def test_tanh_is_tanh(monkeypatch):
    lanes = xla.code().lanes
    x = np.concatenate([np.linspace(-12, 12, 100_000), np.logspace(-30, 30, 992), [np.inf, -np.inf, np.nan, 0, 8, -8, 88, -88]])
    x = np.pad(x.astype(np.float32), (0, -x.size % lanes))

    def body(emit, given, made):
        def once(number):
            vector = activations.act(emit, "tanh", emit.vector(emit.at(given[0], (number, lanes)), lanes))
            emit.store(vector, emit.at(made[0], (number, lanes)))

        emit.each(x.size // lanes, once)

    (found,) = computed("tanh", lanes, (x,), (x.shape,), body, monkeypatch)
    exact = np.tanh(x.astype(np.float64))
    np.testing.assert_allclose(found, exact, rtol=4e-7, atol=0)
    assert np.nanmax(np.abs(found)) <= 1
    assert np.isnan(found).sum() == 1


@pytest.mark.parametrize("activation", activations.KNOWN)
def test_what_is_not_a_number_is_not_hidden(activation):
    network = Network((4,), 2, widths=(8, 8), activation=activation)
    weights, obs = given(network, 16)
    outputs, values, _ = twins.said(network, weights, obs.at[2, 5].set(np.nan))
    for said in (*outputs, values):
        np.testing.assert_array_equal(np.isnan(said), np.arange(16) == 5)


@pytest.mark.parametrize(
    ("network", "able"),
    [
        (Network((4,), 2), True),
        (Network((4,), 2, activation="elu"), False),
        (Network((4,), 2, shared=True), False),
        (Network((10, 10, 4), 2, kind="cnn"), False),
    ],
)
def test_only_twins_with_known_activations_have_machine_code(network, able):
    assert twins.able(network) is able
