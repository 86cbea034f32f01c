"""A file, a user with an editor, an agent's call, and something that happens at one known step of it.

A call is first run without anything happening, which gives its steps in their order. Then it is run anew for each
step, and there the thing happens. What must be true afterwards is the same whatever it was.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import anyio
from openbuffer.editor_access.client_requests import WITHDRAW_DIALOG
from openbuffer.editor_access.errors import EditorAccessError
from openbuffer.editor_access.lsp import EditTimeouts, LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_lsp import PLAIN, RICH, MemoryLanguageClient, RichTemperament
from openbuffer.tools import ToolExecutionError
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.permissions import Decision
from openbuffer.tools.support import atomic, disk_place, document_place, paths, saving, standing, unnamed_file
from openbuffer.tools.support.disk_text import RootedDiskText

from .interrupted_scenarios import AGENT, BASE, COMMAND, DRAFT, OTHER, Ending, Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from pathlib import Path

    from openbuffer.tools.events import Event

    from .interrupted_scenarios import Happening, Scenario

_TIMEOUTS: Final = EditTimeouts(reply_s=5, text_s=0.05, grace_s=0.02, promised_s=0.05, flush_s=2)
_OTHERS_PATIENCE_S: Final = 0.02
_END_S: Final = 20.0

_is_other: Final[ContextVar[bool]] = ContextVar("_is_other", default=False)
"""Whether another agent's call runs."""


