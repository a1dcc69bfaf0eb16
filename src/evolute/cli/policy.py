"""The commands that use what a run has learnt: `export` and `play`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from rich.console import Console

from evolute.cli.agents import chosen
from evolute.config.error import ConfigError
from evolute.config.resolve import Config
from evolute.core.protocols import PlaysEitherWay, Seats
from evolute.core.solo import Solo
from evolute.report import formats
from evolute.report.formats import who
from evolute.runs.assemble import assembled
from evolute.runs.export import exportable
from evolute.runs.result import Agent, Run
from evolute.runs.states import choices_of, remembered
from evolute.runs.video import record, record_together
from evolute.store.error import StoreError
from evolute.store.evaluation import WAYS


def export(folder: Path, path: Path | None, member: int | None) -> None:
    """Write an agent's policy into a file, and say how to use it."""
    agent, config = _agent(folder, member)
    policy = exportable(agent)
    path = path or Path(f"policy{policy.suffix}")
    if path.suffix != policy.suffix:
        raise ConfigError(f"{path}: a policy of this learner is exported as a {policy.suffix} file")
    try:
        policy.save(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
    print(f"wrote {path} ({formats.size(path.stat().st_size)}): {who(agent)}")
    print(f"use it, {policy.use(path)}")
    if not agent.greedy and config.opponents is not None:
        print(
            "it samples its actions, as in the games that rated it; policy(observation, greedy=True) takes the likeliest ones"
        )
    elif not agent.greedy:
        print("it samples its actions, which did better after the run than the likeliest ones")


def export_front(folder: Path, target: Path | None) -> None:
    """Write the policy of each that is on a run's front into a folder, and say what each reached."""
    run = _front_run(folder)
    target = target or Path("front")
    for agent in run.front:
        policy = exportable(agent)
        path = target / f"policy-m{agent.member}-t{agent.turn.ref.turn}{policy.suffix}"
        try:
            target.mkdir(parents=True, exist_ok=True)
            policy.save(path)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from error
        print(f"wrote {path}: {_reached(run, agent)}")


def film_ends(folder: Path, video: Path | None, *, seed: int) -> None:
    """Record an episode of both ends of a run's front, side by side, and say who they are."""
    if video is None:
        raise ConfigError("--ends records a video: say where, as in --video ends.gif")
    run = _front_run(folder)
    ends = run.front[:1] + run.front[1:][-1:]
    frames = record_together(ends, video, seed=seed)
    for place, agent in zip(("left", "right"), ends, strict=False):
        print(f"{place}: member {agent.member} after turn {agent.turn.ref.turn}, {_reached(run, agent)}")
    print(f"wrote {video} ({frames} frames, {formats.size(video.stat().st_size)})")


def _front_run(folder: Path) -> Run:
    run = _opened(folder)[0]
    if not run.front:
        raise ConfigError(f"{folder} has no front: it is a run with one score; objectives=[…] makes runs with several")
    return run


def _reached(run: Run, agent: Agent) -> str:
    values = zip(run.meta.objectives, agent.objectives, strict=True)
    return ", ".join(f"{name} {formats.number(value)}" for name, value in values)


def play(
    folder: Path, member: int | None, *, episodes: int | None, seed: int, video: Path | None, sample: bool | None, as_json: bool
) -> None:
    """Evaluate an agent in fresh episodes, and record one as a video if asked to.

    `sample` says whether actions are sampled or the likeliest; by default the agent acts as its policy does.
    """
    agent, config = _agent(folder, member)
    learner: object = agent.learner
    if isinstance(learner, Seats) and learner.teams and not isinstance(learner, Solo):
        raise ConfigError("members of a game play against somebody: name a run or a bot, as in --against random")
    asked = None if sample is None else not sample
    greedy = agent.greedy if asked is None else asked
    with Console(file=sys.stderr).status("playing"):
        scores = agent.evaluate(seed=seed, episodes=episodes, greedy=asked)
    if scores is None:
        raise ConfigError(f"the learner {config.learner.name} cannot be played")
    way = greedy if isinstance(agent.learner, PlaysEitherWay) else None
    result = {
        "member": agent.member,
        "turn": agent.turn.ref.turn,
        "score": agent.score,
        "episodes": len(scores),
        "greedy": way,
        "mean": float(np.mean(scores)),
        "deviation": float(np.std(scores)),
        "lowest": float(np.min(scores)),
        "highest": float(np.max(scores)),
    }
    if not as_json:
        print(f"{who(agent)}: {len(scores)} fresh episodes {WAYS[way]}".rstrip())
        spread = f"lowest {result['lowest']:.4g}, highest {result['highest']:.4g}"
        print(f"return {result['mean']:.4g} ± {result['deviation']:.3g} ({spread})")
    if video is not None:
        result["frames"] = record(agent, video, seed=seed, greedy=greedy)
        if not as_json:
            print(f"wrote {video} ({result['frames']} frames, {formats.size(video.stat().st_size)})")
    if as_json:
        print(json.dumps(result))


def _agent(folder: Path, member: int | None) -> tuple[Agent, Config]:
    run, config = _opened(folder)
    return chosen(run, member), config


def _opened(folder: Path) -> tuple[Run, Config]:
    config = remembered(folder)
    return Run.open(folder, assembled(config, choices_of(folder), to_train=False).learner), config
