"""Saving a document after a tool changed it: only where the unsaved part of it is nothing but the agent's (E9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openbuffer.editor_access.client_requests import disk_hash
from openbuffer.editor_access.errors import DocumentMovedError, EditorAccessError
from openbuffer.editor_access.text import minimal_edits
from openbuffer.editor_access.truth import Baseline, fingerprint, is_on_disk, judge, same_text

from ..errors import PlanOutdatedError, ToolFailure
from .blocking import run_blocking
from .disk_text import whole_content
from .text_place import Landed, in_its_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from openbuffer.editor_access.port import Document, EditorFileAccess, FileOutcome
    from openbuffer.editor_access.truth import Truth

    from ..contract import ToolContext
    from .text_place import FoundPath

_IN_DOCUMENT = "It is in the open document"
_BESIDE = f"{_IN_DOCUMENT}, beside unsaved changes of the user"
_OVER_THE_USERS = f"{_IN_DOCUMENT}, in place of unsaved changes of the user"
_MOVED_ON = (
    "It was made in the open document, which was changed further, closed or opened anew before it could be saved; "
    "whether the change is still in it is not certain, and the editor was not asked to save it."
)
_ENDED_BY_SAVING = "saving put a line end at the end of the file"
_CAME_TO_NOTHING = (
    "The open document is what it was: nothing but line ends was to be changed, or the one at the end of the text, and "
    "about these its editor decides by itself."
)
_ATTEMPTS = 5  # to be quicker than whoever types or edits at the same time


async def save_after_edit(
    found: FoundPath,
    editor: EditorFileAccess,
    made: Document,
    context: ToolContext,
    *,
    before: str,
    over_the_users: bool,
    holds_it: Callable[[str], bool],
) -> Landed:
    """Have the editor save ``made``, which the tool has just changed, where that is right; tell where the change is.

    ``before``: the text that was changed. ``over_the_users``: what the user had not saved was replaced as a whole,
    which is told.
    When the document was changed again meanwhile, by another agent perhaps, its newest text is saved, if that still
    holds the change (``holds_it``, which blocks). What goes wrong here is told, and never makes a failure of a change
    that was made.
    """
    if made.text == before:
        return Landed(_CAME_TO_NOTHING)
    if not editor.abilities.saves:
        place = _OVER_THE_USERS if over_the_users else _IN_DOCUMENT
        return Landed(f"{place}; nothing was saved to disk, which this editor cannot be asked to do.")
    document = made
    for attempts_left in reversed(range(_ATTEMPTS)):
        try:
            return await _saved(found, editor, document, context, _OVER_THE_USERS if over_the_users else _BESIDE)
        except DocumentMovedError as error:
            why = in_its_words(str(error)).rstrip(".")
            newest = _newest(found, made)
            if newest is None or not await run_blocking(context.cancellation, lambda n=newest: holds_it(n.text)):
                return Landed(_MOVED_ON, ("read the file before you change it again",))
            if not attempts_left:
                return _unsaved(why)
            document = newest
        except (EditorAccessError, ToolFailure, PlanOutdatedError, OSError) as error:
            return _unsaved(in_its_words(str(error)).rstrip("."))
    raise AssertionError("unreachable: the last attempt returns")


async def _saved(
    found: FoundPath, editor: EditorFileAccess, document: Document, context: ToolContext, unsaved: str
) -> Landed:
    """Save the document as it is in ``document``; ``unsaved`` begins the sentence where the user's text keeps it so.

    Raises:
        DocumentMovedError: it is something else by now; nothing was asked for.
        EditorAccessError, ToolFailure, OSError: nothing was asked for, for another reason.
    """
    baseline = await editor.baseline(document)
    author = editor.author_of_unsaved(document)
    before = await run_blocking(context.cancellation, lambda: _look(found, document, baseline))
    if before.is_exact or (before.truth == "one_text" and author == "user"):
        return Landed(f"{_IN_DOCUMENT}, and on disk: it was saved there at the same time.")
    # One text that is not exactly on disk: what the edit changed is what editors normalise, and is still to be saved.
    is_unsaved = before.truth in {"editor", "one_text"}
    if not is_unsaved or author == "user":
        _require_current(found, document)
    if author == "user":
        by_itself = f" yet; its editor does that by itself {document.autosave}" if document.autosave else ""
        return Landed(f"{unsaved}; nothing was saved to disk{by_itself}.")
    if not is_unsaved:
        return _unsaved("the file on disk was changed at the same time")
    outcome = await editor.save(document, disk_hash=before.disk_hash)
    try:
        return await _compared(found, editor, document, before, outcome, context)
    except (EditorAccessError, ToolFailure, OSError) as error:
        return _perhaps_saved(in_its_words(str(error)).rstrip("."))


def _require_current(found: FoundPath, document: Document) -> None:
    if found.open_document()[1] != document:
        raise DocumentMovedError(f"{found.shown}: was changed or closed in the editor")


def _newest(found: FoundPath, made: Document) -> Document | None:
    """The document now; None where it is another one, or nobody knows."""
    try:
        newest = found.open_document()[1]
    except (EditorAccessError, ToolFailure, PlanOutdatedError):
        return None
    return newest if newest is not None and newest.generation == made.generation else None


@dataclass(frozen=True, slots=True)
class _Look:
    """A document held against the disk: the row of the table, and the disk's hash and fingerprint.

    ``is_exact``: they are the same in what editors normalise, too. ``is_ended``: but for a last line end on disk.
    """

    truth: Truth
    is_exact: bool
    is_ended: bool
    disk_hash: str | None
    fingerprint: bytes


def _look(found: FoundPath, document: Document, baseline: Baseline | None) -> _Look:
    with found.roots.locate(found.file_path) as now:
        if now.path != found.located.path:
            raise ToolFailure(f"{found.shown}: the path leads to something else by now")
        disk = whole_content(now)
    truth = judge(document.text, baseline, disk)
    is_exact = is_ended = False
    if truth == "one_text" and disk is not None:
        is_exact = is_on_disk(document.text, disk)
        is_ended = not is_exact and any(is_on_disk(document.text + end, disk) for end in ("\n", "\r\n"))
    return _Look(truth, is_exact, is_ended, disk_hash(disk), fingerprint(disk))


async def _compared(
    found: FoundPath,
    editor: EditorFileAccess,
    edited: Document,
    before: _Look,
    outcome: FileOutcome,
    context: ToolContext,
) -> Landed:
    """What the disk shows of a save; it decides, whatever the editor says."""
    shown = outcome.document or edited
    after = await run_blocking(context.cancellation, lambda: _look(found, shown, None))
    if after.truth == "one_text":
        editor.seen_equal(shown, Baseline(shown.text, after.fingerprint))
        ended = (_ENDED_BY_SAVING,) if after.is_ended else ()
        return Landed(f"{_IN_DOCUMENT}, and saved to disk.", (*_changed_by_saving(edited, shown), *ended))
    why = in_its_words(outcome.reason).rstrip(".")
    if outcome.kind == "not_done" and after.disk_hash == before.disk_hash:
        return _unsaved(why)
    if outcome.kind != "done":
        # An editor may format what it saves, and fail or fall silent after that: then the disk holds neither text.
        return _perhaps_saved(why)
    return Landed(
        f"{_IN_DOCUMENT}; the editor says that it saved it, but the file on disk holds something else.",
        ("read the file before you change it again",),
    )


def _unsaved(why: str) -> Landed:
    return Landed(f"{_IN_DOCUMENT}; it was not saved to disk ({why}).")


def _perhaps_saved(why: str) -> Landed:
    return Landed(f"{_IN_DOCUMENT}; whether it was saved to disk is not known ({why}).")


def _changed_by_saving(edited: Document, shown: Document) -> tuple[str, ...]:
    """Editors format on saving; the next Edit has to match what came of it."""
    if same_text(edited.text, shown.text):
        return ()
    edits = minimal_edits(edited.text, shown.text)
    line = edited.text.count("\n", 0, edits[0].start) + 1
    places = "1 place" if len(edits) == 1 else f"{len(edits)} places"
    where = f"in {places} from line {line} on"
    return (f"saving changed the text further, {where} (formatting, perhaps); read it before the next Edit",)