class World:
    """One run of one scenario. Everything runs on one event loop, the threads of the tools aside."""

    def __init__(self, base: Path, scenario: Scenario, *, step: str = "", happening: Happening | None = None) -> None:
        self.base = base
        self.root = base / "root"
        self.folder = self.root / "sub"
        self.file = self.folder / "f.txt"
        self.outside = base / "outside"
        self.scenario = scenario
        self.steps: list[str] = []
        self.seen = Seen()
        self.acted_after_agent: bool | None = None
        """Whether the agent's text was there when it happened; None: it has not happened."""
        self.brought: set[str] = set()
        self.wrote_behind = False
        """Whether a tool wrote to disk while a document of the file had something else."""
        self.faults: list[str] = []
        self.log: list[Event] = []
        self.others: list[asyncio.Task[Any]] = []
        self.waiting = 0
        self.scope = anyio.CancelScope()
        self.task: asyncio.Task[Ending] | None = None
        self._count: Counter[str] = Counter()
        self.step_of_act, self._happening = step, happening
        self._runs = self._answers_everything = False
        self._outside_before: Any = None
        self._prepare_files()
        self.editor = MemoryEditor()
        self.client = _Client(self)
        self.lsp = LspEditor(
            self.client,
            encoding="utf-16",
            timeouts=_TIMEOUTS,
            disk=RootedDiskText(self.root),
            rich=PLAIN if scenario.client == "plain" else RICH,
        )
        self.access: LspEditor | None = self.lsp
        self.client.connect(_Sink(self))  # pyright: ignore[reportArgumentType]  a wrapper of the adapter's four methods
        self.editor.listen(_Watcher(self))  # pyright: ignore[reportArgumentType]
        self.executor = self._executor(lambda: self.access)

    @property
    def path(self) -> str:
        """The file's, as the call names it."""
        return str(self.file)

    @property
    def shown(self) -> str | None:
        """What the document shows; None where it is not open."""
        opened = [buffer for buffer in self.editor.buffers() if buffer.path == self.path]
        return opened[0].text if opened else None

    @property
    def disk(self) -> str | None:
        """What the file holds; None where there is none."""
        return self.file.read_text() if self.file.is_file() else None

    def look(self) -> None:
        """Note what document and file hold now."""
        self.seen.shown += [buffer.text for buffer in self.editor.buffers()]
        self.seen.disk.append(self.disk)

    # --- the run -----------------------------------------------------------------------------------------------

    async def run(self) -> Ending:
        """Call the tool, and let it happen."""
        await self.begin()
        before = _held_resources(self.base)
        self._runs = True
        self.task = asyncio.create_task(self._call())
        prompts = asyncio.create_task(self._answer_prompts())
        try:
            async with asyncio.timeout(_END_S):
                ending = await _ended(self.task)
                self._runs = False
                for other in self.others:
                    await asyncio.wait([other])
        finally:
            prompts.cancel()
            await asyncio.wait([prompts])
        self.client.flush()
        self.look()
        await self._judge_resources(before)
        return ending

    async def begin(self) -> None:
        """Have everything as it is when the call comes."""
        start = self.scenario.start
        if start == "no file":
            self.file.unlink()
            self.editor.open(self.path, f"{DRAFT}\n{BASE}")
        elif start != "closed":
            self.editor.open(self.path)
        await self.settle()
        if start == "draft":
            self.editor.type(self.path, 0, f"{DRAFT}\n")
            await self.settle()
        if start == "outdated":
            self.file.write_text(f"{COMMAND}\n{BASE}")
        self.client.flush()
        self.look()

    async def settle(self) -> None:
        """Until the adapter knows what was on disk."""
        document = self.lsp.document(self.path) if self.shown is not None else None
        if document is not None:
            await self.lsp.baseline(document)

    async def _call(self) -> Ending:
        try:
            with self.scope:
                arguments = {"filePath": self.path, **self.scenario.arguments}
                return Ending(result=await self.executor.call(self.scenario.tool, arguments))
            return Ending(cancelled=True)
        except ToolExecutionError as error:
            return Ending(error=error)

    async def _answer_prompts(self) -> None:
        while True:
            prompt = await self.client.next_prompt()
            await self.at("a dialog is open")
            ended = self._happening is not None and self._happening.ends and self.acted_after_agent is not None
            if not ended or self._answers_everything:
                prompt.answer(yes=True)

    async def next_calls(self, *, edits: bool) -> list[str]:
        """What is wrong about the calls that come afterwards."""
        if self.lsp is not self.access or self.lsp._lost:  # pyright: ignore[reportPrivateUsage]  # the next editor has nothing open
            self.access = None
        await self.settle_quietly()
        read = await _quietly(self.executor.call("Read", {"filePath": self.path}))
        faults = [] if read is None or read.success or read.value["error"] else ["the next Read says nothing"]
        if edits:
            shown = self.shown or ""
            old = "written" if "written" in shown else "last"
            arguments = {"filePath": self.path, "oldString": old, "newString": "N"}
            self._answers_everything = True
            prompts = asyncio.create_task(self._answer_prompts())
            edit = await _quietly(self.executor.call("Edit", arguments))
            prompts.cancel()
            if edit is None or not edit.success:
                faults.append(f"the next Edit fails: {edit.value['error'] if edit else 'with a hard error'}")
        return faults

    async def settle_quietly(self) -> None:
        """Until the adapter knows what was on disk, if it can."""
        with suppress(EditorAccessError):
            await self.settle()

    def end(self) -> None:
        """Let go of everything."""
        self.client.disconnect()
        self.lsp.connection_lost()

    # --- steps -------------------------------------------------------------------------------------------------

    async def at(self, name: str) -> None:
        """The call is at this step, and waits."""
        if self._reached(name):
            self._happen()
            if self.others:
                await asyncio.wait(self.others, timeout=_OTHERS_PATIENCE_S)

    def at_once(self, name: str) -> None:
        """The call is at this step, and nothing else can run."""
        if self._reached(name):
            self._happen()

    def in_thread(self, name: str) -> None:
        """The call is at this step, in a thread."""
        of_adapter = threading.current_thread().name.startswith("openbuffer-baseline")
        if not self._runs or (of_adapter and "noted" not in name):
            return
        done: Future[None] = Future()

        def on_the_loop() -> None:
            task = asyncio.ensure_future(self.at(name))
            task.add_done_callback(lambda _: done.set_result(None))

        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(on_the_loop)
            done.result(_END_S)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The one that everything runs on."""
        assert self.task is not None
        return self.task.get_loop()

    def _reached(self, name: str) -> bool:
        if not self._runs or self.acted_after_agent is not None:
            return False
        self.look()
        self._count[name] += 1
        step = f"{name} ({self._count[name]})"
        self.steps.append(step)
        return step == self.step_of_act

    def _happen(self) -> None:
        assert self._happening is not None
        self.acted_after_agent = self.seen.ever(AGENT)
        self._happening.act(self)
        self.look()
        self.brought = {mark for mark in self._happening.brings if is_there(self, mark)}

    # --- what happenings are made of -----------------------------------------------------------------------------

    def detach(self) -> None:
        """The tools see no editor any more, though it runs."""
        self.access = None

    def die(self) -> None:
        """The editor is gone, with all that was unsaved."""
        self.client.disconnect()
        self.lsp.connection_lost()

    def another_call(self, *, with_editor: bool) -> None:
        """Another agent, whose tools know nothing of this one's, edits the last line."""
        executor = self._executor((lambda: self.access) if with_editor else None, watched=False)
        arguments = {"filePath": self.path, "oldString": "last", "newString": OTHER}
        before = _is_other.set(True)
        self.others.append(asyncio.create_task(_quietly(executor.call("Edit", arguments))))
        _is_other.reset(before)

    # --- inside --------------------------------------------------------------------------------------------------

    def _prepare_files(self) -> None:
        self.folder.mkdir(parents=True)
        self.outside.mkdir()
        self.file.write_text(BASE)
        (self.folder / "g.txt").write_text(BASE)
        (self.outside / "f.txt").write_text(f"outside\n{BASE}")
        (self.root / "alias").symlink_to("sub")
        self._outside_before = _tree(self.outside)

    def _executor(self, editor: Any, *, watched: bool = True) -> Any:
        config = ToolConfig(roots=(self.root,), editor=editor)
        if not watched:
            return create_tool_executor(config)
        return create_tool_executor(config, policy=_Gate(self), log=self)

    async def append(self, event: Event) -> None:
        """Implements ``EventLog``."""
        if not self._runs:
            return
        kind = type(event).__name__
        await self.at(f"{kind} is about to be recorded")
        await asyncio.sleep(0)  # as a log that is written to disk waits
        self.log.append(event)
        await self.at(f"{kind} was recorded")
        await asyncio.sleep(0)

    def outside_changed(self) -> bool:
        """Whether anything outside of the root is not as it was."""
        return _tree(self.outside) != self._outside_before

    def writes(self, directory_fd: int, name: str) -> None:
        """A tool is putting a file under this name: never behind an editor that has more than the disk (E2).

        Nobody can close the gap after the last look; what came in it has to be told.
        """
        self.look()
        path = os.path.join(os.readlink(f"/proc/self/fd/{directory_fd}"), name)
        for buffer in self.editor.buffers():
            if buffer.path is not None and os.path.realpath(buffer.path) == path and not self._may_write(buffer):
                self.wrote_behind = True
        if not path.startswith(f"{self.root}/"):
            self.faults.append(f"{path} was written outside of the root")

    def _may_write(self, buffer: Any) -> bool:
        """Only while the document shows nothing but what the disk held before, and the disk has moved on from it."""
        return self.access is None or (buffer.text in self.seen.disk and self.seen.disk[-1] != buffer.text)

    async def _judge_resources(self, before: tuple[list[str], set[Any]]) -> None:
        fault = self.faults.append
        for _ in range(4000):  # the adapter's own reads, which no call waits for, may take a moment
            files, tasks = _held_resources(self.base)
            if len(files) <= len(before[0]):
                break
            await asyncio.sleep(0.005)
        files, tasks = _held_resources(self.base)
        if len(files) > len(before[0]):
            fault(f"file descriptors were left open: {files}, where before there were {before[0]}")
        await asyncio.sleep(0)
        left = [task for task in tasks - before[1] if task is not asyncio.current_task() and not task.done()]
        if left:
            fault(f"tasks were left: {left}")
        if self.waiting or self.client.prompts or self.client.held:
            fault(f"{self.waiting} requests and {len(self.client.prompts)} dialogs were left open")
        slots = self.lsp._documents._slots  # pyright: ignore[reportPrivateUsage]  # nothing may be left inside
        for name, slot in slots.items():
            if slot.users or slot.observer is not None or slot.lock.locked():
                fault(f"{name} is still in use")
        if self.executor._turns._turns:  # as above
            fault("a turn is still held")
        names = [name for _, folders, files in os.walk(self.base) for name in folders + files]
        if temporary := [name for name in names if name.startswith(unnamed_file.TEMPORARY_PREFIX)]:
            fault(f"temporary files were left: {temporary}")


