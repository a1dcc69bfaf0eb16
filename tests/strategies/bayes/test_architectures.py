"""Proposals of architectures: how many by whom, what the model learns from, and that it finds a planted optimum."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from evolute.core.param import Choice, Float, Int, Ordinal
from evolute.core.space import Space
from evolute.strategies.bayes.architectures import Tried, proposed_architectures, quantiles

SPACE = Space(
    {
        "width": Ordinal(16, 32, 64, 128, 256),
        "depth": Int(1, 4),
        "act": Choice("a", "b", "c"),
        "norm": Choice(True, False),
    }
)
ALL = [
    dict(zip(SPACE, values, strict=True))
    for values in itertools.product((16, 32, 64, 128, 256), range(1, 5), "abc", (True, False))
]


def worth(architecture, best):
    places = [(SPACE[name].encode(architecture[name]) - SPACE[name].encode(best[name])) ** 2 for name in ("width", "depth")]
    equal = np.mean([architecture[name] == best[name] for name in ("act", "norm")])
    return float(np.exp(-sum(places) / 0.245) * (0.7 + 0.3 * equal))


def planted(seed, shuffled=False):
    """The worth of the best of four proposals after 24 noisy scores, and of the best of four random ones."""
    rng = np.random.default_rng(seed)
    best = ALL[rng.integers(len(ALL))]
    known = [ALL[place] for place in rng.choice(len(ALL), 24, replace=False)]
    scores = np.array([worth(one, best) for one in known]) + rng.normal(0, 0.1, 24)
    scores = rng.permutation(scores) if shuffled else scores
    made = proposed_architectures(SPACE, [Tried(0, *row) for row in zip(known, scores, strict=True)], 8, rng)
    proposals = [one.architecture for one in made if one.by == "model"]
    draws = [ALL[place] for place in rng.choice(len(ALL), 4, replace=False)]
    return [max(worth(one, best) for one in four) for four in (proposals, draws)]


def test_the_model_finds_what_random_draws_do_not():
    found = np.array([planted(seed) for seed in range(10)])
    assert found[:, 0].mean() > found[:, 1].mean() + 0.2
    assert found[:, 0].mean() > 0.8


def test_it_finds_nothing_in_shuffled_scores():
    found = np.array([planted(seed, shuffled=True) for seed in range(10)])
    assert found[:, 0].mean() < found[:, 1].mean() + 0.1


@pytest.mark.parametrize(("count", "by"), [(8, (2, 4, 2)), (4, (2, 2, 0)), (3, (2, 1, 0)), (2, (2, 0, 0)), (1, (1, 0, 0))])
def test_the_best_of_each_generation_comes_first_then_half_by_the_model_then_random_ones(count, by):
    tried = [Tried(generation, ALL[place], float(place)) for generation, place in [(0, 3), (0, 7), (1, 50), (1, 9)]]
    made = proposed_architectures(SPACE, tried, count, np.random.default_rng(0))
    kinds = [one.by for one in made]
    assert kinds == ["best"] * by[0] + ["model"] * by[1] + ["random"] * by[2]
    assert [one.architecture for one in made if one.by == "best"] == [ALL[50], ALL[7]][: by[0]]
    assert len({repr(one.architecture) for one in made}) == count
    assert all(0 < one.why["expected"] < 1 for one in made)


def test_all_by_chance_but_the_best_without_a_model():
    tried = [Tried(0, ALL[3], 1.0), Tried(0, ALL[4], 2.0)]
    made = proposed_architectures(SPACE, tried, 6, np.random.default_rng(0), by_model=False)
    assert [one.by for one in made] == ["best"] + ["random"] * 5
    assert all(not one.why for one in made)


def test_a_small_space_is_tried_whole_and_nothing_twice():
    space = Space({"act": Choice("a", "b", "c")})
    made = proposed_architectures(space, [Tried(0, {"act": "b"}, 1.0)], 8, np.random.default_rng(0))
    assert sorted(one.architecture["act"] for one in made) == ["a", "b", "c"]


def test_a_real_number_may_be_architecture_too():
    space = Space({"scale": Float(0.1, 10, log=True)})
    tried = [Tried(0, {"scale": 10.0 ** (place / 10 - 1)}, -abs(place - 12.0)) for place in range(20)]
    made = proposed_architectures(space, tried, 6, np.random.default_rng(0))
    nearest = min(abs(np.log10(one.architecture["scale"]) - 0.2) for one in made if one.by == "model")
    assert nearest < 0.15


def test_scores_count_by_their_rank_within_a_generation():
    """The second generation scores higher whatever it tried; that says nothing about architectures."""
    tried = [Tried(0, ALL[0], 1.0), Tried(0, ALL[1], 2.0), Tried(1, ALL[2], 101.0), Tried(1, ALL[3], 102.0)]
    low, high, low_again, high_again = quantiles(tried)
    assert (low, high) == (low_again, high_again)
    assert low == -high < 0


def test_with_nothing_tried_everything_is_random():
    assert [one.by for one in proposed_architectures(SPACE, [], 3, np.random.default_rng(0))] == ["random"] * 3
