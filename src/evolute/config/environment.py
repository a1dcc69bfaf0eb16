"""The environment that a config describes: its name, its own settings, and the wrappers around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evolute.config.declared import takes_env
from evolute.config.error import ConfigError
from evolute.config.layers import Layer, source
from evolute.config.settings import FIELDS
from evolute.core.names import PluginSpec, shipped
from evolute.envs.spec import ActorSpec, EnvSpec, GameSpec

WRAP = "wrap."


def find_env(values: Mapping[str, Any], layer: Layer, learner: PluginSpec) -> EnvSpec | None:
    """The environment with its settings; None for a learner that takes none."""
    name, where = values["env"], f"env = {values['env']} ({source('env', layer)})"
    if not takes_env(learner.maker):
        if name is not None:
            raise ConfigError(
                f"{where}: the learner {learner.name} takes no environment; your own code makes its environment itself"
            )
        return None
    if name is None:
        raise ConfigError(f"the learner {learner.name} needs an environment: set env, as in env=CartPole-v1 or env=pong")
    options: dict[str, dict[str, Any]] = {}
    for key, setting in layer.items():
        head, _, option = key.partition(".")
        if head in env_sections(name) and option:
            options.setdefault(head, {})[option] = setting.value
    wrappers = {key.removeprefix(WRAP): values[key] for key in FIELDS if key.startswith(WRAP)}
    together = ("tables", "matches", "anchors")
    game = {key: values[f"opponents.{key}"] for key in together} if values["opponents"] is not None else None
    rating = values["opponents.rating"] if "opponents.rating" in layer else None
    try:
        made = None if game is None else GameSpec(**game, rating=rating)
        actors = ActorSpec(values["actors.count"], values["actors.limit"], evaluators=values["actors.evaluators"])
        return EnvSpec(name, options, **wrappers, game=made, actors=actors)
    except ValueError as error:
        raise ConfigError(f"{where}: wrap.{error}") from error


def env_sections(name: str | None) -> set[str]:
    """The sections in which settings of an environment may be: its library's, or that of the user's own maker."""
    ours = {known for group in ("envs.adapters", "envs.ours", "games") for known in shipped(group)}
    return {*ours, *([name.rpartition(":")[2]] if name and ":" in name else [])}
