"""Pools: rows at their own pace in threads and in actors, actors that die, hang or lose their parent."""

import os
import signal
import subprocess
import sys
import time

import gymnasium
import numpy as np
import pytest
from tests.envs.uneven import Fatal, Raises, Uneven

from evolute.envs.actors import Actors
from evolute.envs.host_sync import SyncHostEnv
from evolute.envs.host_vector import VectorHostEnv
from evolute.envs.host_wrappers import frame_stack
from evolute.envs.interface import HostEnv, Separable
from evolute.envs.make import make_env
from evolute.envs.pool import ThreadPool
from evolute.envs.spec import EnvSpec

SEEDS = [[11, 12, 13], [14, 15, 16]]
STEPS = 40


def chosen(row, time):
    return (row * 7 + time * 3) % 5 % 2


def together(env):
    """What each row sees and gets, [time, row, …], if all are stepped together."""
    vector = env.vector(SEEDS)
    seen = [(vector.reset(), np.zeros(6), np.zeros(6), np.zeros(6))]
    for time_ in range(STEPS):
        seen.append(vector.step(np.array([chosen(row, time_) for row in range(6)])))
    vector.close()
    return [np.stack(column).astype(float) for column in zip(*seen, strict=True)]


def at_own_pace(pool, *, between=lambda step: None, steps=STEPS):
    """The same if each goes at its own pace."""
    times, rows, made = np.zeros(6, int), [[] for _ in range(6)], 0
    while (times <= steps).any():
        moved = pool.recv()
        made += 1
        between(made)
        for place, row in enumerate(moved.rows.tolist()):
            rows[row].append((moved.obs[place], moved.reward[place], moved.terminated[place], moved.truncated[place]))
        on = moved.rows[times[moved.rows] < steps]
        if len(on):
            pool.send(on, np.array([chosen(row, times[row]) for row in on]))
        times[moved.rows] += 1
    pool.close()
    by_time = [[row[time_] for row in rows] for time_ in range(steps + 1)]
    return [np.array([[one[field] for one in now] for now in by_time]).astype(float) for field in range(4)]


def assert_same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture(scope="module")
def crew():
    """Two actors for all tests that leave them alone."""
    actors = Actors(SyncHostEnv(Uneven), 2, 60.0)
    yield actors
    actors.close()


@pytest.fixture
def victims():
    """Two actors for a test that kills them."""
    actors = Actors(SyncHostEnv(Uneven), 2, 60.0)
    yield actors
    actors.close()


def test_rows_in_threads_have_the_episodes_that_they_have_together():
    assert_same(at_own_pace(ThreadPool(SyncHostEnv(lambda: Uneven(0.002)), SEEDS)), together(SyncHostEnv(Uneven)))


def test_rows_in_actors_have_the_episodes_that_they_have_together(crew):
    for _ in range(2):  # actors stay for the next turn
        assert_same(at_own_pace(crew.pool(SEEDS, replay=True)), together(SyncHostEnv(Uneven)))
    assert crew.restarts == 0


def test_copies_of_wrapped_and_of_vectorised_environments_are_what_they_are_together():
    for env in (frame_stack(SyncHostEnv(Uneven), 3), make_env(EnvSpec("gym:CartPole-v1", frame_stack=2))):
        assert isinstance(env, Separable)
        assert isinstance(env, HostEnv)
        assert_same(at_own_pace(ThreadPool(env, SEEDS)), together(env))
    shared = VectorHostEnv(lambda count: gymnasium.make_vec("CartPole-v1", count, "vector_entry_point"))
    assert not isinstance(frame_stack(shared, 2), Separable)  # its copies share a generator


