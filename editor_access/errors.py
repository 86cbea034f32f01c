"""Errors of editor access::

EditorAccessError
├── EditorLostError          the editor went away; what it did with the last request is not known
├── DocumentMovedError       the document is no longer the one that was read; nothing was sent
├── DocumentOutOfSyncError   the editor has the file open, but its text is not known here any more
└── DocumentAmbiguousError   the editor has the file open under two names that show different things

None of them allows to go on with the file on disk: that would be behind the editor's back.
"""

from __future__ import annotations


class EditorAccessError(Exception):
    """The editor could not carry a request."""


class EditorLostError(EditorAccessError):
    """The connection to the editor ended."""


class DocumentMovedError(EditorAccessError):
    """The document closed, changed or stands for another file than at the time of reading."""


class DocumentOutOfSyncError(EditorAccessError):
    """What the editor sent does not fit together; the document has to be opened again."""


class DocumentAmbiguousError(EditorAccessError):
    """One file is open as two documents, so that neither is the one text of that file."""
