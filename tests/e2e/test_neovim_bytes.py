"""Real Neovim, no plugin: after ``:w`` the file holds exactly the bytes it should, whatever its encoding and ends."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from .neovim import Neovim, editor_in, folder_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.editor
_numbers = itertools.count(1)

BOM = b"\xef\xbb\xbf"
WIDE = "a😋b é e\u0301 日本 x\n😋😋 y 😋\n"
RUSSIAN = "Это первая строка текста на русском языке.\nx\n"
RU1251 = RUSSIAN.encode("cp1251")
CHINESE = "这是第一行中文文本。\n这是第二行也是中文。\nx\n"
ODD = "a\u2028b\x0cc\x85d\x0be\nx\n"


@dataclass(frozen=True, kw_only=True)
class Case:
    """Open ``disk``, do one thing, save: ``saved``. None: it must be refused and nothing changed."""

    name: str
    disk: bytes
    edit: tuple[str, str] | None = None
    write: str | None = None
    saved: bytes | None
    options: str = ""
    setup: str = ""
    keys: str = ""


CASES = [
    # Line ends
    Case(
        name="dos",
        disk=b"x\r\ny\r\nz\r\n",
        edit=("x\ny", "X\nnew\nY"),
        saved=b"X\r\nnew\r\nY\r\nz\r\n",
    ),
    Case(name="dos, last line", disk=b"x\r\ny\r\n", edit=("y\n", "y\nend\n"), saved=b"x\r\ny\r\nend\r\n"),
    Case(name="dos, line removed", disk=b"x\r\ny\r\nz\r\n", edit=("y\n", ""), saved=b"x\r\nz\r\n"),
    Case(name="dos, asked with CRLF", disk=b"x\r\ny\r\n", edit=("x\r\ny", "1\r\n2"), saved=b"1\r\n2\r\n"),
    Case(name="dos, written", disk=b"x\r\ny\r\n", write="1\n2\n3\n", saved=b"1\r\n2\r\n3\r\n"),
    Case(name="dos, written with CRLF", disk=b"x\r\ny\r\n", write="1\r\n2\r\n", saved=b"1\r\n2\r\n"),
    Case(name="dos noeol", disk=b"x\r\ny", edit=("y", "Y"), saved=b"x\r\nY", setup="set nofixeol"),
    Case(name="mixed ends", disk=b"a\r\nb\nc\n", edit=("c", "C"), saved=b"a\r\nb\nC\n"),
    Case(name="mixed ends, CRLF line", disk=b"a\r\nb\nc\n", edit=("a", "A"), saved=b"A\r\nb\nc\n"),
    Case(name="lone CR", disk=b"a\rb\nx\n", edit=("x", "y"), saved=b"a\rb\ny\n"),
    Case(name="mac", disk=b"a\rb\rc\r", edit=("b", "B"), saved=b"a\rB\rc\r", options="++ff=mac"),
    Case(name="mac as one line", disk=b"a\rb\rc\r", edit=("b", "B"), saved=b"a\rB\rc\r", setup="set nofixeol"),
    # Encodings
    Case(name="latin1", disk=b"caf\xe9\nx\n", edit=("x", "y"), saved=b"caf\xe9\ny\n"),
    Case(name="latin1 forced", disk=b"caf\xe9\nx\n", edit=("x", "y"), saved=b"caf\xe9\ny\n", options="++enc=latin1"),
    Case(
        name="latin1, new text",
        disk=b"caf\xe9\nx\n",
        edit=("café", "thé à"),
        saved=b"th\xe9 \xe0\nx\n",
        options="++enc=latin1",
    ),
    Case(name="latin1, written", disk=b"caf\xe9\nx\n", write="caf\xe9\n\xe0\n", saved=b"caf\xe9\n\xe0\n"),
    Case(name="latin1, arrow", disk=b"caf\xe9\nx\n", edit=("x", "→"), saved=None, options="++enc=latin1"),
    Case(name="latin1, emoji", disk=b"caf\xe9\nx\n", edit=("x", "😋"), saved=None, options="++enc=latin1"),
    Case(name="latin1, arrow written", disk=b"caf\xe9\nx\n", write="→\n", saved=None, options="++enc=latin1"),
    Case(
        name="ASCII opened as latin1",
        disk=b"x\ny\n",
        edit=("x", "é"),
        saved=b"\xe9\ny\n",
        options="++enc=latin1",
    ),
    Case(
        name="windows-1251",
        disk=RUSSIAN.encode("cp1251"),
        edit=("строка", "запись"),
        saved=RUSSIAN.replace("строка", "запись").encode("cp1251"),
        options="++enc=cp1251",
    ),
    Case(name="windows-1251 shown as latin1, ASCII", disk=RU1251, edit=("x", "y"), saved=RU1251.replace(b"x", b"y")),
    Case(name="windows-1251 shown as latin1, Russian", disk=RU1251, edit=("x", "да"), saved=None),
    Case(
        name="GBK",
        disk=CHINESE.encode("gbk"),
        edit=("第二", "另外"),
        saved=CHINESE.replace("第二", "另外").encode("gbk"),
        options="++enc=cp936",
    ),
    Case(name="GBK, emoji", disk=CHINESE.encode("gbk"), edit=("x", "😋"), saved=None, options="++enc=cp936"),
    Case(
        name="utf-16le with BOM",
        disk=b"\xff\xfe" + "a é\nb\n".encode("utf-16-le"),
        edit=("a", "ä😋"),
        saved=b"\xff\xfe" + "ä😋 é\nb\n".encode("utf-16-le"),
    ),
    Case(
        name="utf-16be with BOM, written",
        disk=b"\xfe\xff" + "a é\r\nb\r\n".encode("utf-16-be"),
        write="1\n2\n",
        saved=b"\xfe\xff" + "1\r\n2\r\n".encode("utf-16-be"),
    ),
    Case(name="BOM", disk=BOM + b"a\nb\n", edit=("a", "0a"), saved=BOM + b"0a\nb\n"),
    Case(name="BOM, written", disk=BOM + b"a\nb\n", write="1\n", saved=BOM + b"1\n"),
    Case(name="BOM, written with BOM", disk=BOM + b"a\nb\n", write="\ufeff1\n", saved=BOM + b"1\n"),
    # Final newline
    Case(name="noeol, first line", disk=b"one\ntwo", edit=("one", "1"), saved=b"1\ntwo", setup="set nofixeol"),
    Case(name="noeol, last line", disk=b"one\ntwo", edit=("two", "2"), saved=b"one\n2", setup="set nofixeol"),
    Case(
        name="noeol, lines added",
        disk=b"one\ntwo",
        edit=("two", "two\nthree"),
        saved=b"one\ntwo\nthree",
        setup="set nofixeol",
    ),
    Case(name="noeol, one line", disk=b"one", edit=("one", "1\n2"), saved=b"1\n2", setup="set nofixeol"),
    Case(
        name="noeol, written without",
        disk=b"one\ntwo",
        write="one\nTWO\nthree",
        saved=b"one\nTWO\nthree",
        setup="set nofixeol",
    ),
    Case(
        name="noeol, written with",
        disk=b"one\ntwo",
        write="one\ntwo\nthree\n",
        saved=b"one\ntwo\nthree\n",
        setup="set nofixeol",
    ),
    # By default Neovim itself adds the missing newline on :w.
    Case(name="noeol fixed by the editor", disk=b"one\ntwo", edit=("two", "2"), saved=b"one\n2\n"),
    Case(name="noeol fixed, lines added", disk=b"one\ntwo", edit=("two", "two\nthree"), saved=b"one\ntwo\nthree\n"),
    Case(name="noeol fixed, written with", disk=b"one\ntwo", write="one\ntwo\n3\n", saved=b"one\ntwo\n3\n"),
    Case(name="noeol fixed, newline alone", disk=b"one\ntwo", write="one\ntwo\n", saved=b"one\ntwo\n", keys="GA!<C-h>"),
    Case(name="noeol fixed, last line removed", disk=b"one\ntwo", write="one\n", saved=b"one\n"),
    Case(name="noeol, last line removed", disk=b"one\ntwo", write="one\n", saved=b"one\n", setup="set nofixeol"),
    Case(name="noeol dos, last lines removed", disk=b"a\r\nb\r\nc", edit=("b\nc", ""), saved=b"a\r\n"),
    Case(name="noeol, emptied, then written", disk=b"one", write="a\nb\n", saved=b"a\nb\n", keys="dd"),
    Case(name="eol, only that taken", disk=b"one\ntwo\n", write="one\ntwo", saved=b"one\ntwo\n"),
    Case(name="eol, written without", disk=b"one\ntwo\n", write="one\nTWO", saved=b"one\nTWO\n"),
    # The last line and the empty buffer
    Case(name="last line removed", disk=b"one\ntwo\n", edit=("two\n", ""), saved=b"one\n"),
    Case(name="first line removed", disk=b"one\ntwo\n", edit=("one\n", ""), saved=b"two\n"),
    Case(name="line added at the end", disk=b"one\ntwo\n", edit=("two\n", "two\n3\n"), saved=b"one\ntwo\n3\n"),
    Case(name="blank lines added", disk=b"one\ntwo\n", edit=("two\n", "two\n\n\n"), saved=b"one\ntwo\n\n\n"),
    Case(name="blank lines removed", disk=b"one\n\n\n", edit=("one\n\n\n", "one\n"), saved=b"one\n"),
    Case(name="line added at the start", disk=b"one\n", edit=("one", "0\none"), saved=b"0\none\n"),
    Case(name="longer by writing", disk=b"one\n", write="one\n2\n3\n", saved=b"one\n2\n3\n"),
    Case(name="shorter by writing", disk=b"one\n2\n3\n", write="one\n", saved=b"one\n"),
    Case(name="empty", disk=b"", write="A\n", saved=b"A\n"),
    Case(name="empty, two lines", disk=b"", write="A\nB\n", saved=b"A\nB\n"),
    Case(name="empty, without newline", disk=b"", write="A", saved=b"A\n"),
    Case(name="empty, blank lines", disk=b"", write="\nA\n\n", saved=b"\nA\n\n"),
    Case(name="empty, typed into", disk=b"", edit=("x", "y\nz"), saved=b"y\nz\n", keys="ix<Esc>"),
    Case(name="one newline", disk=b"\n", write="A\n", saved=b"A\n"),
    Case(name="two newlines", disk=b"\n\n", write="A\n\n", saved=b"A\n\n"),
    # Columns
    Case(name="after an emoji", disk=WIDE.encode(), edit=("b é", "B 😋"), saved=WIDE.replace("b é", "B 😋").encode()),
    Case(name="an emoji", disk=WIDE.encode(), edit=("a😋b", "😋"), saved=WIDE.replace("a😋b", "😋").encode()),
    Case(
        name="over two lines",
        disk=WIDE.encode(),
        edit=("本 x\n😋😋 y", "x😋\n\n😋"),
        saved=WIDE.replace("本 x\n😋😋 y", "x😋\n\n😋").encode(),
    ),
    Case(name="combining mark", disk=WIDE.encode(), edit=("e\u0301", "é"), saved=WIDE.replace("e\u0301", "é").encode()),
    Case(
        name="odd separators",
        disk=ODD.encode(),
        edit=("d\x0be\nx", "D\u2029E\ny"),
        saved=ODD.replace("d\x0be\nx", "D\u2029E\ny").encode(),
    ),
    Case(name="written wide", disk=WIDE.encode(), write="é😋\n" + WIDE, saved=("é😋\n" + WIDE).encode()),
]

# An old Mac file, and one long line with CR in it, arrive as the same text; a refusal is right as well.
MAY_REFUSE = {"mac", "mac as one line", "lone CR"}


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    yield from editor_in(tmp_path_factory.mktemp("nvim"), debounce_text_changes=10)


@pytest.fixture
def folder(editor: Neovim) -> Iterator[Path]:
    yield from folder_in(editor, editor.root / f"bytes{next(_numbers)}")
    if editor.process.poll() is None:
        editor.command("set fixeol&")


@pytest.mark.contract("B4", "E8", "F6")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_bytes_are_right_after_saving(editor: Neovim, folder: Path, case: Case) -> None:
    _run(editor, folder, case)


@pytest.mark.contract("B4", "E8")
@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_columns_are_right_in_every_position_encoding(tmp_path: Path, encoding: str) -> None:
    root = tmp_path / "work"
    root.mkdir()
    with Neovim(tmp_path / "home", root, encodings=(encoding,), debounce_text_changes=10) as editor:
        assert editor.lua("return vim.lsp.get_clients({ name = 'openbuffer' })[1].offset_encoding") == encoding
        for case in CASES:
            if b"\xf0" in case.disk:
                folder = root / str(next(_numbers))
                folder.mkdir()
                _run(editor, folder, case)


@pytest.mark.contract("B4", "F6", "E8")
def test_a_refused_character_can_be_replaced_and_the_edit_then_lands(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_bytes(b"caf\xe9\nx\n")
    editor.open(file)
    refused = editor.edit(file, "x", "a → b")
    assert not refused.success
    assert "→" in refused.error or "U+2192" in refused.error
    assert editor.edit(file, "x", "a -> é").success
    editor.type(":w<CR>")
    assert file.read_bytes() == b"caf\xe9\na -> \xe9\n"


@pytest.mark.contract("B4", "F6")
@pytest.mark.parametrize("content", ["", "\n"])
def test_emptying_an_open_file_leaves_no_more_than_one_newline(editor: Neovim, folder: Path, content: str) -> None:
    file = folder / "a.txt"
    file.write_bytes(b"one\ntwo\n")
    editor.open(file)
    answer = editor.write(file, content)
    assert answer.success, answer
    assert editor.lines() == [""]
    editor.type(":w<CR>")
    # A buffer has at least one line; Neovim writes it as a newline unless the buffer never had text.
    assert file.read_bytes() in {content.encode(), b"\n"}
    assert editor.write(file, "again\n").success
    editor.type(":w<CR>")
    assert file.read_bytes() == b"again\n"


@pytest.mark.contract("B4", "F6")
def test_writing_what_is_there_changes_nothing(editor: Neovim, folder: Path) -> None:
    for name, disk, content in (("a", b"a\nb\n", "a\nb\n"), ("b", b"a\r\nb\r\n", "a\r\nb\r\n"), ("c", b"", "")):
        file = folder / name
        file.write_bytes(disk)
        editor.open(file)
        tick = editor.api("nvim_buf_get_changedtick", 0)
        answer = editor.write(file, content)
        assert not answer.is_hard_error, answer
        assert editor.api("nvim_buf_get_changedtick", 0) == tick
        assert not editor.modified()


@pytest.mark.contract("B4", "F6")
def test_a_legacy_character_the_buffer_cannot_hold_is_never_saved_as_another(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_bytes(b"caf\xe9\nx\n")
    editor.open(file, "++enc=latin1")
    # The euro sign is in cp1252, which these bytes may be as well, and not in Latin-1, which this buffer is.
    answer = editor.edit(file, "x", "€")
    if answer.success:
        editor.type(":w<CR>")
    assert file.read_bytes() in {b"caf\xe9\nx\n", b"caf\xe9\n\x80\n", "café\n€\n".encode()}
    assert answer.success == (editor.lines() == ["café", "€"])


def _run(editor: Neovim, folder: Path, case: Case) -> None:
    file = folder / "a.txt"
    file.write_bytes(case.disk)
    if case.setup:
        editor.command(case.setup)
    editor.open(file, case.options)
    if case.keys:
        editor.type(case.keys)
        editor.type("<Esc>")
    before = editor.lines()
    answer = editor.write(file, case.write) if case.write is not None else editor.edit(file, *(case.edit or ()))
    if case.saved is None or (not answer.success and case.name in MAY_REFUSE):
        assert not answer.is_hard_error, answer
        assert not answer.success, (answer, editor.lines())
        assert str(file) in answer.error
        assert editor.lines() == before
        assert file.read_bytes() == case.disk
        return
    assert answer.success, answer
    editor.type(":w<CR>")
    assert not editor.modified()
    assert file.read_bytes() == case.saved, (editor.lines(), answer)
    _server_and_editor_agree(editor, file)


def _server_and_editor_agree(editor: Neovim, file: Path) -> None:
    """A text that drifted apart shows in the next Read, or in the edit after it."""
    numbered = [line for line in editor.read(file).output.split("\n") if "\t" in line]
    lines = [line.removesuffix("\r") for line in editor.lines()]
    if not lines[-1] and len(lines) > 1 and not editor.option("endofline"):
        lines.pop()  # a last line without text and without end is none
    assert [line.split("\t", 1)[1].removesuffix("\r") for line in numbered] == lines
    if (last := editor.lines()[-1]) and "\r" not in last:
        expected = [*editor.lines()[:-1], last + "+", "end"]
        assert editor.edit(file, f"{last}\n", f"{last}+\nend\n").success or editor.edit(file, last, f"{last}+\nend")
        assert editor.lines() == expected