def test_a_slow_row_keeps_nobody_waiting():
    class Slow(Uneven):
        def step(self, action):
            if self.mine:
                time.sleep(0.3)
            return super().step(action)

        def reset(self, *, seed=None, options=None):
            self.mine = seed == 11 if seed is not None else self.mine
            return super().reset(seed=seed)

    pool = ThreadPool(SyncHostEnv(Slow), SEEDS)
    while pool.recv(6).rows.size < 6:
        pass
    pool.send(np.arange(6), np.zeros(6, int))
    moves = 0
    while (moved := pool.recv()).rows.tolist() != [0] and 0 not in moved.rows:
        moves += len(moved.rows)
        pool.send(moved.rows, np.zeros(len(moved.rows), int))
    assert moves >= 10
    pool.close()


def test_recv_waits_for_as_many_as_asked_and_no_longer_than_its_patience():
    pool = ThreadPool(SyncHostEnv(lambda: Uneven(0.01)), SEEDS)
    arrived = 0
    while arrived < 6:
        arrived += len(pool.recv(6, 1.0).rows)
    assert pool.recv(3, 0.01).rows.size == 0  # nobody is on the move
    pool.send(np.arange(6), np.zeros(6, int))
    assert len(pool.recv(6).rows) == 6
    pool.send(np.arange(4), np.zeros(4, int))
    assert len(pool.recv(6).rows) == 4  # not more than are on the move
    pool.close()


@pytest.mark.parametrize("where", ["threads", "actors"])
def test_a_row_that_raises_fails_alone(where):
    env, seeds = SyncHostEnv(Raises), [[8, 1, 2]]
    actors = Actors(env, 2, 60.0)
    pool = ThreadPool(env, seeds) if where == "threads" else actors.pool(seeds, replay=True)
    nan, fine = 0, 0
    while nan <= 3 or fine <= 20:
        moved = pool.recv()
        nan += int(np.isnan(moved.reward).sum())
        fine += int(np.isfinite(moved.reward[moved.rows > 0]).sum())
        pool.send(moved.rows, np.zeros(len(moved.rows), int))
    assert list(pool.failures) == [0]
    assert "the simulator exploded" in str(pool.failures[0])
    pool.close()
    actors.close()


def kill(process):
    os.kill(process.handle.pid, signal.SIGKILL)


def test_a_killed_actor_is_replaced_and_its_rows_go_on_where_they_were(victims):
    """They do again what they had done, so that nobody can tell."""
    crew = victims
    pool = crew.pool(SEEDS, replay=True)

    def murder(made):
        if made in (15, 60):
            kill(crew.process(made % 2))

    assert_same(at_own_pace(pool, between=murder), together(SyncHostEnv(Uneven)))
    assert crew.restarts in (1, 2)  # the second one may die when its rows are through


@pytest.mark.slow("actors that are killed every second cost time, and nothing else")
def test_actors_that_are_killed_every_second_change_nothing():
    actors = Actors(SyncHostEnv(lambda: Uneven(0.05)), 2, 60.0)
    pool, last = actors.pool(SEEDS, replay=True), [time.monotonic()]

    def murder(made):
        if time.monotonic() > last[0] + 1 and not pool._strikes.any():  # those of the last time have come back
            kill(actors.process(made % 2))
            last[0] = time.monotonic()

    assert_same(at_own_pace(pool, between=murder), together(SyncHostEnv(Uneven)))
    assert actors.restarts >= 1
    actors.close()


def test_where_episodes_need_not_repeat_a_killed_actor_cuts_them_off(victims):
    crew = victims
    pool = crew.pool(SEEDS, replay=False)
    killed = []

    def murder(made):
        if made == 30:
            kill(crew.process(0))
            killed.append(made)

    seen, _, terminated, truncated = at_own_pace(pool, between=murder)
    wanted = together(SyncHostEnv(Uneven))
    np.testing.assert_array_equal(seen[:, 1::2], wanted[0][:, 1::2])  # the rows of the other actor
    assert not np.array_equal(seen[:, ::2], wanted[0][:, ::2])
    assert killed
    assert crew.restarts == 1
    ended = (terminated + truncated)[:-1, ::2] > 0
    cut_off = (seen[1:, ::2] == seen[:-1, ::2]).all(-1)  # such a move shows the last observation again, maybe a first one
    starts = (seen[1:, ::2, 1] == 0) & ~cut_off
    np.testing.assert_array_equal(ended, starts)  # episodes begin where one has ended, and nowhere else


