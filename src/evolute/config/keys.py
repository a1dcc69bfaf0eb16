"""The keys of a config: which there are, and where a learner's `space` belongs."""

from __future__ import annotations

from collections.abc import Mapping

from evolute.config.declared import declared
from evolute.config.environment import env_sections
from evolute.config.error import ConfigError
from evolute.config.layers import Layer
from evolute.config.settings import FIELDS, PLUGINS
from evolute.config.synonyms import hint
from evolute.core.names import PluginSpec, shipped


def move_space(layer: Layer, learner: PluginSpec) -> Layer:
    """The layer with `space.x` as the learner's `x`, and its groups of settings, as `reward.x`, in its section.

    If a setting is given in two ways, the later one counts.
    """
    groups = tuple(f"{group}." for group in declared(learner.maker).groups)
    moved: Layer = {}
    for key, setting in layer.items():
        inside = key.removeprefix("space.")
        new = f"{learner.name}.{inside}" if inside != key or key.startswith(groups) else key
        moved.pop(new, None)
        moved[new] = setting
    return moved


def name_sections(layer: Layer, plugins: Mapping[str, PluginSpec]) -> Layer:
    """The layer with sections of one's own plug-ins under their names, also if they were given by the module's name or in
    lower case: `reinforce.lr` is `Reinforce.lr` of `learner=reinforce:Reinforce`, unless that could mean another."""
    taken = {spec.name for spec in plugins.values()} | {name for group in PLUGINS.values() for name in shipped(group)}
    taken |= env_sections(layer["env"].value if "env" in layer else None) | {key.partition(".")[0] for key in FIELDS}
    other_names: dict[str, list[str]] = {}
    for spec in plugins.values():
        if spec.name not in shipped(spec.group):
            for other in _other_names(spec) - taken:
                other_names.setdefault(other, []).append(spec.name)
    named: Layer = {}
    for key, setting in layer.items():
        head, dot, option = key.partition(".")
        meant = other_names.get(head, []) if dot else []
        new = f"{meant[0]}.{option}" if len(meant) == 1 else key
        named.pop(new, None)
        named[new] = setting
    return named


def _other_names(spec: PluginSpec) -> set[str]:
    module = spec.target.partition(":")[0] if isinstance(spec.target, str) else ""
    return {spec.name.lower(), module, module.rpartition(".")[2]} - {"", spec.name}


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
        if inside := [other for other in known if f".{key}." in f".{other}"]:
            raise ConfigError(f"{key} = {setting.value!r} ({setting.source}): {key} is a section: set {', '.join(inside)}")
        raise ConfigError(f"unknown key {key!r} ({setting.source}){_elsewhere(key, plugins) or hint(key, known)}")


def _elsewhere(key: str, plugins: Mapping[str, PluginSpec]) -> str:
    """The section that was meant, if a plug-in has a setting of this name."""
    head, _, option = key.partition(".")
    fits = [spec.name for spec in plugins.values() if option in (taken := declared(spec.maker)).options or taken.free]
    if not option or not fits or any(name.partition(".")[0] == head for name in FIELDS):
        return ""
    return f"; there is no section {head!r}; did you mean {' or '.join(repr(f'{name}.{option}') for name in fits)}?"
