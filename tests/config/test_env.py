"""The environment in a config: needed or refused, its options and wrappers, and settings that cannot be ranges."""

import pytest

from evolute.config.error import ConfigError
from evolute.config.layers import python, stack
from evolute.config.resolve import resolved
from evolute.runs.assemble import assembled


def config(**values):
    return resolved(stack([python({"learner": "ppo", "stop": {"turns": 1}, **values})]))


def test_a_learner_that_trains_in_environments_needs_one():
    with pytest.raises(ConfigError, match=r"ppo needs an environment: set env, as in env=CartPole-v1"):
        config()


def test_a_learner_that_takes_no_environment_says_so():
    with pytest.raises(ConfigError, match=r"env = pong \(python\): the learner toy takes no environment"):
        resolved(stack([python({"learner": "toy", "env": "pong", "stop": {"turns": 1}, "toy": {"h0": 1.0, "h1": 1.0}})]))


def test_options_and_wrappers_reach_the_environment():
    made = config(env="pong", pong={"seat": "right"}, wrap={"time_limit": 50, "frame_stack": 2})
    assert (made.env.name, made.env.time_limit, made.env.frame_stack) == ("pong", 50, 2)
    assert made.env.options == {"pong": {"seat": "right"}}
    assert assembled(made, {}).learner.observation_space.shape == (20,)


def test_another_environment_is_another_run():
    one, other = config(env="pong"), config(env="pong", pong={"seat": "right"})
    assert one.identity != other.identity
    assert config(env="pong").identity == one.identity


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"fitness": "choice[training, evaluation]"}, "cannot be evolved, it is the same for all members"),
        ({"envs": "int[4, 64]"}, r"each value is another program, so list the few"),
        ({"envs": [4, 64]}, r"each value is another program"),
        ({"lr": -1.0}, "greater than or equal to 0"),
        ({"learning_rate": 1.0}, "unknown key 'ppo.learning_rate'"),
        ({"widths": []}, "at least 1 item"),
    ],
)
def test_what_a_setting_cannot_be_is_said(settings, said):
    with pytest.raises(ConfigError, match=said):
        config(env="pong", ppo=settings)


def test_ranges_over_settings_of_whole_numbers_are_whole():
    made = config(env="pong", ppo={"epochs": [1, 8], "envs": "ordinal[4, 8]", "widths": "ordinal[[32, 32], [64, 64]]"})
    assert str(made.space["epochs"]) == "int[1, 8]"
    assert made.learner.settings["lr"] == 3e-4
    assert assembled(made, {}).plan.architecture == {"widths"}


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ("CartPol-v1", "CartPole-v1"),
        ("gymnax:Breakout-MinAtr", "Breakout-MinAtar"),
        ("gym:Humanoid-v99", "Humanoid"),
        ("nowhere:make", "nowhere"),
    ],
)
def test_an_unknown_environment_names_the_closest(env, said):
    with pytest.raises(ConfigError, match=said):
        assembled(config(env=env), {})


def test_minibatches_must_divide_a_rollout():
    with pytest.raises(ConfigError, match=r"ppo.minibatches=3: 8 x 128 steps cannot be cut"):
        assembled(config(env="cartpole", ppo={"minibatches": 3}), {})


def test_what_was_chosen_once_stays(tmp_path):
    made = assembled(config(env="CartPole-v1"), {})
    assert made.learner.choices == {"env": "cartpole", "devices": 2, "code": "native"}
    again = assembled(config(env="CartPole-v1"), {"env": "gym:CartPole-v1", "devices": 2})
    assert again.learner.choices["env"] == "gym:CartPole-v1"


def test_a_wrapper_that_leaves_nothing_to_learn_from_is_refused():
    with pytest.raises(ConfigError, match=r"wrap\.reward_scale=0.*must be a finite number other than 0"):
        config(env="pong", wrap={"reward_scale": 0.0})