async def _ended(task: asyncio.Task[Ending]) -> Ending:
    await asyncio.wait([task])
    return Ending(cancelled=True) if task.cancelled() else task.result()


async def _quietly(call: Any) -> Any:
    with suppress(ToolExecutionError):
        return await call


def _held_resources(world: Path) -> tuple[list[str], set[Any]]:
    """Open files and directories of this world, and tasks; others may be those of other tests in this process."""
    links = (_link_of(descriptor) for descriptor in os.listdir("/proc/self/fd"))
    return [link for link in links if link.startswith(f"{world}/")], asyncio.all_tasks()


def _link_of(descriptor: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:  # the listing's own
        return ""


def _tree(folder: Path) -> Any:
    return sorted((str(p), p.is_symlink(), p.read_bytes() if p.is_file() else b"") for p in folder.rglob("*"))


# --- where steps come from -------------------------------------------------------------------------------------------


class _Client(MemoryLanguageClient):
    """The client, with a step before and after all that it is asked."""

    def __init__(self, world: World) -> None:
        kind = world.scenario.client
        super().__init__(
            world.editor,
            encoding="utf-16",
            rich=PLAIN if kind == "plain" else RICH,
            rich_temperament=RichTemperament(asks_user=kind == "prompting"),
        )
        self._world = world
        self.on_handled = lambda: world.at_once("the client has acted")

    async def apply_edit(self, params: Any) -> Any:
        return await self._asked("applyEdit", super().apply_edit(params))

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        return await self._asked(method.removeprefix("openbuffer/"), super().ask(method, params))

    async def _asked(self, name: str, answer: Any) -> Any:
        self._world.waiting += 1
        try:
            await self._world.at(f"{name} was sent")
            result = await answer
            await self._world.at(f"{name} is about to be answered")
        finally:
            answer.close()
            self._world.waiting -= 1
        return result

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        super().tell(method, params)
        if method == WITHDRAW_DIALOG:
            self._world.at_once("a dialog was withdrawn")


class _Sink:
    """The adapter's side of the wire, with a step after each message."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, name: str) -> Any:
        take = getattr(self._world.lsp, name)

        def taken(params: Any) -> None:
            take(params)
            self._world.at_once(f"{name} was told")

        return taken


class _Watcher:
    """Sees every text of every document."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self._world.look()


class _Gate:
    """Allows everything, and is a step."""

    def __init__(self, world: World) -> None:
        self._world = world

    def decide(self, request: Any) -> Decision:
        self._world.at_once(f"the gate is asked about the {request.stage}")
        return Decision("allow")


@contextmanager
def watched_tools(current: Callable[[], World | None]) -> Generator[None]:
    """Make steps of what the tools do in threads, for the world that runs now."""
    with ExitStack() as stack:

        def around(owner: Any, name: str, before: str, after: str) -> None:
            real = getattr(owner, name)

            def watched(*args: Any, **named: Any) -> Any:
                world = current()
                if before and world is not None:
                    world.in_thread(before)
                if name in {"replace", "publish"} and world is not None and not _is_other.get():
                    world.writes(args[0]._directory_fd, args[1])  # where it is put
                result = real(*args, **named)
                if after and world is not None:
                    world.in_thread(after)
                return result

            stack.enter_context(mock.patch.object(owner, name, watched))

        around(paths.Roots, "locate", "the path is about to be resolved", "the path was resolved")
        for module in (standing, document_place, disk_place):
            around(module, "compare", "document and disk are about to be compared", "document and disk were compared")
        around(saving, "_look", "the disk is about to be looked at for a save", "the disk was looked at for a save")
        around(atomic, "require_writable", "the directory is locked", "")
        around(atomic, "require_untouched", "the last look at the file is about to be taken", "")
        around(unnamed_file.UnnamedFile, "replace", "", "the file was replaced")
        around(unnamed_file.UnnamedFile, "publish", "", "the file was created")
        around(RootedDiskText, "baseline", "", "what is on disk was noted")
        yield


def is_there(world: World, mark: str) -> bool:
    """Whether a document or a file below the root holds the mark."""
    if any(mark in buffer.text for buffer in world.editor.buffers()):
        return True
    files = [path for path in world.root.rglob("*") if path.is_file() and not path.is_symlink()]
    return any(mark in path.read_text() for path in files)
