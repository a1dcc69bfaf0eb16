"""The four plug-ins as protocols, what they hand to one another, and the plan that a strategy is built for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from evolute.core.order import Hparams, Json, Lineup, LinkName, Match, Order, PlayedGames, Ref, Report
from evolute.core.population import Population, Rating
from evolute.core.request import Answer
from evolute.core.space import Space
from evolute.core.spare import Spare
from evolute.core.tree import Tree

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)
Progress = Callable[[float, str], None]
"""Called during a turn with the share done, 0 to 1, and a word on what is going on ("compiling")."""


def silently(share: float, note: str) -> None:
    """Progress that nobody watches."""


class Fetch(Protocol[S_co]):
    """Gives a state by its name, or a guest by its own."""

    def __call__(self, player: Ref | str, /) -> S_co: ...


@dataclass(frozen=True)
class Plan:
    """What a strategy is built for: the space, the number of members, and how long they train."""

    space: Space
    size: int
    interval: int
    turns: int | None = None
    first: tuple[Hparams, ...] = ()
    """Hyper-parameters that the first members start with; what they leave out is drawn."""
    architecture: frozenset[str] = frozenset()
    """Hyper-parameters that come along with the weights and change only where weights are fresh."""
    links: frozenset[LinkName] = frozenset()
    """What the learner uses of an order besides its start state, such as `teacher`; the loop refuses other links."""
    objectives: tuple[str, ...] = ()
    """What is to be maximised at once, if it is not one score; turns have a value for each."""


class Strategy(Protocol):
    """Decides the orders. Pure: all memory is in `state`, which is JSON, all randomness in `rng`."""

    def init(self) -> Json:
        """The state before the first decision."""

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        """The new state and one order for each ready member."""

    def retain(self, state: Json, population: Population) -> Iterable[Ref]:
        """States that a later order may still name, besides every member's latest."""


@dataclass(frozen=True)
class Outcome:
    """What a turn of one member produced besides its state; with an error the state is void.

    `timing` and `incidents` are as in its Report: they may differ where all else repeats itself.
    """

    metrics: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None
    matches: tuple[Match, ...] = ()
    error: str | None = None
    timing: Mapping[str, float] = field(default_factory=dict)
    incidents: tuple[str, ...] = ()


class Learner(Protocol[S]):
    """Trains many members at once. `S` is the state of one member; a cohort is a list of them.

    A state that was handed out is never changed in place: others may still point to it.
    """

    @property
    def together(self) -> bool:
        """Whether one call trains several members faster than several calls would."""

    @property
    def repeatable(self) -> bool:
        """Whether an order and its start state always give the same bits."""

    @property
    def links(self) -> Collection[LinkName]:
        """The links of an order that this learner uses, such as `own` if an heir keeps its replay buffer.

        The loop refuses orders with other links.
        """

    @property
    def architecture(self) -> Collection[str]:
        """The hyper-parameters that weights are bound to, such as a network's widths."""

    @property
    def choices(self) -> Mapping[str, Json]:
        """What the learner chose where its settings left it open; a resumed run is given the same choices."""

    def advice(self, interval: int, examples: Sequence[Hparams]) -> Sequence[str]:
        """What a user should know before training in turns of `interval` steps, a sentence each.

        Raises ValueError if hyper-parameters such as these examples cannot be trained with.
        """

    def shape(self, hparams: Hparams) -> str:
        """Members whose hyper-parameters have the same shape can train in one cohort."""

    def init(self, orders: Sequence[Order]) -> list[S]:
        """Fresh states, one for each order, from the orders' seeds."""

    def train(
        self, states: Sequence[S], orders: Sequence[Order], *, fetch: Fetch[S], progress: Progress
    ) -> tuple[list[S], Sequence[Outcome]]:
        """The states after one turn of each under its order; `fetch` gives any state that an order links to, and guests."""

    def dump(self, state: S) -> Tree:
        """A state as a tree of arrays and plain values."""

    def load(self, tree: Tree) -> S:
        """The state that was dumped."""

    def policy(self, tree: Tree) -> Callable[..., Any]:
        """What the member has learnt, to be called with an observation."""

    def evaluate(
        self, tree: Tree, hparams: Hparams, *, seed: int, episodes: int | None, progress: Progress
    ) -> Sequence[float] | None:
        """A member's returns in fresh episodes; the learner picks a number if `episodes` is None. None if it cannot play."""