def test_an_episode_that_is_lost_while_its_row_waits_ends_in_the_next_move():
    actors = Actors(SyncHostEnv(Uneven), 1, 60.0)
    pool = actors.pool([[11, 12]], replay=False)
    seen = {}
    while len(seen) < 2:
        moved = pool.recv(2)
        seen.update(zip(moved.rows.tolist(), moved.obs, strict=True))
    kill(actors.process(0))
    pool.send(np.array([0]), np.zeros(1, int))
    lost = pool.recv(1)
    assert (lost.rows.tolist(), lost.truncated.tolist(), lost.reward.tolist()) == ([0], [True], [0])
    pool.send(np.array([1]), np.zeros(1, int))
    lost = pool.recv(1)
    assert (lost.rows.tolist(), lost.truncated.tolist()) == ([1], [True])
    np.testing.assert_array_equal(lost.obs[0], seen[1])
    pool.send(np.arange(2), np.zeros(2, int))
    moved = pool.recv(2)
    assert not (moved.terminated | moved.truncated).any()
    assert (moved.obs[:, 1] == 0).all()  # another episode begins
    assert not np.array_equal(moved.obs, np.stack([seen[0], seen[1]]))
    pool.close()
    actors.close()


@pytest.mark.parametrize(("how", "said"), [("dies", "exit code 3"), ("hangs", "longer than 3 s")])
@pytest.mark.parametrize("times", [pytest.param(2, marks=pytest.mark.slow("twice is forgiven, and nobody can tell")), 3])
def test_a_step_that_costs_its_actor_its_life_three_times_fails_its_row(tmp_path, how, said, times):
    file = tmp_path / "lines"
    file.write_text("\n".join("x" * times))
    actors = Actors(SyncHostEnv(lambda: Fatal(how, str(file), 13)), 2, 3.0)
    pool = actors.pool(SEEDS, replay=True)
    if times < 3:
        assert_same(at_own_pace(pool, steps=8), [column[:9] for column in together(SyncHostEnv(Uneven))])
    else:
        rewards = at_own_pace(pool, steps=8)[1]
        assert np.isnan(rewards[5:, 2]).all()
        assert np.isfinite(np.delete(rewards, 2, axis=1)).all()
        assert said in str(pool.failures[2])
    assert actors.restarts >= times  # a busy machine may cost another actor its life
    actors.close()


LEADER = """
import sys, time
from evolute.envs.actors import Actors
from evolute.envs.host_sync import SyncHostEnv
from tests.envs.uneven import Uneven
actors = Actors(SyncHostEnv(lambda: Uneven(5.0)), 2, 60.0)
pool = actors.pool([[1, 2]], replay=True)
while pool.recv(2, 60.0).rows.size == 0: pass
pool.send(__import__("numpy").arange(2), __import__("numpy").zeros(2, int))
print(*(actors.process(number).handle.pid for number in range(2)), flush=True)
time.sleep(float(sys.argv[1]))
"""


@pytest.mark.parametrize("killed", [True, pytest.param(False, marks=pytest.mark.slow("also with one that ends by itself"))])
def test_actors_end_with_the_process_that_started_them(killed):
    leader = subprocess.Popen([sys.executable, "-c", LEADER, "100" if killed else "0"], stdout=subprocess.PIPE, text=True)
    assert leader.stdout is not None
    numbers = [int(number) for number in leader.stdout.readline().split()]
    assert len(numbers) == 2
    if killed:
        leader.kill()
    leader.wait(60)
    leader.stdout.close()
    deadline = time.monotonic() + 60
    while any(alive(number) for number in numbers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(alive(number) for number in numbers)


def alive(number):
    try:
        with open(f"/proc/{number}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
