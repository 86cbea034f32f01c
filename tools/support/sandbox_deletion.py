"""Deleting a file, a link itself or an empty directory in a sandbox with files of its own (F11, S4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from openbuffer.sandbox.errors import (
    SandboxFileTooLargeError,
    SandboxIsDirectoryError,
    SandboxNotDirectoryError,
    SandboxNotTextError,
)
from openbuffer.sandbox.port import DeletesFiles, find_operation

from ..contract import BeforeState, Capability, FileChange, InvocationResult, Plan
from ..errors import PathRefusedError, PlanOutdatedError, TextRefusedError, ToolFailure
from .admitted import was_filled
from .blocking import run_blocking
from .hunks import line_hunks
from .paths import printable
from .replacing import Replacement
from .sandbox_change import SandboxChange, make_change, turn_at
from .sandbox_files import SandboxFiles, Seen, no_such_file, read_only, sandbox_trouble
from .sandbox_paths import SandboxRoots
from .sandbox_place import sandbox_targets
from .text_files import text_file

if TYPE_CHECKING:
    from typing import Literal

    from openbuffer.sandbox.port import SandboxClient

    from ..contract import CancellationToken, Hunk, ToolContext
    from .paths import CwdInput

_COUNTED_ENTRIES: Final = 1_000


class SandboxDeletions:
    """The two steps of a deletion; a text of up to ``max_bytes`` is part of the plan.

    Raises:
        ToolDefinitionError: ``cwd`` is empty, relative or no path.
    """

    def __init__(self, cwd: CwdInput, client: SandboxClient, max_bytes: int) -> None:
        self._roots = SandboxRoots(cwd)
        self._files = SandboxFiles(client)
        self._max_bytes = max_bytes

    async def plan(self, given: str, context: ToolContext) -> Plan:
        """Look at the path once the gate admits it.

        Raises:
            PathRefusedError: it can be no path there.
            PermissionDeniedError: the gate said no.
            ToolCancelledError: the call was cancelled, and would have been answered without a commit.
        """
        path = self._roots.absolute(given)
        plan = Plan(targets=sandbox_targets(path, (Capability.FILE_WRITE,)))
        await context.admit(plan.targets)

        async def look() -> None:
            deletion = await self._deletion(path, printable(path), given, context)
            plan.state = deletion
            plan.change = deletion.change

        await was_filled(plan, printable(path), context, look)
        return plan

    async def commit(self, plan: Plan, context: ToolContext) -> InvocationResult:
        """Compare once more, and delete.

        Raises:
            PlanOutdatedError: it is not what it was; nothing was deleted.
            ToolFailure: it was not deleted, or nobody knows; the text says which.
        """
        deletion: _Deletion = plan.state

        async def send() -> None:
            await self._files.delete(deletion.change.path)

        made = SandboxChange(
            client=self._files.client, shown=deletion.shown, look=lambda: self._look_again(deletion), send=send
        )
        try:
            await make_change(made, context.cancellation)
        finally:
            deletion.content = None
            if deletion.change.before is not None:
                deletion.change.before.let_go()
        return InvocationResult(success=True, output=_done(deletion))

    async def _deletion(self, path: str, shown: str, given: str, context: ToolContext) -> _Deletion:
        if find_operation(self._files.client, DeletesFiles) is None:
            raise ToolFailure(
                f"{shown}: the sandbox of this session has no operation delete, so nothing was deleted. Delete it by a "
                "command such as rm, where commands are offered."
            )
        if self._roots.is_root(path):
            raise PathRefusedError(
                f"{shown}: is a root of the workspace, and roots are not deleted. Name something inside it."
            )
        with sandbox_trouble(shown):
            deletion = await self._found(path, shown)
        _refuse(deletion, ends_in_slash=given.endswith("/"))
        if deletion.change.kind == "directory":
            await self._refuse_entries(deletion)
        if deletion.content is None:
            return deletion
        content = deletion.content
        hunks = await run_blocking(context.cancellation, lambda: _text_of(shown, content, context.cancellation))
        change = replace(deletion.change, hunks=hunks, before_bytes=len(content), before=BeforeState(content))
        return replace(deletion, change=change)

    async def _found(self, path: str, shown: str) -> _Deletion:
        """What has the path, and the content of a file if it can be had; raises the client's errors."""
        seen = await self._files.seen(path)
        if seen.kind == "missing":
            raise no_such_file(shown, self._roots.first)
        if seen.is_link:
            return _Deletion(shown=shown, seen=seen, change=_change(path, "link", 0))
        if seen.kind in {"directory", "other"}:
            return _Deletion(shown=shown, seen=seen, change=_change(path, "directory", 0))
        file = _Deletion(shown=shown, seen=seen, change=_change(path, "file", seen.size or 0))
        try:
            async with turn_at(self._files.client, shown):
                file.content = await self._content(path, seen)
        except SandboxIsDirectoryError:
            return replace(file, change=_change(path, "directory", 0))
        if file.content is None and seen.kind == "unknown":
            raise PathRefusedError(
                f"{shown}: nothing can be read there, and the sandbox of this session has no operation stat that would "
                "tell why: it may be missing, a link that leads nowhere, too large, or no text. Nothing was deleted. "
                "Look at it by a command such as ls -l, where commands are offered."
            )
        return file

    async def _content(self, path: str, seen: Seen) -> bytes | None:
        if seen.size is not None and seen.size > self._max_bytes:
            return None
        try:
            return await self._files.content(path, self._max_bytes)
        except (SandboxFileTooLargeError, SandboxNotTextError):
            return None

    async def _refuse_entries(self, deletion: _Deletion) -> None:
        with sandbox_trouble(deletion.shown):
            listing = await self._files.entries(deletion.change.path, _COUNTED_ENTRIES)
        if listing is None or not listing.entries:
            return  # where it cannot be listed, the sandbox itself refuses one that is not empty
        count = len(listing.entries)
        entries = "1 entry" if count == 1 else f"{count} entries" if listing.complete else f"over {count} entries"
        raise PathRefusedError(
            f"{deletion.shown}: is a directory with {entries}, and only an empty one is deleted. Nothing was deleted. "
            "Delete what is in it first, one by one."
        )

    async def _look_again(self, deletion: _Deletion) -> None:
        path, before = deletion.change.path, deletion.seen
        with sandbox_trouble(deletion.shown):
            try:
                now = await self._files.seen(path)
                content = None if deletion.content is None else await self._files.content(path, self._max_bytes)
            except (SandboxFileTooLargeError, SandboxIsDirectoryError, SandboxNotTextError, SandboxNotDirectoryError):
                raise _outdated(deletion) from None
        if content != deletion.content or (now.kind, now.is_link) != (before.kind, before.is_link):
            raise _outdated(deletion)
        if deletion.change.kind == "file" and deletion.content is None and now.stat != before.stat:
            raise _outdated(deletion)


