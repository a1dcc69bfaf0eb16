"""Actions drawn in numpy, with their log-probabilities: what `actions.py` does inside a compiled program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
LOG_STD = (-20.0, 2.0)


def sampled(about: Mapping[str, Any], outputs: Array, log_std: Array | None, rng: np.random.Generator) -> tuple[Array, Array]:
    """Actions [batch, action] drawn under outputs [batch, output], and their log-probabilities [batch].

    `about` describes the actions, as exported policies do; `log_std` is that of a policy whose spread is learnt by itself.
    """
    if about["kind"] == "categories":
        return _categories(about["sizes"], outputs, rng)
    mean, spread = (outputs, log_std) if about["std"] == "constant" else np.split(outputs, 2, axis=-1)
    spread = np.clip(np.broadcast_to(np.asarray(spread, np.float32), mean.shape), *LOG_STD)
    noise = rng.standard_normal(mean.shape, np.float32)
    action = mean + np.exp(spread) * noise
    log_probs = -0.5 * np.square(noise) - spread - 0.5 * math.log(2 * math.pi)
    if about["squash"]:
        log_probs = log_probs - 2 * (math.log(2) - action - np.logaddexp(0, -2 * action))
    return action.astype(np.float32), log_probs.sum(axis=-1).astype(np.float32)


def _categories(sizes: list[int], outputs: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    drawn = outputs + rng.gumbel(size=outputs.shape)
    ends = np.cumsum(sizes)[:-1].tolist()
    chosen, log_probs = [], np.zeros(len(outputs), np.float32)
    for logits, noisy in zip(np.split(outputs, ends, axis=-1), np.split(drawn, ends, axis=-1), strict=True):
        best = noisy.argmax(axis=-1)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        log_probs += logs[np.arange(len(best)), best]
        chosen.append(best)
    return np.stack(chosen, axis=-1).astype(np.float32), log_probs
