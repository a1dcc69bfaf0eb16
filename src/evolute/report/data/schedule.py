"""The hyper-parameter schedule along a line of descent: as YAML or CSV, and as simple formulas."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import yaml

from evolute.core.param import Float, Int, Param
from evolute.core.population import Turn
from evolute.core.space import Space
from evolute.report.formats import number, who
from evolute.runs.result import Agent, Run
from evolute.runs.schedule import schedule_rows

SMALLEST = 1e-6
"""A deviation in the unit scale of a parameter below which a form fits perfectly."""


@dataclass(frozen=True)
class Form:
    """A simple form that a parameter's values follow over the steps of the line, and the share of variance it explains."""

    name: str
    form: str
    text: str
    fit: float


def forms(line: Sequence[Turn], space: Space) -> list[Form]:
    """The form that suits each parameter best: constant, linear, exponential or one step; by Schwarz's criterion."""
    starts = np.array([turn.steps - turn.report.steps for turn in line], dtype=np.float64)
    return [form(name, param, starts, [turn.order.hparams[name] for turn in line]) for name, param in space.items()]


def form(name: str, param: Param, steps: Any, values: Sequence[Any]) -> Form:
    """The form of one parameter; of categories only whether they change."""
    if not isinstance(param, (Float, Int)):
        changes = sum(one != other for one, other in pairwise(values))
        if not changes:
            return Form(name, "constant", number(values[0]), 1.0)
        return Form(name, "steps", f"{changes} changes, ends at {number(values[-1])}", 1.0)
    places = np.array([param.encode(value) for value in values])
    total = float(((places - places.mean()) ** 2).sum())
    tried = []
    for kind, count, fitted, text in _candidates(steps, np.array(values, dtype=np.float64)):
        guess = np.array([_encoded(param, value) for value in fitted])
        rest = float(((places - guess) ** 2).sum())
        cost = len(places) * math.log(max(rest / len(places), SMALLEST**2)) + count * math.log(len(places))
        tried.append((cost, count, Form(name, kind, text, 1.0 if total <= SMALLEST**2 else 1 - rest / total)))
    return min(tried, key=lambda entry: entry[:2])[2]


def _encoded(param: Param, value: float) -> float:
    return param.encode(param.clip(value))


def _candidates(steps: Any, values: Any) -> list[tuple[str, int, Any, str]]:
    """Each form fitted by least squares: its name, number of parameters, values and formula."""
    positive = bool((values > 0).all())
    middle = float(np.exp(np.log(values).mean())) if positive else float(values.mean())
    found = [("constant", 1, np.full(len(values), middle), f"{middle:.4g}")]
    if len(values) < 3 or np.ptp(steps) == 0:
        return found
    slope, base = np.polyfit(steps, values, 1)
    found.append(("linear", 2, base + slope * steps, f"{base:.4g} {'+' if slope >= 0 else '-'} {abs(slope):.4g} * steps"))
    if positive:
        rate, start = np.polyfit(steps, np.log(values), 1)
        found.append(("exponential", 2, np.exp(start + rate * steps), f"{np.exp(start):.4g} * exp({rate:.4g} * steps)"))
    found.append(_step(steps, values, positive=positive))
    return found


def _step(steps: Any, values: Any, *, positive: bool) -> tuple[str, int, Any, str]:
    """Two constants and the best moment to change from one to the other, which counts thrice: it is chosen among many."""
    warped = np.log(values) if positive else values
    cuts = range(1, len(values))
    rest = [float(warped[:cut].var() * cut + warped[cut:].var() * (len(values) - cut)) for cut in cuts]
    cut = cuts[int(np.argmin(rest))]
    before, after = (float(np.exp(part.mean()) if positive else part.mean()) for part in (warped[:cut], warped[cut:]))
    fitted = np.where(np.arange(len(values)) < cut, before, after)
    return "step", 5, fitted, f"{before:.4g} until step {steps[cut]:.0f}, then {after:.4g}"


def to_yaml(line: Sequence[Turn], space: Space, title: str) -> str:
    """A config file: `evolute run … -c FILE` trains a fresh agent along the schedule."""
    head = [title, "train along it: evolute run <preset or config> -c THIS_FILE", "fitted over the steps of the line:"]
    head += [f"  {one.name}: {one.form}: {one.text}  (explains {max(one.fit, 0):.0%})" for one in forms(line, space)]
    comments = "".join(f"# {' '.join(text.split()) if not text.startswith('  ') else text}\n" for text in head)
    config = {
        "strategy": "schedule",
        "population": 1,
        "stop": {"turns": len(line)},
        "schedule": {"rows": schedule_rows(line)},
    }
    return comments + yaml.safe_dump(config, sort_keys=False, default_flow_style=None, width=120, allow_unicode=True)


def to_csv(line: Sequence[Turn], space: Space) -> str:
    """One line per turn: its place, its first step, its steps, the score after it, and its hyper-parameters."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["turn", "from_step", "steps", "score", *space])
    for place, turn in enumerate(line):
        values = [turn.order.hparams[name] for name in space]
        writer.writerow([place, turn.steps - turn.report.steps, turn.report.steps, turn.score, *values])
    return out.getvalue()


def schedule_text(agent: Agent, run: Run, kind: str) -> str:
    """The schedule of an agent as a YAML config or as CSV."""
    space = Space.from_json(run.meta.space)
    return to_csv(agent.lineage, space) if kind == "csv" else to_yaml(agent.lineage, space, f"schedule of {who(agent)}")
