"""The settings of evolution strategies: what each means, its limits, and how a range over it is evolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, MinLen, doc

from evolute.core.param import Evolves

Natural = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]
Number = Annotated[int, Gt(0)]

TRACED = ("lr", "sigma", "decay", "normalize_obs")
"""The settings that are values inside the program, in its order."""
ARCHITECTURE = ("network", "widths", "activation")
"""What weights are bound to."""
SHAPES = ("candidates", "episodes", *ARCHITECTURE)
"""What a program is compiled for: members who agree in these train together."""


@dataclass(frozen=True)
class ESSettings:
    """How weights evolve. Those of TRACED can be ranges at no cost; a range over one of SHAPES makes one cohort per value."""

    lr: Annotated[Natural, doc("learning rate of Adam")] = 0.03
    sigma: Annotated[Positive, doc("standard deviation of the perturbations of the weights")] = 0.1
    decay: Annotated[Natural, doc("weight decay")] = 0.0
    normalize_obs: Annotated[bool, doc("normalise observations by their running mean and deviation")] = False
    candidates: Annotated[
        Annotated[int, Ge(2)],
        Evolves.LISTED,
        doc("perturbed weights in each generation, half of them mirrored: an even number"),
    ] = 64
    episodes: Annotated[Number, Evolves.LISTED, doc("episodes of each candidate, on seeds that all candidates share")] = 1
    network: Annotated[
        Literal["auto", "mlp", "cnn", "impala"],
        doc("mlp, cnn (Atari/MinAtar) or impala; auto: by the observation's shape"),
    ] = "auto"
    widths: Annotated[tuple[Number, ...], MinLen(1), Evolves.LISTED, doc("units of the dense layers")] = (32, 32)
    activation: Annotated[Literal["tanh", "relu", "elu", "gelu", "silu"], doc("activation function of the dense layers")] = (
        "tanh"
    )
    score_episodes: Annotated[
        Number, Evolves.NEVER, doc("episodes of the unperturbed weights that make a score, on seeds shared by all members")
    ] = 20
    devices: Annotated[
        int, Ge(0), Evolves.NEVER, doc("virtual CPU devices that members are spread over; 0: one per core, at least 2")
    ] = 0
