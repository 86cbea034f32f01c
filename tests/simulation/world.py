"""One run: files, users with editors, agents with tools, commands; everything in one thread and in virtual time."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from openbuffer.tools import ToolContext, ToolExecutionError
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.support.disk_text import RootedDiskText

from .desk import Desk
from .marks import LINES, agent_mark, base_text, command_mark, user_mark
from .oracle import Call, Oracle
from .seams import no_threads_and_no_clock
from .virtual_loop import NothingCanHappenError, VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openbuffer.editor_access.port import EditorFileAccess
    from openbuffer.tools.executor import SandboxedToolExecutor

    from .setting import Setting

WAITS: Final = (0, 1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36, 50, -5, -30, -120, -260, -3100)
"""Turns of the loop before an action; negative: hundredths of a second."""

NAMES: Final = ("a.txt", "b.txt")
_LONG_S: Final = 1000.0


class Processes:
    """The tools of two processes, which live longer than a run because assembling them takes longer than one."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.world: World | None = None
        self.disk_text = RootedDiskText(root)
        self.executors = [self._executor(number) for number in range(2)]

    async def append(self, event: Any) -> None:
        """Implements ``EventLog``."""
        assert self.world is not None
        self.world.on_event(event)

    def _executor(self, number: int) -> SandboxedToolExecutor:
        def editor() -> EditorFileAccess | None:
            assert self.world is not None
            return self.world.editor_of_process(number)

        return create_tool_executor(ToolConfig(roots=(self.root,), editor=editor), log=self)


