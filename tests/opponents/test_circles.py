"""A population that goes round in circles is told so, once, in words; one that goes up is not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.opponents.duels import canonical
from tests.opponents.duels import run as duel

import evolute
from evolute.config.layers import python, stack
from evolute.config.resolve import resolved
from evolute.core.events import Notice
from evolute.core.order import Match, Order, Ref, Report
from evolute.core.population import Population
from evolute.opponents.circles import Circle, circle_among, games_won
from evolute.ratings.cycles import ALARM, alarm_level
from evolute.report.data.hints import hints
from evolute.report.data.page import page_data
from evolute.runs.circles import warning
from evolute.runs.session import Launch, launch
from evolute.runs.turns import TurnTable

GAMES = 64


def chase(state, hparams, steps, seed, opponents):
    """Everybody walks round a clock, and whoever is a quarter ahead wins: rock, paper, scissors without end."""
    rng = np.random.default_rng(seed)
    hand = (rng.uniform(0, 1) if state is None else state["hand"]) + hparams["pace"]
    results = []
    for other in opponents:
        if other is None:
            results.append(None)
            continue
        ahead = 0.0 if other == "random" else np.sin(hand - other["hand"])
        results.append((rng.binomial(GAMES, 0.5 + 0.45 * ahead) / GAMES, GAMES))
    return {"hand": hand}, {"results": results}


SETTINGS = {
    "learner": chase,
    "strategy": "random_search",
    "opponents": "history",
    "space": {"pace": evolute.Float(0.1, 0.15)},
    "population": 4,
    "stop": {"turns": 50},
}


def walk(folder, **more):
    return evolute.run(**SETTINGS, folder=folder, display="none", **more)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The folder of a whole run, and all that it told."""
    folder, seen = tmp_path_factory.mktemp("circle") / "run", []
    how = Launch(folder=folder, notify=lambda event: seen.append(event.text) if isinstance(event, Notice) else None)
    launch(resolved(stack([python(SETTINGS)])), how)
    return folder, seen


@pytest.fixture
def walked(told):
    return told[0]


def test_a_circle_is_told_once_while_the_run_trains(told):
    folder, seen = told
    (text,) = [text for text in seen if "circle" in text]
    assert "beat each other in a circle (certainty more than 99%), so ratings cannot order them: `evolute tournament " in text
    assert hints(TurnTable.read(folder))[0] == text


def test_every_view_has_the_same_sentence(walked):
    table = TurnTable.read(walked)
    assert sum("circle" in why for why in table.why) == 1
    assert warning(table.why, walked) in page_data(table)["hints"]


def test_each_of_the_circle_is_ahead_of_the_next(walked):
    table = TurnTable.read(walked)
    circle = Circle.from_json(next(why["circle"] for why in table.why if "circle" in why))
    run = evolute.Run.open(walked)
    hands = [_hand(run.population, ref) for ref in circle.players]
    assert all(np.sin(one - other) > 0 for one, other in zip(hands, [*hands[1:], hands[0]], strict=True))


def _hand(population, ref):
    turn = population.find(ref)
    paces = []
    while turn is not None:
        paces.append(turn.order.hparams["pace"])
        first, turn = turn, turn.parent
    return np.random.default_rng(first.order.seed).uniform(0, 1) + sum(paces)


def test_a_resumed_run_says_the_same(tmp_path, walked, stopped_at):
    stopped_at(160, lambda: walk(tmp_path / "run"))
    walk(tmp_path / "run")
    assert canonical(tmp_path / "run") == canonical(walked)


@pytest.mark.parametrize("seed", range(3))
def test_members_that_merely_improve_are_no_circle(tmp_path, seed):
    duel(tmp_path / "run", turns=16, seed=seed)
    table = TurnTable.read(tmp_path / "run")
    assert not any("circle" in why for why in table.why)
    assert warning(table.why, tmp_path) is None


def played(*results: tuple[int, int, int, float]) -> Population:
    """Three members of a few turns; results are (member, turn, whose state of the turn before it met, its share of wins)."""
    population = Population.of(3)
    for turn in range(1 + max(turn for _, turn, _, _ in results)):
        reports = []
        for slot in range(3):
            order = Order(slot, turn, {}, start=Ref(slot, turn - 1) if turn else None)
            population = population.order([order])
            against = [(other, won) for member, at, other, won in results if (member, at) == (slot, turn)]
            matches = tuple(Match((Ref(other, turn - 1),), won, GAMES) for other, won in against)
            reports.append(Report(order, matches=matches, digest=""))
        population = population.report(reports)
    return population


def test_games_of_ancestors_count_less():
    population = played((0, 1, 1, 0.75), (0, 2, 1, 1.0))
    wins = games_won(population, [Ref(0, 2), Ref(1, 2)], mates=0)
    drift = (60 * np.log(10) / 400) ** 2 / 4
    last, before = (GAMES / (1 + GAMES * drift * apart) for apart in (1, 3))
    assert wins[0, 1] == pytest.approx(last + 0.75 * before)
    assert wins[1, 0] == pytest.approx(0.25 * before)


def test_three_that_beat_each_other_are_named_in_the_order_of_their_wins():
    population = played((0, 1, 1, 0.95), (1, 1, 2, 0.95), (2, 1, 0, 0.95))
    circle, compared = circle_among(population, [Ref(slot, 1) for slot in range(3)], mates=0)
    assert compared == 1
    assert circle is not None
    assert circle.players in {tuple(Ref(slot, 1) for slot in order) for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1))}
    assert Circle.from_json(circle.to_json()).players == circle.players
    text = warning([{}, {"circle": Circle((Ref(2, 7), Ref(5, 7), Ref(1, 6)), 0.96).to_json()}], "runs/x")
    assert text.startswith(
        "members 2, 5 and 1 (after turns 7, 7 and 6) beat each other in a circle (certainty 96%), so ratings"
    )
    text = warning([{"circle": Circle((Ref(2, 7), "search", Ref(2, 3)), 0.999).to_json()}], "runs/x")
    assert text.startswith("member 2 after turn 7, search and member 2 after turn 3 beat each other in a circle")


def test_after_many_comparisons_a_circle_must_be_surer():
    population = played((0, 1, 1, 0.75), (1, 1, 2, 0.75), (2, 1, 0, 0.75))
    players = [Ref(slot, 1) for slot in range(3)]
    assert circle_among(population, players, mates=0)[0] is not None
    assert circle_among(population, players, mates=0, compared=10**6)[0] is None
    assert alarm_level(1) == ALARM < alarm_level(10**4) < alarm_level(10**6) < 1


def test_a_run_of_an_older_evolute_goes_on(tmp_path, stopped_at):
    """Its strategy has not counted what it compared."""
    import json
    import sqlite3

    stopped_at(40, lambda: walk(tmp_path / "run"))
    with sqlite3.connect(tmp_path / "run" / "journal.sqlite") as db:
        for number, text in db.execute("SELECT number, state FROM decisions").fetchall():
            state = json.loads(text)
            del state["compared"]
            db.execute("UPDATE decisions SET state = ? WHERE number = ?", (json.dumps(state), number))
    db.close()
    walk(tmp_path / "run")
    assert sum("circle" in why for why in TurnTable.read(tmp_path / "run").why) == 1
