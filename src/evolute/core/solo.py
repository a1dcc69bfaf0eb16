"""Learners that train one member at a time: a user's function, or an object that can also save and load its state.

Both become a Learner. A state is copied on its way in and out, so that user code may change it
in place although others still point to it.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from evolute.core.order import Hparams, Lineup, LinkName, Match, Order, PlayedGames, Player, Ref
from evolute.core.protocols import Fetch, GuestError, Learner, Outcome, Progress
from evolute.core.tree import Tree, canonical

ARGUMENTS = ("state", "hparams", "steps", "seed")
BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
Train = Callable[..., tuple[Any, Mapping[str, Any]]]


@runtime_checkable
class Trainer(Protocol):
    """Training code whose state is not a tree of arrays: it also says how to save and load one."""

    def train(self, state: Any, hparams: Hparams, steps: int, seed: int) -> tuple[Any, Mapping[str, Any]]:
        """The state after `steps` more steps, and its metrics; a state of None asks for a fresh one."""

    def save(self, state: Any, folder: Path) -> None:
        """Write the state to files in an empty folder."""

    def load(self, folder: Path) -> Any:
        """The state that `save` wrote."""


@dataclass(frozen=True)
class Teacher:
    """A state to imitate, as code that takes `teacher` gets it; `weight` is how much it counts at the turn's start and end."""

    state: Any
    weight: tuple[float, float]

    def weight_at(self, share: float) -> float:
        """How much the teacher counts, 0 to 1, when this share of the turn is done."""
        first, last = self.weight
        return first + (last - first) * share


@dataclass(frozen=True)
class Solo:
    """A Learner made of code that trains one member. `thaw` turns a tree into the code's state, `freeze` back again."""

    code: Train
    thaw: Callable[[Tree], Any]
    freeze: Callable[[Any], Tree]
    repeatable: bool = True
    wants_progress: bool = False
    links: tuple[LinkName, ...] = ()
    together: bool = False
    zero_sum: None = None
    architecture: tuple[str, ...] = ()
    choices: Mapping[str, Any] = field(default_factory=dict)

    @property
    def teams(self) -> tuple[int, ...]:
        """Two sides, for code that takes opponents."""
        return (0, 1) if "opponents" in self.links else ()

    @property
    def bots(self) -> tuple[str, ...]:
        return ()

    def advice(self, interval: int, examples: Sequence[Hparams]) -> Sequence[str]:
        return ()

    def shape(self, hparams: Hparams) -> str:
        return ""

    def init(self, orders: Sequence[Order]) -> list[Tree]:
        return [None] * len(orders)

    def train(
        self, states: Sequence[Tree], orders: Sequence[Order], *, fetch: Fetch[Tree], progress: Progress
    ) -> tuple[list[Tree], list[Outcome]]:
        trees, outcomes = [], []
        for tree, order in zip(states, orders, strict=True):
            state = None if tree is None else self.thaw(tree)
            extra = self._extra(order, fetch, progress)
            result = self.code(state, canonical(dict(order.hparams)), order.steps, order.seed, **extra)
            state, metrics = _pair(result)
            matches, metrics = _matches(order, metrics)
            trees.append(self.freeze(state))
            outcomes.append(Outcome(metrics, matches=matches))
        return trees, outcomes

    def _extra(self, order: Order, fetch: Fetch[Tree], progress: Progress) -> dict[str, Any]:
        """What the code takes besides the four arguments that all take."""
        extra: dict[str, Any] = {"progress": progress} if self.wants_progress else {}
        if "opponents" in self.links:
            players = [lineup[0] for lineup in order.opponents]
            extra["opponents"] = [self._opponent(one, fetch) for one in players]
        if "teacher" in self.links:
            state = None if order.teacher is None else self.thaw(fetch(order.teacher))
            extra["teacher"] = None if order.teacher is None else Teacher(state, order.teacher_weight)
        return extra

    def _opponent(self, player: Player, fetch: Fetch[Tree]) -> Any:
        """A state or a guest, the name of a bot, or None for the member itself."""
        try:
            return None if player is None else self.thaw(fetch(player))
        except GuestError:
            return player

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
        raise ValueError("code of your own plays its games itself, while it trains: `evolute ratings` shows how they went")

    def check_guest(self, tree: Tree) -> None:
        """States of code that we do not know are taken as they are."""

    def guest_from(self, policy: bytes) -> Tree:
        raise ValueError("code of your own plays against states: name a run of the same code")

    def dump(self, state: Tree) -> Tree:
        return state

    def load(self, tree: Tree) -> Tree:
        return tree

    def policy(self, tree: Tree) -> Callable[..., Any]:
        raise TypeError("code of your own has no policy that Evolute knows of: use the state itself, run.best.state")

    def evaluate(self, tree: Tree, hparams: Hparams, *, seed: int, episodes: int | None, progress: Progress) -> None:
        return None


