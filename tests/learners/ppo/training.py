"""Shared by the tests of PPO: train members in memory for some turns and look at what they have learnt."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from evolute.core.order import Order, Ref
from evolute.core.protocols import silently
from evolute.core.worker import Worker
from evolute.envs.spec import EnvSpec
from evolute.learners.kit import networks
from evolute.learners.ppo import ppo
from evolute.learners.ppo.paced_runner import Cohort
from evolute.learners.ppo.settings import PPOSettings
from evolute.testing.memory import MemoryStates


def learner(env, **settings):
    spec = env if isinstance(env, EnvSpec) else EnvSpec(env)
    return ppo(env=spec, settings=PPOSettings(**{"devices": 2, **settings}))


def train(made, hparams=({},), *, turns=1, steps=1024, seed=100):
    """The worker after some turns of each member, and the last reports."""
    worker = Worker(made, MemoryStates())
    reports = []
    for turn in range(turns):
        orders = [
            Order(m, turn, values, start=Ref(m, turn - 1) if turn else None, steps=steps, seed=seed + 50 * turn + m)
            for m, values in enumerate(hparams)
        ]
        reports = [report for group in worker.groups(orders) for report in worker.train(group)]
        reports.sort(key=lambda report: report.order.member)
        assert not any(report.failed for report in reports), reports
    return worker, reports


def learnt_from(monkeypatch):
    """A list that fills with the observations that members at a free pace have acted on in the steps that they learn from."""
    update, seen = Cohort.update_some, []

    def noted(cohort, trajectory, numbers):
        for member in np.flatnonzero(numbers < cohort.updates):
            valid = np.asarray(trajectory.valid[member], bool)
            seen.extend(map(tuple, np.asarray(trajectory.obs[member])[:-1][valid].tolist()))
        update(cohort, trajectory, numbers)

    monkeypatch.setattr(Cohort, "update_some", noted)
    return seen


def values(made, worker, obs, **hparams):
    """What a member thinks that observations are worth."""
    state = made.load(worker.dump(Ref(0, 0)))
    network = made._spec(made._full(hparams)).network
    weights = networks.unpacked(network, jnp.asarray(state.train.adam.weights))
    rows = jnp.asarray(obs, jnp.float32).reshape(len(obs), -1)
    return np.asarray(networks.value(network, weights, rows, jnp.zeros((len(obs), network.units))))


def played(made, worker, ref, *, episodes=50, **hparams):
    """The mean return of fresh episodes."""
    return float(np.mean(made.evaluate(worker.dump(ref), hparams, seed=1, episodes=episodes, progress=silently)))
