"""What generations, their teachers and their model of architectures are worth. Prints the tables of docs/strategies.md.

    python benchmarks/generations.py architectures           # does the model find a planted architecture?
    python benchmarks/generations.py ceilings                # BG-PBT with and without generations, teacher and model
    python benchmarks/generations.py ceilings --first 100    # on other seeds
    python benchmarks/generations.py distill --seeds 20      # students of PPO on CartPole, with a teacher and without

Differences are paired by seed, with bootstrap intervals and p-values of a sign-flip test, not corrected.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from strategies import compared

KNOWN, NOISE = 24, 0.1
"""How many of the 120 architectures have been tried, and the noise of their scores."""
VARIANTS: dict[str, dict[str, Any]] = {
    "no generations": {"generations": 0},
    "generations": {"generations": 2},
    "generations, architectures at random": {"generations": 2, "architectures_by": "random"},
    "generations, no teacher": {"generations": 2, "teacher": False},
}
STUDENTS: dict[str, dict[str, Any]] = {
    "32, 32 tanh": {"widths": (32, 32)},
    "128 tanh": {"widths": (128,)},
    "64, 64, 64 relu": {"widths": (64, 64, 64), "activation": "relu"},
}
TEACHER_STEPS, STUDENT_STEPS = 100_000, 4_096
LESSON = (1.0, 0.9)
"""How much the teacher counts at the start and the end of a student's only turn: the first of twelve that it is taught."""
Values = Mapping[str, Sequence[float]]


def architectures(seed: int) -> dict[str, float]:
    """How good the best of four proposals is, from 0 to 1 for the planted one: by the model, at random, on shuffled scores."""
    from evolute.config.layers import preset
    from evolute.config.resolve import resolved
    from evolute.core.space import Space
    from evolute.learners import ceilings
    from evolute.strategies.bayes.architectures import Tried, proposed_architectures

    space = resolved(preset("ceilings")).space
    names = ("width", "depth", "activation", "norm")
    values = (ceilings.WIDTHS, ceilings.DEPTHS, ceilings.ACTIVATIONS, ceilings.NORMS)
    everything = [dict(zip(names, one, strict=True)) for one in itertools.product(*values)]

    def worth(one: dict[str, Any]) -> float:
        return (ceilings.ceiling({**one, "problem": seed}) - 0.4) / 0.6  # type: ignore[typeddict-item]

    rng = np.random.default_rng([seed, 7])
    known = [everything[place] for place in rng.choice(len(everything), KNOWN, replace=False)]
    scores = np.array([worth(one) for one in known]) + rng.normal(0, NOISE, KNOWN)
    shuffled = rng.permutation(scores)
    searched = Space({name: space[name] for name in names})

    def best_of_four(observed: np.ndarray[Any, Any]) -> float:
        tried = [Tried(0, *row) for row in zip(known, observed.tolist(), strict=True)]
        made = proposed_architectures(searched, tried, 8, np.random.default_rng([seed, 8]))
        return max(worth(one.architecture) for one in made if one.by == "model")

    drawn = [everything[place] for place in rng.choice(len(everything), 4, replace=False)]
    return {
        "at random": max(map(worth, drawn)),
        "model": best_of_four(scores),
        "model, scores shuffled": best_of_four(shuffled),
    }


def ceilings(seed: int) -> dict[str, float]:
    """The noise-free skill of the best member of a run of each variant, on a problem of its own for each seed."""
    return {name: _ceilings(seed, settings) for name, settings in VARIANTS.items()}


def _ceilings(seed: int, settings: Mapping[str, Any]) -> float:
    from evolute.config.layers import preset, python, stack
    from evolute.config.resolve import resolved
    from evolute.core.population import best
    from evolute.engines.inline import inline
    from evolute.runs.assemble import assembled
    from evolute.testing.memory import rehearse

    given = {"bg_pbt": dict(settings), "ceilings": {"problem": seed}, "seed": seed}
    parts = assembled(resolved(stack([preset("ceilings"), python(given)])), {})
    fixed = parts.config.learner.settings

    def engine(worker: Any) -> Any:
        return inline(replace(worker, fixed=fixed), None)

    done = rehearse(parts.learner, parts.strategy, parts.plan, engine, turns=parts.plan.turns or 1, seed=seed)
    top = best(done.population)
    assert top is not None
    return float(top.report.metrics["true"])  # type: ignore[arg-type]


