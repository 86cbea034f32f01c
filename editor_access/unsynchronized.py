"""Documents that an editor shows with unsaved changes and does not synchronise, so that nobody here knows their text.

A notebook, a file that is too large, or one in an editor of its own. What is on disk is not what their user sees, and
to change it would be behind their back. Without unsaved changes the disk is the truth, and nothing is to be said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .document_identity import WantedFile, canonical, is_below
from .errors import DocumentOutOfSyncError
from .uri import path_from_uri

if TYPE_CHECKING:
    from collections.abc import Iterable

_DOCUMENTS_MAX = 1_000
_REASON_MAX_CHARS = 300


class UnsynchronizedDocuments:
    """Those of one editor, as it told them last."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}

    def replace(self, documents: Iterable[tuple[str, str]]) -> None:
        """All there are now, each by its URI with why it is not synchronised; URIs without a file here do not count."""
        found = ((path_from_uri(uri), reason) for uri, reason in documents)
        reasons = [(path, reason[:_REASON_MAX_CHARS]) for path, reason in found if path is not None]
        self._reasons = dict(reasons[:_DOCUMENTS_MAX])

    def require_none(self, path: str) -> None:
        """Refuse to go on with this canonical path where one of them stands for it.

        Raises:
            DocumentOutOfSyncError: one does.
        """
        if not self._reasons:
            return
        wanted = WantedFile(path)
        for opened, reason in self._reasons.items():
            if wanted.is_opened_as(opened):
                raise DocumentOutOfSyncError(
                    f"{path} is open in the editor with unsaved changes that the editor does not tell: {reason}. "
                    "Ask the user to save it or to close it, then try again."
                )

    def under(self, directory: str) -> tuple[str, ...]:
        """The canonical paths of those below a canonical directory."""
        return tuple(path for path in map(canonical, self._reasons) if is_below(path, directory))
