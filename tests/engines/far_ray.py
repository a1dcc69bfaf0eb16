"""Run as a script: PPO whose actors are on a Ray cluster of two nodes. An actor is killed, then a node is removed."""

from __future__ import annotations

from collections.abc import Callable

import ray
from ray.cluster_utils import Cluster

from evolute.core.order import Order, Ref
from evolute.core.worker import Worker
from evolute.engines.crews import RayCrew
from evolute.envs.spec import ActorSpec, EnvSpec
from evolute.learners.ppo import ppo
from evolute.learners.ppo.free_turn import FreeTurn
from evolute.learners.ppo.settings import PPOSettings
from evolute.testing.memory import MemoryStates

put = FreeTurn._put
SETTINGS = {"envs": 4, "unroll": 8, "minibatches": 1, "widths": (8,), "epochs": 1, "pace": "free", "max_lag": 2, "devices": 2}


def main() -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    env = EnvSpec("tests.envs.uneven:Uneven", {"Uneven": {"delay": 0.004}}, actors=ActorSpec(4, 60.0, RayCrew(cluster.address)))
    made = ppo(env=env, settings=PPOSettings(**SETTINGS))
    worker, actors = Worker(made, MemoryStates()), made.runner.actors

    def turn(number: int, deed: Callable[[], None], deaths: int) -> None:
        """A turn in the middle of which something is done that costs so many actors their lives."""
        todo, before = [deed], actors.restarts

        def watched(turn, fragment) -> None:
            if todo:
                todo.pop()()
            if actors.restarts >= before + deaths:
                put(turn, fragment)  # before that there is nothing to learn from, so the turn goes on

        FreeTurn._put = watched
        start = Ref(0, number - 1) if number else None
        (report,) = worker.train([Order(0, number, {}, start, steps=96, seed=number)])
        assert not report.failed, report.error
        assert report.steps == 96
        assert report.metrics["restarts"] == deaths, report.metrics
        assert report.metrics["lag_max"] <= 2

    def nodes() -> list[str]:
        """Where the actors are."""
        where = lambda actor: ray.get_runtime_context().get_node_id()  # noqa: E731
        return ray.get([actor.handle.__ray_call__.remote(where) for actor in actors.team.link._actors.values()])

    turn(0, lambda: None, 0)
    turn(1, lambda: ray.kill(actors.team.link._actors[0].handle), 1)
    there = nodes()
    lost = there.count(second.node_id)
    assert 0 < lost < 4, there
    turn(2, lambda: cluster.remove_node(second), lost)
    assert second.node_id not in nodes()
    actors.close()
    cluster.shutdown()
    print("all is well")


if __name__ == "__main__":
    main()
