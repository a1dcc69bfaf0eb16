"""A trained policy that needs numpy alone: `evolute.policy.load("policy.npz")(observation)`.

This file stands on its own, so that it can be copied next to an exported policy on a machine without Evolute.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

Array = np.ndarray[Any, Any]
FORMAT = 1
LIMIT = 10.0


class Policy:
    """Acts on observations, one at a time or in batches. One with memory continues from its last call until `reset`.

    `about` describes the network and the actions, and names the torso and the head that act; those of old files are PPO's.
    `greedy` says whether it takes the likeliest actions or samples them unless a call says which.
    """

    suffix = ".npz"

    def __init__(self, arrays: Mapping[str, Any], about: Mapping[str, Any], mean: Any, variance: Any) -> None:
        self.arrays = {name: np.asarray(array, np.float32) for name, array in arrays.items()}
        self.about = dict(about)
        self.mean, self.variance = np.asarray(mean, np.float32), np.asarray(variance, np.float32)
        self._network = self.about["network"]
        self._torso = self.about.get("torso", "shared" if self._network.get("shared") else "actor")
        self._head = self.about.get("head", "policy")
        self.memory: Array | None = None
        """What it remembers of each observation in a batch, [batch, unit]; None before the first."""
        self._rng = np.random.default_rng()

    @property
    def greedy(self) -> bool:
        return bool(self.about.get("greedy", True))

    @greedy.setter
    def greedy(self, value: bool) -> None:
        self.about["greedy"] = value

    def __call__(
        self, observation: Any, *, greedy: bool | None = None, rng: np.random.Generator | None = None, legal: Any = None
    ) -> Any:
        """The likeliest action (`greedy=True`), or one drawn by `rng`; by default in the way that `self.greedy` says.

        In games, `legal` says which actions are allowed.
        """
        obs = np.asarray(flattened(self.about.get("observation"), observation))
        single = self._is_single(obs)
        batch = obs[None] if single else obs
        outputs = self.outputs(batch)
        if legal is not None:
            outputs = np.where(np.asarray(legal, bool).reshape(outputs.shape), outputs, -1e9)
        noise = None if (self.greedy if greedy is None else greedy) else (rng or self._rng)
        action = self._action(outputs, noise)
        return action[0] if single else action

    def _is_single(self, obs: Array) -> bool:
        """Whether this is one observation, not a batch; raises ValueError if it is neither."""
        shape = tuple(self._network["obs"])
        if self._network["kind"] != "mlp":
            if obs.shape[-3:] != shape or obs.ndim not in (3, 4):
                raise ValueError(f"an observation is an image {shape}, and this is an array {obs.shape}")
            return obs.ndim == 3
        if obs.dtype.kind not in "biuf" or obs.ndim == 0 or obs.size not in (shape[0], len(obs) * shape[0]):
            given = f"an array {obs.shape}" if obs.dtype.kind in "biuf" else type(obs[()]).__name__
            raise ValueError(
                f"an observation is {shape[0]} numbers, and this is {given}; observations of other spaces become such by "
                "evolute.envs.flatten.flatten(space, observation, numpy), those of wrapped environments by their wrappers"
            )
        return obs.size == shape[0] and obs.shape != (1, shape[0]) and obs.ndim != 4

    def reset(self) -> None:
        """Forget what was seen before."""
        self.memory = None

    def outputs(self, batch: Array) -> Array:
        """The head's outputs for a batch of observations: logits, values of actions, or means (and log-stds)."""
        name = self._torso
        x = self._image(name, batch) if self._network["kind"] != "mlp" else self._flat(batch)
        for place in range(len(self._network["widths"])):
            x = _ACTIVATIONS[self._network["activation"]](self._affine(f"{name}/dense{place}", x))
        if self._network.get("memory"):
            x = self.memory = self._remembered(x)
        return self._affine(self._head, x)

    def save(self, path: str | Path) -> None:
        """Write everything into one .npz file."""
        about = np.frombuffer(json.dumps({"format": FORMAT, **self.about}).encode(), np.uint8)
        with Path(path).open("wb") as file:
            arrays: dict[str, Any] = {**self.arrays, "/about": about, "/mean": self.mean, "/variance": self.variance}
            np.savez(file, **arrays)

    def use(self, path: str | Path) -> str:
        """How to use what was saved."""
        return f'with numpy alone:  evolute.policy.load("{path}")(observation)'

    def _flat(self, batch: Array) -> Array:
        x = batch.reshape(len(batch), -1).astype(np.float32)
        if not self.about["normalize_obs"]:
            return x
        scaled: Array = (x - self.mean) / np.sqrt(self.variance + 1e-8)
        return scaled.clip(-LIMIT, LIMIT)

    def _image(self, name: str, batch: Array) -> Array:
        x = batch.astype(np.float32) / (255 if batch.dtype == np.uint8 else 1)
        if self._network["kind"] == "cnn":
            place = 0
            while f"{name}/conv{place}/w" in self.arrays:
                x = np.maximum(self._convolve(f"{name}/conv{place}", x, self.about["strides"][place], same=False), 0)
                place += 1
            return x.reshape(len(x), -1)
        place = 0
        while f"{name}/block{place}/conv/w" in self.arrays:
            x = _pooled(self._convolve(f"{name}/block{place}/conv", x, 1, same=True))
            for half in "ab":
                inner = self._convolve(f"{name}/block{place}/{half}0", np.maximum(x, 0), 1, same=True)
                x = x + self._convolve(f"{name}/block{place}/{half}1", np.maximum(inner, 0), 1, same=True)
            place += 1
        return np.maximum(x, 0).reshape(len(x), -1)

    def _convolve(self, name: str, x: Array, stride: int, *, same: bool) -> Array:
        kernel = self.arrays[f"{name}/w"]
        side = kernel.shape[0]
        if same:
            x = np.pad(x, ((0, 0), ((side - 1) // 2, side // 2), ((side - 1) // 2, side // 2), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(x, (side, side), axis=(1, 2))[:, ::stride, ::stride]
        made: Array = np.einsum("bhwcij,ijco->bhwo", windows, kernel, optimize=True) + self.arrays[f"{name}/b"]
        return made

    def _remembered(self, x: Array) -> Array:
        memory = np.zeros((len(x), self._network["memory"]), np.float32) if self.memory is None else self.memory
        reset, update, new = np.split(self._affine("memory/in", x), 3, axis=-1)
        reset_h, update_h, new_h = np.split(self._affine("memory/h", memory), 3, axis=-1)
        gate = _sigmoid(update + update_h)
        after: Array = gate * memory + (1 - gate) * np.tanh(new + _sigmoid(reset + reset_h) * new_h)
        return after

    def _action(self, outputs: Array, rng: np.random.Generator | None) -> Any:
        actions = self.about["actions"]
        if actions["kind"] == "categories":
            logits = outputs if rng is None else outputs + rng.gumbel(size=outputs.shape)
            parts = np.split(logits, np.cumsum(actions["sizes"])[:-1], axis=-1)
            chosen = np.stack([part.argmax(axis=-1) for part in parts], axis=-1) + np.asarray(actions["starts"])
            return chosen[..., 0] if actions["single"] else chosen
        mean, log_std = outputs, self.arrays.get("log_std", np.float32(0))
        if actions["std"] == "state":
            mean, log_std = np.split(outputs, 2, axis=-1)
        drawn = mean if rng is None else mean + np.exp(np.clip(log_std, -20, 2)) * rng.normal(size=mean.shape)
        low, high = np.asarray(actions["low"], np.float32), np.asarray(actions["high"], np.float32)
        bounded = low + (np.tanh(drawn) + 1) / 2 * (high - low) if actions["squash"] else np.clip(drawn, low, high)
        return bounded.reshape(len(bounded), *actions["shape"]).astype(np.float32)

    def _affine(self, name: str, x: Array) -> Array:
        made: Array = x @ self.arrays[f"{name}/w"] + self.arrays[f"{name}/b"]
        return made


def load(path: str | Path | BinaryIO) -> Policy:
    """The policy in a file that `evolute export` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, TypeError, EOFError, zipfile.BadZipFile):
        arrays = {}
    if "/about" not in arrays:
        raise ValueError(f"{path} is not a policy that Evolute exported")
    about = json.loads(arrays.pop("/about").tobytes())
    if about["format"] > FORMAT:
        raise ValueError(f"{path} was written by a newer Evolute (format {about['format']}): take its policy.py")
    mean, variance = arrays.pop("/mean"), arrays.pop("/variance")
    return Policy(arrays, about, mean, variance)


def flattened(layout: Mapping[str, Any] | None, observation: Any) -> Any:
    """An observation, or a batch of them, as networks read it: by the layout of its space, unless it is flat already."""
    if layout is None or not _structured(layout, observation):
        return observation
    if layout["kind"] == "numbers" and len(layout["shape"]) == 3:
        return np.moveaxis(np.asarray(observation), -3, -1)  # an image, channel first
    return _vector(layout, observation)


def _structured(layout: Mapping[str, Any], observation: Any) -> bool:
    """Whether this is an observation of the space. Flat ones are arrays of floats; those of choices are whole numbers."""
    if layout["kind"] in ("dict", "tuple"):
        return isinstance(observation, Mapping if layout["kind"] == "dict" else tuple)
    obs = np.asarray(observation)
    if layout["kind"] == "choices":
        return obs.dtype.kind in "iu"
    shape = tuple(layout["shape"])
    return obs.dtype.kind in "biuf" and obs.ndim - len(shape) in (0, 1) and obs.shape[obs.ndim - len(shape) :] == shape


def _vector(layout: Mapping[str, Any], observation: Any) -> Array:
    """The observation as one vector of float32, for a batch along the last axis."""
    if layout["kind"] in ("dict", "tuple"):
        return np.concatenate([_vector(part, seen) for part, seen in _parts(layout, observation)], axis=-1)
    obs, dims = np.asarray(observation), len(layout["shape"])
    try:
        flat = obs.reshape((*obs.shape[: obs.ndim - dims], math.prod(layout["shape"])))
    except ValueError:
        shape = tuple(layout["shape"])
        raise ValueError(f"a part of the observation has the shape {obs.shape}, and should have {shape}") from None
    if layout["kind"] == "numbers":
        return flat.astype(np.float32)
    places = flat - np.asarray(layout["starts"])
    hot = [places[..., [i]] == np.arange(size) for i, size in enumerate(layout["sizes"])]
    return np.concatenate(hot, axis=-1).astype(np.float32)


def _parts(layout: Mapping[str, Any], observation: Any) -> list[tuple[Mapping[str, Any], Any]]:
    if layout["kind"] == "tuple":
        return list(zip(layout["parts"], observation, strict=True))
    names = [name for name, _ in layout["parts"]]
    if missing := [name for name in names if name not in observation]:
        raise ValueError(f"an observation is a dict of {', '.join(names)}, and this has no {missing[0]!r}")
    return [(part, observation[name]) for name, part in layout["parts"]]


def _pooled(x: Array) -> Array:
    """The largest of each 3 x 3 window at every second place, padded as XLA pads."""
    pads = [(0, 0), *(_padding(side) for side in x.shape[1:3]), (0, 0)]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, pads, constant_values=-np.inf), (3, 3), axis=(1, 2))
    largest: Array = windows[:, ::2, ::2].max(axis=(-2, -1))
    return largest


def _padding(side: int) -> tuple[int, int]:
    total = max((-(-side // 2) - 1) * 2 + 3 - side, 0)
    return total // 2, total - total // 2


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x * _sigmoid(x),
}
