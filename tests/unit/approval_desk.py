"""What tests of approvals share: a pipeline over a workspace and an editor, and a person who answers."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.tools import PermissionDeniedError, ToolContext, ToolResult
from openbuffer.tools.adapters.approvals import PendingApprovals
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.events import ApprovalAnswered, ApprovalAsked, Event, ToolFinished, ToolRejected
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.permissions import Decision, PermissionPolicy, PermissionRequest
from openbuffer.tools.ports import ApprovalAnswer, ApprovalOutcome, ApprovalRequest

EDIT = {"filePath": "a.txt", "oldString": "two", "newString": "TWO"}

Answer = Callable[[ApprovalRequest], Awaitable[ApprovalAnswer] | ApprovalAnswer]


class AskAbout:
    """Asks about every plan of some tools, denies what it is told to, and learns rules."""

    def __init__(self, *tools: str, offers: tuple[str, ...] = ()) -> None:
        self.tools = tools
        self.offers = offers
        self.learnt: list[tuple[tuple[str, ...], bool]] = []
        self.denies = ""
        self.looks = 0

    def decide(self, request: PermissionRequest) -> Decision:
        if request.tool == self.denies:
            return Decision("deny", "by a rule that came meanwhile")
        return Decision("ask", "by the ask rule") if request.tool in self.tools else Decision("allow")

    async def look(self) -> None:
        self.looks += 1

    def offered(self, _request: PermissionRequest, /) -> tuple[str, ...]:
        return self.offers

    async def allow(self, rules: tuple[str, ...], *, always: bool) -> None:
        self.learnt.append((rules, always))


class Person:
    """Answers each request in turn; fulfils ``ApprovalPort``."""

    def __init__(self, *answers: ApprovalOutcome | Answer) -> None:
        self.answers = list(answers)
        self.asked: list[ApprovalRequest] = []

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        await anyio.lowlevel.checkpoint()
        answer = self.answers.pop(0)
        if not callable(answer):
            return ApprovalAnswer(outcome=answer)
        answered = answer(request)
        return answered if isinstance(answered, ApprovalAnswer) else await answered


class Desk:
    """A workspace with one file of three lines, a pipeline, and its log."""

    def __init__(self, root: Path, policy: PermissionPolicy, port: Any) -> None:
        self.root = Path(os.path.realpath(root))
        self.file = self.root / "a.txt"
        self.file.write_text("one\ntwo\nthree\n")
        self.editor = MemoryEditor()
        self.log = InMemoryEventLog()
        self.told: list[str] = []
        access = MemoryEditorAccess(self.editor)
        config = ToolConfig(roots=(str(self.root),), editor=lambda: access)
        self.executor = create_tool_executor(config, policy=policy, log=self.log, approvals=port, tell=self.told.append)

    @property
    def text(self) -> str:
        """What the editor shows."""
        return self.editor.buffer(str(self.file)).text

    def open(self) -> None:
        """Have the file open in the editor."""
        self.editor.open(str(self.file))

    def type(self, before: str, typed: str) -> None:
        """The user types ahead of some text."""
        self.editor.type(str(self.file), self.text.index(before), typed)

    async def call(self, name: str, arguments: dict[str, Any], context: ToolContext | None = None) -> ToolResult:
        return await self.executor.call(name, arguments, context)

    async def refused(self, name: str, arguments: dict[str, Any]) -> PermissionDeniedError:
        """The refusal of a call that has to be refused."""
        try:
            result = await self.call(name, arguments)
        except PermissionDeniedError as error:
            return error
        raise AssertionError(result)

    def events(self) -> list[str]:
        """The log in words."""
        return [_words(event) for event in self.log]


def _words(event: Event) -> str:
    match event:
        case ApprovalAsked():
            return "asked"
        case ApprovalAnswered() | ToolFinished():
            return event.outcome
        case ToolRejected():
            return f"rejected {event.error_type}"
        case _:
            return "intended"


def pending() -> PendingApprovals:
    """A port that waits until the test answers."""
    return PendingApprovals()
