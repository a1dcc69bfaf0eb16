"""Evolution strategies for whole populations: a Learner whose cohorts train in one compiled program."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

from evolute.core.order import Hparams, Json, LinkName, Order
from evolute.core.protocols import Fetch, Outcome, Progress
from evolute.core.rng import derive, stream
from evolute.core.tree import Tree
from evolute.envs.interface import JaxEnv
from evolute.learners.es import generation
from evolute.learners.es.generation import Inputs, Row, Stats
from evolute.learners.es.settings import ARCHITECTURE, SHAPES, TRACED, ESSettings
from evolute.learners.es.spec import ESSpec, spec_of
from evolute.learners.es.train_state import MemberState, fresh, from_tree, to_tree
from evolute.learners.kit import acting, episode_stats, evaluation, networks
from evolute.learners.kit.chunks import SLICE
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.layout import layout
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data, stacked
from evolute.policy import Policy

SHARED_SEED = 0
"""All members of all runs are evaluated on seeds that follow from this and their turn."""


@dataclass(frozen=True)
class ES:
    """Trains members together whose settings have one shape. `choices` fills in what the config left open."""

    programs: Programs
    env: JaxEnv
    settings: ESSettings
    choices: Mapping[str, Json]
    together: bool = True
    repeatable: bool = True
    links: tuple[LinkName, ...] = ()
    architecture: tuple[str, ...] = ARCHITECTURE
    policy_suffix: str = Policy.suffix
    ways: tuple[bool, ...] = (True,)
    """Candidates act without chance, and so do members."""
    rounds: tuple[int, ...] = (100,)

    def advice(self, interval: int, examples: Sequence[Hparams]) -> list[str]:
        """A warning of turns that are shorter than a generation can be."""
        specs = [self._spec(self._full(hparams)) for hparams in examples]
        least = max((spec.candidates * spec.episodes for spec in specs), default=0)
        if interval >= least:
            return []
        return [
            f"a turn has {interval:,} steps, and a generation of {least:,} episodes takes more: each turn is one "
            "generation, however long; set a longer interval"
        ]

    def shape(self, hparams: Hparams) -> str:
        full = self._full(hparams)
        return str([full[name] for name in SHAPES])

    def init(self, orders: Sequence[Order]) -> list[MemberState]:
        return [self._init(order) for order in orders]

    def train(
        self, states: Sequence[MemberState], orders: Sequence[Order], *, fetch: Fetch[MemberState], progress: Progress
    ) -> tuple[list[MemberState], list[Outcome]]:
        settings = [self._full(order.hparams) for order in orders]
        spec = self._spec(settings[0])
        inputs = [
            Inputs(key_data(order.seed), np.array([values[name] for name in TRACED], np.float32), np.int32(order.steps))
            for order, values in zip(orders, settings, strict=True)
        ]
        rows = self._advanced(spec, [Row(state.train, generation.blank()) for state in states], inputs, progress)
        after = [MemberState(row.train, self._about(spec, values)) for row, values in zip(rows, settings, strict=True)]
        returns = self._returns(spec, after, orders, progress)
        return after, [_outcome(row.stats, found) for row, found in zip(rows, returns, strict=True)]

    def dump(self, state: MemberState) -> Tree:
        return to_tree(state)

    def load(self, tree: Tree) -> MemberState:
        return from_tree(tree)

    def policy(self, tree: Tree) -> Policy:
        """What the member has learnt, in numpy alone."""
        state = from_tree(tree)
        arrays = networks.unpacked(acting.described_network(state.about), state.train.adam.weights)
        arrays = {name: np.asarray(array) for name, array in arrays.items()}
        return acting.exported(arrays, state.about, state.train.obs, self.env.observation_space)

    def evaluate(
        self, tree: Tree, hparams: Hparams, *, seed: int, episodes: int | None, progress: Progress
    ) -> list[float] | None:
        """The returns of fresh episodes."""
        return self.play(tree, hparams, seed=seed, episodes=episodes or sum(self.rounds), greedy=True, progress=progress)

    def play(self, tree: Tree, hparams: Hparams, *, seed: int, episodes: int, greedy: bool, progress: Progress) -> list[float]:
        """The returns of fresh episodes, with the likeliest actions, whatever is asked for: it knows no others."""
        spec = self._spec(self._full(hparams))
        results = self._episodes(spec, [from_tree(tree).player], episodes, seed, progress)
        return [float(value) for value in results[0].returns]

    def _advanced(self, spec: ESSpec, rows: Sequence[Row], inputs: Sequence[Inputs], progress: Progress) -> list[Row]:
        """The rows of a cohort after a turn, made of calls short enough that progress shows and Ctrl-C is heard."""
        places = layout(len(rows))
        row, given = (places.spread(stacked(one)) for one in (rows, inputs))
        function, count = partial(generation.generations, spec, self.env), 1
        budgets = np.array([max(int(one.budget), 1) for one in inputs])
        while True:
            started = time.perf_counter()
            row = self.programs.call(("es turn", spec), function, places, row, given, np.int32(count), progress)
            jax.block_until_ready(row)
            used, finite = places.gathered((row.stats.used, row.stats.finite))
            progress(float(np.minimum(used / budgets, 1.0).min()), "")
            if np.all((used >= budgets) | (finite == 0)):
                return places.unstacked(row)
            count = max(1, round(count * SLICE / (time.perf_counter() - started)))

    def _returns(self, spec: ESSpec, states: Sequence[MemberState], orders: Sequence[Order], progress: Progress) -> list[Any]:
        """The returns of each member in episodes whose seeds depend on the turn alone: [member, episode]."""
        found: list[Any] = [()] * len(orders)
        for turn in sorted({order.turn for order in orders}):
            rows = [row for row, order in enumerate(orders) if order.turn == turn]
            seed, players = derive(SHARED_SEED, "evaluation", turn), [states[row].player for row in rows]
            results = self._episodes(spec, players, self.settings.score_episodes, seed, lambda share, note: progress(1.0, note))
            for row, result in zip(rows, results, strict=True):
                found[row] = result.returns
        return found

    def _episodes(
        self, spec: ESSpec, players: Sequence[Player], episodes: int, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        play = partial(evaluation.evaluate, self.env, self.programs, spec.policy, players, episodes)
        return play(greedy=True, seed=seed, progress=progress)

    def _full(self, hparams: Hparams) -> dict[str, Any]:
        return {**vars(self.settings), **hparams}

    def _spec(self, hparams: Hparams) -> ESSpec:
        return spec_of(self.env.observation_space, self.env.action_space, hparams)

    def _init(self, order: Order) -> MemberState:
        full = self._full(order.hparams)
        spec = self._spec(full)
        return MemberState(fresh(spec, stream(order.seed, "weights")), self._about(spec, full))

    def _about(self, spec: ESSpec, hparams: Hparams) -> dict[str, Any]:
        """What a policy is made of, besides its weights."""
        return {**acting.description(spec.policy), "normalize_obs": bool(hparams["normalize_obs"]) and not spec.policy.image}


def _outcome(stats: Stats, returns: Any) -> Outcome:
    """The metrics of a turn; the score is the mean of these returns, those of the unperturbed weights."""
    if not stats.finite:
        return Outcome(error="returns or weights are no longer finite numbers: es.lr or es.sigma may be too high")
    metrics = {
        "score": float(np.mean(returns)),
        "score_error": episode_stats.error_of_mean(returns),
        "return": float(stats.mean),
        "highest": float(stats.highest),
        "episode_length": float(stats.length),
        "generations": int(stats.generations),
    }
    return Outcome(metrics, int(stats.used))
