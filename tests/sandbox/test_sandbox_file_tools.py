"""The file tools do the same in a sandbox with files of its own as on disk: one suite over both (S4)."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from file_tool_desk import SPOTS, Spot, missing, spot, untouchable_editor
from openbuffer.tools import FileTarget, Hunk, PlanOutdatedError, ReadByteLimitError, ToolContext

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

LEGACY = "déjà vu à côté, naïve façade\n".encode("latin-1")


# A call of the engine's double is a process of Python's, and there are several per operation.
@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.slow] if name.startswith("container") else []) for name in SPOTS]
)
async def at(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Spot]:
    if problem := missing(request.param):
        pytest.skip(problem)
    async with spot(request.param, tmp_path) as made:
        yield made


# --- Read ----------------------------------------------------------------------------------------------------------


@pytest.mark.contract("S4", "F1", "F6")
@pytest.mark.parametrize(
    ("raw", "more", "shown"),
    [
        pytest.param(b"a\nb\n", {}, "lines 1-2 of 2, {at}\n     1\ta\n     2\tb", id="whole"),
        pytest.param(b"a\nb\nc\n", {"offset": 2, "limit": 1}, "lines 2-2 of 3, {at}\n     2\tb", id="slice"),
        pytest.param(b"a\n", {"offset": 9}, "offset 9 is past the end, the text has 1 line, {at}", id="past"),
        pytest.param(b"", {}, "empty, 0 lines, {at}", id="empty"),
        pytest.param(b"a\r\n", {}, "lines 1-1 of 1, {at}; CRLF line ends\n     1\ta", id="crlf"),
        pytest.param(
            codecs.BOM_UTF8 + "é".encode(),
            {},
            "lines 1-1 of 1, {at}; byte-order mark; no line end after the last line\n     1\té",
            id="mark",
        ),
    ],
)
async def test_lines_are_shown_and_the_header_says_where_they_are(
    at: Spot, raw: bytes, more: dict[str, Any], shown: str
) -> None:
    at.put("d/f.txt", raw)
    result = await at.call("Read", {"filePath": at.path("d/f.txt"), **more})
    where = "in the sandbox" if at.in_sandbox else "on disk"
    assert result.to_json() == {"success": True, "output": f"{at.path('d/f.txt')}: {shown.format(at=where)}"}


@pytest.mark.contract("S4", "F1", "P2")
@pytest.mark.parametrize("spelling", ["d/f.txt", "./d//f.txt", "{root}/d/./f.txt"])
async def test_a_relative_path_starts_at_the_root(at: Spot, spelling: str) -> None:
    at.put("d/f.txt", b"x\n")
    result = await at.call("Read", {"filePath": spelling.format(root=at.root)})
    assert result.output.startswith(f"{at.path('d/f.txt')}: lines 1-1 of 1")


@pytest.mark.contract("S4", "F2", "T5")
async def test_a_file_over_the_budget_is_an_error_whatever_slice_is_asked_for(at: Spot) -> None:
    at.put("f.txt", b"0123456789\n")
    with pytest.raises(ReadByteLimitError, match=r"f\.txt: .*over the budget of 10 bytes"):
        await at.call("Read", {"filePath": "f.txt", "limit": 1}, max_bytes=10)
    with pytest.raises(ReadByteLimitError, match=r"f\.txt"):
        await at.call("Read", {"filePath": "f.txt"}, max_output_bytes=10)
    assert (await at.call("Read", {"filePath": "f.txt"}, max_bytes=11)).success


@pytest.mark.contract("S4", "F1", "F6", "T4")
@pytest.mark.parametrize("tool", ["Read", "Write", "Edit"])
async def test_a_binary_file_is_a_failure_and_stays(at: Spot, tool: str) -> None:
    at.put("f", b"\x89PNG\0\1")
    result = await at.call(tool, arguments_of(tool, "f"))
    assert not result.success
    assert "f: is binary (NUL byte at offset 4)" in str(result.error) or not at.carries_bytes
    assert str(result.error).startswith(at.path("f"))
    assert at.get("f") == b"\x89PNG\0\1"


@pytest.mark.contract("S4", "F1", "F5", "F11", "T4")
@pytest.mark.parametrize("tool", ["Read", "Edit", "Delete"])
async def test_a_missing_file_is_a_failure_that_names_it(at: Spot, tool: str) -> None:
    result = await at.call(tool, arguments_of(tool, "no.txt"))
    assert not result.success
    assert f"no such file: {at.path('no.txt')} (" in str(result.error)
    assert "a relative path starts at" in str(result.error)


@pytest.mark.contract("S4", "F1", "F3", "F5", "T4")
@pytest.mark.parametrize("tool", ["Read", "Write", "Edit"])
async def test_a_directory_is_a_failure_that_says_what_to_do(at: Spot, tool: str) -> None:
    at.make_directory("d")
    result = await at.call(tool, arguments_of(tool, "d"))
    assert str(result.error).startswith(f"{at.path('d')}: is a directory, not a file; list it ")
    assert ("ListDir" in str(result.error)) is not at.in_sandbox
    assert not result.success


@pytest.mark.contract("S4", "P6")
@pytest.mark.parametrize("tool", ["Read", "Write", "Edit", "Delete"])
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "is empty"),
        ("a\0b", "contains a NUL character"),
        ("x" * 5_000, "is too long (5000 bytes, at most 4095)"),
        ("file:///f", "is a URI"),
    ],
)
async def test_what_can_be_no_path_is_refused(at: Spot, tool: str, path: str, why: str) -> None:
    result = await at.call(tool, arguments_of(tool, path))
    assert why in str(result.error)


@pytest.mark.contract("S4", "P4")
async def test_a_link_is_read_and_written_through_and_deleted_itself(at: Spot) -> None:
    at.put("real.txt", b"old\n")
    at.link("link", "real.txt")
    assert "     1\told" in (await at.call("Read", {"filePath": "link"})).output
    result = await at.call("Edit", {"filePath": "link", "oldString": "old", "newString": "new"})
    assert (result.success, at.get("real.txt")) == (True, b"new\n")
    if at.in_sandbox:
        assert "Note: the path is a link in the sandbox, and what it leads to was written." in result.output
    result = await at.call("Delete", {"path": "link"})
    assert result.output.startswith(f"Deleted the link {at.path('link')}")
    assert (at.is_there("link"), at.get("real.txt")) == (False, b"new\n")


# --- Write ---------------------------------------------------------------------------------------------------------


@pytest.mark.contract("S4", "F3")
@pytest.mark.parametrize(("content", "size"), [("", 0), ("é漢😋\r\n", 11)])
async def test_a_new_file_is_utf8_with_its_parents_and_its_real_size(at: Spot, content: str, size: int) -> None:
    result = await at.call("Write", {"filePath": "new/deep/f.txt", "content": content})
    assert result.output.startswith(f"Created {at.path('new/deep/f.txt')}: {size} bytes. Written ")
    assert at.get("new/deep/f.txt") == content.encode()


@pytest.mark.contract("S4", "F4")
async def test_the_result_tells_what_a_sandbox_does_not_assure(at: Spot) -> None:
    result = await at.call("Write", {"filePath": "f", "content": "x"})
    assert ("not in one step; what becomes of permissions and attributes" in result.output) is at.in_sandbox


@pytest.mark.contract("S4", "F3", "F6")
@pytest.mark.parametrize(
    ("raw", "content", "after", "kept"),
    [
        (b"x\r\ny\r\n", "a\nb", b"a\r\nb", "CRLF line ends"),
        (codecs.BOM_UTF8 + b"x\n", "é\n", codecs.BOM_UTF8 + "é\n".encode(), "byte-order mark"),
    ],
)
async def test_a_replaced_file_keeps_mark_and_line_ends(
    at: Spot, raw: bytes, content: str, after: bytes, kept: str
) -> None:
    at.put("f.txt", raw)
    result = await at.call("Write", {"filePath": "f.txt", "content": content})
    assert at.get("f.txt") == after
    assert result.output.startswith(f"Replaced the content of {at.path('f.txt')}: {len(after)} bytes.")
    assert f"Kept from the file: {kept}." in result.output


@pytest.mark.contract("S4", "F3")
async def test_writing_what_is_there_already_says_so(at: Spot) -> None:
    at.put("f.txt", b"a\n")
    result = await at.call("Write", {"filePath": "f.txt", "content": "a\n"})
    assert result.output == (
        f"{at.path('f.txt')}: the file already holds exactly this content (2 bytes); nothing was written."
    )


@pytest.mark.contract("S4", "F3", "F5")
async def test_the_size_ceiling_holds_before_and_after_a_change(at: Spot) -> None:
    at.put("f.txt", b"0123456789")
    for name, arguments in [
        ("Write", {"filePath": "f.txt", "content": "x"}),
        ("Edit", {"filePath": "f.txt", "oldString": "0", "newString": ""}),
    ]:
        result = await at.call(name, arguments, max_bytes=9)
        assert "has 10 bytes, over the budget of 9 bytes for one change" in str(result.error), name
    result = await at.call("Edit", {"filePath": "f.txt", "oldString": "0", "newString": "00"}, max_bytes=10)
    assert "would have 11 bytes after the change, over the budget of 10 bytes" in str(result.error)
    result = await at.call("Write", {"filePath": "f.txt", "content": "x" * 11}, max_bytes=10)
    assert "the content has 11 bytes, over the budget of 10 bytes" in str(result.error)
    assert at.get("f.txt") == b"0123456789"


@pytest.mark.contract("S4", "F4")
@pytest.mark.parametrize("tool", ["Write", "Edit", "Delete"])
async def test_a_read_only_file_is_refused(at: Spot, tool: str) -> None:
    if not at.in_sandbox:
        pytest.skip("on disk it depends on who runs this, and has tests of its own")
    at.put("f.txt", b"old\n")
    at.make_read_only("f.txt")
    result = await at.call(tool, arguments_of(tool, "f.txt"))
    assert "is read-only in the sandbox; the file is unchanged" in str(result.error)
    assert at.get("f.txt") == b"old\n"


# --- Edit ----------------------------------------------------------------------------------------------------------


@pytest.mark.contract("S4", "F5", "F6")
@pytest.mark.parametrize(
    ("raw", "old", "new", "after"),
    [
        pytest.param(b"a\nb\nc\n", "b", "B\nB", b"a\nB\nB\nc\n", id="plain"),
        pytest.param(b"a\r\nb\r\nc", "b\nc", "x\ny", b"a\r\nx\r\ny", id="crlf and no last line end"),
        pytest.param(codecs.BOM_UTF8 + b"a\nb\n", "b", "\u00e9", codecs.BOM_UTF8 + "a\né\n".encode(), id="mark"),
    ],
)
async def test_an_edit_changes_what_it_names_and_nothing_else(
    at: Spot, raw: bytes, old: str, new: str, after: bytes
) -> None:
    at.put("f.txt", raw)
    result = await at.call("Edit", {"filePath": "f.txt", "oldString": old, "newString": new})
    assert result.output.startswith(f"Edited {at.path('f.txt')}: replaced 1 place, in line 2. Written ")
    assert (result.success, result.start_line, at.get("f.txt")) == (True, 2, after)


@pytest.mark.contract("S4", "F5")
@pytest.mark.parametrize(
    ("old", "says"),
    [("x", "oldString was found 2 times, in lines 1 and 3"), ("no", "oldString was not found; nothing was changed.")],
)
async def test_an_edit_that_is_not_unique_or_not_found_says_what_is_there(at: Spot, old: str, says: str) -> None:
    at.put("f.txt", b"x\ny\nx\n")
    result = await at.call("Edit", {"filePath": "f.txt", "oldString": old, "newString": "z"})
    assert str(result.error).startswith(f"{at.path('f.txt')}: {says}")
    assert at.get("f.txt") == b"x\ny\nx\n"
    every = await at.call("Edit", {"filePath": "f.txt", "oldString": "x", "newString": "z", "replaceAll": True})
    assert (every.success, at.get("f.txt")) == (True, b"z\ny\nz\n")


@pytest.mark.contract("S4", "F6")
async def test_a_legacy_encoding_is_kept_where_bytes_are_carried_and_else_the_missing_operation_is_named(
    at: Spot,
) -> None:
    at.put("f.txt", LEGACY)
    read = await at.call("Read", {"filePath": "f.txt"})
    edit = await at.call("Edit", {"filePath": "f.txt", "oldString": "côté", "newString": "thé"})
    if at.carries_bytes:
        assert "windows-1252" in read.output
        assert (edit.success, at.get("f.txt")) == (True, LEGACY.replace("côté".encode("latin-1"), b"th\xe9"))
    else:
        for result in (read, edit):
            assert "carries text only, it has no operation read_bytes" in str(result.error)
            assert "iconv" in str(result.error)
        assert at.get("f.txt") == LEGACY


# --- Delete --------------------------------------------------------------------------------------------------------


@pytest.mark.contract("S4", "F11")
async def test_one_file_or_one_empty_directory_is_deleted_and_nothing_recursively(at: Spot) -> None:
    at.put("d/f.txt", b"abc")
    result = await at.call("Delete", {"path": at.path("d")})
    assert str(result.error).startswith(f"{at.path('d')}: is a directory with 1 entry, and only an empty one is")
    result = await at.call("Delete", {"path": "d/f.txt/"})
    assert not result.success
    assert at.get("d/f.txt") == b"abc"
    result = await at.call("Delete", {"path": "d/f.txt"})
    assert (result.success, at.is_there("d/f.txt")) == (True, False)
    assert result.output.startswith(f"Deleted {at.path('d/f.txt')}")
    assert "a file of 3 bytes." in result.output
    result = await at.call("Delete", {"path": "d/"})
    assert result.output.startswith(f"Deleted {at.path('d')}")
    assert not at.is_there("d")


@pytest.mark.contract("S4", "F11")
async def test_the_root_is_not_deleted_and_what_is_no_text_is(at: Spot) -> None:
    result = await at.call("Delete", {"path": at.root})
    assert "is a root of the workspace, and roots are not deleted" in str(result.error)
    for raw in (b"\x89PNG\0", LEGACY, b"x" * 20):
        at.put("f", raw)
        assert (await at.call("Delete", {"path": "f"}, max_bytes=10 if raw[:1] == b"x" else 1_000)).success
        assert not at.is_there("f")


# --- two steps -----------------------------------------------------------------------------------------------------


@pytest.mark.contract("S4", "T12")
@pytest.mark.parametrize("tool", ["Write", "Edit", "Delete"])
async def test_a_plan_has_no_effect_shows_the_change_and_is_outdated_by_another_change(at: Spot, tool: str) -> None:
    at.put("f.txt", b"old\n")
    made = at.tool(tool)
    plan = await made.prepare(made.validate(arguments_of(tool, "f.txt")), ToolContext())
    assert at.get("f.txt") == b"old\n"
    assert plan.change is not None
    assert plan.change.hunks == (Hunk(1, "old\n", "" if tool == "Delete" else "new\n"),)
    assert (plan.change.path, plan.change.before_bytes, plan.change.in_sandbox) == (at.path("f.txt"), 4, at.in_sandbox)
    assert plan.change.before is not None
    assert plan.change.before.content == b"old\n"
    for target in plan.targets:
        assert isinstance(target, FileTarget)
        assert (target.path, target.place) == (at.path("f.txt"), "sandbox" if at.in_sandbox else "disk")
    at.put("f.txt", b"OLD\n")
    with pytest.raises(PlanOutdatedError, match=r"f\.txt: "):
        await made.commit(plan, ToolContext())
    plan.close()
    assert at.get("f.txt") == b"OLD\n"


@pytest.mark.contract("S4", "T12")
async def test_a_file_that_comes_up_after_the_plan_of_a_new_one_is_not_overwritten(at: Spot) -> None:
    write = at.tool("Write")
    plan = await write.prepare(write.validate({"filePath": "f.txt", "content": "mine"}), ToolContext())
    at.put("f.txt", b"theirs")
    with pytest.raises(PlanOutdatedError):
        await write.commit(plan, ToolContext())
    plan.close()
    assert at.get("f.txt") == b"theirs"


@pytest.mark.contract("S4", "E12")
async def test_calls_that_change_one_file_at_the_same_time_lose_nothing_by_whatever_spelling(at: Spot) -> None:
    at.put("f.txt", b"".join(b"line %d\n" % number for number in range(4)))
    at.link("other", "f.txt")

    async def edit(number: int) -> None:
        arguments = {"filePath": "other" if number % 2 else "f.txt", "oldString": f"line {number}\n"}
        result = await at.call("Edit", {**arguments, "newString": f"done {number}\n"})
        assert result.success, result.error

    async with anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(edit, number)
    assert at.get("f.txt") == b"".join(b"done %d\n" % number for number in range(4))


@pytest.mark.contract("S4", "E4")
async def test_no_editor_is_asked_where_the_files_are_the_sandboxes(at: Spot) -> None:
    if not at.in_sandbox:
        pytest.skip("on disk the editor is asked, and that has tests of its own")
    for tool in ("Write", "Read", "Edit", "Delete"):
        result = await at.call(tool, arguments_of(tool, "f.txt", content="old\n"), editor=untouchable_editor)
        assert result.success, (tool, result.error)
        assert "document" not in at.tool(tool, editor=untouchable_editor).description
    assert not at.is_there("f.txt")


def arguments_of(tool: str, path: str, *, content: str = "new\n") -> dict[str, Any]:
    return {
        "Read": {"filePath": path},
        "Write": {"filePath": path, "content": content},
        "Edit": {"filePath": path, "oldString": "old", "newString": "new"},
        "Delete": {"path": path},
    }[tool]
