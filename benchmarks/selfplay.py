"""Does evolution pay in self-play? Arms with equal budgets on Pong and Connect Four, judged by one that nobody trains against.

    python benchmarks/selfplay.py run pong --seeds 101 102 103 104 105
    python benchmarks/selfplay.py run connect-four --seeds 101 102 103 104 105
    python benchmarks/selfplay.py table
    python benchmarks/selfplay.py horizon --seeds 101 102 103 104 --before 30

Every arm is the preset with another strategy or other settings. `rule` is the share of games that a member wins against a
built-in opponent which nobody meets in training (Connect Four's search rates members, but is none of their opponents), `best`
that of the member with the highest rating, `mean` that of the whole population. Results are lines of `selfplay.jsonl`
beside this file; a seed that is there is not trained again, and one that was stopped is resumed.

Two things say why a learning rate may collapse. Where members evolve, they also have a gene without any effect, with the range
of the learning rate: what moves it is chance, so a learning rate that moves no further moved by chance as well. And in
`horizon` members that are equal in all else train on from one state with different learning rates, and play each other after
one turn, as evolution compares them, and after many.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from kept import Kept

import evolute
from evolute.core.protocols import silently
from evolute.report.data.compare import estimated, improvement, iqm

KEPT = Kept(Path(__file__).with_suffix(".jsonl"))
RUNS = Path(__file__).parent / "results" / "selfplay"
GAMES = 500
JUDGE = {"pong": "built_in", "connect-four": "search"}
PRESET = {"pong": "pong-selfplay", "connect-four": "connect-four"}
RANGE = {"pong": "log[3e-4, 3e-3]", "connect-four": "log[6e-4, 2.4e-3]"}
WIDE = "log[1e-5, 1e-2]"
"""The learning rate's range in arms that know little about it."""
NEUTRAL = "augmentation_weight"
"""A setting without any effect here, as there are no images; evolving arms have it with the learning rate's range."""
GOOD = {"pong": {"lr": 1e-3, "entropy": 0.01}, "connect-four": {"lr": 1.2e-3}}
"""Hyper-parameters known to be good, for the arm that does not search."""
INTERVAL, AFTER = 65_536, (1, 2, 4, 8, 16)
RATES = (3e-4, 1e-3, 3e-3)
"""Of `horizon`: steps of a turn, after how many turns rates are compared, and which ones."""
ARMS: dict[str, dict[str, Any]] = {
    "preset": {},
    "paper": {"pbt_marl": {"confidence": 0.5}},
    "paper, wide": {"pbt_marl": {"confidence": 0.5}},
    "preset, wide": {},
    "random search, wide": {"strategy": "random_search"},
    "pbt": {"strategy": "pbt"},
    "random search": {"strategy": "random_search"},
    "known values": {"strategy": "random_search"},
}


def trained(game: str, arm: str, seed: int) -> dict[str, Any]:
    """One run, and what each member wins against the judge."""
    folder = RUNS / f"{game}-{arm.replace(',', '').replace(' ', '-')}-{seed}"
    run = evolute.run(preset=PRESET[game], seed=seed, folder=folder, display="none", ppo=_settings(game, arm), **ARMS[arm])
    shares = []
    for slot in range(len(run.population)):
        member = run.member(slot)
        (played,) = run.learner.play_matches(
            member.state, member.hparams, [(JUDGE[game],)], {}, games=GAMES, seed=0, progress=silently
        )
        shares.append(round(float(played.match.score), 4))
    turns = [[*member.history()] for member in run.population.members]
    heirs = sum(turn.order.why.get("event") == "inherit" for line in turns for turn in line)
    rates = {name: _means(turns, name) for name in ("lr", NEUTRAL) if name in turns[0][0].order.hparams}
    return {"game": game, "arm": arm, "seed": seed, "best": shares[run.best.member], "shares": shares, "heirs": heirs, **rates}


def _settings(game: str, arm: str) -> dict[str, Any]:
    """PPO's settings that differ from the preset's: a range for the learning rate, and for the gene without effect."""
    if arm == "known values":
        return GOOD[game]
    lr = WIDE if arm.endswith(", wide") else RANGE[game]
    return {"lr": lr} if arm.startswith("random search") else {"lr": lr, NEUTRAL: lr}


def _means(turns: Any, name: str) -> list[float]:
    """The geometric means of a setting over the members, in their first and in their last turn."""
    ends = [[line[place].order.hparams[name] for line in turns] for place in (-1, 0)]
    return [float(f"{np.exp(np.mean(np.log(values))):.3g}") for values in ends]


def run(game: str, seeds: Sequence[int], arms: Sequence[str]) -> None:
    for seed in seeds:
        for arm in arms:
            if KEPT.missing({"game": game, "arm": arm}, [seed]):
                KEPT.add(trained(game, arm, seed))


