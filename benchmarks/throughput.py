"""How fast a population trains: PPO with two 64x64 networks on CartPole, 16 members, against what people use today.

What is compared is measured in turn, `--repeats` times, and the median of the ratios counts.
Evolute's figures are of the whole product: `evolute.run` with journal, checkpoints, fitness and PBT, from the end of its
first turn (which compiles) to the end of its last. Peers train in environments of their own under benchmarks/.venvs, which
this script makes when they are missing; they are given the settings in which they were found fastest.

    python benchmarks/throughput.py                       # everything; about three quarters of an hour
    python benchmarks/throughput.py matched default       # some parts
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from peer import answer, program_of, python_of
from sac_throughput import MEMBERS, buffers, replay, work

HERE = Path(__file__).parent
MATCHED = {"envs": 8, "unroll": 128, "epochs": 4, "minibatches": 4}
DEFAULT = {"envs": 1, "unroll": 2048, "epochs": 10, "minibatches": 32}
INTERVAL = 8192
SPACE = {"lr": "log[1e-5, 1e-2]", "entropy": "log[1e-4, 1e-1]", "discount": "1-log[0.9, 0.999]", "clip": "[0.05, 0.4]"}


def plain_cartpole() -> Any:
    """Gymnasium's CartPole as any user's environment: single copies, stepped one by one."""
    import gymnasium

    return gymnasium.make("CartPole-v1")


def product(options: dict[str, Any]) -> dict[str, float]:
    """Environment steps per second of a whole run after its first turn, and what share of the machine it worked."""
    import evolute

    settings = {**MATCHED, **options.get("ppo", {})}
    population, turns = options.get("population", 16), options["turns"]
    with tempfile.TemporaryDirectory() as folder:
        started, worked = time.perf_counter(), time.process_time()
        run = evolute.run(
            "ppo",
            env=options.get("env", "CartPole-v1"),
            population=population,
            interval=INTERVAL,
            stop={"turns": turns},
            folder=Path(folder) / "run",
            display="none",
            ppo={**SPACE, **settings},
        )
        busy = (time.process_time() - worked) / (time.perf_counter() - started) / (os.cpu_count() or 1)
        first = run.member(0).lineage[0].report.seconds
    return {"steps_per_second": population * (turns - 1) * INTERVAL / (run.elapsed - first), "cpu_share": busy}


def bare(options: dict[str, Any]) -> dict[str, float]:
    """The same updates in the compiled program alone: nothing but its own loop."""
    import jax
    import numpy as np

    from evolute.core.order import Order
    from evolute.core.protocols import silently
    from evolute.envs.spec import EnvSpec
    from evolute.learners.kit import jax_envs
    from evolute.learners.kit.layout import layout
    from evolute.learners.kit.stacking import key_data, stacked
    from evolute.learners.ppo import jax_turn, ppo, turn_stats
    from evolute.learners.ppo.learner import traced
    from evolute.learners.ppo.settings import PPOSettings

    made: Any = ppo(env=EnvSpec("cartpole"), settings=PPOSettings(**{**MATCHED, **options.get("ppo", {})}))
    population = options.get("population", 16)
    full = made._full({})
    spec = made._spec(full)
    copies = jax_envs.Copies(made.runner.env, spec.envs)
    blank, stats = jax_envs.blank(copies, spec.network.units), turn_stats.blank(100)
    states = made.init([Order(m, 0, {}, steps=1, seed=m) for m in range(population)])
    places = layout(population)
    rows = places.spread(stacked([jax_turn.Row(state.train, blank, stats) for state in states]))
    given = [jax_turn.Inputs(key_data(m), np.array(traced(full)), np.int32(1), np.int32(10**6)) for m in range(population)]
    inputs = places.spread(stacked(given))
    each = max(1, INTERVAL // spec.batch)

    def advance(rows: Any, number: int) -> Any:
        chunk = jax_turn.Chunk(np.int32(number * each), np.int32(each))
        from functools import partial

        function = partial(jax_turn.updates, spec, lambda player, opponents: copies)
        return made.runner.programs.call(("turn", spec), function, places, rows, inputs, chunk, silently)

    rows = jax.block_until_ready(advance(rows, 0))
    started = time.perf_counter()
    for turn in range(1, options["turns"]):
        rows = jax.block_until_ready(advance(rows, turn))
    steps = population * (options["turns"] - 1) * each * spec.batch
    return {"steps_per_second": steps / (time.perf_counter() - started), "cpu_share": 1.0}


def ours(kind: str, **options: Any) -> Callable[[], float]:
    """A run of ours in a process of its own."""
    command = [sys.executable, __file__, "--measure", kind, json.dumps({"turns": 24, **options})]
    return lambda: float(answer(command)["steps_per_second"])


def peer(name: str, **options: Any) -> Callable[[], float]:
    """A run of a peer in its own virtual environment."""
    flags = [text for key, value in options.items() for text in (f"--{key}", str(value))]
    command = [python_of(name), program_of(name), *flags]

    def measure() -> float:
        found = answer(command)
        if found.get("cpu_share", 1) < 0.9:
            print(f"  warning: {name} was disturbed: it had {found['cpu_share']:.0%} of its cores")
        return float(found["steps_per_second"])

    return measure


def in_turn(repeats: int, *measures: Callable[[], float]) -> list[list[float]]:
    """The figures of each, measured one after another, and all over again."""
    rounds = [[measure() for measure in measures] for _ in range(repeats)]
    return [list(figures) for figures in zip(*rounds, strict=True)]


def say(text: str, figures: list[float], *others: tuple[str, list[float]]) -> None:
    """The median of some figures, and of their ratios to others."""
    ratios = "".join(f"   {_ratio(figures, other):6.2f}x {name} ({median(other):,.0f})" for name, other in others)
    print(f"{text:48} {median(figures):10,.0f} steps/s{ratios}", flush=True)


def _ratio(figures: list[float], others: list[float]) -> float:
    return median(figure / other for figure, other in zip(figures, others, strict=True))


def matched(repeats: int) -> None:
    sb3 = peer("sb3_cartpole", **MATCHED, processes=2, seconds=15)
    agile, ray = peer("agilerl_cartpole", seconds=15), peer("ray_tune_sb3", seconds=60)
    one, two, three, figures = in_turn(repeats, sb3, agile, ray, ours("product"))
    say("8 envs x 128, 4 epochs, 4 minibatches", figures, ("two SB3", one), ("AgileRL", two), ("Ray Tune with SB3", three))


def default(repeats: int) -> None:
    """Two processes of SB3, with one thread each, which is best for it, and with as many as PyTorch takes by itself."""
    best = peer("sb3_cartpole", **DEFAULT, processes=2, seconds=15)
    usual = peer("sb3_cartpole", **DEFAULT, processes=2, seconds=15, threads=0)
    one, two, figures = in_turn(repeats, best, usual, ours("product", ppo=DEFAULT, turns=8))
    say(
        "SB3's defaults: 1 env x 2048, 10 epochs, 32", figures, ("two SB3, one thread each", one), ("two SB3 as they come", two)
    )


def against_bare(repeats: int) -> None:
    whole, loop = in_turn(repeats, ours("product"), ours("bare"))
    say("the whole product", whole, ("of its bare compiled loop", loop))


def host(repeats: int) -> None:
    sb3 = peer("sb3_cartpole", **MATCHED, processes=2, seconds=15)
    envs = {
        "envpool": "envpool:CartPole-v1",
        "Gymnasium, vectorised": "gym:CartPole-v1",
        "Gymnasium, single envs": "benchmarks.throughput:plain_cartpole",
    }
    peers, *found = in_turn(repeats, sb3, *(ours("product", env=env, turns=8) for env in envs.values()))
    for text, figures in zip(envs, found, strict=True):
        say(f"host environments: {text}", figures, ("two SB3", peers))


def sizes(repeats: int) -> None:
    sizes = (2, 4, 8, 16, 64, 256)
    found = in_turn(repeats, *(ours("product", population=size, turns=max(6, 384 // size)) for size in sizes))
    best = max(found, key=median)
    for size, figures in zip(sizes, found, strict=True):
        say(f"population {size}", figures, ("of the best", best))


def widths(repeats: int) -> None:
    """Against the arithmetic: multiply-adds of policy and value network, relative to width 64."""
    work = {width: 2 * (4 * width + width * width) + 3 * width for width in (64, 128, 256)}
    found = in_turn(repeats, *(ours("product", ppo={"widths": [width, width]}, turns=8) for width in work))
    for width, figures in zip(work, found, strict=True):
        share = _ratio(figures, found[0]) * work[width] / work[64]
        print(f"widths {width:3}: {median(figures):10,.0f} steps/s, {share:.2f} of the arithmetic per second of width 64")


def peak(repeats: int) -> None:
    """What share of the machine's arithmetic the product reaches, and what its matrix products alone would allow."""
    figure, large, small = (median(found) for found in in_turn(repeats, ours("product"), ours("large"), ours("small")))
    print(f"one large matrix product on all cores: {large / 1e9:.0f} GFLOP/s; those of a minibatch: {small / 1e9:.0f} GFLOP/s")
    print(f"the product makes {figure * _work() / 1e9:.0f} GFLOP/s, {figure * _work() / large:.0%} of the first and ", end="")
    print(f"{figure * _work() / small:.0%} of the second, which alone would allow {small / _work():,.0f} steps/s")


