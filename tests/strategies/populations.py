"""Populations at any stage, built from the scores of their turns."""

from __future__ import annotations

import math

import numpy as np

from evolute.core.order import Report
from evolute.core.param import Float
from evolute.core.population import Population
from evolute.core.protocols import Plan
from evolute.core.space import Space

FAILED = "failed"
SPACE = Space({"lr": Float(1e-5, 1e-2, log=True), "entropy": Float(0, 0.1)})
STEPS = 10


def hparams_of(slot):
    """Hyper-parameters of SPACE that differ from slot to slot."""
    return {"lr": 1e-4 * (slot + 1), "entropy": 0.001 * slot}


def evolved(*rounds, hparams=hparams_of):
    """The population after these rounds of turns, each a score per member: a number, None, FAILED, or "idle"."""
    population = Population.of(len(rounds[0]))
    for scores in rounds:
        population = population.report(reports_of(population, scores, hparams))
    return population


def reports_of(population, scores, hparams=hparams_of):
    reports = []
    for slot, score in enumerate(scores):
        latest = population[slot].latest
        order = population.draft(slot, hparams(slot), start=None if latest is None else latest.ref)
        if score == FAILED:
            reports.append(Report(order, error="ValueError: broken"))
        elif score != "idle":
            reports.append(Report(order, {"score": score}, STEPS, digest="d"))
    return reports


def plan(size, space=SPACE, first=()):
    return Plan(space, size, STEPS, 50, first)


def step(strategy, population, seed=0, ready=None):
    """The orders of one decision, by member."""
    ready = range(len(population)) if ready is None else ready
    _, orders = strategy.step(strategy.init(), population, list(ready), np.random.default_rng(seed))
    assert [order.member for order in orders] == list(ready)
    return {order.member: order for order in orders}


def best_first(scores):
    """The slots by rank, said again without the code under test."""
    numbers = [-math.inf if score in (None, FAILED, "idle") or math.isnan(score) else score for score in scores]
    return sorted(range(len(scores)), key=lambda slot: (-numbers[slot], slot))
