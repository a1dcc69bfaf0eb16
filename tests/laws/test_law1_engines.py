"""Law 1: same seed, same result, whatever the engine, the number of workers and the size of the cohorts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from evolute import strategies
from evolute.config.layers import preset
from evolute.config.resolve import resolved
from evolute.core.param import Float, Ordinal
from evolute.core.protocols import Outcome, Plan
from evolute.core.solo import adapt
from evolute.core.space import Space
from evolute.engines.inline import inline
from evolute.engines.simulated import simulated
from evolute.learners.ceilings import ceilings
from evolute.testing import check_learner
from evolute.testing.memory import rehearse

ENGINES = {
    "inline": lambda worker: inline(worker, None),
    "inline, in a child process": lambda worker: inline(worker, 30.0),
    "one simulated worker": lambda worker: simulated(worker, None, workers=1),
    "two simulated workers of unequal speed": lambda worker: simulated(worker, None, workers=2, durations=[3, 1, 2]),
    "a simulated worker for each": lambda worker: simulated(worker, None, durations=[5, 1, 2]),
}


@dataclass(frozen=True)
class Flock:
    """A learner that trains many members in one call, as those on accelerators do; a state is a vector of `width`."""

    together: bool = True
    repeatable: bool = True
    links: tuple[str, ...] = ()
    architecture: tuple[str, ...] = ("width",)

    choices: ClassVar = {}

    def advice(self, interval, examples):
        return ()

    def evaluate(self, tree, hparams, *, seed, episodes, progress):
        return None

    def shape(self, hparams):
        return str(hparams["width"])

    def init(self, orders):
        return [np.random.default_rng(order.seed).normal(size=order.hparams["width"]) for order in orders]

    def train(self, states, orders, *, fetch, progress):
        progress(0.5, "half way")
        cohort = np.stack(states)
        noise = np.stack([np.random.default_rng(order.seed).normal(size=cohort.shape[1]) for order in orders])
        after = cohort * np.array([[1 - order.hparams["lr"]] for order in orders]) + 0.01 * noise
        return list(after), [Outcome({"score": -float(np.abs(row).sum())}) for row in after]

    def dump(self, state):
        return {"weights": state.copy()}

    def load(self, tree):
        return tree["weights"]

    def policy(self, tree):
        return lambda observation: tree["weights"] @ observation


PLAN = Plan(Space({"lr": Float(1e-3, 0.5, log=True)}), 8, interval=1)
SHAPED = Plan(
    Space({"lr": Float(1e-3, 0.5, log=True), "width": Ordinal(2, 3)}), 8, interval=1, architecture=frozenset({"width"})
)


def noisy(state, hparams, steps, seed):
    total = (0.0 if state is None else state["total"]) + np.random.default_rng(seed).normal(hparams["lr"])
    return {"total": total}, {"score": total}


def taught(state, hparams, steps, seed, teacher):
    return ceilings(state, {"problem": 1, **hparams}, steps, seed, teacher=teacher)


@pytest.mark.parametrize("strategy", [strategies.pbt, strategies.winner_takes_all, strategies.random_search])
@pytest.mark.parametrize("engine", list(ENGINES)[1:])
def test_every_engine_gives_the_same_orders_scores_and_states(engine, strategy):
    one, other = (rehearse(adapt(noisy), strategy(PLAN), PLAN, ENGINES[name], turns=5, seed=4) for name in ("inline", engine))
    assert sorted(one.journal.lines) == sorted(other.journal.lines)
    latest = [member.latest.ref for member in one.population.members]
    assert [one.states.files[ref] for ref in latest] == [other.states.files[ref] for ref in latest]


@pytest.mark.parametrize("engine", list(ENGINES)[1:])
def test_every_engine_teaches_a_new_generation_alike(engine):
    architecture = frozenset({"width", "depth", "activation", "norm"})
    space = resolved(preset("ceilings")).space
    plan = Plan(space, 4, interval=1, turns=18, architecture=architecture, links=frozenset({"teacher"}))
    made = [
        rehearse(
            adapt(taught), strategies.bg_pbt(plan, generations=1, longest=3, taught=3), plan, ENGINES[name], turns=18, seed=4
        )
        for name in ("inline", engine)
    ]
    assert sorted(made[0].journal.lines) == sorted(made[1].journal.lines)
    orders = [turn.order for member in made[0].population.members for turn in member.history()]
    assert sum(order.teacher is not None for order in orders) == 4 * 6


def test_a_cohort_learner_keeps_the_laws_whoever_shares_the_cohort():
    check_learner(Flock(), [{"lr": 0.1, "width": 4}, {"lr": 0.2, "width": 4}, {"lr": 0.3, "width": 4}], steps=1)


@pytest.mark.parametrize("engine", list(ENGINES)[1:])
def test_members_of_one_shape_train_together_with_the_same_result(engine):
    runs = [rehearse(Flock(), strategies.pbt(SHAPED), SHAPED, ENGINES[name], turns=6) for name in ("inline", engine)]
    assert sorted(runs[0].journal.lines) == sorted(runs[1].journal.lines)
    assert not any(turn.failed for member in runs[0].population.members for turn in member.history())


def test_another_seed_gives_another_run():
    runs = [rehearse(adapt(noisy), strategies.pbt(PLAN), PLAN, ENGINES["inline"], turns=3, seed=seed) for seed in (1, 2)]
    assert runs[0].journal.lines != runs[1].journal.lines
