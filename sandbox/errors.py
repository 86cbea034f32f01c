"""Errors of running commands and of sandboxes::

SandboxError
├── SandboxUnavailableError      confinement is asked for and cannot be had; the text names what to install or to change
├── CommandStartError            the command could not be started at all; nothing ran
├── CommandTimeoutError          the command took longer than its time; ``output`` is what it wrote until then
├── ExitCodeError                how a command ended is not known: reason missing | malformed | conflicting
├── SandboxAnswerError           the provider's answer is none: of another type, or not what was asked for
├── OperationAbsentError         this client has no such operation
├── WorkerWithdrawnError         a restore took the worker away: reason restoring | restore_failed | late
├── RestoreError                 a restore did not succeed: reason failed | wrong_id | superseded | timeout
├── SnapshotNotFoundError        there is no such snapshot
├── ManifestRefusedError         a workspace manifest was refused; nothing of it was applied
├── ManifestFailedError          applying it ended in the middle; ``result`` says what was applied and what was not
├── HostFileError                a local entry's source on the host cannot be used
└── SandboxFileError             one file; ``path`` names it
    ├── SandboxPathError              no path at all: empty, relative, with a NUL, too long
    ├── SandboxFileNotFoundError
    ├── SandboxIsDirectoryError
    ├── SandboxNotDirectoryError
    ├── SandboxNotEmptyError          a directory that is to be deleted holds something
    ├── SandboxPermissionError
    ├── SandboxFileTooLargeError
    └── SandboxNotTextError           the bytes are not UTF-8, or cannot be seen to be
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from .manifests.result import ManifestResult

ExitCodeReason: TypeAlias = Literal["missing", "malformed", "conflicting"]
WithdrawnReason: TypeAlias = Literal["restoring", "restore_failed", "late"]
RestoreReason: TypeAlias = Literal["failed", "wrong_id", "superseded", "timeout"]


class SandboxError(Exception):
    """A sandbox, or the running of a command, failed; the text says what to do next."""


class SandboxUnavailableError(SandboxError):
    """Confinement is asked for and cannot be had. The command was not run, and must not be run without it (S7)."""


class CommandStartError(SandboxError):
    """The command could not be started: no such program or directory, or too long an argument; nothing ran."""


class CommandTimeoutError(SandboxError):
    """The command took longer than its time. ``output``: what it wrote until then, where that is known."""

    def __init__(self, message: str, *, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class ExitCodeError(SandboxError):
    """The command ended, and whether it succeeded is not known: never to be taken for success (S5)."""

    def __init__(self, message: str, *, reason: ExitCodeReason) -> None:
        super().__init__(message)
        self.reason: ExitCodeReason = reason


class SandboxAnswerError(SandboxError):
    """The provider answered with something that is no answer to what it was asked."""


class OperationAbsentError(SandboxError):
    """The client does not have an optional operation; nothing was done. ``operation`` is its name in the port."""

    def __init__(self, message: str, *, operation: str) -> None:
        super().__init__(message)
        self.operation = operation


class WorkerWithdrawnError(SandboxError):
    """A restore took the worker away that was, or would have been, asked (S5).

    ``restoring``, ``restore_failed``: nothing was asked of it. ``late``: it was asked before the restore began, and its
    answer does not count; what it was asked to do may have been done in a place that is not in use any more.
    """

    def __init__(self, message: str, *, reason: WithdrawnReason) -> None:
        super().__init__(message)
        self.reason: WithdrawnReason = reason


class RestoreError(SandboxError):
    """A restore did not succeed. Unless ``superseded`` by a later one, the client stays closed until one succeeds."""

    def __init__(self, message: str, *, reason: RestoreReason) -> None:
        super().__init__(message)
        self.reason: RestoreReason = reason


class SnapshotNotFoundError(SandboxError):
    """There is no such snapshot; nothing was changed."""


class ManifestRefusedError(SandboxError):
    """A workspace manifest cannot be applied, or asks for what cannot be done or enforced. Nothing was applied."""


class ManifestFailedError(SandboxError):
    """Applying a manifest ended in the middle. ``result``: what became of each entry; nothing is taken back."""

    def __init__(self, message: str, *, result: ManifestResult) -> None:
        super().__init__(message)
        self.result = result


class HostFileError(SandboxError):
    """The source of a local entry cannot be used: it lies outside of the roots, is not there, or is no plain file."""


class SandboxFileError(SandboxError):
    """One file could not be read or changed; ``path`` names it."""

    def __init__(self, message: str, *, path: str) -> None:
        super().__init__(message)
        self.path = path


class SandboxPathError(SandboxFileError):
    """It cannot be the path of a file: empty, relative, with a NUL, or too long. Nothing was asked."""


class SandboxFileNotFoundError(SandboxFileError):
    """No such file or directory."""


class SandboxIsDirectoryError(SandboxFileError):
    """It is a directory, and a file is needed."""


class SandboxNotDirectoryError(SandboxFileError):
    """It, or what lies above it, is no directory, and one is needed."""


class SandboxNotEmptyError(SandboxFileError):
    """The directory holds something, and only an empty one is deleted."""


class SandboxPermissionError(SandboxFileError):
    """The sandbox does not permit it."""


class SandboxFileTooLargeError(SandboxFileError):
    """It holds more than may be read or written; never a part of it."""


class SandboxNotTextError(SandboxFileError):
    """It is not UTF-8, or the provider gives text only and has put something else in place of what is not."""


def in_words(error: BaseException) -> str:
    """The class of an error of somebody else's and what it says, cut; of one that cannot say anything, the class."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001  whatever keeps it from saying something
        said = ""
    return f"{type(error).__name__}: {said}"[:_WORDS_MAX_CHARS] if said else type(error).__name__


_WORDS_MAX_CHARS: Final = 1_000
