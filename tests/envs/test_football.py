"""Google Research Football, where it is installed: seeds repeat a match, in any process, and several players can be seats."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("gfootball", reason="built from source: `evolute envs football` says how")

from evolute.envs.adapters.football import FootballGame, Match, Options, host, ids, single
from evolute.testing import check_host_game

EMPTY = "academy_empty_goal_close"


def played(seed=7, **options):
    """Observations and rewards of a match in which players run to the right, then shoot."""
    read = Options.read(options)
    match = Match(EMPTY, read)
    rows = [match.reset(seed)]
    gained = np.zeros(read.seats)
    for time in range(60):
        now = match.step([5 if time < 12 else 12] * read.seats)
        rows.append(now.obs)
        gained += now.reward
        if now.over:
            break
    match.close()
    return np.stack(rows), gained


def test_a_seed_repeats_a_match_here_and_in_another_process():
    first, gained = played()
    again, _ = played()
    np.testing.assert_array_equal(first, again)
    assert first.shape[1:] == (1, 115)
    assert gained[0] == pytest.approx(2.0)
    code = "from tests.envs.test_football import played; print(repr(float(played()[0].astype('f8').sum())))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split()[-1] == repr(float(first.astype("f8").sum())), done.stderr
    other, _ = played(8)
    assert other.shape != first.shape or (other != first).any()


def test_rewards_are_goals_and_checkpoints():
    assert played(rewards="scoring")[1][0] == pytest.approx(1.0)
    assert played(rewards="checkpoints")[1][0] == pytest.approx(1.0)


def test_one_seat_is_an_environment_of_gymnasium():
    env = single(EMPTY, {}, time_limit=5)
    obs, _ = env.reset(seed=1)
    assert env.observation_space.contains(obs)
    again, _ = single(EMPTY, {}).reset(seed=1)
    np.testing.assert_array_equal(obs, again)
    for time in range(5):
        *_, truncated, _ = env.step(0)
        assert truncated == (time == 4)


def test_seats_of_both_teams_are_a_game():
    game = FootballGame("11_vs_11_stochastic", {"left": 2, "right": 1})
    assert game.teams == (0, 0, 1)
    copy = game.copy()
    now = copy.reset(3)
    assert now.obs.shape == (3, 115)
    for _ in range(3):
        now = copy.step(dict.fromkeys(range(3), 5))
    assert len(now.acting) == 3
    copy.close()
    check_host_game(FootballGame("1_vs_1_easy", {}), games=1)


def test_several_seats_with_one_policy_are_rows():
    env = host("academy_3_vs_1_with_keeper", {"left": 3})
    vector = env.vector([[1, 2, 3], [4, 5, 6]])
    assert vector.reset().shape == (6, 115)
    obs, reward, terminated, _ = vector.step(np.zeros(6, int))
    assert (obs.shape, reward.shape) == ((6, 115), (6,))
    assert not terminated.any()
    vector.close()
    assert env.seats_per_game == 3
    with pytest.raises(ValueError, match="4 rows of a member are no whole matches of 3 seats"):
        env.vector([[1, 2, 3, 4]])


def test_what_football_has_not_is_refused():
    assert EMPTY in ids()
    with pytest.raises(ValueError, match=f"no scenario 'academy_empty_goal_clos'; did you mean '{EMPTY}'"):
        host("academy_empty_goal_clos", {})
    with pytest.raises(ValueError, match=r"football.left=9: in academy_empty_goal_close \d players"):
        host(EMPTY, {"left": 9})
    with pytest.raises(ValueError, match=r"football.wright: there is no such setting; did you mean 'right'"):
        host(EMPTY, {"wright": 1})
    with pytest.raises(ValueError, match="there are scoring and checkpoints"):
        host(EMPTY, {"rewards": "goals"})
