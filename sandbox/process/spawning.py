"""Starts a program in a session of its own, its output in one pipe of ours, and says why it could not be started."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..errors import CommandStartError

if TYPE_CHECKING:
    from collections.abc import Generator

    from ..port import Invocation

_PIPE_BYTES: Final = 1024 * 1024

# They mean nothing to who reads, and tell the guard that the reader is a command of ours.
_INPUT_FLAGS: Final = os.O_RDONLY | os.O_APPEND | os.O_DSYNC


@dataclass(frozen=True, slots=True)
class OutputPipe:
    """Both ends of the pipe that is a command's stdout and stderr; ``inode`` names it among all pipes."""

    read_fd: int
    write_fd: int
    inode: int


def open_output_pipe() -> OutputPipe:
    """Open one, as large as the system lets it be.

    Raises:
        CommandStartError: there are too many open files.
    """
    try:
        read_fd, write_fd = os.pipe()
    except OSError as error:
        raise CommandStartError(_system_reason(error)) from error
    resize(read_fd, _PIPE_BYTES)
    return OutputPipe(read_fd, write_fd, os.fstat(read_fd).st_ino)


def resize(pipe_fd: int, size: int) -> None:
    """Set a pipe's capacity in bytes, where the system can and lets us; otherwise it stays as it is."""
    # Linux only; a user who has many pipes may not enlarge one more, and one that is full cannot shrink.
    with suppress(ImportError, OSError):
        from fcntl import F_SETPIPE_SZ, fcntl  # noqa: PLC0415  # absent elsewhere

        fcntl(pipe_fd, F_SETPIPE_SZ, size)


def start(invocation: Invocation, output_fd: int, pass_fds: tuple[int, ...]) -> int:
    """Start it with no input, and give its process id, which is that of its group and session too.

    Raises:
        CommandStartError: nothing ran; the text names the next step.
    """
    try:
        with _input() as input_fd, _signals_unblocked():
            return disown(
                subprocess.Popen(  # noqa: S603  # to run what was asked for is the purpose; the gate has judged it
                    invocation.argv,
                    cwd=invocation.cwd,
                    env=invocation.environment,
                    stdin=input_fd,
                    stdout=output_fd,
                    stderr=output_fd,
                    start_new_session=True,
                    pass_fds=pass_fds,
                )
            )
    except OSError as error:
        raise CommandStartError(_reason(error, invocation)) from error
    except ValueError as error:
        raise CommandStartError(
            f"the command has a character that no argument, directory or variable can have ({error}); "
            "write it without that"
        ) from error


def disown(process: subprocess.Popen[bytes]) -> int:
    """Take a child out of subprocess's hands: who started it waits for it. Gives its process id."""
    # Otherwise the object, when it goes, would warn of a child that still runs, or collect it and lose how it ended.
    process.returncode = 0
    return process.pid


def open_process(process_id: int) -> int | None:
    """A descriptor that becomes readable when our child ends; None where it cannot be had."""
    try:
        return os.pidfd_open(process_id)
    except (AttributeError, OSError):
        return None


def input_flags() -> str:
    """How Linux shows the flags of a command's input; empty where it cannot be told."""
    with suppress(OSError), _input() as input_fd, open(f"/proc/self/fdinfo/{input_fd}") as file:
        for line in file:
            if line.startswith("flags:"):
                return f"0{int(line.split()[1], 8) & ~os.O_CLOEXEC:o}"
    return ""


def close_all(*descriptors: int) -> None:
    """Close descriptors of ours."""
    for descriptor in descriptors:
        os.close(descriptor)


def boot_ticks() -> int:
    """Now, on the clock by which Linux tells when a process was started, in its ticks; 0 elsewhere."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


@contextmanager
def _input() -> Generator[int, None, None]:
    input_fd = os.open(os.devnull, _INPUT_FLAGS)
    try:
        yield input_fd
    finally:
        os.close(input_fd)


@contextmanager
def _signals_unblocked() -> Generator[None, None, None]:
    """A thread that blocks signals hands that down, and a command would never see that it is asked to end."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    if not blocked:
        yield
        return
    signal.pthread_sigmask(signal.SIG_UNBLOCK, blocked)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)


def _reason(error: OSError, invocation: Invocation) -> str:
    if error.errno == errno.E2BIG:
        return (
            "the command is too long for the system, alone or with its environment; "
            "write its text into a file, and run or read that"
        )
    if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENAMETOOLONG}:
        return _directory_reason(invocation.cwd) or _program_reason(error, invocation.argv[0])
    return _system_reason(error)


def _directory_reason(cwd: str) -> str | None:
    try:
        mode = os.stat(cwd).st_mode
    except FileNotFoundError:
        return f"the working directory {cwd} does not exist; create it, or name another one"
    except OSError as error:
        return f"the working directory {cwd} cannot be reached ({error.strerror}); name another one"
    if not stat.S_ISDIR(mode):
        return f"the working directory {cwd} is not a directory; name one"
    if not os.access(cwd, os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        return f"the working directory {cwd} may not be entered (permission denied); name another one"
    return None


def _program_reason(error: OSError, program: str) -> str:
    if error.errno == errno.ENOENT and os.path.exists(program):
        return f"the interpreter in the first line of {program} does not exist; install it or correct that line"
    if error.errno == errno.ENOENT:
        return f"there is no program {program}; install it, or name another one by its path"
    return f"{program} cannot be run ({error.strerror}); check that it is a program and may be executed"


def _system_reason(error: OSError) -> str:
    if error.errno in {errno.EAGAIN, errno.ENOMEM}:
        return f"the system starts no more processes now ({error.strerror}); end some that run, then try again"
    if error.errno in {errno.EMFILE, errno.ENFILE}:
        return f"the command could not be started ({error.strerror}); try again when less is running"
    return f"the command could not be started ({error.strerror or error}); correct that, then try again"
