"""What a search says while an editor is attached: that the disk was searched, and which texts it did not see (E5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openbuffer.editor_access.errors import EditorAccessError

from .located import printable
from .text_place import in_its_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from openbuffer.editor_access.port import EditorProvider

_MOST_NAMED: Final = 5


def editor_note(
    editor: EditorProvider | None, directory: str, is_denied: Callable[[str], bool] | None = None
) -> str | None:
    """The sentence for a search of ``directory``, a canonical path; None while no editor is attached.

    On the event loop, once the search is over. ``is_denied``: paths that are not to be told.
    """
    attached = editor() if editor is not None else None
    if attached is None:
        return None
    if not attached.has_stable_path_authority:
        return "The disk was searched; what the attached editor shows may differ, and cannot be asked for."
    try:
        unsaved = attached.unsaved_under(directory)
    except EditorAccessError as error:
        return (
            "The disk was searched; which documents of the attached editor have unsaved text cannot be told "
            f"({in_its_words(str(error))})."
        )
    paths = [document.path for document in unsaved if is_denied is None or not is_denied(document.path)]
    if not paths:
        return "The disk was searched, not the documents of the attached editor; none is unsaved below this directory."
    named = ", ".join(printable(path) for path in paths[:_MOST_NAMED])
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    documents = "1 document is" if len(paths) == 1 else f"{len(paths)} documents are"
    return (
        f"The disk was searched, not the documents of the attached editor; {documents} open here with text that is not "
        f"on disk: {named}{more}."
    )
