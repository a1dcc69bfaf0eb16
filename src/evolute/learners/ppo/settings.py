"""The settings of PPO and of learners on its parts: what each means, its limits, and how a range over it is evolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Le, MinLen, doc
from pydantic import BeforeValidator

from evolute.core.amounts import count
from evolute.core.param import Evolves

Natural = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]
Share = Annotated[float, Ge(0), Le(1)]
Number = Annotated[int, Gt(0)]
Steps = Annotated[int, BeforeValidator(count), Ge(0)]

Correct = Literal["auto", "none", "vtrace"]
Augmentation = Literal["none", "crop", "random_conv", "grayscale", "flip", "rotate", "cutout", "cutout_color", "color_jitter"]


class Traced(NamedTuple):
    """Settings that are values inside the compiled program: a change acts on the next update and compiles nothing.

    Outside of it, each is an array [member]. Those behind the others are of reward channels [channel], and how much the
    teacher counts in an update; () if there are none.
    """

    lr: Any
    anneal: Any
    discount: Any
    gae_lambda: Any
    clip: Any
    value_clip: Any
    entropy: Any
    value_weight: Any
    max_grad_norm: Any
    adam_eps: Any
    reward_scale: Any
    normalize_obs: Any
    normalize_reward: Any
    normalize_advantage: Any
    epochs: Any
    augmentation: Any
    augmentation_weight: Any
    rho_bar: Any
    c_bar: Any
    channel_weights: Any = ()
    channel_discounts: Any = ()
    teacher_weight: Any = ()


NUMBERS = Traced._fields[:-3]
"""Those of `Traced` that are settings of their own."""


def packed(hparams: Traced) -> np.ndarray[Any, np.dtype[np.float32]]:
    """All of them in one row, since every array takes time to hand over to a program."""
    return np.array([*hparams[: len(NUMBERS)], *hparams.channel_weights, *hparams.channel_discounts], np.float32)


def unpacked(row: Any, channels: int) -> Traced:
    """The settings in such a row, with this many reward channels."""
    numbers = Traced(*(row[place] for place in range(len(NUMBERS))))
    if not channels:
        return numbers
    start, end = len(NUMBERS), len(NUMBERS) + channels
    return numbers._replace(channel_weights=row[start:end], channel_discounts=row[end : end + channels])


ARCHITECTURE = ("network", "widths", "width", "depth", "spectral", "activation", "memory", "shared", "std", "squash")
"""What weights are bound to: these come along with inherited weights and change only where weights are fresh."""
SHAPES = ("envs", "unroll", "minibatches", *ARCHITECTURE)
"""What a program is compiled for: members who agree in these train together."""


@dataclass(frozen=True)
class OnPolicySettings:
    """What learners on PPO's parts share. Those of Traced can be ranges at no cost; a range over one of SHAPES makes one cohort
    per value."""

    lr: Annotated[Natural, doc("learning rate of Adam")] = 3e-4
    anneal: Annotated[Steps, doc("steps over which the learning rate falls linearly to zero; 0: constant")] = 0
    discount: Annotated[Share, doc("discount factor")] = 0.99
    discount_: Annotated[
        Mapping[str, Share],
        doc("discount factor of a reward channel (`discount.NAME` for short); by default the learner's `discount`"),
    ] = field(default_factory=dict)
    discount_per: Annotated[
        Positive | None,
        Evolves.NEVER,
        doc("seconds that a discount is for, where the environment tells the time; by default one decision, however long"),
    ] = None
    entropy: Annotated[Natural, doc("weight of the entropy bonus")] = 0.0
    max_grad_norm: Annotated[Positive, doc("global gradient-norm clip")] = 0.5
    adam_eps: Annotated[Positive, doc("epsilon of Adam")] = 1e-5
    reward: Annotated[
        Mapping[str, float],
        doc("weight of a reward channel (`reward.NAME` for short); by default 1 for the first, which makes the score, else 0"),
    ] = field(default_factory=dict)
    reward_scale: Annotated[Positive, doc("factor on rewards for learning; scores are not scaled")] = 1.0
    normalize_obs: Annotated[bool, doc("normalise observations by their running mean and deviation")] = False
    normalize_reward: Annotated[bool, doc("divide rewards by the running deviation of returns, those of each channel")] = False
    normalize_advantage: Annotated[bool, doc("normalise advantages in each minibatch")] = True
    envs: Annotated[Number, Evolves.LISTED, doc("environments of each member")] = 8
    unroll: Annotated[Number, Evolves.LISTED, doc("steps of each environment in a rollout")] = 128
    network: Annotated[
        Literal["auto", "mlp", "cnn", "impala"],
        doc("mlp, cnn (Atari/MinAtar) or impala; auto: by the observation's shape"),
    ] = "auto"
    widths: Annotated[tuple[Number, ...], MinLen(1), Evolves.LISTED, doc("units of the dense layers")] = (64, 64)
    width: Annotated[int, Ge(0), Evolves.LISTED, doc("units of each dense layer, instead of `widths`; 0: as that says")] = 0
    depth: Annotated[int, Ge(0), doc("number of dense layers, instead of `widths`; 0: as that says")] = 0
    spectral: Annotated[
        bool,
        doc("spectral normalisation: dense layers before the heads are divided by their largest singular value"),
    ] = False
    activation: Annotated[Literal["tanh", "relu", "elu", "gelu", "silu"], doc("activation function of the dense layers")] = (
        "tanh"
    )
    memory: Annotated[int, Ge(0), Evolves.LISTED, doc("units of a recurrent layer (GRU); 0: none")] = 0
    shared: Annotated[
        bool | None,
        doc("whether policy and value share all but the last layer; by default image networks and those with memory do"),
    ] = None
    std: Annotated[
        Literal["constant", "state"],
        doc("standard deviation of continuous actions: constant is learnt as one value, state depends on the observation"),
    ] = "constant"
    squash: Annotated[bool, doc("bound continuous actions by tanh; otherwise they are clipped")] = False
    pace: Annotated[
        Literal["auto", "step", "rollout", "free"],
        Evolves.NEVER,
        doc(
            "environments on the host: all wait for each step, each goes at its own pace and waits for the update (rollout), "
            "or none ever waits (free); auto: step, rollout with actors or ahead, free in games that do not wait themselves"
        ),
    ] = "auto"
    ahead: Annotated[
        int,
        Ge(0),
        Le(1),
        Evolves.NEVER,
        doc("1: sample each rollout while the last one is learnt from, so that it lags by 1"),
    ] = 0
    max_lag: Annotated[Number, Evolves.NEVER, doc("pace=free: drop fragments that lag by more updates than this")] = 8
    fitness: Annotated[
        Literal["training", "evaluation"],
        Evolves.NEVER,
        doc("what makes the score: the last training episodes, or evaluation episodes on seeds shared by all members"),
    ] = "training"
    episodes: Annotated[Number, Evolves.NEVER, doc("episodes that make a score")] = 100
    greedy: Annotated[
        bool,
        Evolves.NEVER,
        doc("whether evaluation takes the likeliest action or samples one; policies of games sample unless it is set"),
    ] = True
    test_episodes: Annotated[
        int, Ge(0), Evolves.NEVER, doc("test episodes after each turn, on held-out levels, for test_return")
    ] = 0
    devices: Annotated[
        int, Ge(0), Evolves.NEVER, doc("virtual CPU devices that members are spread over; 0: one per core, at least 2")
    ] = 0
    code: Annotated[
        Literal["auto", "native", "xla"],
        Evolves.NEVER,
        doc("code of dense networks on CPUs: native machine code (needs evolute[native]) or xla; auto: native if installed"),
    ] = "auto"


@dataclass(frozen=True)
class CriticSettings(OnPolicySettings):
    """What learners with a value network share besides."""

    gae_lambda: Annotated[Share, doc("lambda of generalised advantage estimation (GAE)")] = 0.95
    value_weight: Annotated[Natural, doc("weight of the value loss")] = 0.5
    correct: Annotated[
        Correct,
        Evolves.NEVER,
        doc("correct for rollouts of an older policy: none, or by V-trace; auto: V-trace with pace=free"),
    ] = "auto"
    rho_bar: Annotated[Positive, doc("V-trace: limit of a step's weight")] = 1.0
    c_bar: Annotated[Natural, doc("V-trace: limit of what a step passes on of those after it")] = 1.0


@dataclass(frozen=True)
class PPOSettings(CriticSettings):
    """How PPO trains."""

    clip: Annotated[Positive, doc("PPO clip range")] = 0.2
    value_clip: Annotated[Natural, doc("clip range of the value; 0: no clipping")] = 0.0
    epochs: Annotated[Number, doc("epochs over each rollout")] = 4
    augmentation: Annotated[Augmentation, doc("image augmentation of DrAC's regularisation")] = "none"
    augmentation_weight: Annotated[Natural, doc("weight of DrAC's loss")] = 0.1
    minibatches: Annotated[Number, Evolves.LISTED, doc("minibatches in each epoch")] = 4
    teacher_policy: Annotated[
        Natural, Evolves.NEVER, doc("weight of the divergence from the teacher's policy, in turns with a teacher")
    ] = 5.0
    teacher_value: Annotated[Natural, Evolves.NEVER, doc("weight of the squared distance to the teacher's values")] = 0.0
    teacher_lr: Annotated[Natural, Evolves.NEVER, doc("learning rate in turns with a teacher")] = 1e-3
    teacher_epochs: Annotated[Number, Evolves.NEVER, doc("epochs over each rollout in turns with a teacher")] = 10


def flat(settings: OnPolicySettings) -> dict[str, Any]:
    """The settings by their names, with each entry of a group as one of its own: `reward.goal`."""
    values: dict[str, Any] = {}
    for name, value in vars(settings).items():
        if isinstance(value, Mapping):
            values |= {f"{name.rstrip('_')}.{entry}": one for entry, one in value.items()}
        else:
            values[name] = value
    return values
