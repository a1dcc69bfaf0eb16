"""The agent that a command is about."""

from __future__ import annotations

from evolute.runs.result import Agent, Run


def chosen(run: Run, member: int | None) -> Agent:
    """The member that was asked for, or the best."""
    return run.best if member is None else run.member(member)
