"""A stacked layer, resolved: names looked up, values checked against their types, ranges turned into a space."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evolute.config.declared import declared, takes_env
from evolute.config.error import ConfigError
from evolute.config.layers import Layer, Setting
from evolute.config.section import Section, checked, section
from evolute.config.settings import FIELDS, PLUGINS, Change, RunSettings
from evolute.core.durability import Keep
from evolute.core.names import PluginSpec, closest, resolve, shipped
from evolute.core.order import Json
from evolute.core.param import Choice, Float, Int, Ordinal
from evolute.core.solo import ARGUMENTS, is_train
from evolute.core.space import Space
from evolute.core.stop import Stop
from evolute.envs.spec import EnvSpec

ENV_FREE = "your own code makes its environment itself"
LIMITS = ("stop.turns", "stop.steps", "stop.time", "stop.score")
TURNS, STEPS = 20, 10_000
"""How long a run goes on of which nothing says when it is over, and the interval of learners in environments."""


@dataclass(frozen=True)
class Config:
    """A run, fully described. `given` is what was set, by key, and `defaults` what was not."""

    settings: RunSettings
    learner: PluginSpec
    strategy: PluginSpec
    engine: PluginSpec
    space: Space
    env: EnvSpec | None
    given: Layer
    defaults: Mapping[str, Any]

    @property
    def open_ended(self) -> bool:
        """Whether nothing was said of when the run is over."""
        return self.defaults.get("stop.turns") is not None

    @property
    def stop(self) -> Stop:
        return Stop(**vars(self.settings.stop))

    @property
    def name(self) -> str:
        return str(self.settings.name or self.learner.name)

    @property
    def identity(self) -> Json:
        """What makes two configs the same run: everything but where and how it is carried out."""
        values = {key: value for key, value in self.settings.flat().items() if key not in PLUGINS}
        plain = {key: plain_value(value) for key, value in values.items() if FIELDS[key].change != Change.ANY_TIME}
        plugins = {"learner": self.learner, "strategy": self.strategy}
        named = {kind: [plain_value(made.target), plain_value(made.settings)] for kind, made in plugins.items()}
        made_with = {} if self.env is None else plain_value(self.env.options)
        return {**plain, **named, "env options": made_with, "space": {name: str(param) for name, param in self.space.items()}}


def resolved(layer: Layer) -> Config:
    """The config that a layer describes; every mistake is a ConfigError that names the key and where it stands."""
    values = {key: checked(key, f.type, layer.get(key, Setting(f.default, "default"))) for key, f in FIELDS.items()}
    if values["learner"] is None:
        raise ConfigError("no learner is set: name a preset (evolute run toy), or set learner=…")
    plugins = {kind: _found(kind, values[kind], layer) for kind in PLUGINS}
    layer = _spaced(layer, plugins["learner"].name)
    _check_keys(layer, plugins)
    read = {
        kind: section(made.name, layer, declared(made.maker), evolvable=kind == "learner") for kind, made in plugins.items()
    }
    space = Space(read["learner"].ranges)
    env = _env(values, layer, plugins["learner"])
    assumed = _assumed(values, layer, env)
    values |= assumed
    _check_first(values["init.hparams"], values["population"], space, layer)
    defaults = {key: field.default for key, field in FIELDS.items() if key not in layer} | assumed
    for kind, made in plugins.items():
        defaults |= {f"{made.name}.{option}": value for option, value in read[kind].defaults.items()}
    if values["workers"] is not None and "workers" in read["engine"].defaults:
        read["engine"].fixed["workers"] = values["workers"]
    recipes = {kind: _recipe(plugins[kind], read[kind]) for kind in PLUGINS}
    return Config(
        RunSettings.of(values), recipes["learner"], recipes["strategy"], recipes["engine"], space, env, layer, defaults
    )


def _assumed(values: Mapping[str, Any], layer: Layer, env: EnvSpec | None) -> dict[str, Any]:
    """What is better than a default where nothing was said."""
    interval = {"interval": STEPS} if env is not None and "interval" not in layer else {}
    limit = {"stop.turns": TURNS} if all(values[key] is None for key in LIMITS) else {}
    return interval | limit


def _env(values: Mapping[str, Any], layer: Layer, learner: PluginSpec) -> EnvSpec | None:
    """The environment, with what is said of it in the sections of environments."""
    name, where = values["env"], f"env = {values['env']} ({_source('env', layer)})"
    if not takes_env(learner.maker):
        if name is not None:
            raise ConfigError(f"{where}: the learner {learner.name} takes no environment; {ENV_FREE}")
        return None
    if name is None:
        raise ConfigError(f"the learner {learner.name} needs an environment: set env, as in env=CartPole-v1 or env=pong")
    options: dict[str, dict[str, Any]] = {}
    for key, setting in layer.items():
        head, _, option = key.partition(".")
        if head in _env_sections(name) and option:
            options.setdefault(head, {})[option] = setting.value
    try:
        return EnvSpec(name, options, **{key.removeprefix("wrap."): values[key] for key in FIELDS if key.startswith("wrap.")})
    except ValueError as error:
        raise ConfigError(f"{where}: wrap.{error}") from error


def _env_sections(name: str | None) -> set[str]:
    """Where settings of an environment may stand: by the name of its library, or of the user's own maker."""
    return {*shipped("envs.adapters"), *shipped("envs.ours"), *([name.rpartition(":")[2]] if name and ":" in name else [])}