def distill(seed: int) -> dict[str, float]:
    """The mean return of students after 4,096 steps on CartPole, as a share of their teacher's, with it and without."""
    from evolute.core.order import Order, Ref
    from evolute.core.protocols import silently

    learner = _ppo()

    def trained(order: Order, **states: Any) -> tuple[Any, float]:
        (state,), _ = learner.train(learner.init([order]), [order], fetch=lambda ref: states["teacher"], progress=silently)
        episodes = {"seed": seed, "episodes": 100, "greedy": True, "progress": silently}
        return state, float(np.mean(learner.play(learner.dump(state), order.hparams, **episodes)))

    teacher, best = trained(Order(0, 0, {"lr": 1e-3}, steps=TEACHER_STEPS, seed=seed))
    found = {"teacher": best}
    for number, (name, architecture) in enumerate(STUDENTS.items()):
        hparams = {**architecture, "lr": 3e-3, "epochs": 10}
        scratch = Order(1, 0, hparams, steps=STUDENT_STEPS, seed=1000 * (number + 1) + seed)
        student = replace(scratch, teacher=Ref(0, 0), teacher_weight=LESSON)
        found[f"{name}, taught"] = trained(student, teacher=teacher)[1] / best
        found[f"{name}, scratch"] = trained(scratch)[1] / best
    return found


@cache
def _ppo() -> Any:
    """PPO on CartPole; a process compiles each of its programs once."""
    from evolute.envs.spec import EnvSpec
    from evolute.learners.ppo import ppo
    from evolute.learners.ppo.settings import PPOSettings

    return ppo(env=EnvSpec("cartpole"), settings=PPOSettings(teacher_lr=3e-3, teacher_epochs=10, devices=1))


@dataclass(frozen=True)
class Measure:
    """What is done for each seed, and which variants are compared."""

    run: Callable[[int], dict[str, float]]
    pairs: tuple[tuple[str, str], ...]


MEASURES = {
    "architectures": Measure(architectures, (("model", "at random"), ("model, scores shuffled", "at random"))),
    "ceilings": Measure(
        ceilings,
        (
            ("generations", "no generations"),
            ("generations", "generations, no teacher"),
            ("generations", "generations, architectures at random"),
        ),
    ),
    "distill": Measure(distill, tuple((f"{name}, taught", f"{name}, scratch") for name in STUDENTS)),
}


def print_tables(found: Sequence[Mapping[str, float]], pairs: Sequence[tuple[str, str]]) -> None:
    """The mean of each variant, and the paired differences."""
    print("| variant | seeds | mean ± s.e. |\n|---|---|---|")
    columns = {name: np.array([row[name] for row in found]) for name in found[0]}
    for name, values in columns.items():
        print(f"| {name} | {len(values)} | {values.mean():.3f} ± {values.std(ddof=1) / len(values) ** 0.5:.3f} |")
    print("\n| difference | mean [95 %] | p | higher in |\n|---|---|---|---|")
    for one, other in pairs:
        apart = columns[one] - columns[other]
        line = compared(apart)
        interval = f"{line['difference']:+.3f} [{line['low']:+.3f}, {line['high']:+.3f}]"
        print(f"| {one} - {other} | {interval} | {line['p']:.2g} | {np.mean(apart > 0):.0%} of seeds |")


def measure(name: str, asked: argparse.Namespace) -> None:
    """One of the measures, seed by seed, in several processes."""
    seeds = range(asked.first, asked.first + asked.seeds)
    with ProcessPoolExecutor(asked.jobs) as pool:
        found = list(pool.map(MEASURES[name].run, seeds))
    print_tables(found, MEASURES[name].pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="MEASURE")
    for name, one in MEASURES.items():
        command = commands.add_parser(name, help=(one.run.__doc__ or "").splitlines()[0])
        command.add_argument("--seeds", type=int, default=30, help="how many")
        command.add_argument("--first", type=int, default=0, help="the first of them")
        command.add_argument("--jobs", type=int, default=2, help="processes")
        command.set_defaults(run=partial(measure, name))
    asked = parser.parse_args()
    asked.run(asked)


if __name__ == "__main__":
    main()
