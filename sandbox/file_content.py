"""What clients do with the content of files: text and bytes, bounds, and errors by a program's words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .errors import (
    SandboxAnswerError,
    SandboxFileError,
    SandboxFileNotFoundError,
    SandboxFileTooLargeError,
    SandboxIsDirectoryError,
    SandboxNotDirectoryError,
    SandboxNotEmptyError,
    SandboxNotTextError,
    SandboxPermissionError,
)

if TYPE_CHECKING:
    from .port import FileKind, FileStat


def decode_text(path: str, content: bytes) -> str:
    """UTF-8 as text, without changing a line end or taking a byte-order mark away.

    Raises:
        SandboxNotTextError: it is not UTF-8.
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SandboxNotTextError(
            f"{path} is not UTF-8 text (byte {error.start:,}); read it as bytes, or by a command", path=path
        ) from None


def encode_text(path: str, text: str) -> bytes:
    """Text as UTF-8.

    Raises:
        SandboxNotTextError: it has half of a surrogate pair, which UTF-8 does not.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise SandboxNotTextError(
            f"the text for {path} has half of a surrogate pair (character {error.start:,}), which UTF-8 does not; "
            "nothing was written",
            path=path,
        ) from None


def not_a_file(path: str, kind: FileKind) -> SandboxFileError:
    """The error of what is no file, but is asked for its content."""
    if kind == "directory":
        return SandboxIsDirectoryError(f"{path} is a directory; list it instead", path=path)
    if kind == "link":
        return SandboxFileNotFoundError(f"{path} is a link that leads nowhere", path=path)
    return SandboxFileError(f"{path} is no regular file but a device, a pipe or a socket", path=path)


def too_large(path: str, max_bytes: int) -> SandboxFileTooLargeError:
    """The error of a file that holds more than may be read."""
    return SandboxFileTooLargeError(
        f"{path} is larger than {max_bytes:,} bytes, so nothing of it was read; read a part of it by a command",
        path=path,
    )


def require_whole(path: str, size: int, before: FileStat, after: FileStat) -> None:
    """Refuse content of ``size`` bytes that is not what the file held, by its status before and after.

    A file may grow or shrink meanwhile. The kernel's own files say that they hold nothing, and hold something.

    Raises:
        SandboxAnswerError: it is a part, or something else.
    """
    says_nothing = before.size == after.size == 0
    if says_nothing or min(before.size, after.size) <= size <= max(before.size, after.size):
        return
    raise SandboxAnswerError(
        f"the sandbox gave {size:,} bytes of {path}, which holds {after.size:,}; nothing of it was taken. Try again, "
        "and look at it by a command if that does not help"
    )


def file_error(path: str, done: str, said: str) -> SandboxFileError:
    """The error of a program or a provider that said why ``path`` cannot be ``done`` ("read", "written")."""
    words = said.strip() or "no reason was given"
    return _kind_of(words)(f"{path} cannot be {done}: {words[:_SAID_MAX_CHARS]}", path=path)


_SAID_MAX_CHARS: Final = 1_000

_KINDS: Final[tuple[tuple[str, type[SandboxFileError]], ...]] = (
    ("no such file", SandboxFileNotFoundError),
    ("not a directory", SandboxNotDirectoryError),
    ("is a directory", SandboxIsDirectoryError),
    ("not empty", SandboxNotEmptyError),
    ("permission denied", SandboxPermissionError),
    ("read-only", SandboxPermissionError),
    ("operation not permitted", SandboxPermissionError),
)
"""What the C library says in English, at the end of the line."""


def _kind_of(words: str) -> type[SandboxFileError]:
    # Only what follows the last colon of the last line is the system's: a file can be called "no such file", and a
    # login shell can have said something before.
    reason = words.splitlines()[-1].rpartition(":")[2].casefold()
    return next((kind for said, kind in _KINDS if said in reason), SandboxFileError)
