"""What a journal says of its run besides orders and reports, as a typed record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from evolute.core.durability import Keep
from evolute.core.order import Json, Ref
from evolute.core.population import Population
from evolute.store.evaluation import Evaluation, ways

RENAMED = {"settled": "choices", "measured": "evaluation"}
"""Keys of schema 1 and what they are called now."""
POLICIES = {"ppo": ".npz", "sb3": ".zip"}
"""The files of learners in runs that were written before `policy_suffix` was recorded."""


@dataclass(frozen=True)
class RunMeta:
    """What is known of a run.

    `identity` is what makes two configs the same run, `config` every value that was given, with its source. `choices` are
    the learner's, where the config left them open. `horizon` is the number of turns that a member can have at most.
    """

    identity: Mapping[str, Json] = field(default_factory=dict)
    config: Mapping[str, tuple[Json, str]] = field(default_factory=dict)
    population: int = 0
    learner: str = ""
    strategy: str = ""
    mode: str = "sync"
    objectives: Sequence[str] = ()
    """What is maximised at once, in runs without one score."""
    space: Mapping[str, Json] = field(default_factory=dict)
    keep: Keep = field(default_factory=Keep)
    horizon: int | None = None
    choices: Mapping[str, Json] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=dict)
    """Fingerprints of the user's own code: its learner, strategy and environment, by what they are."""
    policy_suffix: str | None = None
    """How the name of an exported policy ends; None if the learner exports none."""
    guests: Sequence[tuple[str, str, str]] = ()
    """Name, source and digest of each player from elsewhere, in the order in which they joined."""
    created: float = 0.0
    ended: str | None = None
    """Why the run has finished, if it has."""
    ratings: Sequence[tuple[int, int, float, float]] = ()
    """Member, turn, rating and deviation of the last states, in runs whose members are rated."""
    evaluation: Evaluation | None = None
    """The winner's returns in fresh episodes after the run, acting in the way that did better."""
    evaluations: Sequence[Evaluation] = ()
    """All that was evaluated after the run: the best few members, each in both ways of acting."""
    state_bytes: int = 0
    """The size of the largest state so far."""
    unrepeatable: bool = False
    """Whether a turn that was run again ended in another state."""

    @classmethod
    def from_json(cls, stored: Mapping[str, Json]) -> RunMeta:
        """The record that a journal holds; keys that are not known are left out."""
        named = {RENAMED.get(key, key): value for key, value in stored.items()}
        known: dict[str, Any] = {one.name: named[one.name] for one in fields(cls) if one.name in named}
        known.setdefault("policy_suffix", POLICIES.get(named.get("learner", "")))
        if "keep" in known:
            known["keep"] = Keep(**known["keep"])
        if known.get("evaluation") is not None:
            known["evaluation"] = Evaluation(**known["evaluation"])
        known["ratings"], known["guests"] = (tuple(map(tuple, known.get(key, ()))) for key in ("ratings", "guests"))
        known["objectives"] = tuple(known.get("objectives", ()))
        known["evaluations"] = tuple(Evaluation(**one) for one in known.get("evaluations", ()))
        return cls(**known)

    def rated(self, population: Population) -> Population:
        """The population with the ratings that were made when the run ended."""
        last = {Ref(member, turn): rating for member, turn, *rating in self.ratings}
        return population.rated({turn.ref.member: last[turn.ref] for turn in population.latest if turn.ref in last})

    def to_json(self) -> dict[str, Json]:
        """The record as a journal keeps it."""
        return {key: plain(value) for key, value in vars(self).items()}

    @property
    def in_game(self) -> bool:
        """Whether members play against somebody."""
        return bool(self.identity.get("opponents"))

    @property
    def rule(self) -> str | None:
        """How members of a game are rated: by the learner's choice, or as the config says."""
        rule: str | None = self.choices.get("rating", self.identity.get("opponents.rating"))
        return rule

    @property
    def by_gain(self) -> bool:
        """Whether a rating is a mean return, which says nothing of who beats whom."""
        return self.rule == "panel"

    @property
    def chosen(self) -> Ref | None:
        """The state that the evaluation after the run chose as the best, once there is one."""
        return None if self.ended is None or self.evaluation is None else self.evaluation.ref

    def greedy(self, ref: Ref) -> bool:
        """Whether the policy of a state takes the likeliest actions unless it is told: the way that did better.

        One that was not evaluated acts like the winner; without any evaluation, as the learner's settings say. Members of a
        game are rated by sampled play, so they sample unless the user's own settings say otherwise.
        """
        known = [*ways(self.evaluations, ref), *([] if self.evaluation is None else [self.evaluation])]
        said = next((one.greedy for one in known if one.greedy is not None), None)
        if said is not None:
            return said
        if self.in_game and f"{self.learner}.greedy" not in self.config:
            return False
        return bool(self.setting("greedy", default=True))

    def setting(self, name: str, *, default: Json = None) -> Json:
        """The value of one of the learner's settings that are the same for all members."""
        learner = self.identity.get("learner")
        return learner[1].get(name, default) if learner else default


def plain(value: Any) -> Json:
    """A value of the record as JSON."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return dict(vars(value)) if isinstance(value, (Keep, Evaluation)) else value


NAMES = frozenset(one.name for one in fields(RunMeta))
