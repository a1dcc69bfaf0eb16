"""Which settings a plug-in takes, read from its own signature, so that nothing is declared twice."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from evolute.core.solo import Trainer, is_train

ENV, SETTINGS = "env", "settings"
"""Keyword arguments with a special meaning: the environment, and a dataclass that holds all settings."""
ANY = ".NAME"
"""How a group of settings is listed whose names depend on something else: `reward.NAME`."""


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
        return {
            name: option.default
            for name, option in self.options.items()
            if option.default is not inspect.Parameter.empty and not name.endswith(ANY)
        }

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of settings, each a Mapping in the dataclass of settings."""
        return tuple(name.removesuffix(ANY) for name in self.options if name.endswith(ANY))

    def find(self, option: str) -> Option | None:
        """The setting of this name, perhaps in a group."""
        group = option.partition(".")[0]
        return self.options.get(option) or (self.options.get(f"{group}{ANY}") if option != group else None)

    def item(self, option: str) -> Any:
        """The type of an entry of a setting that is a dict, as `cells.busy` is one of `cells`; None if it is no such entry."""
        group, _, entry = option.partition(".")
        kind = self.options[group].type if entry and group in self.options else None
        dicts = [one for one in (kind, *typing.get_args(kind)) if typing.get_origin(one) is dict]
        return typing.get_args(dicts[0])[1] if dicts else None


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
            given[name] = hint(**_grouped(hint, settings))
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
    """The fields of a dataclass; one that is a Mapping is a group of settings. `x_` is the group of a setting `x`."""
    hints = typing.get_type_hints(kind, include_extras=True)
    options: dict[str, Option] = {}
    for one in dataclasses.fields(kind):
        hint = hints[one.name]
        if (item := _item(hint)) is None:
            options[one.name] = Option(hint, one.default)
        else:
            options[f"{one.name.rstrip('_')}{ANY}"] = Option(item, None)
    return options


def _item(hint: Any) -> Any:
    """The type of a Mapping's values, annotated as the Mapping is; None for any other type."""
    marks = getattr(hint, "__metadata__", ())
    bare = typing.get_args(hint)[0] if marks else hint
    if typing.get_origin(bare) is not Mapping:
        return None
    item = typing.get_args(bare)[1]
    return Annotated[item, *marks] if marks else item


def _grouped(kind: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass that are among the settings, those of a group together."""
    hints = typing.get_type_hints(kind, include_extras=True)
    fields: dict[str, Any] = {}
    for one in dataclasses.fields(kind):
        if _item(hints[one.name]) is not None:
            start = f"{one.name.rstrip('_')}."
            fields[one.name] = {key.removeprefix(start): value for key, value in settings.items() if key.startswith(start)}
        elif one.name in settings:
            fields[one.name] = settings[one.name]
    return fields


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
