"""The settings of SAC, TD3 and DQN: what each means, its limits, and how a range over it is evolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, MinLen, doc
from pydantic import BeforeValidator

from evolute.core.amounts import count
from evolute.core.param import Evolves

Natural = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]
Share = Annotated[float, Ge(0), Le(1)]
Number = Annotated[int, Gt(0)]
Steps = Annotated[int, BeforeValidator(count), Ge(0)]
Rows = Annotated[int, BeforeValidator(count), Gt(0)]
Inherited = Literal["copy", "keep", "reset", "share"]

SHAPES = ("batch", "envs", "unroll")
"""What a program is compiled for besides the architecture: members who agree in these train together."""


@dataclass(frozen=True)
class ReplaySettings:
    """What all learners with a replay buffer share. Numbers can be ranges at no cost; a range over batch, envs, unroll or an
    architecture makes one cohort per value."""

    lr: Annotated[Natural, doc("learning rate of Adam")] = 3e-4
    discount: Annotated[Share, doc("discount factor")] = 0.99
    tau: Annotated[Share, doc("share of the new weights in the target networks after each update")] = 0.005
    ratio: Annotated[Natural, doc("updates for each step of an environment")] = 1.0
    n_step: Annotated[Number, doc("steps of the n-step return")] = 1
    reward_scale: Annotated[Positive, doc("factor on rewards for learning; scores are not scaled")] = 1.0
    normalize_obs: Annotated[bool, doc("normalise observations by their running mean and deviation")] = False
    warmup: Annotated[Steps, doc("random steps before the first update")] = 1000
    batch: Annotated[Number, Evolves.LISTED, doc("rows of a minibatch")] = 256
    envs: Annotated[Number, Evolves.LISTED, doc("environments of each member")] = 1
    unroll: Annotated[Number, Evolves.LISTED, doc("steps of each environment between updates")] = 8
    widths: Annotated[tuple[Number, ...], MinLen(1), Evolves.LISTED, doc("units of the dense layers")] = (256, 256)
    activation: Annotated[Literal["tanh", "relu", "elu", "gelu", "silu"], doc("activation function of the dense layers")] = (
        "relu"
    )
    capacity: Annotated[Rows, Evolves.NEVER, doc("rows of the replay buffer")] = 1_000_000
    inherit_buffer: Annotated[
        Inherited,
        Evolves.NEVER,
        doc("the buffer of an heir: a copy of its parent's, its own (keep), an empty one (reset); one for all (share)"),
    ] = "copy"
    ahead: Annotated[
        int,
        Ge(0),
        Le(1),
        Evolves.NEVER,
        doc("1: environments on the host are stepped while members learn, with the policy from before these updates"),
    ] = 0
    fitness: Annotated[
        Literal["training", "evaluation"],
        Evolves.NEVER,
        doc("what makes the score: the last training episodes, or evaluation episodes on seeds shared by all members"),
    ] = "training"
    episodes: Annotated[Number, Evolves.NEVER, doc("episodes that make a score")] = 20
    teacher_policy: Annotated[
        Natural, Evolves.NEVER, doc("weight of the distance to the teacher's policy, in turns with a teacher")
    ] = 1.0
    code: Annotated[
        Literal["auto", "native", "xla"],
        Evolves.NEVER,
        doc("code of dense networks on CPUs: native machine code (needs evolute[native]) or xla; auto: native if installed"),
    ] = "auto"
    devices: Annotated[
        int, Ge(0), Evolves.NEVER, doc("virtual CPU devices that members are spread over; 0: one per core, at least 2")
    ] = 0


@dataclass(frozen=True)
class SACSettings(ReplaySettings):
    """How SAC trains."""

    critic_lr: Annotated[Natural, doc("learning rate of the critics; 0: as lr")] = 0.0
    alpha: Annotated[Natural, doc("entropy temperature; 0: learnt")] = 0.0
    alpha_lr: Annotated[Natural, doc("learning rate of the temperature; 0: as lr")] = 0.0
    entropy_target: Annotated[float, doc("target entropy of each action dimension, if the temperature is learnt")] = -1.0


@dataclass(frozen=True)
class TD3Settings(ReplaySettings):
    """How TD3 trains."""

    critic_lr: Annotated[Natural, doc("learning rate of the critics; 0: as lr")] = 0.0
    noise: Annotated[Natural, doc("standard deviation of the exploration noise, of actions in -1 to 1")] = 0.1
    target_noise: Annotated[Natural, doc("standard deviation of the noise on target actions")] = 0.2
    target_clip: Annotated[Natural, doc("limit of the noise on target actions")] = 0.5
    delay: Annotated[Number, doc("critic updates for each update of policy and targets")] = 2


@dataclass(frozen=True)
class DQNSettings(ReplaySettings):
    """How DQN trains."""

    lr: Annotated[Natural, doc("learning rate of Adam")] = 5e-4
    tau: Annotated[Share, doc("share of the new weights in the target networks after each update")] = 0.01
    n_step: Annotated[Number, doc("steps of the n-step return")] = 3
    batch: Annotated[Number, Evolves.LISTED, doc("rows of a minibatch")] = 128
    envs: Annotated[Number, Evolves.LISTED, doc("environments of each member")] = 4
    widths: Annotated[tuple[Number, ...], MinLen(1), Evolves.LISTED, doc("units of the dense layers")] = (64, 64)
    capacity: Annotated[Rows, Evolves.NEVER, doc("rows of the replay buffer")] = 100_000
    epsilon: Annotated[Share, doc("share of random actions in the end")] = 0.05
    explore: Annotated[Steps, doc("steps over which the share of random actions falls from 1")] = 20_000
    huber: Annotated[Natural, doc("error from which the loss is linear (Huber loss), 1 for clipped rewards; 0: squared")] = 0.0
    double: Annotated[bool, doc("choose the next action by the trained network, not by the target's (double DQN)")] = True
    dueling: Annotated[bool, doc("a value and advantages instead of one value for each action (dueling DQN)")] = False
    network: Annotated[
        Literal["auto", "mlp", "cnn", "impala"],
        doc("mlp, cnn (Atari/MinAtar) or impala; auto: by the observation's shape"),
    ] = "auto"


ARCHITECTURE = ("widths", "activation", "network", "dueling")
"""What weights are bound to: these come along with inherited weights and change only where weights are fresh."""

FOR_ALL = ("capacity", "inherit_buffer", "ahead", "fitness", "episodes", "teacher_policy", "code", "devices")
"""What is the same for all members."""


def traced_names(kind: type[ReplaySettings]) -> tuple[str, ...]:
    """The settings that are values inside the compiled program: a change acts on the next turn and compiles nothing."""
    return tuple(field.name for field in fields(kind) if field.name not in {*SHAPES, *ARCHITECTURE, *FOR_ALL})


def shape_names(kind: type[ReplaySettings]) -> tuple[str, ...]:
    """The settings that a program is compiled for."""
    return tuple(field.name for field in fields(kind) if field.name in (*SHAPES, *ARCHITECTURE))


Name = Literal["sac", "td3", "dqn"]
SETTINGS: Mapping[Name, type[ReplaySettings]] = {"sac": SACSettings, "td3": TD3Settings, "dqn": DQNSettings}
