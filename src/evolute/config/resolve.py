"""A stacked layer, resolved: names looked up, values checked against their types, ranges turned into a space."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evolute.config.error import ConfigError
from evolute.config.layers import Layer, Setting
from evolute.config.ranges import build, looks_like_range, parse_range
from evolute.config.settings import FIELDS, PLUGINS
from evolute.core.durability import Keep
from evolute.core.names import Recipe, closest, resolve, shipped
from evolute.core.order import Json
from evolute.core.solo import is_train
from evolute.core.space import Choice, Float, Int, Ordinal, Param, Space
from evolute.core.stop import Stop

Free = None
"""In place of a plug-in's settings: it takes any."""


@dataclass(frozen=True)
class Config:
    """A run, fully described. `given` is what was set, by key, and `defaults` what was not."""

    values: Mapping[str, Any]
    learner: Recipe
    strategy: Recipe
    engine: Recipe
    space: Space
    given: Layer
    defaults: Mapping[str, Any]

    @property
    def stop(self) -> Stop:
        return Stop(*(self.values[f"stop.{key}"] for key in ("turns", "steps", "time", "score")))

    @property
    def keep(self) -> Keep:
        kept: Keep = self.values["keep"]
        return kept

    @property
    def name(self) -> str:
        return str(self.values["name"] or self.learner.name)

    @property
    def identity(self) -> Json:
        """What makes two configs the same run: everything but where and how it is carried out."""
        outside = {"engine", "runs", "name", "limit", "durable", "keep", *PLUGINS}
        plain = {key: plain_value(value) for key, value in self.values.items() if key not in outside}
        return {
            **plain,
            "learner": [plain_value(self.learner.target), _plain(self.learner.settings)],
            "strategy": [plain_value(self.strategy.target), _plain(self.strategy.settings)],
            "space": {name: str(param) for name, param in self.space.items()},
        }


def resolved(layer: Layer) -> Config:
    """The config that a layer describes; every mistake is a ConfigError that names the key and where it stands."""
    layer = dict(layer)
    if "steps" in layer:
        layer.setdefault("stop.steps", layer.pop("steps"))
    values = {key: _value(key, field.type, layer.get(key, Setting(field.default, "default"))) for key, field in FIELDS.items()}
    if values["learner"] is None:
        raise ConfigError("no learner is set: name a preset (evolute run toy), or set learner=…")
    recipes = {kind: _recipe(kind, group, values[kind], layer) for kind, group in PLUGINS.items()}
    sections = {recipe.name for recipe in recipes.values()}
    _check_keys(layer, sections, recipes)
    for key in [key for key in layer if key.startswith("space.")]:
        layer[f"{recipes['learner'].name}.{key[6:]}"] = layer.pop(key)
    space, fixed, learner_defaults = _learner(recipes["learner"], layer)
    strategy, strategy_defaults = _plugin(recipes["strategy"], layer)
    engine, engine_defaults = _plugin(recipes["engine"], layer)
    _check_limits(values)
    _check_first(values["init.hparams"], space, layer)
    defaults = {key: field.default for key, field in FIELDS.items() if key not in layer and key != "steps"}
    return Config(
        values,
        Recipe("learners", values["learner"], fixed),
        strategy,
        engine,
        space,
        layer,
        {**defaults, **learner_defaults, **strategy_defaults, **engine_defaults},
    )


def plain_value(value: Any) -> Json:
    """A value as JSON: a callable as its import path, a range as its text."""
    if isinstance(value, (Float, Int, Choice, Ordinal, Keep)):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return _plain(value)
    if isinstance(value, (list, tuple)):
        return [plain_value(item) for item in value]
    named = value if inspect.isroutine(value) or isinstance(value, type) else type(value)
    return f"{named.__module__}:{named.__qualname__}"


def _plain(values: Mapping[str, Any]) -> dict[str, Json]:
    return {key: plain_value(value) for key, value in values.items()}


def _value(key: str, kind: Any, setting: Setting) -> Any:
    try:
        return TypeAdapter(kind).validate_python(setting.value)
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        raise ConfigError(f"{key} = {setting.value!r} ({setting.source}): should be {problem}") from error
    except ValueError as error:
        raise ConfigError(f"{key} = {setting.value!r} ({setting.source}): {error}") from error


def _recipe(kind: str, group: str, target: Any, layer: Layer) -> Recipe:
    if isinstance(target, str):
        try:
            resolve(group, target)
        except ValueError as error:
            raise ConfigError(f"{kind} = {target!r} ({_source(kind, layer)}): {error}") from error
    return Recipe(group, target)


def _check_keys(layer: Layer, sections: set[str], recipes: Mapping[str, Recipe]) -> None:
    """Every key is a setting, or in the section of a plug-in; of plug-ins that are not in use nothing is asked."""
    idle = {name for group in PLUGINS.values() for name in shipped(group)} - sections
    for key, setting in layer.items():
        section = key.partition(".")[0]
        if key in FIELDS or ("." in key and section in sections | idle | {"space"}):
            continue
        known = [*FIELDS, *(f"{s}.{name}" for s in sorted(sections) for name in _names(s, recipes)), *sorted(sections)]
        raise ConfigError(f"unknown key {key!r} ({setting.source}){closest(key, known)}")


def _names(section: str, recipes: Mapping[str, Recipe]) -> list[str]:
    return [name for recipe in recipes.values() if recipe.name == section for name in (declared(recipe.maker) or {})]


