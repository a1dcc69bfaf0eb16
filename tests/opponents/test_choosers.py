from __future__ import annotations

import math

import numpy as np
import pytest
from fields import NOW, PAST, field_of, frequencies
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.core.names import resolve, shipped
from evolute.core.order import Ref
from evolute.opponents.cycle import cycle
from evolute.opponents.elo import elo
from evolute.opponents.history import history
from evolute.opponents.latest import latest
from evolute.opponents.nash import mixture, nash
from evolute.opponents.pfsp import WEIGHTS, pfsp, priorities
from evolute.opponents.random import random
from evolute.opponents.self import self

NAMES = ["cycle", "elo", "history", "latest", "nash", "pfsp", "random", "self"]
WEIGHTINGS = ["hard", "linear", "even", "variance", "published"]


def close(expected):
    return pytest.approx(expected, abs=0.04)


def test_choosers_are_found_by_name():
    assert set(NAMES) | {"exploit", "league"} == set(shipped("opponents"))
    for name in NAMES:
        assert resolve("opponents", name)()(field_of([3]), 0, np.random.default_rng(0)) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_member_plays_itself_where_nobody_else_is_there(name):
    choose, rng = resolve("opponents", name)(), np.random.default_rng(0)
    assert choose(field_of([0]), 0, rng) is None
    assert choose(field_of([0, 0, 0]), 1, rng) is None
    assert choose(field_of([4, 0], pool=[Ref(0, 3)]), 0, rng) is None  # its own newest state is nobody else


players = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=6)
shares = st.floats(0, 1) | st.sampled_from([0.0, 0.5, 1.0])


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(turns=st.lists(st.integers(0, 5), min_size=4, max_size=4), pool=players, share=shares, data=st.data())
def test_whatever_the_field_a_chooser_draws_somebody_from_it(name, turns, pool, share, data):
    held = [Ref(*ref) for ref in sorted(pool, key=lambda ref: ref[::-1]) if ref[1] < turns[ref[0]]]
    guests = data.draw(st.sampled_from([(), ("random",)]))
    field = field_of(turns, held, guests, {})
    slot = data.draw(st.integers(0, 3))
    table = {(one, other): share for one in field.latest.values() for other in (*field.latest.values(), *held, *guests)}
    field = field_of(turns, held, guests, table)
    if slot not in field.latest and name in ("pfsp", "elo"):
        return  # what an untrained member is expected to win is the frame's to say
    choose = resolve("opponents", name)()
    draws = [choose(field, slot, np.random.default_rng(3)) for _ in range(2)]
    assert draws[0] == draws[1]
    assert draws[0] in {None, *field.latest.values(), *held, *guests}
    assert draws[0] != field.latest.get(slot, "nobody")


def test_oneself():
    assert frequencies(self(), field_of([5, 5], PAST), 0, 20) == {None: 1.0}


def test_latest_meets_the_newest_four_times_in_five():
    field = field_of([5, 5, 5, 5], PAST[:2], ["bot"])
    newest = {None: 0.2, NOW[1]: 0.2, NOW[2]: 0.2, NOW[3]: 0.2}
    assert frequencies(latest(), field, 0) == close({**newest, PAST[0]: 0.2 / 3, PAST[1]: 0.2 / 3, "bot": 0.2 / 3})
    assert frequencies(latest(newest=1.0), field, 0).keys() == newest.keys()
    assert frequencies(latest(newest=0.0), field, 0) == close({PAST[0]: 1 / 3, PAST[1]: 1 / 3, "bot": 1 / 3})
    assert frequencies(latest(newest=0.0), field_of([5, 5]), 0) == close({None: 0.5, NOW[1]: 0.5})


def test_history_is_uniform_over_everybody_now_and_before():
    field = field_of([5, 5, 5], [*PAST, NOW[0], NOW[1]], ["bot"])
    everybody = [None, NOW[1], NOW[2], *PAST, "bot"]
    assert frequencies(history(), field, 0) == close(dict.fromkeys(everybody, 1 / 7))


def test_random_is_uniform_over_the_others_as_they_are_now():
    field = field_of([5, 5, 0, 5], PAST)
    assert frequencies(random(), field, 1) == close({NOW[0]: 0.5, NOW[3]: 0.5})
    assert frequencies(random(), field_of([5, 5], PAST, ["bot"]), 1) == close({NOW[0]: 0.5, "bot": 0.5})


def test_cycle_meets_one_after_the_other():
    rng = np.random.default_rng(0)
    met = [cycle()(field_of([1, turns, 1, 1]), 1, rng) for turns in range(1, 7)]
    assert met == [Ref(slot, 0) for slot in (3, 0, 2, 3, 0, 2)]
    pairs = [{(slot, cycle()(field_of([turns] * 5), slot, rng).member) for slot in range(5)} for turns in range(1, 5)]
    assert len(set.union(*pairs)) == 20


X = [0.9, 0.5, 0.2]
BY_HAND = {
    "hard": [0.01, 0.25, 0.64],
    "linear": [0.1, 0.5, 0.8],
    "even": [0.1, 0.5, 0.5],
    "variance": [0.09, 0.25, 0.16],
    "published": [0.0, 0.064, 0.343],
}


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_pfsp_is_the_formula_exactly(weighting):
    field = field_of([5, 5], PAST[1:], shares=dict(zip([(NOW[0], ref) for ref in (NOW[1], *PAST[1:])], X, strict=True)))
    rivals = field.rivals(0)
    assert rivals == [NOW[1], *PAST[1:]]
    weights = BY_HAND[weighting]
    assert priorities(field, 0, rivals, weighting) == pytest.approx(weights)
    expected = {rival: weight / sum(weights) for rival, weight in zip(rivals, weights, strict=True) if weight}
    assert frequencies(pfsp(weighting=weighting), field, 0) == close(expected)


