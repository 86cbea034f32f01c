"""``openbuffer demo``: a person watches the tools work on an unsaved buffer.

A real server process, a real editor over real LSP, a sample workspace in a temporary directory. Every claim that
is printed was checked against the editor and the disk just before; the first one that does not hold ends the demo
with exit code 1. Nothing is left behind: no process, no file.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..client import BridgeError
from ..life.interrupt import run_until_stopped
from .demo_stage import ClaimError, DemoEditor, DemoError, Stage
from .terminal import terminal_for

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from typing import Any

    from ..client import ToolAnswer

EXIT_UNTRUE: Final = 1
EXIT_CANNOT: Final = 2

SAMPLE: Final = "apples\npears\ncherries\n"
TYPED: Final = "cherries, the dark ones"
RETYPED: Final = "pears, the ripe ones"
RECIPE: Final = "Plum cake\n1. Halve the plums.\n2. Bake.\n"


def demo(editor: str) -> int:
    """Run the demo in ``"headless"`` or ``"nvim"``; returns the exit code."""
    stage = Stage(terminal_for(sys.stdout))
    started: list[int] = []
    try:
        workspace = tempfile.TemporaryDirectory(prefix="openbuffer-demo-")
    except OSError as error:
        _complain(f"a sample workspace cannot be made: {error}; set TMPDIR to a directory that can be written")
        return EXIT_CANNOT
    try:
        with workspace as directory:
            # The name is the real path: editors resolve links, and so do the tools.
            notes = Path(os.path.realpath(directory), "notes.txt")
            notes.write_text(SAMPLE, encoding="utf-8")
            code = run_until_stopped(lambda: _play(editor, notes, stage, started))
        if code == 0:
            _leave(stage, started, notes.parent)
    except ClaimError as error:
        return _untrue(error)
    return code


async def _play(editor_name: str, notes: Path, stage: Stage, started: list[int]) -> int:
    try:
        async with _open_editor(editor_name, notes) as editor:
            started.extend(editor.process_ids)
            stage.title(f"openbuffer demo: {editor.name}, the server it started, an agent's tools")
            story = _Story(stage, editor, notes)
            await story.unsaved_line_is_read()
            await story.edit_keeps_the_users_line()
            await story.stale_edit_is_not_reported_as_done()
            await story.fresh_edit_lands_and_is_saved()
            await story.write_lands_on_disk()
    except ClaimError as error:
        return _untrue(error)
    except (DemoError, BridgeError) as error:
        _complain(str(error))
        return EXIT_CANNOT
    return 0


def _leave(stage: Stage, started: list[int], workspace: Path) -> None:
    stage.step("Nothing is left behind", "The editor has closed.")
    stage.space()
    stage.claim("every process that was started has ended", started != [] and not any(map(_runs, started)))
    stage.claim("the sample workspace is gone", not workspace.exists())
    stage.space()
    stage.title(f"Done: {stage.claims} claims, each checked against the editor and the disk.")


def _runs(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


@asynccontextmanager
async def _open_editor(name: str, file: Path) -> AsyncGenerator[DemoEditor, None]:
    if name == "nvim":
        from .demo_nvim import open_nvim as open_editor  # noqa: PLC0415  only the editor that was asked for
    else:
        from .demo_headless import open_demo_editor as open_editor  # noqa: PLC0415  only the editor that was asked for
    async with open_editor(file) as editor:
        yield editor


class _Story:
    """The steps, in order; each leaves the workspace as the next one expects it."""

    def __init__(self, stage: Stage, editor: DemoEditor, notes: Path) -> None:
        self._stage = stage
        self._editor = editor
        self._notes = notes

    async def unsaved_line_is_read(self) -> None:
        self._stage.step(
            "An unsaved line is read",
            "The user opened notes.txt, typed over its third line and has not saved. The agent reads the file.",
        )
        await self._editor.type_over(self._notes, 3, TYPED)
        answer = await self._call("Read", {"filePath": str(self._notes)})
        await self._show(self._notes)
        self._stage.claim("Read gave the line that the user typed", not answer.is_error and TYPED in answer.output)
        self._stage.claim("the disk does not have it", self._disk() == SAMPLE)

    async def edit_keeps_the_users_line(self) -> None:
        self._stage.step(
            "An edit lands in the editor, beside the user's unsaved line",
            "The agent changes the first line. The change goes into the open buffer, as if it had been typed.",
        )
        answer = await self._edit("apples", "apricots")
        await self._show(self._notes)
        await self._claim_buffer("the editor shows the agent's line and the user's", f"apricots\npears\n{TYPED}\n")
        self._stage.claim("Edit says that it is done", not answer.is_error)
        self._stage.claim("nothing was saved behind the user's back", self._disk() == SAMPLE)

    async def stale_edit_is_not_reported_as_done(self) -> None:
        self._stage.step(
            "A stale edit is refused, whatever the editor says",
            "The agent wants plums for pears above the cherries. While the edit is on its way, the user types over the "
            "pears. The editor skips the edit, because it was made for an older text, and still answers "
            "`applied: true`. With a fresh look, what the agent asked to replace is not there any more.",
        )
        await self._editor.type_when_edited(self._notes, 2, RETYPED)
        answer = await self._edit(f"pears\n{TYPED}", f"plums\n{TYPED}")
        await self._show(self._notes)
        applied = await self._editor.last_apply_answer()
        self._stage.claim("the editor answered `applied: true`", applied.get("applied") is True)
        not_done = answer.is_error and "nothing was changed" in answer.output
        self._stage.claim("Edit says that nothing was changed", not_done)
        await self._claim_buffer("the editor has the user's lines and no plums", f"apricots\n{RETYPED}\n{TYPED}\n")

    async def fresh_edit_lands_and_is_saved(self) -> None:
        self._stage.step(
            "Asked for what is there, the edit lands, and the user saves",
            "The agent works from the text as it is now. Then the user saves, and the disk has what both did.",
        )
        answer = await self._edit("pears", "plums")
        await self._editor.save(self._notes)
        await self._show(self._notes)
        self._stage.claim("Edit says that it is done", not answer.is_error)
        everything = f"apricots\n{RETYPED.replace('pears', 'plums')}\n{TYPED}\n"
        await self._claim_buffer("the editor shows both changes", everything)
        self._stage.claim("and the disk has the same", self._disk() == everything)

    async def write_lands_on_disk(self) -> None:
        recipe = self._notes.with_name("recipe.txt")
        self._stage.step(
            "A file that is not open goes to the disk",
            "The agent writes a new file. No editor shows it, so it appears on the disk, whole or not at all.",
        )
        answer = await self._call("Write", {"filePath": str(recipe), "content": RECIPE})
        self._stage.side_by_side(recipe, None)
        self._stage.claim("Write says that it is done", not answer.is_error)
        self._stage.claim("the disk has the file, byte for byte", recipe.read_bytes() == RECIPE.encode())
        names = sorted(path.name for path in self._notes.parent.iterdir())
        self._stage.claim("and no other file appeared", names == ["notes.txt", "recipe.txt"])

    async def _edit(self, old: str, new: str) -> ToolAnswer:
        return await self._call("Edit", {"filePath": str(self._notes), "oldString": old, "newString": new})

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        answer = await self._editor.call_tool(name, arguments)
        self._stage.call(name, arguments, answer, self._notes.parent)
        return answer

    async def _show(self, path: Path) -> None:
        self._stage.side_by_side(path, await self._editor.buffer(path))

    async def _claim_buffer(self, text: str, expected: str) -> None:
        self._stage.claim(text, (await self._editor.buffer(self._notes)).text == expected)

    def _disk(self) -> str:
        return self._notes.read_bytes().decode()


def _untrue(error: ClaimError) -> int:
    _complain(f"{error}. This is a bug of openbuffer or of the editor; `openbuffer doctor` may tell which.")
    return EXIT_UNTRUE


def _complain(message: str) -> None:
    print(f"openbuffer demo: {message}", file=sys.stderr)  # noqa: T201  a command line prints
