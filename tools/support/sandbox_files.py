"""What the file tools ask a sandbox's client for, with an end to every wait, and its errors in the words of the tools.

Files are carried as bytes where the client can, so that every encoding is kept; else as text, which is UTF-8.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeVar, cast

import anyio
from openbuffer.sandbox.errors import (
    OperationAbsentError,
    SandboxAnswerError,
    SandboxError,
    SandboxFileNotFoundError,
    SandboxFileTooLargeError,
    SandboxIsDirectoryError,
    SandboxNotDirectoryError,
    SandboxNotTextError,
    SandboxPathError,
    SandboxPermissionError,
    SandboxUnavailableError,
    WorkerWithdrawnError,
)
from openbuffer.sandbox.port import (
    DeletesFiles,
    ListsDirectories,
    ReadsBytes,
    StatsFiles,
    WritesBytes,
    find_operation,
    require_operation,
)

from ..errors import PathRefusedError, TextRefusedError, ToolFailure
from ..limits import SANDBOX_FILE_TIMEOUT_S
from .sandbox_answers import answered, listing, status
from .text_place import in_its_words

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from openbuffer.sandbox.port import DirectoryListing, FileStat, SandboxClient

T = TypeVar("T")

_NO_WRITING_BITS: Final = 0o222


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a path leads to; ``unknown`` and None where the client cannot tell. A ``link`` leads nowhere."""

    kind: Literal["file", "directory", "link", "other", "missing", "unknown"]
    stat: FileStat | None = None

    @property
    def size(self) -> int | None:
        """Bytes of a file."""
        return self.stat.size if self.stat is not None and self.kind == "file" else None

    @property
    def is_link(self) -> bool:
        """Whether the path itself is known to be a link."""
        return self.stat is not None and (self.stat.is_link or self.kind == "link")

    @property
    def is_read_only(self) -> bool:
        """Whether nobody is permitted to write it, so far as that is known."""
        mode = self.stat.mode if self.stat is not None else None
        return self.kind == "file" and mode is not None and not mode & _NO_WRITING_BITS


class SandboxFiles:
    """The files of one client. Methods raise the client's own errors; see :func:`sandbox_trouble`."""

    def __init__(self, client: SandboxClient) -> None:
        self.client = client

    async def seen(self, path: str) -> Seen:
        """What the path leads to, if the client can look."""
        client = find_operation(self.client, StatsFiles)
        if client is None:
            return Seen(kind="unknown")
        try:
            found = status(await _ended(lambda: client.stat(path)))
        except SandboxFileNotFoundError:
            return Seen(kind="missing")
        return Seen(kind=found.kind, stat=found)

    async def content(self, path: str, max_bytes: int) -> bytes | None:
        """The whole content; None where no file is. Never more than ``max_bytes`` of it."""
        try:
            content = await self._read(path, max_bytes)
        except SandboxFileNotFoundError:
            return None
        if len(content) > max_bytes:
            raise SandboxFileTooLargeError(f"it gave {len(content)} bytes, and {max_bytes} are the most", path=path)
        return content

    async def write(self, path: str, content: bytes | str) -> None:
        """Make the file or replace its content; ``content`` is what :meth:`payload` gave."""
        if isinstance(content, str):
            await _ended(lambda: self.client.write_file(path, content))
            return
        client = require_operation(self.client, WritesBytes)
        await _ended(lambda: client.write_bytes(path, content))

    def payload(self, content: bytes) -> bytes | str:
        """The content as the client takes it.

        Raises:
            UnicodeDecodeError: it takes text only, and this is not UTF-8.
        """
        return content.decode() if find_operation(self.client, WritesBytes) is None else content

    @property
    def takes_bytes(self) -> bool:
        """Whether a file can be written that is not UTF-8."""
        return find_operation(self.client, WritesBytes) is not None

    async def delete(self, path: str) -> None:
        """Delete a file, a link itself or an empty directory."""
        client = require_operation(self.client, DeletesFiles)
        await _ended(lambda: client.delete(path))

    async def entries(self, path: str, max_entries: int) -> DirectoryListing | None:
        """The entries of a directory, if the client can list them."""
        client = find_operation(self.client, ListsDirectories)
        if client is None:
            return None
        return listing(await _ended(lambda: client.list_directory(path, max_entries=max_entries)))

    async def _read(self, path: str, max_bytes: int) -> bytes:
        client = find_operation(self.client, ReadsBytes)
        # A client of somebody else's may answer with anything.
        if client is not None:
            content = cast("object", await _ended(lambda: client.read_bytes(path, max_bytes=max_bytes)))
            if isinstance(content, (bytes, bytearray)):
                return bytes(content)
            raise _no_content(content)
        text = cast("object", await _ended(lambda: self.client.read_file(path, max_bytes=max_bytes)))
        if not isinstance(text, str):
            raise _no_content(text)
        try:
            return text.encode()
        except UnicodeEncodeError:
            raise SandboxNotTextError("it gave half of a surrogate pair as text", path=path) from None


