"""Plays host envs and records what came, [time, member * env, …]."""

from __future__ import annotations

import numpy as np


def play(env, seeds, *, length: int):
    """Observations (one more than the others), rewards, terminated and truncated of actions that the seeds determine."""
    vector = env.vector(seeds)
    rngs = [np.random.default_rng(seed) for member in seeds for seed in member]
    obs, rest = [np.array(vector.reset())], []
    for _ in range(length):
        actions = np.stack([_draw(env.action_space, rng) for rng in rngs])
        seen, *results = vector.step(actions)
        obs.append(np.array(seen))
        rest.append([np.array(result) for result in results])
    vector.close()
    return np.stack(obs), *(np.stack(results) for results in zip(*rest, strict=True))


def alone_as_among_others(env, *, length: int = 60) -> None:
    """Assert that a member's rows are the same when it is stepped alone and among four."""
    seeds = [[11, 12], [21, 22], [31, 32], [41, 42]]
    together = play(env, seeds, length=length)
    for member, own in enumerate(seeds):
        for ours, theirs in zip(play(env, [own], length=length), together, strict=True):
            np.testing.assert_array_equal(ours, theirs[:, 2 * member : 2 * member + 2])
    assert (together[2] | together[3]).any(), "no episode ended, so resets were not compared"


def _draw(space, rng):
    space.seed(int(rng.integers(2**31)))
    return space.sample()
