"""The last lines of an output that is still being written, as a report of progress shows them; pure."""

from __future__ import annotations

import re
from typing import Final

from .unseen import HIDDEN, TURNING

_KEPT_BYTES: Final = 2_048
_LINES: Final = 3
_MOST_CHARS: Final = 240
_BETWEEN: Final = " \u2502 "


class OutputTail:
    """Takes the output in any cut; what it gives is one line, bounded, and of characters that are seen."""

    def __init__(self) -> None:
        self._kept = b""
        self._cut = False

    def feed(self, data: bytes) -> str:
        """Take more; gives the last lines by now, "" where there is nothing in them.

        A line that is drawn anew by carriage returns is as it was drawn last, and what would move a terminal's cursor
        or change its colours is left out.
        """
        self._cut = self._cut or len(self._kept) + len(data) > _KEPT_BYTES
        self._kept = (self._kept + data[-_KEPT_BYTES:])[-_KEPT_BYTES:]
        lines = self._kept.decode("utf-8", "ignore").split("\n")
        if self._cut and len(lines) > 1:
            del lines[0]  # its beginning is gone
        shown = [line for line in map(_drawn, lines) if line][-_LINES:]
        while len(shown) > 1 and sum(map(len, shown)) + len(_BETWEEN) * (len(shown) - 1) > _MOST_CHARS:
            del shown[0]
        text = _BETWEEN.join(shown)
        return text if len(text) <= _MOST_CHARS else f"{text[: _MOST_CHARS - 1]}…"


def _drawn(line: str) -> str:
    line = _ESCAPES.sub("", line).rstrip("\r\b ")
    return _UNSEEN.sub("", line.rpartition("\r")[2].replace("\t", " ")).strip()


_ESCAPES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*(?:[@-~]|$)"  # colours and movements
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)"  # titles, links and other texts for the terminal
    r"|\x1b[ -/]*(?:[0-~]|$)"
)
_UNSEEN: Final = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{TURNING}{HIDDEN}]")
