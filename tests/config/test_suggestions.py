"""What errors suggest: other libraries' names of a setting, the section of one's own plug-in, quotes, lists of layers."""

from __future__ import annotations

import pytest

from evolute.config.error import ConfigError
from evolute.config.layers import override, stack
from evolute.config.resolve import resolved
from evolute.core.param import Ordinal

PPO = ["learner=ppo", "env=CartPole-v1"]
SB3 = ["learner=sb3:PPO", "env=CartPole-v1"]
OWN = """
class Reinforce:
    def train(self, state, hparams, steps, seed):
        return state, {"score": hparams["lr"]}

    def save(self, state, folder): ...
    def load(self, folder): ...

def best_only(plan, *, burn_in: int = 0): ...
"""


def config(*words):
    return resolved(stack(map(override, words)))


@pytest.mark.parametrize(
    ("given", "meant"),
    [("stop.turn", "stop.turns"), ("evaluation.member", "evaluation.members"), ("opponents.table", "opponents.tables")],
)
def test_a_misspelt_key_of_the_run_is_not_taken_for_one_of_a_learner_that_takes_any(tmp_path, monkeypatch, given, meant):
    (tmp_path / "freely.py").write_text("def train(state, hparams, steps, seed): ...")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=f"unknown key '{given}' .*; did you mean '{meant}'"):
        config("learner=freely:train", f"{given}=3")


@pytest.mark.parametrize(
    ("base", "given", "meant"),
    [
        (PPO, "ppo.learning_rate", "ppo.lr"),
        (PPO, "ppo.gamma", "ppo.discount"),
        (PPO, "ppo.ent_coef", "ppo.entropy"),
        (PPO, "ppo.gae", "ppo.gae_lambda"),
        (PPO, "ppo.n_steps", "ppo.unroll"),
        (PPO, "ppo.batch_size", "ppo.minibatches"),
        (PPO, "ppo.vf_coef", "ppo.value_weight"),
        (PPO, "ppo.clip_range", "ppo.clip"),
        (PPO, "ppo.n_epochs", "ppo.epochs"),
        (PPO, "ppo.net_arch", "ppo.widths"),
        (PPO, "ppo.num_envs", "ppo.envs"),
        (PPO, "ppo.entropi", "ppo.entropy"),
        (PPO, "lr", "ppo.lr"),
        (PPO, "learning_rate", "ppo.lr"),
        (PPO, "total_timesteps", "stop.steps"),
        (PPO, "population_size", "population"),
        (SB3, "sb3.lr", "sb3.learning_rate"),
        (SB3, "sb3.discount", "sb3.gamma"),
        (SB3, "sb3.entropy", "sb3.ent_coef"),
        (SB3, "sb3.unroll", "sb3.n_steps"),
        (SB3, "sb3.minibatches", "sb3.batch_size"),
        (SB3, "sb3.value_weight", "sb3.vf_coef"),
        (SB3, "sb3.clip", "sb3.clip_range"),
        (SB3, "sb3.epochs", "sb3.n_epochs"),
        (SB3, "sb3.widths", "sb3.net_arch"),
    ],
)
def test_the_names_of_the_field_are_known_in_both_directions(base, given, meant):
    with pytest.raises(ConfigError, match=rf"unknown key '{given}' \(-m\); did you mean '{meant}'"):
        config(*base, f"{given}=1")


@pytest.mark.parametrize(("base", "given"), [(PPO, "ppo.tau"), (PPO, "ppo.buffer_size")])
def test_a_setting_that_a_learner_does_not_have_is_not_mistaken_for_another(base, given):
    with pytest.raises(ConfigError, match=r"there are ppo\.lr, ppo\.anneal") as error:
        config(*base, f"{given}=1")
    assert "did you mean" not in str(error.value)


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "reinforce_here.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    return ["learner=reinforce_here:Reinforce"]


@pytest.mark.parametrize("section", ["Reinforce", "reinforce", "reinforce_here"])
def test_a_section_may_have_the_modules_name_or_be_in_lower_case(own, section):
    assert str(config(*own, f"{section}.lr=[0,1]").space["lr"]) == "[0, 1]"


def test_a_name_that_could_mean_two_plug_ins_is_refused_with_both(own):
    both = [*own, "strategy=reinforce_here:best_only"]
    assert "lr" in config(*both, "reinforce.lr=[0,1]").space
    with pytest.raises(ConfigError, match=r"no section 'reinforce_here'; did you mean 'Reinforce.lr'"):
        config(*both, "reinforce_here.lr=[0,1]")


def test_an_unknown_section_is_answered_with_the_one_that_has_the_setting(own):
    with pytest.raises(ConfigError, match=r"no section 'agent'; did you mean 'Reinforce.lr'\?"):
        config(*own, "agent.lr=[0,1]")


def test_a_width_stands_for_one_layer():
    assert config(*PPO, "ppo.widths=ordinal[32,64]").space["widths"] == Ordinal([32], [64])
    assert config(*PPO, "ppo.widths=ordinal[[32,32],[64]]").space["widths"] == Ordinal([32, 32], [64])
    with pytest.raises(ConfigError, match="'wide' is not allowed"):
        config(*PPO, "ppo.widths=ordinal[32,wide]")


@pytest.mark.parametrize("words", [["ppo.lr=log[1e-4,", "1e-2]"], ["ppo.lr=[1e-4,", "1e-2]"]])
def test_a_range_that_the_shell_took_apart_is_to_be_quoted(words):
    with pytest.raises(ConfigError, match=r"must be quoted, as in -m 'ppo\.lr=log\[1e-4, 1e-2\]'"):
        config(*PPO, *words)


def test_which_seats_are_played_is_set_in_the_section_of_the_game():
    with pytest.raises(ConfigError, match=r"unknown key 'ppo.seats' \(-m\); which seats .* as in Pursuit\.plays=hunter"):
        config(*PPO, "ppo.seats=hunter")
