"""Stacked frames that are kept once: what is drawn is what it would be if every row had its whole stack."""

from dataclasses import replace
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.learners.offpolicy.replaying import SMALL, state_of
from tests.learners.offpolicy.test_replay_laws import digest_among
from tests.learners.offpolicy.test_replay_rows import transition

from evolute.core.order import Order, Ref
from evolute.core.spare import Spare
from evolute.core.worker import Worker
from evolute.envs.spec import EnvSpec
from evolute.learners.kit.host_rollout import Trajectory
from evolute.learners.kit.layout import layout
from evolute.learners.kit.members import Held
from evolute.learners.offpolicy import buffer as buffers
from evolute.learners.offpolicy import turn
from evolute.learners.offpolicy.buffer import GOES_ON, TERMINATED, TIME_LIMIT, VOID, Buffer, Rows
from evolute.learners.offpolicy.cohort import Cohort
from evolute.learners.offpolicy.loading import Mixed, loaded
from evolute.learners.offpolicy.make import make
from evolute.learners.offpolicy.runner import Assignment
from evolute.learners.offpolicy.settings import DQNSettings
from evolute.learners.offpolicy.window import Window, at
from evolute.testing import check_learner
from evolute.testing.memory import MemoryStates

FRAMES, ENVS, UNROLL, WIDTH = 3, 2, 4, 4
STACKED = {"frame_stack": FRAMES, "time_limit": 9}


@cache
def stacked(env="cartpole", wrap=(), **options):
    """A learner of an environment whose observations are stacked; its episodes are short."""
    spec = EnvSpec(env, **{**STACKED, **dict(wrap)})
    return make("dqn", spec, DQNSettings(**{**SMALL, "warmup": 16, "devices": 2, **options}))


# Plain lists of stacks.


