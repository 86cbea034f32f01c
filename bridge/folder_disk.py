"""The disk below the workspace folders as they are now, for whoever compares documents with their files (E11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openbuffer.tools.support.disk_text import RootedDiskText

if TYPE_CHECKING:
    from openbuffer.editor_access.truth import Baseline


class FolderDisk:
    """Implements ``DiskText`` for files below the roots; no tool reaches another, so no other is opened."""

    def __init__(self) -> None:
        self._roots: tuple[str, ...] = ()
        self._disk: RootedDiskText | None = None

    def follow(self, roots: tuple[str, ...]) -> None:
        """These are the roots from now on."""
        if roots != self._roots:
            self._roots = roots
            self._disk = RootedDiskText(roots) if roots else None

    def baseline(self, path: str, text: str) -> Baseline | None:
        """The baseline of a document that shows ``text``, if its file holds that now. Blocks; never raises."""
        disk = self._disk
        return None if disk is None else disk.baseline(path, text)