def _work(width: int = 64) -> int:
    """Operations per environment step: both networks forwards when acting, and three times as much in every epoch."""
    forwards = 2 * (2 * (4 * width + width * width) + 3 * width)
    return forwards * (1 + 3 * MATCHED["epochs"])


def large(options: dict[str, Any]) -> dict[str, float]:
    """Operations per second of one large product of float32 on each core at once."""
    return _products([((1024, 1024), (1024, 1024))], 2)


def small(options: dict[str, Any]) -> dict[str, float]:
    """The same of a minibatch's products, forwards and backwards, of one network."""
    rows = MATCHED["envs"] * MATCHED["unroll"] // MATCHED["minibatches"]
    wide, deep = ((64, 4), (4, rows)), ((64, 64), (64, rows))
    return _products([wide, deep, deep, ((64, rows), (rows, 64)), ((64, rows), (rows, 4))], 2000)


def _products(shapes: list[Any], times: int) -> dict[str, float]:
    from concurrent.futures import ProcessPoolExecutor

    cores = os.cpu_count() or 1
    with ProcessPoolExecutor(cores) as pool:
        return {"steps_per_second": sum(pool.map(_multiplied, [shapes] * cores, [times] * cores))}


def _multiplied(shapes: list[Any], times: int) -> float:
    """The best rate of ten tries, in one process."""
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    import numpy as np

    pairs = [[np.random.default_rng(0).normal(size=size).astype(np.float32) for size in pair] for pair in shapes]
    found = []
    for _ in range(10):
        started = time.perf_counter()
        for _ in range(times):
            for one, other in pairs:
                one @ other
        found.append(time.perf_counter() - started)
    return times * sum(2 * one[0] * one[1] * other[1] for one, other in shapes) / min(found)


