"""Random edits in our document store beside pygls' own text documents, in one run: `python bench_document_store.py`.

Ratios count; the times are this machine's, for scale.
"""

from __future__ import annotations

import random
import statistics
import time

from lsprotocol import types
from openbuffer.editor_access.document_store import TextBuffer
from openbuffer.editor_access.text import Position, PositionEncoding, Range
from pygls.workspace import PositionCodec, TextDocument

_MEGABYTE = 1_000_000
Edit = tuple[int, int, int, int, str]


def main() -> None:
    """Print the ratios, then the goals."""
    print(
        f"{'':>6} {'pygls edit':>12} {'our edit':>9} {'ratio':>8} {'ratio + text':>12} {'edit + text':>11} {'open':>10}"
    )
    _row(1, slow_edits=40)
    _row(10, slow_edits=6)
    print("goals: >= 800x; 5 us at 1 MB and 10 us at 10 MB per edit; edit + text 1.5 ms at 10 MB")
    _long_line()


def _row(megabytes: int, slow_edits: int) -> None:
    rng = random.Random(7)
    text = _text(megabytes * _MEGABYTE, rng)
    lines = text.count("\n")
    started = time.perf_counter()
    ours = TextBuffer(text, "utf-16")
    opened = time.perf_counter() - started
    theirs = TextDocument("file:///bench.txt", text, position_codec=PositionCodec("utf-16"))
    _ours_us(ours, _edits(2_000, lines, rng))  # every chunk has been touched, as after a while of work
    rounds: list[tuple[float, float, float]] = []
    for _ in range(5):  # taken in turns, so that a noisy neighbour hits all
        pygls_us = _theirs_us(theirs, _edits(slow_edits, lines, rng))
        edit_us = _ours_us(ours, _edits(4_000, lines, rng))
        _ = ours.text
        rounds.append((pygls_us, edit_us, _ours_us(ours, _edits(40, lines, rng), with_text=True)))
    theirs_us, ours_us, both_us = map(statistics.median, zip(*rounds, strict=True))
    print(
        f"{megabytes:>3} MB {theirs_us:>9,.0f} us {ours_us:>6.2f} us {theirs_us / ours_us:>7,.0f}x"
        f" {theirs_us / both_us:>11,.0f}x {both_us / 1000:>8.2f} ms {opened * 1000:>7.1f} ms"
    )


def _long_line() -> None:
    line = "wörter und 😋 " * (_MEGABYTE // 13)
    rng = random.Random(7)
    edits: list[Edit] = [(0, place, 0, place + 1, "x") for place in (rng.randrange(_MEGABYTE) for _ in range(20))]
    theirs = TextDocument("file:///bench.txt", line, position_codec=PositionCodec("utf-16"))
    theirs_us = _theirs_us(theirs, edits[:2])
    print(f"one line of a million characters beyond ASCII: pygls, utf-16 {theirs_us:,.0f} us an edit")
    encodings: tuple[PositionEncoding, ...] = ("utf-8", "utf-16", "utf-32")
    for encoding in encodings:
        ours_us = _ours_us(TextBuffer(line, encoding), edits)
        print(f"    ours, {encoding:<6} {ours_us:>7,.0f} us {theirs_us / ours_us:>5,.0f}x")


def _text(size: int, rng: random.Random) -> str:
    lines: list[str] = []
    total = 0
    while total < size:
        lines.append("x" * rng.randrange(80) + "\n")
        total += len(lines[-1])
    return "".join(lines)


def _edits(count: int, lines: int, rng: random.Random) -> list[Edit]:
    """Typing, joining and splitting of lines, and pastes, all over the document."""
    edits: list[Edit] = []
    for _ in range(count):
        line, character = rng.randrange(lines - 10), rng.randrange(60)
        kind = rng.randrange(4)
        if kind == 0:
            edits.append((line, character, line, character, "y"))
        elif kind == 1:
            edits.append((line, character, line, character + 3, ""))
        elif kind == 2:
            edits.append((line, character, line, character, "one\ntwo"))
        else:
            edits.append((line, character, line + 1, 0, ""))
    return edits


def _ours_us(buffer: TextBuffer, edits: list[Edit], *, with_text: bool = False) -> float:
    """Microseconds per edit; both stores get ranges that were built before the clock starts."""
    changes = [(Range(Position(a, b), Position(c, d)), new_text) for a, b, c, d, new_text in edits]
    started = time.perf_counter()
    for range_, new_text in changes:
        buffer.change(range_, new_text)
        if with_text:
            _ = buffer.text
    return (time.perf_counter() - started) / len(changes) * 1e6


def _theirs_us(document: TextDocument, edits: list[Edit]) -> float:
    changes = [
        types.TextDocumentContentChangePartial(
            range=types.Range(types.Position(a, b), types.Position(c, d)), text=new_text
        )
        for a, b, c, d, new_text in edits
    ]
    started = time.perf_counter()
    for change in changes:
        document.apply_change(change)
    return (time.perf_counter() - started) / len(changes) * 1e6


if __name__ == "__main__":
    main()