def _no_content(answer: object) -> SandboxAnswerError:
    return SandboxAnswerError(f"it gave {type(answer).__name__} as the content of the file")


async def _ended(call: Callable[[], Awaitable[T]]) -> T:
    """What the client answers in time. Between that and what follows nothing else runs."""
    with anyio.move_on_after(SANDBOX_FILE_TIMEOUT_S):
        return await answered(call)
    raise SandboxError(f"no answer within {SANDBOX_FILE_TIMEOUT_S:g} s")


@contextmanager
def sandbox_trouble(shown: str) -> Generator[None]:
    """What a client fails with while it only looks or reads, as a failure of the tool."""
    try:
        yield
    except SandboxError as error:
        raise _why_not_read(shown, error) from error


def no_such_file(shown: str, first_root: str) -> PathRefusedError:
    """The refusal of a path that nothing has."""
    return PathRefusedError(
        f"no such file: {shown} (in the sandbox). Check the name; a relative path starts at {first_root}."
    )


def no_regular_file(shown: str, seen: Seen) -> PathRefusedError:
    """The refusal of what is there and is no file."""
    if seen.kind == "directory":
        return _is_directory(shown)
    if seen.kind == "link":
        return PathRefusedError(f"{shown}: is a link that leads nowhere. Name the file that is meant.")
    return PathRefusedError(
        f"{shown}: is a device, a FIFO or a socket, not a regular file; it is not opened. Name a regular file."
    )


def read_only(shown: str) -> PathRefusedError:
    """The refusal of a file that nobody may write."""
    return PathRefusedError(
        f"{shown}: is read-only in the sandbox; the file is unchanged. Its permissions have to be changed first."
    )


def is_unavailable(error: SandboxError) -> bool:
    """Whether nothing at all was asked of the sandbox, because it cannot be used now."""
    withdrawn = isinstance(error, WorkerWithdrawnError) and error.reason != "late"
    return withdrawn or isinstance(error, SandboxUnavailableError)


def unavailable(shown: str, error: SandboxError) -> ToolFailure:
    """The failure of a call that came while the sandbox cannot be used."""
    why = in_its_words(str(error)).rstrip(".")
    return ToolFailure(f"{shown}: the sandbox cannot be used now ({why}). Nothing was changed.")


def _why_not_read(shown: str, error: SandboxError) -> ToolFailure:
    why = in_its_words(str(error)).rstrip(".")
    if is_unavailable(error):
        return unavailable(shown, error)
    if isinstance(error, SandboxIsDirectoryError):
        return _is_directory(shown)
    if isinstance(error, SandboxNotDirectoryError):
        return PathRefusedError(f"{shown}: something on the way to it is no directory ({why}). Check the path.")
    if isinstance(error, SandboxPathError):
        return PathRefusedError(f"{shown}: cannot be a path in the sandbox ({why}).")
    if isinstance(error, SandboxPermissionError):
        return PathRefusedError(
            f"{shown}: cannot be opened for reading ({why}); its permissions have to be changed first."
        )
    if isinstance(error, SandboxNotTextError):
        return TextRefusedError(
            f"{shown}: is not UTF-8 text, or cannot be seen to be ({why}). The sandbox of this session carries text "
            "only, it has no operation read_bytes. Nothing was changed. Convert the file to UTF-8 first, by a command "
            "such as iconv, or treat it as binary."
        )
    if isinstance(error, SandboxFileTooLargeError):
        return ToolFailure(
            f"{shown}: is too large to be carried ({why}); nothing was changed. Work on it by a command."
        )
    if isinstance(error, OperationAbsentError):
        return ToolFailure(f"{shown}: {why}. Nothing was changed.")
    return ToolFailure(
        f"{shown}: cannot be read in the sandbox ({why}); nothing was changed. Find out why, for example by a command, "
        "before you try again."
    )


def _is_directory(shown: str) -> PathRefusedError:
    return PathRefusedError(
        f"{shown}: is a directory, not a file; list it with a command such as ls and name a file inside it."
    )
