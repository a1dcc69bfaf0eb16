"""Reward channels (Liu et al. 2019): which of an environment's rewards are learnt from, their weights and their discounts.

Each channel in use has a value and advantages of its own; a member learns from the weighted sum of the advantages. The first
channel makes the score, and is in use always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evolute.core.order import Hparams

REWARD, DISCOUNT = "reward.", "discount."
"""What the names of hyper-parameters of a channel begin with."""


def in_use(channels: Sequence[str], hparams: Hparams, fixed: Mapping[str, Any], section: str = "ppo") -> tuple[str, ...]:
    """The channels that are learnt from: the first, and those with a weight that is evolved or other than 0.

    () if it is the first alone, as if there were no other. `fixed` are the settings that are the same for all members.
    """
    check(channels, hparams, section)
    evolved = {name for name in hparams if name not in fixed}
    used = [
        name
        for place, name in enumerate(channels)
        if place == 0 or f"{REWARD}{name}" in evolved or hparams.get(f"{REWARD}{name}", 0) != 0
    ]
    plain = len(used) == 1 and not {f"{REWARD}{used[0]}", f"{DISCOUNT}{used[0]}"} & hparams.keys()
    return () if plain else tuple(used)


def check(channels: Sequence[str], hparams: Hparams, section: str = "ppo") -> None:
    """Refuse weights and discounts of channels that there are not."""
    for key in hparams:
        name = key.partition(".")[2]
        if not key.startswith((REWARD, DISCOUNT)) or name in channels:
            continue
        if not channels:
            raise ValueError(f"{section}.{key}: this environment has a single reward, without channels")
        raise ValueError(f"{section}.{key}: there is no reward channel {name!r}; there are {', '.join(channels)}")


def idle(channels: Sequence[str], used: Sequence[str], hparams: Hparams, section: str = "ppo") -> list[str]:
    """Warnings of discounts that do nothing."""
    unused = [name for name in channels if name not in used and f"{DISCOUNT}{name}" in hparams]
    return [
        f"{section}.{DISCOUNT}{name} does nothing, since the channel {name} has no weight: set {section}.{REWARD}{name}"
        for name in unused
    ]


def values(used: Sequence[str], hparams: Hparams) -> tuple[Any, Any]:
    """The weights and the discounts of the channels in use, [channel]; () and () if there are none."""
    if not used:
        return (), ()
    weights = [hparams.get(f"{REWARD}{name}", float(place == 0)) for place, name in enumerate(used)]
    discounts = [hparams.get(f"{DISCOUNT}{name}", hparams["discount"]) for name in used]
    return np.array(weights, np.float32), np.array(discounts, np.float32)
