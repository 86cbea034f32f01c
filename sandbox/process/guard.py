"""Ends this process's commands when it dies, however it dies (S2).

One small shell per process, started with the first command, reads on a pipe what runs. When the pipe ends, its owner
is gone, even by SIGKILL: it kills the sessions that it knows, and whoever can still write to an output pipe that it
knows. The pipe is told before a command is started, so that there is no moment in which a command is not known.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import Final

from .spawning import disown

# Lines are "+ PIPE GROUP", the group missing before the start, and "- PIPE". What is known is kept as
# " PIPE:GROUP PIPE:GROUP ". Signals are tried until nothing is found any more, because a process can be between two
# places in one round. A pipe's holder is looked for in a listing of all, and found again in its own before it is
# killed: names of files in the listing of all can be made to look like anything.
_SCRIPT: Final = r"""
trap '' HUP INT QUIT TERM USR1 USR2 ALRM TSTP TTIN TTOU
known=' '
while read -r sign pipe group; do
  case $known in *" $pipe:"*) rest=${known#*" $pipe:"}; known="${known%%" $pipe:"*} ${rest#* }" ;; esac
  [ "$sign" = + ] && known="$known$pipe:$group "
done
[ "$known" = ' ' ] && exit
writes_known() {
  case $1 in l-wx*'-> pipe:['*) ;; *) return 1 ;; esac
  inode=${1##*pipe:\[}
  case $known in *" ${inode%\]}:"*) return 0 ;; esac
  return 1
}
confirmed() {
  ls -l "/proc/$1/fd" | while read -r line; do writes_known "$line" && echo yes && break; done
}
kill_groups() {
  for entry in $known; do
    [ -n "${entry#*:}" ] && kill -9 "-${entry#*:}" && found=1
  done
}
kill_writers() {
  for pid in $(ls -l /proc/[0-9]*/fd | while read -r line; do
    case $line in /proc/*/fd:) pid=${line#/proc/}; pid=${pid%/fd:} ;; *) writes_known "$line" && echo "$pid" ;; esac
  done); do
    [ "$(confirmed "$pid")" = yes ] && kill -9 "$pid" && found=1
  done
}
kill_sessions() {
  for stat in /proc/[0-9]*/stat; do
    last=
    while read -r line; do last=$line; done < "$stat"
    pid=${stat#/proc/}; pid=${pid%/stat}
    set -- ${last##*)}
    [ "$1" = Z ] && continue
    case $known in *":${4:-none} "*) kill -9 "$pid" && found=1 ;; esac
  done
}
round=0
empty=0
while [ $round -lt 40 ]; do
  found=
  kill_groups
  # A group is also there when all of it is dead and not collected, which its processes tell where they can be read.
  if [ -d /proc/self/fd ]; then found=; kill_writers; kill_sessions; fi
  # One that is just being started may be in none of the lists: a sandbox's first process is, while its maker dies.
  if [ -n "$found" ]; then empty=0; else empty=$((empty + 1)); fi
  [ $empty -ge 4 ] && exit
  round=$((round + 1))
  sleep 0.05
done
"""

_ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
_WRITE_PATIENCE_MS: Final = 1_000
_KILL_PATIENCE_S: Final = 2.0
_KILL_LOOK_S: Final = 0.002


class Guard:
    """Knows what runs, and keeps the shell that ends it alive. Used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[int, int | None] = {}
        self._pid: int | None = None
        self._write_fd = -1

    @property
    def process_id(self) -> int | None:
        """The shell, where one was started."""
        return self._pid

    def expect(self, pipe_inode: int) -> None:
        """Tell the output pipe of a command that is about to be started.

        Raises:
            OSError: the guard cannot be had; the command must not be started.
        """
        self._tell(pipe_inode, None)

    def register(self, pipe_inode: int, group: int | None) -> None:
        """Tell the process group of the command, or that it has none any more.

        Raises:
            OSError: the guard died and cannot be started again.
        """
        self._tell(pipe_inode, group)

    def forget(self, pipe_inode: int) -> None:
        """The command has ended, and everything that it had started."""
        with self._lock:
            if pipe_inode in self._known:
                del self._known[pipe_inode]
                # A shell that cannot be told is replaced by one that is told what remains.
                with suppress(OSError):
                    self._send(f"- {pipe_inode}\n")

    def check(self) -> None:
        """Start the shell again if it has died. To be called about each second while something is known."""
        with self._lock, suppress(OSError):  # the next check tries again
            if self._known and not self._is_well():
                self._start()

    def after_fork_in_child(self) -> None:
        """Let go of the parent's shell, which would otherwise wait for this process too."""
        if self._write_fd >= 0:
            os.close(self._write_fd)
        self.__init__()

    def _tell(self, pipe_inode: int, group: int | None) -> None:
        with self._lock:
            self._known[pipe_inode] = group
            try:
                if self._pid is None:
                    self._start()
                else:
                    self._send(_line(pipe_inode, group))
            except OSError:
                if group is None:
                    del self._known[pipe_inode]
                raise

    def _send(self, line: str) -> None:
        if not self._written(line.encode()):
            self._start()

    def _written(self, data: bytes) -> bool:
        for patience_ms in (_WRITE_PATIENCE_MS, 0):
            try:
                os.write(self._write_fd, data)
            except BlockingIOError:
                writable = select.poll()
                writable.register(self._write_fd, select.POLLOUT)
                writable.poll(patience_ms)
            except OSError:
                return False
            else:
                return True
        return False

    def _is_well(self) -> bool:
        # A shell that was stopped guards nothing.
        try:
            return self._pid is not None and not _has_changed(self._pid, os.WEXITED | os.WSTOPPED)
        except ChildProcessError:
            return False

    def _start(self) -> None:
        self._stop()
        read_fd, write_fd = os.pipe()
        try:
            os.set_blocking(write_fd, False)
            shell = subprocess.Popen(  # noqa: S603  # a script of ours, with nothing filled in
                ["/bin/sh", "-c", _SCRIPT, "openbuffer-guard"],
                stdin=read_fd,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=_ENVIRONMENT,
                start_new_session=True,
            )
        except BaseException:
            os.close(write_fd)
            raise
        finally:
            os.close(read_fd)
        self._pid, self._write_fd = disown(shell), write_fd
        if not self._written("".join(_line(pipe, group) for pipe, group in self._known.items()).encode()):
            raise OSError("the process that ends commands when this one dies does not read")

    def _stop(self) -> None:
        """End the shell before its pipe is closed, or it would take that for the owner's death."""
        if self._pid is None:
            return
        try:
            # A dead one keeps its number until it is collected here, unless somebody else in this process did that.
            if not _has_changed(self._pid, os.WEXITED):
                os.kill(self._pid, signal.SIGKILL)
            until = time.monotonic() + _KILL_PATIENCE_S
            while os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG) is None and time.monotonic() < until:
                time.sleep(_KILL_LOOK_S)
        except (ChildProcessError, ProcessLookupError):
            pass
        os.close(self._write_fd)
        self._pid, self._write_fd = None, -1


def _has_changed(child: int, states: int) -> bool:
    """Whether a child is in one of the states; it stays to be collected.

    Raises:
        ChildProcessError: it is not there any more.
    """
    return os.waitid(os.P_PID, child, states | os.WNOHANG | os.WNOWAIT) is not None


def _line(pipe_inode: int, group: int | None) -> str:
    return f"+ {pipe_inode} {'' if group is None else group}\n"


guard: Final = Guard()
"""The one of this process."""

os.register_at_fork(after_in_child=guard.after_fork_in_child)
