"""Games on their stage: what they pay arrives, whatever the timing; what goes wrong ends an episode, with its last words."""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
import threading
import time

import numpy as np
import pytest
from tests.games.small_games import Clocked, Duel, Hasty, Limited, Masked, Paying, Sabotaged, Small, Ticking

from evolute.envs.lockstep import Lockstep
from evolute.testing import check_async_game


def staged(game, seeds=(1,), per_member=1):
    many = len(game.host_env().seats)
    return contextlib.closing(game.host_env().pool([[seed] * many for seed in seeds]))


def episodes(pool, count, *, dawdle=0.0, act=lambda row, time: (row + time) % 3):
    """The first episodes of each row, as lists of (obs, reward, terminated, truncated, results).

    A learner that dawdles leaves this share of the rows that have moved for later.
    """
    rng, held = np.random.default_rng(0), []
    told = {row: [[]] for row in range(pool.rows)}
    times = dict.fromkeys(range(pool.rows), 0)
    while min(map(len, told.values())) <= count:
        moved = pool.recv(1, 0.002 if held else None)
        for place, row in enumerate(moved.rows.tolist()):
            ended = bool(moved.terminated[place]), bool(moved.truncated[place])
            told[row][-1].append((moved.obs[place].tolist(), moved.reward[place].tolist(), *ended, moved.results.get(row)))
            if any(ended):
                told[row].append([])
        for row in moved.rows.tolist():
            times[row] += 1
        waiting = [*held, *moved.rows.tolist()]
        now = [row for row in waiting if rng.random() >= dawdle]
        held = [row for row in waiting if row not in now]
        pool.send(np.array(now, int), np.array([act(row, times[row]) for row in now], int))
    return {row: list(list_[:count]) for row, list_ in told.items()}


def test_every_seat_gets_what_the_game_paid_it_in_each_channel():
    with staged(Paying(), seeds=range(6)) as pool:
        assert pool.rows == 12
        told = episodes(pool, 5)
    for row, ended in told.items():
        for moves in ended:
            assert moves[0][1] == [0, 0]
            assert [move[0] for move in moves[:-1]] == [[row % 2, time] for time in range(len(moves) - 1)]
            (*_, results), terminated = moves[-1], [move[2] for move in moves]
            assert np.sum([move[1] for move in moves], axis=0).tolist() == [results["gold"], results["silver"]]
            assert terminated == [False] * (len(moves) - 1) + [True]


def test_a_repeatable_game_goes_the_same_way_whatever_the_timing():
    told = []
    for seeds, dawdle in (((3, 4), 0.0), ((3, 4), 0.7), ((5, 6), 0.0)):
        with staged(Paying(), seeds) as pool:
            told.append(episodes(pool, 4, dawdle=dawdle))
    assert told[0] == told[1]
    assert told[0] != told[2]


def test_a_game_that_does_not_wait_counts_its_late_answers():
    Ticking.stop, Ticking.ticks = threading.Event(), []
    with staged(Ticking()) as pool:
        moved = pool.recv()
        while len(Ticking.ticks) < 5:
            time.sleep(0.001)
        pool.send(moved.rows, [1])
        moved = pool.recv()
        assert moved.elapsed[0] > 0
        assert moved.obs[0, 0] >= 5
        Ticking.stop.set()
        pool.send(moved.rows, [1])
        while not moved.results:
            moved = pool.recv()
            if not moved.results:
                pool.send(moved.rows, [1])
        asked, late = len(Ticking.ticks), Ticking.ticks.count(False)
        assert late >= 4
        told = moved.results[0]
        assert told["ticks"] <= asked
        assert 0 < told["late"] < 1


def test_the_time_between_moves_is_that_of_the_games_clock():
    with staged(Clocked(), seeds=(1, 2)) as pool:
        moved, before = pool.recv(2), np.full(2, np.nan)
        assert moved.elapsed.tolist() == [0, 0]
        for _ in range(30):
            first = np.isnan(before)
            np.testing.assert_array_equal(moved.elapsed[~first], (moved.obs[:, 0] - before)[~first])
            before = np.where(moved.truncated, np.nan, moved.obs[:, 0])
            pool.send(moved.rows, [0, 1])
            moved = pool.recv(2)
    check_async_game(Clocked(), episodes=2)


@pytest.mark.parametrize(
    ("told", "clock", "words"),
    [
        ({2: None}, True, "at=None: a game with clock = True says its time in seconds whenever it asks"),
        ({2: math.nan}, True, "at=nan: a game with clock = True"),
        ({2: 1.0}, True, "at=1: the time was .* before, and does not go backwards"),
        ({}, False, "the time was given, but the game has clock = False"),
    ],
)
def test_a_clock_must_be_said_and_go_forward(monkeypatch, told, clock, words):
    monkeypatch.setattr(Clocked, "told", told)
    monkeypatch.setattr(Clocked, "clock", clock)
    with staged(Clocked()) as pool:
        moved = pool.recv()
        while not moved.results and not pool.failures:
            pool.send(moved.rows, [0])
            moved = pool.recv()
        assert pool.failures or moved.results[0]["failed"] == 1
        with pytest.raises(RuntimeError, match=words):
            raise RuntimeError(pool.words[0])


