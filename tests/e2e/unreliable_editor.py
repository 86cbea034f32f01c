"""One document in an editor that is slow, stubborn or lying, with a user who types; every choice comes from a seed.

The editor keeps its own history. What a tool reported is judged against that and nothing else.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

LINES = 6
_USERS_FIRST, _USERS_LAST = 0x4E00, 0x9FFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How an editor behaves. ``checks_version``: whether an edit of an older text is left out.

    ``says``: the truth, or the same whatever happened. ``tells``: when its new text goes out, about the answer.
    ``in_pieces``: a change of several hunks is told hunk by hunk. ``misplaces``: edits land in another line, or in
    nothing at all. ``types_behind``: what the user types is told with a delay.
    """

    checks_version: bool = True
    says: Literal["truth", "applied", "refused", "error", "nonsense", "nothing"] = "truth"
    tells: Literal["before", "after", "late"] = "after"
    in_pieces: bool = False
    full_text: bool = False
    misplaces: Literal["no", "another line", "not made"] = "no"
    reindents: bool = False
    undoes: bool = False
    types_behind: bool = False

    @classmethod
    def drawn(cls, chance: random.Random) -> Habits:
        """Some mixture; half of the editors are honest."""
        honest = chance.random() < 0.5
        checks = honest or chance.random() < 0.7
        return cls(
            checks_version=checks,
            says="truth"
            if honest
            else chance.choice(["truth", "applied", "applied", "refused", "error", "nonsense", "nothing"]),
            # A text that comes later than the server waits is believed to be absent, where nobody checks versions or
            # where an edit that was made is denied.
            tells=chance.choice(["before", "after", "late"] if honest else ["before", "after"]),
            in_pieces=chance.random() < 0.3,
            full_text=chance.random() < 0.2,
            misplaces="no" if honest else chance.choice(["no", "no", "no", "another line", "not made"]),
            reindents=chance.random() < 0.1,
            undoes=chance.random() < 0.1,
            types_behind=chance.random() < 0.4 and checks,
        )


