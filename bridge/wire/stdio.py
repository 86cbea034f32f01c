"""A session over two descriptors, of a process's own or of a connection, from the first byte to the exit code."""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack, aclosing, nullcontext
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from lsprotocol import types

from ..builtin_tools import BuiltinTools
from ..editor_settings import EditorSettings
from ..life.client_log import ClientLog, logging_to_client
from ..life.lifetime import Lifetime, ended_by_signals
from ..life.parent import process_ended
from ..life.stuck_loop import input_ended, leave_if_stuck, process_gone
from ..limits import FLUSH_GRACE_S, OUTGOING_MAX_BYTES, OUTGOING_STALL_S, STOP_GRACE_S
from ..saves import Saves
from ..wiring import create_protocol, tell_user, wire
from .framing import BadFrame, FrameReader
from .inbox import incoming
from .jsonrpc import Phase
from .outbox import Outbox

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openbuffer.editor_access.port import EditorProvider

    from ..session import Session, ToolExecutor
    from .jsonrpc import BridgeProtocol

log = logging.getLogger(__name__)


async def run_session(
    input_fd: int,
    output_fd: int,
    *,
    create_executor: Callable[[tuple[str, ...], EditorProvider], ToolExecutor] | None = None,
    config_file: Path | None = None,
    outgoing_max_bytes: int = OUTGOING_MAX_BYTES,
    outgoing_stall_s: float = OUTGOING_STALL_S,
    owns_process: bool = True,
    client_process: int | None = None,
    received: bytes = b"",
    stopping: anyio.Event | None = None,
    assembling: anyio.Lock | None = None,
) -> int:
    """Serve one client until it leaves, dies or is given up; returns the exit code. Takes over the output descriptor.

    ``owns_process``: the process is there for this session alone, so that signals end the session in good order, and
    the process with it where work does not stop. Without it several sessions may share a process, ``stopping`` ends
    them in good order, and this returns when all work of the session has stopped; its client is let go before.
    ``client_process`` is watched from the start, and not only when the client tells its number. ``received`` is what
    was read of the input before. ``assembling`` is shared by the sessions of one loop.
    """
    protocol = create_protocol()
    lifetime = Lifetime(lambda: protocol.phase is Phase.SHUT_DOWN, owns_process=owns_process)
    outbox = Outbox(output_fd, lost=lifetime.end, max_bytes=outgoing_max_bytes, stall_s=outgoing_stall_s)
    protocol.set_writer(outbox)
    client_log = ClientLog(partial(protocol.send_droppable, types.WINDOW_LOG_MESSAGE))
    ending = ExitStack()
    code = 1
    try:
        with logging_to_client(client_log):
            async with anyio.create_task_group() as tasks:
                protocol.run_in(tasks)

                loop = asyncio.get_running_loop()
                if owns_process:
                    leave_if_stuck(loop, partial(input_ended, input_fd))

                def watch_process(process_id: int) -> None:
                    tasks.start_soon(_end_with, process_id, lifetime)
                    if owns_process:
                        leave_if_stuck(loop, partial(process_gone, process_id))

                saves, settings, tell = Saves(), EditorSettings(), tell_user(protocol)
                builtin = BuiltinTools(
                    ending=ending, config_file=config_file, tell=tell, saves=saves, editor_settings=settings
                )
                session = wire(
                    protocol,
                    lifetime,
                    watch_process,
                    create_executor or builtin,
                    saves,
                    settings,
                    let_go=builtin.let_go,
                    tell=tell,
                    assembling=assembling,
                )
                if client_process is not None:
                    watch_process(client_process)
                if stopping is not None:
                    tasks.start_soon(_end_when, stopping, lifetime)
                with ended_by_signals(loop, lifetime) if owns_process else nullcontext():
                    tasks.start_soon(_read, input_fd, received, protocol, lifetime)
                    code = await lifetime.wait()
                    await _wind_down(protocol, session, outbox, ending)
                    tasks.cancel_scope.cancel()
    finally:
        outbox.close()
    return code


async def _read(input_fd: int, received: bytes, protocol: BridgeProtocol, lifetime: Lifetime) -> None:
    """Take what was received and what comes."""
    frames = FrameReader()
    await _take(received, frames, protocol)
    async with aclosing(incoming(input_fd)) as chunks:
        async for data in chunks:
            await _take(data, frames, protocol)
    lifetime.end("end of input")


async def _take(data: bytes, frames: FrameReader, protocol: BridgeProtocol) -> None:
    """Hand over message by message, in order.

    After each one the loop gets a turn, so that a request's handler has taken its first steps before the next
    message can change what it looks at.
    """
    for item in frames.feed(data):
        if isinstance(item, BadFrame):
            protocol.handle_bad_frame(item)
        elif rest := protocol.handle_body(item):
            frames.push_back(rest)
        await asyncio.sleep(0)


async def _end_when(stopping: anyio.Event, lifetime: Lifetime) -> None:
    await stopping.wait()
    lifetime.end("the server ends")


async def _end_with(process_id: int, lifetime: Lifetime) -> None:
    await process_ended(process_id)
    lifetime.end(f"the client's process {process_id} has ended")


async def _wind_down(protocol: BridgeProtocol, session: Session, outbox: Outbox, ending: ExitStack) -> None:
    """Stop the work, answer it, send the answers, let the client go, clean up.

    Where the process is there for this session alone, the lifetime's clock bounds all of it. Elsewhere work that does
    not stop is waited for when all else is done.
    """
    protocol.connection_lost()
    session.connection_lost()
    protocol.cancel_requests()
    with anyio.move_on_after(STOP_GRACE_S) as waiting:
        await protocol.wait_idle()
    if waiting.cancelled_caught:
        log.warning("a call did not stop in %g s", STOP_GRACE_S)
    with anyio.move_on_after(FLUSH_GRACE_S):
        await outbox.flush()
    outbox.close()
    await anyio.to_thread.run_sync(ending.close)
