"""Delete: one file, one link itself or one empty directory, and nothing recursively (F11).

The last name of the path is not followed where it is a link. What an editor has open and unsaved is not deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import anyio.from_thread
from openbuffer.sandbox.port import routes_files_through_sandbox
from pydantic import BaseModel, ConfigDict, Field

from ..contract import (
    BeforeState,
    Capability,
    FileChange,
    FunctionTool,
    InvocationResult,
    Plan,
    ToolContext,
    create_builtin_tool,
)
from ..errors import PathRefusedError, TextRefusedError
from ..limits import FILE_MAX_BYTES
from ..support.admitted import admitted_plan
from ..support.blocking import run_blocking
from ..support.deleted_documents import (
    FoundEntry,
    OpenDocumentOf,
    opened_through,
    refuse_unsaved_below,
    words_of_missing,
)
from ..support.deleting import count_entries, delete_directory, delete_file, delete_link, link_target
from ..support.file_bytes import file_bytes
from ..support.hunks import line_hunks
from ..support.located import special_kind
from ..support.near_names import near_names
from ..support.paths import CwdInput, Roots, printable
from ..support.replacing import Replacement
from ..support.sandbox_deletion import SandboxDeletions
from ..support.sandbox_words import IN_SANDBOX, PATHS_IN_SANDBOX
from ..support.text_files import text_file
from ..support.text_place import refuse_cancelled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openbuffer.editor_access.port import EditorProvider
    from openbuffer.sandbox.port import SandboxClient

    from ..contract import CancellationToken, Hunk
    from ..support.located import Located


class DeleteInput(BaseModel):
    """Arguments of Delete."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(description="Absolute path of the file, link or empty directory.")


def create_delete_tool(
    *,
    cwd: CwdInput,
    editor: EditorProvider | None = None,
    sandbox: SandboxClient | None = None,
    max_bytes: int = FILE_MAX_BYTES,
    description: str | None = None,
) -> FunctionTool:
    """Build the Delete tool for one root or several.

    ``editor`` is asked at every call for the editor that is attached then. A ``sandbox`` with files of its own carries
    everything, ``cwd`` is a directory in there, and no editor is asked; any other changes nothing. A text of up to
    ``max_bytes`` is part of the plan; a larger file is deleted as well, and compared by its size and times.

    Raises:
        ToolDefinitionError: ``cwd`` is empty, relative or no path.
    """
    if sandbox is not None and routes_files_through_sandbox(sandbox):
        return _in_sandbox(SandboxDeletions(cwd, sandbox, max_bytes), description)
    roots = Roots(cwd)

    async def prepare(parsed: DeleteInput, context: ToolContext) -> Plan:
        async def fill(located: Located, plan: Plan) -> None:
            found = FoundEntry(roots, editor, parsed.path, located, (Capability.FILE_WRITE,))
            plan.targets = found.targets("disk", exists=located.kind != "missing")
            deletion = await _deletion(found, max_bytes, context)
            plan.state = deletion
            plan.change = deletion.change

        return await admitted_plan(lambda: roots.locate_entry(parsed.path), (Capability.FILE_WRITE,), context, fill)

    return _create(prepare, _commit, description if description is not None else _description(editor))


def _in_sandbox(deletions: SandboxDeletions, description: str | None) -> FunctionTool:
    async def prepare(parsed: DeleteInput, context: ToolContext) -> Plan:
        return await deletions.plan(parsed.path, context)

    return _create(prepare, deletions.commit, description if description is not None else _SANDBOX_DESCRIPTION)


def _create(
    prepare: Callable[[DeleteInput, ToolContext], Awaitable[Plan]],
    commit: Callable[[Plan, ToolContext], Awaitable[InvocationResult]],
    description: str,
) -> FunctionTool:
    return create_builtin_tool(
        name="Delete",
        description=description,
        model=DeleteInput,
        prepare=prepare,
        commit=commit,
        capabilities=frozenset({Capability.FILE_WRITE}),
    )


_SANDBOX_DESCRIPTION: Final = (
    f"Deletes one file, one symbolic link or one empty directory {IN_SANDBOX}. Of a link, the link itself is deleted "
    "and never what it leads to. Nothing is deleted recursively: a directory with entries is refused. A root, a "
    f"read-only file, a device, a FIFO and a socket are refused. {PATHS_IN_SANDBOX}"
)


def _description(editor: EditorProvider | None) -> str:
    document = (
        "Refused, too, is a file that an attached editor has open with unsaved changes, or with a text of which it is "
        "not known how it and the file belong together. An open document without them stays open, and the result says "
        "so. "
        if editor
        else ""
    )
    return (
        "Deletes one file, one symbolic link or one empty directory below the workspace roots. Of a link, the link "
        "itself is deleted and never what it leads to. Nothing is deleted recursively: a directory with entries is "
        "refused, and their number told. A root, a read-only file, a device, a FIFO and a socket are refused. "
        f"{document}A relative path starts at the first root."
    )


@dataclass(slots=True, kw_only=True)
class _Deletion:
    """What a plan of Delete holds: ``content`` is that of a file that was loaded, ``target`` a link's."""

    found: FoundEntry
    document: OpenDocumentOf | None = None
    content: bytes | None = None
    target: str = ""
    change: FileChange
    remarks: tuple[str, ...] = ()


