"""All details of a run as plain data: its population, the best one's schedule and descent, and what went wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from evolute.core.order import Json
from evolute.core.population import Population, Turn, best
from evolute.core.space import Space
from evolute.core.steering import Steering
from evolute.report.data.evaluation import evaluation_data, score_hints
from evolute.report.data.front import front_rows
from evolute.report.data.generations import generation_data
from evolute.report.data.members import member_row
from evolute.report.data.proposals import proposals
from evolute.report.data.requests import request_rows
from evolute.report.data.standings import ratings
from evolute.report.data.start import start_rungs
from evolute.runs import folders
from evolute.runs.result import Agent, Run
from evolute.runs.turns import TurnTable


def run_details(run: Run, member: int | None = None) -> dict[str, Json]:
    """Everything that `show` shows; `member` adds the schedule and descent of that member."""
    data: dict[str, Json] = {
        "run": str(run.folder),
        "status": run.status,
        "ended": run.meta.ended,
        "learner": run.meta.learner,
        "strategy": run.meta.strategy,
        "mode": run.meta.mode,
        "space": {name: param.to_json() for name, param in _space(run).items()},
        "seconds": run.elapsed,
        **counts(run.population),
        "workers_lost": sum(kind == "worker lost" for _, kind, _ in run.notes),
        "disk": disk(run),
        "longer": longer(run.meta.identity),
        "members": [member_row(member) for member in run.population.members],
        "proposals": proposals(run.population),
        "start": start_rungs(run.population),
        "generations": generation_data(TurnTable.read(run.folder)) if _has_generations(run.population) else [],
        "objectives": list(run.meta.objectives),
        "front": front_rows(run.population),
        "archive": [list(ref) for ref in run.population.archive],
        "best": None,
        "hints": [],
        "ratings": ratings(run),
        "requests": request_rows(run.folder, run.answers),
        "notes": [{"at": at, "kind": kind, **body} for at, kind, body in run.notes],
    }
    if best(run.population) is not None:
        ref, score = run.best.turn.ref, run.best.score
        data["best"] = {**agent(run.best), **evaluation_data(run.meta, ref)}
        data["hints"] = list(score_hints(run.meta, ref, score))
    if member is not None:
        data["member"] = agent(run.member(member))
    return data


def _space(run: Run) -> Space:
    """The hyper-parameters with the bounds that are in force."""
    return Steering.of(run.answers).space(Space.from_json(run.meta.space))


def _has_generations(population: Population) -> bool:
    orders = (turn.order for member in population.members for turn in member.history())
    return any("generation" in order.why for order in orders)


def agent(one: Agent) -> dict[str, Json]:
    """One member: its score, its hyper-parameters, how they changed along its line of descent, and that line."""
    line = one.lineage
    return {
        "member": one.member,
        "turn": one.turn.ref.turn,
        "score": one.score,
        "objectives": list(one.objectives),
        "steps": one.turn.steps,
        "metrics": dict(one.turn.report.metrics),
        "hparams": dict(one.hparams),
        "schedule": schedule(line),
        "lineage": lineage(line),
    }


def schedule(line: Iterable[Turn]) -> list[dict[str, Json]]:
    """The hyper-parameters along a line of descent, equal neighbours merged."""
    parts: list[dict[str, Any]] = []
    for place, turn in enumerate(line):
        if parts and parts[-1]["hparams"] == turn.order.hparams:
            parts[-1] |= {"to": place, "score": turn.score}
        else:
            parts.append({"from": place, "to": place, "score": turn.score, "hparams": dict(turn.order.hparams)})
    return parts


def lineage(line: Iterable[Turn]) -> list[dict[str, Json]]:
    """The members that a line of descent went through, and the turns it spent in each."""
    parts: list[dict[str, Any]] = []
    for turn in line:
        if parts and parts[-1]["member"] == turn.ref.member:
            parts[-1]["to"] = turn.ref.turn
        else:
            parts.append({"member": turn.ref.member, "from": turn.ref.turn, "to": turn.ref.turn})
    return parts


def counts(population: Population) -> dict[str, int]:
    """How much was done and what happened on the way."""
    turns = [turn for member in population.members for turn in member.history()]
    events = [turn.order.why.get("event") for turn in turns]
    return {
        "turns": len(turns),
        "steps": sum(turn.report.steps for turn in turns),
        "inherited": events.count("inherit"),
        "failed": sum(turn.failed for turn in turns),
        "rescued": events.count("rescue"),
    }


def disk(run: Run) -> dict[str, int]:
    """Bytes on disk, and the most that checkpoints can come to."""
    barrier = run.meta.mode == "sync"
    turns = run.meta.horizon or max((member.turns for member in run.population.members), default=0)
    retained = retained_at_most(run.meta.identity, len(run.population))
    states = run.meta.keep.most(len(run.population), turns, barrier=barrier, retained=retained)
    return {
        "total": folders.size(run.folder),
        "checkpoints": folders.size(run.folder / folders.CHECKPOINTS),
        "checkpoints_at_most": states * run.meta.state_bytes,
    }


def retained_at_most(identity: Json, size: int) -> int:
    """How many states are needed besides: a pool of opponents, an archive, candidates that wait for the end of a rung, and what
    members that do not wait for each other have of a shared buffer."""
    pool = identity.get("opponents.capacity", 0) if identity.get("opponents") else 0
    _, learning = identity.get("learner") or (None, dict[str, Json]())
    shared = size * (size - 1) if learning.get("inherit_buffer") == "share" and identity.get("mode") == "async" else 0
    name, settings = identity.get("strategy") or (None, dict[str, Json]())
    if name in ("ga", "nsga2"):
        return int(pool) + shared + int(settings.get("archive") or size)
    if name == "map_elites":
        return int(pool) + shared + math.prod(int(count) for _, _, count in settings["cells"].values())
    if name == "ipbt":
        return int(pool) + shared + 2  # the best so far, and who teaches
    if name != "bg_pbt" and not settings.get("candidates"):
        return int(pool) + shared
    counts = settings.get("candidates") or 3 * size
    most = max(3 * size, *(counts if isinstance(counts, list) else [counts]))
    return int(pool) + shared + most + size + 1


def longer(identity: Json) -> str:
    """The override that continues a finished run: twice its limits."""
    keys = ("stop.turns", "stop.steps", "stop.time", "stop.total", "stop.patience")
    limits = {key: identity[key] for key in keys if identity.get(key) is not None}
    doubled = [f"{key}={2 * value:g}" if isinstance(value, float) else f"{key}={2 * value}" for key, value in limits.items()]
    return " ".join([*doubled, *(["stop.score="] if identity.get("stop.score") is not None else [])])


def first_failure(population: Population) -> Turn | None:
    """The earliest turn that failed."""
    failed = [turn for member in population.members for turn in member.history() if turn.failed]
    return min(failed, key=lambda turn: (turn.ref.turn, turn.ref.member), default=None)
