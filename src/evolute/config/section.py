"""The section of one plug-in: its settings checked against their types, and ranges turned into parameters."""

from __future__ import annotations

import typing
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evolute.config.declared import Declared
from evolute.config.error import ConfigError
from evolute.config.layers import Layer, Setting
from evolute.config.ranges import build, is_broken_range, is_pair, looks_like_range, parse_range
from evolute.config.synonyms import hint
from evolute.core.param import Choice, Evolves, Float, Int, Ordinal, Param


@dataclass(frozen=True)
class Section:
    """Fixed values (defaults among them), evolved ranges, and which values are defaults."""

    fixed: dict[str, Any] = field(default_factory=dict)
    ranges: dict[str, Param] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)


def section(name: str, layer: Layer, known: Declared, *, evolvable: bool) -> Section:
    """The settings that a layer has in the section `name`; only a learner's settings are `evolvable`."""
    read = Section()
    for key, setting in layer.items():
        head, _, option = key.partition(".")
        if head != name or not option:
            continue
        found = known.find(option)
        if found is None and (item := known.item(option)) is not None:
            group, _, entry = option.partition(".")
            read.fixed[group] = {**read.fixed.get(group, {}), entry: checked(key, item, setting)}
            continue
        if found is None and not known.free:
            options = [f"{name}.{other}" for other in known.options]
            raise ConfigError(f"unknown key {key!r} ({setting.source}){hint(key, options)}")
        kind = Any if found is None else found.type
        param = _range(key, kind, setting)
        if param is None:
            read.fixed[option] = checked(key, kind, setting)
        elif evolvable:
            _check_evolves(key, kind, param, setting)
            read.ranges[option] = param
        else:
            raise ConfigError(f"{key} = {setting.value!r} ({setting.source}): only a learner's settings can be a range")
    for option, declared in known.options.items():
        if declared.needed and option not in read.fixed and option not in read.ranges:
            raise ConfigError(f"{name} needs {name}.{option}: give it a value or a range")
    read.defaults.update((k, v) for k, v in known.defaults.items() if k not in read.fixed and k not in read.ranges)
    read.fixed.update(read.defaults)
    return read


def _check_evolves(key: str, kind: Any, param: Param, setting: Setting) -> None:
    """Refuse ranges that the setting's annotation does not allow."""
    where = f"{key} = {setting.value} ({setting.source})"
    marks = getattr(kind, "__metadata__", ())
    if Evolves.NEVER in marks:
        raise ConfigError(f"{where}: cannot be evolved, {Evolves.NEVER.value}; give it one value")
    if Evolves.LISTED in marks and not isinstance(param, (Choice, Ordinal)):
        raise ConfigError(f"{where}: {Evolves.LISTED.value}, so list the few that it may have, as in ordinal[8, 16, 32]")


def checked(key: str, kind: Any, setting: Setting) -> Any:
    """The setting's value, converted to its type."""
    try:
        return TypeAdapter(kind).validate_python(setting.value)
    except ValidationError as error:
        raise ConfigError(f"{key} = {setting.value!r} ({setting.source}): {_problem(error)}") from error


def _problem(error: ValidationError) -> str:
    """Pydantic's errors as one sentence; those about the alternatives of a union are joined."""
    messages = (problem["msg"].removeprefix("Value error, ") for problem in error.errors())
    texts = list(dict.fromkeys(text.replace("a valid tuple", "a list, in brackets") for text in messages))
    wanted = [text.removeprefix("Input should be ") for text in texts if text.startswith("Input should be ")]
    return f"should be {' or '.join(wanted)}" if len(wanted) == len(texts) else "; ".join(texts)


def _range(key: str, kind: Any, setting: Setting) -> Param | None:
    """The parameter, if the setting is a range. A bare pair of numbers is one only where one number is expected."""
    value = setting.value
    try:
        if isinstance(value, Param):
            param: Param = value
        elif looks_like_range(value):
            param = parse_range(value, bare=_number(kind))
        elif is_pair(value) and _accepts(kind, value[0]) and (kind is Any or not _accepts(kind, value)):
            param = build(_number(kind), list(value), str(list(value)))
        elif is_broken_range(value) and not _accepts_text(kind):
            raise ValueError(f"{value!r} looks like a range that lacks a bracket; write it as log[1e-5, 1e-2]")
        else:
            return None
    except ValueError as error:
        hint = "; a pair of numbers is a range where one number is expected" if is_pair(value) else ""
        raise ConfigError(f"{key} ({setting.source}): {error}{hint}") from error
    if isinstance(param, (Choice, Ordinal)):
        alone = [not _accepts(kind, value) and _accepts(kind, [value]) for value in param.values]  # one item for a list of one
        param = type(param)(*([value] if one else value for value, one in zip(param.values, alone, strict=True)))
    for value in _values(param):
        if not _accepts(kind, value):
            raise ConfigError(f"{key} = {setting.value} ({setting.source}): {value!r} is not allowed for it")
    return param


def _number(kind: Any) -> str:
    """Which kind of range bare bounds are for a setting of this type."""
    while typing.get_origin(kind) is typing.Annotated:
        kind = typing.get_args(kind)[0]
    return "int" if kind is int else "float"


def _accepts(kind: Any, value: Any) -> bool:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


def _accepts_text(kind: Any) -> bool:
    return kind is not Any and _accepts(kind, "text")


def _values(param: Param) -> list[Any]:
    """Values that the parameter can take, enough to tell whether a type accepts them."""
    if isinstance(param, (Choice, Ordinal)):
        return list(param.values)
    if isinstance(param, Int):
        return [param.low, param.high]
    assert isinstance(param, Float)
    return [param.low, param.high, param.decode(0.501)]
