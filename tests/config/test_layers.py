"""Layers: what a YAML file, an override and Python arguments hold, and how they stack."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolute.config.error import ConfigError
from evolute.config.layers import file, override, parse, preset, presets, python, stack
from evolute.config.resolve import resolved


@pytest.fixture
def written(tmp_path):
    """A function that writes YAML files and stacks them."""

    def write(*texts):
        paths = []
        for number, text in enumerate(texts):
            paths.append(tmp_path / f"{number}.yaml")
            paths[-1].write_text(text)
        return stack(map(file, paths))

    return write


def plain(layer):
    return {key: setting.value for key, setting in layer.items()}


@pytest.mark.parametrize(
    ("texts", "merged"),
    [
        (["a: {x: 1, y: 2}", "a: {y: 3, z: 4}"], {"a.x": 1, "a.y": 3, "a.z": 4}),
        (["a: {b: {c: 1, d: 2}}", "a: {b: {c: 3}}"], {"a.b.c": 3, "a.b.d": 2}),
        (["a: 1", "a: 2", "a: 3"], {"a": 3}),
        (["a: [1, 2, 3]", "a: [4]"], {"a": [4]}),
        (["a: {x: 1, y: 2}", "a: 5"], {"a": 5}),
        (["a: 5", "a: {x: 1}"], {"a.x": 1}),
        (["a: 5", "a: {b: {c: 1}}"], {"a.b.c": 1}),
        (["a: {x: 1, y: 2}\nb: 3", "a:"], {"b": 3}),
        (["a: {x: 1, y: 2}", "a: {x: }"], {"a.y": 2}),
        (["a: {x: 1, y: 2}", "a: {x: null}"], {"a.y": 2}),
        (["a: {b: {c: 1}, d: 2}", "a: {b: ~}"], {"a.d": 2}),
        (["a: {x: 1}", "a:", "a: {y: 2}"], {"a.y": 2}),
        (["a: 1\nab: 2", "a:"], {"ab": 2}),
        (["a.x: 1\na:\n  y: 2"], {"a.x": 1, "a.y": 2}),
        (["opponents: history", "opponents.live: 1"], {"opponents": "history", "opponents.live": 1}),
        (["opponents: history\nopponents.live: 1", "opponents.live:"], {"opponents": "history"}),
        (["opponents: history\nopponents.live: 1", "opponents:"], {}),
        (["ppo: {discount: 0.9}", "ppo.discount.goal: 0.8"], {"ppo.discount": 0.9, "ppo.discount.goal": 0.8}),
        (["a: {x: 1, y: 2}", "a.x: 3"], {"a.x": 3, "a.y": 2}),
        (["a: {b.c: 1}", "a.b: {d: 2}"], {"a.b.c": 1, "a.b.d": 2}),
        (["a: {x: 0, y: false, z: ''}"], {"a.x": 0, "a.y": False, "a.z": ""}),
        (["", "a: 1", "# nothing"], {"a": 1}),
    ],
)
def test_files_merge_deeply_and_later_ones_win(written, texts, merged):
    assert plain(written(*texts)) == merged


@pytest.mark.parametrize(
    ("overrides", "merged"),
    [
        (["a.x=3"], {"a.x": 3, "a.y": 2}),
        (["a.x="], {"a.y": 2}),
        (["a="], {}),
        (["a=", "a.z=1"], {"a.z": 1}),
        (["a=7"], {"a": 7}),
        (["a.x=null"], {"a.y": 2}),
        (["a.x=key=value"], {"a.x": "key=value", "a.y": 2}),
        (["a.x=[0, 1]"], {"a.x": [0, 1], "a.y": 2}),
        (["a.x=log[1e-5, 1e-2]"], {"a.x": "log[1e-5, 1e-2]", "a.y": 2}),
    ],
)
def test_overrides_win_over_files_and_an_empty_one_removes(written, overrides, merged):
    assert plain(stack([written("a: {x: 1, y: 2}"), *map(override, overrides)])) == merged


def test_an_override_that_is_a_section_is_merged_like_one_in_a_file(written):
    assert plain(stack([written("a: {x: 1, y: 2}"), override("a={y: 3}")])) == {"a.x": 1, "a.y": 3}


def test_python_arguments_merge_like_files_and_none_leaves_alone(written):
    layer = stack([written("a: {x: 1, y: 2}\nb: 3"), python({"a": {"y": 5, "x": None}, "b": None, "c": [1, 2]})])
    assert plain(layer) == {"a.x": 1, "a.y": 5, "b": 3, "c": [1, 2]}


def test_every_value_knows_its_file_and_line(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("# a comment\npopulation: 4\ntoy:\n\n  h0: [0, 1]\n  h1:\n    0.5\n")
    sources = {key: setting.source for key, setting in file(path).items()}
    assert sources == {"population": f"{path}:2", "toy.h0": f"{path}:5", "toy.h1": f"{path}:6"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-5", 1e-5),
        ("1E5", 1e5),
        ("-2.5e+3", -2500.0),
        (".5", 0.5),
        ("3.", 3.0),
        ("12", 12),
        ("-7", -7),
        ("017", 17),
        ("0o17", 15),
        ("0x1f", 31),
        ("1_000", 1000),
        ("25_000_000", 25_000_000),
        ("-.inf", -math.inf),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("no", "no"),
        ("y", "y"),
        ("12:30", "12:30"),
        ("2024-01-31", "2024-01-31"),
        ("0b11", "0b11"),
        ("1e", "1e"),
        ("e5", "e5"),
        ("500k", "500k"),
        ("'1e-5'", "1e-5"),
        ("log[1e-5, 1e-2]", "log[1e-5, 1e-2]"),
        ("[1e-5, on]", [1e-5, "on"]),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text, value):
    read = parse(text)
    assert (type(read), read) == (type(value), value)


def test_not_a_number_is_a_number():
    assert math.isnan(parse(".nan"))


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers())
def test_every_number_that_python_prints_is_read_back(number):
    read = parse(repr(number))
    assert (type(read), read) == (type(number), number)


@pytest.mark.parametrize(
    ("text", "key", "first", "second"),
    [
        ("a: 1\nb: 2\na: 3\n", "a", 1, 3),
        ("a:\n  x: 1\n  y: 2\n  x: 3\n", "a.x", 2, 4),
        ("a:\n  x: 1\nb: 1\na:\n  y: 1\n", "a", 1, 4),
        ("a:\n  x: 1\na.x: 2\n", "a.x", 2, 3),
        ("a.x: 1\n\na:\n  x: 2\n", "a.x", 1, 4),
    ],
)
def test_a_key_that_stands_twice_in_one_file_is_an_error_with_both_lines(tmp_path, text, key, first, second):
    path = tmp_path / "twice.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        file(path)
    message = str(error.value)
    assert f"{path}:{second}" in message
    assert f"line {first}" in message
    assert repr(key) in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n- b\n", "key: value"),
        ("just words\n", "key: value"),
        ("a: [1, 2\n", "not valid YAML"),
        ("a: {r: log[1, 2]}\n", "must be quoted"),
        ("a: !secret 3\n", "!secret"),
        ("a: !!python/object/apply:os.getcwd []\n", "python/object"),
    ],
)
def test_a_file_that_cannot_be_read_as_settings_is_named(tmp_path, text, said):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        file(path)
    assert str(path) in str(error.value)
    assert said in str(error.value)


def test_a_file_that_is_not_there_or_not_text_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"missing\.yaml.*No such file"):
        file(tmp_path / "missing.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary\.yaml"):
        file(tmp_path / "binary.yaml")


@pytest.mark.parametrize("text", ["population", "=3", "", "a=[1", "a={b: 1", "a=!secret 3"])
def test_a_bad_override_is_an_error_that_quotes_it(text):
    with pytest.raises(ConfigError) as error:
        override(text)
    assert f"-m {text}" in str(error.value)


def test_an_unknown_preset_is_answered_with_the_closest():
    with pytest.raises(ConfigError, match=r"no preset 'tooy'; did you mean 'toy'\?.*\./tooy\.yaml"):
        preset("tooy")


def test_a_preset_given_as_a_path_is_read_from_there(tmp_path):
    (tmp_path / "mine.yml").write_text("population: 3")
    assert plain(preset(str(tmp_path / "mine.yml"))) == {"population": 3}


def test_sources_in_a_preset_name_it():
    assert preset("toy")["learner"].source.startswith("preset toy:")


@pytest.mark.parametrize("name", presets())
def test_every_shipped_preset_describes_a_run(name):
    config = resolved(preset(name))
    assert config.learner.name in (name, "ppo", "impala", "sb3", "sac", "td3", "dqn")
    assert len(config.space) > 0 or config.strategy.name == "random_search"
