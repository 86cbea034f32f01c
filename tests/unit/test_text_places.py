"""Disk or document: the place is found after the gate, looked for again before the commit, and never mixed up."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from openbuffer.editor_access import Document, EditorAbilities, EditOutcome, TextEdit
from openbuffer.editor_access.errors import DocumentMovedError, EditorLostError
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import ALL_ABILITIES, MemoryEditorAccess
from openbuffer.tools import (
    CancellationToken,
    FunctionTool,
    InvocationResult,
    PermissionDeniedError,
    Plan,
    PlanOutdatedError,
    Target,
    ToolCancelledError,
    ToolContext,
)
from openbuffer.tools.host import create_edit_tool, create_read_tool, create_write_tool

Arguments = dict[str, Any]

READ: Arguments = {"filePath": "f.txt"}
EDIT: Arguments = {"filePath": "f.txt", "oldString": "a", "newString": "A"}
WRITE: Arguments = {"filePath": "f.txt", "content": "new\n"}
TOOLS = [
    pytest.param(create_read_tool, READ, id="Read"),
    pytest.param(create_edit_tool, EDIT, id="Edit"),
    pytest.param(create_write_tool, WRITE, id="Write"),
]
CHANGING = TOOLS[1:]
Factory = Callable[..., FunctionTool]


class ScriptedAccess(MemoryEditorAccess):
    """An editor that does what a test says when it is asked to apply."""

    def __init__(
        self,
        editor: MemoryEditor,
        answer: EditOutcome | Exception | None = None,
        *,
        abilities: EditorAbilities = ALL_ABILITIES,
    ) -> None:
        super().__init__(editor, abilities=abilities)
        self.answer = answer
        self.asked: list[str] = []
        self.labels: list[str] = []
        self.on_apply: Callable[[], None] = lambda: None

    def document(self, path: str) -> Document | None:
        self.asked.append(path)
        return super().document(path)

    async def apply(self, document: Document, edits: Sequence[TextEdit], *, label: str) -> EditOutcome:
        self.labels.append(label)
        self.on_apply()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer or await super().apply(document, edits, label=label)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    real = Path(os.path.realpath(tmp_path))
    (real / "f.txt").write_bytes(b"a\nb\nc")
    return real


@pytest.fixture
def path(root: Path) -> str:
    return str(root / "f.txt")


async def invoke(tool: FunctionTool, arguments: Arguments) -> InvocationResult:
    result = await tool.execute(arguments)
    assert result.invocation is not None
    return result.invocation


def tree(root: Path) -> dict[str, tuple[int, int, bytes]]:
    found: dict[str, tuple[int, int, bytes]] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        found[str(path)] = (status.st_ino, status.st_mtime_ns, path.read_bytes() if path.is_file() else b"")
    return found


# --- before the gate -----------------------------------------------------------------------------------------


@pytest.mark.contract("E2", "T12")
@pytest.mark.parametrize(("factory", "arguments"), TOOLS)
@pytest.mark.parametrize("name", ["f.txt", "missing.txt", "dir", "binary"])
async def test_nothing_is_looked_at_or_told_before_the_gate_admits(
    root: Path, factory: Factory, arguments: Arguments, name: str
) -> None:
    (root / "dir").mkdir()
    (root / "binary").write_bytes(b"\0")
    editor = MemoryEditor()
    access = ScriptedAccess(editor)
    seen: list[tuple[str, str]] = []

    async def deny(targets: Sequence[Target], /) -> None:
        assert access.asked == []
        seen.extend((target.path, target.place) for target in targets)
        raise PermissionDeniedError("no")

    tool = factory(cwd=root, editor=lambda: access)
    parsed = tool.validate({**arguments, "filePath": name})
    with pytest.raises(PermissionDeniedError, match=r"^no$"):
        await tool.prepare(parsed, ToolContext(admit=deny))
    assert set(seen) == {(str(root / name), "undecided")}
    assert access.asked == []


@pytest.mark.contract("T12")
@pytest.mark.parametrize(("factory", "arguments"), TOOLS)
@pytest.mark.parametrize("name", ["f.txt", "new/deep/f.txt"])
@pytest.mark.parametrize("open_in_editor", [False, True])
async def test_prepare_has_no_effect(
    root: Path, factory: Factory, arguments: Arguments, name: str, open_in_editor: bool
) -> None:
    editor = MemoryEditor()
    if open_in_editor:
        editor.open(str(root / name), "a\n")
    before, buffers = tree(root), [buffer.text for buffer in editor.buffers()]
    tool = factory(cwd=root, editor=lambda: MemoryEditorAccess(editor))
    plan = await tool.prepare(tool.validate({**arguments, "filePath": name}), ToolContext())
    assert tree(root) == before
    assert [buffer.text for buffer in editor.buffers()] == buffers
    plan.close()
    assert tree(root) == before


@pytest.mark.contract("T12")
async def test_a_settled_failure_still_tells_its_targets(root: Path) -> None:
    tool = create_edit_tool(cwd=root)
    plan = await tool.prepare(tool.validate({**EDIT, "oldString": "zzz"}), ToolContext())
    assert plan.settled is not None
    assert [target.path for target in plan.targets] == [f"{root}/f.txt"] * 2


# --- between prepare and commit: disk -----------------------------------------------------------------------


def change_content(path: Path) -> None:
    path.write_bytes(b"a\nB-user\nc")


def change_one_byte_with_the_same_size_and_time(path: Path) -> None:
    status = path.stat()
    path.write_bytes(b"a\nX\nc")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_by_rename(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"a\nrenamed\n")
    other.rename(path)


def remove(path: Path) -> None:
    path.unlink()


def swap_for_a_link(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


@pytest.mark.contract("T12")
@pytest.mark.parametrize(("factory", "arguments"), CHANGING)
@pytest.mark.parametrize(
    "happening",
    [change_content, change_one_byte_with_the_same_size_and_time, replace_by_rename, remove, swap_for_a_link],
)
async def test_a_commit_after_the_file_changed_does_nothing_and_starts_over(
    root: Path, factory: Factory, arguments: Arguments, happening: Callable[[Path], None]
) -> None:
    tool = factory(cwd=root)
    plan = await tool.prepare(tool.validate(arguments), ToolContext())
    happening(root / "f.txt")
    before = tree(root)
    with pytest.raises(PlanOutdatedError, match=r"f\.txt"):
        await tool.commit(plan, ToolContext())
    plan.close()
    assert tree(root) == before


@pytest.mark.contract("T12")
async def test_a_created_file_never_covers_one_that_appeared(root: Path) -> None:
    tool = create_write_tool(cwd=root)
    plan = await tool.prepare(tool.validate({"filePath": "new", "content": "mine"}), ToolContext())
    (root / "new").write_bytes(b"theirs")
    with pytest.raises(PlanOutdatedError, match="new"):
        await tool.commit(plan, ToolContext())
    plan.close()
    assert (root / "new").read_bytes() == b"theirs"


@pytest.mark.contract("P3")
@pytest.mark.parametrize("happening", [replace_by_rename, remove, swap_for_a_link])
async def test_a_read_starts_over_when_another_file_has_the_name(root: Path, happening: Callable[[Path], None]) -> None:
    tool = create_read_tool(cwd=root)
    plan = await tool.prepare(tool.validate(READ), ToolContext())
    happening(root / "f.txt")
    with pytest.raises(PlanOutdatedError, match=r"f\.txt"):
        await tool.commit(plan, ToolContext())
    plan.close()


@pytest.mark.contract("P2", "P3")
@pytest.mark.parametrize(("factory", "arguments"), TOOLS)
async def test_a_link_that_leads_out_by_now_is_not_followed(
    root: Path, factory: Factory, arguments: Arguments, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret"
    outside.write_bytes(b"a secret")
    tool = factory(cwd=root)
    plan = await tool.prepare(tool.validate(arguments), ToolContext())
    (root / "f.txt").unlink()
    (root / "f.txt").symlink_to(outside)
    result = await tool.commit(plan, ToolContext())
    plan.close()
    assert not result.success
    assert "outside" in str(result.value["error"])
    assert "secret" not in str(result.value["output"])
    assert outside.read_bytes() == b"a secret"


@pytest.mark.contract("F4")
async def test_a_link_inside_the_root_is_written_through_to_its_target(root: Path) -> None:
    (root / "link").symlink_to("f.txt")
    for factory, arguments in ((create_edit_tool, EDIT), (create_write_tool, WRITE)):
        result = await invoke(factory(cwd=root), {**arguments, "filePath": "link"})
        assert f"{root}/f.txt" in result.output
    assert (root / "link").is_symlink()
    assert (root / "f.txt").read_bytes() == b"new\n"


@pytest.mark.contract("T6")
@pytest.mark.parametrize(
    ("factory", "arguments"),
    [
        (create_edit_tool, {"oldString": "not there", "newString": "x"}),
        (create_write_tool, {"content": "a\nb\nc"}),
    ],
    ids=["a failure", "nothing to do"],
)
async def test_a_cancelled_call_ends_as_cancelled_whatever_its_answer_would_be(
    root: Path, path: str, factory: Factory, arguments: Arguments
) -> None:
    context = ToolContext(cancellation=CancellationToken())
    context.cancellation.cancel()
    with pytest.raises(ToolCancelledError, match="cancelled; nothing was changed"):
        await factory(cwd=root).execute({"filePath": path, **arguments}, context)


@pytest.mark.contract("T6")
@pytest.mark.parametrize(("factory", "arguments"), CHANGING)
async def test_a_token_cancelled_before_the_commit_means_no_effect(
    root: Path, path: str, factory: Factory, arguments: Arguments
) -> None:
    editor = MemoryEditor()
    before = tree(root)
    tool = factory(cwd=root, editor=lambda: MemoryEditorAccess(editor))
    for _ in ("on disk", "in the document"):
        context = ToolContext(cancellation=CancellationToken())
        plan = await tool.prepare(tool.validate(arguments), context)
        context.cancellation.cancel()
        with pytest.raises(ToolCancelledError, match="cancelled; nothing was changed"):
            await tool.commit(plan, context)
        plan.close()
        assert tree(root) == before
        editor.open(path)
    assert editor.buffer(path).text == "a\nb\nc"


# --- the document ---------------------------------------------------------------------------------------------


@pytest.mark.contract("E1", "E3")
async def test_an_unsaved_document_is_read_and_edited_and_the_users_line_lives(root: Path, path: str) -> None:
    editor = MemoryEditor()
    access = ScriptedAccess(editor)
    editor.open(path)
    editor.replace(path, 4, 5, "C-user")
    read, edit = create_read_tool(cwd=root, editor=lambda: access), create_edit_tool(cwd=root, editor=lambda: access)
    assert "     3\tC-user" in (await invoke(read, READ)).output
    result = await invoke(edit, EDIT)
    assert result.output == (
        f"Edited {path}: replaced 1 place, in line 1. It is in the open document, beside unsaved changes of the user; "
        "nothing was saved to disk."
    )
    assert result.start_line == 1
    assert editor.buffer(path).text == "A\nb\nC-user"
    assert (root / "f.txt").read_bytes() == b"a\nb\nc"
    assert access.labels == ["Edit"]


@pytest.mark.contract("E8")
async def test_a_write_into_a_document_is_minimal_and_one_undo_step(root: Path, path: str) -> None:
    editor = MemoryEditor()
    access = ScriptedAccess(editor, abilities=EditorAbilities())
    editor.open(path, "a\r\nb\r\nc\r\n")
    tool = create_write_tool(cwd=root, editor=lambda: access)
    result = await invoke(tool, {"filePath": path, "content": "\ufeffa\nb\nC é\n"})
    assert result.output == (
        f"Replaced the content of {path}: 12 bytes. It is in the open document; nothing was saved to disk, "
        "which this editor cannot be asked to do. Kept from the file: CRLF line ends."
    )
    assert editor.buffer(path).text == "a\r\nb\r\nC é\r\n"
    ((step,),) = editor.buffer(path).undo_steps
    assert step.end - step.start <= len("C é")
    editor.undo(path)
    assert editor.buffer(path).text == "a\r\nb\r\nc\r\n"
    same = await invoke(tool, {"filePath": path, "content": "a\nb\nc\n"})
    assert same.output == (
        f"{path}: the open document already holds exactly this content (9 bytes); nothing was written."
    )


@pytest.mark.contract("E1")
@pytest.mark.parametrize(("factory", "arguments"), TOOLS)
async def test_an_editor_without_path_authority_is_ignored(
    root: Path, path: str, factory: Factory, arguments: Arguments
) -> None:
    editor = MemoryEditor()
    access = ScriptedAccess(editor)
    access.has_stable_path_authority = False
    editor.open(path, "a in the editor")
    result = await invoke(factory(cwd=root, editor=lambda: access), arguments)
    assert result.success
    assert access.asked == []
    assert editor.buffer(path).text == "a in the editor"


@pytest.mark.contract("E2")
async def test_the_editor_is_asked_for_at_every_call(root: Path, path: str) -> None:
    editor = MemoryEditor()
    editor.open(path, "a in the editor")
    attached: list[MemoryEditorAccess] = []
    tool = create_read_tool(cwd=root, editor=lambda: attached[0] if attached else None)
    assert "on disk" in (await invoke(tool, READ)).output
    attached.append(MemoryEditorAccess(editor))
    assert "a in the editor" in (await invoke(tool, READ)).output
    attached.clear()
    assert "on disk" in (await invoke(tool, READ)).output


@pytest.mark.contract("E2")
@pytest.mark.parametrize(("factory", "arguments"), TOOLS)
async def test_a_document_that_opens_or_closes_or_reloads_before_the_commit_makes_it_start_over(
    root: Path, path: str, factory: Factory, arguments: Arguments
) -> None:
    editor = MemoryEditor()
    tool = factory(cwd=root, editor=lambda: MemoryEditorAccess(editor))

    def opened() -> None:
        editor.open(path)

    def reloaded() -> None:
        editor.reload(path)

    def closed() -> None:
        editor.close(path)

    for happening in (opened, reloaded, closed):
        plan = await tool.prepare(tool.validate(arguments), ToolContext())
        happening()
        with pytest.raises(PlanOutdatedError, match=r"f\.txt: was (opened|closed|opened anew) in the editor"):
            await tool.commit(plan, ToolContext())
        plan.close()
        assert (root / "f.txt").read_bytes() == b"a\nb\nc"


@pytest.mark.contract("E2", "E12")
@pytest.mark.parametrize(("factory", "arguments"), CHANGING)
@pytest.mark.parametrize("name", ["f.txt", "new.txt"])
async def test_a_file_that_is_opened_while_the_write_waits_for_another_writer_is_changed_in_the_editor(
    root: Path, factory: Factory, arguments: Arguments, name: str
) -> None:
    if name == "new.txt" and factory is create_edit_tool:
        return  # Edit creates nothing
    editor = MemoryEditor()
    tool = factory(cwd=root, editor=lambda: MemoryEditorAccess(editor))
    plan = await tool.prepare(tool.validate({**arguments, "filePath": name}), ToolContext())
    before = tree(root)
    directory = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        async with anyio.create_task_group() as group:
            group.start_soon(_refused, tool, plan)
            await anyio.wait_all_tasks_blocked()
            editor.open(str(root / name), "typed before it was ever saved\n")
            fcntl.flock(directory, fcntl.LOCK_UN)
    finally:
        os.close(directory)
    plan.close()
    assert tree(root) == before


async def _refused(tool: FunctionTool, plan: Plan) -> None:
    with pytest.raises(PlanOutdatedError, match="was opened in the editor"):
        await tool.commit(plan, ToolContext())


@pytest.mark.contract("E2", "T12")
async def test_typing_before_the_commit_makes_it_start_over_and_the_typed_line_lives(root: Path, path: str) -> None:
    editor = MemoryEditor()
    editor.open(path)
    tool = create_edit_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor))
    plan = await tool.prepare(tool.validate(EDIT), ToolContext())
    editor.type(path, 5, " typed")
    with pytest.raises(PlanOutdatedError, match="was changed in the editor"):
        await tool.commit(plan, ToolContext())
    plan.close()
    assert editor.buffer(path).text == "a\nb\nc typed"
    assert (await invoke(tool, EDIT)).success
    assert editor.buffer(path).text == "A\nb\nc typed"


@pytest.mark.contract("E3")
async def test_a_read_shows_what_was_typed_after_it_was_prepared(root: Path, path: str) -> None:
    editor = MemoryEditor()
    editor.open(path)
    tool = create_read_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor))
    plan = await tool.prepare(tool.validate(READ), ToolContext())
    editor.type(path, 5, " typed")
    assert "c typed" in (await tool.commit(plan, ToolContext())).value["output"]
    plan.close()


@pytest.mark.contract("E2")
@pytest.mark.parametrize(("factory", "arguments"), TOOLS)
@pytest.mark.parametrize("way", ["detached", "quit"])
async def test_losing_the_editor_in_the_middle_is_a_clear_error_and_never_a_write_behind_its_back(
    root: Path, path: str, factory: Factory, arguments: Arguments, way: str
) -> None:
    editor = MemoryEditor()
    editor.open(path)
    attached = [MemoryEditorAccess(editor)]
    tool = factory(cwd=root, editor=lambda: attached[0] if attached else None)
    plan = await tool.prepare(tool.validate(arguments), ToolContext())
    if way == "quit":
        editor.quit()
    else:
        attached.clear()
    result = await tool.commit(plan, ToolContext())
    plan.close()
    assert not result.success
    error = str(result.value["error"])
    assert error.startswith(f"{path}: the editor ")
    assert "othing was changed" in error
    assert (root / "f.txt").read_bytes() == b"a\nb\nc"


@pytest.mark.contract("E7")
@pytest.mark.parametrize(("factory", "arguments"), CHANGING)
@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            EditOutcome(kind="unknown", reason="no word in time."),
            (
                "the outcome is unknown: the edit was sent to the editor, and whether it was made is not known "
                "(no word in time). Read the file before you try again."
            ),
        ),
        (
            EditOutcome(kind="unknown", reason="{path}: the connection to the editor ended"),
            (
                "the outcome is unknown: the edit was sent to the editor, and whether it was made is not known "
                "(the connection to the editor ended). Read the file before you try again."
            ),
        ),
        (
            EditOutcome(kind="not_done", reason="the user said no", nothing_changed=True),
            (
                "the edit was not made in the open document (the user said no); nothing was changed. "
                "Find out why the editor refuses it before you try again."
            ),
        ),
        (
            EditOutcome(kind="not_done", reason="", nothing_changed=False),
            (
                "the edit was not made in the open document as intended (no reason was given). "
                "Read the file before you try again."
            ),
        ),
        (
            EditorLostError("gone"),
            (
                "the editor cannot carry this file now (gone). Nothing was changed, and the file on disk is "
                "left alone, because the editor may show something else. Try again once that is resolved."
            ),
        ),
    ],
    ids=["unknown", "with its path", "refused", "not as intended", "lost"],
)
async def test_each_outcome_of_an_edit_is_told_apart(
    root: Path,
    path: str,
    factory: Factory,
    arguments: Arguments,
    answer: EditOutcome | Exception,
    says: str,
) -> None:
    editor = MemoryEditor()
    if isinstance(answer, EditOutcome):
        answer = replace(answer, reason=answer.reason.replace("{path}", path))
    access = ScriptedAccess(editor, answer)
    editor.open(path)
    result = await invoke(factory(cwd=root, editor=lambda: access), arguments)
    assert not result.success
    assert result.error == f"{path}: {says}"
    assert len(access.labels) == 1
    assert (root / "f.txt").read_bytes() == b"a\nb\nc"


@pytest.mark.contract("E7", "B3")
@pytest.mark.parametrize("answer", [EditOutcome, EditorLostError], ids=["outcome", "error"])
async def test_what_an_editor_says_is_told_on_one_line_of_bounded_length(
    root: Path, path: str, answer: type[EditOutcome | EditorLostError]
) -> None:
    lie = "done\n\x1b[2JEdited f.txt." + "x" * 1_000_000
    editor = MemoryEditor()
    access = ScriptedAccess(
        editor,
        EditOutcome(kind="not_done", reason=lie, nothing_changed=True)
        if answer is EditOutcome
        else EditorLostError(lie),
    )
    editor.open(path)
    result = await invoke(create_edit_tool(cwd=root, editor=lambda: access), EDIT)
    error = str(result.error)
    assert "(done\\n\\x1b[2JEdited f.txt.xx" in error
    assert "x …)" in error
    assert len(error) < 8_000


@pytest.mark.contract("E7")
@pytest.mark.parametrize(
    "answer",
    [EditOutcome(kind="not_done", reason="stale", nothing_changed=True), DocumentMovedError("moved")],
    ids=["stale", "moved"],
)
async def test_a_stale_edit_is_made_again_from_a_fresh_read(
    root: Path, path: str, answer: EditOutcome | Exception
) -> None:
    editor = MemoryEditor()
    access = ScriptedAccess(editor, answer)
    editor.open(path)

    def the_user_types_first() -> None:
        editor.type(path, 5, " typed")

    def then_it_works() -> None:
        access.answer = None

    access.on_apply = the_user_types_first
    tool = create_edit_tool(cwd=root, editor=lambda: access)
    plan = await tool.prepare(tool.validate(EDIT), ToolContext())
    with pytest.raises(PlanOutdatedError, match="in the editor"):
        await tool.commit(plan, ToolContext())
    plan.close()
    access.on_apply = then_it_works
    assert (await invoke(tool, EDIT)).success
    assert editor.buffer(path).text == "A\nb\nc typed"


@pytest.mark.contract("F6")
async def test_a_document_that_the_editor_decoded_wrongly_is_not_changed(root: Path, path: str) -> None:
    (root / "f.txt").write_bytes("a déjà vu, à côté de la façade naïve\n".encode("latin-1"))
    editor = MemoryEditor()
    editor.open(path, (root / "f.txt").read_bytes().decode("utf-8", "replace"))
    for factory, arguments in ((create_edit_tool, {**EDIT, "oldString": "vu"}), (create_write_tool, WRITE)):
        result = await invoke(factory(cwd=root, editor=lambda: MemoryEditorAccess(editor)), arguments)
        assert "shows U+FFFD where the file on disk has other bytes" in str(result.error)
    assert not editor.buffer(path).undo_steps


@pytest.mark.contract("F6")
async def test_a_document_whose_own_text_holds_u_fffd_is_edited(root: Path, path: str) -> None:
    (root / "f.txt").write_text("a \ufffd\n", encoding="utf-8")
    editor = MemoryEditor()
    editor.open(path)
    assert (await invoke(create_edit_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor)), EDIT)).success


@pytest.mark.contract("F6")
async def test_a_document_gets_no_text_that_its_file_cannot_hold(root: Path, path: str) -> None:
    raw = "a déjà vu, à côté de la façade naïve\n".encode("latin-1")
    (root / "f.txt").write_bytes(raw)
    editor = MemoryEditor()
    editor.open(path, raw.decode("latin-1"))
    tool = create_edit_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor))
    assert "cannot hold '漢'" in str((await invoke(tool, {**EDIT, "oldString": "vu", "newString": "漢"})).error)
    assert (await invoke(tool, {**EDIT, "oldString": "vu", "newString": "été"})).success


@pytest.mark.contract("F5", "E3")
async def test_edits_of_a_document_have_the_same_failures_and_limits(root: Path, path: str) -> None:
    editor = MemoryEditor()
    editor.open(path)
    editor.replace(path, 0, 5, "k\nk\n")
    tool = create_edit_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor), max_bytes=5)
    for arguments, says in [
        ({**EDIT, "oldString": "k"}, "found 2 times, in lines 1 and 2"),
        ({**EDIT, "oldString": "z"}, "was not found"),
        ({**EDIT, "oldString": "k\nk", "newString": "a much longer text"}, "over the budget of 5 bytes"),
    ]:
        assert says in str((await invoke(tool, arguments)).error)
    editor.type(path, 0, "more text")
    assert "has 13 bytes, over the budget of 5 bytes" in str((await invoke(tool, EDIT)).error)


@pytest.mark.contract("E1")
async def test_a_document_without_a_file_is_changed_in_the_editor_and_nothing_appears_on_disk(root: Path) -> None:
    editor = MemoryEditor()
    name = str(root / "unsaved.txt")
    editor.open(name, "a\n")
    assert (
        await invoke(create_edit_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor)), {**EDIT, "filePath": name})
    ).success
    assert (
        await invoke(
            create_write_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor)), {**WRITE, "filePath": name}
        )
    ).success
    assert editor.buffer(name).text == "new\n"
    assert not (root / "unsaved.txt").exists()


@pytest.mark.contract("E2", "T12")
@pytest.mark.parametrize("place", ["disk", "document"])
async def test_two_edits_at_the_same_time_both_land(root: Path, path: str, place: str) -> None:
    editor = MemoryEditor()
    numbers = "".join(f"{number}\n" for number in range(1, 101))
    first, second = (create_edit_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor)) for _ in range(2))
    for spelling in (path, "f.txt", f"{root}/./f.txt", f"{root}/sub/../f.txt") * 3:
        (root / "sub").mkdir(exist_ok=True)
        (root / "f.txt").write_text(numbers)
        if place == "document":
            editor.open(path)
        results: list[InvocationResult] = []

        async def run(tool: FunctionTool, name: str, old: str, results: list[InvocationResult] = results) -> None:
            arguments = {"filePath": name, "oldString": f"\n{old}\n", "newString": f"\nedited {old}\n"}
            results.append(await invoke(tool, arguments))

        async with anyio.create_task_group() as group:
            group.start_soon(run, first, path, "50")
            group.start_soon(run, second, spelling, "75")
        assert [result.error for result in results] == [None, None]
        wanted = numbers.replace("\n50\n", "\nedited 50\n").replace("\n75\n", "\nedited 75\n")
        if place == "document":
            assert editor.buffer(path).text == wanted
            assert (root / "f.txt").read_text() == wanted
            editor.close(path)
        else:
            assert (root / "f.txt").read_text() == wanted