def test_pfsp_prefers_the_hard_by_default():
    field = field_of([5, 5, 5], shares={(NOW[0], NOW[1]): 0.9, (NOW[0], NOW[2]): 0.4})
    assert frequencies(pfsp(), field, 0) == close({NOW[1]: 0.01 / 0.37, NOW[2]: 0.36 / 0.37})


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("share", [1.0, 1.0 - 1e-9])
def test_pfsp_meets_all_alike_when_all_are_beaten(weighting, share):
    table = {(NOW[0], other): share for other in NOW[1:4]}
    assert frequencies(pfsp(weighting=weighting), field_of([5] * 4, shares=table), 0) == close(dict.fromkeys(NOW[1:4], 1 / 3))


@pytest.mark.parametrize("weighting", ["hard", "linear", "even", "variance"])
def test_pfsp_still_meets_whom_it_beats_most(weighting):
    """The published code never does."""
    field = field_of([5, 5, 5], shares={(NOW[0], NOW[1]): 0.8, (NOW[0], NOW[2]): 0.3})
    assert frequencies(pfsp(weighting=weighting), field, 0)[NOW[1]] > 0.02


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=7), st.sampled_from(WEIGHTINGS))
def test_pfsp_weights_are_never_negative_and_never_favour_the_easier(shares, weighting):
    weights = WEIGHTS[weighting](np.sort(shares))
    assert np.all(weights >= 0)
    if weighting != "variance":
        assert np.all(np.diff(weights) <= 0)


def test_a_weighting_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="hard, linear, even, variance, published"):
        pfsp(weighting="soft")


def test_elo_meets_those_of_like_strength():
    field = field_of([5, 5, 5], [], ["bot"], {(NOW[0], NOW[1]): 0.5, (NOW[0], NOW[2]): 0.75, (NOW[0], "bot"): 1.0})
    weights = [1.0, math.exp(-18 / 16), math.exp(-18 / 4)]
    expected = {player: w / sum(weights) for player, w in zip([NOW[1], NOW[2], "bot"], weights, strict=True)}
    assert frequencies(elo(), field, 0) == close(expected)
    assert frequencies(elo(spread=100.0), field, 0) == close(dict.fromkeys(expected, 1 / 3))


ROCK, PAPER, SCISSORS, WEAK = NOW[:4]
CIRCLE = {(PAPER, ROCK): 1.0, (SCISSORS, PAPER): 1.0, (ROCK, SCISSORS): 1.0}
BEATEN = {(one, WEAK): 1.0 for one in (ROCK, PAPER, SCISSORS)}


def share_of(field, slot, *, uniform=0.1, rectified=False):
    weights = mixture(field, slot, uniform=uniform, rectified=rectified)
    return {player: weight / sum(weights.values()) for player, weight in weights.items()}


def test_nash_mixes_the_equilibrium_with_a_tenth_of_anybody():
    field = field_of([5] * 4, shares={**CIRCLE, **BEATEN})
    share = 0.9 / 3 + 0.1 / 4
    assert share_of(field, 3) == pytest.approx({ROCK: share, PAPER: share, SCISSORS: share, None: 0.1 / 4})
    assert share_of(field, 0) == pytest.approx({None: share, PAPER: share, SCISSORS: share, WEAK: 0.1 / 4})
    assert share_of(field, 3, uniform=1.0) == pytest.approx(dict.fromkeys([ROCK, PAPER, SCISSORS, None], 0.25))
    assert share_of(field, 0, uniform=0.0)[WEAK] == pytest.approx(0, abs=1e-6)
    assert frequencies(nash(), field, 3) == close(share_of(field, 3))


def test_nash_counts_the_pool():
    newer, older = Ref(0, 2), Ref(0, 1)
    field = field_of([5], [older, newer], shares={(NOW[0], older): 0.9, (NOW[0], newer): 0.2, (newer, older): 0.6})
    assert share_of(field, 0, uniform=0.0) == pytest.approx({None: 0, older: 0, newer: 1}, abs=1e-6)
    stronger = field_of([5], [older, newer], shares={(NOW[0], older): 0.9, (NOW[0], newer): 0.8})
    assert share_of(stronger, 0, uniform=0.0) == pytest.approx({None: 1, older: 0, newer: 0}, abs=1e-6)


def test_rectified_nash_leaves_out_those_that_it_loses_to():
    field = field_of([5] * 4, shares={**CIRCLE, **BEATEN})
    share, rest = 0.9 / 3 + 0.1 / 4, 0.1 / 4
    total = 2 * share + rest
    expected = {None: share / total, SCISSORS: share / total, WEAK: rest / total}
    assert share_of(field, 0, rectified=True) == pytest.approx(expected)
    assert frequencies(nash(rectified=True), field, 0) == close(expected)
    assert frequencies(nash(rectified=True), field, 3) == {None: 1.0}


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: nash(uniform=2), "uniform=2"),
        (lambda: latest(newest=-1), "newest=-1"),
        (lambda: elo(spread=0), "spread=0"),
    ],
)
def test_settings_out_of_range_are_refused(make, word):
    with pytest.raises(ValueError, match=word):
        make()
