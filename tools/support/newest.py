"""The newest of many files, counted to the last one and kept only as far as they are wanted."""

from __future__ import annotations

import os
import stat


class Newest:
    """Keeps the ``limit`` files that were modified last; those of one time by their paths. ``count`` is of all."""

    def __init__(self, limit: int) -> None:
        self.count = 0
        self._limit = limit
        self._kept: list[tuple[int, str]] = []
        self._oldest: int | None = None

    def take(self, directory: str, names: list[str], fd: int) -> None:
        """Look at files of one directory, by its descriptor. What went away or is no file any more does not count."""
        prefix = f"{directory}/" if directory else ""
        kept, oldest = self._kept, self._oldest
        status_of, is_file = os.stat, stat.S_ISREG
        for name in names:
            try:
                status = status_of(name, dir_fd=fd, follow_symlinks=False)
            except OSError:
                continue
            if not is_file(status.st_mode):
                continue
            self.count += 1
            age = -status.st_mtime_ns
            if oldest is None or age <= oldest:
                kept.append((age, prefix + name))
        if len(kept) > 2 * self._limit + 1_000:
            self._cut()

    def paths(self) -> list[str]:
        """The kept paths, the newest first."""
        self._cut()
        return [path for _, path in self._kept]

    def _cut(self) -> None:
        self._kept.sort()
        del self._kept[self._limit :]
        if len(self._kept) == self._limit:
            self._oldest = self._kept[-1][0]
