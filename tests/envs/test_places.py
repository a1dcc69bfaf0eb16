"""The places of line-ups, for teams of equal and of different sizes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolute.envs.places import Places, taken


@pytest.mark.parametrize(
    ("teams", "mates", "rivals"),
    [((0, 1), 0, 1), ((0, 0, 1, 1), 1, 2), ((0, 1, 2), 0, 2), ((0, 0, 0, 1), 2, 3), ((0, 1, 1), 1, 2), ((0, 0, 0), 2, 0)],
)
def test_there_are_as_many_places_as_any_seat_needs(teams, mates, rivals):
    assert Places.of(teams) == Places(mates, rivals)


def test_a_line_up_has_the_member_as_its_own_mate():
    assert Places.of((0, 0, 0, 1)).lineup("random") == (None, None, "random", "random", "random")


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8))
def test_every_other_seat_has_a_place_of_its_own_on_the_right_side(teams):
    places = Places.of(teams)
    for own in range(len(teams)):
        found = taken(teams, own)
        assert sorted(found) == [seat for seat in range(len(teams)) if seat != own]
        assert len(set(found.values())) == len(found)
        assert all(place < len(places) for place in found.values())
        assert all((place < places.mates) == (teams[seat] == teams[own]) for seat, place in found.items())


@pytest.mark.parametrize("teams", [(0, 1), (0, 1, 0, 1), (0, 1, 2), (1, 1, 0, 0)])
def test_teams_of_equal_size_leave_no_place_empty(teams):
    assert all(set(taken(teams, own).values()) == set(range(len(teams) - 1)) for own in range(len(teams)))
