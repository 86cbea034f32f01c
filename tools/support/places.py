"""Finding where the text of a path is at this call: in a file on disk, or in a document that an editor has open.

The order is fixed: the path is resolved and opened, the gate admits it, and only then the editor is asked and
anything is read (E2). Before a commit the place is looked for again; when it is another one by now, the call starts
over, and when the editor went away it ends: nothing is ever written to disk behind an open document.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from ..contract import FileTarget, InvocationResult, Plan, admit_all
from ..errors import ToolFailure
from .blocking import run_blocking
from .disk_place import DiskPlace
from .document_place import DocumentPlace
from .located import UnresolvedPathError
from .text_place import Change, FileAccess, FoundPath, Landed, TextPlace

if TYPE_CHECKING:
    from collections.abc import Callable

    from openbuffer.editor_access.port import EditorProvider

    from ..contract import ToolContext
    from .paths import Roots

__all__ = ["Change", "FileAccess", "Landed", "Places", "TextPlace"]


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
        fill: Callable[[TextPlace, Plan], None],
        *,
        fill_blocks: bool,
    ) -> Plan:
        """A plan about ``file_path``: its targets and descriptors, and what ``fill`` adds once the gate admits it.

        ``fill`` is called in a thread where it blocks. A failure after the admission settles the plan, which then
        still tells its targets.

        Raises:
            PathRefusedError: the path is outside of the roots.
            PermissionDeniedError: the gate said no; nothing was looked at.
        """
        token = context.cancellation
        if context.admit is admit_all and self._editor is None:
            # Nobody has to be asked on the event loop, and each way to a thread and back takes its time.
            return await run_blocking(token, lambda: self._plan_alone(file_path, accesses, fill))
        with ExitStack() as resources:
            try:
                found = await run_blocking(token, lambda: self._find(file_path, accesses))
            except UnresolvedPathError as refusal:
                plan = _stuck(refusal, accesses)
                await context.admit(plan.targets)
                return plan
            resources.callback(found.located.close)
            plan = Plan(targets=found.targets("undecided", exists=found.located.status is not None))
            await context.admit(plan.targets)
            try:
                place = _place(found)
            except ToolFailure as failure:
                plan.settled = InvocationResult.failed(str(failure))
                return plan
            if fill_blocks:
                return await run_blocking(token, lambda: _filled(place, fill, resources))
            return _filled(place, fill, resources)

    def _plan_alone(
        self, file_path: str, accesses: tuple[FileAccess, ...], fill: Callable[[TextPlace, Plan], None]
    ) -> Plan:
        with ExitStack() as resources:
            try:
                found = self._find(file_path, accesses)
            except UnresolvedPathError as refusal:
                return _stuck(refusal, accesses)
            resources.callback(found.located.close)
            return _filled(DiskPlace(found), fill, resources)

    def _find(self, file_path: str, accesses: tuple[FileAccess, ...]) -> FoundPath:
        return FoundPath(self._roots, self._editor, file_path, self._roots.locate(file_path), accesses)


def _stuck(refusal: UnresolvedPathError, accesses: tuple[FileAccess, ...]) -> Plan:
    targets = tuple(FileTarget(path=refusal.place, access=access) for access in accesses)
    return Plan(targets=targets, settled=InvocationResult.failed(str(refusal)))


def _filled(place: TextPlace, fill: Callable[[TextPlace, Plan], None], resources: ExitStack) -> Plan:
    """The plan about the place; it owns the resources unless the place turned out to be of no use."""
    plan = Plan(targets=place.targets)
    try:
        fill(place, plan)
    except ToolFailure as failure:
        plan.settled = InvocationResult.failed(str(failure))
    else:
        plan.resources = resources.pop_all()
    return plan


def _place(found: FoundPath) -> TextPlace:
    editor, document = found.open_document()
    if editor is not None and document is not None:
        return DocumentPlace(found, editor, document)
    return DiskPlace(found)