def test_the_end_of_an_episode_waits_for_the_learner():
    with staged(Hasty()) as pool:
        moved = pool.recv()
        assert moved.obs.tolist() == [[1, 2]]
        for _ in range(3):
            pool.send(moved.rows, [0])
            moved = pool.recv()
            assert (moved.reward.tolist(), moved.terminated.tolist()) == ([5], [True])
            assert moved.results[0]["length"] == 1
            pool.send(moved.rows, [0])
            moved = pool.recv()
            assert (moved.obs.tolist(), moved.reward.tolist(), moved.terminated.tolist()) == ([[1, 2]], [0], [False])


def test_a_time_limit_truncates_with_the_last_observation():
    with staged(Limited()) as pool:
        (moves,) = episodes(pool, 1)[0]
    assert [move[0][0] for move in moves] == [0, 1, 2, 3]
    assert [move[1] for move in moves] == [0, 1, 1, 1]
    assert moves[-1][2:] == (False, True, {"limited": 1})


def test_recv_has_patience_and_never_waits_for_rows_that_do_not_move():
    with staged(Limited(), seeds=(1, 2, 3)) as pool:
        moved = pool.recv(3)
        assert moved.rows.tolist() == [0, 1, 2]
        assert pool.recv(1).rows.tolist() == []
        pool.send(moved.rows[:1], [0])
        assert pool.recv(3).rows.tolist() == [0]
        before = time.monotonic()
        assert pool.recv(1, 5.0).rows.tolist() == []
        assert time.monotonic() - before < 4


def test_an_empty_hand_after_patience():
    async def wait(seat):
        await asyncio.sleep(60)

    game = Sabotaged(wait)
    game.stall = 100
    with staged(game) as pool:
        moved = pool.recv()
        pool.send(moved.rows, [0])
        moved = pool.recv(1, 0.05)
        assert moved.rows.shape == (0,)
        assert (moved.obs.shape, moved.reward.shape) == ((0, 2), (0,))


async def raises(seat):
    raise ValueError("no more cards")


async def stalls(seat):
    await asyncio.Event().wait()


async def exits(seat):
    sys.exit(3)


async def lies(seat):
    await seat.act([1, 2, 3])


async def pays_nan(seat):
    seat.reward(math.nan)


async def pays_elsewhere(seat):
    seat.reward(gold=1)


async def returns_words(seat):
    return {"winner": "me"}


async def cancels(seat):
    raise asyncio.CancelledError


WORDS = {
    raises: r"ValueError: no more cards \(.*test_stage.py, line \d+\)",
    stalls: r"asked nobody for 0.3 s; it waits in .*small_games.py, line \d+",
    exits: r"SystemExit\(3\)",
    lies: r"not of the game's observation_space: obs has the shape \(3,\), and should have \(2,\)",
    pays_nan: "not a finite number",
    pays_elsewhere: "a reward in 'gold': there is no such channel",
    returns_words: "play returned {'winner': 'me'}: it may return numbers by name",
    cancels: "play has cancelled itself",
}


@pytest.mark.parametrize("how", WORDS, ids=lambda how: how.__name__)
def test_an_episode_that_goes_wrong_is_cut_short_and_the_next_one_begins(how):
    """Every other seed goes wrong, so there are never three failures in a row in what is played here."""
    turns = iter([True, False] * 100)
    with staged(Sabotaged(how, lambda seed: next(turns))) as pool:
        failed, whole = episodes(pool, 2)[0]
        assert [move[1] for move in failed] == [0, 1]
        assert failed[-1][2:4] == (False, True)
        assert failed[-1][4]["failed"] == 1
        assert whole[-1][4]["whole"] == 1
        assert pool.failures == {}
        assert len(pool.words) == 1
        with pytest.raises(RuntimeError, match=WORDS[how]):
            raise RuntimeError(pool.words[0])


def test_failures_only_count_in_a_row():
    turns = iter([True, True, False] * 100)
    with staged(Sabotaged(raises, lambda seed: next(turns))) as pool:
        assert [moves[-1][3] for moves in episodes(pool, 9)[0]] == [True, True, False] * 3
        assert pool.failures == {}
        assert len(pool.words) >= 6


