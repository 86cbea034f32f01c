"""The port through which tools see and change what an editor shows.

*Authority*: an adapter may say that it has stable rooted path authority only if it never makes the editor open
a path by name. It reads from text that it already holds, edits only documents that are open, and checks a
document's canonical path again at each call (E1). Tools ignore an adapter that cannot say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .truth import Baseline

Author: TypeAlias = Literal["nobody", "agent", "user"]
"""Whose the unsaved part of a text is. "agent": nothing but edits of the tools was added to what was on disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A snapshot of an open document; ``text`` is exactly what was synchronised, line ends included.

    ``generation`` tells two openings of the same path apart (versions may start again at 0). ``autosave``: when its
    editor will write it without being asked, in words, as it last told; "": it does not, or does not tell.
    """

    path: str
    uri: str
    version: int
    generation: int
    text: str
    autosave: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replace ``text[start:end]`` of a snapshot by ``new_text``; offsets are Python string indices."""

    start: int
    end: int
    new_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOutcome:
    """What became of an edit (E7).

    ``done``: the document came back holding the intended hunks; ``document`` is that state.
    ``not_done``: refused, stale, or moved on without them; ``nothing_changed`` says that a retry from a fresh
    read is safe. ``unknown``: no word in time; read before trying again.
    """

    kind: Literal["done", "not_done", "unknown"]
    reason: str = ""
    nothing_changed: bool = False
    document: Document | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutcome:
    """What became of a save or a reload that the editor was asked for, as the editor tells it.

    ``done``: it was carried out; ``document`` is the state afterwards, which may hold other text (formatting on
    save). ``not_done``: it was not, and ``reason`` says why. ``unknown``: no word in time. Whoever asked compares the
    disk afterwards; the editor's word alone proves nothing.
    """

    kind: Literal["done", "not_done", "unknown"]
    reason: str = ""
    document: Document | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorAbilities:
    """What an editor can be asked for beyond edits; a plain language client can do none of it.

    ``flushes``: it tells at once what was typed and not told yet. ``saves`` and ``reloads``: it writes a document to
    its file, and takes a document's text from its file.
    """

    flushes: bool = False
    saves: bool = False
    reloads: bool = False


@dataclass(frozen=True, slots=True)
class UnsavedDocument:
    """A document, by its canonical path, whose text is not known to be on disk, and whose doing that is."""

    path: str
    author: Author


class EditorFileAccess(Protocol):
    """An editor as the tools see it; asked for at call time, because editors come and go (E2)."""

    @property
    def has_stable_path_authority(self) -> bool:
        """True only under the rules at the top of this module."""
        ...

    @property
    def abilities(self) -> EditorAbilities:
        """What it can be asked for beyond edits."""
        ...

    def document(self, path: str) -> Document | None:
        """The open document of this canonical path, judged again now; None when it is not open."""
        ...

    async def flush(self, document: Document) -> str:
        """Have the editor tell what it has not told yet of this opening, before it is read (E10).

        Why that could not be assured, or "" where it was: then :meth:`document` gives what the editor showed at a
        moment during this call, closed or changed as it may be. Ends within seconds.
        """
        ...

    async def apply(self, document: Document, edits: Sequence[TextEdit], *, label: str) -> EditOutcome:
        """Apply non-overlapping edits, ascending, to the document as it was in ``document``.

        Waits for the outcome. Once the request was sent, cancelling waits for the outcome as well (E7).

        Raises:
            DocumentMovedError: the document is not that snapshot any more; nothing was sent.
            EditorLostError: the connection was gone before anything was sent.
        """
        ...

    async def save(self, document: Document, *, disk_hash: str | None) -> FileOutcome:
        """Have the editor write the document, as it is in ``document``, to its file (E9).

        ``disk_hash``: what the file holds now (see ``client_requests.disk_hash``); the editor leaves any other alone.

        Raises:
            DocumentMovedError: the document is not that snapshot any more; nothing was sent.
            EditorLostError: the connection was gone before anything was sent.
        """
        ...

    async def reload(self, document: Document, *, disk_hash: str | None) -> FileOutcome:
        """Have the editor replace the document's text, as it is in ``document``, by that of its file (E11).

        Only for a document without changes of its user's. ``disk_hash`` and the errors are those of :meth:`save`.
        """
        ...

    async def baseline(self, document: Document) -> Baseline | None:
        """A text of this opening that the disk held at the same time, the newest known; None where there is none (E11).

        Waits for a look at the disk that is on its way, for some seconds at most.
        """
        ...

    def seen_equal(self, document: Document, baseline: Baseline) -> None:
        """Take note that the document was just compared with the disk and found the same; void once it moved on."""
        ...

    def author_of_unsaved(self, document: Document) -> Author:
        """Whose the text is that the document has beyond its baseline."""
        ...

    def open_under(self, directory: str) -> tuple[Document, ...]:
        """The open documents below ``directory`` whose text is known, judged now, in the order of their paths.

        For the others :meth:`document` says what is wrong with them.
        """
        ...

    def unsaved_under(self, directory: str) -> tuple[UnsavedDocument, ...]:
        """The open documents below ``directory`` whose text is not known to be on disk, in the order of their paths."""
        ...


EditorProvider: TypeAlias = Callable[[], EditorFileAccess | None]
"""Asked at every call for the editor that is attached now."""
