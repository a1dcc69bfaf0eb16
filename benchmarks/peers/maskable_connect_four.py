"""Own moves per second of sb3-contrib's MaskablePPO on PettingZoo's Connect Four, against a frozen copy of itself.

It is the common way to train by self-play with Stable-Baselines3: a Gymnasium env in which the other seat is played by a copy
of the policy, taken anew before every rollout. The learner's seat changes with every game. A reward that comes with the other's
move is the learner's. Networks, batch, epochs and minibatches are those of Evolute's preset `connect-four`; one thread.

Only moves of the learner count. Imports, construction and the first rollout and update are outside the clock.
`steps_per_cpu_second` is by processor time, which other work on the machine does not change much.

The last line on stdout is one JSON object. Requirements: ``maskable_connect_four.txt``.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import gymnasium
import numpy as np
import sb3_contrib
import torch
from pettingzoo.classic import connect_four_v3
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv

FOREVER = 10**12


class Opponent:
    """A frozen copy of the policy; before there is one, random play."""

    def __init__(self) -> None:
        self.policy: Any = None
        self.rng = np.random.default_rng(0)

    def __call__(self, obs: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> int:
        if self.policy is None:
            return int(self.rng.choice(np.flatnonzero(mask)))
        return int(self.policy.predict(obs, action_masks=mask, deterministic=False)[0])


class Seat(gymnasium.Env[Any, Any]):
    """Connect Four as the learner's seat sees it."""

    def __init__(self, opponent: Opponent) -> None:
        self.game: Any = connect_four_v3.env()
        self.opponent, self.number = opponent, 0
        self.observation_space = gymnasium.spaces.Box(0, 1, (6 * 7 * 2,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(7)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.game.reset(seed=seed)
        self.own = self.game.possible_agents[self.number % 2]
        self.number += 1
        return self._until_own_turn()[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.game.step(int(action))
        obs, reward, over = self._until_own_turn()
        return obs, reward, over, False, {}

    def action_masks(self) -> Any:
        return self.mask

    def _until_own_turn(self) -> tuple[Any, float, bool]:
        while True:
            seen, reward, terminated, truncated, _ = self.game.last()
            over = terminated or truncated
            if self.game.agent_selection == self.own:
                self.mask = np.ones(7, np.int8) if over else seen["action_mask"]
                return seen["observation"].ravel().astype(np.float32), float(reward), over
            obs = seen["observation"].ravel().astype(np.float32)
            self.game.step(None if over else self.opponent(obs, seen["action_mask"]))


class Window(BaseCallback):
    """Renews the opponent before each rollout, and measures whole iterations after the first."""

    def __init__(self, opponent: Opponent, seconds: float) -> None:
        super().__init__()
        self.opponent, self.seconds, self.rollouts = opponent, seconds, 0
        self.started = self.cpu = 0.0
        self.first = 0
        self.result: dict[str, float] = {}

    def _on_rollout_start(self) -> None:
        policy = self.model.policy
        if self.opponent.policy is None:
            self.opponent.policy = type(policy)(**policy._get_constructor_parameters())
            self.opponent.policy.set_training_mode(False)
        self.opponent.policy.load_state_dict(policy.state_dict())
        self.rollouts += 1
        elapsed, cpu = time.perf_counter() - self.started, time.process_time() - self.cpu
        if self.rollouts == 2:
            self.started, self.cpu, self.first = time.perf_counter(), time.process_time(), self.num_timesteps
        elif self.rollouts > 2 and cpu >= self.seconds:
            steps = self.num_timesteps - self.first
            self.result = {"steps_per_second": round(steps / elapsed, 1), "steps_per_cpu_second": round(steps / cpu, 1)}

    def _on_step(self) -> bool:
        return not self.result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=int, default=16)
    parser.add_argument("--unroll", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=20.0, help="processor time to measure, at least")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    opponent = Opponent()
    model = MaskablePPO(
        "MlpPolicy",
        DummyVecEnv([lambda: Seat(opponent)] * asked.envs),
        n_steps=asked.unroll,
        n_epochs=4,
        batch_size=asked.envs * asked.unroll // 8,
        gamma=0.997,
        ent_coef=0.02,
        policy_kwargs={"net_arch": [128, 128], "activation_fn": torch.nn.ReLU},
        device="cpu",
        seed=0,
    )
    window = Window(opponent, asked.seconds)
    model.learn(FOREVER, callback=window, log_interval=None)
    print(json.dumps({"peer": "sb3_contrib", "sb3_contrib": sb3_contrib.__version__, **window.result}))


if __name__ == "__main__":
    main()
