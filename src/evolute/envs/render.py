"""Rendered episodes: one environment, stepped with a policy, rendered before every step."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import gymnasium
import numpy as np

from evolute.envs.catalog import adapter_of, sources
from evolute.envs.flatten import flatten, is_flat
from evolute.envs.frames import Frame, enlarged, without_screen
from evolute.envs.gymnasium_env import gymnasium_maker
from evolute.envs.interface import HostEnv, JaxEnv
from evolute.envs.jax_wrappers import innermost
from evolute.envs.make import has_gymnasium_id, make_env
from evolute.envs.maker import maker_of
from evolute.envs.spec import EnvSpec

Array = np.ndarray[Any, Any]
Act = Callable[[Any], Any]
COLOURS = np.array([[27, 158, 119], [217, 95, 2], [117, 112, 179], [231, 41, 138], [102, 166, 30], [230, 171, 2]])


@runtime_checkable
class Renders(Protocol):
    """A JAX env that can render its state."""

    def frame(self, state: Any) -> Frame:
        """The state as an image [height, width, 3]."""


def render_episode(spec: EnvSpec, act: Act, *, flat: bool, seed: int, limit: int = 5000) -> Iterator[Frame]:
    """The frames of one episode. Raises ValueError if this environment cannot be rendered.

    A policy that reads one array is given observations `flat`. Of an env that renders nothing, image observations are shown.
    """
    env = None if _has_single(spec.name) else make_env(spec)
    if isinstance(env, JaxEnv):
        return _jax_frames(env, act, seed, limit)
    if isinstance(env, HostEnv) and len(env.observation_space.shape or ()) == 3:
        return _observed_frames(env, act, seed, limit)
    return _gymnasium_frames(spec, act, seed, limit, flat=flat)


def _has_single(name: str) -> bool:
    """Whether there is a single Gymnasium env to render, perhaps from Gymnasium itself."""
    adapter = adapter_of(name)
    return adapter is not None and (adapter.single is not None or _is_in_gymnasium(name))


def _is_in_gymnasium(name: str) -> bool:
    """Whether an env that cannot render itself is in Gymnasium too, under the same id."""
    source, _, name_there = name.partition(":")
    adapter = adapter_of(name)
    cannot = adapter is not None and adapter.single is None
    return cannot and name_there in gymnasium.registry and has_gymnasium_id(source, name_there)


def _jax_frames(env: JaxEnv, act: Act, seed: int, limit: int) -> Iterator[Frame]:
    import jax

    key = jax.random.key(seed)
    step = jax.jit(env.step)
    state, obs = env.reset(key)
    inner = innermost(env, state)[0]
    if not isinstance(inner, Renders) and len(env.observation_space.shape or ()) != 3:
        raise ValueError("this environment cannot be rendered; without --video its scores are printed")
    for number in range(limit):
        yield inner.frame(innermost(env, state)[1]) if isinstance(inner, Renders) else _image(np.asarray(obs))
        moved = step(jax.random.fold_in(key, number + 1), state, act(np.asarray(obs)))
        state, obs = moved.state, moved.obs
        if moved.terminated or moved.truncated:
            return


def _observed_frames(env: HostEnv, act: Act, seed: int, limit: int) -> Iterator[Frame]:
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


def _gymnasium_frames(spec: EnvSpec, act: Act, seed: int, limit: int, *, flat: bool) -> Iterator[Frame]:
    env = _rendering_env(spec)
    try:
        see = _policy_view(spec, env.observation_space, flat=flat)
        obs, _ = env.reset(seed=seed)
        for _ in range(limit):
            yield _rendered(spec, env)
            obs, _, terminated, truncated, _ = env.step(act(see(obs)))
            if terminated or truncated:
                return
    finally:
        env.close()


def _rendering_env(spec: EnvSpec) -> gymnasium.Env[Any, Any]:
    """A single env that renders itself. Its observations are not scaled yet."""
    without_screen()
    source, _, name = spec.name.partition(":")
    takes_mode = source in sources() or "render_mode" in inspect.signature(maker_of(spec.name)).parameters
    options = {**spec.options, "render_mode": "rgb_array"} if takes_mode else spec.options
    made = replace(spec, options=options, obs_scale=1.0)
    if _is_in_gymnasium(spec.name):
        made = replace(made, name=f"gym:{name}", options={"render_mode": "rgb_array"})
    try:
        env = gymnasium_maker(made)()
    except (gymnasium.error.Error, ValueError) as error:
        raise ValueError(f"{spec.name} cannot be rendered: {error}") from error
    if env.render_mode != "rgb_array":
        raise ValueError(
            f"{spec.name} cannot be rendered: its render_mode is {env.render_mode!r}, and must be 'rgb_array'; let its "
            "maker take render_mode"
        )
    return env


def _rendered(spec: EnvSpec, env: gymnasium.Env[Any, Any]) -> Frame:
    try:
        image: Any = env.render()
    except Exception as error:  # whatever the rendering library raises where there is no screen
        hint = "; without a screen, MuJoCo renders with MUJOCO_GL=egl or osmesa" if "GL" in str(error) else ""
        raise ValueError(f"{spec.name} cannot be rendered here: {type(error).__name__}: {error}{hint}") from error
    picture = np.asarray(image)
    return enlarged((picture if picture.dtype.kind != "f" else 255 * picture).astype(np.uint8))


def _policy_view(spec: EnvSpec, space: gymnasium.Space[Any], *, flat: bool) -> Act:
    """What a policy sees of an episode's observations: flattened if asked for, the last ones stacked, and scaled."""
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
    """An observation as a frame: a grid of features, each in its own colour, or an image, the newest of a stack."""
    if obs.dtype == np.uint8:
        obs = obs[..., -3:] if obs.shape[-1] % 3 == 0 else obs[..., -1:]
        picture = np.broadcast_to(obs, (*obs.shape[:2], 3))
    else:
        shown = np.zeros((*obs.shape[:2], 3))
        for channel in range(obs.shape[-1]):
            shown = np.where(obs[..., channel, None] > 0, COLOURS[channel % len(COLOURS)], shown)
        picture = shown.astype(np.uint8)
    return enlarged(picture)


def text_frame(text: str, *, lines: int = 8, width: int = 48) -> Frame:
    """Text as a picture, with room for at least so many lines and characters, so that all frames have one size."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError as error:
        raise ValueError("a video of this game needs pillow: pip install 'evolute[video]'") from error
    rows = [line[start : start + width] for line in text.splitlines() for start in range(0, max(len(line), 1), width)]
    font = ImageFont.load_default_imagefont()
    image = Image.new("L", (8 + 6 * width, 8 + 12 * max(lines, len(rows))), 24)
    draw = ImageDraw.Draw(image)
    for number, row in enumerate(rows):
        draw.text((4, 4 + 12 * number), row, fill=230, font=font)
    grey = np.asarray(image)[..., None].repeat(3, axis=2)
    return np.ascontiguousarray(grey.repeat(2, axis=0).repeat(2, axis=1))
