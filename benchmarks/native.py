"""How much faster is a minibatch by our machine code than by XLA? Dense networks forward and back, side by side on one core.

python benchmarks/native.py
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from evolute.learners.kit import members, networks
from evolute.learners.kit.native import dense
from evolute.learners.kit.networks import Network

SHAPES = (
    (Network((4,), 2), 16),
    (Network((4,), 2), 64),
    (Network((4,), 2), 256),
    (Network((4,), 2), 2048),
    (Network((17,), 6, spread=6), 64),
    (Network((8,), 4, activation="relu", widths=(128, 128)), 256),
    (Network((17,), 6, spread=6, widths=(256, 256)), 64),
    (Network((17,), 6, spread=6, widths=(256, 256)), 2048),
)
Gradient = Callable[[jax.Array, jax.Array], jax.Array]


def by_code(network: Network) -> Gradient:
    def gradient(weights: jax.Array, obs: jax.Array) -> jax.Array:
        predictions, back = jax.vjp(lambda weights: dense.predict_twins(network, weights, obs), weights)
        return back(predictions)[0]

    return gradient


def by_xla(network: Network) -> Gradient:
    def gradient(weights: jax.Array, obs: jax.Array) -> jax.Array:
        parts = networks.grouped(network, weights)
        spread = {name: parts[name] for name in ("log_std",) if name in parts}
        predictions, back = jax.vjp(lambda parts: networks.twins(network, parts, obs), parts)
        by_name = {**back(predictions)[0], **spread}
        return jnp.concatenate([by_name[name].ravel() for name in parts])

    return gradient


def repeated(gradient: Gradient, times: int, weights: jax.Array, obs: jax.Array) -> Callable[[], float]:
    """Seconds for each of these minibatches, one after the other in one program."""

    def all_of_them(weights: jax.Array, obs: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, times, lambda _, weights: weights - 1e-9 * gradient(weights, obs), weights)

    program = jax.jit(all_of_them, compiler_options=members.OPTIONS).lower(weights, obs).compile()

    def timed() -> float:
        started = time.perf_counter()
        jax.block_until_ready(program(weights, obs))
        return (time.perf_counter() - started) / times

    return timed


def operations(network: Network, rows: int) -> int:
    """Of the products of a minibatch, forward and back."""
    widths = (*network.obs, *network.widths)
    pairs = sum(before * after for before, after in itertools.pairwise(widths))
    forward = 2 * rows * (2 * pairs + widths[-1] * (network.outputs + 1))
    return 3 * forward - 4 * rows * widths[0] * widths[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    members.start(1)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for network, rows in SHAPES:
        weights = jnp.asarray(networks.initial(network, np.random.default_rng(0)))
        obs = jnp.asarray(np.random.default_rng(1).normal(size=(*network.obs, rows)), jnp.float32)
        work = operations(network, rows)
        times = max(1, int(2e9 // work))
        ours, theirs = (repeated(made(network), times, weights, obs) for made in (by_code, by_xla))
        ours(), theirs()
        pairs = [(ours(), theirs()) for _ in range(repeats)]
        best = [min(seconds) for seconds in zip(*pairs, strict=True)]
        ratio = float(np.median([theirs / ours for ours, theirs in pairs]))
        name = f"{network.obs[0]}-{'-'.join(map(str, network.widths))} {network.activation}, {rows} rows"
        print(
            f"{name:28} {best[0] * 1e6:9.1f} µs, {work / best[0] / 1e9:4.0f} GFLOP/s;"
            f"  XLA {best[1] * 1e6:9.1f} µs, {work / best[1] / 1e9:4.0f} GFLOP/s;  {ratio:.2f}x"
        )


if __name__ == "__main__":
    main()
