"""Runs that begin with what another run has learnt: `init.from` its best, or with `init.turn` a moment of it, a fork.

With `init.teachers` members begin with fresh weights, after turns that are states of the other run, to be taught by.

A fork with the same space, environment and number of members takes over the journal up to that moment, and with it all that
a strategy can learn from; its states are then restored as in any run that is resumed. Otherwise the states are imported: turn
0 of each member is the other run's state, kept in a folder of its own, since this journal could not make it again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evolute.config.error import ConfigError
from evolute.config.resolve import Config
from evolute.core.events import Notice, Notify, silent
from evolute.core.order import Hparams, Json, Order, Ref, Report
from evolute.core.population import Population, Turn, best
from evolute.core.protocols import Learner, Strategy
from evolute.core.resume import Decision, replay
from evolute.core.rng import stream
from evolute.core.space import Space
from evolute.core.tree import digest
from evolute.runs import folders
from evolute.runs.assemble import assembled
from evolute.runs.likeness import check_start, check_teachers
from evolute.runs.states import choices_of, remembered, states
from evolute.store.checkpoints import Checkpoints
from evolute.store.error import StoreError
from evolute.store.guests import IMPORTED, Guests
from evolute.store.journal import Journal

Fill = Callable[[Path, Journal], None]
"""Fills the draft of a run's folder and its journal before the run gets its name."""


def beginning(config: Config, strategy: Strategy, learner: Learner[Any], notify: Notify = silent) -> Fill:
    """What a new run's folder begins with, by `init.from` and `init.turn`; states that do not fit are a ConfigError."""
    source, turn = Path(config.settings.init.from_ or ""), config.settings.init.turn
    with contextlib.closing(Journal.read(source)) as journal, journal.snapshot():
        meta, decisions = journal.meta, journal.decisions()
    population = meta.rated(replay(meta.population, decisions))
    if config.settings.init.teachers:
        return _importing_teachers(source, population, config, strategy, learner)
    if turn is None:
        top = best(population, meta.chosen)
        if top is None:
            raise StoreError(f"init.from = {source}: no member of it has a score yet")
        return _importing(source, [top] * config.settings.population, config, strategy, learner, same=False)
    kept = until(decisions, turn)
    if meta.population != config.settings.population:
        raise ConfigError(
            f"population = {config.settings.population}: a fork has as many members as its run, {meta.population}; "
            "init.from without init.turn starts any number of members from its best"
        )
    now = config.identity
    if meta.identity["space"] == now["space"] and _world(meta.identity) == _world(now):
        other = any(meta.identity.get(key) != now.get(key) for key in ("strategy", "opponents"))
        if other and (dropped := _kept_besides(source, replay(meta.population, decisions[:kept]), decisions[:kept])):
            notify(Notice(_without(dropped, turn), warning=True))
        return _adopting(source, kept, strategy, other_strategy=other)
    moment = replay(meta.population, decisions[:kept])
    latest = [member.latest for member in moment.members]
    whole = [one for one in latest if one is not None]
    if len(whole) < len(latest):
        raise StoreError(f"{source}: not every member had a state after turn {turn}")
    return _importing(source, whole, config, strategy, learner, same=True)


def _kept_besides(source: Path, moment: Population, decisions: Sequence[Decision]) -> int:
    """How many states the strategy of a run kept at a moment besides the members' own; 0 if its code is not to be found."""
    try:
        strategy = assembled(remembered(source), choices_of(source), to_train=False).strategy
    except ConfigError:
        return 0
    retained = set(strategy.retain(decisions[-1].state, moment)) if decisions else set()
    return len(retained - {turn.ref for turn in moment.latest})


def _without(dropped: int, turn: int) -> str:
    more = "1 more state" if dropped == 1 else f"{dropped} more states"
    return (
        f"after turn {turn} the run's strategy kept {more} besides its members' own (candidates on rungs, a teacher, an "
        "archive or past opponents): with another strategy the fork goes on without them"
    )


def until(decisions: list[Decision], turn: int) -> int:
    """How many decisions had been made when nobody was beyond this turn yet."""
    last = max((order.turn for decision in decisions for order in decision.orders), default=-1)
    if not 0 <= turn <= last:
        raise ConfigError(f"init.turn = {turn}: the run has turns 0 to {last}")
    later = [decision.number for decision in decisions if any(order.turn > turn for order in decision.orders)]
    return min(later, default=len(decisions))


def restock(folder: Path) -> None:
    """Bring back imported states whose checkpoints were removed, so that a resumed run has them."""
    imported = Checkpoints(folder / IMPORTED)
    for ref in imported.refs():
        imported.link(ref, Checkpoints(folder / folders.CHECKPOINTS))


