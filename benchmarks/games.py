"""Populations that play each other: do they learn what they should, and what does it cost?

    python benchmarks/games.py rps                # how far rock-paper-scissors can be exploited, with a past and without
    python benchmarks/games.py pong               # Pong by self-play, against the built-in rule and its own past
    python benchmarks/games.py connect-four       # against random play and a search of depth 2
    python benchmarks/games.py deceptive          # does evolution turn a shaping reward down that misleads?
    python benchmarks/games.py soccer             # goals against two chasers, with shaping rewards that evolve
    python benchmarks/games.py speed              # a turn of self-play in Pong against one with the built-in rule
    python benchmarks/games.py peers              # Connect Four by self-play, ours and what people use today, in turn

Settings are those of the presets; seeds are given by `--seeds`, and each is a run of its own. With `--runs FOLDER`
connect-four, deceptive and soccer keep their runs there, so that the same command goes on where it was stopped. Peers are
installed into virtual environments of their own under benchmarks/.venvs; `--python NAME=PATH` names a Python that has one
already.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from peer import answer, program_of, python_of

import evolute
from evolute.envs.adapters.matrix import PAYOFF, ROUNDS
from evolute.envs.matrix_game import MatrixGame
from evolute.envs.matrix_value import exploitability
from evolute.runs.tournament import against

PEERS = ("maskable_connect_four", "rllib_connect_four", "open_spiel_connect_four")
CONNECT_FOUR = {
    "network": "mlp",
    "widths": (128, 128),
    "activation": "relu",
    "entropy": 0.04,
    "discount": 0.997,
    "envs": 64,
    "unroll": 32,
    "minibatches": 8,
}
"""PPO's settings in the preset."""
CONTROL = {"opponents": "random", "opponents.live": 0.0, "ppo": {"entropy": 0.0}}
"""Rock-paper-scissors with the newest states alone, and nothing that keeps policies mixed."""


GENE, NEUTRAL = "log[1e-4, 1e-1]", "augmentation_weight"
"""The range of a misleading reward's weight, and a setting without any effect here: there are no images."""


def table(policy: Any) -> np.ndarray[Any, Any]:
    """What a policy plays in every situation of rock-paper-scissors, [seat, situation, action]."""
    situations = MatrixGame(PAYOFF["rps"], rounds=ROUNDS).situations()
    logits = np.stack([policy.outputs(seat) for seat in situations]).astype(np.float64)
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def rps(seeds: Sequence[int]) -> None:
    """The exploitability per round of the population's mixture and of its members, and the entropy of their moves."""
    payoff = np.array(PAYOFF["rps"], np.float64)
    print("| | seed | mixture | mean member | entropy |\n|---|---|---|---|---|")
    for name, changes in (("preset", {}), ("control", CONTROL)):
        for seed in seeds:
            with tempfile.TemporaryDirectory() as folder:
                run = evolute.run(preset="rps", seed=seed, folder=Path(folder) / "run", display="none", **changes)
                tables = [table(run.member(slot).policy) for slot in range(len(run.population))]
            mixture = exploitability(payoff, np.mean(tables, axis=0), rounds=ROUNDS)
            alone = np.mean([exploitability(payoff, one, rounds=ROUNDS) for one in tables])
            entropy = np.mean([-(one * np.log(one + 1e-12)).sum(axis=-1).mean() for one in tables])
            print(f"| {name} | {seed} | {mixture:.3f} | {alone:.3f} | {entropy:.3f} |", flush=True)


def pong(seeds: Sequence[int]) -> None:
    """The rated best after the preset, against the built-in rule and against its own slot after turns 10 and 20."""
    print("| seed | against the rule | against its slot after turn 10 | after turn 20 |\n|---|---|---|---|")
    for seed in seeds:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "run"
            run = evolute.run(preset="pong-selfplay", seed=seed, folder=folder, keep="last 2, best, every 10", display="none")
            rule = against(folder, None, "built_in", games=1000).match.score
            past = [_against_past(run, turn) for turn in (10, 20)]
        print(f"| {seed} | {rule:.0%} | {past[0]:.0%} | {past[1]:.0%} |", flush=True)


def _against_past(run: Any, turn: int) -> float:
    from evolute.core.order import Ref
    from evolute.core.protocols import silently
    from evolute.runs.states import states

    ref = Ref(run.best.member, turn)
    trees = states(run.folder, [run.best.turn.ref, ref])
    best, past = trees[run.best.turn.ref], {ref: trees[ref]}
    (played,) = run.learner.play_matches(best, run.best.hparams, [(ref,)], past, games=1000, seed=0, progress=silently)
    return float(played.match.score)


