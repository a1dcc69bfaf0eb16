"""The program `evolute` as pages call it in tests: the same, but runs in environments are short, and the dashboard ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

SHORT = ("population=2", "interval=2k", "stop.steps=4k")
"""For whatever trains in an environment; all else is quick as it is."""
PRESETS = (
    "bgpbt-cartpole",
    "cartpole",
    "cartpole-dqn",
    "cartpole-impala",
    "cartpole-sb3",
    "halfcheetah-sac",
    "minatar-dqn",
    "pendulum-actors",
    "pendulum-sac",
    "pong-diverse",
    "pong-selfplay",
    "procgen-small",
    "rps",
    "soccer-2v2",
)
REPLAY = ("interval=100", "stop.steps=200")
SHORTER = {
    "sb3:SAC": ("interval=200", "stop.steps=400"),
    "procgen": ("ppo.envs=8", "ppo.unroll=32", "ppo.test_episodes=4"),
    "learner=sac": REPLAY,
    "learner=td3": REPLAY,
    "learner=dqn": REPLAY,
    "pong-diverse": ("interval=32k", "stop.steps=32k", "evaluation.members=0"),  # some games must end
    "pursuit:": (*REPLAY, "evaluation.members=0"),  # its clock is the wall's
    "connect:": REPLAY,
    "actors.": ("interval=512", "stop.steps=1k"),
    "-sac": REPLAY,
    "-dqn": REPLAY,
}


def shortened(words: list[str]) -> list[str]:
    """A command's words, with what makes it short behind them."""
    trains = words and words[0] == "run" and "--dry-run" not in words
    if not trains or not any(word in PRESETS or word.startswith("env=") for word in words):
        return words
    extra = [setting for mark, settings in SHORTER.items() if any(mark in word for word in words) for setting in settings]
    return [*words, "-m", *SHORT, *extra]


def visited(words: list[str]) -> None:
    """Start the dashboard on a free port, load its page, and stop it."""
    command = [sys.executable, "-m", "evolute", *words, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}) as served:
        assert served.stdout is not None
        address = next(word for line in served.stdout for word in line.split() if word.startswith("http://"))
        try:
            for attempt in range(50):
                try:
                    urllib.request.urlopen(address, timeout=30)
                    break
                except urllib.error.URLError:
                    if attempt == 49:
                        raise
                    time.sleep(0.2)
        finally:
            served.kill()


if __name__ == "__main__":
    from evolute.cli.main import main

    if sys.argv[1:2] == ["dashboard"]:
        visited(sys.argv[1:])
    else:
        main(shortened(sys.argv[1:]))
