"""What one call in a container told about itself: when it began, how it ended, and what it said on stderr. Pure.

The wrapper around every script writes a line at its start and one at its end. An exit code of the engine's own, such as
125, is never taken for the script's, and a script that was never begun is never taken for one that succeeded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ..errors import ExitCodeError, SandboxError, SandboxUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .argv import ContainerEngine


class BoundedBytes:
    """Takes the stdout of an ``exec``, and of what is more than ``most`` only that it came."""

    def __init__(self, most: int) -> None:
        self.content = bytearray()
        self.is_over = False
        self._most = most

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        room = self._most - len(self.content)
        self.is_over = self.is_over or len(data) > room
        self.content += data[:room]


class Exchange:
    """Takes the stderr of an ``exec`` whose wrapper has the number ``run``. ``on_end`` is called at the end's line."""

    def __init__(self, run: str, on_end: Callable[[], None]) -> None:
        self.leader = ""
        """The number of the wrapper's process inside; empty until it has begun."""
        self._run = run
        self._on_end = on_end
        self._ends: list[bytes] = []
        self._said = bytearray()
        self._start = re.compile(rb"(?:\A|\n)%s start ([0-9]{1,10})\n" % run.encode())
        self._end = re.compile(rb"\n%s end ([^\n]*)\n" % run.encode())

    def feed(self, data: bytes) -> None:
        """Take the next bytes of stderr."""
        self._said += data
        begun = self._start.search(self._said)
        if begun is not None:
            self.leader = begun[1].decode()
            del self._said[begun.start() : begun.end()]
        # Two of them contradict each other already, and a shell that lies may tell any number.
        while len(self._ends) < 2 and (ended := self._end.search(self._said)) is not None:
            self._ends.append(ended[1])
            del self._said[ended.start() : ended.end()]
            self._on_end()
        del self._said[:-_SAID_MAX_BYTES]

    @property
    def said(self) -> str:
        """What else was said, by the script or by the engine; the last of it."""
        return self._said.decode(errors="backslashreplace").strip()

    def exit_code(self, engine: ContainerEngine, engine_code: int | None) -> int:
        """The script's exit code. ``engine_code`` is that of the engine's command line, None where it was let go.

        Raises:
            ExitCodeError: what was told is not one clear exit code.
            SandboxUnavailableError: the script was not begun.
            SandboxError: the engine failed.
        """
        if len(self._ends) == 1:
            return self._agreed(self._ends[0], engine_code)
        if self._ends:
            raise ExitCodeError(f"the end of the command was told twice; {_NO_SUCCESS}", reason="conflicting")
        if self.leader:
            raise ExitCodeError(
                f"the command was begun, and its end was not told ({engine.name} ended with {engine_code}"
                f"{self._words()}): its shell was killed, perhaps because memory was used up, or the container ended; "
                f"{_NO_SUCCESS}",
                reason="missing",
            )
        if engine_code in _NO_SHELL:
            raise SandboxUnavailableError(
                f"nothing was run: the container has no /bin/sh that can be started{self._words()}; use an image "
                "that has one"
            )
        raise SandboxUnavailableError(
            f"nothing was run: {engine.name} failed (exit code {engine_code}){self._words()}; see whether the engine "
            "and the container still run, and make a new one if not"
        )

    def _agreed(self, told: bytes, engine_code: int | None) -> int:
        if not _CODE.fullmatch(told) or int(told) > _CODE_MAX:
            raise ExitCodeError(f"the command's end was told as {told[:80]!r}; {_NO_SUCCESS}", reason="malformed")
        code = int(told)
        if engine_code is not None and engine_code != code:
            raise ExitCodeError(
                f"the command ended with {code}, and the engine's command line with {engine_code}{self._words()}; "
                f"{_NO_SUCCESS}",
                reason="conflicting",
            )
        return code

    def _words(self) -> str:
        return f": {' '.join(self.said.split())[-_WORDS_MAX_CHARS:]}" if self.said else ""


def engine_failure(engine: ContainerEngine, what: str, said: bytes) -> SandboxError:
    """The error of a command line of the engine itself, with what to do about it."""
    words = " ".join(said.decode(errors="backslashreplace").split())[-_WORDS_MAX_CHARS:] or "it gave no reason"
    known = next((advice for hint, advice in _ADVICE if hint in words.casefold()), "correct that, and try again")
    return SandboxUnavailableError(f"{what}: {words}; {known.format(engine=engine.name)}")


_ADVICE: Final = (
    ("is the docker daemon running", "start the daemon, or use another engine"),
    ("cannot connect to", "start the engine's service, or use another engine"),
    ("no such image", "get the image first ({engine} pull): nothing is downloaded by itself"),
    ("image not known", "get the image first ({engine} pull): nothing is downloaded by itself"),
    ("permission denied while trying to connect", "become a member of the group that may use the engine"),
)

_NO_SHELL: Final = frozenset({126, 127})
_CODE: Final = re.compile(rb"[0-9]{1,3}")
_CODE_MAX: Final = 255
_SAID_MAX_BYTES: Final = 64 * 1024
_WORDS_MAX_CHARS: Final = 600
_NO_SUCCESS: Final = "do not take it for success: look at what the command should have done before you go on"