def declared(maker: Any) -> dict[str, tuple[Any, Any]] | None:
    """The settings that a plug-in takes, as (type, default), or None if it takes any.

    A training function declares them by a TypedDict on its `hparams`, everything else by its keyword-only arguments.
    """
    if not callable(maker):
        return Free
    if is_train(maker):
        kind: Any = typing.get_type_hints(maker).get("hparams")
        if not typing.is_typeddict(kind):
            return Free
        needed = kind.__required_keys__
        types = typing.get_type_hints(kind, include_extras=True)
        return {name: (types[name], inspect.Parameter.empty if name in needed else None) for name in types}
    if isinstance(maker, type) and not _keyword_only(maker):
        return Free
    return _keyword_only(maker)


def _keyword_only(maker: Any) -> dict[str, tuple[Any, Any]]:
    hints = typing.get_type_hints(vars(maker).get("__init__", maker) if isinstance(maker, type) else maker, include_extras=True)
    parameters = inspect.signature(maker).parameters.values()
    return {p.name: (hints.get(p.name, Any), p.default) for p in parameters if p.kind is p.KEYWORD_ONLY}


def _plugin(recipe: Recipe, layer: Layer) -> tuple[Recipe, dict[str, Any]]:
    """The plug-in with its settings, which may not be ranges, and the defaults that stand for the others."""
    settings, _, defaults = _section(recipe, layer, evolvable=False)
    return Recipe(recipe.group, recipe.target, settings), defaults


def _learner(recipe: Recipe, layer: Layer) -> tuple[Space, dict[str, Any], dict[str, Any]]:
    """The learner's space, its fixed settings, and the defaults that stand for the others."""
    fixed, ranges, defaults = _section(recipe, layer, evolvable=True)
    plain = {key.partition(".")[2]: value for key, value in defaults.items()}
    return Space(ranges), {**plain, **fixed}, defaults


def _section(recipe: Recipe, layer: Layer, *, evolvable: bool) -> tuple[dict[str, Any], dict[str, Param], dict[str, Any]]:
    known = declared(recipe.maker)
    fixed: dict[str, Any] = {}
    ranges: dict[str, Param] = {}
    for key, setting in layer.items():
        section, _, name = key.partition(".")
        if section != recipe.name or not name:
            continue
        if known is not None and name not in known:
            raise ConfigError(f"unknown key {key!r} ({setting.source}){closest(name, known)}")
        kind = Any if known is None else known[name][0]
        param = _range(key, kind, setting)
        if param is not None and not evolvable:
            raise ConfigError(f"{key} = {setting.value!r} ({setting.source}): only a learner's settings can be a range")
        if param is not None:
            ranges[name] = param
        else:
            fixed[name] = _value(key, kind, setting)
    missing = [name for name, (_, default) in (known or {}).items() if default is inspect.Parameter.empty]
    for name in missing:
        if name not in fixed and name not in ranges:
            raise ConfigError(f"{recipe.name} needs {recipe.name}.{name}: give it a value or a range")
    defaults = {
        f"{recipe.name}.{name}": default
        for name, (_, default) in (known or {}).items()
        if name not in fixed and name not in ranges
    }
    return fixed, ranges, defaults


def _range(key: str, kind: Any, setting: Setting) -> Param | None:
    """The parameter, if the setting is a range. A bare pair of numbers is one only where one number is expected."""
    value = setting.value
    try:
        if isinstance(value, Param):
            param: Param = value
        elif looks_like_range(value):
            param = parse_range(value)
        elif _is_pair(value) and _accepts(kind, value[0]) and (kind is Any or not _accepts(kind, value)):
            param = build("int" if kind is int else "float", list(value), str(list(value)))
        else:
            return None
    except ValueError as error:
        raise ConfigError(f"{key} ({setting.source}): {error}") from error
    for end in _ends(param):
        if not _accepts(kind, end):
            raise ConfigError(f"{key} = {setting.value} ({setting.source}): {end!r} is no value for it")
    return param


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(type(item) in (int, float) for item in value)


def _accepts(kind: Any, value: Any) -> bool:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


def _ends(param: Param) -> list[Any]:
    if isinstance(param, (Choice, Ordinal)):
        return list(param.values)
    assert isinstance(param, (Float, Int))
    middle = [param.decode(0.5 + 1e-3)] if isinstance(param, Float) else []
    return [param.low, param.high, *middle]


def _check_limits(values: Mapping[str, Any]) -> None:
    if all(values[key] is None for key in ("stop.turns", "stop.steps", "stop.time", "stop.score")):
        raise ConfigError("nothing says when the run is over: set stop.turns, stop.steps (or steps), stop.time or stop.score")


def _check_first(first: list[dict[str, Any]], space: Space, layer: Layer) -> None:
    for place, hparams in enumerate(first):
        for name, value in hparams.items():
            where = f"init.hparams[{place}].{name} = {value!r} ({_source('init.hparams', layer)})"
            if name not in space:
                raise ConfigError(f"{where}: is not evolved{closest(name, space)}")
            try:
                inside = space[name].clip(value) == value
            except (TypeError, ValueError):
                inside = False
            if not inside:
                raise ConfigError(f"{where}: is not in {space[name]}")


def _source(key: str, layer: Layer) -> str:
    return layer[key].source if key in layer else "default"