def offpolicy(repeats: int) -> None:
    """SAC with one update for each step: updates a second of 8 members, and of peers in as many processes as there are cores;
    updates alone against the machine's arithmetic; and what replay buffers cost of a turn of 20,000 steps."""
    interval, rates = 20_000, {}
    for text, (env, peers_env, width, batch, steps) in {
        "Pendulum": ("gymnax:Pendulum-v1", "Pendulum-v1", 64, 64, 2000),
        "HalfCheetah": ("HalfCheetah-v5", "HalfCheetah-v5", 256, 256, 250),
    }.items():
        sizes = {"env": peers_env, "width": width, "batch": batch, "processes": os.cpu_count() or 1, "seconds": 30}
        mine = ours("replay", env=env, interval=steps, sac={"widths": [width, width], "batch": batch}, turns=6)
        sb3, sbx, figures = in_turn(repeats, peer("sb3_sac", **sizes), peer("sbx_sac", **sizes), mine)
        say(f"SAC on {text}, {width}x{width}, batches of {batch}", figures, ("SB3", sb3), ("SBX", sbx))
        rates[text] = median(figures)
    settings = {"widths": [256, 256], "batch": 256, "ratio": 8}
    alone = ours("replay", env="gymnax:Pendulum-v1", interval=40, sac=settings, turns=9, warm=3)
    updates, large = (median(found) for found in in_turn(repeats, alone, ours("large")))
    share = updates * work("Pendulum", 256, 256) / large
    print(
        f"SAC, updates alone, 256x256, batches of 256: {updates:.0f} a second, {share:.0%} of the arithmetic of large products"
    )
    options = {"rows": 200_000, "interval": interval, "turns": 3 * repeats}
    seconds = answer([sys.executable, __file__, "--measure", "buffers", json.dumps(options)])["seconds"]
    turn = MEMBERS * interval / rates["HalfCheetah"]
    print(f"replay buffers of 8 x 200,000 rows: {seconds:.2f} s of a turn of {turn:.0f} s, {seconds / turn:.2%}", flush=True)


