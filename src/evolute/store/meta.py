"""What a journal says of its run besides orders and reports, as a typed record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from evolute.core.durability import Keep
from evolute.core.order import Json, Ref

RENAMED = {"settled": "choices", "measured": "evaluation"}
"""Keys of schema 1 and what they are called now."""
POLICIES = {"ppo": ".npz", "sb3": ".zip"}
"""The files of learners in runs that were written before `policy_suffix` was recorded."""


@dataclass(frozen=True)
class Evaluation:
    """Returns of one state in fresh episodes."""

    member: int
    turn: int
    mean: float
    deviation: float
    episodes: int

    @property
    def ref(self) -> Ref:
        return Ref(self.member, self.turn)


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
    space: Mapping[str, Json] = field(default_factory=dict)
    keep: Keep = field(default_factory=Keep)
    horizon: int | None = None
    choices: Mapping[str, Json] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=dict)
    """Fingerprints of the user's own code: its learner, strategy and environment, by what they are."""
    policy_suffix: str | None = None
    """How the name of an exported policy ends; None if the learner exports none."""
    created: float = 0.0
    ended: str | None = None
    """Why the run has finished, if it has."""
    evaluation: Evaluation | None = None
    """The winner's returns in fresh episodes after the run."""
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
        return cls(**known)

    def to_json(self) -> dict[str, Json]:
        """The record as a journal keeps it."""
        return {key: plain(value) for key, value in vars(self).items()}


def plain(value: Any) -> Json:
    """A value of the record as JSON."""
    return dict(vars(value)) if isinstance(value, (Keep, Evaluation)) else value


NAMES = frozenset(one.name for one in fields(RunMeta))
