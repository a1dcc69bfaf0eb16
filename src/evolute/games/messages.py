"""The messages between Evolute and a game that is a program of its own, and how they travel.

A message is two lengths (unsigned 32-bit, little-endian), a header of JSON in UTF-8, and a body of raw arrays. Who
reads one gets a message as it is described here, or a MessageError: nothing else comes of any bytes.
"""

from __future__ import annotations

import math
import struct
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

VERSION = 1
LENGTHS = struct.Struct("<II")
HEADER_LIMIT, BODY_LIMIT = 1 << 16, 1 << 26
"""The most bytes that a header and a body may have."""
TYPES = {"f4": "<f4", "f8": "<f8", "i1": "|i1", "i2": "<i2", "i4": "<i4", "i8": "<i8", "u1": "|u1", "u2": "<u2"}
"""The types of raw arrays, all little-endian."""
Array = np.ndarray[Any, Any]
Name = Annotated[str, Field(min_length=1, max_length=64)]
Numbers = list[float] | list[list[float]]
Size = Annotated[int, Field(ge=1, le=1 << 24)]


class MessageError(ValueError):
    """Bytes that are no message, or a message that is not allowed."""


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


class RawArray(_Message):
    """An array in the message's body, in C order."""

    dtype: Literal["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2"]
    shape: Annotated[list[Annotated[int, Field(ge=0, le=1 << 24)]], Field(max_length=4)]


class Box(_Message):
    """Numbers in a range; without a bound they are unlimited."""

    kind: Literal["box"]
    shape: Annotated[list[Size], Field(min_length=1, max_length=3)]
    low: float | None = None
    high: float | None = None
    dtype: Literal["f4", "u1"] = "f4"

    @model_validator(mode="after")
    def _fits_into_a_body(self) -> Self:
        size = math.prod(self.shape) * np.dtype(TYPES[self.dtype]).itemsize
        if size > BODY_LIMIT:
            raise ValueError(f"a box of {' x '.join(map(str, self.shape))} takes {size} bytes, and a body at most {BODY_LIMIT}")
        return self


class Discrete(_Message):
    """One of `n` choices, which are numbered from 0 on."""

    kind: Literal["discrete"]
    n: Annotated[int, Field(ge=1, le=1 << 16)]


class MultiDiscrete(_Message):
    """One choice of each of several."""

    kind: Literal["multi_discrete"]
    nvec: Annotated[list[Annotated[int, Field(ge=1, le=1 << 16)]], Field(min_length=1, max_length=64)]


class Hello(_Message):
    """From the game, first: the token, and what kind of game it is."""

    kind: Literal["hello"]
    version: Literal[1]
    token: Annotated[str, Field(max_length=256)]
    seats: Annotated[list[Name], Field(min_length=1, max_length=64)]
    channels: Annotated[list[Name], Field(max_length=64)] = []
    observation_space: Annotated[Box | Discrete | MultiDiscrete, Field(discriminator="kind")]
    action_space: Annotated[Box | Discrete | MultiDiscrete, Field(discriminator="kind")]
    repeatable: bool = False
    legal: bool = False
    clock: bool = False


class Ask(_Message):
    """From the game: a seat wants an action. `obs` is numbers, or an array in the body; `legal` says what may be done, and in a
    game with a clock `at` is its time in seconds."""

    kind: Literal["ask"]
    seat: Name
    obs: RawArray | Numbers | int
    legal: Annotated[list[bool], Field(max_length=1 << 16)] | None = None
    at: float | None = None


class Reward(_Message):
    """From the game: add to the rewards of a seat's last action, by channel; without channels the name is `reward`."""

    kind: Literal["reward"]
    seat: Name
    amounts: Annotated[dict[Name, float], Field(min_length=1, max_length=64)]


class End(_Message):
    """From the game: the episode is over for a seat, by a time limit if it is truncated. `obs` is what it sees last."""

    kind: Literal["end"]
    seat: Name
    obs: RawArray | Numbers | int | None = None
    truncated: bool = True
    at: float | None = None


class Over(_Message):
    """From the game: the episode is over for all seats, with these results, for all seats or by the name of a seat."""

    kind: Literal["over"]
    results: Annotated[dict[Name, float] | dict[Name, dict[Name, float]], Field(max_length=64)] = {}


class Failed(_Message):
    """From the game: the episode cannot go on, and why."""

    kind: Literal["failed"]
    why: Annotated[str, Field(max_length=4096)]


class Welcome(_Message):
    """From Evolute: the token was right. The game waits for `play`, which may take long."""

    kind: Literal["welcome"] = "welcome"
    version: Literal[1] = 1


class Play(_Message):
    """From Evolute: begin an episode. `seats` are those that the member plays."""

    kind: Literal["play"] = "play"
    seed: int
    seats: list[Name]


class Act(_Message):
    """From Evolute: the action of a seat that has asked: a number, or a list of them."""

    kind: Literal["act"] = "act"
    seat: Name
    action: int | list[int] | list[float]


class Refused(_Message):
    """From Evolute: what was wrong. The connection is closed."""

    kind: Literal["refused"] = "refused"
    why: str


FromGame = Annotated[Hello | Ask | Reward | End | Over | Failed, Field(discriminator="kind")]
ToGame = Annotated[Welcome | Play | Act | Refused, Field(discriminator="kind")]
_FROM_GAME: TypeAdapter[Any] = TypeAdapter(FromGame)


def schema() -> dict[str, Any]:
    """The JSON schemas of all headers."""
    return {"from the game": TypeAdapter(FromGame).json_schema(), "to the game": TypeAdapter(ToGame).json_schema()}


def lengths(head: bytes) -> tuple[int, int]:
    """The lengths of a header and a body."""
    header, body = LENGTHS.unpack(head)
    if not 0 < header <= HEADER_LIMIT or body > BODY_LIMIT:
        raise MessageError(f"a message of {header} + {body} bytes: at most {HEADER_LIMIT} + {BODY_LIMIT} are allowed")
    return header, body


def encoded(message: _Message) -> bytes:
    """A message to the game, which never has a body."""
    header = message.model_dump_json(exclude_none=True).encode()
    return LENGTHS.pack(len(header), 0) + header


def decoded(header: bytes, body: bytes) -> Hello | Ask | Reward | End | Over | Failed:
    """A message from the game; its `obs` still has to be taken out of the body by `observation`."""
    try:
        message: Hello | Ask | Reward | End | Over | Failed = _FROM_GAME.validate_json(header)
    except (ValidationError, RecursionError) as error:
        raise MessageError(_first(error)) from error
    raw = getattr(message, "obs", None)
    expected = math.prod(raw.shape) * np.dtype(TYPES[raw.dtype]).itemsize if isinstance(raw, RawArray) else 0
    if expected != len(body):
        raise MessageError(f"a body of {len(body)} bytes, and the header speaks of {expected}")
    return message


def observation(obs: Any, body: bytes) -> Any:
    """What a message's `obs` stands for: an array, or a number."""
    if isinstance(obs, RawArray):
        return np.frombuffer(body, TYPES[obs.dtype]).reshape(obs.shape)
    try:
        return obs if isinstance(obs, int) else np.array(obs, np.float64)
    except ValueError as error:
        raise MessageError("obs is a list of lists of several lengths") from error


def _first(error: ValidationError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "a header that is nested too deeply"
    told = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(map(str, told["loc"]))
    return f"a header that is no message: {where + ': ' if where else ''}{told['msg']}"
