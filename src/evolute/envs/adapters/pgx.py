"""The board and card games of pgx, in JAX: `pgx:connect_four`. Who moves first is drawn in every game."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from evolute.core.names import closest
from evolute.envs.adapter import Adapter, Library
from evolute.envs.game import Bot, Tick, View

if TYPE_CHECKING:
    import jax

    from evolute.envs.frames import Frame

LIBRARY = Library(("pgx",), "games", "pgx:connect_four", "board and card games with 2 or 3 seats, in JAX")
GAMES = (
    "animal_shogi",
    "backgammon",
    "chess",
    "connect_four",
    "gardner_chess",
    "go_19x19",
    "go_9x9",
    "hex",
    "kuhn_poker",
    "leduc_holdem",
    "othello",
    "shogi",
    "sparrow_mahjong",
    "tic_tac_toe",
)


class PgxGame:
    """A turn-based game. Seats are pgx's players, so a seat may move first in one game and second in the next."""

    actors = 1
    channels: tuple[str, ...] = ()
    zero_sum = True

    def __init__(self, name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> None:
        if name not in GAMES:
            raise ValueError(f"pgx has no game {name!r}{closest(name, GAMES)}")
        if options:
            raise ValueError(f"pgx:{name} takes no settings, and pgx.{next(iter(options))} is set")
        if time_limit is not None:
            raise ValueError(f"wrap.time_limit={time_limit}: the length of a game of pgx:{name} is a matter of its own rules")
        self._name = name
        self._env: Any = LIBRARY.load("pgx").make(name)
        self.teams = tuple(range(self._env.num_players))
        self.observation_space: gymnasium.Space[Any] = self._space()
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Discrete(self._env.num_actions)
        self.bots: Mapping[str, Bot] = _bots(name)

    def moves(self, state: Any, seat: int) -> dict[str, int]:
        """The legal actions by name; moves of pieces are named by what they do to the board."""
        from evolute.envs.pgx_boards import PIECES, action_names

        names = action_names(self._name, self._env.num_actions, self.observation_space.shape or ())
        legal = np.flatnonzero(np.asarray(state.legal_action_mask)).tolist()
        if self._name not in PIECES:
            return {names[action]: action for action in legal}
        found: dict[str, int] = {}
        for action in legal:
            name = self._piece_move(state, seat, action) or names[action]
            found[name if name not in found else f"{name}#{action}"] = action
        return found

    def _piece_move(self, state: Any, seat: int, action: int) -> str:
        from evolute.envs.pgx_boards import grid_of, moved

        after = self._stepped(state, action)
        before, then = (grid_of(self._name, self.seen(one, seat)) for one in (state, after))
        return "" if before is None or then is None else moved(before, then)

    @cached_property
    def _stepped(self) -> Callable[[Any, int], Any]:
        import jax

        return jax.jit(lambda state, action: self._env.step(state, action, jax.random.key(0)))

    def text(self, state: Any, seat: int) -> str:
        from evolute.envs.pgx_boards import text_of

        return text_of(self._name, self.seen(state, seat))

    def frame(self, state: Any) -> Frame:
        """The board as seat 0 sees it."""
        from evolute.envs.pgx_boards import frame_of
        from evolute.envs.render import text_frame

        obs = self.seen(state, 0)
        picture = frame_of(self._name, obs)
        return text_frame(self.text(state, 0)) if picture is None else picture

    def seen(self, state: Any, seat: int) -> np.ndarray[Any, Any]:
        """What a seat sees, also if it is not to move."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # pgx may drop this from its version 3 on
            return np.asarray(self._env.observe(state, seat))

    def reset(self, key: jax.Array) -> tuple[Any, View]:
        from evolute.envs.state_types import strongly_typed

        state = strongly_typed(self._env.init(key))
        return state, self._view(state)

    def step(self, key: jax.Array, state: Any, actions: jax.Array) -> Tick:
        import jax.numpy as jnp

        from evolute.envs.state_types import typed_like

        after = typed_like(self._env.step(state, actions[0], key), state)
        return Tick(after, self._view(after), after.rewards.astype(jnp.float32), after.terminated, after.truncated)

    def _view(self, state: Any) -> View:
        import jax.numpy as jnp

        return View(state.observation[None].astype(jnp.float32), state.current_player[None], state.legal_action_mask[None])

    def _space(self) -> gymnasium.Space[Any]:
        import jax

        obs = jax.eval_shape(lambda: self._env.init(jax.random.key(0))).observation
        bounds = (0.0, 1.0) if obs.dtype == np.bool_ else (-np.inf, np.inf)
        return gymnasium.spaces.Box(*bounds, obs.shape)


def _bots(name: str) -> Mapping[str, Bot]:
    if name != "connect_four":
        return {}
    from evolute.envs.connect_four_search import search

    return {"search": search}


pgx = Adapter(library=LIBRARY, ids=GAMES, game=PgxGame, only_here=rf"^({'|'.join(GAMES)})$")
