"""Unsaved documents that an editor does not synchronise are refused with the reason, and noted as the user's."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from openbuffer.bridge.handlers.did_change_unsynchronized_documents import did_change_unsynchronized_documents
from openbuffer.bridge.protocol import MalformedParamsError
from openbuffer.editor_access.errors import DocumentOutOfSyncError
from openbuffer.editor_access.lsp import LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_lsp import MemoryLanguageClient
from openbuffer.editor_access.port import UnsavedDocument

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.bridge.session import Session

NOTEBOOK = "it is a notebook"


class Told:
    """A file that an editor shows and does not synchronise, and the tools' access to that editor."""

    def __init__(self, directory: Path) -> None:
        self.directory = os.path.realpath(directory)
        self.path = os.path.join(self.directory, "n.ipynb")
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("{}")
        self.editor = MemoryEditor()
        client = MemoryLanguageClient(self.editor, encoding="utf-16")
        self.access = LspEditor(client, encoding="utf-16")
        client.connect(self.access)

    def tell(self, *documents: Any) -> None:
        session = cast("Session", SimpleNamespace(editor=self.access))
        did_change_unsynchronized_documents(session, {"documents": list(documents)})

    def notebook(self, path: str | None = None) -> dict[str, str]:
        return {"uri": f"file://{path or self.path}", "reason": NOTEBOOK}


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


@pytest.mark.contract("E10")
def test_such_a_document_is_refused_until_it_is_saved(told: Told) -> None:
    assert told.access.document(told.path) is None
    told.tell(told.notebook())
    with pytest.raises(DocumentOutOfSyncError, match="unsaved changes that the editor does not tell: it is a notebook"):
        told.access.document(told.path)
    told.tell()
    assert told.access.document(told.path) is None


@pytest.mark.contract("E10")
def test_it_is_refused_under_every_name_of_its_file(told: Told) -> None:
    link = os.path.join(told.directory, "link.ipynb")
    os.symlink(told.path, link)
    told.tell(told.notebook(link))
    with pytest.raises(DocumentOutOfSyncError):
        told.access.document(told.path)
    assert told.access.document(os.path.join(told.directory, "other.ipynb")) is None


@pytest.mark.contract("E10")
def test_it_is_refused_also_while_its_text_is_open_beside_it(told: Told) -> None:
    told.editor.open(told.path)
    assert told.access.document(told.path) is not None
    told.tell(told.notebook())
    with pytest.raises(DocumentOutOfSyncError):
        told.access.document(told.path)


@pytest.mark.contract("E5")
def test_it_counts_as_unsaved_by_the_user(told: Told) -> None:
    told.tell(told.notebook(), {"uri": "untitled:Untitled-1", "reason": "it has no file"})
    assert told.access.unsaved_under(told.directory) == (UnsavedDocument(told.path, "user"),)
    assert told.access.unsaved_under(told.directory + "-other") == ()


@pytest.mark.contract("B3")
@pytest.mark.parametrize("documents", [None, {}, "x", [1], [{"uri": "file:///x"}], [{"uri": 1, "reason": "r"}]])
def test_what_cannot_be_read_is_refused_and_changes_nothing(told: Told, documents: Any) -> None:
    told.tell(told.notebook())
    session = cast("Session", SimpleNamespace(editor=told.access))
    with pytest.raises(MalformedParamsError):
        did_change_unsynchronized_documents(session, {"documents": documents})
    with pytest.raises(DocumentOutOfSyncError):
        told.access.document(told.path)


@pytest.mark.contract("B3")
def test_too_many_and_too_long_reasons_are_cut(told: Told) -> None:
    told.tell({"uri": f"file://{told.path}", "reason": "r" * 100_000}, *map(told.notebook, map(str, range(5_000))))
    with pytest.raises(DocumentOutOfSyncError) as refused:
        told.access.document(told.path)
    assert len(str(refused.value)) < 1_000
