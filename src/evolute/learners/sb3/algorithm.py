"""The algorithms of Stable-Baselines3, and which settings each takes: read off its constructor, and some of ours."""

from __future__ import annotations

import functools
import importlib
import inspect
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, doc
from pydantic import BeforeValidator

from evolute.core.amounts import count
from evolute.core.names import closest
from evolute.core.param import Evolves

LIBRARIES = ("stable_baselines3", "sb3_contrib")
PLAIN = (bool, int, float, str, type(None))
OURS_INSTEAD = {"policy", "env", "policy_kwargs", "action_noise", "seed", "verbose", "tensorboard_log", "stats_window_size"}
"""Arguments of constructors that are no settings: given by Evolute, or by a setting of `Ours`."""
ARCHITECTURE = ("policy", "net_arch", "activation", "use_sde", "normalize")
"""What weights are bound to: these come along with inherited weights and change only where weights are fresh."""

Inheritance = Literal["copy", "keep", "reset"]
Steps = Annotated[int, BeforeValidator(count), Ge(0)]


@dataclass(frozen=True)
class Ours:
    """Settings beside those of the algorithm's own constructor."""

    envs: Annotated[int, Gt(0), Evolves.NEVER, doc("environments of each member")] = 1
    policy: Annotated[str, doc("policy class, by its Stable-Baselines3 name; auto: by the observation space")] = "auto"
    net_arch: Annotated[tuple[int, ...] | None, doc("units of the dense layers; default: the algorithm's")] = None
    activation: Annotated[str | None, doc("activation function of the dense layers, by its torch.nn name: Tanh, ReLU, …")] = (
        None
    )
    action_noise: Annotated[float, Ge(0), doc("standard deviation of Gaussian action noise, for off-policy algorithms")] = 0.0
    normalize: Annotated[bool, doc("normalise observations and rewards by their running statistics")] = False
    anneal: Annotated[
        Steps, doc("steps over which learning rate and clip range fall to zero, and exploration to its end; 0: no annealing")
    ] = 0
    inherit_optimiser: Annotated[
        Inheritance,
        Evolves.NEVER,
        doc("the optimiser state of an heir: copied with the weights, its own, or reset"),
    ] = "copy"
    inherit_buffer: Annotated[
        Inheritance,
        Evolves.NEVER,
        doc("the replay buffer of an heir: copied with the weights, its own, or empty"),
    ] = "copy"
    episodes: Annotated[int, Gt(0), Evolves.NEVER, doc("last training episodes that make a score")] = 100
    threads: Annotated[int, Gt(0), Evolves.NEVER, doc("PyTorch threads; another number gives different results")] = 1


@functools.cache
def algorithm_of(name: str) -> type[Any]:
    """The algorithm of this name; raises ValueError if there is none."""
    known: dict[str, type[Any]] = {}
    for library in LIBRARIES:
        known |= _algorithms(library)
    if not known:
        raise ValueError(f"sb3:{name} needs stable-baselines3, which is not installed; pip install 'evolute[sb3]'")
    if name not in known:
        raise ValueError(f"Stable-Baselines3 has no algorithm {name!r}{closest(name, known)}")
    return known[name]


def options(algorithm: type[Any]) -> Mapping[str, tuple[Any, Any]]:
    """The type and default of each argument of an algorithm's constructor that a config can say."""
    parameters = inspect.signature(algorithm).parameters.values()
    listed = {p.name: (_plain(p.annotation), p.default) for p in parameters if p.name not in OURS_INSTEAD}
    return {name: option for name, option in listed.items() if option[0] is not None and not name.startswith("_")}


def _algorithms(library: str) -> dict[str, type[Any]]:
    try:
        module = importlib.import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:
            raise
        return {}
    base = importlib.import_module("stable_baselines3.common.base_class").BaseAlgorithm
    return {name: kind for name, kind in vars(module).items() if isinstance(kind, type) and issubclass(kind, base)}


def _plain(hint: Any) -> Any:
    """What of a type can be written in a config: numbers, words, and tuples of them; None if nothing of it can."""
    parts = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    kept = [part for part in parts if part in PLAIN or typing.get_origin(part) is tuple]
    return None if set(kept) <= {type(None)} else functools.reduce(lambda one, other: one | other, kept)
