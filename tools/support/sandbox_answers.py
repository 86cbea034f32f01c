"""What a sandbox's client answers, held to what the port says: a client of somebody else's may answer with anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard, TypeVar, cast, get_args

from openbuffer.sandbox.errors import SandboxAnswerError, SandboxError, in_words
from openbuffer.sandbox.exit_codes import exit_code_of_result
from openbuffer.sandbox.port import DirectoryEntry, DirectoryListing, FileKind, FileStat, RunResult

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")


async def answered(call: Callable[[], Awaitable[T]]) -> T:
    """What the client answers; nothing else runs between that and what follows.

    Raises:
        SandboxError: the client's own errors, and whatever else it failed with.
    """
    try:
        return await call()
    except SandboxError:
        raise
    except Exception as error:
        raise SandboxError(f"its client failed: {in_words(error)}") from error


def status(answer: object) -> FileStat:
    """The answer, if it is the status of a file.

    Raises:
        SandboxAnswerError: it is none.
    """
    if (
        isinstance(answer, FileStat)
        and answer.kind in _KINDS
        and _is_count(answer.size)
        and (answer.mtime_ns is None or _is_whole(answer.mtime_ns))
        and (answer.mode is None or _is_count(answer.mode))
        and isinstance(cast("object", answer.is_link), bool)
    ):
        return answer
    raise _no_answer(answer, "the status of the file")


def listing(answer: object) -> DirectoryListing:
    """The answer, if it is the entries of a directory.

    Raises:
        SandboxAnswerError: it is none, or a name in it is none.
    """
    if (
        isinstance(answer, DirectoryListing)
        and isinstance(cast("object", answer.entries), tuple)
        and isinstance(cast("object", answer.complete), bool)
        and all(_is_entry(entry) for entry in answer.entries)
    ):
        return answer
    raise _no_answer(answer, "the entries of the directory")


def end_of_command(answer: object) -> RunResult:
    """The answer, if it is the end of a command with one clear exit code.

    Raises:
        ExitCodeError: its exit code is none.
        SandboxAnswerError: it is none, or its output is no text.
    """
    if not isinstance(answer, RunResult):
        raise _no_answer(answer, "the end of the command")
    exit_code_of_result(answer)
    output = cast("object", answer.output)
    if not isinstance(output, str):
        raise _no_answer(output, "the command's output")
    return answer


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, DirectoryEntry) or entry.kind not in _KINDS:
        return False
    name = cast("object", entry.name)
    return isinstance(name, str) and name not in {"", ".", ".."} and not {"/", "\0"} & set(name)


def _is_count(value: object) -> bool:
    return _is_whole(value) and 0 <= value <= _COUNT_MAX


def _is_whole(value: object) -> TypeGuard[int]:
    # True is an int of Python's, and no number of anything.
    return isinstance(value, int) and not isinstance(value, bool)


def _no_answer(answer: object, what: str) -> SandboxAnswerError:
    return SandboxAnswerError(f"it gave what cannot be taken ({type(answer).__name__}) as {what}")


_KINDS: Final = get_args(FileKind)
_COUNT_MAX: Final = 2**63 - 1
