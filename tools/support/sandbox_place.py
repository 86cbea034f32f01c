"""A file in a sandbox with files of its own, there or to be created; everything of it goes through the client (S4).

The file is looked at and read as a whole: to show it at the moment of the commit, to change it before the gate sees
the change, and once more right before the new content is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openbuffer.sandbox.errors import SandboxFileTooLargeError

from ..contract import BeforeState, Capability, FileTarget, Plan
from ..errors import PlanOutdatedError, ReadByteLimitError, ReadCancelledError, TextRefusedError, ToolFailure
from .admitted import was_filled
from .blocking import run_blocking
from .encodings import UTF8, slices
from .file_bytes import over_budget
from .paths import printable
from .sandbox_change import SandboxChange, make_change, turn_at
from .sandbox_files import SandboxFiles, Seen, no_regular_file, no_such_file, read_only, sandbox_trouble
from .sandbox_paths import SandboxRoots
from .text_files import TextFile, text_file
from .text_place import Change, FileAccess, Landed, in_its_words

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from openbuffer.sandbox.port import SandboxClient

    from ..contract import CancellationToken, ToolContext
    from .encodings import Pieces
    from .paths import CwdInput
    from .replacing import Replacement
    from .text_place import TextPlace


class SandboxPlaces:
    """Finds the place of a text inside a sandbox; ``max_bytes`` is the most that is read of a file.

    Raises:
        ToolDefinitionError: ``cwd`` is empty, relative or no path.
    """

    def __init__(self, cwd: CwdInput, client: SandboxClient, max_bytes: int) -> None:
        self._roots = SandboxRoots(cwd)
        self._files = SandboxFiles(client)
        self._max_bytes = max_bytes

    async def plan(
        self,
        file_path: str,
        accesses: tuple[FileAccess, ...],
        context: ToolContext,
        fill: Callable[[TextPlace, Plan], Awaitable[None]],
    ) -> Plan:
        """A plan about ``file_path``; the gate admits it before the sandbox is asked for anything.

        Raises:
            PathRefusedError: it can be no path of a file.
            PermissionDeniedError: the gate said no.
            ToolCancelledError: the call was cancelled, and would have been answered without a commit.
        """
        path = self._roots.file(file_path)
        plan = Plan(targets=sandbox_targets(path, accesses))
        await context.admit(plan.targets)

        async def place() -> None:
            found = SandboxPlace(self._files, self._roots, path, accesses)
            await found.find(self._max_bytes, loads=Capability.FILE_WRITE in accesses)
            plan.targets = found.targets
            await fill(found, plan)

        await was_filled(plan, printable(path), context, place)
        return plan


def sandbox_targets(path: str, accesses: Sequence[FileAccess], *, exists: bool = True) -> tuple[FileTarget, ...]:
    """One target per access."""
    return tuple(FileTarget(path=path, access=access, exists=exists, place="sandbox") for access in accesses)


class SandboxPlace:
    """Implements ``TextPlace`` for a file in a sandbox. Its content is fetched by the coroutines alone."""

    def __init__(self, files: SandboxFiles, roots: SandboxRoots, path: str, accesses: Sequence[FileAccess]) -> None:
        self._files = files
        self._roots = roots
        self._path = path
        self._accesses = accesses
        self._seen = Seen(kind="unknown")
        self._content: bytes | None = None
        self._max_bytes = 0
        self.path = printable(path)
        self.exists = True
        self.hides_mark = False
        self.targets = sandbox_targets(path, accesses)
        self.whereabouts = "in the sandbox"

    async def find(self, max_bytes: int, *, loads: bool) -> None:
        """Look at the path, and with ``loads`` fetch the file, unless it is more than ``max_bytes``.

        Raises:
            ToolFailure: it cannot be looked at, or what is there cannot be carried.
        """
        self._max_bytes = max_bytes
        with sandbox_trouble(self.path):
            self._seen = await self._files.seen(self._path)
            if loads and self._may_be_file() and not self._is_over_budget():
                self._content = await self._fetched()
                self._seen = self._seen_by_content()
        self.exists = self._seen.kind not in {"missing", "link"}
        self.targets = sandbox_targets(self._path, self._accesses, exists=self.exists)

    def require_text(self) -> None:
        """Refuse what is known to be no regular file."""
        if self._seen.kind == "missing":
            raise no_such_file(self.path, self._roots.first)
        if not self._may_be_file():
            raise no_regular_file(self.path, self._seen)

    def size(self) -> int | None:
        """The size of what was fetched, or else as the sandbox tells it."""
        return self._seen.size if self._content is None else len(self._content)

    def pieces(self, token: CancellationToken, max_bytes: int) -> Pieces:  # noqa: ARG002  no more was fetched
        """The content that ``refresh`` fetched."""
        content = self._content or b""

        def given() -> Iterator[bytes]:
            for piece in slices(content):
                if token.cancelled:
                    raise ReadCancelledError(f"{self.path}: the read was cancelled.")
                yield piece

        return given

    def remark(self) -> str:
        """Nothing: the client hands over a file as a whole."""
        return ""

    def load(self, max_bytes: int, token: CancellationToken) -> TextFile:
        """The content that was fetched when the place was found."""
        if not self.exists:
            return TextFile(path=self.path, raw=b"", utf8=b"", encoding=UTF8)
        self.require_text()
        if self._seen.is_read_only:
            raise read_only(self.path)
        size = self.size()
        if size is not None and size > max_bytes:
            raise ToolFailure(over_budget(self.path, size, max_bytes))
        assert self._content is not None
        return text_file(self.path, self._content, token)

    def change(self, before: TextFile, replacements: Sequence[Replacement]) -> Change:
        """New bytes between views of what stays."""
        if not self._files.takes_bytes and before.encoding.codec != UTF8.codec:
            raise TextRefusedError(
                f"{self.path}: is in {before.encoding.label}, and the sandbox of this session takes text only, it has "
                "no operation write_bytes. Nothing was changed. Convert the file to UTF-8 first, by a command such as "
                "iconv."
            )
        recorded = BeforeState(before.raw) if self.exists else None
        return Change(before=before, parts=before.spliced(replacements), recorded=recorded)

    async def refresh(self) -> None:
        """Fetch the file for a reader, unless its size is over the budget."""
        if self._is_over_budget():
            return
        with sandbox_trouble(self.path):
            try:
                self._content = await self._fetched()
            except SandboxFileTooLargeError as error:
                raise self._over_read_budget(error) from error
        self._seen = self._seen_by_content()
        self.require_text()

    def check_path(self) -> None:
        """Nothing to check: the content came from the path itself, and nothing is held open."""

    def release(self) -> None:
        """Let go of the content."""
        self._content = None

    async def put(self, change: Change, context: ToolContext, *, label: str) -> Landed:  # noqa: ARG002  the label is for an editor's undo list
        """Compare the file with what it was, and have the client write the new content."""
        before = change.before.raw if self.exists else None
        try:
            payload = await run_blocking(context.cancellation, lambda: self._files.payload(b"".join(change.parts)))

            async def look() -> None:
                if await self._content_now() != before:
                    raise PlanOutdatedError(f"{self.path}: was changed in the sandbox since the call began.")

            async def send() -> None:
                await self._files.write(self._path, payload)

            made = SandboxChange(client=self._files.client, shown=self.path, look=look, send=send)
            await make_change(made, context.cancellation)
        finally:
            change.let_go()
            self.release()
        return Landed(_WRITTEN, (_THROUGH_LINK,) if self._seen.is_link else ())

    async def _content_now(self) -> bytes | None:
        with sandbox_trouble(self.path):
            try:
                return await self._files.content(self._path, self._max_bytes)
            except SandboxFileTooLargeError:
                raise PlanOutdatedError(f"{self.path}: has grown in the sandbox since the call began.") from None

    async def _fetched(self) -> bytes | None:
        async with turn_at(self._files.client, self.path):
            return await self._files.content(self._path, self._max_bytes)

    def _may_be_file(self) -> bool:
        return self._seen.kind in {"file", "unknown"}

    def _is_over_budget(self) -> bool:
        return self._seen.size is not None and self._seen.size > self._max_bytes

    def _seen_by_content(self) -> Seen:
        return Seen(kind="missing" if self._content is None else "file", stat=self._seen.stat)

    def _over_read_budget(self, error: SandboxFileTooLargeError) -> ReadByteLimitError:
        why = in_its_words(str(error)).rstrip(".")
        return ReadByteLimitError(
            f"{self.path}: is larger than can be read ({why}); the budget is {self._max_bytes} bytes and holds "
            "whatever slice is asked for. Print a part with a command such as sed -n '1,200p'."
        )


_WRITTEN: Final = (
    "Written in the sandbox, not in one step; what becomes of permissions and attributes is left to the sandbox."
)
_THROUGH_LINK: Final = "the path is a link in the sandbox, and what it leads to was written"
