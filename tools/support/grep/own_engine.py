"""The engine that needs nothing installed: a walk, and the pattern over one file after the other.

A small tree is searched by the process itself, which keeps what it read; of a large one the rest is searched by several
processes.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Final

from ...contract import CancellationToken
from ..descriptor_path import LISTING_FLAGS
from ..glob_pattern import GlobPattern
from ..left_out import FirstNames, left_out
from ..unreadable import UnreadablePaths
from ..walk import Walk
from .content import NotSearchedError
from .crew import Crew, lines_in
from .order import Found
from .standing_tree import StandingTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..located import Located
    from ..walk import Slice
    from .kept_texts import KeptTexts
    from .matcher import Matcher
    from .order import Order

ALONE_FILES: Final = 2_500
"""So many files are searched without help."""

ALONE_BYTES: Final = 24 * 1024 * 1024


class TooManyFilesError(Exception):
    """The tree is larger than what is searched without help."""


def has_unapplied_rules(order: Order, located: Located) -> bool:
    """Whether below the directory is an ignore file that is too large to be applied; raises as a walk."""
    walk = Walk(located, CancellationToken(), ignoring=order.ignoring, named=frozenset(order.named))
    with closing(walk.slices()) as slices:
        return any(walk.tally.not_applied for _ in slices)


class OwnEngine:
    """One search of one directory."""

    def __init__(self, order: Order, located: Located, matcher: Matcher, kept: KeptTexts) -> None:
        self._order = order
        self._located = located
        self._matcher = matcher
        self._kept = kept
        self._counts = order.mode != "files_with_matches"
        self._ignored = FirstNames()
        self._ignored_directories = FirstNames()
        self._links = FirstNames()
        self._walk: Walk | None = None
        self.tree: StandingTree | None = None if order.glob else StandingTree(order.path)
        """All of it, where it was searched without help and all files were wanted."""

    def search(self, token: CancellationToken, *, may_call_crew: bool) -> Found:
        """Search all of it.

        Raises:
            TooManyFilesError: it is large, ``may_call_crew`` is False, and no ignore file was too large to be applied.
            OSError: the directory cannot be read.
            PlanOutdatedError: it is another one by now.
            MemoryError: what is found is too much to keep.
        """
        order = self._order
        selection = GlobPattern(order.glob, anywhere=True).selection() if order.glob else None
        self._walk = Walk(
            self._located,
            token,
            ignoring=order.ignoring,
            named=frozenset(order.named),
            selection=selection,
            is_denied=UnreadablePaths.of(order.unreadable),
        )
        found = Found()
        with closing(self._walk.slices()) as slices:
            files = taken = 0
            for part in slices:
                self._note(part)
                if self._walk.tally.directories > ALONE_FILES:
                    self.tree = None  # asking for each of them again would take as long as a walk
                taken += self._alone(part, found)
                files += len(part.files)
                if files > ALONE_FILES or taken > ALONE_BYTES:
                    if not (may_call_crew or self._walk.tally.not_applied):
                        raise TooManyFilesError
                    self.tree = None
                    found.add(self._with_crew(slices))
                    break
        if self.tree is not None:
            tally = self._walk.tally
            # A directory that was not listed is not watched, and can be readable by now.
            self.tree.finish(self.reasons(), is_whole=not (tally.unread.count or tally.changed))
        return found

    def reasons(self) -> list[str]:
        """What the walk left out, one sentence for each reason."""
        assert self._walk is not None
        return left_out(
            self._walk.tally, ignored=self._ignored, ignored_directories=self._ignored_directories, links=self._links
        )

    def _note(self, part: Slice) -> None:
        if part.ignored:
            self._ignored.add(part.path, part.ignored)
        if part.ignored_directories:
            self._ignored_directories.add(part.path, part.ignored_directories)
        if part.links:
            self._links.add(part.path, part.links)

    def _alone(self, part: Slice, found: Found) -> int:
        """Search the files of a slice; how many bytes they had."""
        matcher, counts, most = self._matcher, self._counts, self._order.max_file_bytes
        prefix = f"{part.path}/" if part.path else ""
        kept = self._kept.of(f"{self._located.path}/{prefix}")
        taken = 0
        if self.tree is not None:
            self.tree.add_directory(part)
        for name in part.files:
            try:
                text = kept.text(name, part.fd, most)
                taken += len(text)
                lines = lines_in(text, matcher, counts=counts)
            except NotSearchedError as error:
                found.leave_out(prefix + name, error)
                continue
            finally:
                if self.tree is not None:
                    self.tree.add_file(prefix + name, name, kept)
            found.searched += 1
            if lines:
                found.matched.append((prefix + name, lines))
        return taken

    def _with_crew(self, slices: Iterator[Slice]) -> Found:
        fd = os.open(self._located.name or ".", LISTING_FLAGS, dir_fd=self._located.anchor_fd)
        try:
            with Crew(fd, self._matcher, self._order.max_file_bytes, counts=self._counts) as crew:
                for part in slices:
                    self._note(part)
                    if part.files:
                        crew.put(part.path, part.files)
                return crew.found()
        finally:
            os.close(fd)
