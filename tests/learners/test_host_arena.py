"""Games on the host from one seat: who acts where, with whose weights, whose reward it is, and what is legal."""

from __future__ import annotations

import gymnasium
import jax
import numpy as np
import pytest
from tests.envs.own_zoo import Counting

from evolute.core.protocols import silently
from evolute.envs.host_game import Moment
from evolute.envs.pettingzoo_game import PettingZooGame
from evolute.learners.kit import networks, normalise
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import actions_of
from evolute.learners.kit.arena import LIVE, RANDOM, Opponents
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.host_arena import TRIES, HostArena
from evolute.learners.kit.host_matches import HostFixture, play
from evolute.learners.kit.host_others import Asked, OtherPlayers
from evolute.learners.kit.networks import Network
from evolute.learners.kit.programs import Programs


class Everybody:
    """A simultaneous game of one step: each seat is rewarded with the actions of all, seat 0's being the first digit."""

    observation_space = gymnasium.spaces.Box(0, 1, (1,))
    action_space = gymnasium.spaces.Discrete(5)
    has_legal, zero_sum, bots = False, False, ()

    def __init__(self, teams):
        self.teams, self.seeds = teams, []

    def copy(self):
        return self

    def reset(self, seed):
        self.seeds.append(seed)
        return self._moment(range(len(self.teams)), 0.0)

    def step(self, actions):
        return self._moment((), float("".join(str(actions[seat]) for seat in range(len(self.teams)))))

    def close(self):
        pass

    def _moment(self, acting, reward):
        seats = len(self.teams)
        return Moment(acting, np.ones((seats, 1), np.float32), None, np.full(seats, reward), np.ones(seats, bool))


@pytest.fixture(scope="module")
def programs():
    return Programs(2)


def spec_of(game, memory=0):
    actions = actions_of(game.action_space, std="constant", squash=False, legal=game.has_legal)
    return PolicySpec(Network((1,), actions.outputs, widths=(4,), memory=memory, shared=memory > 0), actions)


def player(spec, action):
    """A player that always takes this action, where it is legal."""
    weights = networks.initial(spec.network, np.random.default_rng(0))
    weights[networks.starts(spec.network)["policy/b"] + action] = 50.0
    return Player(weights, normalise.fresh((1,)), np.float32(0))


def arena_of(programs, game, live, frozen, lineups, *, copies=2, seeds=(1,), once=False):
    spec = spec_of(game)
    players = jax.tree.map(lambda *leaves: np.stack(leaves), *[player(spec, action) for action in frozen])
    opponents = [Opponents(players, np.array(lineups, np.int32))] * len(seeds)
    own = [player(spec, live)] * len(seeds)
    others = OtherPlayers(programs, spec, own, opponents, copies=copies, seeds=seeds, progress=silently)
    envs = copies * len(lineups)
    return HostArena(game, others, [[100 * seed + env for env in range(envs)] for seed in seeds], once=once)


def test_everybody_acts_with_their_own_weights_in_their_own_seat(programs):
    arena = arena_of(programs, Everybody((0, 1, 2)), 0, [1, 2, 3], [[1, 2], [3, LIVE]], copies=3)
    arena.reset()
    _, reward, terminated, _ = arena.step(np.full(6, 4))
    assert terminated.all()
    by_seat = [f"{round(float(value)):03d}" for value in reward]
    assert by_seat[:3] == ["412", "142", "124"]  # players 1 and 2, in the seats that the member leaves
    assert by_seat[3:] == ["430", "340", "304"]  # player 3, and the member itself, which would play 0


def test_teams_of_unequal_size_fill_the_places_that_they_have(programs):
    arena = arena_of(programs, Everybody((0, 1, 1)), 0, [1, 2, 3], [[1, 2, 3], [LIVE, 2, 2]], copies=3)
    arena.reset()
    _, reward, _, _ = arena.step(np.full(6, 4))
    assert [f"{round(float(value)):03d}" for value in reward] == ["423", "241", "214", "422", "240", "204"]


def test_those_who_learn_play_as_they_are_now(programs):
    game = Everybody((0, 1))
    arena = arena_of(programs, game, 0, [1], [[LIVE], [1]], copies=1)
    arena.reset()
    arena.begin(jax.tree.map(lambda leaf: np.asarray(leaf)[None], player(spec_of(game), 3)))
    assert arena.step(np.full(2, 4))[1].tolist() == [43, 41]


def test_the_member_moves_on_to_the_next_seat_with_every_game(programs):
    game = Everybody((0, 1))
    arena = arena_of(programs, game, 0, [1], [[1]], copies=2)
    arena.reset()
    assert arena.step(np.full(2, 4))[1].tolist() == [41, 14]
    _, reward, terminated, truncated = arena.step(np.full(2, 4))  # the games begin again instead
    assert (reward.tolist(), (terminated | truncated).any()) == ([0, 0], False)
    assert arena.step(np.full(2, 4))[1].tolist() == [14, 41]
    assert len(set(game.seeds)) == 4


