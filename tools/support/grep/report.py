"""What is shown of what was found: paths, lines with their numbers, or counts; within bounds, and cut with a word."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from ...limits import LINE_MAX_CHARS
from ..located import printable
from .content import Beneath, NotSearchedError, read_all, text_of
from .order import Answer, in_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .content import Reason
    from .matcher import Lines, Matcher, Text
    from .order import Found, Order

_NAMED: Final = 5


class Report:
    """One search's answer, written piece by piece.

    ``is_sure``: that the files lie below the top is known; else it is looked whether they do.
    """

    def __init__(self, order: Order, found: Found, matcher: Matcher, top_fd: int, *, is_sure: bool = True) -> None:
        self._order = order
        self._found = found
        self._matcher = matcher
        self._top_fd = top_fd
        self._beneath = Beneath(top_fd)
        self._is_sure = is_sure or order.is_file
        self._left_bytes = order.max_output_bytes
        self._body: list[str] = []
        self.answer = Answer(files=len(found.matched), lines=sum(count for _, count in found.matched))

    def write(self) -> Answer:
        """The whole answer, but for what a walk left out."""
        write = {"files_with_matches": self._paths, "count": self._counts, "content": self._contents}[self._order.mode]
        try:
            write(in_order(self._found.matched))
        finally:
            self._beneath.close()
        if not self._is_sure:
            # Where a directory was swapped for a link, names from outside may have been met; they are not told.
            self._found.name_only(self.is_inside)
        self.answer.body = "\n".join(self._body)
        self.answer.left_out += reasons_of(self._found, self._order)
        return self.answer

    def is_inside(self, path: str) -> bool:
        """Whether there is something of this name below the top, with no link on the way."""
        beneath = Beneath(self._top_fd)
        try:
            return beneath.has_entry(path)
        finally:
            beneath.close()

    def _put(self, *lines: str) -> bool:
        """Add lines, all or none; False where there is no room for them."""
        size = sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)
        if size > self._left_bytes:
            self.answer.cut_by = "bytes"
            return False
        self._left_bytes -= size
        self._body.extend(lines)
        return True

    def _path(self, path: str) -> str:
        return printable(self._order.path if self._order.is_file else os.path.join(self._order.path, path))

    def _entries(self, matched: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
        for path, count in matched:
            if not (self._is_sure or self._beneath.has_file(path)):
                self._gone(path, count)
            elif self.answer.shown == self._order.head:
                self.answer.cut_by = "head"
                return
            else:
                yield path, count

    def _gone(self, path: str, count: int, error: NotSearchedError | None = None) -> None:
        self.answer.files -= 1
        self.answer.lines -= count
        self._found.leave_out(path, error or NotSearchedError("changed"))

    def _paths(self, matched: list[tuple[str, int]]) -> None:
        for path, _ in self._entries(matched):
            if not self._put(self._path(path)):
                return
            self.answer.shown += 1

    def _counts(self, matched: list[tuple[str, int]]) -> None:
        for path, count in self._entries(matched):
            if not self._put(f"{self._path(path)}: {count}"):
                return
            self.answer.shown += 1

    # --- content ------------------------------------------------------------------------------------------

    def _contents(self, matched: list[tuple[str, int]]) -> None:
        for path, count in self._entries(matched):
            try:
                now = self._content(path)
            except NotSearchedError as error:
                self._gone(path, count, error)
                continue
            if now is None:
                return
            self.answer.lines += now - count  # as the file is now, where it has changed since it was searched
            self.answer.files -= not now

    def _content(self, path: str) -> int | None:
        """Put the lines of one file; how many match, or None where something was cut."""
        subject, found = self._matcher.lines(self._text(path))
        heading = [*([""] if self._body else []), f"{self._path(path)}:"]
        count = 0
        for lines, matches in excerpt(subject, found, self._order.context):
            if matches and self.answer.shown == self._order.head:
                self.answer.cut_by = "head"
                return None
            if not self._put(*heading, *lines):
                return None
            heading = []
            count += matches
            self.answer.shown += matches
        return count

    def _text(self, path: str) -> bytes:
        most = self._order.max_file_bytes
        if self._order.is_file:
            return text_of(read_all(self._top_fd, most))
        return text_of(self._beneath.read(path, most))


def reasons_of(found: Found, order: Order) -> list[str]:
    """One sentence for each reason for which files were not searched, with some of their names."""
    reasons: list[str] = []
    for reason, (one, many) in _WORDS.items():
        count = found.counts.get(reason, 0)
        if not count:
            continue
        what = f"1 {one}" if count == 1 else f"{count} {many}"
        named = sorted(found.named[reason])[:_NAMED]
        shown = ", ".join(_named(path, detail, reason) for path, detail in named)
        more = f" and {count - len(named)} more" if count > len(named) else ""
        told = f": {shown}{more}" if named else ""
        reasons.append(f"{what.format(most=order.max_file_bytes)}{told}")
    return reasons


_WORDS: Final[dict[Reason, tuple[str, str]]] = {
    "binary": ("binary file", "binary files"),
    "too large": ("file of more than {most} bytes", "files of more than {most} bytes"),
    "too slow": (
        "file on which the pattern takes too long; a pattern without nested repetitions is faster",
        "files on which the pattern takes too long; a pattern without nested repetitions is faster",
    ),
    "too much memory": ("file that takes too much memory", "files that take too much memory"),
    "unreadable": ("file that could not be read", "files that could not be read"),
    "changed": ("file that went away or was replaced during the search", "files that went away or were replaced"),
}


def _named(path: str, detail: str, reason: Reason) -> str:
    shown = printable(path)
    if reason == "too large":
        return f"{shown} ({detail} bytes)"
    return f"{shown} ({printable(detail)})" if reason == "unreadable" and detail else shown


def excerpt(subject: Text, found: Lines, context: int) -> Iterator[tuple[list[str], bool]]:
    """The matching lines of one text in their order, each with the lines around it that were not shown before."""
    return _Excerpt(subject, context).pieces(found)


class _Excerpt:
    """Where in a text the lines that were shown end, and which number the next one has."""

    def __init__(self, subject: Any, context: int) -> None:
        self._subject = subject
        self._line_feed: Any = b"\n" if isinstance(subject, bytes) else "\n"
        self._context = context
        self._at = 0
        self._number = 1
        self._due = 0  # context lines behind the last match

    def pieces(self, found: Lines) -> Iterator[tuple[list[str], bool]]:
        for start, end in found:
            behind = self._behind(start)
            if behind:
                yield behind, False
            before = self._before(start)
            while self._at <= end and (self._at < len(self._subject) or self._at == start):
                yield [*before, self._line(":")], True
                before = []
            self._due = self._context
        behind = self._behind(len(self._subject))
        if behind:
            yield behind, False

    def _behind(self, start: int) -> list[str]:
        """Context of the last match, up to the next one."""
        lines: list[str] = []
        while self._due and self._at < start:
            lines.append(self._line("-"))
            self._due -= 1
        return lines

    def _before(self, start: int) -> list[str]:
        """Context of a match that is not shown yet, behind a mark where something is left out."""
        first = start
        for _ in range(self._context):
            if first <= self._at:
                break
            first = max(self._at, self._subject.rfind(self._line_feed, 0, first - 1) + 1)
        lines = ["--"] if first > self._at and self._at and self._context else []
        self._number += self._subject.count(self._line_feed, self._at, first)
        self._at = first
        while self._at < start:
            lines.append(self._line("-"))
        return lines

    def _line(self, sign: str) -> str:
        end = self._subject.find(self._line_feed, self._at)
        end = len(self._subject) if end < 0 else end
        text = _shown(self._subject[self._at : end])
        line = f"{self._number}{sign}{text}"
        self._at = end + 1
        self._number += 1
        return line


def _shown(line: Text) -> str:
    """A line as text; bytes that are no characters are written out, and a long one is cut."""
    if isinstance(line, str):
        line = line.encode("utf-8", "surrogateescape")
    text = line.removesuffix(b"\r").decode("utf-8", "backslashreplace")
    if len(text) <= LINE_MAX_CHARS:
        return text
    return f"{text[:LINE_MAX_CHARS]} … (line cut: {LINE_MAX_CHARS} of {len(text)} characters shown)"
