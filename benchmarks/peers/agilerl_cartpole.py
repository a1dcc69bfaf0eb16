"""Env steps per second of a population that AgileRL trains with PPO on CartPole-v1, in one process.

The loop is AgileRL's own ``train_on_policy``: members train in turn, then each is evaluated, then tournament selection
with elitism and mutation. The defaults of the arguments are the vectorised settings which the other peers use too: 8
envs x 128 steps, 4 epochs of minibatches of 256, and a turn of 8,192 steps between two selections.

The first generation is outside the clock, like imports and construction. It also tells how many generations fill
``--seconds``; the clock runs over these, whole ones, with all that AgileRL does in them.

What is fair to AgileRL:
- Every env step counts, those of its evaluations too, although no agent learns from them. The steps it trained on
  are reported beside it.
- The one mutation is that of hyper-parameters, as in PBT. Those of networks would make them larger in the course of
  the run, and one of parameters makes every update gather gradient statistics.
- The policy and the value network share their encoder, as is its default. An AgileRL network has a hidden layer in the
  encoder, a latent one, and a hidden one in the head, none of which can be left out; with the encoder shared there are
  six matrices, as many as in two networks of 64x64, and a latent layer of 32 makes them less work than those. There is
  no layer norm.
- The envs are AgileRL's own ``make_vect_envs`` in this process, which is faster for CartPole than its default of a
  process per env. Networks of this size gain nothing from a second thread. There is no logger.

``cpu_share`` is the share of a CPU that the process got: well below 1, other work on the machine took the rest and the
figure says nothing. (With envs in processes of their own it is below 1 on an idle machine too.)

The last line on stdout is one JSON object. Requirements: ``agilerl_cartpole.txt``.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import time
from importlib.metadata import version
from typing import Any

import gymnasium
import torch
from agilerl.algorithms import PPO
from agilerl.algorithms.core.registry import HyperparameterConfig, RLParameter
from agilerl.hpo.mutation import Mutations
from agilerl.hpo.tournament import TournamentSelection
from agilerl.training.train_on_policy import train_on_policy
from agilerl.utils.utils import make_vect_envs

ENV = "CartPole-v1"
LAYER = {"hidden_size": [64], "activation": "Tanh", "layer_norm": False}
NETWORK = {"latent_dim": 32, "encoder_config": LAYER, "head_config": dict(LAYER)}


class Counted(gymnasium.vector.VectorWrapper):
    """Counts the steps of all envs."""

    def __init__(self, env: gymnasium.vector.VectorEnv) -> None:
        super().__init__(env)
        self.steps = 0

    def step(self, actions: Any) -> Any:
        self.steps += self.num_envs
        return self.env.step(actions)


def make_envs(options: argparse.Namespace) -> Counted:
    if options.vectorization == "native":
        return Counted(gymnasium.make_vec(ENV, options.envs, vectorization_mode="vector_entry_point"))
    return Counted(make_vect_envs(ENV, options.envs, should_async_vector=options.vectorization == "async"))


def make_population(options: argparse.Namespace, envs: Counted) -> list[PPO]:
    return PPO.population(
        options.members,
        envs.single_observation_space,
        envs.single_action_space,
        net_config=copy.deepcopy(NETWORK),  # as AgileRL writes into it
        hp_config=HyperparameterConfig(lr=RLParameter(min=1e-5, max=1e-2), ent_coef=RLParameter(min=1e-4, max=1e-1)),
        num_envs=options.envs,
        learn_step=options.envs * options.unroll,
        batch_size=options.envs * options.unroll // options.minibatches,
        update_epochs=options.epochs,
        lr=3e-4,
    )


def make_mutations() -> Mutations:
    return Mutations(no_mutation=0.5, architecture=0, new_layer_prob=0, parameters=0, activation=0, rl_hp=0.5, rand_seed=0)


def train(population: list[PPO], envs: Counted, options: argparse.Namespace, generations: int) -> tuple[list[PPO], float]:
    """Train until each member has had so many generations in all; returns the population and the seconds it took."""
    started = time.perf_counter()
    population, _ = train_on_policy(
        envs,
        ENV,
        "PPO",
        population,
        max_steps=generations * options.turn,
        evo_steps=options.turn,
        selection_strategy=TournamentSelection(tournament_size=2, elitism=True, population_size=options.members),
        mutation=make_mutations(),
        verbose=False,
    )
    return population, time.perf_counter() - started


def measure(options: argparse.Namespace) -> dict[str, Any]:
    envs = make_envs(options)
    population, warm_up = train(make_population(options, envs), envs, options, 1)
    generations = max(1, math.ceil(options.seconds / warm_up))
    envs = make_envs(options)  # as AgileRL closes those of the first generation
    busy = time.process_time()
    population, seconds = train(population, envs, options, 1 + generations)
    busy = time.process_time() - busy
    if any(member.metrics.steps != (1 + generations) * options.turn for member in population):
        raise RuntimeError("the members did not train for the expected number of steps")
    return {
        "peer": "agilerl",
        "agilerl": version("agilerl"),
        "torch": torch.__version__,
        "members": options.members,
        "generations": generations,
        "seconds": round(seconds, 3),
        "steps_per_second": round(envs.steps / seconds, 1),
        "trained_steps_per_second": round(generations * options.members * options.turn / seconds, 1),
        "cpu_share": round(busy / seconds, 3),
    }


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Throughput of AgileRL's PPO population on CartPole.")
    parser.add_argument("--members", type=int, default=4)
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--unroll", type=int, default=128, help="steps per env and iteration")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--minibatches", type=int, default=4, help="per epoch")
    parser.add_argument("--turn", type=int, default=8192, help="steps of a member between two selections")
    parser.add_argument("--seconds", type=float, default=20.0, help="about how long to measure")
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    parser.add_argument("--vectorization", choices=("sync", "async", "native"), default="sync", help="of the envs")
    options = parser.parse_args()
    if options.members < 2:
        parser.error(f"--members {options.members}: a population has at least two")
    iteration = options.envs * options.unroll
    if iteration % options.minibatches or options.turn % iteration:
        parser.error(f"--minibatches must divide {iteration}, the steps of an iteration, which must divide --turn")
    return options


def main() -> None:
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    print(json.dumps(measure(options)), flush=True)


if __name__ == "__main__":
    main()
