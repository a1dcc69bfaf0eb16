"""A learner that is a program of its own: it reads a JSON order and writes metrics and a checkpoint folder.

`examples/own_script/train.py` imports nothing of Evolute, and could be in any language. Here it is a bandit that learns
which of ten levers to pull.

    python examples/own_script.py
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

import evolute

PROGRAM = Path(__file__).with_name("own_script") / "train.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--runs", default="runs", help="the folder for the run folder")
    options = parser.parse_args()

    run = evolute.run(
        "script",
        script={"command": shlex.join([sys.executable, str(PROGRAM)]), "timeout": "1m", "repeatable": True},
        space={"step_size": "log[1e-3, 1]", "temperature": "log[1e-2, 10]"},
        population=4,
        interval=200,
        stop={"turns": options.turns},
        runs=options.runs,
    )
    best = run.best
    print(f"best: member {best.member}, mean reward {best.score:.3f} of at most 1, hyper-parameters {dict(best.hparams)}")
    print(f"its checkpoint: {best.state['values.json'].decode()}")


if __name__ == "__main__":
    main()
