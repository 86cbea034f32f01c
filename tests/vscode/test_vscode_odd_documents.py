"""Real VS Code: other encodings, reloads, formatting and saving by itself, and what is shown without its text told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .window import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .client_window import ClientWindow

pytestmark = [pytest.mark.vscode, pytest.mark.contract("B4")]

_OPEN_WITH_ENCODING = """
const document = await vscode.workspace.openTextDocument(vscode.Uri.file(args[0]), {encoding: args[1]});
await vscode.window.showTextDocument(document, {preview: false});
return document.encoding;
"""

_REGISTER_FORMATTER = """
probe.formatter = vscode.languages.registerDocumentFormattingEditProvider({pattern: '**/*.txt'}, {
  provideDocumentFormattingEdits: (document) => {
    const end = document.lineAt(document.lineCount - 1).range.end;
    const text = document.getText();
    return text.endsWith('formatted\\n') ? [] : [vscode.TextEdit.insert(end, 'formatted\\n')];
  },
});
await vscode.workspace.getConfiguration('editor').update('formatOnSave', true, vscode.ConfigurationTarget.Global);
"""

_FORGET_FORMATTER = """
probe.formatter?.dispose();
await vscode.workspace.getConfiguration('editor').update('formatOnSave', undefined, vscode.ConfigurationTarget.Global);
"""

_CHANGE_CELL = """
const document = await vscode.workspace.openNotebookDocument(vscode.Uri.file(args[0]));
await vscode.window.showNotebookDocument(document);
const edit = new vscode.WorkspaceEdit();
edit.insert(document.cellAt(0).document.uri, new vscode.Position(0, 0), args[1]);
return await vscode.workspace.applyEdit(edit);
"""

_SAVE_NOTEBOOK = """
const found = vscode.workspace.notebookDocuments.find((one) => one.uri.fsPath === args[0]);
return await found.save();
"""

_TYPE_INTO_NEW = """
const uri = vscode.Uri.file(args[0]).with({scheme: 'untitled'});
await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
const edit = new vscode.WorkspaceEdit();
edit.insert(uri, new vscode.Position(0, 0), args[1]);
return await vscode.workspace.applyEdit(edit);
"""


def opened(window: ClientWindow, folder: Path, content: bytes, name: str = "a.txt") -> Path:
    file = folder / name
    file.write_bytes(content)
    window.show(file)
    return file


@pytest.mark.contract("E8", "F4")
def test_a_file_that_the_editor_misreads_is_not_changed(window: ClientWindow, folder: Path) -> None:
    content = "Grüße\ntwo\n".encode("latin-1")
    file = opened(window, folder, content)
    assert "\ufffd" in window.text(file)
    answer = window.edit(file, "two", "TWO")
    assert not answer.success
    assert file.read_bytes() == content
    assert not window.is_dirty(file)


@pytest.mark.contract("E8", "F4")
def test_a_file_in_another_encoding_is_changed_in_it_and_never_beyond_it(window: ClientWindow, folder: Path) -> None:
    file = folder / "latin.txt"
    file.write_bytes("Grüße\ntwo\n".encode("latin-1"))
    assert window.js(_OPEN_WITH_ENCODING, str(file), "iso88591") == "iso88591"
    answer = window.edit(file, "two", "zwö")
    assert answer.success, answer
    assert file.read_bytes() == "Grüße\nzwö\n".encode("latin-1")
    answer = window.edit(file, "zwö", "→")
    assert not answer.success
    assert "cannot hold" in answer.error
    assert file.read_bytes() == "Grüße\nzwö\n".encode("latin-1")


@pytest.mark.contract("E8")
def test_line_ends_of_a_file_stay_what_they_are(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder, b"\xef\xbb\xbfone\r\ntwo\r\n")
    answer = window.edit(file, "two", "TWO\n2")
    assert answer.success, answer
    assert file.read_bytes() == b"\xef\xbb\xbfone\r\nTWO\r\n2\r\n"


@pytest.mark.contract("E11")
def test_a_clean_document_whose_file_changed_is_reloaded_and_edited(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder, b"one\ntwo\n")
    file.write_bytes(b"from outside\ntwo\n")
    answer = window.edit(file, "two", "TWO")
    assert answer.success, answer
    window.wait_for_text(file, "from outside\nTWO\n")
    wait_for(lambda: file.read_bytes() == b"from outside\nTWO\n", "the file")


@pytest.mark.contract("E11")
def test_a_document_and_a_file_that_both_changed_are_left_alone(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder, b"one\ntwo\n")
    window.type_at_end("typed")
    window.wait_for_text(file, "one\ntwo\ntyped")
    file.write_bytes(b"from outside\ntwo\n")
    answer = window.edit(file, "two", "TWO")
    assert not answer.success
    assert "conflict" in answer.error
    assert window.text(file) == "one\ntwo\ntyped"
    assert file.read_bytes() == b"from outside\ntwo\n"


@pytest.fixture
def formatter(window: ClientWindow) -> Iterator[None]:
    window.js(_REGISTER_FORMATTER)
    yield
    window.js(_FORGET_FORMATTER)


@pytest.mark.contract("E9")
@pytest.mark.usefixtures("formatter")
def test_what_formatting_did_to_a_saved_edit_is_told(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder, b"one\ntwo\n")
    answer = window.edit(file, "two", "TWO")
    assert answer.success, answer
    assert file.read_bytes() == b"one\nTWO\nformatted\n"
    assert "saved" in answer.output
    assert "chang" in answer.output.split("saved to disk", 1)[1]


@pytest.mark.contract("E10")
def test_an_unsaved_notebook_is_refused_until_it_is_saved(window: ClientWindow, folder: Path) -> None:
    file = folder / "n.ipynb"
    cell = {"cell_type": "markdown", "metadata": {}, "source": ["two"]}
    file.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 2}))
    before = file.read_bytes()
    assert window.js(_CHANGE_CELL, str(file), "one ")
    wait_for(lambda: not window.read(file).success, "a refusal")
    assert "notebook" in window.read(file).error
    answer = window.edit(file, "two", "TWO")
    assert not answer.success
    assert "save it" in answer.error
    assert file.read_bytes() == before
    assert window.js(_SAVE_NOTEBOOK, str(file))
    wait_for(lambda: window.read(file).success, "the notebook to be readable")
    assert "one two" in window.read(file).output


@pytest.mark.contract("E10")
def test_a_new_document_with_the_name_of_a_file_is_not_written_over(window: ClientWindow, folder: Path) -> None:
    file = folder / "new.txt"
    assert window.js(_TYPE_INTO_NEW, str(file), "typed")
    wait_for(lambda: "never saved" in window.read(file).error, "a refusal")
    answer = window.write(file, "of the agent\n")
    assert "never saved" in answer.error
    assert not file.exists()
    window.command("workbench.action.revertAndCloseActiveEditor")


@pytest.fixture
def autosave(window: ClientWindow) -> Iterator[None]:
    window.configure("files.autoSave", "afterDelay")
    window.configure("files.autoSaveDelay", 1500)
    yield
    window.configure("files.autoSave", "off")
    window.configure("files.autoSaveDelay", None)


@pytest.mark.contract("E9")
@pytest.mark.usefixtures("autosave")
def test_that_the_editor_saves_by_itself_is_told(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder, b"one\ntwo\n")
    window.type_at_end("typed")
    answer = window.edit(file, "two", "TWO")
    assert answer.success, answer
    assert "by itself after a moment" in answer.output or "on disk" in answer.output
    wait_for(lambda: file.read_bytes() == b"one\nTWO\ntyped", "the editor to save")
    wait_for(lambda: "nothing unsaved" in window.read(file).output, "the server to know")


@pytest.mark.contract("E9", "E11")
@pytest.mark.usefixtures("autosave")
def test_edits_and_autosaves_do_not_get_in_each_others_way(window: ClientWindow, folder: Path) -> None:
    file = opened(window, folder, b"0\n")
    for number in range(12):
        window.press("Control+Home")
        window.type("t")
        answer = window.edit(file, f"{number}\n", f"{number + 1}\n")
        assert answer.success, answer
    wait_for(lambda: file.read_bytes() == b"t" * 12 + b"12\n", "the editor to save")
    assert window.text(file) == "t" * 12 + "12\n"


@pytest.mark.slow
@pytest.mark.contract("E10")
def test_a_file_that_is_too_large_to_be_told_is_refused_while_it_is_unsaved(window: ClientWindow, folder: Path) -> None:
    window.configure("workbench.editorLargeFileConfirmation", 1024)
    file = folder / "large.txt"
    line = b"0123456789abcdef" * 64 + b"\n"
    file.write_bytes(line * 52_000)
    window.js("void vscode.commands.executeCommand('vscode.open', vscode.Uri.file(args[0]))", str(file))
    window.see('.editor-instance .monaco-editor[data-uri$="/large.txt"] .view-lines', 90)
    window.focus(file)
    assert window.read(file, offset=1, limit=1).success
    window.press("Control+Home")
    window.type("typed")
    wait_for(lambda: not window.read(file, offset=1, limit=1).success, "a refusal")
    assert "50 MB" in window.read(file, offset=1, limit=1).error
    window.press("Control+s")
    wait_for(lambda: window.read(file, offset=1, limit=1).success, "the file to be readable")
    assert file.stat().st_size == len(line) * 52_000 + len("typed")
