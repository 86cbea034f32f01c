"""What a command at a provider writes, bounded while it is produced where the provider tells it piece by piece."""

from __future__ import annotations

import inspect
import threading
from typing import TYPE_CHECKING, Any, Final

from .errors import SandboxAnswerError
from .limits import RUN_OUTPUT_MAX_BYTES
from .process.capture import OutputCapture
from .process.result import Captured, CaptureLimits

if TYPE_CHECKING:
    from .e2b_worker import E2BSandbox
    from .shell_files import LineEnd


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


_CALLBACKS: Final = frozenset({"on_stdout", "on_stderr", "retain_output"})


def _takes_callbacks(sandbox: E2BSandbox) -> bool:
    try:
        return inspect.signature(sandbox.commands.run).parameters.keys() >= _CALLBACKS
    except (TypeError, ValueError):
        return False
