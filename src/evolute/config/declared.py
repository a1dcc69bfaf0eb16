"""Which settings a plug-in takes: read off its own signature, so that nothing is declared twice."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evolute.core.solo import Trainer, is_train


@dataclass(frozen=True)
class Option:
    """One setting: its type, and its default if it has one."""

    type: Any
    default: Any = inspect.Parameter.empty
    needed: bool = False


@dataclass(frozen=True)
class Declared:
    """The settings of a plug-in; `free` if it takes others too, as a training function does that names none."""

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
        return _hparams(maker)
    options = arguments(maker) if callable(maker) else {}
    if isinstance(maker, Trainer) or (isinstance(maker, type) and issubclass(maker, Trainer)):
        trained = _hparams(maker.train)
        return Declared({**trained.options, **options}, trained.free)
    return Declared(options, free=not callable(maker))


def arguments(maker: Any) -> dict[str, Option]:
    """The keyword-only arguments of a function or class."""
    hints = typing.get_type_hints(vars(maker).get("__init__", maker) if isinstance(maker, type) else maker, include_extras=True)
    found = [p for p in inspect.signature(maker).parameters.values() if p.kind is p.KEYWORD_ONLY]
    return {p.name: Option(hints.get(p.name, Any), p.default, p.default is p.empty) for p in found}


def _hparams(train: Any) -> Declared:
    """What the TypedDict on a training function's `hparams` says; whether a key is needed stands in its annotation."""
    kind: Any = typing.get_type_hints(_function(train)).get("hparams")
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
