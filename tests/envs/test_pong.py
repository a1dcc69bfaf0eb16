from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolute.envs.ours import pong as rules
from evolute.envs.ours.pong import DOWN, STOP, UP, Pong, built_in, fitness, frame, play, start, view


def games(policy, *, count: int, seat: str = "left"):
    """The last states, returns and lengths of whole games of a policy `(key, obs) -> action`."""
    env = Pong(seat=seat)

    def game(key):
        def going(carry):
            return ~carry[-1]

        def step(carry):
            state, obs, total, time, _ = carry
            draw = jax.random.fold_in(key, time)
            after = env.step(draw, state, policy(draw, obs))
            return after.state, after.obs, total + after.reward, time + 1, after.terminated

        state, obs = env.reset(key)
        return jax.lax.while_loop(going, step, (state, obs, jnp.float32(0), 0, jnp.bool_(False)))

    state, _, total, time, _ = jax.jit(jax.vmap(game))(jax.random.split(jax.random.key(0), count))
    return state, np.asarray(total), np.asarray(time)


def at_random(key, obs):
    return jax.random.randint(key, (), 0, 3)


def standing(key, obs):
    return jnp.int32(STOP)


def by_rule(key, obs):
    return built_in(obs)


@pytest.mark.parametrize(("policy", "reference"), [(at_random, 0.15), (standing, 0.14)])
def test_reference_values_of_fitness(policy, reference):
    scores = fitness(games(policy, count=2000)[1])
    assert float(scores.mean()) == pytest.approx(reference, abs=0.005 + 2 * 0.0018)  # its rounding, and our sampling error


@pytest.mark.parametrize("seat", ["left", "right"])
def test_the_rule_against_itself_is_even(seat):
    """The reference has 0.52, from an unknown number of games; a symmetric game must have 0.5."""
    scores = fitness(games(by_rule, count=2000, seat=seat)[1])
    assert float(scores.mean()) == pytest.approx(0.5, abs=0.01)


def test_points_add_up_to_rounds_and_to_the_return():
    state, total, time = games(by_rule, count=200)
    assert (state.rounds == rules.ROUNDS).all()
    assert (state.score.sum(axis=1) <= rules.ROUNDS).all()
    assert (state.score[:, 0] - state.score[:, 1] == total).all()
    assert (time <= rules.ROUNDS * rules.ROUND_LIMIT).all()


@functools.cache
def recorded():
    """States and both views of two random players, [time, game, …]."""

    def step(state, key):
        left, right = jax.random.randint(key, (2,), 0, 3)
        played = play(state, left, right)
        return played.state, played

    def game(key):
        return jax.lax.scan(step, start(key), jax.random.split(key, 1500))[1]

    return jax.jit(jax.vmap(game))(jax.random.split(jax.random.key(1), 64))


def test_everything_stays_in_the_arena():
    state = recorded().state
    assert state.bats.min() >= rules.BAT_HEIGHT / 2
    assert state.bats.max() <= rules.ARENA - rules.BAT_HEIGHT / 2
    assert state.ball.min() >= 2 - 1e-4
    assert state.ball.max() <= 158 + 1e-4
    space = Pong().observation_space
    assert all(space.contains(np.asarray(seen)) for seen in recorded().left[0, ::50])
    assert np.abs(recorded().right).max() <= 1.0


def mirrored(state):
    """The same game seen in a mirror that swaps left and right."""
    return state._replace(
        bats=state.bats[::-1],
        ball=state.ball.at[:, 0].set(160 - state.ball[:, 0]),
        velocity=state.velocity * jnp.array([-1.0, 1.0]),
        score=state.score[::-1],
    )


def test_the_right_seat_sees_the_mirrored_game_from_the_left():
    states = jax.tree.map(lambda leaf: leaf[:, ::100].reshape(-1, *leaf.shape[2:]), recorded().state)
    right = jax.vmap(lambda state: view(state, "right"))(states)
    left = jax.vmap(lambda state: view(mirrored(state), "left"))(states)
    np.testing.assert_allclose(right, left, atol=1e-6)


def test_a_mirrored_game_goes_on_mirrored():
    states = jax.tree.map(lambda leaf: leaf[:, ::10].reshape(-1, *leaf.shape[2:]), recorded().state)
    one = jax.vmap(lambda state: play(state, UP, DOWN))(states)
    other = jax.vmap(lambda state: play(mirrored(state), DOWN, UP))(states)
    going = one.state.rounds == states.rounds
    np.testing.assert_allclose(one.left[going], other.right[going], atol=1e-5)
    np.testing.assert_allclose(one.reward, -other.reward)
    assert going.mean() > 0.5
    assert one.reward.any()


def test_views_show_the_bats_and_the_last_four_places_of_the_ball():
    played = recorded()
    bats, ball = played.state.bats / 80 - 1, played.state.ball / 80 - 1
    np.testing.assert_allclose(played.left[..., :2], bats, atol=1e-6)
    np.testing.assert_allclose(played.left[..., 2:], ball.reshape(*ball.shape[:2], 8), atol=1e-6)
    same_round = np.asarray(played.state.time > 3)
    for back in (1, 2, 3):
        shown, was = played.left[:, 3:, 2 + 2 * back : 4 + 2 * back], played.left[:, 3 - back : 1500 - back, 2:4]
        np.testing.assert_allclose(shown[same_round[:, 3:]], was[same_round[:, 3:]], atol=1e-6)


def at(x, y, velocity, bats=(80.0, 80.0)):
    state = start(jax.random.key(0))
    return state._replace(ball=state.ball.at[0].set(jnp.array([x, y])), velocity=jnp.array(velocity), bats=jnp.array(bats))


