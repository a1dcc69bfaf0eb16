"""Many updates in a row beside Stable-Baselines3's own, from the same weights, minibatches and noise."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learners.offpolicy.replaying import learner

from evolute.learners.kit import networks, weights
from evolute.learners.offpolicy.train_state import fresh
from evolute.learners.offpolicy.updates import UPDATES
from evolute.learners.offpolicy.window import Batch

ENV = "Pendulum-v1"
ROWS = 16
UPDATED = 40
LR = 1e-3
CLOSE = LR
"""Adam makes a step of a gradient that is as good as nothing, so a rounded one may go the other way once."""
SETTINGS = {"widths": (9, 7), "batch": ROWS, "capacity": 1000, "lr": LR, "discount": 0.95, "tau": 0.02}


def batches(rng):
    """Minibatches; a fifth of their rows are the last of an episode, whose next observation counts for nothing."""
    for _ in range(UPDATED):
        done = rng.choice([0.0, 1.0], ROWS, p=[0.8, 0.2])
        obs, after = rng.normal(size=(2, ROWS, 3))
        arrays = obs, rng.uniform(-1, 1, (ROWS, 1)), rng.normal(size=ROWS), 0.95 * (1 - done), after, np.ones(ROWS)
        yield Batch(*(jnp.asarray(array, jnp.float32) for array in arrays))


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def theirs(torch):
    """A model of Stable-Baselines3's whose networks have the weights of a train state."""
    sb3 = pytest.importorskip("stable_baselines3")
    logger = pytest.importorskip("stable_baselines3.common.logger")

    def make(algorithm, spec, train, **settings):
        names = {"learning_rate": LR, "gamma": 0.95, "tau": 0.02, "batch_size": ROWS, "device": "cpu"}
        policy = {"net_arch": list(SETTINGS["widths"]), "activation_fn": torch.nn.ReLU}
        model = {"sac": sb3.SAC, "td3": sb3.TD3}[algorithm]("MlpPolicy", ENV, policy_kwargs=policy, **names, **settings)
        model.set_logger(logger.Logger(None, []))
        load(model.actor, actor_layers(spec, train.actor.weights))
        load(model.critic, critic_layers(spec, train.critic.weights))
        targets = np.asarray(train.targets)
        load(model.critic_target, critic_layers(spec, targets[: len(train.critic.weights)]))
        if algorithm == "td3":
            load(model.actor_target, actor_layers(spec, targets[len(train.critic.weights) :]))
        return model

    def load(module, layers):
        linear = [part for part in module.modules() if isinstance(part, torch.nn.Linear)]
        assert len(linear) == len(layers)
        for part, (w, b) in zip(linear, layers, strict=True):
            part.weight.data, part.bias.data = torch.tensor(w.T.copy()), torch.tensor(b.copy())

    return make


def actor_layers(spec, vector):
    """Weights and bias of each dense layer of a policy, as SB3 has them: the Gaussian's spread is a layer of its own."""
    arrays = weights.unpacked(networks.parts(spec.actor), np.asarray(vector))
    w, b = (arrays[f"policy/{kind}"] for kind in "wb")
    return [*dense(arrays, "actor"), *((w[:, [column]], b[[column]]) for column in range(w.shape[1]))]


def critic_layers(spec, vector):
    arrays = weights.unpacked(spec.critic_parts, np.asarray(vector))
    heads = {name: (arrays[f"{name}/head/w"], arrays[f"{name}/head/b"]) for name in ("q0", "q1")}
    return [layer for name, head in heads.items() for layer in (*dense(arrays, name), head)]


def dense(arrays, name):
    return [(arrays[f"{name}/dense{place}/w"], arrays[f"{name}/dense{place}/b"]) for place in range(2)]


def updated_by_sb3(torch, model, batch):
    """One gradient step of SB3's on a minibatch."""
    samples = pytest.importorskip("stable_baselines3.common.type_aliases").ReplayBufferSamples
    numbers = {name: torch.tensor(np.asarray(array)) for name, array in batch._asdict().items() if name != "teacher"}
    done = 1 - numbers["discount"][:, None] / 0.95
    given = samples(numbers["obs"], numbers["action"], numbers["after"], done, numbers["reward"][:, None], None)
    model.replay_buffer.sample = lambda size, env=None: given
    model.train(gradient_steps=1, batch_size=ROWS)


def check(spec, train, model):
    found = [*layers(model.actor), *layers(model.critic), *layers(model.critic_target)]
    size = len(train.critic.weights)
    expected = [
        *actor_layers(spec, train.actor.weights),
        *critic_layers(spec, train.critic.weights),
        *critic_layers(spec, np.asarray(train.targets)[:size]),
    ]
    for (w, b), (their_w, their_b) in zip(expected, found, strict=True):
        np.testing.assert_allclose(w, their_w.T, atol=CLOSE, rtol=0)
        np.testing.assert_allclose(b, their_b, atol=CLOSE, rtol=0)


def layers(module):
    arrays = [value.detach().numpy() for value in module.state_dict().values()]
    return list(zip(arrays[::2], arrays[1::2], strict=True))


@partial(jax.jit, static_argnums=0)
def update(spec, train, batch, h, key):
    return UPDATES[spec.algorithm](spec, train, batch, h, key)[0]


def started(algorithm, code, **settings):
    """A spec with machine code or XLA, a fresh train state, and settings by name."""
    made = learner(algorithm, ENV, code=code, **SETTINGS, **settings)
    full = made._full({})
    spec = made._spec(full)
    return spec, fresh(spec, np.random.default_rng(5)), {name: jnp.float32(full[name]) for name in spec.traced}


@pytest.mark.parametrize("code", ["xla", "native"])
def test_td3_updates_as_sb3_does(code, torch, theirs):
    """Without noise on target actions, since each library draws its own."""
    spec, train, h = started("td3", code, target_noise=0.0)
    model = theirs("td3", spec, train, policy_delay=2, target_policy_noise=0.0)
    for batch in batches(np.random.default_rng(6)):
        train = update(spec, train, batch, h, jax.random.key(0))
        updated_by_sb3(torch, model, batch)
    check(spec, train, model)
    assert int(train.updates) == UPDATED


@pytest.mark.parametrize("code", ["xla", "native"])
def test_sac_updates_as_sb3_does(code, torch, theirs, monkeypatch):
    spec, train, h = started("sac", code)
    model = theirs("sac", spec, train, ent_coef="auto", target_entropy=-1.0)
    drawn = []
    monkeypatch.setattr(torch.distributions.normal, "_standard_normal", lambda *_args, **_kwargs: drawn.pop(0))
    for place, batch in enumerate(batches(np.random.default_rng(6))):
        key = jax.random.key(place)
        drawn[:] = [torch.tensor(np.array(jax.random.normal(one, (ROWS, 1)))) for one in jax.random.split(key)]
        train = update(spec, train, batch, h, key)
        updated_by_sb3(torch, model, batch)
        assert not drawn
    check(spec, train, model)
    assert float(train.alpha.weights[0]) == pytest.approx(model.log_ent_coef.item(), abs=1e-4)