async def _deletion(found: FoundEntry, max_bytes: int, context: ToolContext) -> _Deletion:
    located = found.located
    if located.kind == "missing":
        raise await _missing(found, context)
    _refuse(found)
    if located.kind == "link":
        target = await run_blocking(context.cancellation, lambda: link_target(located))
        hunks = _one_hunk(target.encode("utf-8", "backslashreplace"))
        change = _change(located, hunks, kind="link")
        return _Deletion(found=found, target=target, change=change, remarks=await opened_through(found, context))
    document = await OpenDocumentOf.look(found, context)
    if located.kind == "directory":
        await run_blocking(context.cancellation, lambda: _refuse_entries(found))
        refuse_unsaved_below(found)
        return _Deletion(found=found, document=document, change=_change(located, (), kind="directory"))
    content, hunks = await run_blocking(context.cancellation, lambda: _before(found, max_bytes, context.cancellation))
    change = _change(located, hunks, kind="file", before=None if content is None else BeforeState(content))
    return _Deletion(found=found, document=document, content=content, change=change, remarks=document.remarks())


async def _missing(found: FoundEntry, context: ToolContext) -> PathRefusedError:
    told = await words_of_missing(found, context) or await near_names(found.located, context)
    try:
        found.located.require_file()
    except PathRefusedError as refusal:
        return PathRefusedError(f"{refusal}{told}")
    raise AssertionError("unreachable: nothing is there")


def _refuse(found: FoundEntry) -> None:
    located = found.located
    if not located.name or found.roots.is_root(located.path):
        raise PathRefusedError(
            f"{found.shown}: is a root of the workspace, and roots are not deleted. Name something inside it."
        )
    if located.kind not in {"file", "link", "directory"}:
        raise PathRefusedError(
            f"{found.shown}: is {special_kind(located.status)}; only files, links and empty directories are deleted."
        )
    if found.file_path.endswith("/") and located.kind != "directory":
        what = "a link; leave the slash out to delete the link itself" if located.kind == "link" else "no directory"
        raise PathRefusedError(f"{found.shown}: the path ends in a slash, and this is {what}. Nothing was deleted.")
    if located.kind == "file":
        located.require_file()


def _refuse_entries(found: FoundEntry) -> None:
    count = count_entries(found.located)
    if count:
        entries = "1 entry" if count == 1 else f"{count} entries"
        raise PathRefusedError(
            f"{found.shown}: is a directory with {entries}, and only an empty one is deleted. Nothing was deleted. "
            "Delete what is in it first, one by one."
        )


def _before(found: FoundEntry, max_bytes: int, token: CancellationToken) -> tuple[bytes | None, tuple[Hunk, ...]]:
    """The content to compare with later, and its text for the record; nothing where it is too large."""
    located = found.located
    assert located.status is not None
    if located.status.st_size > max_bytes:
        return None, ()
    content = file_bytes(located.require_file(), found.shown, max_bytes)
    try:
        return content, _one_hunk(text_file(found.shown, content, token).utf8)
    except TextRefusedError:
        return content, ()


def _one_hunk(utf8: bytes) -> tuple[Hunk, ...]:
    return line_hunks(utf8, [Replacement(0, len(utf8), b"")]) if utf8 else ()


def _change(
    located: Located,
    hunks: tuple[Hunk, ...],
    *,
    kind: Literal["file", "link", "directory"],
    before: BeforeState | None = None,
) -> FileChange:
    assert located.status is not None
    size = 0 if kind == "directory" else located.status.st_size
    return FileChange(path=located.path, hunks=hunks, before_bytes=size, after_bytes=None, kind=kind, before=before)


async def _commit(plan: Plan, context: ToolContext) -> InvocationResult:
    deletion: _Deletion = plan.state
    if deletion.document is not None:
        await deletion.document.refresh()
    notes = await run_blocking(context.cancellation, lambda: _delete(deletion, context.cancellation))
    told = [_done(deletion), *(f"Note: {note}." for note in (*notes, *deletion.remarks))]
    return InvocationResult(success=True, output=" ".join(told))


def _delete(deletion: _Deletion, token: CancellationToken) -> tuple[str, ...]:
    found, located = deletion.found, deletion.found.located

    def last_look() -> None:
        if found.editor is not None:
            anyio.from_thread.run_sync(_look_again, deletion)

    refuse_cancelled(found.shown, token)
    try:
        found.check(same_file=True)
        if located.kind == "link":
            return delete_link(located, deletion.target, token=token)
        if located.kind == "directory":
            return delete_directory(located, token=token, last_look=last_look)
        return delete_file(located, deletion.content, token=token, last_look=last_look)
    finally:
        deletion.content = None
        if deletion.change.before is not None:
            deletion.change.before.let_go()
        located.retire()


def _look_again(deletion: _Deletion) -> None:
    """Waiting for another writer can take seconds, in which something may have been opened or typed."""
    assert deletion.document is not None
    deletion.document.look_again()
    if deletion.found.located.kind == "directory":
        refuse_unsaved_below(deletion.found)


def _done(deletion: _Deletion) -> str:
    path, change = deletion.found.shown, deletion.change
    if change.kind == "link":
        return f"Deleted the link {path}, which led to {printable(deletion.target)}; what it led to was left alone."
    if change.kind == "directory":
        return f"Deleted {path}: an empty directory."
    return f"Deleted {path}: a file of {change.before_bytes} bytes."
