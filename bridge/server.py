"""``openbuffer serve``: the language server, for one client over stdin and stdout or for many at a socket."""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from .life.process_streams import let_go_of_stdio, log_to_stderr, take_over_stdio
from .limits import LEAVE_GRACE_S, OUTGOING_MAX_BYTES, OUTGOING_STALL_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from openbuffer.editor_access.port import EditorProvider

    from .session import ToolExecutor
    from .wire.listening import Listener

LOG_LEVEL_VARIABLE = "OPENBUFFER_LOG"
"""DEBUG, INFO, WARNING (the default) or ERROR: what goes to stderr, to the log file and to the client."""

EXIT_USAGE = 2


def serve_stdio(
    create_executor: Callable[[tuple[str, ...], EditorProvider], ToolExecutor] | None = None,
    *,
    config_file: Path | None = None,
    log_file: Path | None = None,
    log_level: str = "",
    client_process: int | None = None,
    outgoing_max_bytes: int = OUTGOING_MAX_BYTES,
    outgoing_stall_s: float = OUTGOING_STALL_S,
) -> int:
    """Serve one client over stdin and stdout until it leaves; returns the exit code.

    0 after ``shutdown`` and then ``exit`` or the end of input, 1 without ``shutdown``, 128 + n after signal n, 2 where
    stdin or stdout is closed or the log file cannot be written.

    ``create_executor`` makes the tools for the client's workspace folders when they are first needed; without it
    they are the built-in ones, set up by ``config_file`` or else by the user's own file. ``client_process`` ends the
    server with its end. A client for which more than ``outgoing_max_bytes`` wait, or that takes nothing of what waits
    in ``outgoing_stall_s``, is given up.
    """
    try:
        input_fd, output_fd = take_over_stdio()
    except OSError as error:
        return _refuse(f"stdin and stdout must be open, the client is at their other ends: {error}")
    if os.isatty(input_fd):
        _say(
            "`serve` speaks the Language Server Protocol on stdin and stdout; an editor starts it. "
            "Ctrl-D ends it; `openbuffer demo` shows it at work."
        )
    if not _begin_log(log_file, log_level):
        return EXIT_USAGE

    def session() -> Awaitable[int]:
        from .wire.stdio import run_session  # noqa: PLC0415  after stdout is safe from what prints while it is imported

        return run_session(
            input_fd,
            output_fd,
            create_executor=create_executor,
            config_file=config_file,
            client_process=client_process,
            outgoing_max_bytes=outgoing_max_bytes,
            outgoing_stall_s=outgoing_stall_s,
        )

    return _run(session)


def serve_socket(
    address: str,
    create_executor: Callable[[tuple[str, ...], EditorProvider], ToolExecutor] | None = None,
    *,
    token_file: Path | None = None,
    config_file: Path | None = None,
    log_file: Path | None = None,
    log_level: str = "",
    client_process: int | None = None,
    **options: Any,
) -> int:
    """Serve clients at ``address`` (``HOST:PORT`` or ``unix:PATH``) until a signal comes; returns the exit code.

    Prints one line of JSON to stdout as soon as clients can connect: ``listen``, the address with the port that it was
    given, and ``accessToken``, unless the environment or ``token_file`` has it. Nothing else is printed there.

    128 + n after signal n, 0 with the end of ``client_process``, 2 where nothing can be served. ``create_executor`` is
    called for each session; ``options`` are those of ``serve_connections``.
    """
    from .access_token import AccessTokenError, TokenFile, given_token, new_token  # noqa: PLC0415  not for stdio
    from .wire.listening import ListenError, open_listener, parse_address  # noqa: PLC0415  likewise

    with ExitStack() as ending:
        try:
            given = given_token(os.environ)
            token = given or new_token()
            listener = open_listener(parse_address(address))
            ending.callback(listener.close)
            if token_file is not None:
                ending.callback(TokenFile(token_file, token).remove)
        except (AccessTokenError, ListenError) as error:
            return _refuse(str(error))
        announcement = {"listen": listener.address}
        if given is None and token_file is None:
            announcement["accessToken"] = token
        if not _begin_log(log_file, log_level):
            return EXIT_USAGE
        return _run(
            lambda: _connections(
                listener,
                token,
                announcement,
                create_executor=create_executor,
                config_file=config_file,
                client_process=client_process,
                closed=ending.close,  # not at the very end, which work that does not stop may keep from coming
                **options,
            )
        )


def _connections(listener: Listener, token: str, announcement: dict[str, str], **options: Any) -> Awaitable[int]:
    from .preload import import_tools  # noqa: PLC0415  see the caller
    from .wire.sockets import serve_connections  # noqa: PLC0415  likewise

    import_tools()

    def ready() -> None:
        try:
            os.write(sys.stdout.fileno(), f"{json.dumps(announcement)}\n".encode())
        except OSError as error:  # whoever would read it is gone; a token that nobody knows serves nobody
            logging.getLogger(__name__).warning("the address could not be told on stdout: %s", error.strerror)
        let_go_of_stdio()

    return serve_connections(listener, token, ready=ready, **options)


def _run(work: Callable[[], Awaitable[int]]) -> int:
    """Import what it needs, run it, and leave."""
    gc.disable()  # nothing of what is imported becomes garbage; looking for it costs a tenth of the start
    import anyio  # noqa: PLC0415  after stdout is safe from whatever prints while it is imported

    from .life.client_log import ClientLogHandler  # noqa: PLC0415  likewise
    from .life.lifetime import leave_anyway  # noqa: PLC0415  likewise

    logging.getLogger().addHandler(ClientLogHandler())

    async def run() -> int:
        doing = work()
        gc.freeze()
        gc.enable()
        return await doing

    code = anyio.run(run)
    leave_anyway(code, LEAVE_GRACE_S)
    return code


def _begin_log(file: Path | None, level_name: str) -> bool:
    level = _level(level_name or os.environ.get(LOG_LEVEL_VARIABLE, ""))
    log_to_stderr(level)
    if file is not None:
        from .life.log_file import LogFile, LogFileError  # noqa: PLC0415  not without a file

        try:
            logging.getLogger().addHandler(LogFile(file, level))
        except LogFileError as error:
            _say(str(error))
            return False
    return True


def _level(name: str) -> int:
    known = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARNING": logging.WARNING, "ERROR": logging.ERROR}
    return known.get(name.upper(), logging.WARNING)


def _refuse(why: str) -> int:
    _say(why)
    return EXIT_USAGE


def _say(sentence: str) -> None:
    sys.stderr.write(f"openbuffer: {sentence}\n")
