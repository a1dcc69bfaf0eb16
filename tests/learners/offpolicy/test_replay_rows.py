"""The rows of replay buffers against plain lists: what is kept, and what is learnt from it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learners.offpolicy.replaying import SMALL, learner, state_of
from tests.learners.ppo.training import train

from evolute.learners.kit.layout import layout
from evolute.learners.kit.members import Held
from evolute.learners.offpolicy import buffer as buffers
from evolute.learners.offpolicy.buffer import GOES_ON, TERMINATED, TIME_LIMIT, VOID, Buffer, Rows
from evolute.learners.offpolicy.cohort import Cohort
from evolute.learners.offpolicy.loading import loaded
from evolute.learners.offpolicy.runner import Assignment
from evolute.learners.offpolicy.settings import DQNSettings
from evolute.learners.offpolicy.window import Window, at, drawn


def rows(number, start=0):
    """Rows whose observation is their number."""
    numbers = np.arange(start, start + number, dtype=np.float32)
    return Rows(numbers[:, None], np.stack([numbers, 10 * numbers, np.zeros(number, np.float32)], axis=1))


def listed(buffer):
    return Rows(*(np.concatenate(buffer.arrays(which)) for which in (0, 1)))


@settings(max_examples=60, deadline=None)
@given(capacity=st.integers(2, 60), turns=st.lists(st.integers(1, 40), min_size=1, max_size=12))
def test_a_buffer_has_the_newest_rows_in_their_order(capacity, turns):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buffers, "PIECE_BYTES", 8 * 16)  # pieces of 8 rows
        buffer, total = Buffer.empty((1,), np.float32, 1), 0
        for number in turns:
            before, buffer = buffer, buffer.extended(rows(number, total), capacity)
            total += number
            wanted = rows(total)
            assert len(buffer) == min(total, capacity)
            for found, expected in zip(listed(buffer), wanted, strict=True):
                np.testing.assert_array_equal(found, expected[-capacity:])
            assert {id(piece.obs) for piece in before.pieces[1:]} <= {
                id(piece.obs) for piece in buffer.pieces
            } or capacity < total
            assert all(len(piece.facts.array) == 8 for piece in buffer.pieces)
        again = Buffer.from_tree(buffer.to_tree())
        np.testing.assert_array_equal(listed(again).facts, listed(buffer).facts)


def test_a_cohort_holds_the_rows_of_all_members():
    first, second = (
        Buffer.empty((1,), np.float32, 1).extended(rows(number, start), 50) for number, start in ((30, 0), (70, 9))
    )
    places = layout(2, room=2)
    found, counts, _ = loaded([first, second], places, 50)
    assert counts.tolist() == [30, 50]
    assert found.obs.array.shape == (places.capacity, 50, 1)
    obs, facts = places.gathered((found.obs.array, found.facts.array))
    np.testing.assert_array_equal(facts[1], listed(second).facts)
    np.testing.assert_array_equal(obs[0, :30], listed(first).obs)
    assert np.count_nonzero(found.facts.array) == np.count_nonzero(facts)  # empty rows are empty


# A plain list of transitions.


def lives(envs, steps, seed):
    """Rows [env, time] of some environments, with ends of both kinds and, after each, a void row; the last row is void."""
    rng = np.random.default_rng(seed)
    obs = rng.normal(size=(envs, steps + 1, 3)).astype(np.float32)
    facts = rng.normal(size=(envs, steps + 1, 3)).astype(np.float32)
    for env in range(envs):
        flag, after_end = [], False
        for _ in range(steps):
            flag.append(VOID if after_end else rng.choice([GOES_ON, TERMINATED, TIME_LIMIT], p=[0.7, 0.15, 0.15]))
            after_end = flag[-1] in (TERMINATED, TIME_LIMIT)
        facts[env, :, -1] = [*flag, VOID]
    return obs, facts


def flat(obs, facts):
    return [(o, f) for env in range(len(obs)) for o, f in zip(obs[env], facts[env], strict=True)]


def transition(rows, place, n_step, discount):
    """What follows from a row of a plain list: the return, the discount of what comes after it, and that observation."""
    gained, factor, steps = 0.0, 1.0, 0
    while True:
        fact = rows[place + steps][1]
        gained, factor, steps = gained + factor * fact[-2], factor * discount, steps + 1
        if fact[-1] != GOES_ON or steps == n_step or rows[place + steps][1][-1] == VOID:
            ahead = 0.0 if fact[-1] == TERMINATED else factor
            return gained, ahead, rows[place + steps][0]


@pytest.mark.parametrize("n_step", [1, 3, 5])
@pytest.mark.parametrize(
    ("envs", "old", "now", "capacity"), [(1, 0, 9, 100), (3, 12, 8, 1000), (3, 12, 8, 50), (2, 20, 16, 20)]
)
def test_what_is_learnt_from_a_row_is_what_a_plain_list_says(envs, old, now, capacity, n_step):
    before = flat(*lives(envs, old, 1)) if old else []
    obs, facts = lives(envs, now, 2)
    each = min(now + 1, capacity // envs)
    wanted = [*before, *flat(obs[:, -each:], facts[:, -each:])][-capacity:]
    room = 128
    padded = Rows(*(np.zeros((1, room, 3), np.float32) for _ in "of"))
    for row, (o, f) in enumerate(before):
        padded.obs[0, row], padded.facts[0, row] = o, f
    new = Rows(*(np.pad(array, ((0, 0), (0, 7), (0, 0)))[None] for array in (obs, facts)))
    old_rows, new_rows = (Rows(*(Held(jnp.asarray(array), 0) for array in both)) for both in (padded, new))
    window = Window(old_rows, jnp.int32(len(before)), new_rows, jnp.int32(now), capacity)
    assert int(window.size) == len(wanted)
    learn_from = jax.jit(lambda place: at(window, place, n_step=jnp.float32(n_step), discount=jnp.float32(0.9)))
    batch = learn_from(jnp.arange(len(wanted)))
    for place, (shown, fact) in enumerate(wanted):
        np.testing.assert_array_equal(batch.obs[place], shown)
        np.testing.assert_array_equal(batch.action[place], fact[:-2])
        assert batch.weight[place] == (fact[-1] != VOID)
        if batch.weight[place]:
            gained, ahead, after = transition(wanted, place, n_step, 0.9)
            assert batch.reward[place] == pytest.approx(gained, abs=1e-5)
            assert batch.discount[place] == pytest.approx(ahead, abs=1e-5)
            np.testing.assert_array_equal(batch.after[place], after)


def test_every_row_is_drawn_equally_often():
    obs, facts = lives(2, 9, 3)
    new = Rows(*(Held(jnp.asarray(array)[None], 0) for array in (obs, facts)))
    old = Rows(*(Held(jnp.zeros((1, 8, 3)), 0) for _ in "of"))
    window = Window(old, jnp.int32(0), new, jnp.int32(9), 100)
    draw = jax.jit(lambda key: drawn(window, key, 20_000, n_step=jnp.float32(1), discount=jnp.float32(0.9)))
    batch = draw(jax.random.key(0))
    counts = [int(np.sum(np.all(np.asarray(batch.obs) == shown, axis=1))) for shown, _ in flat(obs, facts)]
    assert sum(counts) == 20_000
    assert min(counts) > 800
    assert max(counts) < 1200


# The rows that a turn makes.


def check_lives(found, envs, steps, turns):
    """Rows of the probe `true_end`, which shows the time: ten steps, a void row with the last observation, the next episode."""
    obs, facts = (array.reshape((turns, envs, steps + 1, -1)) for array in found)
    for shown, flags in zip(obs.reshape(-1, steps + 1), facts[..., -1].reshape(-1, steps + 1), strict=True):
        time = np.rint(shown * 10).astype(int)
        assert flags[-1] == VOID
        for place in range(steps):
            assert flags[place] == (VOID if time[place] == 10 else TERMINATED if time[place] == 9 else GOES_ON)
            assert time[place + 1] == (0 if time[place] == 10 else time[place] + 1)


def test_a_turn_in_jax_environments_continues_the_episodes_of_the_last():
    made = learner("dqn", "tests.envs.probes:true_end", **SMALL)
    worker, (report,) = train(made, turns=3, steps=2 * 12)
    found = listed(state_of(made, worker, turn=2).buffer)
    check_lives(found, envs=2, steps=12, turns=3)
    times = np.rint(found.obs.reshape((3, 2, 13)) * 10)
    np.testing.assert_array_equal(times[1:, :, 0], times[:-1, :, -1])
    rewards = found.facts[..., -2].reshape((3, 2, 13))
    np.testing.assert_array_equal(rewards, found.facts[..., -1].reshape((3, 2, 13)) != VOID)
    assert report.metrics["rows"] == 3 * 2 * 13
    assert report.metrics["episodes"] == 2
    assert report.metrics["return"] == 10


def test_a_turn_on_the_host_has_the_same_kinds_of_rows():
    import tests.envs.host_probes  # noqa: F401

    made = learner("dqn", "gym:probes/TimeLimit-v0", **SMALL)
    worker, _ = train(made, [{}, {"lr": 1e-2}], turns=2, steps=2 * 24)
    flags = listed(state_of(made, worker, turn=1).buffer).facts[:, -1].reshape((2, 2, 25))
    once = [*[GOES_ON] * 9, TIME_LIMIT, VOID]
    for one in flags.reshape(-1, 25):
        np.testing.assert_array_equal(one, [*once, *once, GOES_ON, GOES_ON, VOID])


def test_a_turn_longer_than_the_capacity_keeps_the_newest_rows_of_each_environment():
    spec = learner("dqn", "tests.envs.probes:true_end", **SMALL)._spec(
        {**vars(DQNSettings(**SMALL)), "capacity": 20},
    )
    cohort = Cohort(spec, [None], [Assignment({}, 6, 0, Buffer.empty((1,), np.float32, 1))])
    obs, facts = lives(2, 40, 5)
    made = cohort.made(0, Rows(obs, facts))
    np.testing.assert_array_equal(made.obs, obs[:, 15:25].reshape(20, -1))
    np.testing.assert_array_equal(made.facts[:9], facts[0, 15:24])
    np.testing.assert_array_equal(made.facts[9], [0, 0, VOID])