@dataclass
class UnreliableEditor:
    """The document. ``send`` takes a notification's method and params, ``reply`` the answer to a request."""

    path: Path
    habits: Habits
    chance: random.Random
    send: Callable[[str, Any], None]
    reply: Callable[[object, dict[str, Any]], None]
    text: str = ""
    version: int = 1
    told: int = 1
    is_open: bool = False
    history: list[str] = field(default_factory=list)
    users_marks: list[str] = field(default_factory=list)
    overwritten: set[str] = field(default_factory=set)
    """What was on disk when it was saved."""
    _untold: list[dict[str, Any]] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def uri(self) -> str:
        return self.path.as_uri()

    # --- the user ----------------------------------------------------------------------------------------------

    def open(self, text: str) -> None:
        self.text, self.is_open = text, True
        self.told = self.version
        self.history.append(text)
        item = {"uri": self.uri, "languageId": "text", "version": self.version, "text": text}
        self.send("textDocument/didOpen", {"textDocument": item})

    def close(self) -> None:
        self._untold.clear()
        self.is_open = False
        self.send("textDocument/didClose", {"textDocument": {"uri": self.uri}})

    def save(self) -> None:
        self.tell()
        self.overwritten.add(self.path.read_bytes().decode())
        self.path.write_bytes(self.text.encode())
        self.send("textDocument/didSave", {"textDocument": {"uri": self.uri}, "text": self.text})

    def reload(self) -> None:
        """Close and open with the same text, as some editors do; versions go on."""
        text = self.text
        self.close()
        self.version += 1
        self.open(text)

    def type(self) -> None:
        """One character that nobody else ever types, in some line or right where an agent edits."""
        if not self.is_open:
            return
        mark = chr(self.chance.randint(_USERS_FIRST, _USERS_LAST))
        if mark in self.users_marks:
            return
        self.users_marks.append(mark)
        line = f"k{self.chance.randrange(LINES)}"
        at = max(self.text.find(line), 0)  # torn by an edit in a wrong place, it is not found
        if self.habits.misplaces == "no" and self.chance.random() < 0.25:
            at += len(line)
        elif self.chance.random() < 0.5:
            at = _line_end(self.text, at)
        self._change([(at, at, mark)])
        if self.habits.types_behind:
            self._later(self.tell)
        else:
            self.tell()

    # --- the editor --------------------------------------------------------------------------------------------

    def asked_to_apply(self, request_id: object, params: dict[str, Any]) -> None:
        (change,) = params["edit"]["documentChanges"]
        is_stale = change["textDocument"]["version"] != self.version
        made = self.is_open and not (is_stale and self.habits.checks_version) and self.habits.misplaces != "not made"
        if made:
            self._make(change["edits"])
        if self.habits.tells == "before":
            self.tell()
        self._answer(request_id, made=made)
        if self.habits.tells == "after":
            self.tell()
        elif self.habits.tells == "late":
            self._later(self.tell)
        if made and self.habits.undoes:
            self._undo()

    def tell(self) -> None:
        """Send what the server does not know yet."""
        changes, self._untold = self._untold, []
        if not changes or not self.is_open:
            return
        if self.habits.full_text:
            self._send_change([{"text": self.text}], self.version)
        elif self.habits.in_pieces:
            for number, change in enumerate(changes, self.version - len(changes) + 1):
                self._send_change([change], number)
        else:
            self._send_change(changes, self.version)

    async def settle(self) -> None:
        """Wait until everything is told."""
        while self._tasks:
            await asyncio.gather(*self._tasks)
        self.tell()

    def _make(self, wire: list[dict[str, Any]]) -> None:
        edits = [
            (_offset(self.text, e["range"]["start"]), _offset(self.text, e["range"]["end"]), e["newText"]) for e in wire
        ]
        if self.habits.misplaces == "another line":
            edits = [(0, 0, new) for _, _, new in edits]
        if self.habits.reindents:
            edits = [(start, end, new + " ") for start, end, new in edits]
        self._change(edits)

    def _undo(self) -> None:
        before = self.history[-2]
        self._untold.append({"text": before})
        self.text = before
        self.version += 1
        self.history.append(before)
        self.tell()

    def _change(self, edits: list[tuple[int, int, str]]) -> None:
        for start, end, new in sorted(edits, reverse=True):
            span = {"start": _position(self.text, start), "end": _position(self.text, end)}
            self._untold.append({"range": span, "text": new})
            self.text = self.text[:start] + new + self.text[end:]
            self.version += 1
        self.history.append(self.text)

    def _send_change(self, changes: list[dict[str, Any]], version: int) -> None:
        params = {"textDocument": {"uri": self.uri, "version": version}, "contentChanges": changes}
        self.send("textDocument/didChange", params)

    def _answer(self, request_id: object, *, made: bool) -> None:
        says = self.habits.says
        if says == "error":
            self.reply(request_id, {"error": {"code": -32603, "message": "applying the edit failed"}})
        elif says == "nonsense":
            self.reply(request_id, {"result": None})
        elif says != "nothing":
            applied = made if says == "truth" else says == "applied"
            self.reply(request_id, {"result": {"applied": applied}})

    def _later(self, act: Callable[[], None]) -> None:
        async def wait() -> None:
            await asyncio.sleep(self.chance.random() * 0.05)
            act()

        task = asyncio.create_task(wait())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    if end < 0:
        return len(text)
    return end - 1 if text[end - 1] == "\r" else end


def _offset(text: str, position: dict[str, int]) -> int:
    """Counted in 16-bit units, line by line; independent of the server's own arithmetic."""
    lines = text.split("\n")
    if position["line"] >= len(lines):
        return len(text)
    start = sum(len(line) + 1 for line in lines[: position["line"]])
    line = lines[position["line"]].removesuffix("\r")
    return start + len(line.encode("utf-16-le")[: 2 * position["character"]].decode("utf-16-le"))


def _position(text: str, offset: int) -> dict[str, int]:
    before = text[:offset]
    line = before.rpartition("\n")[2]
    return {"line": before.count("\n"), "character": len(line.encode("utf-16-le")) // 2}
