"""The one small interface over where a text is, and what both kinds of place share."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from openbuffer.editor_access.errors import DocumentMovedError, EditorAccessError

from ..contract import CancellationToken, Capability, FileTarget
from ..errors import PlanOutdatedError, ToolCancelledError, ToolFailure
from .paths import printable

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from openbuffer.editor_access.port import Document, EditorFileAccess, EditorProvider, TextEdit

    from ..contract import BeforeState, ToolContext
    from .encodings import Pieces
    from .paths import Located, Roots
    from .replacing import Replacement
    from .text_files import TextFile

_REASON_MAX_CHARS: Final = 6_000  # room for a longest path or two

FileAccess: TypeAlias = Literal[Capability.FILE_READ, Capability.FILE_WRITE]


@dataclass(slots=True, kw_only=True)
class Change:
    """What a commit will put in place: ``parts`` is the whole content, ``edits`` lead to it in a document.

    ``can_move``: the change is only about the lines that it replaces, so that it may be made in a newer text of the
    document as well, where nothing touched those. ``recorded`` is what was there before, for whoever keeps a record.
    """

    before: TextFile
    parts: Sequence[bytes | memoryview]
    edits: tuple[TextEdit, ...] = ()
    can_move: bool = False
    recorded: BeforeState | None = None

    @property
    def after_bytes(self) -> int:
        """The size of the content after the change."""
        return sum(map(len, self.parts))

    def let_go(self) -> None:
        """Give up the content, in the thread that was the last to need it; the edits and the encoding stay."""
        self.parts = ()
        if self.recorded is not None:
            self.recorded.let_go()
        self.before = replace(self.before, raw=b"", utf8=b"")


@dataclass(frozen=True, slots=True)
class Landed:
    """A change that was made: a sentence about where it is now, and remarks about what is unusual.

    ``moved_lines``: lines of the change as it was prepared, and where they were by the time that it was made.
    """

    where: str
    notes: tuple[str, ...] = ()
    moved_lines: tuple[tuple[int, int], ...] = ()

    def line(self, prepared: int) -> int:
        """Where a line of the change as it was prepared is now."""
        if not self.moved_lines:
            return prepared
        before, now = min(self.moved_lines, key=lambda moved: abs(moved[0] - prepared))
        return prepared + now - before


class TextPlace(Protocol):
    """A file on disk or an open document. Methods block, unless they say otherwise or are coroutines.

    Attributes:
        path: the canonical path, as text for messages.
        targets: what the plan is about, with the place decided.
        whereabouts: where a reader finds the text, for the header of Read.
        exists: False for a file that is still to be created.
        hides_mark: True where a byte-order mark is kept by somebody else and is no part of the content to write.
    """

    path: str
    targets: tuple[FileTarget, ...]
    whereabouts: str
    exists: bool
    hides_mark: bool

    def require_text(self) -> None:
        """Refuse what holds no text at all; never blocks.

        Raises:
            PathRefusedError: it is a directory, a device, missing; the text says which.
        """
        ...

    def size(self) -> int | None:
        """Bytes to admit before anything is read; None where only reading tells."""
        ...

    def pieces(self, token: CancellationToken, max_bytes: int) -> Pieces:
        """The text for a reader, in pieces, never more than ``max_bytes`` of it."""
        ...

    def remark(self) -> str:
        """What a reader should know about the text that was just read; "" for nothing."""
        ...

    def load(self, max_bytes: int, token: CancellationToken) -> TextFile:
        """The whole text for a change; empty where there is no file yet.

        Raises:
            ToolFailure: over ``max_bytes``, no regular file, or not text.
            ToolCancelledError: the token was cancelled while the encoding was being found out.
        """
        ...

    def change(self, before: TextFile, replacements: Sequence[Replacement]) -> Change:
        """The change that a commit would make.

        Raises:
            TextRefusedError: the file's encoding cannot hold the new text.
        """
        ...

    async def refresh(self) -> None:
        """Look at the editor again; a reader gets the newest text.

        Raises:
            PlanOutdatedError: the file was opened or closed in the editor, or is another's text by now.
            ToolFailure: the editor went away.
        """
        ...

    def check_path(self) -> None:
        """Resolve the path again, and compare an open document with the disk again.

        Raises:
            PlanOutdatedError: it leads to something else by now, or the truth is somewhere else.
        """
        ...

    def release(self) -> None:
        """Let go of the file, in this thread: nothing can be read or changed here any more."""
        ...

    async def put(self, change: Change, context: ToolContext, *, label: str) -> Landed:
        """Make the change, if everything still is as it was; it can be made once, and its content is gone then.

        Raises:
            PlanOutdatedError: it is not; nothing was changed.
            ToolFailure: it was not made, or nobody knows; the text says which.
        """
        ...


@dataclass(frozen=True, slots=True)
class FoundPath:
    """A path that was resolved, opened and admitted, with the means to look again."""

    roots: Roots
    editor: EditorProvider | None
    file_path: str
    located: Located
    accesses: tuple[FileAccess, ...]

    @property
    def shown(self) -> str:
        """The canonical path, as text for messages."""
        return printable(self.located.path)

    def targets(self, place: Literal["undecided", "disk", "document"], *, exists: bool) -> tuple[FileTarget, ...]:
        """One target per access."""
        return tuple(
            FileTarget(path=self.located.path, access=access, exists=exists, place=place) for access in self.accesses
        )

    def open_document(self) -> tuple[EditorFileAccess | None, Document | None]:
        """The editor that may carry files now, and its document of this path; on the event loop.

        Raises:
            ToolFailure: the editor has the file open and cannot tell its text, or has just gone.
        """
        editor = self.editor() if self.editor is not None else None
        if editor is None or not editor.has_stable_path_authority:
            return None, None
        with editor_trouble(self.shown):
            return editor, editor.document(self.located.path)

    def locate(self) -> Located:
        """What the path leads to now, whatever that is. The caller closes it. Raises as ``Roots.locate`` does."""
        return self.roots.locate(self.file_path)

    def check(self, *, same_file: bool) -> None:
        """Resolve the path again.

        Raises:
            PlanOutdatedError: it leads to something else, or (``same_file``) to another file of that name.
        """
        with self.located_again() as now:
            if same_file and _inode(now) != _inode(self.located):
                raise PlanOutdatedError(f"{self.shown}: was replaced on disk since the call began.")

    @contextmanager
    def located_again(self) -> Generator[Located]:
        """What the path leads to now, opened.

        Raises:
            PlanOutdatedError: it leads to something else.
        """
        with self.locate() as now:
            if now.path != self.located.path or now.kind != self.located.kind:
                raise PlanOutdatedError(f"{self.shown}: the path leads to something else than when the call began.")
            yield now


def in_its_words(reason: str) -> str:
    """What an editor says, which may be anything, as one line of bounded length."""
    return printable(reason if len(reason) <= _REASON_MAX_CHARS else f"{reason[:_REASON_MAX_CHARS]} …")


@contextmanager
def editor_trouble(path: str) -> Generator[None]:
    """An editor that cannot carry a file it has open ends the call: the disk is no substitute for its text."""
    try:
        yield
    except DocumentMovedError as error:
        raise PlanOutdatedError(f"{path}: was changed or closed in the editor since the call began.") from error
    except EditorAccessError as error:
        why = in_its_words(str(error))
        raise ToolFailure(
            f"{path}: the editor cannot carry this file now ({why}). Nothing was changed, and the file on disk is "
            "left alone, because the editor may show something else. Try again once that is resolved."
        ) from error


def refuse_cancelled(path: str, token: CancellationToken) -> None:
    """End a call whose token was cancelled, before it has an effect.

    Raises:
        ToolCancelledError: it was.
    """
    if token.cancelled:
        raise ToolCancelledError(f"{path}: the call was cancelled; nothing was changed.")


def _inode(located: Located) -> tuple[int, int] | None:
    return (located.status.st_dev, located.status.st_ino) if located.status else None
