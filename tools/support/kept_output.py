"""The raw output of a running command, on its way to a store, which gets it only where not all of it is shown (X7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .output_tail import OutputTail

if TYPE_CHECKING:
    from collections.abc import Callable

    from openbuffer.sandbox.process.result import Captured

    from ..ports import ArtifactRef, ArtifactStore, ArtifactWriter, ProgressPort


class KeptOutput:
    """Holds back as much as is shown anyway, so that most commands never make a file; the rest goes on at once.

    ``progress`` is told the lines that were written last.
    """

    def __init__(self, store: ArtifactStore | None, shown_bytes: int, progress: ProgressPort | None) -> None:
        self._store = store
        self._shown_bytes = shown_bytes
        self._progress = progress
        self._tail = OutputTail()
        self._held = bytearray()
        self._writer: ArtifactWriter | None = None

    @property
    def sink(self) -> Callable[[bytes], None] | None:
        """Takes the output; None where nobody wants it."""
        return None if self._store is None and self._progress is None else self._take

    def finish(self, output: Captured) -> ArtifactRef | None:
        """Keep all of it if something is not shown; what it is kept as, if it could be."""
        if not (output.cut or output.folded):
            return None
        writer = self._started()
        return None if writer is None else writer.finish()

    def discard(self) -> None:
        """Keep nothing that was not finished."""
        self._held.clear()
        if self._writer is not None:
            self._writer.discard()

    def _take(self, data: bytes) -> None:
        if self._progress is not None and (lines := self._tail.feed(data)):
            self._progress.report(lines)
        if self._writer is not None:
            self._writer.write(data)
        elif self._store is not None:
            self._held += data
            if len(self._held) > self._shown_bytes:
                self._started()

    def _started(self) -> ArtifactWriter | None:
        if self._writer is None and self._store is not None:
            self._writer = self._store.create()
            self._writer.write(bytes(self._held))
            self._held.clear()
        return self._writer
