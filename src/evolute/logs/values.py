"""What logs write of a turn: its numbers by name, and what happened at it."""

from __future__ import annotations

from evolute.core.population import Turn


def scalars(turn: Turn) -> dict[str, float]:
    """The numbers of a turn by name: its score, metrics and numeric hyper-parameters."""
    score = {} if turn.score is None else {"score": turn.score}
    metrics = {f"metrics/{name}": value for name, value in turn.report.metrics.items() if name != "score"}
    hparams = {f"hparams/{name}": value for name, value in turn.order.hparams.items()}
    numbers = {
        name: float(value)
        for name, value in {**metrics, **hparams}.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
    return {**score, **numbers, "seconds": turn.report.seconds}


def event_text(turn: Turn) -> str | None:
    """What happened at a turn besides training, if anything: a failure, or weights taken over."""
    start, member = turn.order.start, turn.ref.member
    if turn.failed:
        return f"member {member} failed turn {turn.ref.turn}: {turn.report.reason}"
    if start is not None and start.member != member:
        values = ", ".join(f"{name}={value}" for name, value in turn.order.hparams.items())
        return f"member {member} took over the weights of member {start.member} at turn {turn.ref.turn}: {values}"
    return None