def connect_four(seeds: Sequence[int], runs: Path, turns: int | None) -> None:
    """The rated best after the preset, with its likeliest actions, against random play and a search of depth 2."""
    print("| seed | against random play | against the search |\n|---|---|---|")
    for seed in seeds:
        run = _trained(runs / f"connect-four-{seed}", preset="connect-four", seed=seed, stop={"turns": turns or 12})
        shares = [against(run.folder, None, bot, games=1000, greedy=True).match.score for bot in ("random", "search")]
        print(f"| {seed} | {shares[0]:.1%} | {shares[1]:.1%} |", flush=True)


def deceptive(seeds: Sequence[int], runs: Path, turns: int | None) -> None:
    """What became of the weight of a reward for being far from the ball in Pong, beside a gene of the same range without
    any effect: the geometric means over the members that are left. Both begin with the same values, spread over the range and
    dealt to the members at random."""
    print("| seed | weight of the distance | neutral gene | ratio |\n|---|---|---|---|")
    ratios = []
    for seed in seeds:
        run = _trained(
            runs / f"deceptive-{seed}",
            preset="pong-selfplay",
            seed=seed,
            pong={"distance": True},
            reward={"distance": GENE},
            ppo={NEUTRAL: GENE},
            init={"hparams": _dealt(seed, ("reward.distance", NEUTRAL), 8)},
            stop={"turns": turns or 40},
        )
        members = [run.member(slot).hparams for slot in range(len(run.population))]
        weight, neutral = (_geometric_mean([one[name] for one in members]) for name in ("reward.distance", NEUTRAL))
        ratios.append(weight / neutral)
        print(f"| {seed} | {weight:.2g} | {neutral:.2g} | {weight / neutral:.2f} |", flush=True)
    print(f"geometric mean of the ratios: {_geometric_mean(ratios):.2f} (passes at 0.50 or less, with 5 seeds)")


def _dealt(seed: int, names: Sequence[str], members: int) -> list[dict[str, float]]:
    """The same values, in the middle of equal parts of the range, for each gene, in an order of its own."""
    rng = np.random.default_rng(seed)
    values = 10 ** (-4 + 3 * (np.arange(members) + 0.5) / members)
    dealt = {name: rng.permutation(values) for name in names}
    return [{name: float(dealt[name][member]) for name in names} for member in range(members)]


def _geometric_mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def soccer(seeds: Sequence[int], runs: Path, turns: int | None) -> None:
    """The rated best of the preset after 4M steps of each member: mean goals for minus goals against two chasers."""
    print("| seed | goals | wins (a draw is half a one) | its weights and discounts |\n|---|---|---|---|")
    goals = []
    for seed in seeds:
        run = _trained(runs / f"soccer-{seed}", preset="soccer-2v2", seed=seed, stop={"turns": turns or 31})
        match = against(run.folder, None, "chase", games=2000).match
        assert match.gain is not None
        goals.append(match.gain)
        evolved = {name: value for name, value in run.best.hparams.items() if "." in name}
        shown = ", ".join(f"{name} {value:.3g}" for name, value in evolved.items())
        print(f"| {seed} | {match.gain:+.2f} | {match.score:.0%} | {shown} |", flush=True)
    print(f"mean goals: {np.mean(goals):+.2f} (passes at +0.10 or more)")


def _trained(folder: Path, **settings: Any) -> Any:
    """The run in this folder, which is begun, resumed, or finished already."""
    if not folder.exists():
        return evolute.run(folder=folder, display="none", **settings)
    return evolute.resume(folder, stop=settings["stop"], display="none")


def speed(repeats: int) -> None:
    """How long a turn of PPO on Pong takes against frozen networks, compared with the built-in rule; without matches."""
    from evolute.core.order import Order, Ref
    from evolute.core.protocols import silently
    from evolute.envs.spec import EnvSpec, GameSpec
    from evolute.learners.ppo import ppo
    from evolute.learners.ppo.settings import PPOSettings

    steps, rivals = 131072, tuple(((Ref(member, 0),)) for member in range(4))

    def turns(game: GameSpec | None) -> Callable[[int], tuple[float, float]]:
        """Trains one turn of two members after another, and says how long it took: by the clock, and in processor time."""
        made: Any = ppo(env=EnvSpec("pong", game=game), settings=PPOSettings(envs=16))
        first = [Order(member, 0, {}, steps=2048, seed=member) for member in range(4)]
        begun, _ = made.train(made.init(first), first, fetch=lambda ref: None, progress=silently)
        known = {order.ref: state for order, state in zip(first, begun, strict=True)}

        def turn(number: int) -> tuple[float, float]:
            lineups = () if game is None else rivals
            orders = [Order(m, number, {}, steps=steps, seed=2 * number + m, opponents=lineups) for m in range(2)]
            started, cpu = time.perf_counter(), time.process_time()
            made.train(begun[:2], orders, fetch=known.__getitem__, progress=silently)
            return time.perf_counter() - started, time.process_time() - cpu

        return turn

    alone, played = turns(None), turns(GameSpec(tables=4, matches=0))
    ratios = []
    for number in range(repeats + 1):
        rule, others = alone(number), played(number)
        if number:  # the first ones compile
            ratios.append(others[1] / rule[1])
            text = f"self-play {others[0]:.2f} s ({others[1]:.2f} s of CPU), built-in rule {rule[0]:.2f} s ({rule[1]:.2f} s)"
            print(f"{text}: {ratios[-1]:.2f} times the CPU (load {os.getloadavg()[0]:.1f})", flush=True)
    print(f"median of {repeats}: {median(ratios):.2f} times")


