"""Read, Write and Edit as they are assembled and called: one gate, one diff, one record, wherever the text is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.tools import (
    CancellationToken,
    Capability,
    Hunk,
    PermissionDeniedError,
    PlanOutdatedError,
    ReadByteLimitError,
    ToolCancelledError,
    ToolContext,
)
from openbuffer.tools import create_function_tool as strictly_checked
from openbuffer.tools.config import ToolConfig, build_tools
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.events import Event, ToolFinished, ToolIntended
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.host import create_edit_tool, create_write_tool
from openbuffer.tools.permissions import Decision, PermissionRequest

TEXT = b"one\ntwo\nthree\n"


class Gate:
    """Writes down what it is asked, and what is visible in the editor by then."""

    def __init__(self, verdict: Any = "allow") -> None:
        self.verdict = verdict
        self.asked: list[tuple[str, str, str]] = []
        self.requests: list[PermissionRequest] = []

    def decide(self, request: PermissionRequest) -> Decision:
        self.requests.append(request)
        self.asked += [(request.stage, str(target.access), target.path) for target in request.targets]
        return Decision(self.verdict)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    real = Path(os.path.realpath(tmp_path))
    (real / "f.txt").write_bytes(TEXT)
    return real


@pytest.fixture
def path(root: Path) -> str:
    return str(root / "f.txt")


def calls(path: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("Read", {"filePath": path}),
        ("Edit", {"filePath": path, "oldString": "two", "newString": "2"}),
        ("Write", {"filePath": path, "content": "one\n2\nthree!\n"}),
    ]


async def recorded(root: Path, path: str, editor: MemoryEditor) -> tuple[list[Event], Gate]:
    gate, log = Gate(), InMemoryEventLog()
    executor = create_tool_executor(
        ToolConfig(roots=(root,), editor=lambda: MemoryEditorAccess(editor)), policy=gate, log=log
    )
    for name, arguments in calls(path):
        result = await executor.call(name, arguments)
        assert result.success, result.value
    return list(log), gate


@pytest.mark.contract("X1", "E3", "E6")
@pytest.mark.parametrize("state", ["visible", "hidden", "no document"])
async def test_the_same_gate_diff_and_record_wherever_the_text_is(root: Path, path: str, state: str) -> None:
    editor = MemoryEditor()
    if state != "no document":
        editor.open(path)
    if state == "hidden":
        editor.open(str(root / "other.txt"), "shown instead\n")
    log, gate = await recorded(root, path, editor)
    assert gate.asked == [
        *[("targets", "FILE_READ", path), ("plan", "FILE_READ", path)],
        *[(stage, access, path) for stage in ("targets", "plan") for access in ("FILE_READ", "FILE_WRITE")],
        *[("targets", "FILE_WRITE", path), ("plan", "FILE_WRITE", path)],
    ]
    intents = [event for event in log if isinstance(event, ToolIntended)]
    outcomes = [event.outcome for event in log if isinstance(event, ToolFinished)]
    place = "disk" if state == "no document" else "document"
    assert {target.place for intent in intents for target in intent.targets} == {place}
    assert [intent.change and intent.change.hunks for intent in intents] == [
        None,
        (Hunk(2, "two\n", "2\n"),),
        (Hunk(3, "three\n", "three!\n"),),
    ]
    assert [intent.change and (intent.change.before_bytes, intent.change.after_bytes) for intent in intents] == [
        *[None, (14, 12), (12, 13)],
    ]
    assert outcomes == ["succeeded"] * 3
    assert type(log[0]) is ToolIntended
    assert (root / "f.txt").read_bytes() == b"one\n2\nthree!\n"
    assert not [buffer for buffer in editor.buffers() if buffer.is_dirty]


@pytest.mark.contract("X4", "E2")
@pytest.mark.parametrize("opened", [False, True])
async def test_a_denied_call_leaves_disk_and_document_alone_and_tells_nothing_of_them(
    root: Path, path: str, opened: bool
) -> None:
    editor = MemoryEditor()
    if opened:
        editor.open(path)
    executor = create_tool_executor(
        ToolConfig(roots=(root,), editor=lambda: MemoryEditorAccess(editor)), policy=Gate("deny")
    )
    for name, arguments in calls(path):
        with pytest.raises(PermissionDeniedError) as refused:
            await executor.call(name, arguments)
        assert "three" not in str(refused.value)
    assert (root / "f.txt").read_bytes() == TEXT
    assert not opened or not editor.buffer(path).undo_steps


@pytest.mark.contract("X1", "T12")
async def test_what_the_gate_saw_is_what_is_done_or_it_is_judged_again(root: Path, path: str) -> None:
    editor = MemoryEditor()
    editor.open(path)

    class TypesWhileItIsAsked(Gate):
        def decide(self, request: PermissionRequest) -> Decision:
            if request.stage == "plan" and len(self.requests) == 1:
                editor.type(path, 0, "zero\n")
            return super().decide(request)

    gate = TypesWhileItIsAsked()
    executor = create_tool_executor(ToolConfig(roots=(root,), editor=lambda: MemoryEditorAccess(editor)), policy=gate)
    assert (await executor.call(*calls(path)[1])).success
    assert editor.buffer(path).text == "zero\none\n2\nthree\n"
    shown = [request.change.hunks for request in gate.requests if request.change]
    assert shown == [(Hunk(2, "two\n", "2\n"),), (Hunk(3, "two\n", "2\n"),)]


@pytest.mark.contract("E1", "P2")
async def test_a_link_that_leads_elsewhere_by_now_is_not_edited_in_the_document_it_led_to(
    root: Path, path: str
) -> None:
    (root / "other.txt").write_bytes(TEXT)
    link = root / "link"
    link.symlink_to("f.txt")
    editor = MemoryEditor()
    editor.open(path)
    for tool, (_, arguments) in (
        (create_edit_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor)), calls(str(link))[1]),
        (create_write_tool(cwd=root, editor=lambda: MemoryEditorAccess(editor)), calls(str(link))[2]),
    ):
        plan = await tool.prepare(tool.validate(arguments), ToolContext())
        link.unlink()
        link.symlink_to("other.txt")
        with pytest.raises(PlanOutdatedError, match="leads to something else"):
            await tool.commit(plan, ToolContext())
        plan.close()
        link.unlink()
        link.symlink_to("f.txt")
    assert not editor.buffer(path).undo_steps
    assert (root / "other.txt").read_bytes() == TEXT


@pytest.mark.contract("T3")
def test_every_schema_passes_strict_clients(root: Path) -> None:
    for tool in build_tools(ToolConfig(roots=(root,))):
        strictly_checked(tool.name, tool.description, tool.input_schema, str)
        properties: dict[str, Any] = tool.input_schema["properties"]
        assert all(isinstance(each["type"], str) and each["description"] for each in properties.values())


@pytest.mark.contract("F4")
async def test_the_result_tells_that_other_names_of_a_file_keep_the_old_content(root: Path) -> None:
    executor = create_tool_executor(ToolConfig(roots=(root,)))
    for name, arguments in calls(str(root / "f.txt"))[1:]:
        (root / "twin").unlink(missing_ok=True)
        os.link(root / "f.txt", root / "twin")
        before = (root / "twin").read_bytes()
        result = await executor.call(name, arguments)
        assert "Note: other names of this file (hard links: 2) keep the old content." in result.value["output"]
        assert (root / "twin").read_bytes() == before != (root / "f.txt").read_bytes()


@pytest.mark.contract("F6")
@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("Le café est à côté, déjà vu.\r\n", "latin-1"),
        ("你好世界。这是一个测试文件、用来检查编码。\n", "gbk"),
        ("日本語のテキストです。表示をテストします。\n", "shift_jis"),
    ],
)
async def test_an_edit_of_a_legacy_file_on_disk_leaves_every_other_byte(root: Path, text: str, codec: str) -> None:
    raw = b"version = 1\r\n" + (text * 20).encode(codec) + b"\tend = 2  "
    (root / "f.txt").write_bytes(raw)
    executor = create_tool_executor(ToolConfig(roots=(root,)))
    arguments = {"filePath": "f.txt", "oldString": "version = 1", "newString": "version = 10"}
    result = await executor.call("Edit", arguments)
    assert result.success, result.value
    assert "a guess" in result.value["output"]
    assert (root / "f.txt").read_bytes() == raw.replace(b"= 1", b"= 10")


@pytest.mark.contract("P1", "F3", "F5")
@pytest.mark.parametrize("name", ["[...slug].txt", "a..b", " leading", "*", "new\nline", "%20#", "e\u0301", "-rf", "~"])
async def test_a_file_of_any_name_is_created_edited_and_read(root: Path, name: str) -> None:
    executor = create_tool_executor(ToolConfig(roots=(root,)))
    path = str(root / name)
    for tool, arguments in (
        ("Write", {"filePath": path, "content": "old\n"}),
        ("Edit", {"filePath": name, "oldString": "old", "newString": "new"}),
    ):
        assert (await executor.call(tool, arguments)).success
    assert (await executor.call("Read", {"filePath": path})).value["output"].endswith("     1\tnew")
    assert sorted(os.listdir(root)) == sorted([name, "f.txt"])


@pytest.mark.contract("F2", "F5")
async def test_the_configured_ceiling_holds_for_every_tool(root: Path) -> None:
    executor = create_tool_executor(ToolConfig(roots=(root,), file_max_bytes=len(TEXT) - 1))
    with pytest.raises(ReadByteLimitError, match="over the budget of 13 bytes"):
        await executor.call(*calls("f.txt")[0])
    for name, arguments in calls("f.txt")[1:]:
        result = await executor.call(name, arguments)
        assert "over the budget of 13 bytes" in result.value["error"]
    assert (root / "f.txt").read_bytes() == TEXT


@pytest.mark.contract("T6")
async def test_finding_out_an_encoding_ends_with_its_call(root: Path) -> None:
    (root / "f.txt").write_bytes("Le café est à côté, déjà vu.\n".encode("latin-1") * 20)
    context = ToolContext(cancellation=CancellationToken())
    context.cancellation.cancel()
    for tool in build_tools(ToolConfig(roots=(root,))):
        if Capability.FILE_WRITE not in tool.capabilities:
            continue
        parsed = tool.validate({**dict(calls("f.txt")), "Delete": {"path": "f.txt"}}[tool.name])
        with pytest.raises(ToolCancelledError, match=r"f\.txt: the call was cancelled; nothing was changed"):
            await tool.prepare(parsed, context)
