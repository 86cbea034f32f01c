"""Errors of editor access::

EditorAccessError
├── EditorLostError        the editor went away; what it did with the last request is not known
└── DocumentMovedError     the document is no longer the one that was read; nothing was sent
"""

from __future__ import annotations


class EditorAccessError(Exception):
    """The editor could not carry a request."""


class EditorLostError(EditorAccessError):
    """The connection to the editor ended."""


class DocumentMovedError(EditorAccessError):
    """The document closed, changed or stands for another file than at the time of reading."""