@pytest.mark.parametrize("length", [2, 3, 6, 7])
def test_a_step_lasts_until_the_member_is_to_act_again(programs, length):
    """What the other's moves bring belongs to the member's own step, also the end of the game."""
    arena = arena_of(programs, PettingZooGame("counting", lambda: Counting(length)), 0, [1], [[1]], once=True)
    obs = arena.reset()
    assert obs[:, 0].tolist() == [0, 1]  # in the second seat, the other has moved first
    total = np.zeros(2)
    while not arena.done:
        _, reward, _, truncated = arena.step(arena.legal.argmax(axis=1))
        total += reward
    moves, last = np.array([(length + 1) // 2, length // 2]), (length - 1) % 2
    expected = -0.1 * moves + np.where(np.arange(2) == last, -1, 1)
    np.testing.assert_allclose(total, expected, atol=1e-5)
    np.testing.assert_allclose(arena.returns, expected, atol=1e-5)
    np.testing.assert_allclose(arena.leads, expected - (-0.1 * moves[::-1] + np.where(np.arange(2) != last, -1, 1)), atol=1e-5)
    assert not truncated.any()


def test_a_game_that_ends_before_the_member_could_act_begins_again(programs):
    arena = arena_of(programs, PettingZooGame("counting", lambda: Counting(6, early=0.5)), 0, [1], [[1]], copies=32)
    obs = arena.reset()
    assert obs[:, 0].tolist() == [0, 1] * 16
    never = arena_of(programs, PettingZooGame("counting", lambda: Counting(6, early=1.0)), 0, [1], [[1]], copies=2)
    never.reset()
    assert f"{TRIES} games in a row ended before the member was to act" in str(never.failures[1])
    assert list(never.failures) == [1]


def test_nobody_plays_what_is_illegal(programs):
    """An illegal move would raise an exception."""
    for lineup in ([[1]], [[RANDOM]], [[LIVE]]):
        arena = arena_of(programs, PettingZooGame("counting", lambda: Counting(9)), 2, [2], lineup, copies=32)
        arena.reset()
        for _ in range(12):
            arena.step(arena.legal.argmax(axis=1))
        assert not arena.failures


def test_a_member_s_games_do_not_depend_on_who_else_plays(programs):
    """Rewards tell what the others did, and games differ in how many moves they make in a step of the member."""
    game = PettingZooGame("counting", lambda: Counting(7, early=0.5, paid=0.01))

    def played(seeds):
        arena = arena_of(programs, game, 0, [1], [[RANDOM], [1]], copies=4, seeds=seeds)
        seen = [arena.reset()]
        for _ in range(20):
            obs, reward, _, _ = arena.step(arena.legal.argmax(axis=1))
            seen += [obs, reward, arena.legal]
        return [rows.reshape((len(seeds), 8, -1)) for rows in seen]

    alone, among = played((5,)), played((4, 5, 6))
    assert all(np.array_equal(one[0], other[1]) for one, other in zip(alone, among, strict=True))
    assert any(not np.array_equal(other[0], other[1]) for other in among)


def test_a_game_that_raises_fails_its_own_row(programs):
    count = iter(range(10))
    game = PettingZooGame("counting", lambda: Counting(9, broken=next(count) == 3))
    arena = arena_of(programs, game, 0, [1], [[1]], copies=4)
    arena.reset()
    rewards = np.array([arena.step(arena.legal.argmax(axis=1))[1] for _ in range(3)])
    assert np.isnan(rewards).any(axis=0).tolist() == [False, False, True, False]
    assert "fell off the table" in str(arena.failures[2])


def test_others_with_memory_remember_only_their_own_moves(programs):
    """A player that is not asked keeps its memory, and in a new game it begins with none."""
    spec = spec_of(Everybody((0, 1)), memory=3)
    weights = np.random.default_rng(1).normal(size=networks.size(spec.network)).astype(np.float32)
    one = Player(weights, normalise.fresh((1,)), np.float32(0))
    opponents = Opponents(jax.tree.map(lambda leaf: leaf[None], one), np.array([[1]], np.int32))
    others = OtherPlayers(programs, spec, [one], [opponents], copies=2, seeds=[1], progress=silently)

    def memory(acts, first):
        grid = (1, 1, 1, 2)
        others(
            Asked(np.ones((*grid, 1), np.float32), None, np.float32(acts).reshape(grid), np.float32(first).reshape(grid)),
            (0, 0),
        )
        return np.asarray(others._acted.memory)[0].copy()

    first = memory([1, 0], [1, 1])
    assert first[0].any()
    assert not first[1].any()
    second = memory([0, 1], [0, 1])
    np.testing.assert_array_equal(second, first[[0, 0]])
    third = memory([1, 1], [1, 0])
    np.testing.assert_array_equal(third[0], first[0])
    assert (third[1] != first[0]).any()


def test_matches_of_all_seats_and_tables_begin_alike(programs):
    game = Everybody((0, 1))
    spec = spec_of(game)
    players = jax.tree.map(lambda leaf: leaf[None], player(spec, 1))
    fixture = HostFixture(player(spec, 4), Opponents(players, np.array([[1], [RANDOM], [LIVE]], np.int32)), 2, 7)
    (results,) = play(game, programs, spec, [fixture], 4, silently)
    assert results.error is None
    assert results.games.returns[0].tolist() == [41, 14, 41, 14]
    assert results.games.leads.tolist() == [[0] * 4] * 3
    assert results.games.returns[2].tolist() == [0] * 4  # a table that does not count is not played
    seeds = np.array(game.seeds).reshape(2, 2, 2)  # [table, pair, seat]
    assert (seeds == seeds[:1, :, :1]).all()
    assert seeds[0, 0, 0] != seeds[0, 1, 0]