@runtime_checkable
class PlaysEitherWay(Protocol):
    """A learner whose members can take the likeliest actions or sample them, so that both can be evaluated."""

    @property
    def ways(self) -> Sequence[bool]:
        """The ways in which to evaluate a member: True for the likeliest actions, False for sampled ones."""

    @property
    def rounds(self) -> Sequence[int]:
        """Episodes that evaluate a member well, in rounds: if time is short, the first must do."""

    def play(
        self, tree: Tree, hparams: Hparams, *, seed: int, episodes: int, greedy: bool, progress: Progress
    ) -> Sequence[float]:
        """A member's returns in fresh episodes; whatever `progress` raises ends them."""


@runtime_checkable
class ActsEitherWay(Protocol):
    """A policy that takes the likeliest action or samples one; `greedy` says which, unless a call does."""

    greedy: bool


@runtime_checkable
class Seats(Protocol):
    """A learner whose members take seats in a game."""

    @property
    def teams(self) -> tuple[int, ...]:
        """The team of each seat; () if members train alone."""

    @property
    def bots(self) -> tuple[str, ...]:
        """The bots that states can play against."""

    @property
    def zero_sum(self) -> bool | None:
        """Whether what one side wins the others lose; None if that is not known."""

    def play_matches(
        self,
        tree: Tree,
        hparams: Hparams,
        lineups: Sequence[Lineup],
        others: Mapping[Ref, Tree],
        *,
        games: int,
        seed: int,
        progress: Progress,
        greedy: bool = False,
    ) -> Sequence[PlayedGames]:
        """Games of a state against each line-up, in each seat equally often; `others` are the states in the line-ups.

        It takes its likeliest actions if it is `greedy`; the others sample theirs.
        """


@runtime_checkable
class Invites(Protocol):
    """A learner whose members can play against guests: states of other runs, and exported policies."""

    def check_guest(self, tree: Tree) -> None:
        """Raise ValueError with a sentence if a state of another run cannot play here."""

    def guest_from(self, policy: bytes) -> Tree:
        """The state that plays as an exported policy does, from the bytes of its file; raises ValueError if there is none."""


@runtime_checkable
class Rates(Protocol):
    """A strategy by which members are rated, rather than compared by a metric."""

    def ratings(self, state: Json, population: Population) -> Mapping[int, Rating]:
        """The rating of each member's latest state, by slot."""


@runtime_checkable
class Completes(Protocol):
    """A strategy that adds something to every order, such as opponents, also to those that it did not give."""

    def completed(self, state: Json, population: Population, orders: Sequence[Order], rng: np.random.Generator) -> list[Order]:
        """Orders that a person asked for, completed; `state` is the strategy's before this decision."""


@runtime_checkable
class Advises(Protocol):
    """A strategy with something that a user should know before training."""

    def advice(self) -> Sequence[str]:
        """A sentence each, such as what it will cost."""


@dataclass(frozen=True)
class Footprint:
    """A sentence on what a run takes, and whether that is so much that a person should be asked."""

    text: str
    large: bool = False


@runtime_checkable
class Sizable(Protocol):
    """A learner whose states are so large that a user should know before training."""

    def footprint(self, members: int, *, steps: int | None, interval: int, spare: Spare) -> Footprint:
        """What all members take at most, if each trains for so many steps, in turns of `interval`.

        Raises ValueError if the machine has less to `spare`.
        """


@runtime_checkable
class InRollouts(Protocol):
    """A learner whose turns are made of whole rollouts, however few steps are asked for."""

    def rollout_steps(self, hparams: Hparams) -> int:
        """The steps of one rollout."""


@runtime_checkable
class Exporter(Protocol):
    """A learner whose policies can be exported to files."""

    @property
    def policy_suffix(self) -> str:
        """How the name of such a file ends, such as `.npz`."""


@runtime_checkable
class ExportablePolicy(Protocol):
    """A policy that acts on observations, and can be written to a file for use without Evolute."""

    @property
    def suffix(self) -> str:
        """How the file's name ends."""

    def __call__(self, observation: Any, *, greedy: bool, rng: np.random.Generator) -> Any:
        """An action: the likeliest, or one drawn by `rng`."""

    def reset(self) -> None:
        """Forget what was seen before, at the start of an episode."""

    def save(self, path: Path) -> None:
        """Write the policy."""

    def use(self, path: Path) -> str:
        """How to use what was saved."""


class States(Protocol):
    """Where durable states are: the store's checkpoints, as an engine sees them."""

    def write(self, ref: Ref, tree: Tree) -> int:
        """Make a state durable; returns its size in bytes."""

    def read(self, ref: Ref) -> Tree:
        """A durable state; raises LostError when it is not there or damaged."""

    def guest(self, name: str) -> Tree:
        """A player from elsewhere that the run keeps; raises GuestError when it is not there or damaged."""


