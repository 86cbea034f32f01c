"""Finding where the text of a path is at this call: in a file on disk, or in a document that an editor has open.

Or, with a sandbox whose files are its own, in there and nowhere else: then no editor is asked for anything (E4).

The order is fixed: the path is resolved and opened, the gate admits it, and only then the editor is asked and
anything is read (E2). Before a commit the place is looked for again; when it is another one by now, the call starts
over, and when the editor went away it ends: nothing is ever written to disk behind an open document that has more
than the disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openbuffer.sandbox.port import routes_files_through_sandbox

from ..contract import Capability
from ..errors import ToolFailure
from .admitted import admitted_plan
from .disk_place import DiskPlace, OutdatedDocumentPlace
from .document_place import DocumentPlace
from .paths import Roots
from .sandbox_place import SandboxPlaces
from .standing import standing_of, why_no_change
from .text_place import Change, FileAccess, FoundPath, Landed, TextPlace

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openbuffer.editor_access.port import EditorProvider
    from openbuffer.sandbox.port import SandboxClient

    from ..contract import Plan, ToolContext
    from .located import Located
    from .paths import CwdInput

__all__ = ["CHANGES_DOCUMENTS", "Change", "FileAccess", "Landed", "Places", "TextPlace", "places_of"]

CHANGES_DOCUMENTS = (
    "If an attached editor has the file open, the open document is changed; it is saved where the editor can be asked "
    "to and the user has no unsaved changes in it, and the result says whether it was. If only the file on disk "
    "changed since it was opened, that text is changed; if both did, nothing is. "
)
"""What the description of a tool that changes files says of open documents, where an editor can be attached."""


def places_of(
    cwd: CwdInput, *, editor: EditorProvider | None, sandbox: SandboxClient | None, max_bytes: int
) -> Places | SandboxPlaces:
    """Where a tool finds its texts: in the sandbox, where its files are its own, else on this host.

    Raises:
        ToolDefinitionError: ``cwd`` is empty, relative or no path.
    """
    if sandbox is not None and routes_files_through_sandbox(sandbox):
        return SandboxPlaces(cwd, sandbox, max_bytes)
    return Places(Roots(cwd), editor)


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
        """A plan about ``file_path``, as ``admitted_plan`` makes it; ``fill`` gets the place of its text."""

        async def decide(located: Located, plan: Plan) -> None:
            place = await _place(FoundPath(self._roots, self._editor, file_path, located, accesses), context)
            plan.targets = place.targets
            await fill(place, plan)

        return await admitted_plan(lambda: self._roots.locate(file_path), accesses, context, decide)


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
