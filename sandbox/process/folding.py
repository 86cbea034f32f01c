r"""Progress that is drawn by carriage returns, folded to what a terminal would show at last; pure.

A line keeps what stands after its last carriage return. Carriage returns before a line feed belong to the line's end,
and so do those at the very end of the output: ``50%\r100%\r`` shows ``100%``.
"""

from __future__ import annotations

from typing import Final, Protocol

_RETURN: Final = ord("\r")


class TakesBack(Protocol):
    """Where folded bytes go."""

    @property
    def length(self) -> int:
        """How many bytes it has been given and not taken back."""
        ...

    def append(self, data: bytes | bytearray, size: int) -> None:
        """Add the first ``size`` bytes of ``data`` at the end, and keep no hold of it."""
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

    def feed(self, data: bytes | bytearray, size: int) -> None:
        """Take the next bytes: the first ``size`` of ``data``, which is not kept."""
        if self._returned or data.find(b"\r", 0, size) >= 0:
            data = self._fold(bytes(memoryview(data)[:size]))
            size = len(data)
        line_end = data.rfind(b"\n", 0, size)
        if line_end >= 0:
            self._line_start = self._output.length + line_end + 1
        self._output.append(data, size)

    def _fold(self, data: bytes) -> bytes:
        if self._returned:
            data = data.lstrip(b"\r")
            if not data:
                return data
            self._returned = False
            if data[0] != ord("\n"):
                self._restart_line()
        return self._fold_lines(data)

    def _fold_lines(self, data: bytes) -> bytes:
        if b"\n" in data:  # which is found out much sooner than that two bytes are not there
            data = data.replace(b"\r\n", b"\n")
        whole = data.rstrip(b"\r")
        self._returned = len(whole) != len(data)
        pieces: list[bytes] = []
        done = 0
        found = whole.find(b"\r")
        while found >= 0:
            end = whole.find(b"\n", found)
            end = len(whole) if end < 0 else end
            text_end = end
            if whole[end - 1] == _RETURN:
                text_end = found + len(whole[found:end].rstrip(b"\r"))
            # The last carriage return that something follows on its line.
            last = whole.rfind(b"\r", found, text_end)
            if last < 0:
                pieces.append(whole[done:found])
            else:
                start = whole.rfind(b"\n", done, found) + 1
                if start == 0:
                    # No line feed since ``done`` means that this is the line that the output ends in.
                    self._restart_line()
                else:
                    pieces.append(whole[done:start])
                pieces.append(whole[last + 1 : text_end])
                self.folded = self.folded or found > start or bool(whole[found:last].strip(b"\r"))
            done = end
            found = whole.find(b"\r", end)
        pieces.append(whole[done:])
        return b"".join(pieces)

    def _restart_line(self) -> None:
        if self._output.length > self._line_start:
            self.folded = True
            self._output.take_back(self._line_start)
