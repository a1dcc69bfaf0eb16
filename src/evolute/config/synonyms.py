"""What a misspelt key meant: other libraries' names for the same setting, then similar words in the same section."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

SYNONYMS = (
    ("lr", "learning_rate", "step_size"),
    ("discount", "gamma"),
    ("gae_lambda", "gae", "lam", "lambda", "lmbda"),
    ("clip", "clip_range", "clip_coef", "clip_eps", "clip_epsilon", "clip_param", "cliprange"),
    ("value_clip", "clip_range_vf", "clip_vloss", "vf_clip_param"),
    ("entropy", "ent_coef", "ent_weight", "entropy_coef", "entropy_coeff", "entropy_cost", "entropy_weight"),
    ("value_weight", "vf_coef", "value_coef", "vf_loss_coeff", "value_loss_coef", "critic_coef"),
    ("max_grad_norm", "grad_clip", "grad_norm", "clip_grad", "clip_grad_norm", "gradient_clip"),
    ("adam_eps", "eps", "epsilon", "adam_epsilon"),
    ("unroll", "n_steps", "num_steps", "rollout", "rollout_length", "rollout_steps", "unroll_length", "train_batch_size"),
    ("epochs", "n_epochs", "num_epochs", "update_epochs", "noptepochs", "num_sgd_iter"),
    ("minibatches", "n_minibatches", "num_minibatches", "nminibatches", "batch_size", "minibatch_size"),
    ("envs", "n_envs", "num_envs"),
    ("widths", "net_arch", "hidden", "hidden_sizes", "hidden_layers", "hidden_dims", "layers", "width", "hiddens"),
    ("activation", "activation_fn", "nonlinearity", "act"),
    ("memory", "gru", "lstm", "rnn", "recurrent", "use_lstm"),
    ("network", "policy", "torso", "encoder"),
    ("normalize_obs", "norm_obs", "obs_norm", "normalize_observations", "normalize"),
    ("normalize_reward", "norm_reward", "reward_norm", "normalize_rewards", "normalize"),
    ("normalize_advantage", "norm_adv", "adv_norm", "normalize_advantages"),
    ("anneal", "anneal_lr", "lr_schedule", "lr_decay"),
    ("buffer_size", "replay_size", "replay_buffer_size", "memory_size"),
    ("tau", "polyak"),
    ("quantile", "quantile_fraction", "truncation"),
    ("population", "population_size", "pop_size", "members", "n_agents", "num_agents", "num_samples"),
    ("interval", "perturbation_interval", "ready_interval", "eval_interval"),
    ("stop.steps", "steps", "total_timesteps", "timesteps", "total_steps", "max_steps", "budget"),
    ("stop.turns", "turns", "iterations", "generations", "n_iterations", "max_turns"),
    ("stop.time", "time", "time_limit", "max_time", "timeout"),
    ("stop.score", "target", "target_score", "reward_threshold"),
    ("stop.total", "population_steps", "total_env_steps", "num_env_steps_sampled_lifetime"),
    ("stop.patience", "early_stopping", "early_stop", "max_no_improvement_evals", "no_improvement"),
    ("wrap.frame_stack", "frame_stack", "framestack", "num_stack"),
    ("wrap.action_repeat", "action_repeat", "frame_skip", "frameskip"),
    ("workers", "n_workers", "num_workers", "n_jobs", "processes"),
    ("env", "env_id", "env_name", "environment", "task"),
    ("strategy", "scheduler", "search_alg"),
    ("learner", "algo", "algorithm", "agent", "trainable"),
    ("log", "logger", "logging", "track"),
    ("score", "metric", "objective", "fitness"),
)
"""Names of one setting in this and other libraries. A setting is found from any of them, whichever a plug-in has."""

PLAYS = "which seats of a game the member plays is set in the section of the game, as in Pursuit.plays=hunter"
ELSEWHERE = {"seats": PLAYS, "seat": PLAYS, "plays": PLAYS}
"""What is set in another section, whose name depends on the run."""


def meant(key: str, known: Sequence[str]) -> list[str]:
    """The known keys that this one probably meant, the likeliest first."""
    section, _, name = key.rpartition(".")
    inside = [other for other in known if other.rpartition(".")[0] == section]
    same = [other for other in inside if _synonyms(name, other) or _synonyms(key, other)]
    if not same and not section:  # a setting of a plug-in without its section
        same = [other for other in known if other.rpartition(".")[2] == name] or [
            other for other in known if _synonyms(name, other.rpartition(".")[2])
        ]
    if same or _names_something(name):
        return same
    by_name = {other.rpartition(".")[2]: other for other in inside}
    similar = difflib.get_close_matches(name, by_name, n=1, cutoff=0.6)
    return [by_name[other] for other in similar] or difflib.get_close_matches(key, known, n=1, cutoff=0.8)


def _synonyms(name: str, other: str) -> bool:
    last = other.rpartition(".")[2]
    return any(name in names and (other in names or last in names) for names in SYNONYMS)


def _names_something(name: str) -> bool:
    """Whether this is a word of the field, which nobody writes by mistake for a similar one."""
    return any(name in names for names in SYNONYMS)


def hint(key: str, known: Sequence[str]) -> str:
    """The end of an error about an unknown key: what was meant, or what there is."""
    if found := meant(key, known):
        return f"; did you mean {' or '.join(map(repr, found[:2]))}?"
    section, _, name = key.rpartition(".")
    if name in ELSEWHERE:
        return f"; {ELSEWHERE[name]}"
    inside = [other for other in known if section and other.startswith(f"{section}.")] or list(known)
    return f"; there are {', '.join(inside)}" if inside else ""
