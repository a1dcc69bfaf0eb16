"""Who is to blame when workers die: the order that they were training, or the surroundings.

An order that kills its worker does so every time, and workers that train other orders, or nothing, live on. If those die too,
something outside kills workers: somebody who needs the machine, or memory that runs out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from evolute.core.order import Ref

STRIKES = 3
"""How many workers must die while they train one order and nothing else before it can be blamed."""
ODDS = 1e-6
"""An order is blamed if the chance that its strikes came from outside is smaller than this."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before an order is tried again after its first strike, doubled with each further one, and at most."""


@dataclass(eq=False)
class Death:
    """A worker died after training these orders for some seconds. An order that is trained later is no suspect any more.

    `lone` if it trained one order only: a strike against that one. `survived` is what the others had survived by then.
    """

    suspects: set[Ref]
    lone: bool
    seconds: float
    survived: float


@dataclass
class Deaths:
    """The deaths of an engine's workers. `survived` counts the seconds of workers that did not die: idle, starting, or with
    orders that they finished."""

    survived: float = 0.0
    _deaths: list[Death] = field(default_factory=list)
    _suspects: set[Ref] = field(default_factory=set)

    def record(self, refs: Iterable[Ref], seconds: float) -> None:
        """A worker died that had been training these orders for `seconds`; without orders it was idle or starting."""
        suspects = set(refs)
        self._deaths.append(Death(suspects, len(suspects) == 1, seconds, self.survived))
        self._suspects |= suspects

    def acquit(self, ref: Ref) -> None:
        """A worker has trained this order and lives."""
        if ref in self._suspects:
            self._suspects.discard(ref)
            for death in self._deaths:
                death.suspects.discard(ref)

    def convict(self, ref: Ref) -> None:
        """The order was to blame: its deaths say nothing about the surroundings."""
        self._suspects.discard(ref)
        self._deaths = [death for death in self._deaths if ref not in death.suspects]

    def strikes(self, ref: Ref) -> int:
        """How many workers died that were training nothing but this order."""
        return len(self._strikes(ref))

    def guilty(self, ref: Ref) -> bool:
        """Whether the order kills its workers.

        It does if no other worker was ever killed by the surroundings, or if at the rate at which those kill, the deaths
        that fell on this order would be too many to be chance.
        """
        strikes = self._strikes(ref)
        if len(strikes) < STRIKES:
            return False
        seconds = sum(death.seconds for death in strikes)
        since = self._deaths[self._deaths.index(strikes[0]) :]
        rates = _rate(self._deaths, self.survived), _rate(since, self.survived - strikes[0].survived)
        expected = seconds * max(rates)
        return expected ** len(strikes) / math.factorial(len(strikes)) < ODDS

    def wait(self, ref: Ref) -> float:
        """Seconds to wait before the order is tried again, in which idle workers show whether they live."""
        strikes = self.strikes(ref)
        return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (strikes - 1)) if strikes else 0.0

    def _strikes(self, ref: Ref) -> list[Death]:
        return [death for death in self._deaths if death.lone and ref in death.suspects]


def _rate(deaths: Iterable[Death], survived: float) -> float:
    """Deaths by the surroundings for each second that a worker survived."""
    outside = sum(not death.suspects for death in deaths)
    return outside / max(survived, 1e-9) if outside else 0.0
