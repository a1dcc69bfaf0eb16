"""Does evolution pay in self-play? Arms with equal budgets on Pong and Connect Four, judged by one that nobody trains against.

    python benchmarks/selfplay.py run pong --seeds 101 102 103 104 105
    python benchmarks/selfplay.py run connect-four --seeds 101 102 103 104 105
    python benchmarks/selfplay.py table

Every arm is the preset with another strategy or other settings. `rule` is the share of games that a member wins against a
built-in opponent which nobody meets in training (Connect Four's search rates members, but is none of their opponents), `best`
that of the member with the highest rating, `mean` that of the whole population. Results are kept in `selfplay.json` beside
this file; a seed that is there is not trained again, and one that was stopped is resumed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

import evolute
from evolute.core.protocols import silently
from evolute.report.data.compare import estimated, improvement, iqm

KEPT = Path(__file__).with_suffix(".json")
RUNS = Path(__file__).parent / "results" / "selfplay"
GAMES = 500
JUDGE = {"pong": "built_in", "connect-four": "search"}
PRESET = {"pong": "pong-selfplay", "connect-four": "connect-four"}
GOOD = {"pong": {"lr": 1e-3, "entropy": 0.01}, "connect-four": {"lr": 6e-4}}
"""Hyper-parameters known to be good, for the arm that does not search."""
ARMS: dict[str, dict[str, Any]] = {
    "preset": {},
    "paper": {"pbt_marl": {"confidence": 0.5}},
    "pbt": {"strategy": "pbt"},
    "random search": {"strategy": "random_search"},
    "known values": {"strategy": "random_search"},
}


def measured() -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = json.loads(KEPT.read_text()) if KEPT.exists() else []
    return results


def trained(game: str, arm: str, seed: int) -> dict[str, Any]:
    """One run, and what each member wins against the judge."""
    changes = {**ARMS[arm], "ppo": GOOD[game]} if arm == "known values" else ARMS[arm]
    folder = RUNS / f"{game}-{arm.replace(' ', '-')}-{seed}"
    run = evolute.run(preset=PRESET[game], seed=seed, folder=folder, display="none", **changes)
    shares, values = [], []
    for slot in range(len(run.population)):
        member = run.member(slot)
        (played,) = run.learner.play_matches(
            member.state, member.hparams, [(JUDGE[game],)], {}, games=GAMES, seed=0, progress=silently
        )
        shares.append(round(float(played.match.score), 4))
        ended = GOOD[game] | member.hparams
        values.append({name: float(f"{ended[name]:.3g}") for name in GOOD[game]})
    return {"game": game, "arm": arm, "seed": seed, "best": shares[run.best.member], "shares": shares, "values": values}


def run(game: str, seeds: Sequence[int], arms: Sequence[str]) -> None:
    for seed in seeds:
        for arm in arms:
            if (game, arm, seed) in {(one["game"], one["arm"], one["seed"]) for one in measured()}:
                continue
            result = trained(game, arm, seed)
            lines = ",\n".join(json.dumps(one) for one in [*measured(), result])
            KEPT.write_text(f"[\n{lines}\n]\n")
            print(json.dumps(result), flush=True)


def table() -> None:
    """What each arm wins, and how often the preset ends better than it."""
    results = measured()
    print("| game | arm | seeds | the rated best wins | its seeds | all members win | lr at the end | the preset is better |")
    print("|---|---|---|---|---|---|---|---|")
    for game in PRESET:
        best = {arm: {one["seed"]: one["best"] for one in results if (one["game"], one["arm"]) == (game, arm)} for arm in ARMS}
        for arm, shares in best.items():
            if not shares:
                continue
            mine = [one for one in results if (one["game"], one["arm"]) == (game, arm)]
            everybody = fmean(share for one in mine for share in one["shares"])
            rates = np.exp(fmean(np.log(value["lr"]) for one in mine for value in one["values"]))
            scores = np.array(list(shares.values()))
            each = ", ".join(f"{share:.0%}" for share in sorted(scores, reverse=True))
            better = ""
            if arm != "preset" and best["preset"]:
                found = estimated(improvement, np.array(list(best["preset"].values())), scores)
                better = (
                    f"{found.value:.0%}" if found.low is None else f"{found.value:.0%} ({found.low:.0%} to {found.high:.0%})"
                )
            print(f"| {game} | {arm} | {len(scores)} | {iqm(scores):.0%} | {each} | {everybody:.0%} | {rates:.1e} | {better} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    runner = commands.add_parser("run")
    runner.add_argument("game", choices=list(PRESET))
    runner.add_argument("--seeds", type=int, nargs="+", required=True)
    runner.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    commands.add_parser("table")
    asked = parser.parse_args()
    if asked.what == "run":
        run(asked.game, asked.seeds, asked.arms)
    else:
        table()


if __name__ == "__main__":
    main()
