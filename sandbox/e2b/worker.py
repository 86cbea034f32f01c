"""What is expected of a sandbox object as the ``e2b`` package makes them, and how its methods are called.

By structure alone: no package is needed (T11). Methods may block, or be coroutine functions.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio
import anyio.to_thread

from ..errors import SandboxAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable


class E2BCommands(Protocol):
    """``commands`` of a sandbox object."""

    run: Callable[..., Any]
    """Called with a line, and ``cwd`` and ``timeout`` (seconds) by name.

    Gives an object with ``exit_code``, ``stdout`` and ``stderr``, or raises one with ``exit_code``."""


class E2BFiles(Protocol):
    """``files`` of a sandbox object."""

    read: Callable[..., Any]
    """Called with a path; and with ``format="bytes"`` if it has a parameter of that name. Gives str or bytes."""

    write: Callable[..., Any]
    """Called with a path and str, or bytes if ``read`` gives them; makes the directories above the file."""


class E2BSandbox(Protocol):
    """The object that is adapted.

    Looked for as well: ``sandbox_id``; ``snapshot`` or ``create_snapshot``, called with nothing; ``reconnect``, called
    with an id.
    """

    commands: E2BCommands
    files: E2BFiles


def require_sandbox(candidate: object) -> E2BSandbox:
    """The object, if it has what every sandbox object has.

    Raises:
        SandboxAnswerError: it has not; the text names what is missing.
    """
    for owner, method in _REQUIRED:
        if not callable(getattr(getattr(candidate, owner, None), method, None)):
            raise SandboxAnswerError(
                f"{type(candidate).__name__} is no sandbox: it has no {owner}.{method} that can be called"
            )
    sandbox: Any = candidate
    return sandbox


def sandbox_ids(sandbox: object) -> tuple[object, ...]:
    """What the object says to be its id, under each of the names that it can have there."""
    told = (getattr(sandbox, name, None) for name in ("sandbox_id", "sandboxId"))
    return tuple(value for value in told if value is not None)


def optional_method(sandbox: object, *names: str) -> Callable[..., Any] | None:
    """The first of these methods that the object has."""
    found = (getattr(sandbox, name, None) for name in names)
    return next((method for method in found if callable(method)), None)


def carries_bytes(sandbox: E2BSandbox) -> bool:
    """Whether files can be read as bytes; what gives text only has lost whatever was not text."""
    try:
        return "format" in inspect.signature(sandbox.files.read).parameters
    except (TypeError, ValueError):
        return False


async def call(method: Callable[..., Any], *args: Any, limiter: anyio.CapacityLimiter, **named: Any) -> Any:
    """What the method gives; one that blocks is called in a thread.

    Cancelled, the waiting ends at once. A thread cannot be ended: it goes on, and what it gives is dropped.
    """
    bound = functools.partial(method, *args, **named)
    if _is_coroutine_function(method):
        answer = bound()
    else:
        answer = await anyio.to_thread.run_sync(bound, abandon_on_cancel=True, limiter=limiter)
    return await answer if inspect.isawaitable(answer) else answer


_REQUIRED: Final = (("commands", "run"), ("files", "read"), ("files", "write"))


def _is_coroutine_function(method: Callable[..., Any]) -> bool:
    if isinstance(method, functools.partial):
        return _is_coroutine_function(method.func)
    return inspect.iscoroutinefunction(method) or inspect.iscoroutinefunction(getattr(method, "__call__", None))  # noqa: B004  an object whose call is a coroutine function counts as well
