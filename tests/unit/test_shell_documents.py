"""Commands beside an editor: what they did not see is told, and what they wrote is seen at once (E5, E9, E11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from openbuffer.editor_access import EditorLostError
from openbuffer.editor_access.lsp import LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.tools import PermissionDeniedError, ToolContext

from .command_desk import shell, written
from .truth_desk import (
    ADAPTERS,
    COMMAND,
    USER,
    Desk,
    changed_and_same,
    desk_with,
    opened_already_different,
    same_and_same,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from openbuffer.tools import InvocationResult, Target


@pytest.fixture(params=ADAPTERS.values(), ids=list(ADAPTERS))
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    yield from desk_with(request.param, tmp_path)


async def run(desk: Desk, command: str, **more: str) -> InvocationResult:
    return await shell(desk.root, command, editor=lambda: desk.access, **more)


def notes(result: InvocationResult) -> list[str]:
    return [line for line in result.output.splitlines() if line.startswith("Note: ")]


# --- what was rewritten --------------------------------------------------------------------------------------------


@pytest.mark.contract("E11")
async def test_a_file_that_a_command_rewrites_is_what_is_read_and_edited_next(
    desk: Desk,
) -> None:
    await same_and_same(desk)
    result = await run(desk, r"printf 'command\nsame\n' > f.txt")
    assert (result.exit_code, notes(result)) == (0, [])
    read = await desk.read()
    assert "1\tcommand\n" in read
    assert "base" not in read
    edited = await desk.edit("command", "by Edit")
    assert edited.success, edited.error
    assert desk.disk == "by Edit\nsame\n"
    assert "1\tby Edit\n" in await desk.read()


@pytest.mark.contract("E11")
async def test_the_next_edit_uses_the_new_bytes_without_a_read_between(desk: Desk) -> None:
    await same_and_same(desk)
    await run(desk, "sed -i s/base/command/ f.txt")  # the same length, and perhaps within one tick of the clock
    refused = await desk.edit("base", "no")
    assert not refused.success
    edited = await desk.edit("command", "by Edit")
    assert edited.success, edited.error
    assert desk.disk == "by Edit\nsame\n"


@pytest.mark.contract("E11")
async def test_a_file_that_a_command_rewrites_under_unsaved_text_leaves_both(desk: Desk) -> None:
    await changed_and_same(desk)
    await run(desk, r"printf 'command\nsame\n' > f.txt")
    assert "1\tuser\n" in await desk.read()
    refused = await desk.edit()
    assert not refused.success
    assert (desk.disk, desk.shown) == (COMMAND, USER)


# --- what was not seen ---------------------------------------------------------------------------------------------


@pytest.mark.contract("E5", "E9")
async def test_text_of_the_user_that_is_not_on_disk_is_named_as_theirs(desk: Desk) -> None:
    await changed_and_same(desk)
    await desk.settle()
    result = await run(desk, "head -1 f.txt")
    assert written(result) == "base\n"
    assert len(notes(result)) == 1
    assert notes(result)[0] == (
        "Note: 1 open document has text that is not on disk, which the command did not see: "
        f"{desk.path} (the user's changes)."
    )


@pytest.mark.contract("E5", "E9")
async def test_edits_of_the_agent_that_are_not_on_disk_are_named_as_its_own(desk: Desk) -> None:
    await same_and_same(desk)
    assert (await desk.edit()).success
    result = await run(desk, "tail -1 f.txt")
    if desk.is_rich:  # the editor saved it
        assert (written(result), notes(result)) == ("edited\n", [])
    else:
        assert written(result) == "same\n"
        assert len(notes(result)) == 1
        assert notes(result)[0].endswith(f": {desk.path} (the agent's own edits).")


@pytest.mark.contract("E5")
async def test_a_document_that_was_opened_with_other_text_is_named(desk: Desk) -> None:
    await opened_already_different(desk)
    await desk.settle()
    assert len(notes(await run(desk, "true"))) == 1


@pytest.mark.contract("E5")
async def test_what_is_unsaved_when_the_command_starts_is_named_although_it_is_saved_meanwhile(desk: Desk) -> None:
    await changed_and_same(desk)
    await desk.settle()
    result = await run(desk, f"cat f.txt; printf '{USER}' > f.txt")
    assert len(notes(result)) == 1


def with_documents(*paths: Path) -> MemoryEditorAccess:
    editor = MemoryEditor()
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text("a\n")
        editor.open(str(path))
        editor.type(str(path), 0, "typed ")
    return MemoryEditorAccess(editor)


@pytest.mark.contract("E5")
async def test_documents_of_the_workspace_and_of_the_directory_are_named_and_no_others(tmp_path: Path) -> None:
    root, beside, elsewhere = (tmp_path / name for name in ("w", "beside", "elsewhere"))
    access = with_documents(*(directory / "f" for directory in (root, beside, elsewhere)))
    (root / "sub").mkdir()
    for directory, expected in (("sub", [root]), ("../beside", [beside, root])):
        result = await shell(root, "true", editor=lambda: access, workingDirectory=directory)
        (note,) = notes(result)
        named = ", ".join(f"{each / 'f'} (the user's changes)" for each in expected)
        assert note.endswith(f"which the command did not see: {named}.")


@pytest.mark.contract("E5")
async def test_many_are_counted(tmp_path: Path) -> None:
    access = with_documents(*(tmp_path / f"f{number}" for number in range(8)))
    (note,) = notes(await shell(tmp_path, "true", editor=lambda: access))
    assert note.startswith("Note: 8 open documents have text that is not on disk")
    assert note.count("the user's changes") == 5
    assert note.endswith(", 3 more.")


@pytest.mark.contract("E5", "X4")
async def test_a_document_that_the_gate_does_not_admit_is_counted_and_not_named(tmp_path: Path) -> None:
    async def admit(targets: Sequence[Target], /) -> None:
        if any(target.subject.endswith("secret") for target in targets):
            raise PermissionDeniedError("no")

    context = ToolContext(admit=admit)
    access = with_documents(tmp_path / "f", tmp_path / "secret")
    (note,) = notes(await shell(tmp_path, "true", context, editor=lambda: access))
    assert note.endswith(f"did not see: {tmp_path / 'f'} (the user's changes), 1 more.")
    alone = with_documents(tmp_path / "secret")
    (note,) = notes(await shell(tmp_path, "true", context, editor=lambda: alone))
    assert note.startswith("Note: 1 open document has text that is not on disk")
    assert "secret" not in note


class Unable(MemoryEditorAccess):
    """An adapter that may not be believed about paths, or that lost its editor."""

    has_authority = False

    @property
    def has_stable_path_authority(self) -> bool:
        return self.has_authority

    def unsaved_under(self, directory: str) -> tuple[()]:
        raise EditorLostError(f"{directory}: the editor is gone")


@pytest.mark.contract("E2", "E5")
async def test_an_editor_that_cannot_tell_does_not_stop_a_command_and_that_is_told(tmp_path: Path) -> None:
    access = Unable(MemoryEditor())
    for has_authority, expected in ((False, "may differ, and cannot be asked for"), (True, "the editor is gone")):
        access.has_authority = has_authority
        result = await shell(tmp_path, "echo ran", editor=lambda: access)
        assert written(result) == "ran\n"
        assert expected in notes(result)[0]


@pytest.mark.contract("E2", "E5")
async def test_an_editor_that_is_not_there_is_of_no_concern(tmp_path: Path, desk: Desk) -> None:
    assert notes(await shell(tmp_path, "true", editor=lambda: None)) == []
    await changed_and_same(desk)
    if isinstance(desk.access, LspEditor):
        desk.access.connection_lost()
        assert notes(await run(desk, "true")) == []
