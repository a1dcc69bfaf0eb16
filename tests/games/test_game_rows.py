"""A row hands the learner one move for each action, while episodes end and begin as they like."""

from __future__ import annotations

import numpy as np
import pytest

from evolute.games.rows import Move, Row


def move(name: str) -> Move:
    return Move(np.array([name]), np.zeros(1))


class Learner:
    """A row, what it has shown, and what the seats were answered."""

    def __init__(self):
        self.shown, self.answers = [], []
        self.row = Row(lambda shown: self.shown.append(str(shown.obs[0])), move("blank"))
        self.seats = {name: self._seat(name) for name in "ABC"}

    def _seat(self, name):
        return lambda action: self.answers.append((name, action))

    def ask(self, seat, what):
        self.row.ask(self.seats[seat], move(what))

    def end(self, seat, what):
        self.row.end(self.seats[seat], move(what))


@pytest.fixture
def learner():
    return Learner()


def test_questions_are_answered_by_the_seat_that_asked(learner):
    learner.ask("A", "first")
    learner.row.act(1)
    learner.ask("A", "second")
    learner.row.act(2)
    learner.end("A", "end")
    learner.row.act(3)
    learner.ask("B", "next")
    learner.row.act(4)
    assert learner.shown == ["first", "second", "end", "next"]
    assert learner.answers == [("A", 1), ("A", 2), ("B", 4)]


def test_an_end_and_the_next_question_wait_for_their_turn(learner):
    learner.ask("A", "first")
    learner.end("A", "end")
    learner.ask("B", "old")
    learner.ask("B", "new")
    assert learner.shown == ["first"]
    learner.row.act(1)
    assert learner.shown == ["first", "end"]
    learner.row.act(2)
    assert learner.shown == ["first", "end", "new"]
    assert learner.answers == []


def test_an_episode_that_the_learner_has_not_seen_leaves_nothing(learner):
    learner.ask("A", "first")
    learner.end("A", "end")
    learner.ask("B", "unseen")
    learner.end("B", "unseen, too")
    learner.row.act(1)
    learner.row.act(2)
    assert learner.shown == ["first", "end"]
    learner.ask("C", "next")
    assert learner.shown == ["first", "end", "next"]


def test_a_row_that_failed_answers_every_action_by_nothing(learner):
    learner.ask("A", "first")
    learner.row.fail()
    learner.end("A", "end")
    for action in range(2):
        learner.row.act(action)
    assert learner.shown == ["first", "blank", "blank"]
    assert learner.answers == []
