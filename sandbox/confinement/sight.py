"""Whether a confined command would see its workspace, its directory and its program; if not, it is not started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from ..errors import SandboxUnavailableError
from ..paths import lies_in
from ..quarantine.protected import resolved
from .layout import KERNEL_PLACES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .layout import Hidden, Layout


def require_usable_roots(roots: Sequence[str], hidden: Sequence[Hidden]) -> None:
    """The roots are still the directories that they were, and such as a sandbox can guard.

    Raises:
        SandboxUnavailableError: one of them is not.
    """
    for root in roots:
        if root == "/" or any(lies_in(root, place) for place in KERNEL_PLACES):
            raise SandboxUnavailableError(
                f"the command was not run: the workspace is {root}, and a sandbox could not keep anything from "
                "commands there; open a smaller directory"
            )
        if os.path.realpath(root) != root or not os.path.isdir(root):
            raise SandboxUnavailableError(f"the command was not run: the workspace {root} is no directory any more")
        around = next((each.path for each in hidden if lies_in(root, each.path)), None)
        if around is not None:
            raise SandboxUnavailableError(
                f"the command was not run: the workspace {root} lies in {around}, which is hidden from commands; "
                "take it out of deny_read, or open another directory"
            )


def require_visible(cwd: str, layout: Layout) -> None:
    """The directory that a command starts in is there inside.

    Raises:
        SandboxUnavailableError: it is not.
    """
    directory = resolved(cwd)
    if not directory or not os.path.isdir(directory):
        raise SandboxUnavailableError(f"the command was not run: {cwd} is no directory; name another one")
    where = _out_of_sight(directory, layout)
    if where == "hidden":
        raise SandboxUnavailableError(
            f"the command was not run: its directory {cwd} is hidden from commands; name another one"
        )
    if where == "temporary" and directory not in layout.temporary_places:
        raise SandboxUnavailableError(
            f"the command was not run: its directory {cwd} lies in the host's temporary directory, and confined "
            "commands have one of their own; name a directory of the workspace"
        )


def require_program(program: str, layout: Layout) -> None:
    """The program is there inside: what bwrap does not find would look as if the command had run and failed.

    Raises:
        SandboxUnavailableError: it is not.
    """
    where = _out_of_sight(resolved(program) or program, layout) if os.path.isabs(program) else ""
    if where:
        place = "is hidden from commands" if where == "hidden" else "lies in the host's temporary directory"
        raise SandboxUnavailableError(
            f"the command was not run: its shell {program} {place}, so that the sandbox does not see it; put another "
            "one first on PATH"
        )


def _out_of_sight(path: str, layout: Layout) -> Literal["", "hidden", "temporary"]:
    """Why a command does not see this resolved path of the host's; empty where it does."""
    if any(lies_in(path, each.path) for each in layout.hidden):
        return "hidden"
    is_covered = any(lies_in(path, place) for place in layout.temporary_places)
    return "temporary" if is_covered and not any(lies_in(path, place) for place in layout.writable) else ""