class Plain:
    """Environments whose frames are random: their stacks as they are shown, and all rows as a list."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.rows = []
        self.begin()

    def begin(self):
        self.stacks, self.ended = [self._first() for _ in range(ENVS)], [False] * ENVS

    def _first(self):
        return [self.rng.normal(size=WIDTH).astype(np.float32)] * FRAMES

    def rollout(self):
        """A trajectory [time, env, …]."""
        steps = [self._step() for _ in range(UNROLL)]
        obs, action, reward, terminated, ends, valid = (np.array(one, np.float32) for one in zip(*steps, strict=True))
        obs = np.concatenate([obs, self.shown()[None]])
        return Trajectory(obs, action, reward, terminated, ends, (), valid, ())

    def shown(self):
        return np.array([np.concatenate(stack) for stack in self.stacks])

    def _step(self):
        shown, valid, fates = self.shown(), [not ended for ended in self.ended], []
        for env in range(ENVS):
            fate = self.rng.choice([GOES_ON, TERMINATED, TIME_LIMIT], p=[0.7, 0.15, 0.15]) if valid[env] else GOES_ON
            frame = self.rng.normal(size=WIDTH).astype(np.float32)
            self.stacks[env] = [*self.stacks[env][1:], frame] if valid[env] else self._first()
            fates.append(fate)
        self.ended = [fate != GOES_ON for fate in fates]
        action, reward = self.rng.integers(0, 2, (ENVS, 1)), self.rng.normal(size=ENVS) * valid
        return shown, action, reward, [fate == TERMINATED for fate in fates], self.ended, valid


def listed(trajectories, each):
    """The newest rows of each environment, as a list of observations and facts."""
    rows = []
    for env in range(ENVS):
        own = []
        for one in trajectories:
            for time in range(UNROLL):
                flag = TERMINATED if one.terminated[time, env] else TIME_LIMIT if one.ends[time, env] else GOES_ON
                flag = flag if one.valid[time, env] else VOID
                own.append((one.obs[time, env], np.array([one.action_outputs[time, env, 0], one.reward[time, env], flag])))
        own.append((trajectories[-1].obs[-1, env], np.array([0, 0, VOID])))
        rows += own[-each:]
    return rows


@partial(jax.jit, static_argnums=0)
def learnt_from(constants, old, new, filled, n_step):
    capacity, frames = constants
    window = Window(old.rows, old.counts[0], new, filled, capacity, frames, old.places)
    place = jnp.arange(capacity)
    return window.size, at(window, place, n_step=n_step, discount=jnp.float32(0.9))


def check(wanted, found, n_step):
    size, batch = found
    assert int(size) == len(wanted)
    batch = jax.tree.map(np.asarray, batch)
    for place, (shown, fact) in enumerate(wanted):
        np.testing.assert_array_equal(batch.obs[place], shown)
        assert batch.weight[place] == (fact[-1] != VOID)
        if batch.weight[place]:
            gained, ahead, after = transition(wanted, place, n_step, 0.9)
            np.testing.assert_array_equal(batch.action[place], fact[:-2])
            assert batch.reward[place] == pytest.approx(gained, abs=1e-5)
            assert batch.discount[place] == pytest.approx(ahead, abs=1e-5)
            np.testing.assert_array_equal(batch.after[place], after)


def read(buffer, capacity):
    """The rows of one member, as its program reads them."""
    old = loaded([buffer], layout(1, room=1), capacity)
    rows, places = ([Held(jnp.asarray(np.asarray(one.array)), 0) for one in many] for many in (old.rows, [old.places]))
    return old._replace(rows=Rows(*rows), places=places[0])


class Kept:
    """A member's buffer of frames, made by the code of turns."""

    def __init__(self, capacity):
        self.spec = stacked()._spec({**vars(DQNSettings(**SMALL)), "capacity": capacity})
        self.buffer = stacked()._empty(self.spec)

    def turn(self, plain, rollouts, n_step):
        """Another turn, whose every rollout is followed by a look at all rows."""
        cohort = Cohort(self.spec, [None], [Assignment({}, rollouts, 0, self.buffer)])
        old, capacity = read(self.buffer, self.spec.capacity), self.spec.capacity
        new, made = jax.tree.map(lambda array: jnp.asarray(array)[None], cohort.layout.views(cohort.blank())[0]), []
        for number in range(rollouts):
            made.append(plain.rollout())
            trajectory = jax.tree.map(lambda array: jnp.asarray(array)[None], made[-1])
            new = turn.appended(self.spec, new, trajectory, number)
            filled = (number + 1) * UNROLL
            wanted = [*plain.rows, *listed(made, min(filled + 1, capacity // ENVS))][-capacity:]
            rows = Rows(*(Held(array, 0) for array in new))
            check(wanted, learnt_from((capacity, self.spec.frames), old, rows, filled, jnp.float32(n_step)), n_step)
        plain.rows = wanted
        self.buffer = self.buffer.extended(cohort.made(0, Rows(*(np.asarray(array[0]) for array in new))), capacity)
        assert len(self.buffer) == len(wanted)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    capacity=st.sampled_from([13, 24, 200]),
    turns=st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=5),
    n_step=st.sampled_from([1, 3]),
)
@example(seed=0, capacity=24, turns=[(4, False), (1, False)] * 4, n_step=1)  # longer turns than there is room for
def test_what_is_drawn_has_the_stacks_of_a_plain_list(seed, capacity, turns, n_step):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buffers, "PIECE_BYTES", 8 * 28)  # pieces of 8 rows
        plain, kept = Plain(seed), Kept(capacity)
        for rollouts, afresh in turns:
            if afresh:
                plain.begin()
            kept.turn(plain, rollouts, n_step)
            kept.buffer = Buffer.from_tree(kept.buffer.to_tree())


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**31), counts=st.lists(st.integers(1, 30), min_size=2, max_size=3))
def test_rows_of_several_members_have_their_own_stacks(seed, counts):
    wanted, parts = [], []
    for place, count in enumerate(counts):
        plain, kept = Plain(seed + place), Kept(100)
        for _ in range(2):
            kept.turn(plain, 2, 1)
        parts.append(kept.buffer.newest(count))
        wanted += plain.rows[-count:]
    assert len(Mixed(tuple(parts))) == len(wanted)
    old = read(Mixed(tuple(parts)), 100)
    blank = Rows(jnp.zeros((1, ENVS, FRAMES, WIDTH)), jnp.zeros((1, ENVS, FRAMES, 3)).at[..., -1].set(VOID))
    rows = Rows(*(Held(array, 0) for array in blank))
    _, batch = learnt_from((100, kept.spec.frames), old, rows, 0, jnp.float32(1))
    check(wanted, (len(wanted), batch), 1)


