"""How tools see and change what an editor shows. Imported as ``openbuffer.editor_access``.

Re-exports the port, which is pure; the adapters are imported by their own names.
"""

from .errors import DocumentMovedError, EditorAccessError, EditorLostError
from .port import Document, EditorFileAccess, EditorProvider, EditOutcome, TextEdit

__all__ = [
    "Document",
    "DocumentMovedError",
    "EditOutcome",
    "EditorAccessError",
    "EditorFileAccess",
    "EditorLostError",
    "EditorProvider",
    "TextEdit",
]
