"""What an event log keeps, and for how long. Pure data: a configuration is read before anything runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from ..limits import LOG_MAX_BYTES, LOG_MAX_DAYS

Kept: TypeAlias = Literal["observations", "rejections", "results", "before_states"]
"""What can be switched off.

``observations``: calls that only read, both ends of them. ``rejections``: calls that were refused before they acted.
``results``: what a call returned; that it ended, and how, is kept. ``before_states``: the whole of what was changed;
the changed lines are kept. What acts is always recorded, or it does not run (X2).
"""

KEPT: Final[tuple[Kept, ...]] = get_args(Kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings:
    """What is kept (``keep``), for how many ``days``, in how many bytes; ``redact`` are regular expressions.

    Whatever matches one of them is replaced before it is kept.
    """

    keep: frozenset[Kept] = frozenset(KEPT)
    days: int = LOG_MAX_DAYS
    max_bytes: int = LOG_MAX_BYTES
    redact: tuple[str, ...] = ()
