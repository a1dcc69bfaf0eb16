"""PPO in one file of PyTorch, as CleanRL writes it, as a learner: a class with train, save and load.

Nothing in the training code is special: the model, its optimiser and the loop are as they would be in a script that trains
one agent. `train` is that loop, `save` and `load` are PyTorch's own.

    python examples/own_torch.py
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, TypedDict

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import nn

import evolute

ENVS, UNROLL, EPOCHS, MINIBATCHES = 8, 64, 4, 4


class Hparams(TypedDict):
    """What is evolved; naming them lets Evolute refuse a misspelt one."""

    lr: float
    entropy: float
    clip: float
    gamma: float


class Agent(nn.Module):
    """Two small networks, for the policy and the value."""

    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, actions))
        self.value = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
        self.optimizer = torch.optim.Adam(self.parameters(), eps=1e-5)


class CartPolePPO:
    """What Evolute is given."""

    repeatable = True

    def train(self, state: Agent | None, hparams: Hparams, steps: int, seed: int) -> tuple[Agent, dict[str, Any]]:
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        agent = Agent(4, 2) if state is None else state
        for group in agent.optimizer.param_groups:
            group["lr"] = hparams["lr"]  # what was loaded with the optimiser is the learning rate of an earlier turn
        envs = gymnasium.make_vec("CartPole-v1", ENVS, "sync", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP})
        envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
        obs, _ = envs.reset(seed=seed)
        for _ in range(-(-steps // (ENVS * UNROLL))):
            batch, obs = rollout(agent, envs, obs, hparams["gamma"])
            improve(agent, batch, hparams)
        returns = list(envs.return_queue)
        envs.close()
        return agent, {"score": float(np.mean(returns)) if returns else None}

    def save(self, state: Agent, folder: Path) -> None:
        torch.save({"agent": state.state_dict(), "optimizer": state.optimizer.state_dict()}, folder / "agent.pt")

    def load(self, folder: Path) -> Agent:
        agent, saved = Agent(4, 2), torch.load(folder / "agent.pt", weights_only=True)
        agent.load_state_dict(saved["agent"])
        agent.optimizer.load_state_dict(saved["optimizer"])
        return agent


@torch.no_grad()
def rollout(agent: Agent, envs: Any, obs: np.ndarray, gamma: float) -> tuple[list[torch.Tensor], np.ndarray]:
    """Observations, actions, their log-probabilities, advantages and returns, and the last observation."""
    rows = []
    for _ in range(UNROLL):
        seen = torch.as_tensor(obs)
        chosen = torch.distributions.Categorical(logits=agent.policy(seen))
        action = chosen.sample()
        obs, reward, terminated, truncated, _ = envs.step(action.numpy())
        over = torch.as_tensor(terminated | truncated, dtype=torch.float32)
        rows.append((seen, action, chosen.log_prob(action), agent.value(seen)[:, 0], torch.as_tensor(reward).float(), over))
    seen, actions, logs, values, rewards, over = (torch.stack(column) for column in zip(*rows, strict=True))
    following = torch.cat([values[1:], agent.value(torch.as_tensor(obs))[:, 0][None]])
    advantages, running = torch.zeros_like(values), torch.zeros(ENVS)
    for time in reversed(range(UNROLL)):
        delta = rewards[time] + gamma * following[time] * (1 - over[time]) - values[time]
        advantages[time] = running = delta + gamma * 0.95 * (1 - over[time]) * running
    return [part.flatten(0, 1) for part in (seen, actions, logs, advantages, advantages + values)], obs


def improve(agent: Agent, batch: list[torch.Tensor], hparams: Hparams) -> None:
    """Epochs of clipped minibatch steps."""
    for _ in range(EPOCHS):
        for rows in torch.randperm(ENVS * UNROLL).chunk(MINIBATCHES):
            seen, actions, logs, advantages, returns = (part[rows] for part in batch)
            chosen = torch.distributions.Categorical(logits=agent.policy(seen))
            ratio = (chosen.log_prob(actions) - logs).exp()
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            clipped = ratio.clamp(1 - hparams["clip"], 1 + hparams["clip"])
            gain = torch.min(ratio * advantages, clipped * advantages).mean()
            error = (agent.value(seen)[:, 0] - returns).square().mean()
            loss = 0.25 * error - gain - hparams["entropy"] * chosen.entropy().mean()
            agent.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            agent.optimizer.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--runs", default="runs", help="the folder for the run folder")
    options = parser.parse_args()

    run = evolute.run(
        CartPolePPO,
        space={"lr": "log[1e-4, 1e-2]", "entropy": "log[1e-4, 1e-1]", "clip": [0.1, 0.4], "gamma": "1-log[0.9, 0.999]"},
        population=4,
        interval=8192,
        stop={"turns": options.turns},
        runs=options.runs,
    )
    print(f"best: member {run.best.member}, return {run.best.score:.0f}, hyper-parameters {dict(run.best.hparams)}")
    logits = run.best.state.policy(torch.zeros(4))
    print(f"its policy, for a pole that stands still: {torch.softmax(logits, 0).tolist()}")


if __name__ == "__main__":
    main()
