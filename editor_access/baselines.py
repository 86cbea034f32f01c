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
_MOST_READS = 4  # of one document at once; each holds a text, and a disk may be slower than saves come


class DiskRead:
    """One look at the disk for a text, which goes with it; None where nothing came of it."""

    def __init__(self, disk: DiskText, path: str, text: str, pool: ThreadPoolExecutor, *, may_be_missing: bool) -> None:
        self._text = [text]
        self._may_be_missing = may_be_missing
        self.future: Future[Baseline | None] = Future()
        try:
            self.future = pool.submit(lambda: disk.baseline(path, self._text.pop()))
        except RuntimeError:  # stopped, or no thread is to be had: then nothing is known
            self.future.set_result(None)

    def drop(self) -> bool:
        """Leave it, unless it has begun; the pool's queue has no text then."""
        if not self.future.cancel():
            return False
        self._text.clear()
        return True

    def result(self) -> Baseline | None:
        """What was found, once it is done."""
        found = None if self.future.cancelled() or self.future.exception() is not None else self.future.result()
        return None if found is not None and found.disk == MISSING and not self._may_be_missing else found


class DiskReader:
    """Reads baselines in threads of its own, which end with it."""

    def __init__(self, disk: DiskText) -> None:
        self._disk = disk
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="openbuffer-baseline")

    def start(self, path: str, text: str, *, may_be_missing: bool) -> DiskRead:
        """Compare a text with its file, from now on."""
        return DiskRead(self._disk, path, text, self._pool, may_be_missing=may_be_missing)

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
        self._reads: deque[DiskRead] = deque()
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

    def closed(self) -> None:
        """Nobody will ask any more."""
        for read in self._reads:
            read.drop()

    def seen(self, baseline: Baseline) -> None:
        """Document and disk were just seen to hold the same."""
        self._take_what_was_read()
        self._baseline = baseline
        self._text_of_agent = None
        self._is_untouched = True

    async def settled(self) -> Baseline | None:
        """The newest baseline, once everything was read that was begun; after five seconds without what is missing."""
        unfinished = [read.future for read in self._reads if not read.future.done()]
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
        if self._reader is None:
            return
        if len(self._reads) >= _MOST_READS:
            # What a newer text finds counts for more; where it finds nothing, less is known than could be.
            dropped = next((read for read in self._reads if read.drop()), None)
            if dropped is not None:
                self._reads.remove(dropped)
        self._reads.append(self._reader.start(self._path, text, may_be_missing=may_be_missing))

    def _take_what_was_read(self) -> None:
        while self._reads and self._reads[0].future.done():
            self._baseline = self._reads.popleft().result() or self._baseline
