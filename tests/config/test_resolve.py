"""Resolving: names, types, ranges and limits, and errors that name the key, where it stands and what was meant."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import pytest

from evolute.config.error import ConfigError
from evolute.config.layers import file, override, preset, python, stack
from evolute.config.resolve import resolved
from evolute.core.param import Choice, Float, Int, Ordinal
from evolute.core.protocols import Plan
from evolute.core.stop import Stop
from evolute.runs.assemble import assembled, described
from evolute.store.meta import RunMeta


class Hparams(TypedDict):
    """One hyper-parameter of each kind that settings come in."""

    lr: float
    layers: int
    widths: list[int]
    sizes: int | list[int]
    betas: tuple[float, float]
    activation: Literal["relu", "tanh"]
    bias: bool


class Optional(TypedDict):
    lr: float
    momentum: NotRequired[float]


def typed(state: Any, hparams: Hparams, steps: int, seed: int):
    return state, {"score": 0.0}


def free(state, hparams, steps, seed):
    return state, {"score": 0.0}


def optional(state: Any, hparams: Optional, steps: int, seed: int):
    return state, {"score": 0.0}


def other_names(weights, settings, count, seed):
    return weights, {"score": 0.0}


def other_arguments(weights, settings, seed):
    return weights, {"score": 0.0}


class Trainer:
    """A class whose constructor takes a setting, while train takes hyper-parameters."""

    def __init__(self, *, width: int = 4):
        self.width = width

    def train(self, state, hparams, steps, seed):
        return state, {"score": 0.0}

    def save(self, state: Any, folder: Path):
        """Nothing."""

    def load(self, folder: Path):
        """Nothing."""


def ranged_strategy(plan: Plan, *, rate: float = 0.1, sizes: tuple[float, float] = (1, 2)):
    raise NotImplementedError


VALUES = {"lr": 0.1, "layers": 2, "widths": [64, 64], "sizes": 8, "betas": [0.9, 0.99], "activation": "relu", "bias": True}


def toy(*overrides, **arguments):
    return resolved(stack([preset("toy"), *map(override, overrides), python(arguments)]))


def of(learner, *overrides, **hparams):
    """The config of a learner with these hyper-parameters."""
    layer = python({"learner": learner, "stop": {"turns": 3}, learner.__name__: hparams})
    return resolved(stack([layer, *map(override, overrides)]))


def first(config):
    """The hyper-parameters that the first members start with, as the strategy gets them."""
    return assembled(config, {}).plan.first


# --- what is a range, and what is a value


@pytest.mark.parametrize(
    ("name", "value", "param"),
    [
        ("lr", [0, 1], Float(0.0, 1.0)),
        ("lr", (1, 2), Float(1.0, 2.0)),
        ("lr", [1e-5, 1e-2], Float(1e-5, 1e-2)),
        ("lr", "log[1e-5, 1e-2]", Float(1e-5, 1e-2, log=True)),
        ("lr", "[0, 1]", Float(0.0, 1.0)),
        ("lr", "choice[0.1, 0.2]", Choice(0.1, 0.2)),
        ("lr", "1-log[0.9, 0.99]", Float(0.9, 0.99, complement=True)),
        ("lr", "float[1e-4, 1.1] from [0.9, 1.1]", Float(1e-4, 1.1, start=(0.9, 1.1))),
        ("lr", Float(1e-5, 1e-2, log=True), Float(1e-5, 1e-2, log=True)),
        ("layers", [1, 16], Int(1, 16)),
        ("layers", "int[1, 16]", Int(1, 16)),
        ("layers", "int-log[1, 1000]", Int(1, 1000, log=True)),
        ("layers", "ordinal[32, 64, 128]", Ordinal(32, 64, 128)),
        ("layers", "[1, 16]", Int(1, 16)),
        ("widths", "choice[[64, 64], [128, 128]]", Choice([64, 64], [128, 128])),
        ("activation", "choice[relu, tanh]", Choice("relu", "tanh")),
        ("bias", "choice[true, false]", Choice(True, False)),
    ],
)
def test_a_value_written_as_a_range_is_evolved(name, value, param):
    config = of(typed, **{**VALUES, name: value})
    assert dict(config.space) == {name: param}
    assert repr(config.space[name]) == repr(param)
    assert name not in config.learner.settings


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("lr", 0.1, 0.1),
        ("lr", 1, 1.0),
        ("layers", 3, 3),
        ("widths", [64, 64], [64, 64]),
        ("widths", [64, 128], [64, 128]),
        ("widths", [64, 64, 64], [64, 64, 64]),
        ("sizes", [64, 128], [64, 128]),
        ("betas", [0.9, 0.999], (0.9, 0.999)),
        ("activation", "tanh", "tanh"),
    ],
)
def test_a_plain_value_is_fixed(name, value, kept):
    config = of(typed, **{**VALUES, name: value})
    assert not config.space
    assert config.learner.settings[name] == kept
    assert type(config.learner.settings[name]) is type(kept)


def test_of_a_learner_that_declares_nothing_a_pair_is_a_range_and_longer_lists_are_values():
    config = of(free, lr=[0, 1], widths=[64, 64, 64], word="relu")
    assert dict(config.space) == {"lr": Float(0.0, 1.0)}
    assert config.learner.settings == {"widths": [64, 64, 64], "word": "relu"}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("lr", "log[0, 1]", "above 0"),
        ("lr", "lg[0.1, 1]", "did you mean 'log'"),
        ("lr", [1, 0], "lower bound must lie below"),
        ("lr", [0, 1, 2], "number"),
        ("lr", "choice[a, b]", "'a'"),
        ("lr", "log[1e-5, 1e-2", "lacks a bracket"),
        ("layers", "log[1, 10]", "not allowed"),
        ("layers", [0.5, 3], "integer|whole"),
        ("layers", "choice[1, 2.5]", "2.5"),
        ("activation", "choice[relu, gelu]", "gelu"),
        ("activation", [0, 1], "'relu' or 'tanh'"),
        ("widths", "int[1, 3]", "not allowed"),
    ],
)
@pytest.mark.parametrize("place", ["file", "-m"])
def test_a_bad_range_is_named_with_its_key_and_place(tmp_path, place, name, value, said):
    text = json.dumps(value) if isinstance(value, list) else value
    if place == "file":
        path = tmp_path / "bad.yaml"
        path.write_text(f"population: 4\ntyped:\n  {name}: {text}\n")
        layer, where = file(path), f"{path}:3"
    else:
        layer, where = override(f"typed.{name}={text}"), "-m"
    fixed = python({"learner": typed, "stop": {"turns": 3}, "typed": VALUES})
    with pytest.raises(ConfigError, match=said) as error:
        resolved(stack([fixed, layer]))
    assert f"typed.{name}" in str(error.value)
    assert f"({where})" in str(error.value)


def test_a_range_that_lost_its_bracket_is_no_word_even_if_the_learner_takes_anything():
    with pytest.raises(ConfigError, match=r"free\.lr"):
        of(free, lr="log[1e-5, 1e-2")


# --- keys


@pytest.mark.parametrize(
    ("text", "line", "key", "meant"),
    [
        ("popultion: 4", 1, "popultion", "'population'"),
        ("seed: 1\nstop:\n  turn: 3", 3, "stop.turn", "'stop.turns'"),
        ("toy:\n  h2: 1", 2, "toy.h2", "did you mean .toy.h[01].?"),
        ("toy:\n  hh0: 1", 2, "toy.hh0", "h0'"),
        ("toi:\n  h0: 1", 2, "toi.h0", "'toy.h0'"),
        ("pbt:\n  quantil: 0.2", 2, "pbt.quantil", "quantile'"),
        ("pbtt:\n  quantile: 0.2", 2, "pbtt.quantile", "'pbt.quantile'"),
        ("init:\n  hparam: []", 2, "init.hparam", "'init.hparams'"),
    ],
)
def test_a_misspelt_key_is_named_with_its_line_and_the_closest_key(tmp_path, text, line, key, meant):
    path = tmp_path / "misspelt.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=meant) as error:
        resolved(stack([preset("toy"), file(path)]))
    assert f"unknown key '{key}'" in str(error.value)
    assert f"({path}:{line})" in str(error.value)


@pytest.mark.parametrize(("setting", "keys"), [("stop=5", "stop.turns, stop.steps"), ("toy=3", "toy.h0, toy.h1")])
def test_a_value_for_a_section_names_the_keys_in_it(setting, keys):
    with pytest.raises(ConfigError, match=rf"\(-m\): \w+ is a section: set {keys}"):
        toy(setting)


def test_a_misspelt_override_is_named():
    with pytest.raises(ConfigError, match=r"unknown key 'popultion' \(-m\); did you mean 'population'\?"):
        toy("popultion=3")


def test_a_key_like_no_other_is_answered_with_all_there_are():
    with pytest.raises(ConfigError, match=r"xyzzy.*population.*toy\.h0"):
        toy("xyzzy=3")


def test_a_section_given_one_value_is_not_answered_with_its_own_name():
    with pytest.raises(ConfigError) as error:
        toy("toy=3")
    assert "did you mean 'toy'?" not in str(error.value)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("learner=tooy", r"learner = 'tooy' \(-m\): no learner 'tooy'; did you mean 'toy'\?"),
        ("strategy=ptb", r"strategy = 'ptb' \(-m\): no strategy 'ptb'; did you mean 'pbt'\?"),
        ("engine=inlin", r"engine = 'inlin' \(-m\): no engine 'inlin'; did you mean 'inline'\?"),
        ("engine=zzz", r"there are inline, mpi, processes, ray, simulated"),
        ("learner=no_such_module:train", r"learner = .*no_such_module"),
        ("learner=evolute.learners.toy:toyy", r"toyy.*did you mean 'toy'"),
        ("strategy=score", r"no strategy 'score'"),
        ("learner=", "no learner is set"),
    ],
)
def test_an_unknown_plug_in_is_named_with_the_closest(setting, said):
    with pytest.raises(ConfigError, match=said):
        toy(setting)


@pytest.mark.parametrize("setting", ["learner=3", "strategy=3", "engine=3", "strategy=[pbt]"])
def test_a_plug_in_is_a_name_or_something_to_call(setting):
    with pytest.raises(ConfigError, match=rf"{setting.partition('=')[0]} = .*\(-m\)"):
        toy(setting)


@pytest.mark.parametrize("setting", ["triangle.h=log[1, 2]", "random_search.anything=1", "simulated.script=x", "drift.x=1"])
def test_sections_of_plug_ins_that_are_not_in_use_are_tolerated(setting):
    assert dict(toy(setting).space) == dict(toy().space)


def test_ones_own_plug_in_has_a_section_of_its_name():
    config = toy("learner=evolute.learners.toy:toy", "toy.h0=0.5", "init=")
    assert config.learner.name == "toy"
    assert config.learner.settings == {"h0": 0.5}


@pytest.mark.parametrize("value", ["[0.1, 0.2]", "log[0.1, 0.2]", "choice[0.1, 0.2]"])
def test_a_range_in_a_strategys_section_is_refused(value):
    with pytest.raises(ConfigError, match=r"pbt\.quantile = .*\(-m\).*only a learner's settings can be a range"):
        toy(f"pbt.quantile={value}")


def test_a_pair_in_a_strategys_section_is_a_value_where_a_pair_is_expected():
    config = resolved(stack([preset("toy"), python({"strategy": ranged_strategy, "ranged_strategy": {"sizes": [3, 4]}})]))
    assert config.strategy.settings == {"sizes": (3.0, 4.0), "rate": 0.1}
    assert config.defaults["ranged_strategy.rate"] == 0.1


@pytest.mark.parametrize("setting", ["pbt.quantile=many", "pbt.exploit=truncatio", "pbt.burn_in=x"])
def test_a_plug_ins_setting_has_its_type(setting):
    with pytest.raises(ConfigError, match=rf"{setting.partition('=')[0]} = .*\(-m\)"):
        toy(setting)


@pytest.mark.parametrize("setting", ["pbt.quantile=0.9", "pbt.resample=2"])
def test_a_value_that_the_strategy_refuses_is_a_config_error(setting):
    config = toy(setting)
    with pytest.raises(ConfigError, match=rf"pbt.*{setting.partition('.')[2]}"):
        assembled(config, {})


def test_a_learners_setting_without_default_must_be_given():
    with pytest.raises(ConfigError, match=r"typed needs typed\.layers"):
        of(typed, **{name: value for name, value in VALUES.items() if name != "layers"})


# --- learners as people write them


def test_a_hyper_parameter_that_is_not_required_may_be_left_out_and_is_not_invented():
    assert of(optional, lr=0.1).learner.settings == {"lr": 0.1}


def test_a_hyper_parameter_that_is_not_required_may_be_evolved():
    assert dict(of(optional, lr=0.1, momentum=[0, 1]).space) == {"momentum": Float(0.0, 1.0)}


def test_a_class_with_settings_of_its_own_may_evolve_hyper_parameters_too():
    config = of(Trainer, width=8, lr="log[1e-4, 1]")
    assert dict(config.space) == {"lr": Float(1e-4, 1.0, log=True)}
    assert config.learner.settings["width"] == 8


def test_a_partial_is_a_training_function():
    learner = functools.partial(free)
    config = resolved(python({"learner": learner, "stop": {"turns": 1}, "space": {"lr": [0, 1]}}))
    assert dict(config.space) == {"lr": Float(0.0, 1.0)}


def test_a_function_with_other_arguments_is_told_which_are_needed():
    with pytest.raises(ConfigError, match="state, hparams, steps, seed"):
        of(other_arguments, lr=[0, 1])


def test_the_arguments_of_a_function_may_have_other_names():
    assert dict(of(other_names, lr=[0, 1]).space) == {"lr": Float(0.0, 1.0)}


def test_space_is_the_learners_section():
    config = resolved(python({"learner": free, "stop": {"turns": 1}, "space": {"lr": Float(0, 1), "layers": 3}}))
    assert dict(config.space) == {"lr": Float(0, 1)}
    assert config.learner.settings == {"layers": 3}


@pytest.mark.parametrize(
    ("earlier", "later", "fixed"),
    [("space.h0=0.25", "toy.h0=0.75", 0.75), ("toy.h0=0.25", "space.h0=0.75", 0.75)],
)
def test_of_space_and_the_learners_section_the_later_wins(earlier, later, fixed):
    assert toy("init=", earlier, later).learner.settings["h0"] == fixed


# --- limits


@pytest.mark.parametrize(
    ("settings", "stop"),
    [
        (["stop.turns=7"], Stop(turns=7)),
        (["stop.turns=", "stop.steps=500k"], Stop(steps=500_000)),
        (["stop.turns=", "steps=500k"], Stop(steps=500_000)),
        (["stop=", "stop.time=10m"], Stop(time=600.0)),
        (["stop=", "stop.score=1.19"], Stop(score=1.19)),
        (["stop=", "stop.total=2M"], Stop(total=2_000_000)),
        (["stop=", "stop.patience=5"], Stop(patience=5)),
        (["stop.turns=7", "stop.time=2h", "stop.score=-1"], Stop(turns=7, time=7200.0, score=-1.0)),
        (["stop.turns=", "stop.steps=10", "steps=50"], Stop(steps=50)),
        (["stop.turns=", "steps=50", "stop.steps=10"], Stop(steps=10)),
        (["stop.turns=9", "steps=50", "steps="], Stop(turns=9)),
    ],
)
def test_a_run_ends_as_the_last_word_says_and_steps_is_short_for_stop_steps(settings, stop):
    assert toy(*settings).stop == stop


# --- where the first members start


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("[{h0: 3}]", r"init\.hparams\[0\]\.h0 = 3 \(-m\): is not in \[0(\.0)?, 1(\.0)?\]"),
        ("[{}, {h1: -0.1}]", r"init\.hparams\[1\]\.h1 = -0\.1"),
        ("[{h0: .nan}]", r"h0 = nan"),
        ("[{h0: big}]", r"h0 = 'big'"),
        ("[{h3: 1}]", r"h3 = 1 \(-m\): is not evolved; there are h0, h1"),
        ("[{h0: 1}, {h0: 0}, {h0: 1}]", r"init\.hparams.*population"),
        ("{h0: 1}", r"init\.hparams"),
        ("[1, 2]", r"init\.hparams"),
    ],
)
def test_first_hyper_parameters_must_be_in_the_space(rows, said):
    with pytest.raises(ConfigError, match=said):
        toy(f"init.hparams={rows}")


def test_first_hyper_parameters_take_the_type_of_their_range():
    one, other = first(toy())
    assert one == {"h0": 1.0, "h1": 0.0}
    assert other == {"h0": 0.0, "h1": 1.0}
    assert all(type(value) is float for value in one.values())


@pytest.mark.parametrize(("value", "fine"), [("relu", True), ("gelu", False), (1, False)])
def test_a_first_category_must_be_one_of_the_choices(value, fine):
    hparams = {**VALUES, "activation": "choice[relu, tanh]"}
    layer = python({"learner": typed, "stop": {"turns": 1}, "typed": hparams, "init": {"hparams": [{"activation": value}]}})
    if fine:
        assert first(resolved(layer)) == ({"activation": value},)
    else:
        with pytest.raises(ConfigError, match="activation"):
            resolved(layer)


# --- what makes two configs the same run


@pytest.mark.parametrize(
    "settings",
    [
        ["engine=simulated"],
        ["durable=3"],
        ["keep=last 9, every 2"],
        ["runs=elsewhere"],
        ["name=other"],
        ["limit=10m"],
        ["triangle.h=1"],
        ["toy.h0=[0.0, 1]"],
        ["toy.h0=float[0, 1]"],
        ["population=2"],
        ["stop.turns=50"],
        ["pbt.quantile=0.25"],
    ],
)
def test_where_and_how_a_run_is_carried_out_is_not_its_identity(settings):
    assert toy(*settings).identity == toy().identity


@pytest.mark.parametrize(
    "settings",
    [
        ["seed=1"],
        ["stop.turns=51"],
        ["stop.score=1"],
        ["stop.total=1000"],
        ["stop.patience=3"],
        ["steps=1000"],
        ["population=3"],
        ["interval=5"],
        ["mode=async"],
        ["score=theta0"],
        ["wrap.time_limit=5"],
        ["strategy=random_search"],
        ["pbt.quantile=0.2"],
        ["learner=deceptive", "deceptive.h=[0, 1]", "init="],
        ["toy.h0=[0, 0.5]", "init="],
        ["toy.h0=log[1e-9, 1]", "init="],
        ["toy.h0=0.5", "init="],
        ["init="],
    ],
)
def test_what_a_run_computes_is_its_identity(settings):
    base = toy("init=") if "init=" in settings and len(settings) > 1 else toy()
    assert toy(*settings).identity != base.identity


def test_the_same_config_from_python_and_from_yaml_is_the_same_run(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("learner: toy\nstop: {turns: 3}\ntoy:\n  h0: [0, 1]\n  h1: choice[0, 1]\n")
    given = {"learner": "toy", "stop": {"turns": 3}, "toy": {"h0": Float(0, 1), "h1": Choice(0, 1)}}
    assert resolved(python(given)).identity == resolved(file(path)).identity


@pytest.mark.parametrize(
    "hparams",
    [
        {"lr": Float(0, 1)},
        {"lr": Float(1e-5, 1e-2, log=True, start=(1e-4, 1e-3))},
        {"lr": Float(0.9, 0.999, complement=True)},
        {"layers": Int(1, 1000, log=True)},
        {"word": Choice("1", "true", "a, b", "[x]", "")},
        {"word": Choice(None, "None", 1, 1.0, True)},
        {"widths": Choice((64, 64), (128,))},
        {"widths": Ordinal([64, 64], [128, 128])},
        {"word": "relu", "widths": (64, 64, 64)},
    ],
)
def test_a_config_read_back_from_the_journal_is_the_same_run(hparams):
    given = {"stop": {"turns": 3}, "free": hparams}
    config = resolved(python({"learner": free, **given}))
    kept = json.loads(json.dumps(RunMeta(**described(config)).to_json()))
    layer = {key: python({key: value})[key] for key, (value, _) in kept["config"].items()}
    again = resolved(stack([layer, python({"learner": free})]))
    assert again.identity == kept["identity"]
    assert json.loads(json.dumps(config.identity)) == config.identity


def test_every_given_value_keeps_its_source_and_the_rest_are_defaults():
    config = toy("population=5", seed=3)
    assert config.given["population"].source == "-m"
    assert config.given["seed"].source == "python"
    assert config.given["toy.h0"].source.startswith("preset toy:")
    assert config.defaults["mode"] == "sync"
    assert config.defaults["pbt.quantile"] == 0.25
    assert not config.given.keys() & config.defaults.keys()


def test_a_run_of_which_nothing_says_when_it_is_over_has_twenty_turns_and_says_so():
    config = resolved(override_all("learner=ppo", "env=CartPole-v1"))
    assert config.open_ended
    assert (config.stop.turns, config.settings.interval) == (20, 10_000)
    assert any("stops after 20 turns" in advice for advice in assembled(config, {}).advice)
    limited = resolved(override_all("learner=ppo", "env=CartPole-v1", "steps=1M", "interval=5k"))
    assert not limited.open_ended
    assert (limited.stop.turns, limited.settings.interval) == (None, 5_000)


def override_all(*assignments: str):
    return stack([override(assignment) for assignment in assignments])
