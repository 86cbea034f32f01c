"""Files of lines that look like source text, of any size, the same at every run."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MB = 1_000_000
_WORDS = ("self", "return", "value", "index", "for", "while", "buffer", "document", "offset", "limit", "import", "None")


def lines_of_source(size: int) -> list[bytes]:
    """Lines with their ends, ``size`` bytes together; every line starts with its number, so no two are alike."""
    chance = random.Random(20)
    lines: list[bytes] = []
    total = 0
    while total < size:
        words = " ".join(chance.choices(_WORDS, k=chance.randint(0, 14)))
        line = f"{' ' * (4 * chance.randint(0, 4))}{words} # {len(lines)}\n".encode()
        lines.append(line[: size - total - 1] + b"\n" if total + len(line) > size else line)
        total += len(lines[-1])
    return lines


def write_repeated(path: Path, lines: list[bytes], times: int) -> None:
    """Write the lines ``times`` times in a row, which makes big files quickly."""
    block = b"".join(lines)
    with path.open("wb") as file:
        for _ in range(times):
            file.write(block)
