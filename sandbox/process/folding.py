r"""Progress that is drawn by carriage returns, folded to what a terminal would show at last; pure.

A line keeps what stands after its last carriage return. Carriage returns before a line feed belong to the line's end,
and so do those at the very end of the output: ``50%\r100%\r`` shows ``100%``.
"""

from __future__ import annotations

from typing import Protocol


class TakesBack(Protocol):
    """Where folded bytes go."""

    @property
    def length(self) -> int:
        """How many bytes it has been given and not taken back."""
        ...

    def append(self, data: bytes) -> None:
        """Add bytes at the end."""
        ...

    def take_back(self, length: int) -> None:
        """Forget all but the first ``length`` bytes; what is forgotten has no line feed in it."""
        ...


class ReturnFolding:
    """Folds a stream that comes in any cut, with no memory of its own: the line that is written on lies behind it."""

    def __init__(self, output: TakesBack) -> None:
        self._output = output
        self._line_start = 0
        # Whether the bytes so far end in carriage returns; only what follows tells what they mean.
        self._returned = False
        self.folded = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        if self._returned:
            data = data.lstrip(b"\r")
            if not data:
                return
            self._returned = False
            if data[0] != ord("\n"):
                self._restart_line()
        if b"\r" in data:
            data = self._fold(data)
        line_end = data.rfind(b"\n")
        if line_end >= 0:
            self._line_start = self._output.length + line_end + 1
        self._output.append(data)

    def _fold(self, data: bytes) -> bytes:
        data = data.replace(b"\r\n", b"\n")
        whole = data.rstrip(b"\r")
        self._returned = len(whole) != len(data)
        pieces: list[bytes] = []
        done = 0
        found = whole.find(b"\r")
        while found >= 0:
            end = whole.find(b"\n", found)
            end = len(whole) if end < 0 else end
            # From the first carriage return of the line to its last that something follows.
            overwritten = whole[found:end].rstrip(b"\r")
            last = overwritten.rfind(b"\r")
            if last < 0:
                pieces.append(whole[done:found])
            else:
                start = whole.rfind(b"\n", done, found) + 1
                if start == 0:
                    # No line feed since ``done`` means that this is the line that the output ends in.
                    self._restart_line()
                else:
                    pieces.append(whole[done:start])
                pieces.append(overwritten[last + 1 :])
                self.folded = self.folded or found > start or bool(overwritten[:last].strip(b"\r"))
            done = end
            found = whole.find(b"\r", end)
        pieces.append(whole[done:])
        return b"".join(pieces)

    def _restart_line(self) -> None:
        if self._output.length > self._line_start:
            self.folded = True
            self._output.take_back(self._line_start)
