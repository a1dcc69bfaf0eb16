"""Games of JaxMARL, in JAX: the particle worlds with several roles, and the coin game: `jaxmarl:MPE_simple_tag_v3`.

Where players have different roles, their observations are padded to the longest and a one-hot of the role is added.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from evolute.core.names import closest
from evolute.envs.adapter import Adapter, Library
from evolute.envs.game import Bot, Tick, View

if TYPE_CHECKING:
    import jax

LIBRARY = Library(("jaxmarl",), "jaxmarl", "jaxmarl:MPE_simple_tag_v3", "particle worlds with 2 seats or more, in JAX")
GAMES = ("MPE_simple_adversary_v3", "MPE_simple_push_v3", "MPE_simple_spread_v3", "MPE_simple_tag_v3", "coin_game")


class JaxMarlGame:
    """A simultaneous game of a fixed length. `options` are those of its class, such as `max_steps`.

    Players of one role are a team; in the coin game everyone plays for themselves.
    """

    channels: tuple[str, ...] = ()
    zero_sum = False

    def __init__(self, name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> None:
        if name not in GAMES:
            raise ValueError(f"jaxmarl has no game {name!r}{closest(name, GAMES)}")
        if time_limit is not None:
            setting = "num_inner_steps" if name == "coin_game" else "max_steps"
            raise ValueError(f"wrap.time_limit={time_limit}: set jaxmarl.{setting} instead")
        self._env = _made(name, options)
        self._agents: list[str] = list(self._env.agents)
        self.actors = len(self._agents)
        roles = [agent.rpartition("_")[0] for agent in self._agents]
        kinds = list(dict.fromkeys(roles))
        self.teams = tuple(range(self.actors)) if name == "coin_game" else tuple(kinds.index(role) for role in roles)
        self._role = np.eye(len(kinds), dtype=np.float32)[[kinds.index(role) for role in roles]] if len(kinds) > 1 else None
        self._size = max(int(np.prod(self._env.observation_space(agent).shape)) for agent in self._agents)
        size = self._size + (0 if self._role is None else len(kinds))
        self.observation_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-np.inf, np.inf, (size,))
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(self._choices(name))
        self.bots: Mapping[str, Bot] = {}

    def reset(self, key: jax.Array) -> tuple[Any, View]:
        from evolute.envs.state_types import strongly_typed

        obs, state = self._env.reset(key)
        return strongly_typed(state), self._view(obs)

    def step(self, key: jax.Array, state: Any, actions: jax.Array) -> Tick:
        import jax.numpy as jnp

        from evolute.envs.state_types import typed_like

        by_agent = {agent: actions[seat] for seat, agent in enumerate(self._agents)}
        obs, after, reward, done, _ = self._env.step_env(key, state, by_agent)
        rewards = jnp.stack([jnp.float32(reward[agent]) for agent in self._agents])
        return Tick(typed_like(after, state), self._view(obs), rewards, jnp.bool_(False), jnp.bool_(done["__all__"]))

    def _view(self, obs: Mapping[str, jax.Array]) -> View:
        import jax.numpy as jnp

        flat = [jnp.ravel(obs[agent]).astype(jnp.float32) for agent in self._agents]
        rows = jnp.stack([jnp.pad(row, (0, self._size - len(row))) for row in flat])
        seen = rows if self._role is None else jnp.concatenate([rows, jnp.asarray(self._role)], axis=1)
        return View(seen, jnp.arange(self.actors, dtype=jnp.int32))

    def _choices(self, name: str) -> int:
        spaces = [self._env.action_space(agent) for agent in self._agents]
        if len({(type(space).__name__, getattr(space, "n", None)) for space in spaces}) > 1 or spaces[0].shape:
            raise ValueError(f"jaxmarl:{name}: all players must have the same discrete actions")
        return int(spaces[0].n)


def _made(name: str, options: Mapping[str, Any]) -> Any:
    with contextlib.redirect_stdout(io.StringIO()):  # it prints what else could be installed
        library = LIBRARY.load("jaxmarl")
    try:
        return library.make(name, **options)
    except TypeError as error:
        raise ValueError(f"jaxmarl:{name} with the settings {dict(options)}: {error}") from error


jaxmarl = Adapter(library=LIBRARY, ids=GAMES, game=JaxMarlGame, only_here=rf"^({'|'.join(GAMES)})$")
