"""Small games that run by themselves, each with something to look at."""

from __future__ import annotations

import asyncio
import threading
from typing import ClassVar

import gymnasium
import numpy as np

from evolute.games import Game


class Small(Game):
    """Observations of two numbers, three actions."""

    observation_space = gymnasium.spaces.Box(-100, 100, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)


class Paying(Small):
    """Two seats that are asked in an order of chance, and paid in two channels, some of it before their first action.

    Observations are the seat's number and its time; the results say what was paid.
    """

    seats, channels, repeatable = ("left", "right"), ("gold", "silver"), True

    async def play(self, seats, seed):
        rng, paid = np.random.default_rng(seed), {name: np.zeros(2) for name in seats}

        def pay(name):
            gold, silver = rng.integers(0, 9, 2).tolist()
            paid[name] += (gold, silver)
            seats[name].reward(gold=gold, silver=silver)

        for time in range(int(rng.integers(1, 6))):
            for number in rng.permutation(2):
                name = self.seats[number]
                pay(name)
                action = await seats[name].act([number, time])
                assert action == seats[name].action
                seats[name].reward(gold=action)
                paid[name][0] += action
        for name in seats:
            pay(name)
        return {name: {"gold": gold, "silver": silver} for name, (gold, silver) in paid.items()}


class Ticking(Small):
    """Asks at every tick, and ends when the test says so; counts the ticks without an answer itself."""

    stop: ClassVar[threading.Event]
    ticks: ClassVar[list[bool]]

    async def play(self, seats, seed):
        seat = seats["player"]
        while not self.stop.is_set():
            self.ticks.append(seat.ask([len(self.ticks), 0]))
            await asyncio.sleep(0.001)
        self.stop.clear()
        return {"ticks": len(self.ticks)}


class Clocked(Small):
    """Has a clock of its own, which no two questions are equally far apart on; observations are when it asks. `told` is what it
    says of the time instead, if anything."""

    repeatable = clock = True
    told: ClassVar[dict[int, float | None]] = {}

    async def play(self, seats, seed):
        rng, now, seat = np.random.default_rng(seed), 5.0, seats["player"]
        for number in range(6):
            await seat.act([now, 0], at=self.told.get(number, now))
            now += float(rng.choice([0.25, 0.5, 2.0]))
            seat.reward(1)
        seat.end([now, 0], at=now)


class Hasty(Small):
    """Asks once and is over without waiting for the answer; how long it lasts is no matter."""

    async def play(self, seats, seed):
        seats["player"].ask([1, 2])
        seats["player"].reward(5)
        await asyncio.sleep(0)
        return {"length": 1}


class Limited(Small):
    """Is cut short by a time limit, and shows where it stood."""

    repeatable = True

    async def play(self, seats, seed):
        seat = seats["player"]
        for time in range(3):
            await seat.act([time, 0])
            seat.reward(1)
        seat.end([3, 0])
        seat.reward(100)  # after the end: counts no more
        assert not seat.ask([9, 9])
        return {"limited": 1}


class Sabotaged(Small):
    """Goes wrong after its first action, in episodes whose seeds `when` picks."""

    def __init__(self, how, when=lambda seed: True, **settings):
        super().__init__(**settings)
        self.how, self.when = how, when
        self.stall = 0.3

    async def play(self, seats, seed):
        await seats["player"].act([0, 0])
        seats["player"].reward(1)
        if self.when(seed):
            return await self.how(seats["player"])
        await seats["player"].act([1, 0])
        return {"whole": 1}


class Masked(Small):
    """Says which actions are legal, and fails if another one is taken."""

    repeatable = legal = True

    async def play(self, seats, seed):
        rng = np.random.default_rng(seed)
        for _ in range(4):
            legal = rng.permutation([True, True, False])
            action = await seats["player"].act([0, 0], legal)
            if not legal[action]:
                raise ValueError("an illegal move")


class Duel(Small):
    """The second seat is told what the first did; the results say what each did."""

    seats, repeatable = ("me", "you"), True

    def rule(self, name, obs):
        return int(obs[0]) if name == "you" else None

    async def play(self, seats, seed):
        mine = await seats["me"].act([0, 0])
        yours = await seats["you"].act([mine, 0])
        return {"me": {"did": mine}, "you": {"did": yours}}


class Tempting(Small):
    """Whoever works five times of eight has won, which the first channel pays for; the second pays for every rest."""

    channels, repeatable = ("won", "rested"), True

    async def play(self, seats, seed):
        seat, worked = seats["player"], 0
        for _ in range(8):
            working = await seat.act([worked, 0]) == 0
            worked += working
            seat.reward(rested=float(not working))
        won = float(worked >= 5)
        seat.reward(won=won)
        return {"win": won}
