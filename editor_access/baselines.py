"""The baseline of one opening of a document: what its file held when both were the same (E11).

The disk is read in worker threads, started the moment a text is told. What such a read finds becomes the baseline only
if it is that text, so a file that is changed meanwhile never does. Whoever judges a document waits for its reads.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

import anyio.to_thread

from .truth import MISSING, same_text

if TYPE_CHECKING:
    from .port import Author
    from .truth import Baseline, DiskText

_THREADS = 2
_PATIENCE_S = 5.0  # a disk that takes longer for one file does not answer


class DiskReader:
    """Reads baselines in threads of its own, which end with it."""

    def __init__(self, disk: DiskText) -> None:
        self._disk = disk
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="openbuffer-baseline")

    def start(self, path: str, text: str) -> Future[Baseline | None]:
        """Compare a text with its file, from now on."""
        try:
            return self._pool.submit(self._disk.baseline, path, text)
        except RuntimeError:  # stopped, or no thread is to be had: then nothing is known
            unknown: Future[Baseline | None] = Future()
            unknown.set_result(None)
            return unknown

    def stop(self) -> None:
        """Start nothing more; what is being read is left to itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class BaselineKeeper:
    """Follows one opening. Everything runs on the event loop, the reads aside."""

    def __init__(self, path: str, reader: DiskReader | None) -> None:
        """Without a ``reader`` there never is a baseline, unless somebody else sees it."""
        self._path = path
        self._reader = reader
        self._baseline: Baseline | None = None
        self._reads: deque[tuple[Future[Baseline | None], bool]] = deque()
        self._text_of_agent: str | None = None
        self._is_untouched = False

    def opened(self, text: str) -> None:
        """The text is shown; a file that does not exist holds nothing."""
        self._read(text, may_be_missing=True)
        self._is_untouched = True

    def saved(self, text: str) -> None:
        """The editor says that this text is on disk. What is on disk decides: an editor may have saved it otherwise."""
        self._read(text, may_be_missing=False)
        self._is_untouched = True

    @property
    def is_undecided(self) -> bool:
        """Whether the disk was not looked at, or not yet to the end, so that the editor's word is all there is."""
        self._take_what_was_read()
        return self._reader is None or bool(self._reads)

    @property
    def wants_to_know_change(self) -> bool:
        """True for the first change after a baseline, by which some editors tell that they reloaded the file."""
        return self._is_untouched

    def changed(self, text: str) -> None:
        """Such a change came."""
        self._is_untouched = False
        self._read(text, may_be_missing=False)

    def seen(self, baseline: Baseline) -> None:
        """Document and disk were just seen to hold the same."""
        self._take_what_was_read()
        self._baseline = baseline
        self._text_of_agent = None
        self._is_untouched = True

    async def settled(self) -> Baseline | None:
        """The newest baseline, once everything was read that was begun; after five seconds without what is missing."""
        unfinished = [read for read, _ in self._reads if not read.done()]
        if unfinished:
            await anyio.to_thread.run_sync(lambda: wait(unfinished, _PATIENCE_S), abandon_on_cancel=True)
        self._take_what_was_read()
        return self._baseline

    def edited_by_agent(self, before: str, after: str) -> None:
        """An edit of the agent's led from one text to the other, and nothing else did."""
        self._take_what_was_read()
        if self._is_saved(before) or self._is_of_agent(before):
            self._text_of_agent = after

    def author_of(self, text: str) -> Author:
        """Whose the unsaved part of the text is; the user's as long as nothing else is known."""
        self._take_what_was_read()
        if self._is_saved(text):
            return "nobody"
        return "agent" if self._is_of_agent(text) else "user"

    def _is_saved(self, text: str) -> bool:
        return self._baseline is not None and same_text(text, self._baseline.text)

    def _is_of_agent(self, text: str) -> bool:
        return self._text_of_agent is not None and same_text(text, self._text_of_agent)

    def _read(self, text: str, *, may_be_missing: bool) -> None:
        self._take_what_was_read()
        if self._reader is not None:
            self._reads.append((self._reader.start(self._path, text), may_be_missing))

    def _take_what_was_read(self) -> None:
        while self._reads and self._reads[0][0].done():
            read, may_be_missing = self._reads.popleft()
            found = None if read.cancelled() or read.exception() is not None else read.result()
            if found is not None and (may_be_missing or found.disk != MISSING):
                self._baseline = found
