"""Machine code against the same mathematics in JAX and numpy."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evolute.learners.kit import layers, networks, torsos
from evolute.learners.kit import weights as weight_parts
from evolute.learners.kit.native import activations, dense, matrices, passes, support, xla
from evolute.learners.kit.native.towers import TowerLayout, Towers
from evolute.learners.kit.networks import Network
from evolute.learners.kit.torsos import Torso

SHAPES = [
    (Network((4,), 2), 64),
    (Network((4,), 2, widths=(64, 64), activation="relu"), 256),
    (Network((17,), 6, spread=6, widths=(33, 20, 7)), 50),
    (Network((1,), 1, spread=1, widths=(3,)), 1),
    (Network((40,), 19, widths=(5, 24), activation="relu"), 9),
    (Network((3,), 4, spread=4, widths=(130, 140)), 200),
    (Network((3,), 140, widths=(20,)), 128),
    (Network((6,), 3, widths=(20, 9), channels=3), 50),
    (Network((2,), 1, widths=(4,), activation="relu", channels=130), 9),
]


def numbers(*shape, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def made(network, rows):
    """Weights and observations."""
    fresh = networks.initial(network, np.random.default_rng(1))
    return jnp.asarray(fresh) + 0.1 * numbers(fresh.size), numbers(network.obs[0], rows, seed=1)


def check(network, rows):
    """Outputs, values and gradients are those of JAX."""
    weights, obs = made(network, rows)

    def theirs(weights):
        parts = networks.grouped(network, weights)
        return *networks.twins(network, parts, obs), {"log_std": parts["log_std"]} if network.spread else {}

    shapes = jax.eval_shape(theirs, weights)
    gradients = jax.tree.map(lambda leaf: numbers(*leaf.shape, seed=2), shapes)
    predictions, gradient = learnt(lambda weights: dense.predict_twins(network, weights, obs), weights, gradients)
    expected, expected_gradient = learnt(theirs, weights, gradients)
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-5, atol=5e-6), predictions, expected)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-4, atol=2e-4)


@partial(jax.jit, static_argnums=0)
def learnt(predict, weights, gradients):
    """Predictions, and what their gradients are for the weights."""
    predictions, back = jax.vjp(predict, weights)
    return predictions, back(gradients)[0]


@pytest.mark.parametrize(("network", "rows"), SHAPES)
def test_machine_code_predicts_and_learns_what_jax_does(network, rows):
    check(network, rows)


@pytest.mark.parametrize(
    ("first", "widths", "rows", "names"),
    [(0, (20,), 9, ("q0",)), (11, (30, 64), 50, ("q0", "q1")), (17, (7, 130), 140, ("q0", "q1"))],
)
def test_towers_that_lie_one_behind_the_other_pass_gradients_to_their_inputs(first, widths, rows, names):
    torso = Torso((23,), "mlp", widths, "relu")
    parts = [
        part for name in names for part in (*torsos.parts(torso, name), *weight_parts.dense(f"{name}/head", widths[-1], 1, 1.0))
    ]
    vector = jnp.asarray(weight_parts.initial(parts, np.random.default_rng(3)))
    vector, inputs = vector + 0.1 * numbers(vector.size), numbers(23, rows, seed=4)
    towers = Towers.of(parts, names, [f"{name}/head" for name in names], "relu")

    def theirs(vector, inputs):
        arrays = weight_parts.unpacked(parts, vector)
        each = [torsos.features(torso, arrays, name, inputs.T) for name in names]
        return tuple(layers.affine(arrays, f"{name}/head", one).T for name, one in zip(names, each, strict=True))

    gradients = tuple(numbers(1, rows, seed=5 + place) for place in range(len(names)))
    expected, back = jax.vjp(theirs, vector, inputs)
    by_weights, by_inputs = back(gradients)
    found, gradient = learnt(lambda vector: dense.predict(towers, vector, inputs), vector, gradients)
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-5, atol=5e-6), found, expected)
    np.testing.assert_allclose(gradient, by_weights, rtol=1e-4, atol=2e-4)
    found, gradient = learnt(lambda inputs: dense.predict_by_input(towers, first, vector, inputs), inputs, gradients)
    jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-5, atol=5e-6), found, expected)
    np.testing.assert_allclose(gradient[first:], by_inputs[first:], rtol=1e-4, atol=2e-4)
    assert (gradient[:first] == 0).all()


SIZE = st.one_of(st.integers(1, 30), st.integers(120, 140))
WIDTHS = st.lists(SIZE, min_size=1, max_size=4).map(tuple)


@pytest.mark.slow(reason="compiles machine code for shapes drawn at random")
@settings(max_examples=3, deadline=None)
@given(obs=SIZE, widths=WIDTHS, outputs=SIZE, rows=SIZE)
def test_so_it_does_in_any_shape(obs, widths, outputs, rows):
    check(Network((obs,), outputs, spread=outputs, widths=widths), rows)


@pytest.mark.slow(reason="writes code for shapes drawn at random, and measures its scratch memory")
@settings(max_examples=20, deadline=None)
@example(obs=3, widths=(20,), outputs=140, channels=1, rows=128, lanes=8)
@example(obs=3, widths=(20,), outputs=2, channels=140, rows=128, lanes=8)
@example(obs=3, widths=(20, 130), outputs=2, channels=1, rows=200, lanes=16)
@given(obs=SIZE, widths=WIDTHS, outputs=SIZE, channels=SIZE, rows=SIZE, lanes=st.sampled_from([4, 8, 16]))
def test_what_is_copied_or_turned_fits_its_room(obs, widths, outputs, channels, rows, lanes):
    layout = TowerLayout(Towers.of_network(Network((obs,), outputs, widths=widths, channels=channels)), rows)
    copied, transpose = matrices.Product._copied, matrices.transpose
    found = []

    def copying(product, emit, strip):
        assert product.shape[2] * strip.vectors * strip.lanes <= layout.room(lanes)
        found.append("copied")
        return copied(product, emit, strip)

    def turning(emit, shape, a, to):
        assert to.down == shape[0]
        assert shape[0] * shape[1] <= layout.turned
        found.append("turned")
        transpose(emit, shape, a, to)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xla.code(), "lanes", lanes)
        patch.setattr(matrices.Product, "_copied", copying)
        patch.setattr(matrices, "transpose", turning)
        xla._written("forward", 2, 4, lambda emit, *both: passes.forward(emit, layout, *both))
        xla._written("backward", 5, 4, lambda emit, *both: passes.backward(emit, layout, *both))
    assert "turned" in found
    assert "copied" in found or min(rows, max(widths)) < matrices.FAR


def computed(name, lanes, arrays, shapes, body):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xla.code(), "lanes", lanes)
        xla.register(f"{name}_{lanes}", given=len(arrays), made=len(shapes), body=body)
    kinds = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    return [np.asarray(array) for array in jax.ffi.ffi_call(f"{name}_{lanes}", kinds)(*arrays)]


@pytest.mark.parametrize(("network", "rows"), SHAPES[:4])
def test_the_lanes_of_a_machine_do_not_change_a_bit(network, rows):
    layout = TowerLayout(Towers.of_network(network), rows)
    weights, obs = made(network, rows)
    shapes = ((network.outputs, rows), (rows,), (layout.hidden,), (layout.room(16),))
    gradient_shapes = (weights.shape, (layout.gradients,), (layout.turned,), (layout.room(16),))
    name = f"lanes_{network.activation}_{rows}"
    found = []
    for lanes in (4, 8, 16):
        forward = computed(f"{name}_f", lanes, (weights, obs), shapes, lambda e, *both: passes.forward(e, layout, *both))
        gradients = (*forward[:2], np.ones(network.spread, np.float32)) if network.spread else forward[:2]
        given = (weights, obs, forward[2], *gradients)
        backward = computed(f"{name}_b", lanes, given, gradient_shapes, lambda e, *both: passes.backward(e, layout, *both))
        found.append([*forward[:3], backward[0]])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


def test_tanh_is_tanh():
    lanes = xla.code().lanes
    x = np.concatenate([np.linspace(-12, 12, 100_000), np.logspace(-30, 30, 992), [np.inf, -np.inf, np.nan, 0, 8, -8, 88, -88]])
    x = np.pad(x.astype(np.float32), (0, -x.size % lanes))

    def body(emit, given, made):
        def once(index):
            vector = activations.forward(emit, "tanh", emit.vector(emit.at(given[0], (index, lanes)), lanes))
            emit.store(vector, emit.at(made[0], (index, lanes)))

        emit.each(x.size // lanes, once)

    (found,) = computed("tanh", lanes, (x,), (x.shape,), body)
    exact = np.tanh(x.astype(np.float64))
    np.testing.assert_allclose(found, exact, rtol=4e-7, atol=0)
    assert np.nanmax(np.abs(found)) <= 1
    assert np.isnan(found).sum() == 1


@pytest.mark.parametrize("activation", support.ACTIVATIONS)
def test_what_is_not_a_number_is_not_hidden(activation):
    network = Network((4,), 2, widths=(8, 8), activation=activation)
    weights, obs = made(network, 16)
    predictions, back = jax.vjp(lambda weights: dense.predict_twins(network, weights, obs.at[2, 5].set(np.nan)), weights)
    for row in (*predictions[0], predictions[1]):
        np.testing.assert_array_equal(np.isnan(row), np.arange(16) == 5)
    assert np.isnan(back(predictions)[0]).any()


def test_it_works_one_by_one_under_vmap():
    network = Network((2,), 2, widths=(4,))
    weights, obs = made(network, 5)
    many = jnp.stack([obs, 2 * obs, 3 * obs])
    together = jax.vmap(lambda obs: dense.predict_twins(network, weights, obs)[0])(many)
    np.testing.assert_array_equal(together, [dense.predict_twins(network, weights, obs)[0] for obs in many])


def test_threads_may_ask_for_the_same_code_at_once():
    network = Network((2,), 2, widths=(4, 3), activation="relu")
    weights, obs = made(network, 11)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: np.asarray(dense.predict_twins(network, weights, obs)[1]), range(4)))
    for values in found:
        np.testing.assert_allclose(values, networks.twins(network, networks.grouped(network, weights), obs)[1], rtol=1e-5)


@pytest.mark.parametrize("wrong", [lambda w, o: (w[1:], o), lambda w, o: (w, o[1:]), lambda w, o: (w, o.astype(int))])
def test_arrays_of_another_shape_or_kind_are_refused(wrong):
    network = Network((3,), 2, widths=(4,))
    with pytest.raises(ValueError, match="these networks take"):
        dense.predict_twins(network, *wrong(*made(network, 5)))


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
    assert support.applies(network) is able


def test_another_interface_of_xla_is_left_alone(monkeypatch, tmp_path):
    header = tmp_path / "xla" / "ffi" / "api" / "c_api.h"
    header.parent.mkdir(parents=True)
    header.write_text("#define XLA_FFI_API_MAJOR 1\n#define XLA_FFI_API_MINOR 0\n")
    monkeypatch.setattr(jax.ffi, "include_dir", lambda: str(tmp_path))
    assert support.interface.__wrapped__() is None
    monkeypatch.setattr(support, "interface", lambda: None)
    assert "another foreign function interface" in support.missing()
