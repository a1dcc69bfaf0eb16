"""From a stacked layer to a config: plug-ins found, values checked against their types, ranges turned into a space."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from evolute.config.declared import declared
from evolute.config.environment import find_env
from evolute.config.error import ConfigError
from evolute.config.keys import check_keys, move_space, name_sections
from evolute.config.layers import Layer, Setting, source
from evolute.config.plugins import find_plugin
from evolute.config.section import checked, section
from evolute.config.settings import FIELDS, PLUGINS, Change, RunSettings
from evolute.core.durability import Keep
from evolute.core.names import PluginSpec, closest
from evolute.core.order import Json
from evolute.core.param import Choice, Float, Int, Ordinal
from evolute.core.space import Space
from evolute.core.stop import Stop
from evolute.envs.spec import EnvSpec

TURNS = 20
"""The length of a run that nothing else limits."""
STEPS = 10_000
"""The default interval of learners in environments."""


@dataclass(frozen=True)
class Config:
    """A run, fully described. `given` is what was set, by key; `defaults` is the rest."""

    settings: RunSettings
    learner: PluginSpec
    strategy: PluginSpec
    engine: PluginSpec
    space: Space
    env: EnvSpec | None
    opponents: PluginSpec | None
    given: Layer
    defaults: Mapping[str, Any]

    @property
    def open_ended(self) -> bool:
        """Whether no limit was given, so that the run stops after a default number of turns."""
        return self.defaults.get("stop.turns") is not None

    @property
    def stop(self) -> Stop:
        return Stop(**vars(self.settings.stop))

    @property
    def horizon(self) -> int | None:
        """How many turns a member can have at most, if that is known; the mean where members share a budget."""
        return self.stop.horizon(self.settings.interval, self.settings.population)

    @property
    def name(self) -> str:
        """The first part of a run folder's name; a lambda's is `lambda`."""
        return str(self.settings.name or self.learner.name.strip("<>"))

    @property
    def identity(self) -> Json:
        """What makes two configs the same run: everything but where and how it is carried out."""
        values = {key: value for key, value in self.settings.flat().items() if key not in PLUGINS}
        plain = {key: plain_value(value) for key, value in values.items() if FIELDS[key].change != Change.ANY_TIME}
        plugins = {"learner": self.learner, "strategy": self.strategy, "engine": self.engine, "opponents": self.opponents}
        named = {
            kind: [plain_value(spec.target), plain_value(spec.settings)]
            for kind, spec in plugins.items()
            if spec is not None and FIELDS[kind].change != Change.ANY_TIME
        }
        options = {} if self.env is None else plain_value(self.env.options)
        return {**plain, **named, "env options": options, "space": {name: str(param) for name, param in self.space.items()}}

    def changes_since(self, before: Mapping[str, Json]) -> list[str]:
        """The keys in which this config differs from an identity; settings that are newer than it count as their defaults."""
        now = self.identity
        return sorted(key for key in {*before, *now} if self._completed(key, before.get(key)) != now.get(key))

    def _completed(self, key: str, value: Json) -> Json:
        spec = {"learner": self.learner, "strategy": self.strategy, "opponents": self.opponents}.get(key)
        if spec is not None and value is not None:
            target, settings = value
            defaults = {name: self.defaults.get(f"{spec.name}.{name}") for name in spec.settings.keys() - settings.keys()}
            return [target, {**settings, **plain_value(defaults)}]
        return plain_value(FIELDS[key].default) if value is None and key in FIELDS else value


def resolved(layer: Layer) -> Config:
    """The config that a layer describes; every mistake is a ConfigError that names the key and where it was given."""
    values = {key: checked(key, f.type, layer.get(key, Setting(f.default, "default"))) for key, f in FIELDS.items()}
    if values["learner"] is None:
        raise ConfigError("no learner is set: name a preset (evolute run toy), or set learner=…")
    plugins = {kind: find_plugin(kind, values[kind], layer) for kind in PLUGINS if values[kind] is not None}
    layer = name_sections(move_space(layer, plugins["learner"]), plugins)
    check_keys(layer, plugins)
    sections = {
        kind: section(spec.name, layer, declared(spec.maker), evolvable=kind == "learner") for kind, spec in plugins.items()
    }
    space = Space(sections["learner"].ranges)
    env = find_env(values, layer, plugins["learner"])
    assumed = _assumed(values, layer, env)
    values |= assumed
    _check_total(values["stop.total"], values["population"], layer)
    _check_init(values["init.hparams"], values["population"], space, layer)
    defaults = {key: field.default for key, field in FIELDS.items() if key not in layer} | assumed
    for kind, spec in plugins.items():
        defaults |= {f"{spec.name}.{option}": value for option, value in sections[kind].defaults.items()}
    if values["workers"] is not None and "workers" in sections["engine"].defaults:
        sections["engine"].fixed["workers"] = values["workers"]
    specs: dict[str, Any] = {kind: replace(spec, settings=sections[kind].fixed) for kind, spec in plugins.items()}
    specs.setdefault("opponents", None)
    return Config(RunSettings.of(values), **specs, space=space, env=env, given=layer, defaults=defaults)


def _assumed(values: Mapping[str, Any], layer: Layer, env: EnvSpec | None) -> dict[str, Any]:
    """Defaults that depend on other settings."""
    interval = {"interval": STEPS} if env is not None and "interval" not in layer else {}
    endless = all(value is None for key, value in values.items() if key.startswith("stop."))
    return interval | ({"stop.turns": TURNS} if endless else {})


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


def _check_total(total: int | None, population: int, layer: Layer) -> None:
    """A budget of all members must have a step for each."""
    if total is not None and total < population:
        given = f"stop.total = {total} ({source('stop.total', layer)})"
        raise ConfigError(
            f"{given}: is for all {population} members together, and each needs a step: set at least {population}"
        )


def _check_init(rows: list[dict[str, Any]], population: int, space: Space, layer: Layer) -> None:
    """`init.hparams` must be inside the ranges of evolved hyper-parameters, with at most one row per member."""
    given = source("init.hparams", layer)
    if len(rows) > population:
        raise ConfigError(f"init.hparams ({given}): has {len(rows)} rows for a population of {population}")
    for place, hparams in enumerate(rows):
        for name, value in hparams.items():
            where = f"init.hparams[{place}].{name} = {value!r} ({given})"
            if name not in space:
                raise ConfigError(f"{where}: is not evolved{closest(name, space)}; `init.hparams=` removes all of them")
            try:
                inside = space[name].clip(value) == value
            except (TypeError, ValueError):
                inside = False
            if not inside:
                raise ConfigError(f"{where}: is not in {space[name]}")