def test_a_game_that_always_fails_fails_its_rows_alone():
    with staged(Sabotaged(raises, lambda seed: seed == 0), seeds=(1, 2)) as pool:
        pool._played[0]._game.when = lambda seed: True
        moved, lost = pool.recv(2), 0
        while not pool.failures:
            pool.send(moved.rows, np.zeros(len(moved.rows), int))
            moved = pool.recv()
        while lost < 3:
            pool.send(moved.rows, np.zeros(len(moved.rows), int))
            moved = pool.recv(2)
            lost += bool(np.isnan(moved.reward[0]))
            assert not np.isnan(moved.reward[1])
            assert not moved.terminated[0]
        assert list(pool.failures) == [0]
        assert "failed in 3 episodes in a row" in str(pool.failures[0])
        assert "no more cards" in str(pool.failures[0])


def test_a_game_that_blocks_all_others_is_named_with_the_line_it_stands_in():
    release = threading.Event()

    async def blocks(seat):
        release.wait(60)

    with staged(Sabotaged(blocks), seeds=(1, 2)) as pool:
        moved = pool.recv(2)
        pool.send(moved.rows, [0, 0])
        moved = pool.recv(2)
        assert np.isnan(moved.reward).all()
        pool.send(moved.rows, [0, 0])
        assert np.isnan(pool.recv(2).reward).all()
        assert sorted(pool.failures) == [0, 1]
        assert "release.wait(60)" in str(pool.failures[0])
        release.set()


def test_a_game_without_a_coroutine_or_without_questions_is_told_so():
    class Plain(Small):
        def play(self, seats, seed):
            return {}

    class Empty(Small):
        async def play(self, seats, seed):
            return {}

    for game, words in ((Plain(), "write it as `async def play"), (Empty(), "over before any of player was asked")):
        with staged(game) as pool:
            assert np.isnan(pool.recv().reward).all()
            assert words in str(pool.failures[0])


def test_a_game_that_breaks_outside_of_play_fails_its_rows():
    class Broken(Limited):
        @property
        def seats(self):
            if threading.current_thread() is threading.main_thread():
                return ("player",)
            raise OSError("no such table")

        def close(self):
            raise OSError("the lid is stuck")

    with staged(Broken()) as pool:
        assert np.isnan(pool.recv().reward).all()
        assert "no such table" in str(pool.failures[0])
    assert any("the lid is stuck" in words for words in pool.words)


def test_what_is_legal_comes_with_the_question():
    check_async_game(Masked())
    with staged(Masked()) as pool:
        assert pool.recv().legal.sum() == 2
    game = Masked()
    game.legal = False
    with staged(game) as pool:
        assert np.isnan(pool.recv().reward).all()
        assert "has legal = False" in str(pool.failures[0])
    with staged(Masked()) as pool, pytest.raises(ValueError, match="which actions are legal"):
        Lockstep(pool).reset()


def test_a_rule_plays_the_seats_that_the_member_does_not():
    with staged(Duel(plays="me")) as pool:
        assert pool.rows == 1
        assert [moves[-1][4]["did"] for moves in episodes(pool, 2, act=lambda row, time: 2)[0]] == [2, 2]

    class Silent(Duel):
        def rule(self, name, obs):
            return None

    with staged(Silent(plays=["you"])) as pool:
        seen = [moves[0][0][0] for moves in episodes(pool, 30)[0]]
        assert set(seen) == {0, 1, 2}
    with staged(Silent(plays=["you"])) as pool:
        assert seen == [moves[0][0][0] for moves in episodes(pool, 30)[0]]


def test_seats_that_there_are_not_and_rows_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="Duel has no seat 'mee'; did you mean 'me'"):
        Duel(plays="mee").host_env()
    with pytest.raises(ValueError, match="Duel has no seat '3'; there are me, you"):
        Duel(plays=3).host_env()
    with pytest.raises(ValueError, match="3 rows of a member are no whole games of 2 seats"):
        Duel().host_env().pool([[1, 2, 3]])


def test_a_vector_has_any_number_of_rows_and_a_rule_plays_the_seats_that_are_left():
    class Both(Small):
        seats, repeatable = ("me", "you"), True

        async def play(self, seats, seed):
            did = await asyncio.gather(seats["me"].act([0, 0]), seats["you"].act([1, 0]))
            return {"me": {"did": did[0]}, "you": {"did": did[1]}}

    with contextlib.closing(Both().host_env().vector([[1, 2, 3], [4, 5, 6]])) as vector:
        assert vector.reset()[:, 0].tolist() == [0, 1, 0, 0, 1, 0]
        assert vector.step(np.zeros(6, int))[2].all()


def test_a_closed_stage_leaves_no_thread_and_lets_games_clean_up():
    cleaned = []

    class Tidy(Limited):
        async def play(self, seats, seed):
            try:
                return await super().play(seats, seed)
            finally:
                cleaned.append(seed)

        def close(self):
            cleaned.append("closed")

    before = threading.active_count()
    with staged(Tidy(), seeds=(1, 2)) as pool:
        pool.recv(2)
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
    assert cleaned.count("closed") == 2
    assert len(cleaned) == 4
