"""What the suite sees of an editor: its user's actions, the tools' access to it, and what follows from its nature."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager

    from openbuffer.editor_access import Document, EditorFileAccess

T = TypeVar("T")
Kind = Literal["done", "not_done", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Nature:
    """What an editor can do and does, from which the outcome of whatever it is asked follows.

    ``edit``: how an edit of the newest text ends, and ``makes_edits``: whether it is made. ``stale_edit`` and
    ``makes_stale_edits``: the same for an edit that meets typing in another line which came after it was sent.
    ``tells_typing``: at once, or only when it is flushed. ``miscounts_beyond``: the characters beyond this one count
    wrongly in its columns. ``line_ends``: of the text that it inserts; ``final_newline``: whether what an edit leaves
    can be without one. ``one_document_per_file``: under the name that it was opened with first. ``formats``: what
    saving makes of a text. ``flushes``, ``saves``, ``reloads``: whether it can be asked to.
    """

    edit: Kind = "done"
    makes_edits: bool = True
    stale_edit: Kind = "not_done"
    makes_stale_edits: bool = False
    tells_typing: Literal["at_once", "when_flushed"] = "at_once"
    miscounts_beyond: int | None = None
    line_ends: Literal["as_sent", "of_document"] = "as_sent"
    final_newline: Literal["optional", "always", "kept_apart"] = "optional"
    one_document_per_file: bool = False
    formats: Callable[[str], str] = str
    flushes: bool = False
    saves: bool = False
    reloads: bool = False

    def miscounts(self, text: str) -> bool:
        """Whether its columns of this text are wrong, so that changes of it land somewhere else, both ways."""
        return self.miscounts_beyond is not None and any(ord(character) > self.miscounts_beyond for character in text)

    def makes(self, before: str, after: str) -> str:
        """What it makes of the wish to turn one text into another."""
        if self.line_ends == "of_document":
            after = after.replace("\r\n", "\n")
            after = after.replace("\r", "\n") if "\n" in before else after
            after = after.replace("\n", "\r\n" if "\r\n" in before else "\n")
        if self.final_newline == "always" and not after.endswith("\n"):
            after += "\n"
        return after

    def shows_as(self, shown: str, expected: str) -> bool:
        """Whether a text is the expected one; Neovim keeps a final newline apart from its lines."""
        if self.final_newline == "kept_apart":
            return _apart(shown) == _apart(expected)
        return shown == expected


class Attached(ABC):
    """An editor with a user in front of it. Documents are named by the path that they were opened with."""

    access: EditorFileAccess
    nature: Nature

    def document(self, path: str) -> Document:
        """The document as the tools know it."""
        found = self.access.document(path)
        assert found is not None, f"{path} is not open"
        return found

    # What the user does: each comes back when the editor has done it, and settles nothing.

    @abstractmethod
    async def open(self, path: str) -> None:
        """Open a file."""

    @abstractmethod
    async def open_unnamed(self, text: str) -> None:
        """Open a document that has no file, with text in it."""

    @abstractmethod
    async def type(self, path: str, offset: int, text: str) -> None:
        """Type at a place of the text, as one undo step."""

    @abstractmethod
    async def undo(self, path: str) -> None:
        """Take the newest undo step back."""

    @abstractmethod
    async def save(self, path: str) -> None:
        """Save."""

    @abstractmethod
    async def reload(self, path: str) -> None:
        """Throw the text away, and open the file again."""

    @abstractmethod
    async def close(self, path: str) -> None:
        """Close it without saving."""

    @abstractmethod
    async def type_when_asked(self, path: str, offset: int, text: str) -> None:
        """Type when the next request of the tools is with the editor, or else before it goes out."""

    # What the user sees.

    @abstractmethod
    async def shown(self, path: str) -> str:
        """The text in the editor."""

    @abstractmethod
    async def is_dirty(self, path: str) -> bool:
        """Whether the editor marks it as unsaved."""

    # The connection.

    @abstractmethod
    async def settle(self) -> None:
        """Until the tools know everything that has happened so far."""

    @abstractmethod
    async def lose(self) -> None:
        """Cut the connection, and come back when the tools' side knows it."""


def _apart(text: str) -> str:
    return text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")


@asynccontextmanager
async def hosted(context: AbstractAsyncContextManager[T]) -> AsyncGenerator[T, None]:
    """Enter and leave a context in one task of its own, as task groups want it and fixtures do not do it."""
    entered: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def host() -> None:
        try:
            async with context as value:
                entered.set_result(value)
                await over.wait()
        except BaseException as error:
            if not entered.done():
                entered.set_exception(error)
                return
            raise

    task = asyncio.get_running_loop().create_task(host())
    try:
        yield await entered
    finally:
        over.set()
        await task