def test_a_hit_turns_the_ball_and_adds_a_share_of_the_bats_velocity():
    rising = play(at(9.0, 80.0, (-4.0, 1.0)), UP, STOP).state
    np.testing.assert_allclose(rising.velocity, [4.0, 1.0 - 2.8], rtol=1e-6)
    still = play(at(151.0, 80.0, (4.0, 1.0)), UP, STOP).state
    np.testing.assert_allclose(still.velocity, [-4.0, 1.0], rtol=1e-6)
    against_the_wall = play(at(9.0, 10.0, (-4.0, 1.0), bats=(7.5, 80.0)), UP, STOP).state
    np.testing.assert_allclose(against_the_wall.velocity, [4.0, 1.0], rtol=1e-6)


def test_a_bat_hits_what_touches_it():
    for distance, hit in ((9.4, True), (9.6, False)):
        after = play(at(9.0, 80.0 + distance, (-4.0, 0.0)), STOP, STOP).state
        assert (after.velocity[0] > 0) == hit


def test_a_bat_does_not_hit_before_the_ball_is_there_nor_after():
    for x in (13.0, 6.0):
        after = play(at(x, 80.0, (-4.0, 0.0)), STOP, STOP).state
        np.testing.assert_allclose([after.ball[0, 0], after.velocity[0]], [x - 4, -4.0])


def test_walls_turn_the_ball():
    after = play(at(80.0, 4.0, (4.0, -3.0)), STOP, STOP).state
    np.testing.assert_allclose(after.velocity, [4.0, 3.0])
    np.testing.assert_allclose(after.ball[0], [84.0, 3.0])


@pytest.mark.parametrize(("x", "velocity", "reward"), [(4.0, -4.0, -1.0), (156.0, 4.0, 1.0)])
def test_a_ball_that_leaves_is_a_point_and_the_next_is_served(x, velocity, reward):
    played = play(at(x, 20.0, (velocity, 2.0)), STOP, STOP)
    assert played.reward == reward
    assert played.state.score.tolist() == [reward > 0, reward < 0]
    assert (played.state.rounds, played.state.time) == (1, 0)
    np.testing.assert_allclose(played.state.ball[0], [80.0, 80.0])


def test_a_round_that_takes_too_long_is_nobodys():
    state = at(80.0, 80.0, (4.0, 0.0))._replace(time=jnp.int32(999))
    played = play(state, STOP, STOP)
    assert (played.reward, played.state.rounds, played.state.score.tolist()) == (0.0, 1, [0, 0])


def test_serves_are_even_and_as_fast_as_they_should_be():
    served = jax.vmap(lambda seed: jax.vmap(lambda rounds: rules._serve(seed, rounds))(jnp.arange(20)))(
        jax.random.bits(jax.random.key(3), (500,))
    ).reshape(-1, 2)
    assert set(served[:, 0].tolist()) == {-4.0, 4.0}
    speed = np.abs(served[:, 1])
    assert (speed.min() >= 1.2, speed.max() <= 4.0) == (True, True)
    assert speed.mean() == pytest.approx(2.6, abs=0.03)
    assert np.sign(served).mean(axis=0) == pytest.approx([0, 0], abs=0.03)
    assert np.corrcoef(served.T)[0, 1] == pytest.approx(0, abs=0.04)
    assert np.corrcoef(served[:-1, 1], served[1:, 1])[0, 1] == pytest.approx(0, abs=0.04)


def test_the_last_round_ends_the_game():
    state = at(4.0, 20.0, (-4.0, 2.0))._replace(rounds=jnp.int32(18))
    played = play(state, STOP, STOP)
    assert not played.terminated
    again = played.state._replace(ball=state.ball, velocity=state.velocity)
    assert play(again, STOP, STOP).terminated


def test_the_built_in_rule_chases_an_approaching_ball():
    def asked(ball_y, *, approaching=True):
        before = 0.05 if approaching else -0.05
        return int(built_in(jnp.array([0.0, 0.0, 0.0, ball_y, before, 0.0, 0.0, 0.0, 0.0, 0.0])))

    assert [asked(-0.5), asked(0.0), asked(0.5)] == [UP, STOP, DOWN]
    assert asked(0.5, approaching=False) == STOP


def test_a_picture_shows_bats_and_ball():
    picture = frame(at(100.0, 40.0, (4.0, 0.0), bats=(80.0, 20.0)))
    assert (picture.shape, picture.dtype) == ((160, 160, 3), np.uint8)
    lit = picture.any(axis=-1)
    assert lit.sum() == 2 * 5 * 15 + 4 * 4
    assert (lit[80, 2], lit[20, 157], lit[40, 100], lit[20, 2]) == (True, True, True, False)


def test_an_unknown_seat_is_refused():
    with pytest.raises(ValueError, match="seat='middle'"):
        Pong(seat="middle")


@pytest.mark.parametrize("seat", ["left", "right"])
def test_habits_count_stops_and_moves_of_the_own_bat(seat):
    env, plain = Pong(seat=seat, habits=True), Pong(seat=seat)
    assert env.channels == ("point", "lazy", "busy")
    assert plain.channels == ()
    step = jax.jit(env.step)
    state, _ = env.reset(jax.random.key(0))
    for action, lazy, busy in [(STOP, 1, 0), (UP, 0, 1), (DOWN, 0, 1)]:
        after = step(jax.random.key(1), state, jnp.int32(action))
        alone = plain.step(jax.random.key(1), state, jnp.int32(action))
        assert after.reward.tolist() == [float(alone.reward), lazy, busy]
        np.testing.assert_array_equal(after.obs, alone.obs)
    for _ in range(30):  # up to the edge, where the bat stands though it is told to move
        state = step(jax.random.key(1), state, jnp.int32(UP)).state
    assert step(jax.random.key(1), state, jnp.int32(UP)).reward.tolist()[1:] == [0, 0]
