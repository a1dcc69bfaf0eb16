"""Evolution of reward channels in a game that runs by itself."""

import numpy as np

import evolute

FIRST = (0.001, 0.01, 0.3, 1.0)


def test_members_compared_by_wins_turn_down_a_reward_that_misleads(tmp_path):
    """With a large weight it pays to rest, and nobody who rests ever wins; without evolution these weights stay as they are."""
    run = evolute.run(
        "ppo",
        env="tests.games.small_games:Tempting",
        score="win",
        population=4,
        interval=4096,
        stop={"turns": 8},
        seed=1,
        folder=tmp_path / "run",
        display="none",
        init={"hparams": [{"reward.rested": weight} for weight in FIRST]},
        reward={"rested": "log[1e-3, 1]"},
        ppo={"envs": 16, "unroll": 32, "minibatches": 4, "lr": 3e-3, "entropy": 0.01, "widths": [16]},
        pbt={"resample": 0.0},
        evaluation={"members": 0},
    )
    weights = [run.member(slot).hparams["reward.rested"] for slot in range(4)]
    assert np.mean(weights) < 0.2 * np.mean(FIRST)
    assert run.best.score > 0.9
    first = [turn for member in run.population.members for turn in member.history() if turn.order.turn == 0]
    assert {turn.order.hparams["reward.rested"] for turn in first} == set(FIRST)
