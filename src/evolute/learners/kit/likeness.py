"""Whether one policy can take up where another left off, or be taught by it, as far as their descriptions tell.

These are plain values, so asking needs no JAX.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Description = Mapping[str, Any]


def check_spaces(theirs: Description, ours: Description, who: tuple[str, str]) -> None:
    """Raise ValueError unless both policies observe and do the same; `who` are they, in words."""
    them, us = who
    seen, sees = (math.prod(one["network"]["obs"]) for one in (theirs, ours))
    if seen != sees:
        raise ValueError(
            f"{them} observes {seen} numbers and {us} {sees}: both must be trained in environments with the same observations"
        )
    done, does = ({name: value for name, value in one["actions"].items() if name != "std"} for one in (theirs, ours))
    if done != does:
        raise ValueError(
            f"{them}'s actions are {done} and {us}'s {does}: both must be trained in environments with the same "
            "actions, squashed in both or in neither"
        )


def check_teacher(teacher: Description, student: Description) -> None:
    """Raise ValueError if a student cannot imitate a teacher: it looks at each step of a rollout alone, without memory."""
    if teacher["network"].get("memory"):
        raise ValueError(f"the teacher's network has memory (ppo.memory={teacher['network']['memory']}), and cannot teach")
    if student["network"].get("memory"):
        raise ValueError("networks with memory cannot be taught: set ppo.memory=0")
    check_spaces(teacher, student, ("the teacher", "the student"))