# Whole turns.


def trained(made, inherited):
    """What two members have learnt in three turns, the last of which is an heir's."""
    worker = Worker(made, MemoryStates())
    worker.train([Order(member, 0, {"n_step": 1 + 2 * member}, steps=48, seed=member + 1) for member in range(2)])
    own, others = (Ref(1, 0) if inherited in ("keep", "share") else None), ((Ref(0, 0),) if inherited == "share" else ())
    for number, start in ((1, Ref(0, 0)), (2, Ref(1, 1))):
        links = {"own": own and Ref(1, number - 1), "others": others}
        (report,) = worker.train([Order(1, number, {}, start=start, steps=56, seed=7 + number, **links)])
        assert not report.failed, report.error
    state = state_of(made, worker, 1, 2)
    assert report.metrics["updates"] > 10
    return state, report.metrics


def check_equal(made, inherited="copy"):
    """The same bits as with whole stacks, and less memory."""
    assert made.stacked == FRAMES
    once, metrics = trained(made, inherited)
    whole, expected = trained(replace(made, stacked=1), inherited)
    assert metrics == expected
    for found, wanted in zip(jax.tree.leaves(once.train), jax.tree.leaves(whole.train), strict=True):
        np.testing.assert_array_equal(found, wanted)
    facts = whole.buffer.row_bytes - whole.buffer.tail.obs[0].nbytes
    assert once.buffer.row_bytes - facts == (whole.buffer.row_bytes - facts) / FRAMES


@pytest.mark.parametrize(("env", "options"), [("cartpole", {}), ("gym:CartPole-v1", {"capacity": 70})])
def test_training_ends_in_the_same_bits_as_with_whole_stacks(env, options):
    check_equal(stacked(env, **options))


@pytest.mark.slow("other ways to inherit, turns beyond the capacity, images, and scaled observations")
@pytest.mark.parametrize(
    ("env", "wrap", "options"),
    [
        ("cartpole", {}, {"capacity": 30}),
        ("cartpole", {"obs_scale": 0.5}, {"inherit_buffer": "keep", "normalize_obs": True}),
        ("cartpole", {}, {"inherit_buffer": "share", "capacity": 90}),
        ("gym:CartPole-v1", {"obs_scale": 0.5}, {"inherit_buffer": "reset"}),
        ("gymnax:Breakout-MinAtar", {}, {"widths": (16,)}),
        ("minatar:Breakout", {}, {"widths": (16,), "network": "mlp", "capacity": 70}),
    ],
)
def test_training_ends_in_the_same_bits_elsewhere(env, wrap, options):
    check_equal(stacked(env, tuple(wrap.items()), **options), options.get("inherit_buffer", "copy"))


def test_a_member_with_stacked_frames_does_not_depend_on_who_shares_its_cohort():
    made = stacked()
    assert digest_among(made, 1, 0) == digest_among(made, 3, 2)


@pytest.mark.slow("the laws of a learner with stacked frames, inside the program and on the host")
@pytest.mark.parametrize(("env", "inherited"), [("cartpole", "copy"), ("gym:CartPole-v1", "keep"), ("cartpole", "share")])
def test_the_laws_of_a_learner_with_stacked_frames(env, inherited):
    check_learner(stacked(env, inherit_buffer=inherited), [{"lr": 1e-3}, {"lr": 1e-2, "n_step": 4}], steps=96)


def test_sizes_are_told_of_single_frames():
    assert "rows of 28 bytes" in stacked().footprint(8, steps=None, interval=1000, spare=Spare()).text
    assert "rows of 60 bytes" in replace(stacked(), stacked=1).footprint(8, steps=None, interval=1000, spare=Spare()).text


def test_the_frames_of_atari_are_kept_once():
    pytest.importorskip("ale_py")
    settings = DQNSettings(devices=2)
    made = make("dqn", EnvSpec("atari:Pong"), settings)
    assert "rows of 7,068 bytes" in made.footprint(1, steps=None, interval=1000, spare=Spare()).text
    repeated = make("dqn", EnvSpec("atari:Pong", action_repeat=2), settings)
    assert repeated.stacked == 1
