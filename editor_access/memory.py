"""An editor in memory: documents that a user types into, with undo, dirty state and files on disk.

It is an editor in its own right, for headless sessions, the demo and tests. In the same process tools reach it through
``memory_access``; ``memory_lsp`` makes it a language client. Everything it does is done at once: nothing here waits.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .baselines import BaselineKeeper
from .document_identity import canonical
from .port import TextEdit
from .text import apply_edits, minimal_edits
from .truth import baseline_of
from .uri import uri_from_path

if TYPE_CHECKING:
    from collections.abc import Sequence

_BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class MemoryBuffer:
    """One open document. ``path`` is as it was opened; None for an unnamed buffer. ``version`` counts its changes."""

    uri: str
    path: str | None
    canonical_path: str
    generation: int
    version: int
    text: str
    saved_text: str
    disk: BaselineKeeper
    has_bom: bool = False
    undo_steps: list[tuple[TextEdit, ...]] = field(default_factory=list[tuple[TextEdit, ...]])

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


class MemoryEditor:
    """The editor, by the actions of its user.

    A document is named by the path or URI that it was opened with. Every action on one that is not open raises
    KeyError.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, MemoryBuffer] = {}
        self._listeners: list[EditorListener] = []
        self._generations = itertools.count(1)
        self.has_quit = False

    def open(self, path: str, text: str | None = None, *, version: int = 0) -> MemoryBuffer:
        """Show a file: with this text, or with what is on disk.

        Raises:
            OSError: there is no text and the file cannot be read.
            UnicodeDecodeError: there is no text and the file is not UTF-8.
        """
        shown, has_bom = _from_disk(path) if text is None else (text, False)
        buffer = MemoryBuffer(
            uri=uri_from_path(path),
            path=path,
            canonical_path=canonical(path),
            generation=next(self._generations),
            version=version,
            text=shown,
            saved_text=shown,
            disk=BaselineKeeper(path, None),
            has_bom=has_bom,
        )
        _compare_with_disk(buffer)
        return self._show(buffer)

    def open_unnamed(self, uri: str, text: str = "") -> MemoryBuffer:
        """Show a buffer that has no file, under a URI such as ``untitled:1``."""
        generation = next(self._generations)
        disk = BaselineKeeper("", None)
        return self._show(MemoryBuffer(uri, None, "", generation, version=0, text=text, saved_text=text, disk=disk))

    def buffer(self, name: str) -> MemoryBuffer:
        """The open document of this path or URI."""
        return self._buffers[name]

    def buffers(self) -> tuple[MemoryBuffer, ...]:
        """All open documents, in the order of opening."""
        return tuple(self._buffers.values())

    def type(self, name: str, offset: int, text: str) -> None:
        """Insert text at a string offset, as one undo step."""
        self.change(name, [TextEdit(offset, offset, text)])

    def replace(self, name: str, start: int, end: int, text: str) -> None:
        """Replace a stretch of the text, as one undo step."""
        self.change(name, [TextEdit(start, end, text)])

    def change(self, name: str, edits: Sequence[TextEdit]) -> None:
        """Make edits (ascending, not overlapping) as one undo step."""
        buffer = self._buffers[name]
        buffer.undo_steps.append(_inverse(buffer.text, edits))
        self._change(buffer, edits)

    def undo(self, name: str) -> None:
        """Take the newest undo step back; nothing happens when there is none."""
        buffer = self._buffers[name]
        if buffer.undo_steps:
            self._change(buffer, buffer.undo_steps.pop())

    def save(self, name: str) -> None:
        """Write the text to its file; an unnamed buffer has none, and stays as it is."""
        buffer = self._buffers[name]
        if buffer.path is None:
            return
        Path(buffer.path).write_bytes((_BOM if buffer.has_bom else b"") + buffer.text.encode("utf-8"))
        buffer.saved_text = buffer.text
        _compare_with_disk(buffer)
        for listener in self._listeners:
            listener.saved(buffer)

    def revert(self, name: str) -> None:
        """Take the text from disk again, as one undo step."""
        buffer = self._buffers[name]
        if buffer.path is None:
            return
        text, buffer.has_bom = _from_disk(buffer.path)
        edits = minimal_edits(buffer.text, text)
        buffer.saved_text = text
        if edits:
            self.change(name, edits)
        _compare_with_disk(buffer)

    def reload(self, name: str) -> MemoryBuffer:
        """Close and open again from disk: a new generation, whose versions start over."""
        path = self._buffers[name].path
        self.close(name)
        return self.open(path or name)

    def close(self, name: str) -> None:
        """Stop showing it; unsaved text is gone."""
        buffer = self._buffers.pop(name)
        for listener in self._listeners:
            listener.closed(buffer)

    def quit(self) -> None:
        """End the editor: nothing can be asked of it any more."""
        self.has_quit = True

    def listen(self, listener: EditorListener) -> None:
        """Tell this listener from now on."""
        self._listeners.append(listener)

    def _show(self, buffer: MemoryBuffer) -> MemoryBuffer:
        self._buffers[buffer.name] = buffer
        for listener in self._listeners:
            listener.opened(buffer)
        return buffer

    def _change(self, buffer: MemoryBuffer, edits: Sequence[TextEdit]) -> None:
        before = buffer.text
        buffer.text = apply_edits(before, edits)
        buffer.version += 1
        for listener in self._listeners:
            listener.changed(buffer, before, edits)


def _compare_with_disk(buffer: MemoryBuffer) -> None:
    if buffer.path is None:
        return
    try:
        data: bytes | None = Path(buffer.path).read_bytes()
    except FileNotFoundError:
        data = None
    except (OSError, ValueError):
        return
    if baseline := baseline_of(buffer.text, data):
        buffer.disk.seen(baseline)


def _from_disk(path: str) -> tuple[str, bool]:
    data = Path(path).read_bytes()
    return data.removeprefix(_BOM).decode("utf-8"), data.startswith(_BOM)


def _inverse(text: str, edits: Sequence[TextEdit]) -> tuple[TextEdit, ...]:
    """The edits that lead back from the changed text."""
    back: list[TextEdit] = []
    shift = 0
    for edit in edits:
        start = edit.start + shift
        back.append(TextEdit(start, start + len(edit.new_text), text[edit.start : edit.end]))
        shift += len(edit.new_text) - (edit.end - edit.start)
    return tuple(back)
