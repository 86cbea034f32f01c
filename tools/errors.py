"""Errors of the tool contract and the pipeline.

Two kinds, never mixed::

    ToolFailure                  an ordinary failure: the tool answers {success: false, error}
    ├── PathRefusedError         outside the roots, not a regular file, not a name at all
    └── TextRefusedError         the bytes are not text that can be kept as they are

    ToolExecutionError           a hard error: no result at all, never partial content
    ├── ToolDefinitionError      the tool itself is wrong (schema, name, missing root)
    ├── ToolNotFoundError        no such tool in the assembled set
    ├── ToolArgumentError        the arguments do not fit the schema
    ├── ToolResultError          a declared tool returned something else
    ├── PermissionDeniedError    the gate said no
    ├── UnrecordedEffectError    a tool of a registry, called past the record
    ├── ToolCrashedError         the tool raised something it should not have
    ├── EventLogError            the log could not be written
    ├── PlanOutdatedError        the before-state changed between prepare and commit
    ├── ToolCancelledError       cancelled through its token before it had an effect, or once its command was ended
    │   └── ReadCancelledError
    ├── ReadByteLimitError
    └── GrepIsolationError       reason: timeout | cancelled | limit | failed

The class name is the stable code that goes over the wire.
"""

from __future__ import annotations

from typing import Literal


class ToolFailure(Exception):  # noqa: N818  not an error of the program: an ordinary answer
    """An ordinary failure; its text tells the model what to do next."""


class PathRefusedError(ToolFailure):
    """The path may not be used: it leaves the roots, or is not what the tool works on."""


class TextRefusedError(ToolFailure):
    """The bytes cannot be shown or changed as text without damage."""


class ToolExecutionError(Exception):
    """A hard error; ``reason`` is a stable word where one kind has several causes."""

    def __init__(self, message: str, *, reason: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason

    @property
    def code(self) -> str:
        """The stable name sent over the wire."""
        return type(self).__name__

    def to_json(self) -> dict[str, str]:
        """The wire form; ``reason`` is left out where there is none."""
        wire = {"type": self.code, "message": str(self)}
        if self.reason is not None:
            wire["reason"] = self.reason
        return wire


class ToolDefinitionError(ToolExecutionError, ValueError):
    """A tool was built wrongly; raised at construction, so that it can never run."""


class ToolNotFoundError(ToolExecutionError):
    """No tool of that name is in the assembled set."""


class ToolArgumentError(ToolExecutionError):
    """The arguments do not fit the input schema; nothing ran."""


class ToolResultError(ToolExecutionError):
    """A tool that declares the invocation protocol returned something else."""


class UnrecordedEffectError(ToolExecutionError):
    """A tool of a registry was to act without its intent on record; nothing was done (X2)."""


class PermissionDeniedError(ToolExecutionError):
    """The gate refused the call; nothing ran."""


class ToolCrashedError(ToolExecutionError):
    """A tool's own code raised; ``reason`` is the exception's name."""


class EventLogError(ToolExecutionError):
    """The event log could not be written; the message says whether the effect took place."""


class PlanOutdatedError(ToolExecutionError):
    """The before-state that a plan was made for no longer holds; nothing was changed."""


class ReadByteLimitError(ToolExecutionError):
    """A file or its formatted slice is over its byte budget; the message says what to do instead."""


class ToolCancelledError(ToolExecutionError):
    """A call was cancelled through its token, before it had an effect or, a command, after it was ended."""


class ReadCancelledError(ToolCancelledError):
    """A read was cancelled through its token before it had a result."""


class GrepIsolationError(ToolExecutionError):
    """The isolated search did not finish; raised only after it has stopped."""

    def __init__(self, message: str, *, reason: Literal["timeout", "cancelled", "limit", "failed"]) -> None:
        super().__init__(message, reason=reason)
