"""The directory that a tool lists or searches, in the words that those tools share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import PathRefusedError
from .located import printable
from .near_names import near_names

if TYPE_CHECKING:
    from ..contract import ToolContext
    from .located import Located
    from .paths import Roots


async def no_such_directory(located: Located, context: ToolContext) -> PathRefusedError:
    """The refusal of a directory that is not there, with names near its own where the gate admits them."""
    return PathRefusedError(
        f"no such directory: {printable(located.path)} (root {printable(located.root)}). Check the path; a relative "
        f"one starts at the first root.{await near_names(located, context)}"
    )


def as_no_path_was_given(roots: Roots) -> str:
    """Why the directory of a call that named none is the first root; to be put behind its path."""
    which = "the root" if len(roots.given) == 1 else f"the first of {len(roots.given)} roots"
    return f" ({which}, as no path was given)"
