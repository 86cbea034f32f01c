"""The process's standard streams, taken over before anything can print; stdlib only, because it runs first."""

from __future__ import annotations

import errno
import logging
import os
import select
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from ..limits import LOG_LINE_MAX_BYTES

if TYPE_CHECKING:
    from typing import Final

_STDIN: Final = 0
_STDOUT: Final = 1
_STDERR: Final = 2


def take_over_stdio() -> tuple[int, int]:
    """Move stdin and stdout to descriptors that no child inherits; returns (input, output).

    What reads 0 from now on finds the end of input; what is written to 1 goes to stderr, or nowhere without one.

    Raises:
        OSError: one of them is closed.
    """
    if sys.__stdin__ is None or sys.__stdout__ is None:
        # Closed before Python started; something of Python's own may have that number by now.
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    streams = os.dup(_STDIN), os.dup(_STDOUT)  # not inheritable
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, _STDIN)
    try:
        os.dup2(_STDERR, _STDOUT)
    except OSError:
        os.dup2(nothing, _STDOUT)
        os.dup2(nothing, _STDERR)
    os.close(nothing)
    sys.stdout = sys.stderr  # what is printed is seen at once, not when a buffer is full
    return streams


def let_go_of_stdio() -> None:
    """From now on stdin is at its end, and what is written to stdout goes to stderr; for a server at a socket."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor, instead in ((_STDIN, nothing), (_STDOUT, _STDERR)):
        try:
            os.dup2(instead, descriptor)
        except OSError:  # stderr is closed
            os.dup2(nothing, descriptor)
    os.close(nothing)


def log_to_stderr(level: int) -> None:
    """Send log records to stderr, but never wait for somebody to read them there."""
    root = logging.getLogger()
    root.setLevel(level)
    handler = _Unblocking(level)
    handler.setFormatter(logging.Formatter("openbuffer: %(levelname)s: %(name)s: %(message)s"))
    root.addHandler(handler)


class _Unblocking(logging.Handler):
    """One write per record, and only where it fits: a pipe says it is writable when PIPE_BUF bytes fit."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(Exception):  # a log that cannot be written is no reason to fail
            line = self.format(record).encode("utf-8", "backslashreplace")[: LOG_LINE_MAX_BYTES - 1] + b"\n"
            poll = select.poll()
            poll.register(sys.__stderr__.fileno() if sys.__stderr__ else _STDERR, select.POLLOUT)
            if any(events & select.POLLOUT for _, events in poll.poll(0)):
                os.write(_STDERR, line)
