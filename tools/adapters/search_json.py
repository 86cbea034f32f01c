"""Reads members out of JSON that a provider of searches sent: whatever it is, it is what is asked for or nothing."""

from __future__ import annotations

from typing import Any, Final, cast

from ..support.found_text import words_of

RESULTS_MAX: Final = 200
"""Results of one answer that are looked at."""

_TOLD_CHARS: Final = 200


def member(data: Any, *names: str) -> Any:
    """What lies at this way through objects; None where there is no such thing."""
    for name in names:
        data = cast("dict[str, Any]", data).get(name) if isinstance(data, dict) else None
    return data


def items(data: Any) -> list[Any]:
    """The first items of a list; none of anything else."""
    return cast("list[Any]", data)[:RESULTS_MAX] if isinstance(data, list) else []


def text(data: Any, *names: str) -> str:
    """The text at this way; "" where there is none."""
    found = member(data, *names)
    return found if isinstance(found, str) else ""


def words(data: Any, *names: str) -> str:
    """The same as a few words that can be told in a message."""
    return words_of(member(data, *names), _TOLD_CHARS)
