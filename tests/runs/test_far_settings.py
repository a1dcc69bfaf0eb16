"""Actors on other machines as a config asks for them: what is said, and what is refused before anything starts."""

from __future__ import annotations

import importlib.util
import io

import pytest

from evolute.cli.dry_run import print_dry_run
from evolute.config.error import ConfigError
from evolute.config.layers import override, stack
from evolute.config.resolve import resolved
from evolute.runs.assemble import assembled

PPO = ["learner=ppo", "env=gym:CartPole-v1", "ppo.pace=free", "actors.count=2", "ppo.lr=log[1e-4,1e-2]"]


def config(*words):
    return resolved(stack(map(override, [*PPO, *words])))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["actors.where=ray"], "2 actors of Ray, on a runtime that is started here"),
        (["actors.where=ray", "actors.address=auto"], "2 actors of Ray, on the cluster at auto"),
        (["actors.where=ray", "engine=ray"], "2 actors of Ray for each worker, on the cluster that trains"),
        (["actors.where=ranks", "engine=mpi"], "2 actors for each rank that trains: the last ranks of the job"),
        (["actors.where=processes"], None),
    ],
)
def test_a_dry_run_says_where_actors_are(words, said):
    out = io.StringIO()
    print_dry_run(config(*words), None, None, out)
    lines = [line for line in out.getvalue().splitlines() if line.startswith("actors:")]
    assert lines == ([] if said is None else [f"actors:    {said}"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["actors.where=ranks"], r"actors.where = ranks \(-m\): the ranks are those of engine=mpi, and the engine is inline"),
        (["actors.where=ranks", "engine=mpi", "limit=10"], "limit = 10 trains in a process that is no rank"),
        (["actors.where=ray", "engine=processes"], "would start a Ray runtime of its own: say by actors.address"),
        (["actors.where=ray", "ppo.pace=auto"], "actors.where=ray: these actors wait for no update, so set ppo.pace=free"),
        (["actors.where=ray", "env=cartpole"], "actors.where=ray: this environment is part of the compiled program"),
        (["actors.where=ray", "env=pong", "opponents=history"], "all seats move together, so actors have nothing to do"),
        (["actors.where=ray", "learner=sac", "env=Pendulum-v1"], "the learner sac steps its environments itself; ppo, a2c"),
    ],
)
def test_actors_that_cannot_be_there_are_refused_before_anything_starts(words, said):
    made = resolved(stack(map(override, ["actors.count=2", *words]))) if "learner=sac" in words else config(*words)
    with pytest.raises(ConfigError, match=said):
        assembled(made, {})


def test_without_ray_a_sentence_says_what_to_install(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "ray" else find(name))
    with pytest.raises(ConfigError, match=r"actors.where = ray \(-m\): Ray is not installed: pip install 'evolute\[ray\]'"):
        assembled(config("actors.where=ray"), {})
    assembled(config("actors.where=ray"), {}, to_train=False)


def test_where_actors_are_makes_no_other_run():
    assert config("actors.where=ray", "actors.address=auto").identity == config().identity
