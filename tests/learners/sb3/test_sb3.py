"""Stable-Baselines3 as a learner: what holds for every family of algorithms, and what an heir inherits."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from evolute.config.declared import built, declared
from evolute.core.names import PluginSpec, resolve
from evolute.core.order import Order, Ref
from evolute.core.protocols import silently
from evolute.core.tree import digest
from evolute.envs.spec import EnvSpec
from evolute.testing import check_learner

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.utils import set_random_seed
from torch.nn.utils import parameters_to_vector

from evolute.learners.sb3 import algorithm
from evolute.learners.sb3.model import build

ON = {"n_steps": 16, "net_arch": (8,)}
OFF = {"learning_starts": 8, "batch_size": 8, "buffer_size": 64, "net_arch": (8,)}
FAMILIES = {
    "PPO": ("CartPole-v1", {**ON, "batch_size": 16, "n_epochs": 2, "normalize": True}),
    "A2C": ("CartPole-v1", {**ON, "envs": 2}),
    "DQN": ("CartPole-v1", {**OFF, "target_update_interval": 10}),
    "SAC": ("Pendulum-v1", OFF),
    "TD3": ("Pendulum-v1", {**OFF, "action_noise": 0.1}),
    "TQC": ("Pendulum-v1", OFF),
    "TRPO": ("CartPole-v1", {**ON, "batch_size": 16}),
    "RecurrentPPO": ("CartPole-v1", {"n_steps": 16, "batch_size": 16, "n_epochs": 1, "net_arch": (8,)}),
}
STEPS = 24


def learner(name, **settings):
    env, usual = FAMILIES[name]
    return built(resolve("learners", f"sb3:{name}"), {**usual, **settings}, EnvSpec(env))


def turn(sb3, start, order, own=None):
    """The tree after a turn, and its outcome; `own` is what the member itself was."""
    states, outcomes = sb3.train([start], [order], fetch=lambda ref: own, progress=silently)
    return states[0], outcomes[0]


def first(sb3, member=0, **hparams):
    return turn(sb3, None, Order(member, 0, hparams, steps=STEPS, seed=5 + member))[0]


def heir(**hparams):
    """An order of member 1 to go on from member 0."""
    return Order(1, 1, hparams, steps=STEPS, seed=9, start=Ref(0, 0), own=Ref(1, 0))


def same(one, other):
    return digest(one) == digest(other)


@pytest.mark.parametrize("name", FAMILIES)
def test_it_keeps_the_laws_of_learners(name):
    check_learner(learner(name), [{"learning_rate": 1e-3}, {"learning_rate": 1e-2}], steps=STEPS)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_step_after_save_and_load_is_the_step_of_one_who_never_saved(name):
    sb3 = learner(name)
    lived = build(sb3.algorithm, sb3.env, sb3.settings, seed=1)
    lived.model.learn(STEPS)
    saved = build(sb3.algorithm, sb3.env, sb3.settings, seed=2, tree=lived.tree())
    assert same(saved.tree(), lived.tree()), "a clone is not its parent"
    for made in (lived, saved):
        if "rollout_buffer" in vars(made.model):
            made.model.rollout_buffer = lived.model.rollout_buffer
        made.model.set_logger(Logger(None, []))
        set_random_seed(3)
        off_policy = {"gradient_steps": 2, "batch_size": 8} if name in ("DQN", "SAC", "TD3", "TQC") else {}
        made.model.train(**off_policy)
    assert same(saved.tree(), lived.tree())


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "TRPO"])
def test_a_changed_learning_rate_acts_on_the_very_next_step(name):
    sb3 = learner(name, ent_coef=0.1) if name in ("SAC", "TQC") else learner(name)
    start = first(sb3, learning_rate=1e-2)
    kept, _ = turn(sb3, start, heir(learning_rate=0.0))
    moved, _ = turn(sb3, start, heir(learning_rate=1e-2))
    learnt = [key for key in start["modules"]["policy"] if "target" not in key]
    for key in learnt:
        np.testing.assert_array_equal(kept["modules"]["policy"][key], start["modules"]["policy"][key], err_msg=key)
    assert any((moved["modules"]["policy"][key] != start["modules"]["policy"][key]).any() for key in learnt)


def test_every_hyper_parameter_is_that_of_the_order():
    ppo = learner("PPO")
    tree = first(ppo, gamma=0.9, clip_range=0.3)
    model = build(ppo.algorithm, ppo.env, {**ppo.settings, "gamma": 0.5, "clip_range": 0.1}, 0, tree)
    assert (model.model.gamma, model.model.rollout_buffer.gamma, model.normaliser.gamma) == (0.5, 0.5, 0.5)
    assert model.model.clip_range(1.0) == 0.1
    sac = learner("SAC")
    fixed = first(sac, ent_coef=0.5)
    changed = build(sac.algorithm, sac.env, {**sac.settings, "ent_coef": 0.2}, 0, fixed).model
    assert float(changed.ent_coef_tensor) == pytest.approx(0.2)
    learnt = build(sac.algorithm, sac.env, sac.settings, 0, first(sac, learning_rate=1e-1))
    assert float(learnt.model.log_ent_coef.detach()) != 0


def test_schedules_run_along_the_line_of_descent():
    sb3 = learner("PPO")
    tree = first(sb3)
    half = {**sb3.settings, "learning_rate": 0.1, "clip_range": 0.2, "anneal": 2 * tree["counters"]["num_timesteps"]}
    model = build(sb3.algorithm, sb3.env, half, 0, tree).model
    assert (model.lr_schedule(1.0), model.clip_range(1.0)) == (pytest.approx(0.05), pytest.approx(0.1))


@pytest.mark.parametrize(("policy", "whose"), [("copy", 0), ("keep", 1), ("reset", None)])
def test_optimiser_and_buffer_are_inherited_as_the_settings_say(policy, whose):
    sb3 = learner("SAC", inherit_optimiser=policy, inherit_buffer=policy)
    members = [first(sb3, member) for member in (0, 1)]
    assert ("own" in sb3.links) == (policy == "keep")
    begun = sb3._inherited(members[0], heir(), lambda ref: members[ref.member])
    assert same(begun["modules"], members[0]["modules"])
    expected = {"optimisers": {}, "buffer": None} if whose is None else members[whose]
    for part in ("optimisers", "buffer"):
        assert same(begun[part], expected[part]), part
    grown, outcome = turn(sb3, members[0], heir(), own=members[1])
    assert outcome.error is None
    assert grown["buffer"]["next"] == (STEPS if policy == "reset" else 2 * STEPS)
    own = Order(0, 1, {}, steps=STEPS, seed=9, start=Ref(0, 0))
    assert same(sb3._inherited(members[0], own, lambda ref: []), members[0]), "whoever goes on by itself inherits nothing"


@pytest.mark.parametrize(("size", "kept"), [(16, 16), (128, 24)])
def test_a_buffer_of_another_size_takes_the_latest_that_fits(size, kept):
    sb3 = learner("SAC")
    tree = first(sb3)
    buffer = build(sb3.algorithm, sb3.env, {**sb3.settings, "buffer_size": size}, 0, tree).model.replay_buffer
    assert buffer.size() == kept
    rewards = np.roll(buffer.rewards[:kept], -buffer.pos, axis=0) if buffer.full else buffer.rewards[:kept]
    np.testing.assert_array_equal(rewards, tree["buffer"]["rows"]["rewards"][STEPS - kept : STEPS])


def test_an_exported_member_is_an_ordinary_zip(tmp_path):
    sb3 = learner("PPO")
    policy = sb3.policy(first(sb3))
    policy.save(tmp_path / "policy.zip")
    assert {path.name for path in tmp_path.iterdir()} == {"policy.zip", "policy_vecnormalize.pkl"}
    plain = PPO.load(tmp_path / "policy.zip", device="cpu")
    observation = np.array([0.1, -0.2, 0.03, 0.4], np.float32)
    seen = policy.built.normaliser.normalize_obs(observation)
    assert plain.predict(seen, deterministic=True)[0] == policy(observation)
    assert "stable_baselines3.PPO.load" in policy.use("policy.zip")


def test_fresh_episodes_follow_from_their_seed():
    sb3 = learner("A2C")
    tree = first(sb3)
    one, other = (sb3.evaluate(tree, {}, seed=4, episodes=3, progress=silently) for _ in range(2))
    assert (len(one), one) == (3, other)


def test_one_who_learnt_in_several_envs_is_measured_in_one():
    sb3 = learner("DQN", envs=2)
    assert len(sb3.evaluate(first(sb3), {}, seed=4, episodes=2, progress=silently)) == 2


class Colours(gymnasium.Env):
    """Shows noise for eight steps."""

    observation_space = gymnasium.spaces.Box(0, 255, (36, 36, 3), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self._shown(), {}

    def step(self, action):
        self.steps += 1
        return self._shown(), 1.0, self.steps >= 8, False, {}

    def _shown(self):
        return self.np_random.integers(0, 256, (36, 36, 3), np.uint8)


class Rules(Colours):
    """Allows one action in each step, which is always another one."""

    observation_space = gymnasium.spaces.Dict({"noise": gymnasium.spaces.Box(-1, 1, (2,))})
    action_space = gymnasium.spaces.Discrete(4)

    def action_masks(self):
        return np.arange(4) == self.steps % 4

    def step(self, action):
        assert action == self.steps % 4, "this is not allowed"
        return super().step(action)

    def _shown(self):
        return {"noise": self.np_random.uniform(-1, 1, 2).astype(np.float32)}


gymnasium.register("probes/Colours-v0", Colours)
gymnasium.register("probes/Rules-v0", Rules)


def test_of_images_the_rewards_alone_are_normalised():
    settings = {**ON, "batch_size": 16, "n_epochs": 1, "normalize": True}
    sb3 = built(resolve("learners", "sb3:PPO"), settings, EnvSpec("probes/Colours-v0"))
    tree = first(sb3)
    assert tree["normaliser"]["obs"] is None
    assert turn(sb3, tree, heir())[1].metrics["score"] == 8


def test_one_who_knows_of_masks_is_measured_and_acts_with_them():
    settings = {**ON, "batch_size": 16, "n_epochs": 1, "normalize": True}
    sb3 = built(resolve("learners", "sb3:MaskablePPO"), settings, EnvSpec("probes/Rules-v0"))
    tree = first(sb3)
    assert sb3.evaluate(tree, {}, seed=1, episodes=2, progress=silently) == [8, 8]
    assert sb3.policy(tree)({"noise": np.zeros(2, np.float32)}, action_masks=np.arange(4) == 3) == 3


def test_ars_goes_on_from_what_it_had_learnt():
    settings = {"n_delta": 2, "delta_std": 0.05, "zero_policy": False}
    sb3 = built(resolve("learners", "sb3:ARS"), settings, EnvSpec("CartPole-v1"))
    model = build(sb3.algorithm, sb3.env, sb3.settings, 7, first(sb3)).model
    policy = parameters_to_vector(model.policy.parameters()).detach()
    np.testing.assert_array_equal(policy, model.weights)


def test_an_heir_of_another_architecture_cannot_keep_its_optimiser():
    sb3 = learner("PPO", inherit_optimiser="keep")
    members = [first(sb3, 0, net_arch=(8,)), first(sb3, 1, net_arch=(16,))]
    begun = sb3._inherited(members[0], heir(net_arch=(8,)), lambda ref: members[ref.member])
    assert begun["optimisers"] == {}
    assert turn(sb3, members[0], heir(net_arch=(8,)), own=members[1])[1].error is None


def test_settings_are_those_of_the_constructor_and_the_section_is_sb3():
    options = declared(resolve("learners", "sb3:SAC")).options
    assert {"learning_rate", "tau", "buffer_size", "train_freq", "ent_coef", "net_arch"} <= options.keys()
    assert not {"env", "verbose", "seed", "_init_setup_model", "tensorboard_log", "replay_buffer_class"} & options.keys()
    assert options["learning_starts"].default == 100
    assert PluginSpec("learners", "sb3:SAC").name == "sb3"


def test_names_that_are_not_there_are_told(monkeypatch):
    with pytest.raises(ValueError, match="did you mean 'PPO'"):
        resolve("learners", "sb3:PP0")
    with pytest.raises(ValueError, match="as in sb3:PPO"):
        resolve("learners", "sb3")
    with pytest.raises(ValueError, match="no single Gymnasium envs"):
        built(resolve("learners", "sb3:PPO"), {}, EnvSpec("envpool:CartPole-v1"))
    monkeypatch.setattr(algorithm, "LIBRARIES", ("not_installed_here",))
    with pytest.raises(ValueError, match=r"pip install 'evolute\[sb3\]'"):
        algorithm.algorithm_of.__wrapped__("PPO")


def test_what_cannot_be_built_is_told_before_a_run():
    sb3 = built(resolve("learners", "sb3:SAC"), {}, EnvSpec("CartPole-v1"))
    with pytest.raises(ValueError, match="SAC cannot be built for gym:CartPole-v1"):
        sb3.advice(100, [{}])


@pytest.mark.parametrize(
    ("kind", "wrap", "says"),
    [
        ("text", {}, r"A2C cannot be built for .*Strange, whose observations are Text\(.*TypeError"),
        ("dict", {"obs_scale": 0.5}, r"wrap.obs_scale=0.5: observations are Dict\(.*only a Box can be scaled"),
        ("nope", {}, r"Strange' with the options {'kind': 'nope'} raised KeyError: 'nope'"),
    ],
)
def test_spaces_and_makers_that_do_not_work_are_told_in_one_sentence(kind, wrap, says):
    spec = EnvSpec("tests.learners.sb3.strange:Strange", {"Strange": {"kind": kind}}, **wrap)
    with pytest.raises(ValueError, match=says):
        built(resolve("learners", "sb3:A2C"), {}, spec).advice(100, [{}])
