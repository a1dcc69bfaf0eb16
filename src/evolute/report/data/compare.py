"""Runs of one task compared as in Agarwal et al. 2021 (arXiv 2108.13264): interquartile means, bootstrap intervals,
probability of improvement. Runs whose configs differ in the seed alone are samples of the same arm.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from evolute.config.error import ConfigError
from evolute.core.order import Json
from evolute.report.figures.chart import Axis, Chart, Series
from evolute.report.figures.curves import score_label
from evolute.runs.turns import Numbers, TurnTable

LEVEL = 0.95
RESAMPLES = 2000
GRID = 100
TASK = ("env", "env options", "score", "wrap.")
"""What must be equal for runs to be of one task; without an environment, the learner too."""
IGNORED = ("seed", "init.from", "init.turn")


@dataclass(frozen=True)
class Arm:
    """Runs that differ in their seed alone."""

    name: str
    runs: list[TurnTable]

    @property
    def scores(self) -> Numbers:
        return np.array([final(run) for run in self.runs])


@dataclass(frozen=True)
class Estimate:
    """A figure and the interval that holds it in 95 of 100 bootstrap samples; None with a single run."""

    value: float
    low: float | None
    high: float | None


def final(table: TurnTable) -> float:
    """How good a run ended: its best as evaluated in fresh episodes, or else its best score."""
    best, evaluation = table.best, table.meta.evaluation
    if best is None:
        raise ConfigError(f"{table.folder} has no score yet, and cannot be compared")
    if evaluation is not None and evaluation.ref == table.ref(best):
        return float(evaluation.mean)
    return float(table.score[best])


def distinct(tables: Sequence[TurnTable]) -> tuple[list[TurnTable], dict[str, str]]:
    """The runs without those that equal another in config and seed, and for each of those the one that stays.

    Equal runs end alike, so they are no further samples. The longest of them stays.
    """
    groups: dict[str, list[TurnTable]] = {}
    for table in tables:
        groups.setdefault(json.dumps(table.meta.identity, sort_keys=True), []).append(table)
    kept = [max(equal, key=len) for equal in groups.values()]
    left_out = [(table, one) for one, equal in zip(kept, groups.values(), strict=True) for table in equal if table is not one]
    return kept, {str(table.folder): str(one.folder) for table, one in left_out}


def arms(tables: Sequence[TurnTable]) -> list[Arm]:
    """The runs by arm, each named by what sets it apart from the others. Of equal runs only one counts."""
    _check_task(tables)
    groups: dict[str, list[TurnTable]] = {}
    for table in distinct(tables)[0]:
        groups.setdefault(json.dumps(_identity(table), sort_keys=True), []).append(table)
    identities = [json.loads(key) for key in groups]
    keys = sorted({key for one in identities for key in one if any(other.get(key) != one[key] for other in identities)})
    named = [
        "; ".join(_said(key, one.get(key)) for key in keys) or str(runs[0].meta.strategy)
        for one, runs in zip(identities, groups.values(), strict=True)
    ]
    return [Arm(name, runs) for name, runs in zip(named, groups.values(), strict=True)]


def iqm(scores: Numbers) -> float:
    """The mean of the middle half."""
    cut = len(scores) // 4
    return float(np.sort(scores)[cut : len(scores) - cut].mean())


def improvement(one: Numbers, other: Numbers) -> float:
    """The chance that a run of the one ends better than a run of the other; ties count half."""
    difference = one[:, None] - other[None, :]
    return float((difference > 0).mean() + 0.5 * (difference == 0).mean())


def estimated(figure: Callable[..., float], *samples: Numbers) -> Estimate:
    """A figure of samples with its bootstrap interval, which is the same whenever it is computed."""
    value = figure(*samples)
    if min(map(len, samples)) < 2:
        return Estimate(value, None, None)
    rng = np.random.default_rng(0)
    drawn = [figure(*(rng.choice(sample, len(sample)) for sample in samples)) for _ in range(RESAMPLES)]
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high))


def comparison(tables: Sequence[TurnTable]) -> dict[str, Json]:
    """The arms, best first, the pairs of them, and the plots."""
    ranked = sorted(arms(tables), key=lambda arm: -iqm(arm.scores))
    left_out = distinct(tables)[1]
    pairs = [(one, other, estimated(improvement, one.scores, other.scores)) for one, other in combinations(ranked, 2)]
    return {
        "arms": [
            {
                "name": arm.name,
                "runs": [run.name for run in arm.runs],
                "iqm": vars(estimated(iqm, arm.scores)),
                "mean": float(arm.scores.mean()),
                "scores": arm.scores.tolist(),
            }
            for arm in ranked
        ],
        "pairs": [{"one": one.name, "other": other.name, "better": vars(chance)} for one, other, chance in pairs],
        "left_out": left_out,
        "note": " ".join(_notes(ranked, left_out)),
    }


def _notes(ranked: Sequence[Arm], left_out: Mapping[str, str]) -> Iterator[str]:
    for run, same in left_out.items():
        yield f"{run} is left out: it has the config and seed of {same}, so it is no further sample."
    runs = [run for arm in ranked for run in arm.runs]
    if unfinished := [str(run.folder) for run in runs if run.meta.ended is None]:
        yield f"Not finished: {', '.join(unfinished)}."
    if any(run.meta.ratings for run in runs):
        yield "These are ratings within each run: only games tell which run is better (`evolute tournament RUN RUN`)."
    if any(len(arm.runs) < 2 for arm in ranked):
        yield "An interval needs runs with other seeds (-m seed=1)."


def charts(tables: Sequence[TurnTable]) -> list[Chart]:
    """How the arms ended, and how they got there."""
    ranked = sorted(arms(tables), key=lambda arm: -iqm(arm.scores))
    label = score_label(tables[0])
    return [_ends(ranked, label), _curves(ranked, label)]


def best_so_far(table: TurnTable, steps: Numbers) -> Numbers:
    """The best score that any member had reached by each number of its own steps: NaN before the first."""
    scored = np.flatnonzero(np.isfinite(table.score))
    order = scored[np.argsort(table.member_steps[scored], kind="stable")]
    best = np.concatenate([[np.nan], np.maximum.accumulate(table.score[order])]) if len(order) else np.array([np.nan])
    return best[np.searchsorted(table.member_steps[order], steps, "right")]


def _ends(ranked: list[Arm], label: str) -> Chart:
    series = []
    for place, arm in enumerate(ranked):
        found = estimated(iqm, arm.scores)
        names = [run.name for run in arm.runs]
        series.append(Series("runs", [place] * len(names), arm.scores.tolist(), "extinct", "points", texts=names))
        if found.low is not None and found.high is not None:
            series.append(Series("95 % interval", [place, place], [found.low, found.high], "winner", "links"))
        series.append(Series("interquartile mean", [place], [found.value], "winner", "points"))
    note = "Interquartile mean of the runs' final scores with its 95 % bootstrap interval; grey points are single runs."
    return Chart("comparison", "Final score", Axis("", categories=[arm.name for arm in ranked]), Axis(label), series, note)


def _curves(ranked: list[Arm], label: str) -> Chart:
    last = max(int(run.member_steps.max()) for arm in ranked for run in arm.runs)
    steps = np.linspace(0, last, GRID + 1)[1:]
    series = []
    for arm in ranked:
        found = np.array([best_so_far(run, np.minimum(steps, run.member_steps.max())) for run in arm.runs])
        known = ~np.isnan(found).any(axis=0)
        middle = [iqm(column) for column in found[:, known].T]
        series.append(Series(arm.name, steps[known].tolist(), middle))
    note = "The best score so far of any member; interquartile mean over the runs of an arm."
    return Chart("progress", "Best score so far", Axis("environment steps of each member"), Axis(label), series, note)


def _check_task(tables: Sequence[TurnTable]) -> None:
    first = _task(tables[0])
    for table in tables[1:]:
        task = _task(table)
        if differs := sorted(key for key in {*first, *task} if first.get(key) != task.get(key)):
            key = differs[0]
            raise ConfigError(
                f"{tables[0].name} and {table.name} are not runs of the same task: "
                f"{key} is {first.get(key)} and {task.get(key)}"
            )


def _task(table: TurnTable) -> dict[str, Json]:
    identity = table.meta.identity
    task = {key: value for key, value in identity.items() if key.startswith(TASK)}
    return task if identity.get("env") else {**task, "learner": identity["learner"][0]}


def _identity(table: TurnTable) -> dict[str, Json]:
    return {key: value for key, value in table.meta.identity.items() if key not in IGNORED}


def _said(key: str, value: Any) -> str:
    if key in ("strategy", "learner") and isinstance(value, list):
        settings = ", ".join(f"{name}={setting}" for name, setting in sorted(value[1].items()))
        return f"{value[0]}" if len(settings) > 60 or not settings else f"{value[0]} ({settings})"
    text = value if isinstance(value, str) else json.dumps(value)
    return f"{key}={text if len(text) <= 60 else text[:59] + '…'}"
