"""Trains a run from its config to its end: a new one, or one that is resumed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evolute.config.error import ConfigError
from evolute.config.resolve import Config
from evolute.config.settings import FIELDS, Change
from evolute.core.amounts import number
from evolute.core.durability import Keeper
from evolute.core.events import Decided, Event, Notice, Notify, Progressed, Rated, Saved, silent
from evolute.core.interrupt import Interrupted, Interrupts
from evolute.core.loop import AllFailedError, Loop
from evolute.core.order import Json
from evolute.core.population import Population
from evolute.core.protocols import Engine, Exporter, JoinedEngine, Plan, Rates, Strategy
from evolute.core.resume import RemakeError, UnrepeatableError
from evolute.core.worker import Worker
from evolute.logs.feed import LogFeed
from evolute.logs.sink import LoggedRun, sinks
from evolute.opponents.seated import Seated
from evolute.runs import circles, control, folders, fork
from evolute.runs.assemble import Parts, assembled, described
from evolute.runs.code import changed_code, fingerprints
from evolute.runs.commands import typed
from evolute.runs.far_actors import actors_text
from evolute.runs.final_evaluation import LEAST, SHARE, FinalEvaluation
from evolute.runs.guests import Guest, GuestList, invited, watched
from evolute.runs.restore import Restorer
from evolute.runs.result import Run
from evolute.runs.states import choices_of
from evolute.store.checkpoints import Checkpoints
from evolute.store.error import StoreError
from evolute.store.evaluation import Evaluation, winner
from evolute.store.journal import Journal
from evolute.store.lock import held
from evolute.store.meta import RunMeta
from evolute.store.requests import RequestFolder

CHANGEABLE = sorted(key for key, setting in FIELDS.items() if setting.change == Change.ON_RESUME)
"""What may differ when a run is resumed, besides where and how it is carried out."""
CONTINUE = "--edited (in Python: edited=True)"
Begin = Callable[[Path, Config, Population], None]
Announce = Callable[[Json], None]
"""Tells the other processes of a run, if there are any, what to build."""


@dataclass(frozen=True)
class Launch:
    """How to start: in which folder, whether as a new run, and who watches. `begin` is called just before training.

    With `edited`, an unfinished run is continued although the user's code has changed since.
    `choices` are those that the learner of a new run is given instead of making them.
    """

    folder: Path | None = None
    new: bool = False
    edited: bool = False
    take_over: bool = False
    choices: Mapping[str, Any] = field(default_factory=dict)
    notify: Notify = silent
    confirm: Callable[[str], bool] = lambda question: True
    """Asked before a new run that takes much of the machine."""
    announce: Announce = lambda opening: None
    begin: Begin = lambda folder, config, population: None


def launch(config: Config, how: Launch) -> Run:
    """Train the population that a config describes, from the start or from where an equal, unfinished run stopped."""
    with _joined(config) as announce:
        sinks(config.settings.log)  # may refuse: before any folder
        folder, notice = choose(config, how)
        if notice is not None:
            how.notify(Notice(notice, warning=True))
        parts = assembled(config, how.choices if folder is None else choices_of(folder))  # may refuse: before any folder
        guests = invited(config, parts.learner, known_guests(folder))  # may refuse
        if folder is None:
            if parts.large and not how.confirm(f"{parts.advice[-1]}. Train?"):
                raise ConfigError("nothing was trained")
            suffix = parts.learner.policy_suffix if isinstance(parts.learner, Exporter) else None
            meta = RunMeta(created=time.time(), choices=dict(parts.learner.choices), policy_suffix=suffix, **described(config))
            begun = config.settings.init.from_ is not None
            fill = fork.beginning(config, parts.strategy, parts.learner, how.notify) if begun else None
            folder = folders.create(how.folder, Path(config.settings.runs), config.name, meta, fill)
        return _proceed(folder, parts, guests, replace(how, announce=announce))


def proceed(folder: Path, config: Config, how: Launch) -> Run:
    """Continue the run in this folder to its end; a run that has ended is left as it is."""
    with _joined(config) as announce:
        sinks(config.settings.log)
        parts = assembled(config, choices_of(folder))
        return _proceed(folder, parts, invited(config, parts.learner, known_guests(folder)), replace(how, announce=announce))


@contextlib.contextmanager
def _joined(config: Config) -> Iterator[Announce]:
    """Lead the processes that were started with this one by the same command, or follow the one that leads."""
    maker = config.engine.maker
    if not isinstance(maker, JoinedEngine):
        yield lambda opening: None
        return

    def build(opening: Json) -> tuple[Worker, float | None]:
        parts = assembled(config, opening["choices"])
        checkpoints = Checkpoints(Path(opening["folder"]) / folders.CHECKPOINTS)
        return Worker(parts.learner, checkpoints, config.learner.settings, config.settings.goal), config.settings.limit

    actors = config.settings.actors
    with maker.joined(build, actors.count) if actors.where == "ranks" else maker.joined(build) as announce:
        yield announce


def choose(config: Config, how: Launch) -> tuple[Path | None, str | None]:
    """The existing run to continue, or None for a new one; and what to say if edited code made it a new one."""
    if how.folder is None:
        return (None, None) if how.new else _unfinished(config, edited=how.edited)
    if not folders.is_run(how.folder):
        return None, None
    with contextlib.closing(Journal.read(how.folder)) as journal:
        changed = config.changes_since(journal.meta.identity)
        code = changed_code(journal.meta.code, fingerprints(config))
    if not changed and not how.new and (how.edited or not code):
        return how.folder, None
    if code and not changed and not how.new:
        raise StoreError(
            f"{how.folder} already holds a run, and the code of the {' and '.join(code)} has changed since: choose another "
            f"folder, or continue that run with {CONTINUE}"
        )
    why = f"which differs in {', '.join(changed)}" if changed else "and a new one was asked for"
    raise StoreError(f"{how.folder} already holds a run, {why}: choose another folder, or `{typed('resume', how.folder)}`")


def _unfinished(config: Config, *, edited: bool) -> tuple[Path | None, str | None]:
    """The newest unfinished run of this config and this code; if there is only one of other code, what to say of it."""
    parent, now = Path(config.settings.runs), fingerprints(config)
    same = folders.unfinished(
        parent, lambda meta: not config.changes_since(meta.identity) and (edited or not changed_code(meta.code, now))
    )
    if same is not None:
        return same, None
    other = folders.unfinished(parent, lambda meta: not config.changes_since(meta.identity))
    if other is None:
        return None, None
    with contextlib.closing(Journal.read(other)) as journal:
        code = changed_code(journal.meta.code, now)
    return None, (
        f"the code of the {' and '.join(code)} has changed since {other}, which is unfinished: this is a new run; "
        f"{CONTINUE} continues the old one instead"
    )


def known_guests(folder: Path | None) -> list[str]:
    """The sources of the guests that a run has already, if there is one."""
    if folder is None:
        return []
    with contextlib.closing(Journal.read(folder)) as journal:
        return [source for _, source, _ in journal.meta.guests]


def _proceed(folder: Path, parts: Parts, guests: Sequence[Guest], how: Launch) -> Run:
    with held(folder, take_over=how.take_over) as dead, contextlib.closing(Journal.write(folder)) as journal:
        if dead is not None:
            how.notify(Notice(f"took the run over from process {dead['pid']} on {dead['host']}, which died"))
            journal.note("took over", **dead)
        if journal.meta.ended is not None and not parts.config.changes_since(journal.meta.identity):
            return Run.open(folder, parts.learner)
        _note_code(journal, parts.config, how.notify)
        _amend(journal, parts.config)
        parts = _with_guests(folder, parts, guests, journal, how.notify)
        with _advising(folder, journal):
            while not Session(folder, parts, how, journal).train():
                pass
    return Run.open(folder, parts.learner)


def _with_guests(folder: Path, parts: Parts, guests: Sequence[Guest], journal: Journal, notify: Notify) -> Parts:
    """The parts of a run whose strategy knows its guests, those that are new among them."""
    strategy, settings = parts.strategy, parts.config.settings
    if not isinstance(strategy, Seated):
        return parts
    paths = [watched(source, Path(settings.runs)) for source in settings.opponents_.guests]
    everyone = GuestList(folder, journal, parts.learner, [path for path in paths if path is not None], notify)
    everyone.verify()
    for guest in guests:
        everyone.admit(guest)

    def make(plan: Plan) -> Strategy:
        made = parts.make(plan)
        assert isinstance(made, Seated)
        return replace(made, guests=everyone)

    return replace(parts, strategy=replace(strategy, guests=everyone), make=make)


def _note_code(journal: Journal, config: Config, notify: Notify) -> None:
    """Say, and write down, that a run goes on with other code than it began with."""
    if code := changed_code(journal.meta.code, fingerprints(config)):
        text = (
            f"the code of the {' and '.join(code)} has changed since this run was last trained: it continues with the new code"
        )
        journal.note("changed", text=text)
        notify(Notice(text, warning=True))


def _amend(journal: Journal, config: Config) -> None:
    """Write down a config that has changed; what the members so far were trained with cannot change."""
    before = journal.meta.identity
    changed = config.changes_since(before)
    if fixed := [key for key in changed if key not in CHANGEABLE]:
        raise ConfigError(
            f"{', '.join(fixed)} cannot change in a run that has begun, only {', '.join(CHANGEABLE)} and where "
            "and how it is carried out; start a new run"
        )
    if changed:
        changes = [f"{key} from {before.get(key)} to {config.identity.get(key)}" for key in changed]
        journal.note("changed", text=f"changed {', '.join(changes)}")
        journal.put(ended=None, ratings=[], evaluation=None, evaluations=[])
    journal.put(**described(config))


@contextlib.contextmanager
def _advising(folder: Path, journal: Journal) -> Iterator[None]:
    """Add to an error how to resume the run, and to a stop that was asked for where the run is and how good it was."""
    resume = f"to resume: {typed('resume', folder)}"
    try:
        yield
    except Interrupted as stopped:
        score = journal.best_score()
        best = "no score yet" if score is None else f"best score so far {number(score)}"
        stopped.saved, stopped.folder = f"finished turns are saved, {best}", folder
        raise
    except AllFailedError as error:
        raise AllFailedError(f"{error}\nAfter fixing it, {resume}") from None
    except RemakeError as error:
        raise RemakeError(f"{error}\nAfter fixing it, {resume}") from None
    except StoreError as error:
        raise StoreError(f"{error}; what was written before is intact; {resume}") from error


@dataclass
class Session:
    """One attempt to train a run to its end, in this process."""

    folder: Path
    parts: Parts
    how: Launch
    journal: Journal

    def __post_init__(self) -> None:
        self._checkpoints = Checkpoints((self.folder / folders.CHECKPOINTS).resolve())
        self._logs = LogFeed(self.how.notify, rated=isinstance(self.parts.strategy, Rates))
        self._largest = self.journal.meta.state_bytes

    def train(self) -> bool:
        """Train to the end; False if a state was lost that cannot be made again, so that the run has to be restored."""
        config = self.parts.config
        self._checkpoints.sweep()
        if config.settings.init.from_ is not None:
            fork.restock(self.folder)
        self.how.announce({"choices": dict(self.parts.learner.choices), "folder": str(self.folder.resolve())})
        with Interrupts().installed() as interrupts:  # before there are workers, so that a signal leaves none behind
            engine = config.engine.maker(self._worker(), config.settings.limit, **config.engine.settings)
            with contextlib.closing(engine):
                return self._train(engine, interrupts)

    def _train(self, engine: Engine, interrupts: Interrupts) -> bool:
        config = self.parts.config
        repeatable = self.parts.learner.repeatable and not self.journal.meta.unrepeatable
        rhythm = None if config.settings.durable == "auto" else config.settings.durable
        keep = config.settings.keep
        keeper = Keeper(engine, self.journal, self._checkpoints, keep, rhythm, eager=not repeatable, notify=self._watch)
        asked = RequestFolder(self.folder)
        restorer = Restorer(self.parts.setup, self.journal, self._checkpoints, engine, keeper, self._watch, asked)
        with interrupts.allowed():
            position = restorer.restore(repeatable=repeatable)
        if position.decisions:
            turn = min(member.turns for member in position.population.members)
            self._watch(Notice(f"resuming {self.folder} at turn {turn}"))
        if actors := actors_text(config):
            self._watch(Notice(f"with {actors}"))
        for advice in self.parts.advice:
            self._watch(Notice(f"note: {advice}"))
        self._logs.start(sinks(config.settings.log), LoggedRun(self.folder, self.journal.meta), position.population)
        self.how.begin(self.folder, config, position.population)
        requests = RequestFolder(self.folder, {answer.name for answer in self.journal.answers()})
        loop = Loop(self.parts.setup, position, engine, self.journal, keeper, self._watch, interrupts, requests)
        try:
            reason = loop.run()
            last = loop.ratings()
            rated = loop.population.rated({ref.member: rating for ref, rating in last.items()})
            self._logs.finish(rated)
        except UnrepeatableError:
            return False
        finally:
            self._logs.close(loop.population)
        if last:
            self._watch(Rated(rated))
        ratings = [[*ref, *rating] for ref, rating in last.items()]
        with interrupts.allowed():
            evaluations = [] if ratings else self._evaluations()  # members of a game have played each other
        chosen = None if self.parts.plan.objectives else winner(evaluations)  # a front has no winner
        self.journal.put(ended=reason, ratings=ratings, evaluation=chosen, evaluations=evaluations)
        return True

    def _worker(self) -> Worker:
        """What the engine is to train with."""
        config = self.parts.config

        def notify(kind: str, text: str) -> None:
            self.journal.note(kind, text=text)
            self._watch(Notice(text, warning=True))

        return Worker(
            self.parts.learner,
            self._checkpoints,
            config.learner.settings,
            config.settings.goal,
            lambda refs, share, note: self._watch(Progressed(refs, share, note)),
            notify,
        )

    def _watch(self, event: Event) -> None:
        """Pass events on to the display and the logs, and record the largest state, which bounds the disk that is used."""
        if isinstance(event, Saved) and event.size > self._largest:
            self._largest = event.size
            self.journal.put(state_bytes=self._largest)
        self._logs.watch(event)
        self.how.notify(event)
        if isinstance(event, Decided):
            reasons = [order.why for order in event.orders]
            for text in filter(None, (circles.warning(reasons, self.folder), control.warning(reasons))):
                self._watch(Notice(text, warning=True))

    def _evaluations(self) -> list[Evaluation]:
        """The best few in fresh episodes; none if the learner cannot play, or nobody is to be evaluated."""
        settings = self.parts.config.settings
        run = Run.open(self.folder, self.parts.learner)
        limit = settings.evaluation.time or max(LEAST, SHARE * run.elapsed)
        final = FinalEvaluation(run, settings.seed, settings.evaluation.members, limit, self._watch)
        try:
            return final.evaluations()
        except Exception as error:
            self._watch(Notice(f"the best members could not be evaluated: {error}", warning=True))
            return []
