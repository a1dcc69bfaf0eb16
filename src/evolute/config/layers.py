"""Layers of settings, stacked: a preset, files, overrides, Python arguments. Later wins, an empty value removes a key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from evolute.config.error import ConfigError
from evolute.core.names import closest

ALIASES = {"steps": "stop.steps"}
VALUE_AND_SECTION = ("opponents", "ppo.discount", "a2c.discount", "impala.discount", "pg.discount")
"""Keys that are set themselves, and have others below them."""
PRESETS = Path(__file__).parent / "presets"


@dataclass(frozen=True)
class Setting:
    """One value and where it was given."""

    value: Any
    source: str


Layer = dict[str, Setting]
"""Settings by their dotted key."""


class Loader(yaml.SafeLoader):
    """YAML as in version 1.2's core schema: `1e-5` is a number, and `on`, `no` and `12:30` are words."""


Loader.yaml_implicit_resolvers = {}

for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9][0-9_]*|0x[0-9a-fA-F]+|0o[0-7]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
):
    Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), list(_first))


def _whole(loader: Loader, node: yaml.ScalarNode) -> int:
    text = node.value.replace("_", "")
    return int(text, 0) if text[:2] in ("0x", "0o") else int(text)


Loader.add_constructor("tag:yaml.org,2002:int", _whole)


def parse(text: str) -> Any:
    """One value as YAML writes it."""
    return yaml.load(text, Loader)


def preset(name: str) -> Layer:
    """The preset of this name, or the file if the name is a path."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return file(path)
    if "=" in name:
        raise ConfigError(f"{name} is no preset but a setting: settings come last, all behind one -m, as in -m {name}")
    names = presets()
    if name not in names:
        raise ConfigError(f"no preset {name!r}{closest(name, names)}; a file is given by its path, such as ./{name}.yaml")
    return file(PRESETS / f"{name}.yaml", f"preset {name}")


def presets() -> list[str]:
    """The names of the presets that come with Evolute."""
    return sorted(path.stem for path in PRESETS.glob("*.yaml"))


def file(path: Path, label: str | None = None) -> Layer:
    """The settings of a YAML file, each with its line."""
    label = label or str(path)
    try:
        node = yaml.compose(path.read_text(), Loader)
    except OSError as error:
        raise ConfigError(f"cannot read the config file {path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        hint = "; a range inside { } must be quoted" if "{" in str(error) or "flow" in str(error) else ""
        raise ConfigError(f"{path} is not valid YAML{hint}: {' '.join(str(error).split())}") from error
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError(f"{path} must have `key: value` lines")
    layer: Layer = {}
    for key, setting in _leaves(node, "", label):
        _check_once(key, setting, layer)
        layer[key] = setting
    return layer


def override(text: str) -> Layer:
    """The setting in `key=value`, as on the command line."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        rest = "; a value with spaces must be quoted, as in -m 'ppo.lr=log[1e-4, 1e-2]'" if "]" in text else ""
        raise ConfigError(f"-m {text}: write key=value, or key= to remove the key{rest}")
    try:
        given = parse(value)
    except yaml.YAMLError as error:
        open_ended = value.count("[") > value.count("]")
        rest = "; a value with spaces must be quoted, as in -m 'ppo.lr=log[1e-4, 1e-2]'" if open_ended else ""
        raise ConfigError(f"-m {text}: the value is not valid YAML{rest}") from error
    if isinstance(given, dict) and value.rstrip().endswith(":"):
        raise ConfigError(
            f"-m {text}: something is missing behind the colon, such as the port, or the command, in env=connect:9000"
        )
    return python({key.strip(): given}, "-m") if isinstance(given, dict) else {key.strip(): Setting(given, "-m")}


def python(values: Mapping[str, Any], label: str = "python", prefix: str = "") -> Layer:
    """Settings given as Python arguments; a dict is a section, None is left out."""
    layer: Layer = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and not isinstance(value, type):
            layer |= python(value, label, f"{prefix}{key}.")
        elif value is not None:
            layer[f"{prefix}{key}"] = Setting(value, label)
    return layer


def stack(layers: Iterable[Layer]) -> Layer:
    """All layers as one: later ones win, and an empty value removes its key and all below it."""
    merged: Layer = {}
    for layer in layers:
        for given, setting in layer.items():
            key = ALIASES.get(given, given)
            removed = setting.value is None
            merged = {other: kept for other, kept in merged.items() if not _covers(key, other, removed=removed)}
            if setting.value is not None:
                merged[key] = setting
    return merged


def source(key: str, layer: Layer) -> str:
    """Where a key was given."""
    return layer[key].source if key in layer else "default"


def _covers(key: str, other: str, *, removed: bool) -> bool:
    """Whether setting `key` replaces what was set as `other`: the same key, one below it, or one above it.

    A key that is a value as well as a section, as `opponents` is, takes its section along only if it is `removed`.
    """
    below = other.startswith(f"{key}.") and (removed or key not in VALUE_AND_SECTION)
    above = key.startswith(f"{other}.") and other not in VALUE_AND_SECTION
    return other == key or below or above


def _check_once(key: str, setting: Setting, before: Layer) -> None:
    if key in before:
        line = before[key].source.rpartition(":")[2]
        raise ConfigError(f"{setting.source}: the key {key!r} is already set in line {line}")


def _leaves(node: yaml.MappingNode, prefix: str, label: str) -> Iterator[tuple[str, Setting]]:
    keys: Layer = {}
    for key_node, value in node.value:
        key, line = f"{prefix}{key_node.value}", key_node.start_mark.line + 1
        _check_once(key, Setting(None, f"{label}:{line}"), keys)
        keys[key] = Setting(None, f"{label}:{line}")
        if isinstance(value, yaml.MappingNode) and value.value:
            yield from _leaves(value, f"{key}.", label)
        else:
            yield key, Setting(_construct(value, f"{label}:{line}"), f"{label}:{line}")


def _construct(node: yaml.Node, where: str) -> Any:
    loader = Loader("")
    try:
        return loader.construct_document(node)
    except yaml.constructor.ConstructorError as error:
        raise ConfigError(f"{where}: {error.problem}; only plain values are read") from error
    finally:
        loader.dispose()
