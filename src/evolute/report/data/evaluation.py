"""What the evaluation after a run says, for every view of it: `show`, the summary, the report and the dashboard."""

from __future__ import annotations

from collections.abc import Iterator

from evolute.core.order import Json, Ref
from evolute.core.ranking import is_number
from evolute.report.formats import number
from evolute.store.evaluation import WAYS, Evaluation, differ, noise, ways
from evolute.store.meta import RunMeta

MUCH = 0.2
"""A score and a return are far apart if they differ by more than noise, and by this share of the larger."""


def evaluation_data(meta: RunMeta, ref: Ref | None) -> dict[str, Json]:
    """The evaluation of the best, all others, and both in words; `ref` is the best state."""
    found = meta.evaluation if meta.evaluation is not None and meta.evaluation.ref == ref else None
    return {
        "evaluation": None if found is None else vars(found),
        "evaluations": [] if found is None else [vars(one) for one in meta.evaluations],
        "evaluated": [] if found is None else list(_sentences(found, meta)),
    }


def score_hints(meta: RunMeta, ref: Ref, score: float | None) -> Iterator[str]:
    """What to do about the best's score if it is far from its return in fresh episodes."""
    found = meta.evaluation
    if found is None or found.ref != ref or score is None or not is_number(score) or meta.setting("fitness") != "training":
        return
    apart = abs(score - found.mean)
    if apart > noise(found, found) and apart > MUCH * max(abs(score), abs(found.mean)):
        sampled = f" {meta.learner}.greedy=false" if found.greedy is False else ""
        yield (
            f"the best had a score of {number(score)} in training, and {number(found.mean)} in fresh episodes; "
            f"{meta.learner}.fitness=evaluation{sampled} scores members by such episodes"
        )
    elif found.greedy is False:
        yield (
            "the best does better with sampled actions, as in training, than with the likeliest ones; if you want those, "
            f"{meta.learner}.fitness=evaluation scores members by them"
        )


def _sentences(found: Evaluation, meta: RunMeta) -> Iterator[str]:
    """The winner's return, that of its other way of acting if it differs, and those of the others that were evaluated."""
    yield f"evaluated: {_figure(found)} over {found.episodes} fresh episodes {WAYS[found.greedy]}".rstrip()
    for other in ways(meta.evaluations, found.ref)[1:]:
        if differ(found, other):
            yield f"{WAYS[other.greedy]} instead: {_figure(other)}"
    refs = dict.fromkeys(one.ref for one in meta.evaluations if one.ref != found.ref)
    others = [ways(meta.evaluations, ref)[0] for ref in refs]
    if any(one.mean != found.mean for one in others):
        named = ", ".join(f"member {one.member} {number(one.mean)}" for one in others)
        yield f"chosen among {len(others) + 1} by that return; the others: {named}"


def _figure(one: Evaluation) -> str:
    return f"{number(one.mean)} ± {number(one.deviation)}"
