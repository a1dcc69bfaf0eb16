"""The keys of a config: which there are, and where a learner's `space` belongs."""

from __future__ import annotations

from collections.abc import Mapping

from evolute.config.declared import declared
from evolute.config.environment import env_sections
from evolute.config.error import ConfigError
from evolute.config.layers import Layer
from evolute.config.settings import FIELDS, PLUGINS
from evolute.core.names import PluginSpec, closest, shipped


def move_space(layer: Layer, learner: str) -> Layer:
    """The layer with `space.x` as the learner's `x`; if both are given, the later one counts."""
    moved: Layer = {}
    for key, setting in layer.items():
        new = f"{learner}.{key.removeprefix('space.')}" if key.startswith("space.") else key
        moved.pop(new, None)
        moved[new] = setting
    return moved


def check_keys(layer: Layer, plugins: Mapping[str, PluginSpec]) -> None:
    """Every key must be a setting, or in the section of a plug-in; sections of plug-ins that are not in use may be there."""
    options = {spec.name: declared(spec.maker) for spec in plugins.values()}
    idle = {name for group in PLUGINS.values() for name in shipped(group)} - options.keys()
    idle |= env_sections(layer["env"].value if "env" in layer else None)
    for key, setting in layer.items():
        head = key.partition(".")[0]
        if key in FIELDS or ("." in key and (head in options or head in idle)):
            continue
        known = [*FIELDS, *(f"{name}.{option}" for name, taken in options.items() for option in taken.options)]
        if inside := [other for other in known if other.startswith(f"{key}.")]:
            raise ConfigError(f"{key} = {setting.value!r} ({setting.source}): {key} is a section: set {', '.join(inside)}")
        raise ConfigError(f"unknown key {key!r} ({setting.source}){closest(key, known)}")
