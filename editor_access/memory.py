"""An editor in memory: documents that a user types into, with undo, dirty state and files on disk.

It is an editor in its own right, for headless sessions, the demo and tests. In the same process tools reach it through
``memory_access``; ``memory_lsp`` makes it a language client. Everything it does is done at once, when it is called:
nothing here waits, and no clock runs. How it treats files is its ``EditorHabits``.
"""

from __future__ import annotations

import itertools
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .baselines import BaselineKeeper
from .client_requests import disk_hash
from .document_identity import canonical
from .memory_buffer import EditorListener, EditorQuestion, MemoryBuffer, inverse
from .memory_disk import hash_on_disk, look_at, on_disk, shown, with_final_newline
from .memory_habits import PLAIN_HABITS, EditorHabits
from .port import TextEdit
from .text import apply_edits, minimal_edits
from .truth import baseline_of
from .uri import uri_from_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

__all__ = ["EditorHabits", "EditorListener", "EditorQuestion", "MemoryBuffer", "MemoryEditor"]

_STROKE = re.compile(r"\r\n|.", re.DOTALL)


class MemoryEditor:
    """The editor, by the actions of its user.

    A document is named by the path or URI that it was opened with. Every action on one that is not open raises
    KeyError; those that read or write its file raise OSError where that fails, and UnicodeError where the file, or
    the text, cannot be taken as it is. Nothing was changed then, and nothing written.
    """

    def __init__(self, habits: EditorHabits = PLAIN_HABITS) -> None:
        self.habits = habits
        self.has_quit = False
        self._buffers: dict[str, MemoryBuffer] = {}
        self._listeners: list[EditorListener] = []
        self._questions: list[EditorQuestion] = []
        self._generations = itertools.count(1)

    def open(self, path: str, text: str | None = None, *, version: int | None = None) -> MemoryBuffer:
        """Show a file: with this text, or with what is on disk. ``version``: other than the habit's.

        One that is shown already stays as it is; it is opened anew where there is a text.
        """
        if path in self._buffers:
            if text is None:
                return self._buffers[path]
            self.close(path)
        buffer = self._new(path, version)
        if text is None:
            data = Path(path).read_bytes()
            buffer.text, buffer.form = shown(data, self.habits)
            _saw(buffer, data)
        else:
            buffer.text = text
            _look(buffer)
        buffer.saved_text = buffer.text
        return self._show(buffer)

    def open_unnamed(self, uri: str, text: str = "") -> MemoryBuffer:
        """Show a buffer that has no file, under a URI such as ``untitled:1``."""
        generation = next(self._generations)
        disk = BaselineKeeper("", None)
        version = self.habits.first_version
        return self._show(
            MemoryBuffer(uri, None, "", generation, version=version, text=text, saved_text=text, disk=disk)
        )

    def buffer(self, name: str) -> MemoryBuffer:
        """The open document of this path or URI."""
        return self._buffers[name]

    def buffers(self) -> tuple[MemoryBuffer, ...]:
        """All open documents, in the order of opening."""
        return tuple(self._buffers.values())

    def type(self, name: str, offset: int, text: str) -> None:
        """Insert text at a string offset, as one undo step; an editor that counts keystrokes tells each of them."""
        if self.habits.counts == "changes" or not text:
            self.change(name, [TextEdit(offset, offset, text)])
            return
        buffer = self._buffers[name]
        self._remember(buffer, [TextEdit(offset, offset, text)])
        for stroke in _STROKE.finditer(text):
            at = offset + stroke.start()
            self._change(buffer, [TextEdit(at, at, stroke[0])])

    def replace(self, name: str, start: int, end: int, text: str) -> None:
        """Replace a stretch of the text, as one undo step."""
        self.change(name, [TextEdit(start, end, text)])

    def change(self, name: str, edits: Sequence[TextEdit]) -> None:
        """Make edits (ascending, not overlapping) as one undo step."""
        buffer = self._buffers[name]
        self._remember(buffer, edits)
        self._change(buffer, edits)

    def undo(self, name: str) -> None:
        """Take the newest undo step back; nothing happens when there is none."""
        buffer = self._buffers[name]
        if buffer.undo_steps:
            step = buffer.undo_steps.pop()
            buffer.redo_steps.append(inverse(buffer.text, step))
            self._change(buffer, step)

    def redo(self, name: str) -> None:
        """Make again what was undone last, unless something else was changed since."""
        buffer = self._buffers[name]
        if buffer.redo_steps:
            step = buffer.redo_steps.pop()
            buffer.undo_steps.append(inverse(buffer.text, step))
            self._change(buffer, step)

    def save(self, name: str) -> bool:
        """Write the text to its file; whether that was done.

        It is not for an unnamed buffer, nor, by habit, over a file that somebody else changed: then the user is
        asked, or the editor refuses.
        """
        buffer = self._buffers[name]
        if buffer.path is None:
            return False
        if self.habits.saves_over != "overwrites":
            found = hash_on_disk(buffer.path)
            if found not in {None, buffer.disk_hash}:
                if self.habits.saves_over == "asks":
                    self._ask_before_saving_over(buffer)
                return False
        self.write(name)
        return True

    def write(self, name: str, *, formats: bool = True) -> None:
        """Write the text to its file without a look at what that holds; an unnamed buffer stays as it is."""
        buffer = self._buffers[name]
        if buffer.path is None:
            return
        edits = minimal_edits(buffer.text, self._text_to_save(buffer, formats=formats))
        on_disk(apply_edits(buffer.text, edits), buffer.form, self.habits)  # raises before anything is changed
        if edits:
            self.change(name, edits)
        data = on_disk(buffer.text, buffer.form, self.habits)
        Path(buffer.path).write_bytes(data)
        buffer.saved_text = buffer.text
        self._forget_questions(buffer, "changed_outside", "saving_over")
        _saw(buffer, data)
        for listener in self._listeners:
            listener.saved(buffer)

    def autosave(self) -> tuple[str, ...]:
        """The time to save by itself has come: where that is a habit, write what is dirty, unformatted.

        Files that somebody else changed are left alone, unless saving over them is a habit as well, and so are those
        that cannot be written. Returns the names of what was written.
        """
        dirty = [b for b in self._buffers.values() if b.path is not None and b.is_dirty] if self.habits.autosave else []
        written: list[str] = []
        for buffer in dirty:
            with suppress(OSError, UnicodeError):
                if self.habits.saves_over == "overwrites" or hash_on_disk(buffer.path) in {None, buffer.disk_hash}:
                    self.write(buffer.name, formats=False)
                    written.append(buffer.name)
        return tuple(written)

    def check_disk(self) -> None:
        """Look for files that somebody else changed, as when the editor's window gets the focus.

        Clean documents take the new text, by habit as a change or by being opened anew; the user is asked about the
        others, once for each content. A document whose file is gone, or cannot be shown, stays as it is.
        """
        for buffer in self.buffers():
            with suppress(OSError, UnicodeDecodeError):
                found = hash_on_disk(buffer.path)
                if found in {None, buffer.disk_hash}:
                    continue
                if not buffer.is_dirty:
                    self.refresh(buffer.name)
                elif found != buffer.asked_about:
                    self._ask_about_outside_change(buffer, found)

    def revert(self, name: str) -> None:
        """Take the text from disk again, as one undo step."""
        buffer = self._buffers[name]
        if buffer.path is None:
            return
        data = Path(buffer.path).read_bytes()
        text, buffer.form = shown(data, self.habits)
        edits = minimal_edits(buffer.text, text)
        buffer.saved_text = text
        self._forget_questions(buffer, "changed_outside", "saving_over")
        if edits:
            self.change(name, edits)
        _saw(buffer, data)

    def reload(self, name: str) -> MemoryBuffer:
        """Close and open again from disk: a new generation, whose versions start over."""
        buffer = self._buffers[name]
        if buffer.path is None:
            return buffer
        shown(Path(buffer.path).read_bytes(), self.habits)  # what cannot be shown is not closed either
        self.close(name)
        return self.open(buffer.path)

    def refresh(self, name: str) -> None:
        """Take the text from disk, the way that is this editor's habit."""
        if self.habits.reloads == "reopened":
            self.reload(name)
        else:
            self.revert(name)

    def rename(self, name: str, path: str) -> MemoryBuffer:
        """Give the file, where there is one, and its document another name; what is unsaved stays so.

        Raises:
            FileExistsError: there is such a file, or a document of that name.
        """
        buffer = self._buffers[name]
        if path in self._buffers or Path(path).exists():
            raise FileExistsError(f"{path} exists, or is open")
        if buffer.path is not None and Path(buffer.path).exists():
            Path(buffer.path).rename(path)
        return self._under_another_name(buffer, path)

    def save_as(self, name: str, path: str) -> MemoryBuffer:
        """Write the text to another file, which is the document's from then on; the old file stays as it is."""
        buffer = self._under_another_name(self._buffers[name], path)
        self.write(buffer.name)
        return buffer

    def close(self, name: str, *, unsaved: Literal["dropped", "saved", "asked"] = "dropped") -> bool:
        """Stop showing it; whether that was done. ``unsaved``: what becomes of text that is not on disk."""
        buffer = self._buffers[name]
        if buffer.is_dirty and unsaved == "asked":
            self._ask_before_closing(buffer)
            return False
        if buffer.is_dirty and unsaved == "saved" and not self.save(name):
            return False
        del self._buffers[name]
        self._questions = [question for question in self._questions if question.buffer is not buffer]
        for listener in self._listeners:
            listener.closed(buffer)
        return True

    def questions(self) -> tuple[EditorQuestion, ...]:
        """What the user was asked and has not answered yet, in the order of asking."""
        return tuple(self._questions)

    def answer(self, question: EditorQuestion, choice: str) -> None:
        """Answer a question by one of its ``answers``.

        Raises:
            KeyError: there is no such answer.
            ValueError: nobody asks that any more.
        """
        act = question.answers[choice]
        self._questions.remove(question)
        act()

    def quit(self) -> None:
        """End the editor: nothing can be asked of it any more."""
        self.has_quit = True

    def listen(self, listener: EditorListener) -> None:
        """Tell this listener from now on."""
        self._listeners.append(listener)

    def _new(self, path: str, version: int | None = None) -> MemoryBuffer:
        return MemoryBuffer(
            uri=uri_from_path(path),
            path=path,
            canonical_path=canonical(path),
            generation=next(self._generations),
            version=self.habits.first_version if version is None else version,
            text="",
            saved_text="",
            disk=BaselineKeeper(path, None),
        )

    def _show(self, buffer: MemoryBuffer) -> MemoryBuffer:
        self._buffers[buffer.name] = buffer
        for listener in self._listeners:
            listener.opened(buffer)
        return buffer

    def _remember(self, buffer: MemoryBuffer, edits: Sequence[TextEdit]) -> None:
        buffer.undo_steps.append(inverse(buffer.text, edits))
        buffer.redo_steps.clear()

    def _change(self, buffer: MemoryBuffer, edits: Sequence[TextEdit]) -> None:
        before = buffer.text
        buffer.text = apply_edits(before, edits)
        buffer.version += 1
        for listener in self._listeners:
            listener.changed(buffer, before, edits)

    def _text_to_save(self, buffer: MemoryBuffer, *, formats: bool) -> str:
        text = buffer.text
        if formats and self.habits.format_on_save is not None:
            text = self.habits.format_on_save(text)
        return with_final_newline(text) if self.habits.final_newline == "added" else text

    def _under_another_name(self, old: MemoryBuffer, path: str) -> MemoryBuffer:
        self.close(old.name)
        buffer = self._new(path)
        buffer.text, buffer.saved_text, buffer.form = old.text, old.saved_text, old.form
        buffer.undo_steps, buffer.redo_steps = old.undo_steps, old.redo_steps
        _look(buffer)
        return self._show(buffer)

    def _ask_before_saving_over(self, buffer: MemoryBuffer) -> None:
        self._forget_questions(buffer, "saving_over")
        answers = {
            "overwrite": lambda: self.write(buffer.name),
            "reload": lambda: self.refresh(buffer.name),
            "cancel": lambda: None,
        }
        self._questions.append(EditorQuestion("saving_over", buffer, answers))

    def _ask_about_outside_change(self, buffer: MemoryBuffer, found: str | None) -> None:
        self._forget_questions(buffer, "changed_outside")
        answers = {"reload": lambda: self.refresh(buffer.name), "keep": lambda: None}
        self._questions.append(EditorQuestion("changed_outside", buffer, answers))
        buffer.asked_about = found

    def _ask_before_closing(self, buffer: MemoryBuffer) -> None:
        self._forget_questions(buffer, "closing_unsaved")
        answers = {
            "save": lambda: self.close(buffer.name, unsaved="saved"),
            "drop": lambda: self.close(buffer.name),
            "cancel": lambda: None,
        }
        self._questions.append(EditorQuestion("closing_unsaved", buffer, answers))

    def _forget_questions(self, buffer: MemoryBuffer, *kinds: str) -> None:
        self._questions = [q for q in self._questions if q.buffer is not buffer or q.kind not in kinds]


def _look(buffer: MemoryBuffer) -> None:
    """Note what the file holds, which need not be what the document shows."""
    # What cannot be read, as a directory or a name that no file has, is neither the same nor different.
    with suppress(OSError, ValueError):
        _saw(buffer, look_at(buffer.path))


def _saw(buffer: MemoryBuffer, data: bytes | None) -> None:
    """Note the content of the file, and the moment at which document and disk are the same."""
    buffer.disk_hash = disk_hash(data)
    if baseline := baseline_of(buffer.text, data):
        buffer.disk.seen(baseline)
