"""Which settings a plug-in takes, read from its own signature, so that nothing is declared twice."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evolute.core.solo import Trainer, is_train

ENV, SETTINGS = "env", "settings"
"""Keyword arguments with a special meaning: the environment, and a dataclass that holds all settings."""


@dataclass(frozen=True)
class Option:
    """One setting: its type, and its default if it has one."""

    type: Any
    default: Any = inspect.Parameter.empty
    needed: bool = False


@dataclass(frozen=True)
class Declared:
    """The settings of a plug-in; `free` if it takes any others too, like a training function that declares none."""

    options: Mapping[str, Option] = field(default_factory=dict)
    free: bool = False

    @property
    def defaults(self) -> dict[str, Any]:
        return {name: o.default for name, o in self.options.items() if o.default is not inspect.Parameter.empty}


def declared(maker: Any) -> Declared:
    """The settings of a plug-in.

    A training function declares them by a TypedDict on its `hparams`, everything else by keyword-only arguments; a class
    with train, save and load by both.
    """
    if is_train(maker):
        return _hparams(maker, list(inspect.signature(maker).parameters)[1])
    options = arguments(maker) if callable(maker) else {}
    if isinstance(maker, Trainer) or (isinstance(maker, type) and issubclass(maker, Trainer)):
        trained = _hparams(maker.train)
        return Declared({**trained.options, **options}, trained.free)
    return Declared(options, free=not callable(maker))


def arguments(maker: Any) -> dict[str, Option]:
    """The keyword-only arguments of a function or class; the fields of a dataclass `settings` count as arguments."""
    options: dict[str, Option] = {}
    for name, (hint, default) in _keywords(maker).items():
        if name == SETTINGS:
            options |= _fields(hint)
        elif name != ENV:
            options[name] = Option(hint, default, default is inspect.Parameter.empty)
    return options


def takes_env(maker: Any) -> bool:
    """Whether a plug-in takes the environment."""
    return callable(maker) and not is_train(maker) and ENV in _keywords(maker)


def built(maker: Any, settings: Mapping[str, Any], env: Any = None) -> Any:
    """What a maker makes of the settings that it asks for; a setting that is missing, as evolved ones are, has its default."""
    given: dict[str, Any] = {}
    for name, (hint, _) in _keywords(maker).items():
        if name == SETTINGS:
            given[name] = hint(**{field: settings[field] for field in _fields(hint) if field in settings})
        elif name == ENV:
            given[name] = env
        elif name in settings:
            given[name] = settings[name]
    return maker(**given)


def _keywords(maker: Any) -> dict[str, tuple[Any, Any]]:
    """The type and default of each keyword-only argument."""
    hints = typing.get_type_hints(vars(maker).get("__init__", maker) if isinstance(maker, type) else maker, include_extras=True)
    keywords = [p for p in inspect.signature(maker).parameters.values() if p.kind is p.KEYWORD_ONLY]
    return {p.name: (hints.get(p.name, Any), p.default) for p in keywords}


def _fields(kind: Any) -> dict[str, Option]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return {field.name: Option(hints[field.name], field.default) for field in dataclasses.fields(kind)}


def _hparams(train: Any, argument: str = "hparams") -> Declared:
    """The keys of the TypedDict on a training function's hyper-parameters, with whether each is required."""
    kind: Any = typing.get_type_hints(_function(train)).get(argument)
    if not typing.is_typeddict(kind):
        return Declared(free=True)
    options = {}
    for name, hint in typing.get_type_hints(kind, include_extras=True).items():
        marker = typing.get_origin(hint)
        marked = marker in (typing.Required, typing.NotRequired)
        needed = marker is typing.Required if marked else bool(kind.__total__)
        options[name] = Option(typing.get_args(hint)[0] if marked else hint, needed=needed)
    return Declared(options)


def _function(train: Any) -> Any:
    """The function behind a partial, or behind an object that is called."""
    if inspect.isroutine(train):
        return train
    return _function(train.func) if "func" in dir(train) else type(train).__call__
