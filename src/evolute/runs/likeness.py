"""Whether states can be taken up, or taught by, in a run: asked before anything trains.

Policies of our own learners describe themselves in their states; of other learners' states nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evolute.config.resolve import Config
from evolute.core.order import Hparams, Order
from evolute.core.param import corners
from evolute.core.protocols import Learner
from evolute.core.rng import stream
from evolute.core.tree import Tree
from evolute.learners.kit.likeness import Description, check_spaces, check_teacher


def check_start(learner: Learner[Any], hparams: Hparams, tree: Tree) -> None:
    """Raise ValueError if a member with these hyper-parameters cannot train a state on."""
    theirs, ours = described(tree), fresh_description(learner, hparams)
    if theirs is not None and ours is not None:
        check_spaces(theirs, ours, ("that member", "a member of this run"))


def check_teachers(learner: Learner[Any], hparams: Hparams, trees: Sequence[Tree]) -> None:
    """Raise ValueError if a member with these hyper-parameters cannot be taught by one of these states."""
    ours = fresh_description(learner, hparams)
    for theirs in map(described, trees):
        if theirs is not None and ours is not None:
            check_teacher(theirs, ours)


def check_teaching(learner: Learner[Any], config: Config, *, alike: bool) -> None:
    """Raise ValueError, naming the range, if members may be drawn of whom one cannot teach another.

    Where students have their teacher's architecture they are `alike`.
    """
    space = config.space
    example = space.sample(stream(config.settings.seed, "examples"))
    teacher = fresh_description(learner, example)
    if teacher is None:
        return
    for name in (name for name in space if name in learner.architecture):
        for value in corners(space[name]):
            student = fresh_description(learner, {**example, name: value})
            assert student is not None
            try:
                check_teacher(student if alike else teacher, student)
            except ValueError as error:
                raise ValueError(f"{config.learner.name}.{name}={space[name]}: {error}") from error


def untaught(config: Config) -> str:
    """Why the learner takes no teacher."""
    name, memory = config.learner.name, config.learner.settings.get("memory")
    if config.learner.target == "ppo" and memory:
        return f"networks with memory cannot be taught, and ppo.memory={memory}: set ppo.memory=0"
    return (
        f"the learner {name} takes no teacher: ppo, sac, td3 and dqn do, and a training function or class does by a parameter "
        "`teacher`"
    )


def fresh_description(learner: Learner[Any], hparams: Hparams) -> Description | None:
    """What the policy of a fresh member is made of."""
    return described(learner.dump(learner.init([Order(0, 0, hparams)])[0]))


def described(tree: Tree) -> Description | None:
    """What the policy in a state is made of, if the state tells."""
    about = tree.get("about") if isinstance(tree, Mapping) else None
    return about if isinstance(about, Mapping) and {"network", "actions"} <= about.keys() else None
