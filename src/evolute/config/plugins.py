"""The plug-ins that a config names: looked up, before their settings are read."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from evolute.config.error import ConfigError
from evolute.config.layers import Layer, source
from evolute.config.settings import PLUGINS
from evolute.core.names import PluginSpec, resolve
from evolute.core.solo import ARGUMENTS, is_train

ELSEWHERE = {
    ("strategy", "pso"): (
        "particle swarms are not built, since a particle's best goes stale while weights train on; pbt.explore=pairwise moves "
        "values towards better members, with momentum (docs/strategies.md, Breeding)"
    ),
    ("strategy", "cso"): (
        "competitive swarms are pbt with pbt.exploit=tournament pbt.explore=pairwise: the loser of a pair moves towards the "
        "winner, with momentum, and takes over its weights (docs/strategies.md, Breeding)"
    ),
}
"""Names that users know from elsewhere, and what stands for them here."""


def find_plugin(kind: str, target: Any, layer: Layer) -> PluginSpec:
    """The learner, strategy or engine that is named or given, without settings yet."""
    where = f"{kind} = {target!r} ({source(kind, layer)})"
    spec = PluginSpec(PLUGINS[kind], target)
    if isinstance(target, str):
        if (kind, target) in ELSEWHERE:
            raise ConfigError(f"{where}: {ELSEWHERE[kind, target]}")
        try:
            resolve(PLUGINS[kind], target)
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from error
    elif isinstance(target, (bool, int, float, list, tuple, Mapping)) or (kind != "learner" and not callable(target)):
        raise ConfigError(f"{where}: should be a name, or in Python the thing itself")
    if kind == "learner" and inspect.isroutine(spec.maker) and not is_train(spec.maker):
        _check_maker(where, spec.maker)
    return spec


def _check_maker(where: str, maker: Any) -> None:
    """A function that is no training function makes a learner from keyword-only settings: it can need nothing else."""
    parameters = inspect.signature(maker).parameters.values()
    if needed := [p.name for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]:
        raise ConfigError(f"{where}: takes ({', '.join(needed)}), and a training function takes ({', '.join(ARGUMENTS)})")
