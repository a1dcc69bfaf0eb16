"""PPO's settings in one table: what each means, its limits, and how a range over it is evolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Gt, Le, MinLen, doc
from pydantic import BeforeValidator

from evolute.core.amounts import count
from evolute.core.param import Evolves

Natural = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]
Share = Annotated[float, Ge(0), Le(1)]
Number = Annotated[int, Gt(0)]
Steps = Annotated[int, BeforeValidator(count), Ge(0)]

Augmentation = Literal["none", "crop", "random_conv", "grayscale", "flip", "rotate", "cutout", "cutout_color", "color_jitter"]


class Traced(NamedTuple):
    """Settings that are values inside the compiled program: a change acts on the next update and compiles nothing.

    Outside of it, each is an array [member].
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


ARCHITECTURE = ("network", "widths", "activation", "memory", "shared", "std", "squash")
"""What weights are bound to: these come along with inherited weights and change only where weights are fresh."""
SHAPES = ("envs", "unroll", "minibatches", *ARCHITECTURE)
"""What a program is compiled for: members who agree in these train together."""


@dataclass(frozen=True)
class Settings:
    """How PPO trains. Those of Traced can be ranges at no cost; a range over one of SHAPES makes one cohort per value."""

    lr: Annotated[Natural, doc("learning rate of Adam")] = 3e-4
    anneal: Annotated[Steps, doc("steps after which the learning rate has fallen to zero, linearly; 0 keeps it")] = 0
    discount: Annotated[Share, doc("how much a reward one step later counts")] = 0.99
    gae_lambda: Annotated[Share, doc("how far advantages look ahead, in generalised advantage estimation")] = 0.95
    clip: Annotated[Positive, doc("how far the policy may move from the one that acted, as a ratio")] = 0.2
    value_clip: Annotated[Natural, doc("how far a value may move from its old estimate; 0 sets no limit")] = 0.0
    entropy: Annotated[Natural, doc("weight of the entropy bonus")] = 0.0
    value_weight: Annotated[Natural, doc("weight of the value loss")] = 0.5
    max_grad_norm: Annotated[Positive, doc("longer gradients are scaled down to this length")] = 0.5
    adam_eps: Annotated[Positive, doc("Adam's epsilon")] = 1e-5
    reward_scale: Annotated[Positive, doc("rewards are multiplied by this for learning; scores are not")] = 1.0
    normalize_obs: Annotated[bool, doc("whether observations are brought to mean 0 and deviation 1, as seen so far")] = False
    normalize_reward: Annotated[bool, doc("whether rewards are divided by the deviation of the returns seen so far")] = False
    normalize_advantage: Annotated[bool, doc("whether advantages are brought to mean 0 and deviation 1 in a minibatch")] = True
    epochs: Annotated[Number, doc("how often each rollout is gone through")] = 4
    augmentation: Annotated[
        Augmentation, doc("how images are changed for DrAC, which holds policy and value to what they say of the original")
    ] = "none"
    augmentation_weight: Annotated[Natural, doc("weight of that loss")] = 0.1
    minibatches: Annotated[Number, Evolves.LISTED, doc("into how many parts a rollout is cut in each epoch")] = 4
    envs: Annotated[Number, Evolves.LISTED, doc("environments of each member")] = 8
    unroll: Annotated[Number, Evolves.LISTED, doc("steps of each environment between two updates")] = 128
    network: Annotated[
        Literal["auto", "mlp", "cnn", "impala"], doc("dense, convolutional or residual; auto: by the observation's shape")
    ] = "auto"
    widths: Annotated[tuple[Number, ...], MinLen(1), Evolves.LISTED, doc("units of the dense layers")] = (64, 64)
    activation: Annotated[Literal["tanh", "relu", "elu", "gelu", "silu"], doc("of the dense layers")] = "tanh"
    memory: Annotated[int, Ge(0), Evolves.LISTED, doc("units of a recurrent layer (GRU); 0 for none")] = 0
    shared: Annotated[
        bool | None,
        doc("whether policy and value share all but the last layer; by default networks for images and with memory do"),
    ] = None
    std: Annotated[
        Literal["constant", "state"],
        doc("whether the spread of continuous actions is learnt as one value or depends on the state"),
    ] = "constant"
    squash: Annotated[bool, doc("whether tanh bounds continuous actions; otherwise they are clipped")] = False
    fitness: Annotated[
        Literal["training", "evaluation"],
        Evolves.NEVER,
        doc("the score: the return of the last training episodes, or of extra episodes on seeds common to all members"),
    ] = "training"
    episodes: Annotated[Number, Evolves.NEVER, doc("how many episodes make a score")] = 100
    greedy: Annotated[bool, Evolves.NEVER, doc("whether evaluation takes the likeliest action rather than draw one")] = True
    test_episodes: Annotated[
        int,
        Ge(0),
        Evolves.NEVER,
        doc("episodes after each turn on levels that were not trained on, for test_return"),
    ] = 0
    devices: Annotated[
        int, Ge(0), Evolves.NEVER, doc("virtual CPU devices that members are spread over; 0: one per core, at least 2")
    ] = 0
