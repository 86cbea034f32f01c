"""The directory that a tool lists or searches, in the words that those tools share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..errors import PathRefusedError
from .located import printable
from .near_names import near_names
from .walk import PRUNED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..contract import ToolContext, Unreadable
    from .located import Located
    from .paths import Roots


EDITOR_SENTENCE: Final = (
    "The disk is searched; the output names the open documents of an attached editor that have unsaved text below the "
    "directory. "
)
"""In the description of a tool that searches, where there can be an editor (E5)."""


def named_on_the_way(located: Located, names: Iterable[str] = ()) -> frozenset[str]:
    """Directories that are else not looked into, whose names stand in the path below the root or in ``names`` (F7)."""
    return PRUNED.intersection((*located.path.removeprefix(located.root).split("/"), *names))


async def no_such_directory(located: Located, context: ToolContext) -> PathRefusedError:
    """The refusal of a directory that is not there, with names near its own where the gate admits them."""
    return PathRefusedError(
        f"no such directory: {printable(located.path)} (root {printable(located.root)}). Check the path; a relative "
        f"one starts at the first root.{await near_names(located, context)}"
    )


def unreadable_below(located: Located, context: ToolContext) -> Unreadable | None:
    """What a search that begins there leaves out because rules keep it from being read (X4)."""
    return None if context.unreadable is None else context.unreadable.within(located.path)


def as_no_path_was_given(roots: Roots) -> str:
    """Why the directory of a call that named none is the first root; to be put behind its path."""
    which = "the root" if len(roots.given) == 1 else f"the first of {len(roots.given)} roots"
    return f" ({which}, as no path was given)"
