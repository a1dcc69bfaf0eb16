"""A whole run through the real loop, worker and engine, with journal and checkpoints in memory."""

from __future__ import annotations

from evolute.core.solo import adapt
from evolute.engines.inline import inline
from evolute.testing.memory import rehearse


def trained(learner, strategy, plan, *, turns, seed):
    """The population at the end of a run, and the orders of each of its decisions."""
    done = rehearse(adapt(learner), strategy, plan, lambda worker: inline(worker, None), turns=turns, seed=seed)
    return done.population, done.journal.decisions
