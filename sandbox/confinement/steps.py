"""The way that a path takes through the file system, link by link, as the kernel goes it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ..paths import lies_in

if TYPE_CHECKING:
    from collections.abc import Sequence

LINKS_MAX: Final = 40
"""As many as the kernel follows in one path."""


class TooManyLinksError(Exception):
    """A path leads through more links than the kernel follows, so nowhere."""


def first_step_in(path: str, places: Sequence[str]) -> str:
    """The first thing on the way of an absolute path that lies in one of the places; empty if none does.

    Whoever may write in a place chooses where such a path leads. What does not exist is gone through as it is written:
    it could be made. ``places`` are resolved.

    Raises:
        TooManyLinksError: the path leads nowhere.
    """
    pending = _parts(path)
    current = "/"
    links = 0
    while pending:
        name = pending.pop()
        if name == "..":
            current = os.path.dirname(current)
            continue
        step = os.path.join(current, name)
        if any(lies_in(step, place) for place in places):
            return step
        target = _link_text(step)
        if target is None:
            current = step
            continue
        links += 1
        if links > LINKS_MAX:
            raise TooManyLinksError(path)
        if target.startswith("/"):
            current = "/"
        pending.extend(_parts(target))
    return ""


def _parts(path: str) -> list[str]:
    """The names of a path, the first one last."""
    return [part for part in reversed(path.split("/")) if part not in {"", "."}]


def _link_text(path: str) -> str | None:
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return None