def horizon(seeds: Sequence[int], before: int) -> None:
    """Who wins on Pong, a low, a middle or a high learning rate, by the number of turns since they began from one state.

    The state has been trained by self-play at the middle rate for `before` turns. Half of the tables are against themselves,
    half against that state, as a past one.
    """
    from evolute.core.order import Order, Ref
    from evolute.envs.spec import EnvSpec, GameSpec
    from evolute.learners.ppo import ppo
    from evolute.learners.ppo.settings import PPOSettings

    settings = PPOSettings(envs=16, discount=0.99, entropy=GOOD["pong"]["entropy"])
    learner: Any = ppo(env=EnvSpec("pong", game=GameSpec(tables=4, matches=0)), settings=settings)

    def orders(turn: int, rates: Sequence[float], opponents: Any) -> list[Order]:
        return [
            Order(row, turn, {"lr": rate}, steps=INTERVAL, seed=1000 * seeds[row % len(seeds)] + turn, opponents=opponents)
            for row, rate in enumerate(rates)
        ]

    def trained(states: Any, turn: int, rates: Sequence[float], opponents: Any = (), known: Any = None) -> Any:
        made = orders(turn, rates, opponents)
        return learner.train(states or learner.init(made), made, fetch=(known or {}).__getitem__, progress=silently)[0]

    states = None
    for turn in range(before):
        states = trained(states, turn, [RATES[1]] * len(seeds))
    past, rates = states, [rate for rate in RATES for _ in seeds]
    states, known = [*past] * len(RATES), {Ref(row, 0): state for row, state in enumerate(past)}
    print("| turns since | low against middle | high against middle | low, middle, high against the rule |\n|---|---|---|---|")
    for turn in range(1, max(AFTER) + 1):
        opponents = ((None,), (None,), (Ref(turn % len(seeds), 0),), (Ref((turn + 1) % len(seeds), 0),))
        states = trained(states, before + turn, rates, opponents, known)
        if turn in AFTER:
            _print_duels(learner, turn, [learner.dump(state) for state in states], len(seeds))


def _print_duels(learner: Any, turn: int, trees: Sequence[Any], seeds: int) -> None:
    """How the three rates did against each other and against the built-in rule: the mean over seeds, and its standard error."""
    from evolute.core.order import Ref

    def share(tree: Any, opponent: Any, others: Mapping[Any, Any]) -> float:
        (played,) = learner.play_matches(tree, {}, [(opponent,)], others, games=GAMES, seed=0, progress=silently)
        return float(played.match.score)

    low, middle, high = trees[:seeds], trees[seeds : 2 * seeds], trees[2 * seeds :]
    duels = [
        [share(one, Ref(0, 0), {Ref(0, 0): other}) for one, other in zip(side, middle, strict=True)] for side in (low, high)
    ]
    rules = [[share(one, JUDGE["pong"], {}) for one in side] for side in (low, middle, high)]
    shown = [f"{np.mean(values):.0%} ± {np.std(values, ddof=1) / np.sqrt(seeds):.0%}" for values in (*duels, *rules)]
    print(f"| {turn} | {shown[0]} | {shown[1]} | {', '.join(shown[2:])} |", flush=True)


def table() -> None:
    """What each arm wins, how probable it is that the preset ends better, and how far evolution moved the learning rate."""
    results = KEPT.grouped(("game", "arm"))
    print("| game | arm | seeds | the rated best wins | its seeds | all members win | the preset is better | inherited |")
    print("|---|---|---|---|---|---|---|---|")
    for game, arm in ((game, arm) for game in PRESET for arm in ARMS if (game, arm) in results):
        name = "preset, wide" if arm.endswith(", wide") else "preset"
        mine, preset = results[game, arm], results.get((game, name), [])
        everybody = fmean(share for one in mine for share in one["shares"])
        scores, heirs = np.array([one["best"] for one in mine]), fmean(one["heirs"] for one in mine)
        each = ", ".join(f"{share:.0%}" for share in sorted(scores, reverse=True))
        better = ""
        if arm != name and preset:
            found = estimated(improvement, np.array([one["best"] for one in preset]), scores)
            better = f"{found.value:.0%}" if found.low is None else f"{found.value:.0%} ({found.low:.0%} to {found.high:.0%})"
        print(
            f"| {game} | {arm} | {len(scores)} | {iqm(scores):.0%} | {each} | {everybody:.0%} | {better} | {heirs:.0f} times |"
        )
    print("\n| game | arm | learning rate, each seed | neutral gene, each seed |\n|---|---|---|---|")
    for (game, arm), mine in results.items():
        if NEUTRAL in mine[0]:
            moved = [", ".join(f"x{one[name][1] / one[name][0]:.2f}" for one in mine) for name in ("lr", NEUTRAL)]
            print(f"| {game} | {arm} | {moved[0]} | {moved[1]} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    runner = commands.add_parser("run")
    runner.add_argument("game", choices=list(PRESET))
    runner.add_argument("--seeds", type=int, nargs="+", required=True)
    runner.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    commands.add_parser("table")
    parted = commands.add_parser("horizon")
    parted.add_argument("--seeds", type=int, nargs="+", required=True)
    parted.add_argument("--before", type=int, default=10, help="turns before the rates part")
    asked = parser.parse_args()
    if asked.what == "run":
        run(asked.game, asked.seeds, asked.arms)
    elif asked.what == "horizon":
        horizon(asked.seeds, asked.before)
    else:
        table()


if __name__ == "__main__":
    main()
