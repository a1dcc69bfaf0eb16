"""Puts a run together: config, store, learner, strategy, engine and loop, for a new run or one that goes on."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from evolute import folders
from evolute.config.declared import built
from evolute.config.error import ConfigError
from evolute.config.resolve import Config, plain_value
from evolute.core.durability import Keeper
from evolute.core.interrupt import Interrupted, Interrupts
from evolute.core.loop import AllFailedError, Loop
from evolute.core.order import Json
from evolute.core.population import Population, best
from evolute.core.protocols import Learner, Plan, Strategy
from evolute.core.resume import RemakeError, UnrepeatableError
from evolute.core.rng import derive, stream
from evolute.core.solo import adapt, is_train
from evolute.core.watch import Event, Notify, Progressed, Saved, Told, silent
from evolute.core.worker import Worker
from evolute.logs.log import Logs, Opening
from evolute.program import typed
from evolute.restore import Restorer
from evolute.result import Run
from evolute.store.checkpoints import Checkpoints
from evolute.store.error import StoreError
from evolute.store.journal import Journal
from evolute.store.lock import held

CHANGEABLE = {"interval", "mode", "stop.score", "stop.steps", "stop.time", "stop.turns"}
"""What may differ when a run that has begun goes on."""
EXAMPLES = 8
"""How many draws from the space a learner is asked about before a run begins."""
Begin = Callable[[Path, Config, Population], None]
Summon = Callable[[Json], None]
"""Tells the other processes of a run, if there are, what to build."""


@dataclass(frozen=True)
class Launch:
    """How to start: in which folder, whether anew, and who watches. `begin` is called when training is about to start.

    `settled` is what the learner of a new run shall not choose itself.
    """

    folder: Path | None = None
    new: bool = False
    take_over: bool = False
    settled: Mapping[str, Any] = field(default_factory=dict)
    notify: Notify = silent
    summon: Summon = lambda opening: None
    begin: Begin = lambda folder, config, population: None


def launch(config: Config, how: Launch) -> Run:
    """Train the population that a config describes, from the start or from where an equal, unfinished run stands."""
    with _joined(config) as summon:
        folder = choose(config, how)
        chosen = how.settled if folder is None else settled(folder)
        parts = assembled(config, chosen)  # what they refuse is better known before there is a folder
        if folder is None:
            meta = {"created": time.time(), "settled": dict(parts.learner.settled), **described(config)}
            fill = None if config.values["init.from"] is None else _beginning(config, parts)
            folder = folders.found(how.folder, Path(config.values["runs"]), config.name, meta, fill)
        return _proceed(folder, config, parts, replace(how, summon=summon))


def _beginning(config: Config, parts: Parts) -> Callable[[Path, Journal], None]:
    from evolute.origin import beginning

    return beginning(config, parts.strategy)


def proceed(folder: Path, config: Config, how: Launch) -> Run:
    """Train on in a run folder that exists, until its end; a run that has ended is left as it is."""
    with _joined(config) as summon:
        return _proceed(folder, config, assembled(config, settled(folder)), replace(how, summon=summon))


@contextlib.contextmanager
def _joined(config: Config) -> Iterator[Summon]:
    """Lead the processes that were started with this one by the same command, or follow the one that leads.

    An engine whose processes are started from outside, as mpiexec does, has a `joined` in its module.
    """
    joined = vars(sys.modules[config.engine.maker.__module__]).get("joined")
    if joined is None:
        yield lambda opening: None
        return

    def build(opening: Json) -> tuple[Worker, float | None]:
        parts = assembled(config, opening["settled"])
        checkpoints = Checkpoints(Path(opening["folder"]) / folders.CHECKPOINTS)
        return Worker(parts.learner, checkpoints, config.learner.settings, config.values["score"]), config.values["limit"]

    with joined(build) as summon:
        yield summon


def settled(folder: Path | None) -> dict[str, Any]:
    """What the learner of an existing run once chose where the config left it open."""
    if folder is None:
        return {}
    with contextlib.closing(Journal.read(folder)) as journal:
        return dict(journal.meta.get("settled", {}))


def choose(config: Config, how: Launch) -> Path | None:
    """The existing run to go on with, or None for a new one."""
    if how.folder is None:
        return None if how.new else folders.unfinished(Path(config.values["runs"]), config.identity)
    if not folders.is_run(how.folder):
        return None
    with contextlib.closing(Journal.read(how.folder)) as journal:
        before = journal.meta["identity"]
    if before == config.identity and not how.new:
        return how.folder
    changed = sorted(key for key in {*before, *config.identity} if before.get(key) != config.identity.get(key))
    why = f"which differs in {', '.join(changed)}" if changed else "and a new one was asked for"
    raise StoreError(f"{how.folder} holds a run already, {why}: choose another folder, or `{typed('resume', how.folder)}`")


def _proceed(folder: Path, config: Config, parts: Parts, how: Launch) -> Run:
    with held(folder, take_over=how.take_over) as dead, contextlib.closing(Journal.write(folder)) as journal:
        if dead is not None:
            how.notify(Told(f"took the run over from process {dead['pid']} on {dead['host']}, which died"))
            journal.note("took over", **dead)
        if journal.meta.get("ended") is not None and journal.meta["identity"] == config.identity:
            return Run.open(folder, parts.learner)
        _amend(journal, config)
        with _advising(folder):
            while not _train(folder, config, parts, how, journal):
                pass
    return Run.open(folder, parts.learner)


def _amend(journal: Journal, config: Config) -> None:
    """Write down a config that has changed; what the members so far were trained with cannot change."""
    before = journal.meta
    changed = {key for key in config.identity if before["identity"].get(key) != config.identity[key]}
    if fixed := sorted(changed - CHANGEABLE):
        raise ConfigError(
            f"{', '.join(fixed)} cannot change in a run that has begun, only {', '.join(sorted(CHANGEABLE))} and where "
            "and how it is carried out; start a new run"
        )
    if changed:
        changes = [f"{key} from {before['identity'].get(key)} to {config.identity[key]}" for key in sorted(changed)]
        journal.note("changed", text=f"changed {', '.join(changes)}")
        journal.put(ended=None)
    journal.put(**described(config))


@contextlib.contextmanager
def _advising(folder: Path) -> Iterator[None]:
    """Add to whatever stops a run how to go on."""
    go_on = f"to go on: {typed('resume', folder)}"
    try:
        yield
    except Interrupted as stopped:
        stopped.saved = f"finished turns are saved; {go_on}"
        raise
    except AllFailedError as error:
        raise AllFailedError(f"{error}\nAfter mending it, {go_on}") from None
    except RemakeError as error:
        raise RemakeError(f"{error}\nAfter mending it, {go_on}") from None
    except StoreError as error:
        raise StoreError(f"{error}; what was written before is whole; {go_on}") from error


def _train(folder: Path, config: Config, parts: Parts, how: Launch, journal: Journal) -> bool:
    """Train to the end; False if a state was lost on the way and cannot be made again, so that the run has to be restored."""
    checkpoints = Checkpoints((folder / folders.CHECKPOINTS).resolve())
    checkpoints.sweep()
    if config.values["init.from"] is not None:
        from evolute.origin import restock

        restock(folder)
    logs = Logs(how.notify)
    notify = _noting(journal, how.notify, logs)
    how.summon({"settled": dict(parts.learner.settled), "folder": str(folder.resolve())})
    engine = config.engine.maker(
        _worker(config, parts, checkpoints, journal, notify), config.values["limit"], **config.engine.settings
    )
    rhythm = None if config.values["durable"] == "auto" else config.values["durable"]
    repeatable = parts.learner.repeatable and not journal.meta.get("unrepeatable", False)
    keeper = Keeper(engine, journal, checkpoints, config.keep, rhythm, eager=not repeatable, notify=notify)
    barrier = config.values["mode"] == "sync"
    restorer = Restorer(parts.plan.size, barrier, parts.strategy, journal, checkpoints, engine, keeper, notify)
    with contextlib.closing(engine), Interrupts().installed() as interrupts:
        with interrupts.allowed():
            standing = restorer.restore(repeatable=repeatable)
        if standing.decisions:
            turn = min(member.turns for member in standing.population.members)
            notify(Told(f"going on with {folder} at turn {turn}"))
        for advice in parts.advice:
            notify(Told(advice, warning=True))
        logs.start(config.values["log"], Opening(folder, journal.meta), standing.population)
        how.begin(folder, config, standing.population)
        loop = Loop(
            parts.plan,
            parts.strategy,
            engine,
            journal,
            keeper,
            config.stop,
            standing.population,
            standing.state,
            seed=config.values["seed"],
            barrier=barrier,
            keeps_own=parts.learner.keeps_own,
            decisions=standing.decisions,
            elapsed=journal.elapsed,
            notify=notify,
            interrupts=interrupts,
        )
        try:
            loop.run()
        except UnrepeatableError:
            return False
        finally:
            logs.close(loop.population)
        with interrupts.allowed():
            _measure_again(folder, config, parts, journal, notify)
    return True


def _worker(config: Config, parts: Parts, checkpoints: Checkpoints, journal: Journal, notify: Notify) -> Worker:
    """What the engine is to train with."""

    def tell(kind: str, text: str) -> None:
        journal.note(kind, text=text)
        notify(Told(text, warning=True))

    return Worker(
        parts.learner,
        checkpoints,
        config.learner.settings,
        config.values["score"],
        lambda refs, share, note: notify(Progressed(refs, share, note)),
        tell,
    )


def _measure_again(folder: Path, config: Config, parts: Parts, journal: Journal, notify: Notify) -> None:
    """Measure the winner in fresh episodes: the best of many noisy scores is optimistic."""
    run = Run.open(folder, parts.learner)
    if best(run.population) is None:
        return
    ref = run.best.turn.ref

    def progress(share: float, note: str) -> None:
        notify(Progressed([ref], share, note or "measuring the best again"))

    try:
        scores = run.best.measure(seed=derive(config.values["seed"], "measure"), progress=progress)
    except Exception as error:
        notify(Told(f"the best could not be measured again: {error}", warning=True))
        return
    if scores is not None:
        found = {"mean": float(np.mean(scores)), "deviation": float(np.std(scores)), "episodes": len(scores)}
        journal.put(measured={"member": ref.member, "turn": ref.turn, **found})


@dataclass(frozen=True)
class Parts:
    """What a config names, built, and what its user should be told before it is used."""

    learner: Learner[Any]
    plan: Plan
    strategy: Strategy
    advice: Sequence[str]


def assembled(config: Config, settled: Mapping[str, Any]) -> Parts:
    """The learner, the plan that fits it, and the strategy for that plan; what one of them refuses is a ConfigError.

    `settled` is what an earlier start of the run has settled on.
    """
    learner = _learner(config, settled)
    first = tuple({name: config.space[name].clip(row[name]) for name in row} for row in config.values["init.hparams"])
    interval = config.values["interval"]
    architecture = frozenset(learner.architecture) & config.space.keys()
    plan = Plan(config.space, config.values["population"], interval, config.stop.horizon(interval), first, architecture)
    try:
        strategy = config.strategy.maker(plan, **config.strategy.settings)
    except ValueError as error:
        raise ConfigError(f"{config.strategy.name}: {error}") from error
    return Parts(learner, plan, strategy, _advice(learner, config, interval))


def _advice(learner: Learner[Any], config: Config, interval: int) -> Sequence[str]:
    """What there is to say of this run before it begins, also by the learner of members such as it will have."""
    rng = stream(config.values["seed"], "examples")
    examples = [{**config.learner.settings, **config.space.sample(rng)} for _ in range(EXAMPLES)]
    limit = f"nothing says when the run is over, so it ends after {config.stop.turns} turns; stop.turns or steps says it"
    try:
        return [*([limit] if config.open_ended else []), *learner.advice(interval, examples)]
    except ValueError as error:
        raise ConfigError(f"{config.learner.name}: {error}") from error


def _learner(config: Config, settled: Mapping[str, Any]) -> Learner[Any]:
    """The learner, built from those of its settings that its maker asks for."""
    maker = config.learner.maker
    if is_train(maker) or not callable(maker):
        return adapt(maker)
    env = config.env and replace(config.env, name=settled.get("env", config.env.name))
    try:
        return adapt(built(maker, {**config.learner.settings, **settled}, env))
    except (ValueError, ImportError) as error:
        raise ConfigError(f"{config.learner.name}: {error}") from error


def described(config: Config) -> dict[str, Any]:
    """What the journal keeps of a config: enough to recognise it, to show it and to build it again."""
    return {
        "identity": config.identity,
        "config": {key: [plain_value(setting.value), setting.source] for key, setting in config.given.items()},
        "population": config.values["population"],
        "learner": config.learner.name,
        "strategy": config.strategy.name,
        "mode": config.values["mode"],
        "space": {name: param.to_json() for name, param in config.space.items()},
        "keep": vars(config.keep),
        "horizon": config.stop.horizon(config.values["interval"]),
    }


def _noting(journal: Journal, notify: Notify, logs: Logs) -> Notify:
    """Pass events on to whoever watches and to the logs, and write down the size of the largest state.

    From that `show` tells how much disk a run can use.
    """
    largest = journal.meta.get("state_bytes", 0)

    def noting(event: Event) -> None:
        nonlocal largest
        if isinstance(event, Saved) and event.size > largest:
            largest = event.size
            journal.put(state_bytes=largest)
        logs.watch(event)
        notify(event)

    return noting
