"""What a command did not see while an editor is attached: text that is not on disk, and whose it is (E5, E9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openbuffer.editor_access.errors import EditorAccessError

from ..contract import Capability, FileTarget
from ..errors import PermissionDeniedError
from .located import printable
from .text_place import in_its_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openbuffer.editor_access.port import EditorProvider, UnsavedDocument

    from ..contract import ToolContext

_MOST_NAMED: Final = 5
_WHOSE: Final = {"user": "the user's changes", "agent": "the agent's own edits", "nobody": "unsaved text"}


async def unsaved_note(editor: EditorProvider | None, directories: Iterable[str], context: ToolContext) -> str | None:
    """The sentence for a command that starts now, about the documents below ``directories``, canonical paths.

    None where nothing is unsaved. Documents that the gate does not admit are counted and not named.
    """
    attached = editor() if editor is not None else None
    if attached is None:
        return None
    if not attached.has_stable_path_authority:
        return "the command saw the files on disk; what the attached editor shows may differ, and cannot be asked for."
    try:
        unsaved = {
            document.path: document for directory in directories for document in attached.unsaved_under(directory)
        }
    except EditorAccessError as error:
        return (
            "the command saw the files on disk; which documents of the attached editor have unsaved text cannot be "
            f"told ({in_its_words(str(error))})."
        )
    if not unsaved:
        return None
    named = [_described(unsaved[path]) for path in sorted(unsaved) if await _is_admitted(path, context)]
    shown = named[:_MOST_NAMED]
    if len(shown) < len(unsaved):
        shown.append(f"{len(unsaved) - len(shown)} more" if shown else "not named here")
    documents = "1 open document has" if len(unsaved) == 1 else f"{len(unsaved)} open documents have"
    return f"{documents} text that is not on disk, which the command did not see: {', '.join(shown)}."


def _described(document: UnsavedDocument) -> str:
    return f"{printable(document.path)} ({_WHOSE[document.author]})"


async def _is_admitted(path: str, context: ToolContext) -> bool:
    try:
        await context.admit((FileTarget(path=path, access=Capability.FILE_READ),))
    except PermissionDeniedError:
        return False
    return True