def plain_value(value: Any) -> Json:
    """A value as JSON: a callable as its import path, a range as its text."""
    if isinstance(value, (Float, Int, Choice, Ordinal, Keep)):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {key: plain_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    named = value if inspect.isroutine(value) or isinstance(value, type) else type(value)
    return f"{named.__module__}:{named.__qualname__}"


def _found(kind: str, target: Any, layer: Layer) -> PluginSpec:
    """The plug-in that is named or given, before its settings are known."""
    where = f"{kind} = {target!r} ({_source(kind, layer)})"
    recipe = PluginSpec(PLUGINS[kind], target)
    if isinstance(target, str):
        try:
            resolve(PLUGINS[kind], target)
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from error
    elif isinstance(target, (bool, int, float, list, tuple, Mapping)) or (kind != "learner" and not callable(target)):
        raise ConfigError(f"{where}: should be a name, or in Python the thing itself")
    if kind == "learner" and inspect.isroutine(recipe.maker) and not is_train(recipe.maker):
        _check_maker(where, recipe.maker)
    return recipe


def _check_maker(where: str, maker: Any) -> None:
    """A function that is no training function makes a learner from keyword-only settings: it can need nothing else."""
    parameters = inspect.signature(maker).parameters.values()
    if needed := [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]:
        raise ConfigError(f"{where}: takes ({', '.join(needed)}), and a training function takes ({', '.join(ARGUMENTS)})")


def _recipe(made: PluginSpec, read: Section) -> PluginSpec:
    return PluginSpec(made.group, made.target, read.fixed)


def _spaced(layer: Layer, learner: str) -> Layer:
    """The layer in which `space.x` stands as the learner's `x`; of the two, what was set later counts."""
    renamed: Layer = {}
    for key, setting in layer.items():
        new = f"{learner}.{key.removeprefix('space.')}" if key.startswith("space.") else key
        renamed.pop(new, None)
        renamed[new] = setting
    return renamed


def _check_keys(layer: Layer, plugins: Mapping[str, PluginSpec]) -> None:
    """Every key is a setting, or in the section of a plug-in; of plug-ins that are not in use nothing is asked."""
    options = {made.name: declared(made.maker) for made in plugins.values()}
    idle = {name for group in PLUGINS.values() for name in shipped(group)} - options.keys()
    idle |= _env_sections(layer["env"].value if "env" in layer else None)
    for key, setting in layer.items():
        head = key.partition(".")[0]
        if key in FIELDS or ("." in key and (head in options or head in idle)):
            continue
        known = [*FIELDS, *(f"{name}.{option}" for name, taken in options.items() for option in taken.options)]
        if inside := [other for other in known if other.startswith(f"{key}.")]:
            raise ConfigError(f"{key} = {setting.value!r} ({setting.source}): {key} is a section: set {', '.join(inside)}")
        raise ConfigError(f"unknown key {key!r} ({setting.source}){closest(key, known)}")


def _check_first(first: list[dict[str, Any]], population: int, space: Space, layer: Layer) -> None:
    """The first members' hyper-parameters must be evolved ones, inside their ranges, and not more than there are members."""
    source = _source("init.hparams", layer)
    if len(first) > population:
        raise ConfigError(f"init.hparams ({source}): has {len(first)} rows for a population of {population}")
    for place, hparams in enumerate(first):
        for name, value in hparams.items():
            where = f"init.hparams[{place}].{name} = {value!r} ({source})"
            if name not in space:
                raise ConfigError(f"{where}: is not evolved{closest(name, space)}; `init.hparams=` removes all of them")
            try:
                inside = space[name].clip(value) == value
            except (TypeError, ValueError):
                inside = False
            if not inside:
                raise ConfigError(f"{where}: is not in {space[name]}")


def _source(key: str, layer: Layer) -> str:
    return layer[key].source if key in layer else "default"