class LostError(RuntimeError):
    """A state that an order links to is neither in memory nor durable."""


class GuestError(RuntimeError):
    """A run has no guest of this name, or not a whole one."""


class LinkError(RuntimeError):
    """A strategy asks for something that the learner cannot use, such as a teacher."""


class TurnError(RuntimeError):
    """A turn failed, and the text says all there is to know; its last line is the reason."""


class EngineError(RuntimeError):
    """An engine cannot do its work here; the text says why and what to do."""


class Followed(Exception):  # noqa: N818
    """This process has worked for another one, which led, and is done; `opening` is what that one sent, if all ended well."""

    def __init__(self, opening: Json) -> None:
        super().__init__("another process led this run")
        self.opening = opening


class Engine(Protocol):
    """Where cohorts run. Keeps the states it has made until `keep` lets them go."""

    def submit(self, orders: Sequence[Order]) -> None:
        """Take orders on; every state they link to is in memory or durable, or made by an order before."""

    def wait(self) -> list[Report]:
        """Block until a cohort has finished; empty only if nothing runs."""

    def keep(self, refs: set[Ref]) -> None:
        """Forget every state in memory but these."""

    def save(self, refs: Iterable[Ref]) -> dict[Ref, int]:
        """Make states that are in memory durable; returns the size of each in bytes."""

    def now(self) -> float:
        """The engine's clock, in seconds."""

    def close(self) -> None:
        """Stop all work and free everything."""


class Team(Protocol):
    """Objects of one kind, each in a process of its own, perhaps on another machine; a process that dies is replaced."""

    def __len__(self) -> int: ...

    def all(self, method: str, *arguments: Tree, aside: bool = False, retries: int = 0) -> list[Tree]:
        """Call a method of every object; with `aside` in another thread, beside what that process is doing."""

    def stream(self, method: str, *arguments: Tree, retries: int = 2) -> Iterator[tuple[int, Tree]]:
        """Call a method of every object again and again; gives each result with the number of its process."""

    def greet(self, method: str, *arguments: Tree) -> None:
        """From now on a process that has started, at first or instead of one that died, is called so before anything else."""

    def close(self) -> None:
        """End all processes."""


class Crew(Protocol):
    """Where actors apart from the learner's machine come from. It can be sent to other processes, and opened there."""

    @property
    def where(self) -> str:
        """Its name in `actors.where`."""

    def open(self, make: Callable[[], Any], count: int) -> Team:
        """So many processes, each with an object that `make` makes there."""


@runtime_checkable
class HasActors(Protocol):
    """A learner whose environments can be stepped by actors on other machines."""

    def actor(self) -> Any:
        """What one of them does, as an object whose methods are called there."""


@runtime_checkable
class JoinedEngine(Protocol):
    """A maker of engines whose processes are all started from outside by the same command, as mpiexec does."""

    def joined(self, build: Callable[[Json], Any], actors: int = 0) -> AbstractContextManager[Callable[[Json], None]]:
        """In the process that leads, a way to tell the others what to build.

        In the others this serves the leader until it is done, and then raises Followed. `build` makes what trains there of
        what the leader sent. If there are to be `actors`, for each process that trains so many others act.
        """


class Journal(Protocol):
    """The store's record of decisions and reports, as the loop sees it. Each call is one transaction."""

    def decide(self, number: int, orders: Sequence[Order], state: Json, answers: Sequence[Answer] = ()) -> None:
        """Write a decision: its orders, the strategy's state after it, and answers to the requests that it took."""

    def record(self, reports: Sequence[Report], elapsed: float) -> None:
        """Write reports, `elapsed` seconds of training into the run."""

    def note(self, kind: str, **body: Json) -> None:
        """Write down something that happened to the run."""

    def sync(self) -> None:
        """Bring all that was written to the disk itself."""


class Requests(Protocol):
    """What a person asks of the run while it trains, as the loop sees it."""

    def waiting(self) -> Sequence[tuple[str, Json]]:
        """The requests that no decision has taken, oldest first: their names and bodies; None for what cannot be read."""

    def remove(self, names: Iterable[str]) -> None:
        """Forget requests that a decision has taken."""


class Checkpoints(States, Protocol):
    """The store's durable states, as the loop sees them."""

    def refs(self) -> set[Ref]:
        """Every state that is durable."""

    def remove(self, refs: Iterable[Ref]) -> None:
        """Let durable states go."""

    def verify(self, ref: Ref, digest: str | None) -> str | None:
        """None if the state is durable and whole and has this digest, or a sentence that says what is wrong."""