def adapt(made: Any) -> Learner[Any]:
    """A Learner, from whatever a user gave: one already, an object with train, save and load, or a function."""
    if is_train(made):
        return Solo(
            made,
            thaw=canonical,
            freeze=canonical,
            wants_progress=_takes(made, "progress"),
            links=_links(made),
            architecture=_architecture(made),
        )
    if isinstance(made, type):
        made = made()
    if isinstance(made, Trainer):
        return Solo(
            made.train,
            thaw=partial(_load, made),
            freeze=partial(_save, made),
            repeatable=bool(getattr(made, "repeatable", False)),
            wants_progress=_takes(made.train, "progress"),
            links=_links(made.train),
            architecture=_architecture(made),
        )
    learner: Learner[Any] = made
    return learner


def is_train(made: Any) -> bool:
    """Whether this is a user's training function, known by its first four arguments.

    They are given by position, so they may have any names, but not one another's.
    """
    if isinstance(made, type) or not callable(made):
        return False
    parameters = [p for p in inspect.signature(made).parameters.values() if p.name != "progress"]
    names = tuple(p.name for p in parameters[:4])
    needed = [p for p in parameters if p.default is p.empty and p.kind in BY_POSITION]
    others = [p for p in parameters if p.default is p.empty and p.kind is p.KEYWORD_ONLY]
    fits = all(name == meant or name not in ARGUMENTS for name, meant in zip(names, ARGUMENTS, strict=False))
    return names == ARGUMENTS or (len(needed) == 4 and not others and fits)


def _takes(code: Train, argument: str) -> bool:
    return argument in inspect.signature(code).parameters


def _links(code: Train) -> tuple[LinkName, ...]:
    links: tuple[LinkName, ...] = ("teacher", "opponents")
    return tuple(link for link in links if _takes(code, link))


def _architecture(made: Any) -> tuple[str, ...]:
    """The hyper-parameters that weights are bound to, which a function or class may name in an attribute."""
    return tuple(getattr(made, "architecture", ()))


def _matches(order: Order, metrics: Mapping[str, Any]) -> tuple[tuple[Match, ...], Mapping[str, Any]]:
    """The games among the metrics, and the other metrics.

    `results` has an entry for each opponent: the mean result in [0, 1], or that and the number of games, or these two with the
    mean and the standard deviation of the returns, or None.
    """
    if not isinstance(metrics, Mapping) or "results" not in metrics:
        return (), metrics
    if not order.opponents:
        raise ValueError("metrics['results'] are those of games, and there are no opponents: set opponents=history")
    results = list(metrics["results"])
    if len(results) != len(order.opponents):
        raise ValueError(f"metrics['results'] has {len(results)} entries for {len(order.opponents)} opponents")
    matches = []
    for lineup, result in zip(order.opponents, results, strict=True):
        score, games, *returns = result if isinstance(result, (tuple, list)) else (result, 1)
        if score is None:
            continue
        if not 0 <= score <= 1:
            raise ValueError(f"metrics['results'] has {score}: a result is 1 for a win, 0.5 for a draw, 0 for a loss")
        matches.append(Match(lineup, float(score), int(games), *map(float, returns)))
    return tuple(matches), {"score": None, **{name: value for name, value in metrics.items() if name != "results"}}


def _pair(result: Any) -> tuple[Any, Mapping[str, Any]]:
    if not isinstance(result, tuple) or len(result) != 2:
        what = f"a tuple of {len(result)}" if isinstance(result, tuple) else f"a {type(result).__name__}"
        raise TypeError(f"train returned {what}: it must return the pair (state, metrics)")
    return result


def _save(trainer: Trainer, state: Any) -> Tree:
    """The files that a trainer writes, by name: the state as it travels and rests."""
    with tempfile.TemporaryDirectory(prefix="evolute-") as name:
        folder = Path(name)
        trainer.save(state, folder)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        if not files:
            raise ValueError(f"{type(trainer).__name__}.save wrote no file into the folder it was given")
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _load(trainer: Trainer, files: Tree) -> Any:
    with tempfile.TemporaryDirectory(prefix="evolute-") as name:
        for relative, content in files.items():
            path = (Path(name) / relative).resolve()
            if not path.is_relative_to(Path(name).resolve()):
                raise ValueError(f"a checkpoint names a file outside its folder: {relative}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return trainer.load(Path(name))
