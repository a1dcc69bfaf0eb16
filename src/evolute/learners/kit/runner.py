"""Where the members of a compiled learner act: what a learner asks of its runners, whatever it learns by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from evolute.core.protocols import Progress
from evolute.learners.kit.evaluation import EpisodeResults, Player

Spec_contra = TypeVar("Spec_contra", contravariant=True)
State_contra = TypeVar("State_contra", contravariant=True)
Assigned_contra = TypeVar("Assigned_contra", contravariant=True)
Spec = TypeVar("Spec")
State = TypeVar("State")
Assigned = TypeVar("Assigned")
Result = TypeVar("Result")


class Runner(Protocol[Spec_contra, State_contra, Assigned_contra, Result]):
    """Runs members in JAX environments inside the program, or in environments on the host."""

    @property
    def rounds(self) -> Sequence[int]:
        """Episodes that evaluate a member well in reasonable time, in rounds: if time is short, the first must do."""

    @property
    def time_limit(self) -> int | None:
        """The longest an episode can be, if every turn starts its episodes afresh."""

    @property
    def most(self) -> int | None:
        """The most members that take their turns together; None if all do."""

    def turn(
        self,
        spec: Spec_contra,
        states: Sequence[State_contra],
        assignments: Sequence[Assigned_contra],
        ring: int,
        progress: Progress,
    ) -> list[Result]:
        """One turn of each member under its assignment; the last `ring` episodes of each are kept for its metrics."""

    def evaluate(
        self, spec: Spec_contra, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        """Fresh episodes of each member, on a seed that all share."""


def turns(
    runner: Runner[Spec, State, Assigned, Result],
    specs: Sequence[Spec],
    states: Sequence[State],
    assignments: Sequence[Assigned],
    ring: int,
    progress: Progress,
) -> list[Result]:
    """The turns of all members; those of one spec, who have teachers of one kind or none, train together, up to the most."""
    groups = _groups(specs, runner.most or len(specs))
    results: dict[int, Result] = {}
    for place, rows in enumerate(groups):

        def along(share: float, note: str, place: int = place) -> None:
            progress((place + share) / len(groups), note)

        chosen = [states[row] for row in rows], [assignments[row] for row in rows]
        results |= zip(rows, runner.turn(specs[rows[0]], *chosen, ring, along), strict=True)
    return [results[row] for row in range(len(specs))]


def _groups(specs: Sequence[Spec], most: int) -> list[list[int]]:
    """The rows of each spec, at most so many at a time."""
    kinds: dict[Spec, list[int]] = {}
    for row, spec in enumerate(specs):
        kinds.setdefault(spec, []).append(row)
    return [rows[start : start + most] for rows in kinds.values() for start in range(0, len(rows), most)]