class World:
    """Plays a schedule: actions, each with the number of turns or the time before it."""

    def __init__(self, processes: Processes, setting: Setting, schedule: Sequence[tuple[int, int, int, int]]) -> None:
        self.oracle = Oracle(
            misplaces=not setting.applies_exactly,
            is_trusted=setting.rich.apply_edit and not setting.applies_exactly,
            saves_anything=not setting.handles_files_exactly,
        )
        self.setting = setting
        self.paths = [os.path.join(processes.root, name) for name in NAMES]
        self.disk_text = processes.disk_text
        self._processes = processes
        self._schedule = list(schedule)
        self._next = 0
        self._turns_left: int | None = 0
        self._is_in_action = False
        self._latencies = self._wire = self._telling = self._users_marks = self._commands_marks = 0
        self.desks: list[Desk] = []
        self._seen: dict[str, tuple[int, ...] | None] = {}
        self._tasks: list[tuple[Call, asyncio.Task[None]]] = []
        processes.world = self

    def play(self) -> Oracle:
        """Run to the end; the oracle has what was wrong."""
        loop = VirtualLoop(between=self._between, idle=self._idle)
        try:
            with no_threads_and_no_clock(self):
                loop.run_until_complete(self._main())
        except NothingCanHappenError:
            waiting = [str(call) for call, task in self._tasks if not task.done()]
            self.oracle.fault(f"nobody can go on: {waiting}")
        finally:
            loop.close()
        return self.oracle

    async def _main(self) -> None:
        self._start()
        self._played = asyncio.get_running_loop().create_future()
        self._await_next()
        await self._played
        for yes in (False, True):
            for desk in self.desks:
                desk.settle(yes=yes)
            await asyncio.sleep(_LONG_S)
            late = [call for call, task in self._tasks if not task.done()]
            if late:
                self.oracle.fault(f"still waiting after {_LONG_S} s: {late}")
            self.look_at_disk()
        for desk in self.desks:
            desk.settle(yes=False)
        await asyncio.sleep(_LONG_S)
        for desk in self.desks:
            desk.judge()
        for _, task in self._tasks:
            if task.done() and not task.cancelled():
                task.result()
        self.oracle.judge()
        for desk in self.desks:
            desk.hang_up()
        await asyncio.sleep(1)

    def _start(self) -> None:
        setting = self.setting
        for name in os.listdir(self._processes.root):
            os.unlink(os.path.join(self._processes.root, name))
        text = base_text(setting.line_end, ends_with_newline=setting.ends_with_newline)
        _write(self.paths[0], text)
        _write(self.paths[1], text)
        self.look_at_disk(cause="the beginning")
        self.desks.append(Desk(self, 0, setting))
        if setting.company in {"a process with an editor", "another editor"}:
            self.desks.append(Desk(self, 1, setting))
        if setting.is_open:
            for desk in self.desks:
                with desk.acting():
                    desk.editor.open(self.paths[0])

    # --- surroundings of threads -------------------------------------------------------------------------------

    def latency(self) -> int:
        self._latencies += 1
        return self.setting.latencies[self._latencies % len(self.setting.latencies)]

    def wire_latency(self) -> int:
        """How long the next message takes."""
        self._wire += 1
        return self.setting.wire[self._wire % len(self.setting.wire)]

    def in_thread(self) -> None:
        self._between()

    def thread_worked(self) -> None:
        self.look_at_disk()

    def telling_delay(self) -> float:
        """The next delay of an editor that tells late, in seconds."""
        self._telling += 1
        return self.setting.telling[self._telling % len(self.setting.telling)] / 100

    # --- processes ---------------------------------------------------------------------------------------------

    def editor_of_process(self, number: int) -> EditorFileAccess | None:
        desk = self._desk_of_process(number)
        return None if desk is None else self.desks[desk].access

    def _desk_of_process(self, number: int) -> int | None:
        if number == 0:
            return 0
        return 1 if self.setting.company == "a process with an editor" else None

    def on_event(self, event: Any) -> None:
        change = getattr(event, "change", None)
        if change is not None:
            call = self.oracle.calls[int(event.call_id)]
            call.shown += "".join(hunk.before for hunk in change.hunks)

    # --- the disk ----------------------------------------------------------------------------------------------

    def disk(self, path: str) -> str | None:
        """What is on disk now; what it was before is known to nobody else."""
        self._seen[path] = _identity(path)
        return _read(path)

    def look_at_disk(self, *, cause: str = "") -> None:
        """Take note of what is new on disk; without a ``cause`` a tool has done it."""
        for path in self.paths:
            if not cause and self._seen.get(path) == _identity(path):
                continue
            text = self.disk(path)
            if text == self.oracle.text(("disk", 0, path)):
                continue
            if cause:
                self.oracle.record(("disk", 0, path), text, cause)
            else:
                self.oracle.changed_by_tool(("disk", 0, path), text, exactly=True)

    # --- the schedule ------------------------------------------------------------------------------------------

    def _await_next(self) -> None:
        if self._next == len(self._schedule):
            self._turns_left = None
            if not self._played.done():
                self._played.set_result(None)
            return
        wait = WAITS[self._schedule[self._next][0]]
        if wait >= 0:
            self._turns_left = wait
        else:
            self._turns_left = None
            asyncio.get_running_loop().call_later(-wait / 100, self._take_next)

    def _between(self) -> None:
        while self._turns_left is not None and not self._is_in_action:
            if self._turns_left:
                self._turns_left -= 1
                return
            self._take_next()

    def _idle(self) -> bool:
        if self._turns_left is None:
            return False
        self._take_next()
        return True

    def _take_next(self) -> None:
        _, what, who, where = self._schedule[self._next]
        self._next += 1
        self._is_in_action = True
        try:
            act = ACTIONS[what % len(ACTIONS)]
            act(self, who, where)
        finally:
            self._is_in_action = False
        self._await_next()

    # --- agents ------------------------------------------------------------------------------------------------

    def agent_edits(self, who: int, where: int) -> None:
        number = len(self.oracle.calls)
        mark = agent_mark(number, is_long=where % 3 != 0)
        anchor = f"k{where % LINES}"
        old, new = (
            (anchor, anchor + mark),
            (f"{anchor} 😋 é", f"{anchor} 😋 {mark}é"),
            (anchor, f"{anchor}{mark}\nx"),
        )[(where // LINES) % 3]
        call = Call(number, "Edit", self._path(who), None, self.oracle.now, mark=mark, old=old, new=new)
        self._call(call, who, oldString=old, newString=new)

    def agent_writes(self, who: int, where: int) -> None:
        number = len(self.oracle.calls)
        mark = agent_mark(number, is_long=where % 3 != 0)
        lines = base_text("\n", ends_with_newline=where % 2 == 0)
        content = lines.replace(f"k{where % LINES}", f"k{where % LINES}{mark}")
        call = Call(number, "Write", self._path(who), None, self.oracle.now, mark=mark, new=content)
        self._call(call, who, content=content)

    def agent_reads(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        self._call(Call(len(self.oracle.calls), "Read", self._path(who), None, self.oracle.now), who)

    def agent_is_cancelled(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        running = [(call, task) for call, task in self._tasks if not task.done()]
        if running:
            call, task = running[where % len(running)]
            call.was_cancelled = True
            self.oracle.tell(f"cancels call {call.number}")
            task.cancel()

    def _call(self, call: Call, who: int, **arguments: Any) -> None:
        process = 0 if self.setting.company in {"alone", "another editor"} else (who // 4) % 2
        call.desk = self._desk_of_process(process)
        self.oracle.begin(call)
        work = self._run(call, self._processes.executors[process], {"filePath": call.path, **arguments})
        self._tasks.append((call, asyncio.get_running_loop().create_task(work)))

    async def _run(self, call: Call, executor: SandboxedToolExecutor, arguments: dict[str, Any]) -> None:
        try:
            result = await executor.call(call.tool, arguments, ToolContext(call_id=str(call.number)))
            assert result.invocation is not None
            call.success = result.invocation.success
            call.output, call.error = result.invocation.output, result.invocation.error or ""
        except ToolExecutionError as error:
            call.error = f"{error.code}: {error}"
        except asyncio.CancelledError:
            call.ended_cancelled = True
            if not call.was_cancelled:
                self.oracle.fault(f"{call}: nobody had cancelled it")
        finally:
            self.look_at_disk()
            self.oracle.finish(call)

    # --- users -------------------------------------------------------------------------------------------------

    def user_types(self, who: int, where: int) -> None:
        desk, path = self._desk(who), self._opened(who)
        if path is None:
            return
        self._users_marks += 1
        with desk.acting():
            text = desk.editor.buffer(path).text
            line = max(text.find(f"k{where % LINES}"), 0)
            places = (line, min(line + 2, len(text)), _line_end(text, line), 0, len(text))
            desk.editor.type(path, places[(where // LINES) % len(places)], user_mark(self._users_marks))

    def user_undoes(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        self._do(who, "undo")

    def user_saves(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        self._do(who, "save")

    def user_reverts(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        self._do(who, "revert")

    def user_reloads(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        self._do(who, "reload")

    def user_closes(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        self._do(who, "close")

    def user_opens(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        self._opened(who)

    def user_answers(self, who: int, where: int) -> None:
        self._desk(who).answer(yes=where % 4 != 0)
        if self._desk(who).is_running:
            self._desk(who).answer_editor(where)

    def user_redoes(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        self._do(who, "redo")

    def user_renames(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        other = self.paths[self._path(who) == self.paths[0]]
        self._do(who, "rename", other)

    def editor_saves_by_itself(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        if self._desk(who).is_running:
            with self._desk(who).acting():
                self._desk(who).editor.autosave()

    def editor_looks_at_disk(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        if self._desk(who).is_running:
            with self._desk(who).acting():
                self._desk(who).editor.check_disk()

    def editor_tells(self, who: int, where: int) -> None:
        client = self._desk(who).client
        if client is not None and self._desk(who).is_running:
            if where % 2:
                client.release()
            client.flush()

    def editor_dies_or_comes_back(self, who: int, where: int) -> None:
        desk = self._desk(who)
        if desk.is_running:
            desk.die(is_noticed=where % 2 == 0)
        else:
            desk.attach()

    def message_is_garbled(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        self._desk(who).garble(self._path(who))

    def _do(self, who: int, what: str, *arguments: str) -> None:
        desk, path = self._desk(who), self._path(who)
        if desk.is_running and any(buffer.path == path for buffer in desk.editor.buffers()):
            self.oracle.tell(f"the user of editor {desk.number} wants to {what}")
            with desk.acting():
                getattr(desk.editor, what)(path, *arguments)

    def _opened(self, who: int) -> str | None:
        """The path, once it is open in the editor; None where there is no editor."""
        desk, path = self._desk(who), self._path(who)
        if not desk.is_running:
            return None
        if not any(buffer.path == path for buffer in desk.editor.buffers()):
            with desk.acting():
                desk.editor.open(path, None if os.path.exists(path) else "")
        return path

    # --- commands ----------------------------------------------------------------------------------------------

    def command_overwrites(self, who: int, where: int) -> None:
        self._command(lambda path: _write(path, self._commands_text(where)), who)

    def command_replaces(self, who: int, where: int) -> None:
        def replace(path: str) -> None:
            _write(path + ".new", self._commands_text(where))
            os.replace(path + ".new", path)

        self._command(replace, who)

    def command_adds(self, who: int, where: int) -> None:
        def add(path: str) -> None:
            text = _read(path) or ""
            at = _line_end(text, max(text.find(f"k{where % LINES}"), 0))
            self._commands_marks += 1
            _write(path, text[:at] + command_mark(self._commands_marks) + text[at:])

        self._command(add, who)

    def command_deletes(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        self._command(os.unlink, who)

    def command_renames(self, who: int, where: int) -> None:  # noqa: ARG002  # as every action
        other = self.paths[self._path(who) == self.paths[0]]
        self._command(lambda path: os.rename(path, other), who)

    def command_touches(self, who: int, where: int) -> None:
        self._command(lambda path: os.utime(path, (where, where)), who)

    def _command(self, act: Callable[[str], None], who: int) -> None:
        self.look_at_disk()
        with suppress(FileNotFoundError):
            act(self._path(who))
        self.look_at_disk(cause="a command")

    def _commands_text(self, where: int) -> str:
        self._commands_marks += 1
        text = base_text(self.setting.line_end, ends_with_newline=where % 2 == 0)
        return text.replace("t", f"t{command_mark(self._commands_marks)}", 1)

    # --- who and where -----------------------------------------------------------------------------------------

    def _path(self, who: int) -> str:
        return self.paths[who == 3]

    def _desk(self, who: int) -> Desk:
        return self.desks[(who // 4) % len(self.desks)]


ACTIONS: Final[tuple[Callable[[World, int, int], None], ...]] = (
    *[World.agent_edits] * 6,
    *[World.user_types] * 6,
    *[World.agent_reads] * 3,
    *[World.agent_writes] * 2,
    *[World.user_saves] * 2,
    *[World.command_adds] * 2,
    *[World.user_opens] * 2,
    *[World.agent_is_cancelled] * 2,
    *[World.user_answers] * 2,
    World.user_undoes,
    World.user_redoes,
    World.user_renames,
    World.editor_saves_by_itself,
    World.editor_looks_at_disk,
    World.user_reverts,
    World.user_reloads,
    World.user_closes,
    *[World.editor_tells] * 2,
    World.command_overwrites,
    World.command_replaces,
    World.command_deletes,
    World.command_renames,
    World.command_touches,
    World.editor_dies_or_comes_back,
    World.message_is_garbled,
)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    if end < 0:
        return len(text)
    return end - 1 if text[end - 1 : end] == "\r" else end


def _read(path: str) -> str | None:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read().decode()
    except FileNotFoundError:
        return None


def _write(path: str, text: str) -> None:
    with open(path, "wb") as file:
        file.write(text.encode())


def _identity(path: str) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