def _adopting(source: Path, decisions: int, strategy: Strategy, *, other_strategy: bool) -> Fill:
    def fill(draft: Path, journal: Journal) -> None:
        with contextlib.closing(Journal.read(source)) as before, before.snapshot():
            journal.adopt(before, decisions, state=strategy.init() if other_strategy else None)
            kept = {order.ref for decision in before.decisions()[:decisions] for order in decision.orders}
            meta = before.meta
        _invite(source, draft, journal, meta.guests)
        journal.put(state_bytes=meta.state_bytes)  # its checkpoints come along
        durable = Checkpoints(source / folders.CHECKPOINTS)
        for ref in durable.refs() & kept:
            durable.link(ref, Checkpoints(draft / folders.CHECKPOINTS))

    return fill


def _invite(source: Path, draft: Path, journal: Journal, guests: Sequence[tuple[str, str, str]]) -> None:
    """Take over a run's guests, against whom its members have played."""
    for name, _, _ in guests:
        Guests(source).link(name, Guests(draft))
    journal.put(guests=guests)


def _world(identity: Mapping[str, Json]) -> dict[str, Json]:
    """What of a config says where members train: in another environment old turns could not be made again, nor compared."""
    return {key: value for key, value in identity.items() if key in ("env", "env options") or key.startswith("wrap.")}


def _importing(
    source: Path, turns: list[Turn], config: Config, strategy: Strategy, learner: Learner[Any], *, same: bool
) -> Fill:
    """Every member begins with the state of one of these turns; in the `same` slot also with its hyper-parameters."""
    trees = states(source, sorted({turn.ref for turn in turns}))
    example = config.space.sample(stream(config.settings.seed, "examples"))
    for turn in {turn.ref: turn for turn in turns}.values():
        try:
            check_start(learner, {**example, **carried(config.space, turn.order.hparams)}, trees[turn.ref])
        except ValueError as error:
            raise ConfigError(f"init.from = {source}: {error}") from error
    rng = stream(config.settings.seed, "import")
    given = config.settings.init.hparams

    def fill(draft: Path, journal: Journal) -> None:
        orders, reports = [], []
        (draft / IMPORTED).mkdir()
        for slot, turn in enumerate(turns):
            drawn = config.space.first(rng)
            inherited = carried(config.space, turn.order.hparams) if same or slot == 0 else {}
            first = {name: config.space[name].clip(value) for name, value in (given[slot] if slot < len(given) else {}).items()}
            why = {"event": "import", "run": str(source), "member": turn.ref.member, "turn": turn.ref.turn}
            order = Order(slot, 0, {**drawn, **inherited, **first}, why=why)
            tree = trees[turn.ref]
            Checkpoints(draft / IMPORTED).write(order.ref, tree)
            orders.append(order)
            reports.append(Report(order, {"score": turn.score}, digest=digest(tree)))
        journal.decide(0, orders, strategy.init())
        journal.record(reports, 0.0)
        restock(draft)

    return fill


def _importing_teachers(
    source: Path, population: Population, config: Config, strategy: Strategy, learner: Learner[Any]
) -> Fill:
    """The first turns of every member are these states, one each; what it trains afterwards begins anew."""
    refs = [Ref(*pair) for pair in config.settings.init.teachers]
    missing = [ref for ref in refs if not _has_state(population, ref)]
    if missing:
        raise ConfigError(f"init.teachers: {source} has no state of {', '.join(map(str, missing))}")
    trees = states(source, sorted(set(refs)))
    try:
        check_teachers(learner, config.space.sample(stream(config.settings.seed, "examples")), list(trees.values()))
    except ValueError as error:
        raise ConfigError(f"init.teachers: {error}") from error
    rng = stream(config.settings.seed, "import")

    def fill(draft: Path, journal: Journal) -> None:
        (draft / IMPORTED).mkdir()
        for number, ref in enumerate(refs):
            why = {"event": "import", "run": str(source), "member": ref.member, "turn": ref.turn, "teacher": True}
            hparams = {**config.space.first(rng), **carried(config.space, population.find(ref).order.hparams)}
            orders = [Order(slot, number, hparams, why=why) for slot in range(config.settings.population)]
            for order in orders:
                Checkpoints(draft / IMPORTED).write(order.ref, trees[ref])
            journal.decide(number, orders, strategy.init())
            journal.record([Report(order, digest=digest(trees[ref])) for order in orders], 0.0)
        restock(draft)

    return fill


def _has_state(population: Population, ref: Ref) -> bool:
    try:
        return not population.find(ref).failed
    except (KeyError, IndexError):
        return False


def carried(space: Space, hparams: Hparams) -> dict[str, Any]:
    """Those of these values that a space knows, moved into its ranges."""
    found = {}
    for name, param in space.items():
        with contextlib.suppress(KeyError, TypeError, ValueError):
            found[name] = param.clip(hparams[name])
    return found
