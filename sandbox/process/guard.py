"""Ends this process's commands when it dies, however it dies (S2).

One small shell per process, started with the first command, reads on a pipe what runs. When the pipe ends, its owner
is gone, even by SIGKILL: it kills the sessions that it knows, and whoever can still write to an output pipe that it
knows. The output pipe is told before a command is started. So is the time, because a command can let go of its output
before its number can be told: then it is known by having become an orphan together with the guard, and by its input,
which is /dev/null opened as nobody else does it.
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

from .spawning import disown, input_flags

# Lines are "+ PIPE @SINCE" before the start, then "+ PIPE GROUP", or "+ PIPE" where the group is gone, and "- PIPE".
# What is known is kept as " PIPE:GROUP PIPE:GROUP ". Signals are tried until nothing is found any more, because a
# process can be between two places in one round, and because those that are found tell of a session that others are
# in. A pipe's holder is looked for in a listing of all, and found again in its own before it is killed: names of files
# in the listing of all can be made to look like anything. The owner's own session is left alone.
_SCRIPT: Final = r"""
input_flags=$1 owner_session=$2
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
    case ${entry#*:} in ''|@*) ;; *) kill -9 "-${entry#*:}" && found=1 ;; esac
  done
}
kill_writers() {
  for pid in $(ls -l /proc/[0-9]*/fd | while read -r line; do
    case $line in /proc/*/fd:) pid=${line#/proc/}; pid=${pid%/fd:} ;; *) writes_known "$line" && echo "$pid" ;; esac
  done); do
    [ "$(confirmed "$pid")" = yes ] || continue
    found=1
    read_stat "/proc/$pid/stat"
    [ "${session:-0}" = 0 ] || [ "$session" = "$owner_session" ] && continue
    case $known in *":$session "*) ;; *) known="$known-:$session " ;; esac
    kill -9 "$pid"
  done
}
read_stat() {
  last=
  while read -r line; do last=$line; done < "$1"
  set -- ${last##*)}
  state=$1 parent=$2 session=$4 started=${20}
}
kill_sessions() {
  for stat in /proc/[0-9]*/stat; do
    read_stat "$stat"
    pid=${stat#/proc/}; pid=${pid%/stat}
    [ "${state:-Z}" = Z ] && continue
    [ "$parent $session" = "$reaper $pid" ] && just_started "$pid" "$started" && known="$known-:$pid "
    case $known in *":$session "*) kill -9 "$pid" && found=1 ;; esac
  done
}
just_started() {
  case $known in *" -:$1 "*) return 1 ;; esac
  while read -r key value; do [ "$key" = flags: ] && break; done < "/proc/$1/fdinfo/0"
  [ "$value" = "$input_flags" ] || return 1
  for entry in $known; do
    case $entry in *:@*) [ "$2" -ge "${entry#*:@}" ] && return 0 ;; esac
  done
  return 1
}
find_reaper() {
  read_stat /proc/self/stat
  reaper=$parent
  if [ "$reaper" = $PPID ]; then reaper=; found=1; fi
}
round=0
empty=0
while [ $round -lt 40 ]; do
  found=
  kill_groups
  # A group is also there when all of it is dead and not collected, which its processes tell where they can be read.
  if [ -d /proc/self/fd ]; then found=; find_reaper; kill_writers; kill_sessions; fi
  # One that is just being started may be in none of the lists: a sandbox's first process is, while its maker dies.
  if [ -n "$found" ]; then empty=0; else empty=$((empty + 1)); fi
  [ $empty -ge 4 ] && exit
  round=$((round + 1))
  sleep 0.05
done
"""

_SHELL: Final = "/bin/sh"
_ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
_WRITE_PATIENCE_MS: Final = 1_000
_KILL_PATIENCE_S: Final = 2.0
_KILL_LOOK_S: Final = 0.002


class Guard:
    """Knows what runs, and keeps the shell that ends it alive. Used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[int, str] = {}
        self._pid: int | None = None
        self._write_fd = -1

    @property
    def process_id(self) -> int | None:
        """The shell, where one was started."""
        return self._pid

    def expect(self, pipe_inode: int, since_ticks: int) -> None:
        """Tell the output pipe of a command that is about to be started, and the time (``boot_ticks``).

        Raises:
            OSError: the guard cannot be had; the command must not be started.
        """
        self._tell(pipe_inode, f"@{since_ticks}")

    def register(self, pipe_inode: int, group: int | None) -> None:
        """Tell the process group of the command, or that it has none any more.

        Raises:
            OSError: the guard died and cannot be started again.
        """
        self._tell(pipe_inode, "" if group is None else str(group))

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

    def _tell(self, pipe_inode: int, group: str) -> None:
        with self._lock:
            self._known[pipe_inode] = group
            try:
                if self._pid is None:
                    self._start()
                else:
                    self._send(_line(pipe_inode, group))
            except OSError:
                if group.startswith("@"):
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
                [_SHELL, "-c", _SCRIPT, "openbuffer-guard", input_flags(), str(os.getsid(0))],
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


def _line(pipe_inode: int, group: str) -> str:
    return f"+ {pipe_inode} {group}\n"


guard: Final = Guard()
"""The one of this process."""

os.register_at_fork(after_in_child=guard.after_fork_in_child)
