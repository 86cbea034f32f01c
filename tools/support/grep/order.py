"""What a search is asked for, and what it finds; both cross the border between two processes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from .content import NotSearchedError, Reason

OutputMode: TypeAlias = Literal["files_with_matches", "content", "count"]
EngineName: TypeAlias = Literal["ripgrep", "own"]

_MOST_NAMED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One search.

    Attributes:
        path: the canonical path of what is searched; with it comes a descriptor of that.
        is_file: it is one file.
        named: directories that are else not looked into, but whose name was given.
        glob: which files are wanted; "" for all.
        head: how many files or matching lines are shown.
        ripgrep: the program; None where there is none that can be used.
        engine: the one to use; None to choose.
        unreadable: paths of which nothing may be told, as ``UnreadablePaths.plain`` has them.
    """

    pattern: str
    path: str
    is_file: bool
    named: tuple[str, ...]
    glob: str
    mode: OutputMode
    context: int
    head: int
    ignore_case: bool
    multiline: bool
    ignoring: bool
    max_file_bytes: int
    max_output_bytes: int
    ripgrep: str | None
    engine: EngineName | None
    unreadable: list[list[Any]] = field(default_factory=list["list[Any]"])


@dataclass(slots=True, kw_only=True)
class Answer:
    """What a search found, in words where it is words that are shown.

    Attributes:
        files: with a match; ``lines``: in all of them, where the mode counts lines.
        shown: files or lines in ``body``.
        searched: files that were looked at; None where that is not known.
        left_out: one sentence for each reason for which something was not looked at.
        failure: why nothing could be searched at all; "" where it could.
    """

    files: int = 0
    lines: int = 0
    shown: int = 0
    body: str = ""
    cut_by: Literal["", "head", "bytes"] = ""
    searched: int | None = None
    left_out: list[str] = field(default_factory=list[str])
    engine: EngineName = "own"
    failure: str = ""


@dataclass(slots=True)
class Found:
    """What an engine found: paths below the top with the number of lines, and files that it left out."""

    matched: list[tuple[str, int]] = field(default_factory=list["tuple[str, int]"])
    searched: int = 0
    counts: dict[Reason, int] = field(default_factory=dict["Reason", int])
    named: dict[Reason, list[tuple[str, str]]] = field(default_factory=dict["Reason", "list[tuple[str, str]]"])

    def leave_out(self, path: str, error: NotSearchedError) -> None:
        """Take note of a file that is not searched."""
        reason = error.reason
        self.counts[reason] = self.counts.get(reason, 0) + 1
        named = self.named.setdefault(reason, [])
        if len(named) < _MOST_NAMED:
            named.append((path, error.detail))

    def name_only(self, is_known: Callable[[str], bool]) -> None:
        """Keep the names that are known; the numbers stay."""
        for reason, named in self.named.items():
            self.named[reason] = [each for each in named if is_known(each[0])]

    def add(self, other: Found) -> None:
        """Take in what another process found."""
        self.matched += other.matched
        self.searched += other.searched
        for reason, count in other.counts.items():
            self.counts[reason] = self.counts.get(reason, 0) + count
            self.named[reason] = sorted(self.named.get(reason, []) + other.named[reason])[:_MOST_NAMED]

    def plain(self) -> Any:
        """The same as tuples, lists and dictionaries, for ``marshal``."""
        return self.matched, self.searched, self.counts, self.named

    @classmethod
    def of(cls, plain: Any) -> Found:
        """The other way round."""
        return cls(*plain)


def in_order(matched: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """By path, byte by byte."""
    if all(path.isascii() for path, _ in matched):
        return sorted(matched)
    return sorted(matched, key=lambda each: os.fsencode(each[0]))
