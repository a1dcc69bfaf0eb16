"""Off-policy updates by machine code against the same by XLA."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learners.offpolicy.replaying import learner

from evolute.core.rng import stream
from evolute.learners.kit.native import support
from evolute.learners.offpolicy.train_state import fresh
from evolute.learners.offpolicy.updates import UPDATES
from evolute.learners.offpolicy.window import Batch

ENVS = {"sac": "gymnax:Pendulum-v1", "td3": "gymnax:Pendulum-v1", "dqn": "cartpole"}


def updated(made, *, native):
    """Metrics of some updates, and what they have made of a member."""
    spec = made._spec(made._full({}))
    assert spec.native
    spec = replace(spec, native=native)
    train, rng = fresh(spec, stream(1, "weights")), np.random.default_rng(2)
    h = {name: jnp.float32(made._full({})[name]) for name in spec.traced} | {"lr": jnp.float32(1e-3)}
    update, metrics = jax.jit(UPDATES[spec.algorithm], static_argnums=0), []
    for number in range(4):
        rows = [rng.normal(size=(spec.batch, *spec.policy.network.obs)) for _ in range(2)]
        action = rng.integers(0, 2, (spec.batch, 1)) if spec.algorithm == "dqn" else rng.uniform(-1, 1, (spec.batch, 1))
        facts = [rng.normal(size=spec.batch), np.full(spec.batch, 0.99), rng.integers(0, 2, spec.batch)]
        given = {
            "obs": rows[0],
            "action": action,
            "reward": facts[0],
            "discount": facts[1],
            "after": rows[1],
            "weight": facts[2],
        }
        batch = Batch(**{name: jnp.asarray(array, jnp.float32) for name, array in given.items()})
        train, told = update(spec, train, batch, h, jax.random.key(number))
        metrics.append(told)
    return np.array(metrics), train


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [("sac", {}), ("sac", {"activation": "tanh", "batch": 50}), ("td3", {"widths": (33, 20, 7)}), ("dqn", {"dueling": True})],
)
def test_machine_code_learns_what_xla_does(algorithm, settings):
    made = learner(algorithm, ENVS[algorithm], **{"widths": (64, 64), **settings})
    (metrics, train), (expected, theirs) = (updated(made, native=native) for native in (True, False))
    np.testing.assert_allclose(metrics, expected, rtol=1e-4, atol=1e-4)
    for one, other in zip(jax.tree.leaves(train), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def test_code_is_a_choice_that_a_run_keeps(monkeypatch):
    made = learner("dqn", "cartpole")
    assert made.choices["code"] == "native"
    assert not made._spec(made._full({"activation": "gelu"})).native
    assert not learner("dqn", "cartpole", code="xla")._spec(made._full({})).native
    monkeypatch.setattr(support, "missing", lambda: "llvmlite is not installed")
    with pytest.raises(ValueError, match=r"dqn\.code=native"):
        made.advice(100, [{}])
    (told,) = learner.__wrapped__("dqn", "cartpole").advice(100, [{}])
    assert "slower than machine code" in told
