"""The commands that use what a run has learnt: `export` and `play`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from rich.console import Console

from evolute.config.error import ConfigError
from evolute.config.resolve import Config
from evolute.policy import Policy
from evolute.report import formats
from evolute.report.formats import who
from evolute.runs.assemble import assembled
from evolute.runs.result import Agent, Run
from evolute.runs.states import choices_of, remembered
from evolute.store.error import StoreError


@runtime_checkable
class Exportable(Protocol):
    """A policy that acts in a film, and can be written to a file for use without Evolute."""

    @property
    def suffix(self) -> str:
        """How the file's name ends."""

    def __call__(self, observation: Any, *, greedy: bool, rng: np.random.Generator) -> Any: ...

    def reset(self) -> None: ...

    def save(self, path: Path) -> None: ...

    def use(self, path: Path) -> str:
        """How to use what was saved."""


def export(folder: Path, path: Path | None, member: int | None) -> None:
    """The command `export`."""
    agent, _ = _agent(folder, member)
    policy = _policy(agent)
    path = path or Path(f"policy{policy.suffix}")
    if path.suffix != policy.suffix:
        raise ConfigError(f"{path}: a policy of this learner is exported as a {policy.suffix} file")
    try:
        policy.save(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
    print(f"wrote {path} ({formats.size(path.stat().st_size)}): {who(agent)}")
    print(f"use it, {policy.use(path)}")


def play(
    folder: Path, member: int | None, *, episodes: int | None, seed: int, film: Path | None, sample: bool, as_json: bool
) -> None:
    """The command `play`."""
    if sample and film is None:
        raise ConfigError("--sample is for the actions of a film: say which file with --film")
    agent, config = _agent(folder, member)
    with Console(file=sys.stderr).status("playing"):
        scores = agent.evaluate(seed=seed, episodes=episodes)
    if scores is None:
        raise ConfigError(f"the learner {config.learner.name} cannot be played")
    found = {
        "member": agent.member,
        "turn": agent.turn.ref.turn,
        "score": agent.score,
        "episodes": len(scores),
        "mean": float(np.mean(scores)),
        "deviation": float(np.std(scores)),
        "lowest": float(np.min(scores)),
        "highest": float(np.max(scores)),
    }
    if not as_json:
        print(f"{who(agent)}: {len(scores)} fresh episodes")
        spread = f"lowest {found['lowest']:.4g}, highest {found['highest']:.4g}"
        print(f"return {found['mean']:.4g} ± {found['deviation']:.3g} ({spread})")
    if film is not None:
        found["pictures"] = _film(folder, config, _policy(agent), film, seed, sample=sample)
        if not as_json:
            print(f"wrote {film} ({found['pictures']} pictures, {formats.size(film.stat().st_size)})")
    if as_json:
        print(json.dumps(found))


def _film(folder: Path, config: Config, policy: Exportable, film: Path, seed: int, *, sample: bool) -> int:
    from evolute.envs.render import render_episode
    from evolute.envs.video import write

    assert config.env is not None
    spec = config.env.with_name(str(choices_of(folder).get("env", config.env.name)))
    rng = np.random.default_rng(seed)
    policy.reset()
    flat = isinstance(policy, Policy)
    try:
        return write(render_episode(spec, lambda obs: policy(obs, greedy=not sample, rng=rng), flat=flat, seed=seed), film)
    except (ValueError, OSError) as error:
        raise ConfigError(str(error)) from error


def _agent(folder: Path, member: int | None) -> tuple[Agent, Config]:
    config = remembered(folder)
    run = Run.open(folder, assembled(config, choices_of(folder), to_train=False).learner)
    return run.best if member is None else run.member(member), config


def _policy(agent: Agent) -> Exportable:
    try:
        policy = agent.policy
    except TypeError as error:
        raise ConfigError(str(error)) from error
    if not isinstance(policy, Exportable):
        raise ConfigError("the policies of this learner cannot be exported")
    return policy
