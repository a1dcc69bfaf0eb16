"""Requests to a run that is training, and the answers to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from evolute.core.amounts import named
from evolute.core.order import Hparams, Json
from evolute.core.param import Param
from evolute.core.space import Space

Kind = Literal["pin", "unpin", "clone", "set", "bounds"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class RefusedError(ValueError):
    """A request cannot be granted; the text says why."""


@dataclass(frozen=True)
class Request:
    """One thing that a person asks for.

    `clone` gives the state and hyper-parameters of `donor` to `member`. It is taken at the first decision after `turn` turns
    of the member, and with bounds of everybody, have finished.
    """

    kind: Kind
    member: int | None = None
    donor: int | None = None
    hparams: Hparams = field(default_factory=dict)
    bounds: Mapping[str, Param] = field(default_factory=dict)
    turn: int = 0

    def to_json(self) -> dict[str, Json]:
        """The request as a file and the journal have it; what is not set is left out."""
        body: dict[str, Json] = {"kind": self.kind}
        body |= {key: value for key in ("member", "donor") if (value := getattr(self, key)) is not None}
        body |= {"hparams": dict(self.hparams)} if self.hparams else {}
        body |= {"bounds": {name: param.to_json() for name, param in self.bounds.items()}} if self.bounds else {}
        return body | ({"turn": self.turn} if self.turn else {})

    @classmethod
    def from_json(cls, body: Json) -> Request:
        """The inverse of `to_json`; raises RefusedError for anything else."""
        try:
            request = cls(**{**body, "bounds": Space.from_json(body.get("bounds", {})).params})
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise RefusedError("this is not a request: `evolute steer` writes them") from error
        numbers = [request.turn, *(() if request.kind == "bounds" else (request.member,))]
        numbers += [request.donor] if request.kind == "clone" else []
        if request.kind not in KINDS or not all(type(number) is int and number >= 0 for number in numbers):
            raise RefusedError("this is not a request: `evolute steer` writes them")
        return request

    def __str__(self) -> str:
        match self.kind:
            case "clone":
                return f"clone member {self.donor} into member {self.member}"
            case "set":
                return f"set {named(self.hparams)} of member {self.member}"
            case "bounds":
                return f"bounds {', '.join(f'{name}={param}' for name, param in self.bounds.items())}"
        return f"{self.kind} member {self.member}"


@dataclass(frozen=True)
class Answer:
    """What became of a request: the decision that took it, and why it was `refused`, if it was."""

    decision: int
    name: str
    body: Json
    refused: str | None = None

    @property
    def asked(self) -> str:
        """The request in words."""
        try:
            return str(Request.from_json(self.body))
        except RefusedError:
            return f"request {self.name}"

    def __str__(self) -> str:
        return self.asked if self.refused is None else f"{self.asked}: refused, {self.refused}"
