"""Finding where the text of a path is at this call: in a file on disk, or in a document that an editor has open.

The order is fixed: the path is resolved and opened, the gate admits it, and only then the editor is asked and
anything is read (E2). Before a commit the place is looked for again; when it is another one by now, the call starts
over, and when the editor went away it ends: nothing is ever written to disk behind an open document that has more
than the disk.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..contract import Capability, FileTarget, InvocationResult, Plan
from ..errors import ToolFailure
from .blocking import run_blocking
from .disk_place import DiskPlace, OutdatedDocumentPlace
from .document_place import DocumentPlace
from .located import UnresolvedPathError
from .standing import standing_of, why_no_change
from .text_place import Change, FileAccess, FoundPath, Landed, TextPlace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openbuffer.editor_access.port import EditorProvider

    from ..contract import ToolContext
    from .paths import Roots

__all__ = ["CHANGES_DOCUMENTS", "Change", "FileAccess", "Landed", "Places", "TextPlace"]

CHANGES_DOCUMENTS = (
    "If an attached editor has the file open, the open document is changed; it is saved where the editor can be asked "
    "to and the user has no unsaved changes in it, and the result says whether it was. If only the file on disk "
    "changed since it was opened, that text is changed; if both did, nothing is. "
)
"""What the description of a tool that changes files says of open documents, where an editor can be attached."""


class Places:
    """Finds the place of a text, for a tool with these roots. The editor is asked for at every call."""

    def __init__(self, roots: Roots, editor: EditorProvider | None) -> None:
        self._roots = roots
        self._editor = editor

    async def plan(
        self,
        file_path: str,
        accesses: tuple[FileAccess, ...],
        context: ToolContext,
        fill: Callable[[TextPlace, Plan], Awaitable[None]],
    ) -> Plan:
        """A plan about ``file_path``: its targets and descriptors, and what ``fill`` adds once the gate admits it.

        A failure after the admission settles the plan, which then still tells its targets.

        Raises:
            PathRefusedError: the path is outside of the roots.
            PermissionDeniedError: the gate said no; nothing was looked at.
        """
        with ExitStack() as resources:
            try:
                located = await run_blocking(context.cancellation, lambda: self._roots.locate(file_path))
            except UnresolvedPathError as refusal:
                stuck = tuple(FileTarget(path=refusal.place, access=access) for access in accesses)
                await context.admit(stuck)
                return Plan(targets=stuck, settled=InvocationResult.failed(str(refusal)))
            resources.callback(located.close)
            found = FoundPath(self._roots, self._editor, file_path, located, accesses)
            targets = found.targets("undecided", exists=located.status is not None)
            await context.admit(targets)
            plan = Plan(targets=targets)
            try:
                place = await _place(found, context)
                plan.targets = place.targets
                await fill(place, plan)
            except ToolFailure as failure:
                plan.settled = InvocationResult.failed(str(failure))
                return plan
            plan.resources = resources.pop_all()
            return plan


async def _place(found: FoundPath, context: ToolContext) -> TextPlace:
    changes = Capability.FILE_WRITE in found.accesses
    # Who only reads has it told at the commit, which is the moment that counts.
    standing = await standing_of(found, context.cancellation, flush=changes)
    if standing is None:
        return DiskPlace(found)
    if standing.verdict.truth == "disk":
        return OutdatedDocumentPlace(found, standing)
    if changes and not standing.verdict.is_open_to_change:
        raise ToolFailure(why_no_change(found.shown, standing))
    return DocumentPlace(found, standing)
