"""The league: who plays whom by role, who is admitted, and who begins again."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests.opponents.duels import canonical, run

from evolute.core.order import Ref
from evolute.core.population import Population
from evolute.opponents.field import Field
from evolute.opponents.league import league
from evolute.store.journal import Journal

LATEST = {slot: Ref(slot, 9) for slot in range(8)}
POOL = (Ref(0, 1), Ref(0, 5), Ref(2, 3), Ref(4, 2))


def field(expected, pool=POOL, latest=LATEST):
    return Field(Population.of(8), latest, pool, (), lambda slot, player: expected.get(player, 0.5), lambda own, player: 0.5)


def chosen(slot, expected, **given):
    choose, rng = league(), np.random.default_rng(0)
    counts = Counter(choose(field(expected, **given), slot, rng) for _ in range(4000))
    return {player: count / 4000 for player, count in counts.items()}


def test_roles_come_one_to_one_to_two():
    assert [league().role(slot) for slot in range(6)] == [
        "main",
        "main exploiter",
        "league exploiter",
        "league exploiter",
        "main",
        "main exploiter",
    ]


def test_a_main_agent_meets_what_is_hard_what_it_forgot_and_other_mains():
    expected = {Ref(0, 1): 0.9, Ref(0, 5): 0.1, Ref(2, 3): 0.5, Ref(4, 2): 0.8}
    shares = chosen(0, expected)
    weights = {ref: (1 - expected[ref]) ** 2 for ref in POOL}
    for ref in POOL:
        share = 0.5 * weights[ref] / sum(weights.values()) + (0.15 if expected[ref] < 0.3 else 0)
        assert shares.get(ref, 0) == pytest.approx(share, abs=0.03)
    assert shares[None] == pytest.approx(0.175, abs=0.03)
    assert shares[Ref(4, 9)] == pytest.approx(0.175, abs=0.03)
    assert not any(isinstance(player, Ref) and player.turn == 9 and player.member not in (0, 4) for player in shares)


def test_a_main_exploiter_meets_main_agents_or_their_past_if_they_are_too_strong():
    assert set(chosen(1, {})) == {Ref(0, 9), Ref(4, 9)}
    hopeless = chosen(1, {Ref(0, 9): 0.05, Ref(4, 9): 0.05, Ref(0, 1): 0.9, Ref(0, 5): 0.5})
    assert set(hopeless) == {Ref(0, 1), Ref(0, 5), Ref(4, 2)}
    assert hopeless[Ref(0, 5)] / hopeless[Ref(0, 1)] == pytest.approx(0.25 / 0.09, rel=0.3)


def test_a_league_exploiter_meets_the_whole_past():
    shares = chosen(2, {Ref(0, 1): 1.0, Ref(0, 5): 0.2})
    assert set(shares) == {Ref(0, 5), Ref(2, 3), Ref(4, 2)}
    assert max(shares.values()) == pytest.approx(1 / 3, abs=0.03)


@pytest.mark.parametrize("slot", range(4))
def test_the_first_turn_is_played_alone(slot):
    assert chosen(slot, {}, pool=(), latest={}) == {None: 1.0}


def test_who_beats_all_targets_or_has_trained_long_is_admitted():
    one = league(mains=8, exploiters=16)
    assert [one.is_admitted(field({}), 0, turns) for turns in (7, 8)] == [False, True]
    beats = {Ref(0, 9): 0.8, Ref(4, 9): 0.8}
    assert one.is_admitted(field(beats), 1, 1)
    assert not one.is_admitted(field({**beats, Ref(4, 9): 0.6}), 1, 15)
    assert one.is_admitted(field({}), 1, 16)
    assert one.is_admitted(field(dict.fromkeys(POOL, 0.75)), 3, 1)
    assert not one.is_admitted(field({}, pool=()), 3, 1)


def test_exploiters_begin_again():
    rng, one = np.random.default_rng(0), league()
    assert not any(one.begins_again(0, rng) for _ in range(100))
    assert all(one.begins_again(1, rng) for _ in range(100))
    assert np.mean([one.begins_again(2, rng) for _ in range(4000)]) == pytest.approx(0.25, abs=0.03)


SHORT = {"opponents": "league", "league": {"mains": 3, "exploiters": 4}, "population": 6, "turns": 12}


def test_a_league_admits_and_resets_and_keeps_roles_apart(tmp_path):
    made = run(tmp_path / "run", **SHORT)
    restarted = {
        turn.ref.member for m in made.population.members for turn in m.history() if turn.order.why.get("event") == "restart"
    }
    assert {1, 5} <= restarted <= {1, 2, 3, 5}
    role = league().role
    for member in made.population.members:
        for turn in member.history():
            assert turn.order.start is None or role(turn.order.start.member) == role(member.slot)
    journal = Journal.read(tmp_path / "run")
    assert len(journal.decisions()[-1].state["pool"]) >= 6


@pytest.mark.parametrize("count", [22, 41, 60, 83])
def test_a_league_that_was_stopped_ends_the_same(tmp_path, stopped_at, count):
    run(tmp_path / "whole", durable=4, **SHORT)
    stopped_at(count, lambda: run(tmp_path / "again", durable=4, **SHORT))
    run(tmp_path / "again", durable=4, **SHORT)
    assert canonical(tmp_path / "again") == canonical(tmp_path / "whole")