@dataclass(slots=True, kw_only=True)
class _Deletion:
    """What a plan holds: ``content`` is that of a file that was fetched."""

    shown: str
    seen: Seen
    change: FileChange
    content: bytes | None = None


def _refuse(deletion: _Deletion, *, ends_in_slash: bool) -> None:
    shown, seen, kind = deletion.shown, deletion.seen, deletion.change.kind
    if seen.kind == "other" and not seen.is_link:
        raise PathRefusedError(
            f"{shown}: is a device, a FIFO or a socket; only files, links and empty directories are deleted."
        )
    if ends_in_slash and kind != "directory":
        what = "a link; leave the slash out to delete the link itself" if kind == "link" else "no directory"
        raise PathRefusedError(f"{shown}: the path ends in a slash, and this is {what}. Nothing was deleted.")
    if kind == "file" and seen.is_read_only:
        raise read_only(shown)


def _text_of(shown: str, content: bytes, token: CancellationToken) -> tuple[Hunk, ...]:
    try:
        utf8 = text_file(shown, content, token).utf8
    except TextRefusedError:
        return ()
    return line_hunks(utf8, [Replacement(0, len(utf8), b"")]) if utf8 else ()


def _change(path: str, kind: Literal["file", "link", "directory"], size: int) -> FileChange:
    return FileChange(path=path, hunks=(), before_bytes=size, after_bytes=None, kind=kind, in_sandbox=True)


def _outdated(deletion: _Deletion) -> PlanOutdatedError:
    return PlanOutdatedError(f"{deletion.shown}: was changed in the sandbox since the call began.")


def _done(deletion: _Deletion) -> str:
    shown, change = deletion.shown, deletion.change
    if change.kind == "link":
        return f"Deleted the link {shown} in the sandbox; what it led to was left alone."
    if change.kind == "directory":
        return f"Deleted {shown} in the sandbox: an empty directory."
    done = f"Deleted {shown} in the sandbox: a file of {change.before_bytes} bytes."
    if deletion.seen.stat is not None:
        return done
    return f"{done} Note: whether the path was a link is not known; of a link, the link alone is gone."
