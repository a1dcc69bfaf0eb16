"""Who waits for whom in a turn on the host: all rows for each step, all rows for the update, or nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evolute.envs.interface import HostEnv, JaxEnv, Paced, Separable
from evolute.envs.spec import ActorSpec
from evolute.learners.ppo.settings import OnPolicySettings

Pace = Literal["step", "rollout", "free"]


@dataclass(frozen=True)
class PaceSpec:
    """The pace; `ahead`: whether the next rollout is sampled while the last one is learnt from; how old fragments may be."""

    pace: Pace = "step"
    ahead: bool = False
    max_lag: int = 8

    @property
    def lagged(self) -> bool:
        """Whether rollouts may be an older policy's."""
        return self.ahead or self.pace == "free"


TOGETHER = PaceSpec()
"""All rows move together, as inside the compiled program."""


def pace_of(env: JaxEnv | HostEnv, settings: OnPolicySettings, actors: ActorSpec, section: str) -> PaceSpec:
    """The pace that the settings ask for, or that fits the environment; raises ValueError where it has no such pace."""
    if actors.far:
        return _far_pace(env, settings, actors, section)
    repeatable = env.repeatable if isinstance(env, Paced) else True
    asked = settings.pace
    asks = asked in ("rollout", "free") or settings.ahead > 0
    if isinstance(env, (Separable, Paced)):
        pace: Pace = asked if asked != "auto" else "free" if not repeatable else "rollout" if actors.count or asks else "step"
        if pace == "free" and settings.ahead:
            raise ValueError(f"{section}.ahead={settings.ahead}: with {section}.pace=free nobody waits for updates anyway")
        return PaceSpec(pace, settings.ahead > 0, settings.max_lag)
    if asks:
        key = f"{section}.pace={asked}" if asked in ("rollout", "free") else f"{section}.ahead={settings.ahead}"
        raise ValueError(f"{key}: {_reason(env)}")
    return TOGETHER


def _far_pace(env: JaxEnv | HostEnv, settings: OnPolicySettings, actors: ActorSpec, section: str) -> PaceSpec:
    """The pace with actors on other machines, which wait for nobody. What they step together in one call suits them, too."""
    given = f"actors.where={actors.crew and actors.crew.where}"
    if isinstance(env, Paced) or not isinstance(env, HostEnv):
        raise ValueError(f"{given}: {_reason(env)}")
    if settings.pace != "free":
        raise ValueError(f"{given}: these actors wait for no update, so set {section}.pace=free, not {settings.pace}")
    if settings.ahead:
        raise ValueError(f"{section}.ahead={settings.ahead}: with {section}.pace=free nobody waits for updates anyway")
    return PaceSpec("free", max_lag=settings.max_lag)


def without_actors(env: JaxEnv | HostEnv) -> str:
    """Why an environment cannot be stepped by actors; empty if it can."""
    return "" if isinstance(env, Separable) else _reason(env)


def _reason(env: JaxEnv | HostEnv) -> str:
    if isinstance(env, Paced):
        return "this game moves by itself"
    if isinstance(env, HostEnv):
        return "copies of this environment are stepped together in one call; single Gymnasium envs can move one by one"
    return "this environment is part of the compiled program, in which all copies move together"
