"""What a command at a provider writes, bounded while it is produced where the provider tells it piece by piece."""

from __future__ import annotations

import inspect
import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ..errors import SandboxAnswerError
from ..limits import LINE_OUTPUT_MAX_BYTES, RUN_OUTPUT_MAX_BYTES
from ..process.capture import OutputCapture
from ..process.result import Captured, CaptureLimits

if TYPE_CHECKING:
    from ..shell_files import LineEnd
    from .worker import E2BSandbox


class CommandOutput:
    """The output of one command; ``callbacks`` are the arguments by which the provider tells it while it is produced.

    With them both streams come in the order in which they were told, and nothing is kept at the provider's side. A
    provider that takes no callbacks gives all of it at the end, and stderr after stdout.
    """

    def __init__(self, sandbox: E2BSandbox) -> None:
        half = RUN_OUTPUT_MAX_BYTES // 2
        self._capture = OutputCapture(CaptureLimits(head_bytes=half, tail_bytes=half))
        self._lock = threading.Lock()
        self._captured: Captured | None = None
        self._is_told = _takes_callbacks(sandbox)

    @property
    def callbacks(self) -> dict[str, Any]:
        """Arguments for ``commands.run``; none where it would not take them."""
        return {"on_stdout": self._feed, "on_stderr": self._feed, "retain_output": False} if self._is_told else {}

    def captured(self, ended: LineEnd | None = None) -> Captured:
        """What is kept of it. A blocking provider that goes on after that speaks to nobody."""
        if ended is not None and not self._is_told:
            between = "\n" if ended.err and ended.out and not ended.out.endswith("\n") else ""
            self._feed(ended.out + between)
            self._feed(ended.err)
        with self._lock:
            if self._captured is None:
                self._captured = self._capture.captured()
            return self._captured

    def _feed(self, text: object) -> None:
        if not isinstance(text, str):
            raise SandboxAnswerError(f"the sandbox gave {type(text).__name__} as a piece of the command's output")
        with self._lock:
            if self._captured is None:
                self._capture.feed(text.encode("utf-8", "surrogatepass"))


class LineOutput:
    """The output of a line by which files are looked at: all of it, its streams apart, and within a bound.

    What runs there may write without end. A provider that takes no callbacks holds all of it itself.
    """

    def __init__(self, sandbox: E2BSandbox) -> None:
        self._out: list[str] = []
        self._err: list[str] = []
        self._left = LINE_OUTPUT_MAX_BYTES
        self._is_told = _takes_callbacks(sandbox)

    @property
    def callbacks(self) -> dict[str, Any]:
        """Arguments for ``commands.run``; none where it would not take them."""
        if not self._is_told:
            return {}
        return {
            "on_stdout": partial(self._feed, self._out),
            "on_stderr": partial(self._feed, self._err),
            "retain_output": False,
        }

    def told(self, ended: LineEnd) -> LineEnd:
        """The end with what was told until then."""
        if self._out or self._err:
            return replace(ended, out="".join(self._out), err="".join(self._err))
        return ended

    def _feed(self, stream: list[str], text: object) -> None:
        if not isinstance(text, str):
            raise SandboxAnswerError(f"the sandbox gave {type(text).__name__} as a piece of the command's output")
        self._left -= len(text)
        if self._left < 0:
            raise SandboxAnswerError(f"more than {LINE_OUTPUT_MAX_BYTES:,} characters came as an answer about a file")
        stream.append(text)


_CALLBACKS: Final = frozenset({"on_stdout", "on_stderr", "retain_output"})


def _takes_callbacks(sandbox: E2BSandbox) -> bool:
    try:
        return inspect.signature(sandbox.commands.run).parameters.keys() >= _CALLBACKS
    except (TypeError, ValueError):
        return False
