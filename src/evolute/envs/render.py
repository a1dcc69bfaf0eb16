"""Pictures of an episode: one environment, stepped with a policy, drawn before every step."""

from __future__ import annotations

import inspect
import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import gymnasium
import numpy as np

from evolute.core.names import resolve
from evolute.envs.catalog import SOURCES
from evolute.envs.flatten import flatten, is_flat
from evolute.envs.gymnasium_env import SINGLE, gymnasium_maker
from evolute.envs.interface import HostEnv, JaxEnv
from evolute.envs.jax_wrappers import innermost
from evolute.envs.make import make_env, same_as_gymnasium
from evolute.envs.spec import EnvSpec

Array = np.ndarray[Any, Any]
Frame = np.ndarray[Any, np.dtype[np.uint8]]
Act = Callable[[Any], Any]
SIDE = 160
"""Small pictures are blown up to about so many pixels."""
COLOURS = np.array([[27, 158, 119], [217, 95, 2], [117, 112, 179], [231, 41, 138], [102, 166, 30], [230, 171, 2]])


@runtime_checkable
class Drawn(Protocol):
    """A JAX env that can draw its state."""

    def frame(self, state: Any) -> Frame:
        """The state as a picture [height, width, 3]."""


def render_episode(spec: EnvSpec, act: Act, *, flat: bool, seed: int, limit: int = 5000) -> Iterator[Frame]:
    """The pictures of one episode; raises ValueError if this environment cannot be drawn.

    A policy that reads one array is given observations `flat`. An env of images that draws nothing is shown as it is seen.
    """
    env = None if _drawing(spec) else make_env(spec)
    if isinstance(env, JaxEnv):
        return _inside(env, act, seed, limit)
    if isinstance(env, HostEnv) and len(env.observation_space.shape or ()) == 3:
        return _seen(env, act, seed, limit)
    return _rendered(spec, act, seed, limit, flat=flat)


def _drawing(spec: EnvSpec) -> bool:
    """Whether an env comes as single copies that can be asked for pictures, perhaps from Gymnasium instead."""
    return spec.name.partition(":")[0] in SINGLE or _alike(spec.name)


def _alike(name: str) -> bool:
    """Whether an env that draws nothing has its like in Gymnasium, under the same id."""
    source, _, name = name.partition(":")
    return source in ("gymnax", "envpool") and name in gymnasium.registry and name in same_as_gymnasium(source)


def _inside(env: JaxEnv, act: Act, seed: int, limit: int) -> Iterator[Frame]:
    import jax

    key = jax.random.key(seed)
    step = jax.jit(env.step)
    state, obs = env.reset(key)
    artist = innermost(env, state)[0]
    if not isinstance(artist, Drawn) and len(env.observation_space.shape or ()) != 3:
        raise ValueError("this environment cannot be drawn; its scores can be measured without --film")
    for number in range(limit):
        yield artist.frame(innermost(env, state)[1]) if isinstance(artist, Drawn) else _image(np.asarray(obs))
        moved = step(jax.random.fold_in(key, number + 1), state, act(np.asarray(obs)))
        state, obs = moved.state, moved.obs
        if moved.terminated or moved.truncated:
            return


def _seen(env: HostEnv, act: Act, seed: int, limit: int) -> Iterator[Frame]:
    vector = env.vector([[seed]])
    try:
        obs = vector.reset()
        for _ in range(limit):
            yield _image(obs[0])
            obs, _, terminated, truncated = vector.step(np.asarray(act(obs[0]))[None])
            if vector.failures or terminated[0] or truncated[0]:
                return
    finally:
        vector.close()


def _rendered(spec: EnvSpec, act: Act, seed: int, limit: int, *, flat: bool) -> Iterator[Frame]:
    env = _artist(spec)
    try:
        see = _sight(spec, env.observation_space, flat=flat)
        obs, _ = env.reset(seed=seed)
        for _ in range(limit):
            yield _picture(spec, env)
            obs, _, terminated, truncated, _ = env.step(act(see(obs)))
            if terminated or truncated:
                return
    finally:
        env.close()


def _artist(spec: EnvSpec) -> gymnasium.Env[Any, Any]:
    """A single env that draws itself; what it shows is not scaled yet."""
    for device in ("SDL_AUDIODRIVER", "SDL_VIDEODRIVER"):  # a picture needs neither, and a server has none
        os.environ.setdefault(device, "dummy")
    source, _, name = spec.name.partition(":")
    drawing = source in SOURCES or "render_mode" in inspect.signature(resolve("envs", spec.name)).parameters
    options = {**spec.options, "render_mode": "rgb_array"} if drawing else spec.options
    made = replace(spec, options=options, obs_scale=1.0)
    if _alike(spec.name):
        made = replace(made, name=f"gym:{name}", options={"render_mode": "rgb_array"})
    try:
        env = gymnasium_maker(made)()
    except (gymnasium.error.Error, ValueError) as error:
        raise ValueError(f"{spec.name} cannot be drawn: {error}") from error
    if env.render_mode != "rgb_array":
        raise ValueError(
            f"{spec.name} cannot be drawn: its render_mode is {env.render_mode!r}, and must be 'rgb_array'; let what makes it "
            "take render_mode"
        )
    return env


def _picture(spec: EnvSpec, env: gymnasium.Env[Any, Any]) -> Frame:
    try:
        drawn: Any = env.render()
    except Exception as error:  # whatever the library that draws raises where there is no screen
        hint = "; without a screen, MuJoCo draws with MUJOCO_GL=egl or osmesa" if "GL" in str(error) else ""
        raise ValueError(f"{spec.name} cannot be drawn here: {type(error).__name__}: {error}{hint}") from error
    picture = np.asarray(drawn)
    return _enlarged((picture if picture.dtype.kind != "f" else 255 * picture).astype(np.uint8))


def _sight(spec: EnvSpec, space: gymnasium.Space[Any], *, flat: bool) -> Act:
    """What a policy sees of an episode's observations: perhaps flat, the last ones stacked, and scaled."""
    last: deque[Array] = deque(maxlen=spec.frame_stack)

    def seen(obs: Any) -> Any:
        if not is_flat(space) and not flat:
            return obs
        shown = np.asarray(flatten(space, obs, np) if flat else obs)
        last.extend([shown] if last else [shown] * spec.frame_stack)
        stack = np.concatenate(last, axis=-1) if spec.frame_stack > 1 else shown
        return stack if spec.obs_scale == 1.0 else stack.astype(np.float32) * np.float32(spec.obs_scale)

    return seen


def _image(obs: Array) -> Frame:
    """An observation that is a grid of features, each in its colour, or a picture already, of several the newest."""
    if obs.dtype == np.uint8:
        obs = obs[..., -3:] if obs.shape[-1] % 3 == 0 else obs[..., -1:]
        picture = np.broadcast_to(obs, (*obs.shape[:2], 3))
    else:
        shown = np.zeros((*obs.shape[:2], 3))
        for channel in range(obs.shape[-1]):
            shown = np.where(obs[..., channel, None] > 0, COLOURS[channel % len(COLOURS)], shown)
        picture = shown.astype(np.uint8)
    return _enlarged(picture)


def _enlarged(picture: Frame) -> Frame:
    scale = max(1, SIDE // picture.shape[0])
    return np.ascontiguousarray(picture.repeat(scale, axis=0).repeat(scale, axis=1))
