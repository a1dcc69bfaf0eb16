"""Who starts JAX, and with how many devices: here, and in the processes that learners are sent to."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.learners.ppo.training import learner, train

from evolute.core.cores import cores

SMALL = ["population=2", "interval=64", "stop.steps=64", "ppo.envs=2", "ppo.unroll=16", "ppo.minibatches=1", "ppo.widths=[8]"]
OWN = '''
import jax.numpy as jnp
from evolute.envs.ours.cartpole import cartpole

class Weighed:
    """A CartPole that carries an array of JAX along, as environments of JAX libraries do."""

    def __init__(self):
        self.env, self.weight = cartpole.make(), jnp.ones(3)
        self.observation_space, self.action_space = self.env.observation_space, self.env.action_space

    def reset(self, key):
        return self.env.reset(key)

    def step(self, key, state, action):
        return self.env.step(key, state, action)
'''
WORKER = """
import os, cloudpickle, sys
os.sched_setaffinity(0, {os.sched_getaffinity(0).pop()})
learner = cloudpickle.load(sys.stdin.buffer)
import jax
print(jax.local_device_count(), learner.runner.programs.devices)
"""
EARLY = """
import os, sys, warnings
if "flags" in sys.argv:
    from evolute.learners.kit.flags import FLAGS
    os.environ["XLA_FLAGS"] = FLAGS
if "pinned" in sys.argv:
    os.sched_setaffinity(0, {os.sched_getaffinity(0).pop()})
import jax
jax.devices()
from tests.learners.ppo.training import learner, train
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    made = learner("cartpole", envs=4, unroll=16, minibatches=2, widths=(8,))
print(train(made, steps=256)[1][0].digest)
print(*[str(one.message) for one in caught if "JAX was started" in str(one.message)])
"""


PROCESSES = pytest.param(
    ["engine=processes", "workers=2"],
    marks=pytest.mark.slow(reason="two workers compile; a limit is the same path"),
)


@pytest.mark.parametrize("engine", [PROCESSES, ["engine=inline", "limit=5m"]])
def test_workers_let_evolute_start_jax(tmp_path, engine):
    (tmp_path / "own.py").write_text(OWN)
    words = ["run", "-m", "learner=ppo", "env=own:Weighed", *SMALL, *engine]
    done = subprocess.run([sys.executable, "-m", "evolute", *words], cwd=tmp_path, env=bare(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "JAX was started" not in done.stderr


def test_a_worker_has_no_more_devices_than_cores():
    made = "import cloudpickle, sys; from tests.learners.ppo.training import learner; "
    made += "cloudpickle.dump(learner('cartpole', devices=2), sys.stdout.buffer)"
    pickled = subprocess.run([sys.executable, "-c", made], env=bare(), capture_output=True, check=True).stdout
    done = subprocess.run([sys.executable, "-c", WORKER], input=pickled, env=bare(), capture_output=True, check=True)
    assert done.stdout.split() == [b"1", b"1"]


def bare():
    """The environment variables of a user, without those that conftest sets."""
    return {key: value for key, value in os.environ.items() if key not in ("JAX_NUM_CPU_DEVICES", "NPROC", "XLA_FLAGS")}


def early(*words):
    done = subprocess.run([sys.executable, "-c", EARLY, *words], env=bare(), capture_output=True, text=True, check=True)
    digest, warning = done.stdout.split("\n")[:2]
    return digest, warning


@pytest.mark.slow(reason="programs of their own, each of which compiles")
def test_jax_that_was_started_before_is_slower_and_gives_the_same_results():
    expected = train(learner("cartpole", envs=4, unroll=16, minibatches=2, widths=(8,)), steps=256)[1][0].digest
    digest, warning = early()
    assert digest == expected
    assert "without the XLA flags" in warning
    assert "results are the same" in warning
    assert early("flags", "pinned") == (expected, "")
    assert ("1 CPU devices instead of 2" in early("flags")[1]) == (len(cores()) > 1)