def own_rate(options: dict[str, Any]) -> dict[str, float]:
    """Own moves per second of two members that learn Connect Four, against themselves and each other, after the first turn."""
    from evolute.core.order import Order, Ref
    from evolute.core.protocols import silently
    from evolute.envs.spec import EnvSpec, GameSpec
    from evolute.learners.ppo import ppo
    from evolute.learners.ppo.settings import PPOSettings

    game = GameSpec(tables=4, matches=0)  # peers only train, so neither do we play matches
    made: Any = ppo(env=EnvSpec(options["env"], game=game), settings=PPOSettings(**CONNECT_FOUR))
    first = [Order(member, 0, {}, steps=options["steps"], seed=member) for member in range(2)]
    states, _ = made.train(made.init(first), first, fetch=lambda ref: None, progress=silently)
    known = {order.ref: state for order, state in zip(first, states, strict=True)}
    steps, started, cpu, turn = 0, time.perf_counter(), time.process_time(), 0
    while time.process_time() - cpu < options["seconds"]:
        turn += 1
        lineups = (((None,), (None,), (Ref(1, 0),), (Ref(0, 0),)),) * 2
        orders = [Order(m, turn, {}, steps=options["steps"], seed=2 * turn + m, opponents=lineups[m]) for m in range(2)]
        states, outcomes = made.train(states, orders, fetch=known.__getitem__, progress=silently)
        steps += sum(outcome.steps for outcome in outcomes)
    elapsed, worked = time.perf_counter() - started, time.process_time() - cpu
    return {"steps_per_second": steps / elapsed, "steps_per_cpu_second": steps / worked}


def peers(repeats: int, seconds: float, pythons: dict[str, str]) -> None:
    """Own moves per second of processor time in Connect Four by self-play: ours in JAX and on the host, and peers', in turn."""

    def ours(env: str, steps: int) -> list[str]:
        return [sys.executable, __file__, "measure", json.dumps({"env": env, "steps": steps, "seconds": seconds})]

    commands = {
        "ours, pgx": ours("pgx:connect_four", 32768),
        "ours, PettingZoo": ours("pettingzoo:classic.connect_four_v3", 2048),
    }
    for name in PEERS:
        python = pythons.get(name) or python_of(name)
        commands[name] = [python, program_of(name), "--seconds", str(seconds)]
    rates: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            rates[name].append(answer(command)["steps_per_cpu_second"])
            print(f"{name}: {rates[name][-1]:,.0f} own moves per CPU second (load {os.getloadavg()[0]:.1f})", flush=True)
    print("| | own moves per CPU second | ours, pgx, is faster by |\n|---|---|---|")
    for name, each in rates.items():
        ratio = median(mine / theirs for mine, theirs in zip(rates["ours, pgx"], each, strict=True))
        print(f"| {name} | {median(each):,.0f} | {ratio:.1f} |")


KEPT = {"connect-four": connect_four, "deceptive": deceptive, "soccer": soccer}
"""What can keep its runs."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rps", "pong", "connect-four", "deceptive", "soccer", "speed", "peers", "measure"])
    parser.add_argument("options", nargs="?", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--runs", type=Path, help=f"where {', '.join(KEPT)} keep their runs; a temporary folder by default")
    parser.add_argument("--turns", type=int, help="turns of each member in those, for a quick look")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0, help="processor time of each measurement of `peers`, at least")
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PATH", help="a Python that has a peer installed")
    asked = parser.parse_args()
    started = time.perf_counter()
    if asked.what == "measure":
        print(json.dumps(own_rate(asked.options)))
        return
    if asked.what == "speed":
        speed(asked.repeats)
    elif asked.what in KEPT:
        with tempfile.TemporaryDirectory() as folder:
            KEPT[asked.what](asked.seeds, asked.runs or Path(folder), asked.turns)
    elif asked.what == "peers":
        peers(asked.repeats, asked.seconds, dict(pair.split("=", 1) for pair in asked.python))
    else:
        {"rps": rps, "pong": pong}[asked.what](asked.seeds)
    print(f"took {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
