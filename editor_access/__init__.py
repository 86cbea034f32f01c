"""How tools see and change what an editor shows. Imported as ``openbuffer.editor_access``.

Re-exports the port, which is pure; the adapters are imported by their own names.
"""

from .errors import DocumentMovedError, EditorAccessError, EditorLostError
from .port import (
    Document,
    EditorAbilities,
    EditorFileAccess,
    EditorProvider,
    EditOutcome,
    FileOutcome,
    TextEdit,
)

__all__ = [
    "Document",
    "DocumentMovedError",
    "EditOutcome",
    "EditorAbilities",
    "EditorAccessError",
    "EditorFileAccess",
    "EditorLostError",
    "EditorProvider",
    "FileOutcome",
    "TextEdit",
]
