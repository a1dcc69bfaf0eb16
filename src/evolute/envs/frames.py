"""Pictures of an episode, for a GIF or a video: one environment, stepped with a policy, drawn after every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from evolute.envs.interface import JaxEnv
from evolute.envs.spec import EnvSpec

Picture = np.ndarray[Any, np.dtype[np.uint8]]
Act = Callable[[Any], Any]
SIDE = 160
"""Observations that are small images are blown up to about so many pixels."""
COLOURS = np.array([[27, 158, 119], [217, 95, 2], [117, 112, 179], [231, 41, 138], [102, 166, 30], [230, 171, 2]])


@runtime_checkable
class Drawn(Protocol):
    """A JAX env that can draw its state."""

    def frame(self, state: Any) -> Picture:
        """The state as a picture [height, width, 3]."""


def frames(spec: EnvSpec, act: Act, *, seed: int, limit: int = 5000) -> Iterator[Picture]:
    """The pictures of one episode; raises ValueError if this environment cannot be drawn."""
    from evolute.envs.find import find

    source, _, name = spec.name.partition(":")
    if source in ("gym", "envpool"):
        return _on_host(name, spec, act, seed, limit)
    env = find(spec)
    if isinstance(env, JaxEnv):
        return _inside(env, act, seed, limit)
    raise ValueError(f"{spec.name} cannot be drawn here: only Gymnasium's and JAX environments can")


def write(pictures: Iterator[Picture], path: Path, *, rate: int = 30) -> int:
    """Write pictures as a GIF, or as a video if the file is called .mp4; returns how many there were."""
    if path.suffix == ".gif":
        from PIL import Image

        images = [Image.fromarray(picture) for picture in pictures]
        images[0].save(path, save_all=True, append_images=images[1:], duration=round(1000 / rate), loop=0)
        return len(images)
    if path.suffix != ".mp4":
        raise ValueError(f"{path}: call it .gif or .mp4")
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise ValueError("videos need imageio-ffmpeg: pip install 'evolute[video]', or write a .gif") from error
    count, writer = 0, None
    for picture in pictures:
        even = np.ascontiguousarray(picture[: picture.shape[0] // 2 * 2, : picture.shape[1] // 2 * 2])
        if writer is None:
            writer = imageio_ffmpeg.write_frames(str(path), (even.shape[1], even.shape[0]), fps=rate, macro_block_size=1)
            writer.send(None)
        writer.send(even)
        count += 1
    if writer is not None:
        writer.close()
    return count


def _inside(env: JaxEnv, act: Act, seed: int, limit: int) -> Iterator[Picture]:
    import jax

    image = len(env.observation_space.shape or ()) == 3
    if not isinstance(env, Drawn) and not image:
        raise ValueError("this environment cannot be drawn; its scores can be measured without --gif")
    key = jax.random.key(seed)
    step = jax.jit(env.step)
    state, obs = env.reset(key)
    for number in range(limit):
        yield env.frame(state) if isinstance(env, Drawn) else _image(np.asarray(obs))
        moved = step(jax.random.fold_in(key, number + 1), state, act(np.asarray(obs)))
        state, obs = moved.state, moved.obs
        if moved.terminated or moved.truncated:
            return


def _on_host(name: str, spec: EnvSpec, act: Act, seed: int, limit: int) -> Iterator[Picture]:
    import gymnasium

    try:
        env = gymnasium.make(name, render_mode="rgb_array", **spec.options)
    except gymnasium.error.Error as error:
        raise ValueError(f"{name} cannot be drawn: {error}") from error
    try:
        obs, _ = env.reset(seed=seed)
        for _ in range(limit):
            yield np.asarray(env.render(), np.uint8)
            obs, _, terminated, truncated, _ = env.step(act(np.asarray(obs)))
            if terminated or truncated:
                return
    finally:
        env.close()


def _image(obs: np.ndarray[Any, Any]) -> Picture:
    """An observation that is a grid of features, each in its colour, or a picture already."""
    if obs.dtype == np.uint8 and obs.shape[-1] in (1, 3):
        picture = np.broadcast_to(obs, (*obs.shape[:2], 3))
    else:
        shown = np.zeros((*obs.shape[:2], 3))
        for channel in range(obs.shape[-1]):
            shown = np.where(obs[..., channel, None] > 0, COLOURS[channel % len(COLOURS)], shown)
        picture = shown.astype(np.uint8)
    scale = max(1, SIDE // picture.shape[0])
    return np.ascontiguousarray(picture.repeat(scale, axis=0).repeat(scale, axis=1))
