"""A member of Stable-Baselines3 after training: it acts, is exported as an ordinary zip, and plays episodes."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.evaluation import evaluate_policy

from evolute.core.protocols import Progress
from evolute.learners.sb3.model import Built


@dataclass
class SB3Policy:
    """Acts on one observation at a time. One with memory continues from its last call until `reset`."""

    built: Built
    suffix: str = ".zip"
    greedy: bool = True
    _memory: Any = None
    _first: bool = True

    @property
    def masked(self) -> bool:
        """Whether the algorithm keeps to the actions that an environment allows."""
        return "action_masks" in inspect.signature(self.built.model.predict).parameters

    def __call__(
        self,
        observation: Any,
        *,
        greedy: bool | None = None,
        rng: np.random.Generator | None = None,
        action_masks: Any = None,
    ) -> Any:
        """The likeliest action, or with `greedy=False` one that is drawn, by `rng` if it is given; by default as `self.greedy`.

        `action_masks` says which actions are allowed, for algorithms that know of that.
        """
        obs = observation
        if self.built.normaliser is not None:
            obs = self.built.normaliser.normalize_obs(obs if isinstance(obs, dict) else np.asarray(obs))
        if rng is not None:
            self.built.model.set_random_seed(int(rng.integers(2**31)))
        masks = {"action_masks": action_masks} if self.masked else {}
        action, self._memory = self.built.model.predict(
            obs,
            self._memory,
            np.array([self._first]),
            deterministic=self.greedy if greedy is None else greedy,
            **masks,
        )
        self._first = False
        return action

    def reset(self) -> None:
        """Forget what was seen before."""
        self._memory, self._first = None, True

    def save(self, path: str | Path) -> None:
        """Write the model as Stable-Baselines3 does, and if observations are normalised its VecNormalize beside it."""
        path = Path(path)
        self.built.model.save(path)
        if self.built.normaliser is not None:
            self.built.normaliser.save(str(path.with_name(f"{path.stem}_vecnormalize.pkl")))

    def use(self, path: str | Path) -> str:
        """How to use what was saved."""
        kind = type(self.built.model)
        loaded = f'{kind.__module__.partition(".")[0]}.{kind.__name__}.load("{path}")'
        return f"with Stable-Baselines3 alone:  {loaded}.predict(obs, deterministic={self.greedy})"

    def play(self, episodes: int, *, seed: int, greedy: bool, progress: Progress) -> list[float]:
        """The returns of fresh episodes, with the likeliest or with sampled actions."""
        if self.built.normaliser is not None:
            self.built.normaliser.training = False
        self.built.model.set_random_seed(seed % 2**32)
        self.built.envs.seed(seed)

        def stepped(local: dict[str, Any], _: dict[str, Any]) -> None:
            progress(len(local["episode_rewards"]) / episodes, "")

        evaluate: Any = evaluate_policy
        if self.masked:
            evaluate = importlib.import_module("sb3_contrib.common.maskable.evaluation").evaluate_policy
        try:
            played: Any = evaluate(
                self.built.model,
                self.built.envs,
                episodes,
                deterministic=greedy,
                callback=stepped,
                return_episode_rewards=True,
            )
        finally:
            self.built.envs.close()
        return [float(value) for value in played[0]]
