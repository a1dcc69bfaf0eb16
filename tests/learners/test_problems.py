"""What all benchmark problems share, and their presets against the frozen definitions."""

from __future__ import annotations

import copy
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.config.layers import preset
from evolute.config.resolve import resolved
from evolute.core.param import Choice, Float, Int, Ordinal
from evolute.core.tree import pack, unpack
from evolute.learners.ceilings import ceilings
from evolute.learners.deceptive import deceptive
from evolute.learners.drift import drift
from evolute.learners.drift_mixed import drift_mixed
from evolute.learners.toy import toy
from evolute.learners.triangle import triangle

PROBLEMS = {
    "toy": toy,
    "deceptive": deceptive,
    "triangle": triangle,
    "drift": drift,
    "drift_mixed": drift_mixed,
    "ceilings": ceilings,
}
NOISY = {"triangle": 3.0, "drift": 0.3, "drift_mixed": 0.3, "ceilings": 0.02}
VALUES = {"triangle": "progress", "ceilings": "skill"}
seeds = st.integers(0, 2**31 - 1)


def settings_of(name, rng):
    """Hyper-parameters of a problem, drawn from its preset's space, with what the preset fixes."""
    config = resolved(preset(name))
    return {**config.learner.settings, **config.space.sample(rng)}


def line(name, seed, turns):
    """The states and metrics of some turns, each under other hyper-parameters."""
    rng = np.random.default_rng(seed)
    state, past = None, []
    for _ in range(turns):
        hparams, turn_seed = settings_of(name, rng), int(rng.integers(2**31))
        before = copy.deepcopy((state, hparams))
        after, metrics = PROBLEMS[name](state, hparams, 4, turn_seed)
        past.append((before, (state, hparams), turn_seed, after, metrics))
        state = after
    return past


@pytest.mark.parametrize("name", PROBLEMS)
@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_a_turn_is_a_function_of_state_hparams_and_seed_and_changes_neither(name, seed):
    for before, given_, turn_seed, after, metrics in line(name, seed, 4):
        assert pack(given_) == pack(before)
        again = PROBLEMS[name](*copy.deepcopy(before), 4, turn_seed)
        assert pack(again) == pack((after, metrics))


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_state_continues_from_its_packed_form_as_from_memory(name):
    for _, (state, hparams), turn_seed, after, _ in line(name, 1, 4):
        restored, _ = unpack(b"".join(pack(state)))
        assert pack(PROBLEMS[name](restored, hparams, 4, turn_seed)[0]) == pack(after)


@pytest.mark.parametrize("name", NOISY)
def test_noise_is_on_the_observed_score_alone(name):
    turns = line(name, 2, 3)
    _, (state, hparams), _, _, _ = turns[-1]
    ends = [PROBLEMS[name](state, hparams, 4, seed) for seed in range(4000)]
    noise = np.array([metrics["score"] - metrics["true"] for _, metrics in ends])
    assert noise.std() == pytest.approx(NOISY[name], rel=0.05)
    assert noise.mean() == pytest.approx(0, abs=0.07 * NOISY[name])
    assert np.mean(np.abs(noise) < NOISY[name]) == pytest.approx(0.6827, abs=0.03)
    assert all(after[VALUES.get(name, "total")] == metrics["true"] for after, metrics in ends)


@pytest.mark.parametrize("name", ["drift", "drift_mixed", "ceilings"])
def test_randomness_does_not_reach_the_state(name):
    for _, (state, hparams), _, after, _ in line(name, 3, 5):
        assert all(PROBLEMS[name](state, hparams, 4, seed)[0] == after for seed in range(5))


@pytest.mark.parametrize("name", ["toy", "deceptive"])
def test_a_problem_without_noise_ignores_the_seed(name):
    for _, (state, hparams), _, after, metrics in line(name, 4, 5):
        other, same = PROBLEMS[name](state, hparams, 4, 99)
        assert pack(other) == pack(after)
        assert same == metrics


@pytest.mark.parametrize(
    ("name", "population", "turns", "space"),
    [
        ("toy", 2, 50, {"h0": Float(0, 1), "h1": Float(0, 1)}),
        ("deceptive", 22, 50, {"h": Float(1e-4, 1.1, start=(0.9, 1.1))}),
        ("triangle", 4, 40, {"h": Float(1e-4, 2e-2, log=True)}),
        ("drift", 4, 40, {"x0": Float(0, 1), "x1": Float(0, 1)}),
        ("drift_mixed", 4, 40, {"x0": Float(0, 1), "x1": Float(0, 1), "c": Choice(0, 1, 2, 3)}),
        (
            "ceilings",
            8,
            60,
            {
                "h": Float(0, 1),
                "width": Ordinal(16, 32, 64, 128, 256),
                "depth": Int(1, 4),
                "activation": Choice("tanh", "relu", "swish"),
                "norm": Choice("none", "layer"),
            },
        ),
    ],
)
def test_a_preset_is_the_problem_as_it_is_defined(name, population, turns, space):
    config = resolved(preset(name))
    assert config.learner.maker is PROBLEMS[name]
    assert (config.settings.population, config.stop.turns) == (population, turns)
    assert dict(config.space) == space
    assert config.strategy.name == ("bg_pbt" if name == "ceilings" else "pbt")


def test_the_preset_of_the_toy_starts_as_in_the_paper():
    config = resolved(preset("toy"))
    assert config.settings.interval == 4
    assert config.settings.init.hparams == [{"h0": 1, "h1": 0}, {"h0": 0, "h1": 1}]
    assert config.strategy.settings["resample"] == 0


@pytest.mark.parametrize("name", ["deceptive", "triangle", "drift", "drift_mixed", "ceilings"])
def test_a_turn_is_a_turn_however_many_steps_it_is_given(name):
    hparams = settings_of(name, np.random.default_rng(5))
    turns = [PROBLEMS[name](None, hparams, steps, 7) for steps in (1, 5, 1000)]
    assert all(one == other for one, other in pairwise(turns))
