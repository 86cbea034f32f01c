"""One document of the in-memory editor, who hears of it, and what its user can be asked about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from .memory_disk import PLAIN_FORM, FileForm
from .port import TextEdit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .baselines import BaselineKeeper

Step = tuple[TextEdit, ...]


@dataclass(slots=True)
class MemoryBuffer:
    """One open document. ``path`` is as it was opened; None for an unnamed buffer. ``version`` counts its changes.

    ``disk_hash`` is that of the file as the editor last read or wrote it, ``asked_about`` that of the content about
    which its user was last asked. ``form``: how the text is written.
    """

    uri: str
    path: str | None
    canonical_path: str
    generation: int
    version: int
    text: str
    saved_text: str
    disk: BaselineKeeper
    form: FileForm = PLAIN_FORM
    disk_hash: str | None = None
    asked_about: str | None = None
    undo_steps: list[Step] = field(default_factory=list[Step])
    redo_steps: list[Step] = field(default_factory=list[Step])

    @property
    def name(self) -> str:
        """What the editor's actions call it: the path that it was opened with, or its URI where it has none."""
        return self.uri if self.path is None else self.path

    @property
    def is_dirty(self) -> bool:
        """Whether the text differs from what was opened or saved."""
        return self.text != self.saved_text


class EditorListener(Protocol):
    """Hears what happens to documents, right after it happened."""

    def opened(self, buffer: MemoryBuffer) -> None:
        """A document is shown."""
        ...

    def changed(self, buffer: MemoryBuffer, before: str, edits: Sequence[TextEdit]) -> None:
        """Its text was ``before``; ``edits``, ascending, led to what it is now."""
        ...

    def saved(self, buffer: MemoryBuffer) -> None:
        """Its text is on disk."""
        ...

    def closed(self, buffer: MemoryBuffer) -> None:
        """It is not shown any more."""
        ...


@dataclass(slots=True, eq=False)
class EditorQuestion:
    """Something that the editor asks its user about a document; nothing waits for the answer."""

    kind: Literal["changed_outside", "saving_over", "closing_unsaved"]
    buffer: MemoryBuffer
    answers: Mapping[str, Callable[[], object]]


def inverse(text: str, edits: Sequence[TextEdit]) -> Step:
    """The edits that lead back from the changed text."""
    back: list[TextEdit] = []
    shift = 0
    for edit in edits:
        start = edit.start + shift
        back.append(TextEdit(start, start + len(edit.new_text), text[edit.start : edit.end]))
        shift += len(edit.new_text) - (edit.end - edit.start)
    return tuple(back)
