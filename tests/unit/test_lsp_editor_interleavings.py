"""A user types, undoes and reloads while tools edit, in any order: no outcome says what is not so."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openbuffer.editor_access import Document, DocumentMovedError, EditOutcome, TextEdit
from openbuffer.editor_access.lsp import EditTimeouts, LspEditor
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_lsp import MemoryLanguageClient, Temperament

if TYPE_CHECKING:
    from pathlib import Path

    from openbuffer.editor_access.text import PositionEncoding

LINES = 12
BASE = "".join(f"line {number} 😋 é\u2028x\r\n" for number in range(LINES))


def _tells_in_time(temperament: Temperament) -> bool:
    """A client that makes an edit, denies it and keeps its text to itself for longer than the grace is believed."""
    denies = temperament.applies and temperament.answer in {"false", "error"}
    return not (denies and temperament.tells_edit == "when_flushed")


TEMPERAMENTS = st.builds(
    Temperament,
    stale=st.sampled_from(["refused", "skipped"]),
    applies=st.sampled_from([True, True, True, False]),
    answer=st.sampled_from(["truth", "truth", "true", "false", "error", "never"]),
    tells_typing=st.sampled_from(["at_once", "when_flushed"]),
    tells_edit=st.sampled_from(["before_reply", "after_reply", "when_flushed"]),
    sync=st.sampled_from(["incremental", "full"]),
    line_ends=st.sampled_from(["as_sent", "of_document"]),
).filter(_tells_in_time)
ACTIONS = st.one_of(
    st.tuples(st.just("type"), st.integers(0, LINES - 1)),
    st.tuples(st.just("edit"), st.integers(0, LINES - 1)),
    st.tuples(st.just("flush"), st.just(0)),
    st.tuples(st.just("pause"), st.integers(1, 8)),
    st.tuples(st.just("close and open"), st.just(0)),
)


@dataclass
class Run:
    """One run; the agent's marks are <n>, the user's [n], each used once and never deleted by anybody."""

    path: str
    temperament: Temperament
    encoding: PositionEncoding
    user_marks: list[str] = field(default_factory=list)
    edits: list[tuple[str, Document, asyncio.Task[EditOutcome]]] = field(default_factory=list)

    async def play(self, actions: list[tuple[str, int]]) -> None:
        self.editor = MemoryEditor()
        self.editor.open(self.path, BASE, version=1)
        self.client = MemoryLanguageClient(self.editor, encoding=self.encoding, temperament=self.temperament)
        timeouts = EditTimeouts(reply_s=0.01, text_s=0.01, grace_s=0.005, promised_s=0.005)
        self.access = LspEditor(self.client, encoding=self.encoding, timeouts=timeouts)
        self.client.connect(self.access)
        for action, number in actions:
            await self.act(action, number)
        await asyncio.gather(*(task for _, _, task in self.edits), return_exceptions=True)
        await asyncio.sleep(0)
        self.client.flush()
        self.check()

    async def act(self, action: str, number: int) -> None:
        if action == "type":
            self.user_marks.append(f"[{len(self.user_marks)}]")
            self.editor.type(
                self.path, self._end_of_line(self.editor.buffer(self.path).text, number), self.user_marks[-1]
            )
        elif action == "edit":
            document = self.access.document(self.path)
            assert document is not None
            mark = f"<{len(self.edits)}>"
            # In the middle of the line, where the user never types.
            at = document.text.rindex("😋", 0, self._end_of_line(document.text, number)) + 1
            work = self.access.apply(document, [TextEdit(at, at, mark)], label="edit")
            self.edits.append((mark, document, asyncio.create_task(work)))
        elif action == "flush":
            self.client.flush()
        elif action == "close and open":
            # Versions go on: where they start over, an edit of the old text can fit the new one's version by chance,
            # and no client could tell.
            shown = self.editor.buffer(self.path)
            self.editor.close(self.path)
            self.editor.open(self.path, shown.text, version=shown.version + 1)
        else:
            for _ in range(number):
                await asyncio.sleep(0)

    def check(self) -> None:
        shown = self.editor.buffer(self.path).text
        known = self.access.document(self.path)
        assert known is not None
        assert known.text == shown
        assert all(shown.count(mark) == 1 for mark in self.user_marks)
        for mark, document, task in self.edits:
            error = task.exception()
            if error is not None:
                assert isinstance(error, DocumentMovedError)
                assert mark not in shown
                continue
            outcome = task.result()
            assert shown.count(mark) <= 1
            if outcome.kind == "done":
                assert mark in shown
                assert outcome.document is not None
                assert mark in outcome.document.text
            elif outcome.kind == "not_done":
                assert mark not in shown, (outcome.reason, document.text)

    @staticmethod
    def _end_of_line(text: str, number: int) -> int:
        at = -1
        for _ in range(number + 1):
            at = text.index("\r\n", at + 1)
        return at


@pytest.mark.contract("E6", "E7", "E8", "E12")
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    temperament=TEMPERAMENTS,
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-32"]),
    actions=st.lists(ACTIONS, max_size=16),
)
def test_outcomes_are_true_and_no_character_of_the_users_is_lost(
    temperament: Temperament, encoding: PositionEncoding, actions: list[tuple[str, int]], tmp_path: Path
) -> None:
    path = os.path.realpath(tmp_path / "a.txt")
    asyncio.run(Run(path, temperament, encoding).play(actions))


@pytest.mark.slow
@pytest.mark.contract("E6", "E7", "E8", "E12")
@settings(max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    temperament=TEMPERAMENTS,
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-32"]),
    actions=st.lists(ACTIONS, max_size=40),
)
@pytest.mark.timeout(600)
def test_outcomes_are_true_over_long_interleavings(
    temperament: Temperament, encoding: PositionEncoding, actions: list[tuple[str, int]], tmp_path: Path
) -> None:
    path = os.path.realpath(tmp_path / "a.txt")
    asyncio.run(Run(path, temperament, encoding).play(actions))
