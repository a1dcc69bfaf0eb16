"""Policies that can be written to files for use without Evolute."""

from __future__ import annotations

from evolute.config.error import ConfigError
from evolute.core.protocols import ExportablePolicy
from evolute.runs.result import Agent


def exportable(agent: Agent) -> ExportablePolicy:
    """The agent's policy; a ConfigError if its learner has none, or one that cannot be written to a file."""
    try:
        policy = agent.policy
    except TypeError as error:
        raise ConfigError(str(error)) from error
    if not isinstance(policy, ExportablePolicy):
        raise ConfigError("the policies of this learner cannot be exported")
    return policy
