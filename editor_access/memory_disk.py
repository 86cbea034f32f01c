"""Files as the in-memory editor reads and writes them: encodings, marks, line ends, the final newline."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .client_requests import disk_hash

if TYPE_CHECKING:
    from .memory_habits import EditorHabits

_LINE_END = re.compile(r"\r\n|\n|\r")
_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


@dataclass(frozen=True, slots=True)
class FileForm:
    r"""How a text lies on disk. ``line_end``: what each ``\n`` becomes there; None: the text is written as it is.

    ``is_empty``: an empty file, shown as one empty line.
    """

    codec: str = "utf-8"
    mark: bytes = b""
    line_end: str | None = None
    is_empty: bool = False


PLAIN_FORM: Final = FileForm()
"""UTF-8, written as it is shown."""


def look_at(path: str | None) -> bytes | None:
    """What the file holds; None where there is none.

    Raises:
        OSError: it cannot be read.
    """
    try:
        return None if path is None else Path(path).read_bytes()
    except FileNotFoundError:
        return None


def hash_on_disk(path: str | None) -> str | None:
    """``client_requests.disk_hash`` of what the file holds now; the errors are those of ``look_at``."""
    return disk_hash(look_at(path))


def shown(data: bytes, habits: EditorHabits) -> tuple[str, FileForm]:
    """The text that an editor shows for a file's bytes, and how it writes it back.

    Raises:
        UnicodeDecodeError: the bytes are no text, and the editor does not show such files.
    """
    text, codec, mark = _decoded(data, habits)
    line_end = None
    if habits.line_ends == "majority":
        text = _LINE_END.sub(_majority(text), text)
    elif habits.line_ends == "shown_as_lf" and "\r\n" in text:
        line_end, text = "\r\n", text.replace("\r\n", "\n")
    is_empty = not text and habits.shows_empty_as_newline
    return "\n" if is_empty else text, FileForm(codec, mark, line_end, is_empty)


def on_disk(text: str, form: FileForm, habits: EditorHabits) -> bytes:
    """The bytes that an editor writes for a text.

    Raises:
        UnicodeEncodeError: it holds half a surrogate pair.
    """
    if form.is_empty and text == "\n":
        return form.mark
    if habits.final_newline == "added_untold":
        text = with_final_newline(text)
    if form.line_end is not None:
        text = text.replace("\n", form.line_end)
    if form.codec == "latin-1":
        text = "".join(character if character <= "\xff" else "¿" for character in text)
    return form.mark + text.encode(form.codec)


def with_final_newline(text: str) -> str:
    """The text with a final newline of its own kind, unless it is empty."""
    if not text or text.endswith(("\n", "\r")):
        return text
    return text + ("\r\n" if "\r\n" in text else "\n")


def _decoded(data: bytes, habits: EditorHabits) -> tuple[str, str, bytes]:
    errors = "strict" if habits.undecodable == "refused" else "replace"
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, errors), codec, mark
    try:
        return data.decode(), "utf-8", b""
    except UnicodeDecodeError:
        if habits.undecodable == "latin-1":
            return data.decode("latin-1"), "latin-1", b""
        return data.decode("utf-8", errors), "utf-8", b""


def _majority(text: str) -> str:
    returns = text.count("\r\n")
    return "\r\n" if 2 * returns > len(_LINE_END.findall(text)) else "\n"
