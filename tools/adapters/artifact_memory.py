"""Artifacts in memory, for tests and for sessions that keep nothing."""

from __future__ import annotations

import hashlib
import threading

from ..limits import ARTIFACT_MAX_BYTES, ARTIFACTS_MAX_BYTES
from ..ports import ArtifactRef


class InMemoryArtifactStore:
    """Implements ``ArtifactStore``. The oldest artifacts go when all together would be over ``max_total_bytes``.

    Of one that is larger than ``max_bytes`` the beginning is kept.
    """

    def __init__(self, *, max_bytes: int = ARTIFACT_MAX_BYTES, max_total_bytes: int = ARTIFACTS_MAX_BYTES) -> None:
        self._max_bytes = min(max_bytes, max_total_bytes)
        self._max_total_bytes = max_total_bytes
        self._kept: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def create(self) -> MemoryArtifact:
        """Begin an artifact."""
        return MemoryArtifact(self, self._max_bytes)

    def read(self, sha256: str) -> bytes | None:
        """The artifact's bytes, or None when it is not kept."""
        with self._lock:
            return self._kept.get(sha256)

    def keep(self, content: bytes) -> str:
        """Keep these bytes, as the newest; returns their SHA-256."""
        name = hashlib.sha256(content).hexdigest()
        with self._lock:
            self._kept.pop(name, None)
            self._kept[name] = content
            total = sum(map(len, self._kept.values()))
            for oldest in list(self._kept):
                if total <= self._max_total_bytes or oldest == name:
                    break
                total -= len(self._kept.pop(oldest))
        return name


class MemoryArtifact:
    """Implements ``ArtifactWriter``."""

    def __init__(self, store: InMemoryArtifactStore, max_bytes: int) -> None:
        self._store = store
        self._max_bytes = max_bytes
        self._content = bytearray()
        self._complete = True
        self._ended = False

    def write(self, data: bytes) -> None:
        """Take more bytes, as far as there is room."""
        if self._ended:
            return
        room = self._max_bytes - len(self._content)
        self._content += data[:room]
        self._complete = self._complete and len(data) <= room

    def finish(self) -> ArtifactRef | None:
        """Keep it for good."""
        if self._ended or (not self._content and not self._complete):
            return None
        self._ended = True
        content = bytes(self._content)
        self._content.clear()
        return ArtifactRef(sha256=self._store.keep(content), size=len(content), complete=self._complete)

    def discard(self) -> None:
        """Keep nothing of what was not finished."""
        self._ended = True
        self._content.clear()
