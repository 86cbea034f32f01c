"""One call of a container engine's command line: bytes in, bytes out, within bounds, and ended when it is cancelled."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc

from ..errors import CommandStartError, SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Mapping, Sequence

SETTLE_S: Final = 1.0
"""How long the output may stay open after the end: something in the background may hold it for ever."""


async def start_engine(
    argv: Sequence[str], *, environment: Mapping[str, str], stdin: int, pass_fds: tuple[int, ...] = ()
) -> anyio.abc.Process:
    """Start the command line in a session of its own, so that a Ctrl-C is not its.

    Raises:
        SandboxUnavailableError: there is no such program, or the arguments are too long for this system.
        CommandStartError: an argument holds what none can.
    """
    try:
        return await anyio.open_process(
            argv, stdin=stdin, env=environment, start_new_session=True, pass_fds=pass_fds, cwd="/"
        )
    except OSError as error:
        raise SandboxUnavailableError(
            f"{argv[0]} could not be started ({error.strerror}), so nothing was done; install Docker or Podman, or "
            "shorten what is to be run"
        ) from error
    except ValueError as error:  # a NUL, or half a character
        raise CommandStartError(f"what was to be run cannot be an argument ({error}); nothing was done") from error


async def call_engine(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    on_out: Callable[[bytes], None],
    on_err: Callable[[bytes], None],
    feed: AsyncIterable[bytes] | None = None,
    ended: anyio.Event | None = None,
    pass_fds: tuple[int, ...] = (),
) -> int | None:
    """Run it to its end; its exit code.

    ``feed`` goes to its stdin. Once ``ended`` is set, what it was to do is done, and it gets ``SETTLE_S`` to end by
    itself: then it is ended, and the exit code is None.

    Raises:
        SandboxUnavailableError: it could not be started.
        Exception: what ``feed`` raised, after the end.
    """
    stdin = subprocess.PIPE if feed is not None else subprocess.DEVNULL
    process = await start_engine(argv, environment=environment, stdin=stdin, pass_fds=pass_fds)
    failure: list[Exception] = []
    let_go = False
    try:
        async with anyio.create_task_group() as tasks:
            open_pipes = [anyio.Event(), anyio.Event()]

            async def wait_for_pipes() -> None:
                for pipe in open_pipes:
                    await pipe.wait()

            async def settle(done: anyio.Event) -> None:
                nonlocal let_go
                await done.wait()
                await anyio.sleep(SETTLE_S)
                let_go = True
                _kill(process)

            tasks.start_soon(_drain, process.stdout, on_out, open_pipes[0])
            tasks.start_soon(_drain, process.stderr, on_err, open_pipes[1])
            if feed is not None:
                tasks.start_soon(_feed, process.stdin, feed, failure)
            if ended is not None:
                tasks.start_soon(settle, ended)
            await process.wait()
            with anyio.move_on_after(SETTLE_S):
                await wait_for_pipes()
            tasks.cancel_scope.cancel()
    finally:
        await end_engine(process)
    if failure:
        raise failure[0]
    return None if let_go else process.returncode


async def end_engine(process: anyio.abc.Process) -> None:
    """Kill it if it still runs, and wait for it; the engine's own work is not ended by that."""
    with anyio.CancelScope(shield=True):
        _kill(process)
        await process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(anyio.BrokenResourceError, OSError):
                    await stream.aclose()


def _kill(process: anyio.abc.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()


async def _drain(
    stream: anyio.abc.ByteReceiveStream | None, take: Callable[[bytes], None], at_end: anyio.Event
) -> None:
    assert stream is not None
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        while True:
            take(await stream.receive(_RECEIVED_MAX))
    at_end.set()


async def _feed(
    stream: anyio.abc.ByteSendStream | None, pieces: AsyncIterable[bytes], failure: list[Exception]
) -> None:
    assert stream is not None
    try:
        async for piece in pieces:
            await stream.send(piece)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # it has ended already, and its exit code says why
    except Exception as error:  # noqa: BLE001  raised by the caller of all this, not in a group of one
        failure.append(error)
    # What was cut short is known by its size on the other side.
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        await stream.aclose()


_RECEIVED_MAX: Final = 256 * 1024
