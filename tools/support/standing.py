"""Where an open document stands towards its file: which of the two is the truth at this call (E11)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openbuffer.editor_access.truth import Baseline, fingerprint, judge, judge_against_unchanged_disk

from ..errors import PlanOutdatedError, ToolFailure
from .blocking import run_blocking
from .disk_text import holds_exactly, whole_content
from .text_place import editor_trouble, in_its_words

if TYPE_CHECKING:
    from openbuffer.editor_access.port import Author, Document, EditorFileAccess
    from openbuffer.editor_access.truth import Truth

    from ..contract import CancellationToken
    from .located import Located
    from .text_place import FoundPath

_ATTEMPTS: Final = 5  # a document that is typed into at the same moment is looked at again
SUBSTITUTE: Final = "\ufffd"
"""What a decoder puts where bytes are no text in its encoding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one comparison with the disk found.

    Attributes:
        truth: the row of the table.
        is_missing: there is no file.
        incomparable: why the file could not be compared with; "" where it could.
        seen: the new baseline, where the two were found to be the same and that was not known.
    """

    truth: Truth
    is_missing: bool = False
    incomparable: str = ""
    seen: Baseline | None = None

    @property
    def is_open_to_change(self) -> bool:
        """Whether a change has a text to go to, rather than two that nobody chose between."""
        return self.truth in {"one_text", "disk", "editor"}

    def allows_what(self, before: Verdict) -> bool:
        """Whether a call that began under ``before`` may go on: the same text is the truth, for the same reason."""
        in_document = {"one_text", "editor"}
        return self.truth == before.truth or {self.truth, before.truth} <= in_document


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """An open document with its verdict.

    ``unassured``: why the editor may show more than it has sent; "" where it told all it had.
    """

    editor: EditorFileAccess
    document: Document
    author: Author
    verdict: Verdict
    unassured: str = ""


async def standing_of(found: FoundPath, token: CancellationToken, *, flush: bool) -> Standing | None:
    """Look at document and disk; None when the editor does not have the file open.

    ``flush``: have the editor tell first what it has not told yet. It is asked in any case before anything but the
    document's text is taken for the truth.

    Raises:
        ToolFailure: the editor has it open and cannot tell its text, or has just gone.
        PlanOutdatedError: the document kept changing meanwhile.
    """
    unassured = await flushed(found) if flush else None
    for _ in range(_ATTEMPTS):
        editor, document = found.open_document()
        if editor is None or document is None:
            return None
        with editor_trouble(found.shown):
            baseline = await editor.baseline(document)
        verdict = await run_blocking(token, lambda d=document, b=baseline: compare(found.located, d, b))
        is_in_document = verdict.truth in {"one_text", "editor"}
        if not is_in_document and unassured is None:
            unassured = await flushed(found)
            if not unassured:
                continue
        # What is in the document is carried on with in any case, and compared again before it is changed.
        if is_in_document or found.open_document()[1] == document:
            if verdict.seen is not None:
                editor.seen_equal(document, verdict.seen)
            author = editor.author_of_unsaved(document) if verdict.truth == "editor" else "nobody"
            return Standing(editor=editor, document=document, author=author, verdict=verdict, unassured=unassured or "")
    raise PlanOutdatedError(f"{found.shown}: keeps changing in the editor while it is compared with the disk.")


async def flushed(found: FoundPath) -> str:
    """Have the editor tell all that it shows of an open document (E10); why that is not assured, or "".

    Raises:
        ToolFailure: the editor has it open and cannot tell its text, or has just gone.
    """
    editor, document = found.open_document()
    if editor is None or document is None:
        return ""
    with editor_trouble(found.shown):
        return await editor.flush(document)


def compare(located: Located, document: Document, baseline: Baseline | None) -> Verdict:
    """Judge a document against the file that was opened; blocks."""
    try:
        if located.fd is not None and (quick := _quickly(located.fd, document, baseline)) is not None:
            return Verdict(truth=quick)
        disk = whole_content(located)
    except (ToolFailure, OSError) as error:
        return Verdict(truth="no_baseline", incomparable=str(error).rstrip("."))
    truth = judge(document.text, baseline, disk)
    is_news = truth == "one_text" and disk is not None and (baseline is None or baseline.text is not document.text)
    seen = Baseline(document.text, fingerprint(disk)) if is_news else None
    return Verdict(truth=truth, is_missing=disk is None, seen=seen)


def _quickly(fd: int, document: Document, baseline: Baseline | None) -> Truth | None:
    """The verdict where the disk holds a text that is known, which is nearly always; None: it has to be loaded."""
    if baseline is None:
        return None
    if document.text is baseline.text:
        return "one_text" if holds_exactly(fd, document.text) else None
    return judge_against_unchanged_disk(document.text, baseline) if holds_exactly(fd, baseline.text) else None


def why_no_change(path: str, standing: Standing) -> str:
    """The refusal of a change that has no one text to go to, and how to get one."""
    verdict = standing.verdict
    if verdict.incomparable:
        return (
            f"{path}: is open in the editor, and the file on disk cannot be compared with it ({verdict.incomparable}). "
            "Nothing was changed, because the change could cover what is there. Resolve that first."
        )
    if verdict.truth == "conflict":
        disk = "was deleted" if verdict.is_missing else "was changed"
        revert = "close it without saving" if verdict.is_missing else "revert it to the file on disk"
        return (
            f"{path}: conflict: the open document has unsaved changes, and the file on disk {disk} as well since both "
            "were last the same. Nothing was changed; both are as they were. Ask the user to save the document, which "
            f"keeps the editor's text, or to {revert}; then try again."
        )
    if SUBSTITUTE in standing.document.text:
        return opened_in_wrong_encoding(path)
    return (
        f"{path}: the open document differs from the file on disk, and is not known to have been the same since it was "
        "opened; nobody knows which is wanted. Nothing was changed; both are as they were. Ask the user to save the "
        "document, which keeps the editor's text, or to revert it to the file on disk; then try again."
    )


def opened_in_wrong_encoding(path: str) -> str:
    """The refusal of a document that would not be saved as the bytes it was loaded from."""
    return (
        f"{path}: the open document shows U+FFFD where the file on disk has other bytes: the editor opened it in a "
        "wrong encoding, and saving it would destroy them. Nothing was changed. Reopen it in the editor with its own "
        "encoding first."
    )


def whereabouts(standing: Standing) -> str:
    """Where the text of a document that is read stands, for the header of Read."""
    if not standing.unassured:
        return _whereabouts(standing)
    is_news = standing.editor.abilities.flushes  # else it is the same at every call
    why = f" ({in_its_words(standing.unassured)})" if is_news else ""
    return f"{_whereabouts(standing)}, as last sent by the editor{why}"


def _whereabouts(standing: Standing) -> str:
    verdict = standing.verdict
    if verdict.incomparable:
        return "in the open document, which cannot be compared with the file on disk; changes are refused"
    if verdict.is_missing and verdict.truth in {"one_text", "editor"}:
        return "in the open document, unsaved: there is no file on disk"
    disk = "was deleted" if verdict.is_missing else "was changed"
    until_then = "changes are refused until the user saves or reverts the document"
    return {
        "one_text": "in the open document, nothing unsaved",
        "disk": "on disk, changed there; the open document still shows older text",
        "editor": _UNSAVED[standing.author],
        "conflict": f"in the open document, unsaved, in conflict with the disk: the file {disk} as well; {until_then}",
        "no_baseline": f"in the open document, which was opened with other text than is on disk; {until_then}",
    }[verdict.truth]


_UNSAVED: Final = {
    "agent": "in the open document, unsaved: the agent's own edits",
    "user": "in the open document, unsaved changes of the user",
    "nobody": "in the open document, unsaved",
}
