"""What a model of Stable-Baselines3 has learnt as a tree of arrays, and back into a model that was built afresh.

A new model is built for every turn, from the turn's hyper-parameters, so that all of them act; what is put back here is
what was learnt and nothing that a hyper-parameter says. So of an optimiser the moments come back and not its learning
rate, and a coefficient comes back only if it is learnt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.running_mean_std import RunningMeanStd
from stable_baselines3.common.save_util import recursive_getattr
from stable_baselines3.common.vec_env import VecNormalize

from evolute.core.tree import Tree

Array = np.ndarray[Any, Any]
COUNTERS = ("num_timesteps", "_n_updates", "_episode_num", "_n_calls", "exploration_rate")
ROWS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
"""What a replay buffer holds of each step; in buffers of dicts, observations are one array for each key."""


def taken(model: BaseAlgorithm, normaliser: VecNormalize | None) -> dict[str, Tree]:
    """What a model has learnt, its optimisers and replay buffer, how far it is, and the moments of its normaliser."""
    modules, optimisers, learnt = _parts(model)
    return {
        "modules": {name: _arrays(module.state_dict()) for name, module in modules.items()},
        "optimisers": {name: _arrays(optimiser.state_dict()["state"]) for name, optimiser in optimisers.items()},
        "learnt": {name: _arrays(tensor) for name, tensor in learnt.items()},
        "counters": {name: vars(model)[name] for name in COUNTERS if name in vars(model)},
        "buffer": _filled(_buffer(model)),
        "normaliser": None if normaliser is None else _moments(normaliser),
    }


def put(model: BaseAlgorithm, normaliser: VecNormalize | None, tree: Mapping[str, Tree]) -> None:
    """Put what `taken` gave into a fresh model; what this one does not have is left out."""
    modules, optimisers, learnt = _parts(model)
    for name, module in modules.items():
        module.load_state_dict(_tensors(tree["modules"][name]))
    if "weights" in vars(model):  # ARS goes on from a vector of its own
        vars(model)["weights"] = torch.nn.utils.parameters_to_vector(model.policy.parameters()).detach()
    for name in optimisers.keys() & tree["optimisers"].keys():
        state = {int(place): _tensors(one) for place, one in tree["optimisers"][name].items()}
        optimisers[name].load_state_dict({**optimisers[name].state_dict(), "state": state})
    for name in learnt.keys() & tree["learnt"].keys():
        with torch.no_grad():
            learnt[name].copy_(torch.as_tensor(tree["learnt"][name]))
    vars(model).update(tree["counters"])
    buffer = _buffer(model)
    if buffer is not None and tree["buffer"] is not None:
        _refill(buffer, tree["buffer"])
    if normaliser is not None and tree["normaliser"] is not None:
        _set_moments(normaliser, tree["normaliser"])


def _parts(
    model: BaseAlgorithm,
) -> tuple[dict[str, torch.nn.Module], dict[str, torch.optim.Optimizer], dict[str, torch.Tensor]]:
    """The networks, optimisers and single learnt numbers of a model, by the names that it saves them under."""
    names, variables = model._get_torch_save_params()
    parts = {name: recursive_getattr(model, name) for name in names}
    optimisers = {name: part for name, part in parts.items() if isinstance(part, torch.optim.Optimizer)}
    modules = {name: part for name, part in parts.items() if name not in optimisers}
    tensors = {name: recursive_getattr(model, name) for name in variables}
    return modules, optimisers, {name: tensor for name, tensor in tensors.items() if tensor.requires_grad}


def _buffer(model: BaseAlgorithm) -> ReplayBuffer | None:
    return vars(model).get("replay_buffer")


def _filled(buffer: ReplayBuffer | None) -> Tree:
    """The rows of a replay buffer that are in use, as they lie, and where the next one goes."""
    if buffer is None:
        return None
    used = buffer.buffer_size if buffer.full else buffer.pos + 1  # one more: some buffers keep the next observation there
    rows = {name: _each(vars(buffer)[name], lambda array: np.array(array[:used])) for name in ROWS if name in vars(buffer)}
    return {"rows": rows, "next": buffer.pos, "full": buffer.full}


def _refill(buffer: ReplayBuffer, tree: Mapping[str, Tree]) -> None:
    """Fill a buffer; if it is of another size, with the latest rows that fit."""
    place, full, rows = tree["next"], tree["full"], tree["rows"]
    size = len(rows["rewards"])
    if full and size != buffer.buffer_size:
        rows = {name: _each(part, lambda array: np.roll(array, -place, axis=0)) for name, part in rows.items()}
        place, full = size, False
    if not full and place >= buffer.buffer_size:
        kept = slice(place - buffer.buffer_size, place)
        rows = {name: _each(part, lambda array: array[kept]) for name, part in rows.items()}
        place, full = 0, True
    for name, part in rows.items():
        target = vars(buffer)[name]
        for key, array in part.items() if isinstance(part, dict) else ((None, part),):
            (target if key is None else target[key])[: len(array)] = array
    buffer.pos, buffer.full = place, full


def _each(part: Any, change: Any) -> Any:
    return {key: change(array) for key, array in part.items()} if isinstance(part, dict) else change(part)


def _moments(normaliser: VecNormalize) -> Tree:
    seen = _each(normaliser.obs_rms, _moment) if normaliser.norm_obs else None
    return {"obs": seen, "returns": _moment(normaliser.ret_rms)}


def _moment(running: RunningMeanStd) -> Tree:
    return {"mean": np.array(running.mean), "var": np.array(running.var), "count": float(running.count)}


def _set_moments(normaliser: VecNormalize, tree: Mapping[str, Tree]) -> None:
    vars(normaliser.ret_rms).update(tree["returns"])
    if not normaliser.norm_obs:
        return
    seen: Any = normaliser.obs_rms
    parts = {"": seen} if isinstance(seen, RunningMeanStd) else seen
    for key, running in parts.items():
        vars(running).update(tree["obs"][key] if key else tree["obs"])


def _arrays(node: Any) -> Tree:
    if isinstance(node, torch.Tensor):
        return np.array(node.detach().cpu().numpy())
    return {str(key): _arrays(value) for key, value in node.items()} if isinstance(node, Mapping) else node


def _tensors(node: Tree) -> Any:
    if isinstance(node, np.ndarray):
        return torch.from_numpy(np.array(node))
    return {key: _tensors(value) for key, value in node.items()} if isinstance(node, dict) else node