def ahead(repeats: int) -> None:
    """SAC whose environments on the host are stepped while members learn, against one after the other."""
    for text, env, width, steps in (
        ("HalfCheetah, 64x64, batches of 64", "HalfCheetah-v5", 64, 1000),
        ("Pendulum that waits 1 ms, 256x256, batches of 256", "sac_throughput:waiting", 256, 250),
    ):
        settings = {"widths": [width, width], "batch": width}
        both = [ours("replay", env=env, interval=steps, sac={**settings, "ahead": value}, turns=6) for value in (0, 1)]
        one, figures = in_turn(repeats, *both)
        say(f"SAC, ahead, {text}", figures, ("one after the other", one))


def compiling(repeats: int) -> None:
    """How long the first turn of the demo takes longer than its second, without and with a warm cache."""
    code = (
        "import evolute, sys; r = evolute.run(preset='cartpole', steps=24576, folder=sys.argv[1], display='none');"
        "t = [x.report.seconds for x in r.member(0).lineage]; print(t[0] - t[2])"
    )
    for name in ("cold", "warm"):
        found = []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as folder:
                cache = {**os.environ, "XDG_CACHE_HOME": str(Path(folder) / "cache")}
                for place in range(2 if name == "warm" else 1):
                    command = [sys.executable, "-c", code, str(Path(folder) / f"run{place}")]
                    done = subprocess.run(command, check=True, capture_output=True, text=True, env=cache)
                found.append(float(done.stdout.split()[-1]))
        print(f"compile time of the demo, {name} cache: {min(found):.1f} s", flush=True)


def inheritance(repeats: int) -> None:
    """What it costs to gather the rows of a turn from others' states and to spread them, against the turn."""
    found = answer([sys.executable, __file__, "--measure", "gather", json.dumps({"turns": 10 * repeats})])
    print(f"inheritance: {found['gather'] * 1e3:.2f} ms, {found['gather'] / found['turn']:.2%} of a turn of 8,192 steps")


def gather(options: dict[str, Any]) -> dict[str, float]:
    """Time to assemble a cohort whose rows all come from other members, and time of a turn."""
    from evolute.core.order import Order, Ref
    from evolute.core.worker import Worker
    from evolute.envs.spec import EnvSpec
    from evolute.learners.kit.layout import layout
    from evolute.learners.kit.stacking import stacked
    from evolute.learners.ppo import ppo
    from evolute.learners.ppo.settings import PPOSettings
    from evolute.testing.memory import MemoryStates

    made: Any = ppo(env=EnvSpec("cartpole"), settings=PPOSettings(**MATCHED))
    worker = Worker(made, MemoryStates())
    worker.train([Order(m, 0, {}, steps=INTERVAL, seed=m) for m in range(16)])
    orders = [Order(m, 1, {}, start=Ref((m + 5) % 16, 0), steps=INTERVAL, seed=m) for m in range(16)]
    started = time.perf_counter()
    worker.train(orders)
    turn = time.perf_counter() - started
    found = []
    for _ in range(options["turns"]):
        started = time.perf_counter()
        cohort = worker._starts(orders)
        layout(16).spread(stacked([(state.train, state.envs) for state in cohort]))
        found.append(time.perf_counter() - started)
    return {"gather": sorted(found)[len(found) // 2], "turn": turn}


PARTS: dict[str, Callable[[int], None]] = {
    "matched": matched,
    "default": default,
    "bare": against_bare,
    "host": host,
    "sizes": sizes,
    "widths": widths,
    "peak": peak,
    "offpolicy": offpolicy,
    "ahead": ahead,
    "compile": compiling,
    "inheritance": inheritance,
}
MEASURES = {
    "product": product,
    "bare": bare,
    "replay": replay,
    "buffers": buffers,
    "gather": gather,
    "large": large,
    "small": small,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sys.path.insert(0, str(HERE.parent))
    if asked.measure:
        print(json.dumps(MEASURES[asked.measure[0]](json.loads(asked.measure[1]))))
        return
    for part in asked.parts or PARTS:
        PARTS[part](asked.repeats)


if __name__ == "__main__":
    main()
