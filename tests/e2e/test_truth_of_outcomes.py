"""Whatever an editor does and says, what a tool reports is true, judged by the editor's own history."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from .raw_client import Message, RawClient
from .unreliable_editor import LINES, Habits, UnreliableEditor

SERVER = (sys.executable, "-P", str(Path(__file__).with_name("hasty_server.py")))
AT_ONCE = 12


class Editors(RawClient):
    """A client with many documents, each with its own habits."""

    editors: dict[str, UnreliableEditor]

    def _serve(self, message: Message) -> None:
        assert message["method"] == "workspace/applyEdit"
        (change,) = message["params"]["edit"]["documentChanges"]
        self.editors[change["textDocument"]["uri"]].asked_to_apply(message["id"], message["params"])


class Play:
    """One document from opening to judgement."""

    def __init__(self, client: Editors, directory: Path, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.client = client
        self.editor = UnreliableEditor(
            path=directory / f"{seed}.txt",
            habits=Habits.drawn(self.chance),
            chance=self.chance,
            send=client.notify,
            reply=lambda request_id, body: client.send({"jsonrpc": "2.0", "id": request_id, **body}),
        )
        client.editors[self.editor.uri] = self.editor
        self.calls: list[tuple[str, str, bool, asyncio.Task[Message]]] = []
        self.on_disk: set[str] = set()

    async def run(self) -> None:
        line_end = self.chance.choice(["\n", "\r\n"])
        text = line_end.join(f"k{number} 😋 tok é" for number in range(LINES))
        text += self.chance.choice(["", line_end])
        self.editor.path.write_bytes(text.encode())  # opened different from the disk, every change would be refused
        self.editor.open(text)
        for _ in range(self.chance.randint(2, 9)):
            await self._act()
        await asyncio.gather(*(task for *_, task in self.calls))
        await self.editor.settle()
        await self._judge()
        self.editor.close()

    @property
    def succeeded(self) -> int:
        """How many calls reported that they did what they were asked."""
        answers = (task.result() for *_, task in self.calls)
        return sum(bool(answer.get("result", {}).get("data", {}).get("success")) for answer in answers)

    async def _act(self) -> None:
        roll = self.chance.random()
        if roll < 0.45:
            self._call()
        elif roll < 0.8:
            self.editor.type()
        elif roll < 0.84:
            self.editor.reload()
        elif roll < 0.88:
            await self._save_and_close_for_a_while()
        if self.chance.random() < 0.5:
            await asyncio.sleep(self.chance.random() * 0.03)

    def _call(self) -> None:
        # One short character anywhere says too little about where an edit went that was misplaced.
        is_long = self.editor.habits.misplaces != "no" or self.chance.random() < 0.5
        mark = f"<{len(self.calls):02}>" if is_long else chr(0xAC00 + len(self.calls))
        everywhere = self.chance.random() < 0.25
        # The old text stays in place, so that making the edit twice would be possible, and seen.
        old = "tok" if everywhere else f"k{self.chance.randrange(LINES)}"
        arguments = {"filePath": str(self.editor.path), "oldString": old, "newString": old + mark}
        request_id = self.client.ask(
            "openbuffer/callTool", {"name": "Edit", "arguments": {**arguments, "replaceAll": everywhere}}
        )
        cancelled = self.chance.random() < 0.1
        if cancelled:
            self._cancel_later(request_id)
        self.calls.append((old, mark, cancelled, asyncio.create_task(self._answer(request_id))))

    def _cancel_later(self, request_id: int) -> None:
        wait_s = self.chance.random() * 0.05
        cancel = {"id": request_id}
        asyncio.get_running_loop().call_later(wait_s, self.client.notify, "$/cancelRequest", cancel)

    async def _answer(self, request_id: int) -> Message:
        answer = await self.client.answer(request_id)
        self.on_disk.add(self.editor.path.read_bytes().decode())
        assert self.client.answers(request_id) == [answer]
        return answer

    async def _save_and_close_for_a_while(self) -> None:
        self.editor.save()
        self.editor.close()
        await asyncio.sleep(self.chance.random() * 0.03)
        self.editor.version += 1
        self.editor.open(self.editor.path.read_bytes().decode())

    async def _judge(self) -> None:
        editor, habits = self.editor, self.editor.habits
        about = f"seed {self.seed}, {habits}"
        read = await self.client.call("Read", {"filePath": str(editor.path)})
        shown = [line.partition("\t")[2] for line in read["data"]["output"].splitlines() if "\t" in line]
        # An edit on disk may land between the editor's own reading of the file and its didOpen: then the disk is newer.
        is_older = "the open document still shows older text" in read["data"]["output"].partition("\n")[0]
        truth = editor.path.read_bytes().decode() if is_older else editor.text
        assert shown == truth.splitlines(), about
        lost = [mark for mark in editor.users_marks if mark not in editor.text]
        failed = [
            task.result()
            for *_, task in self.calls
            if not task.result().get("result", {}).get("data", {}).get("success")
        ]
        # An editor that applies by position to newer text may overwrite what was typed; then some call has to say so.
        assert not lost or (not habits.checks_version and failed), f"{about}: {lost} of the user's; {failed}"
        seen = {*editor.history, *editor.overwritten, *self.on_disk}
        for old, mark, cancelled, task in self.calls:
            answer = task.result()
            told = f"{about}: {mark} after {old}: {answer}; now {editor.text!r}"
            if habits.misplaces == "no":  # what is put in a wrong line brings copies of the right one along
                assert old + mark + mark not in editor.text.replace(" ", ""), told
                assert old == "tok" or editor.text.count(mark) <= 1, told
            if "error" in answer:
                assert cancelled, told
                continue
            self._judge_outcome(old, mark, answer["result"]["data"], seen, told)

    def _judge_outcome(self, old: str, mark: str, data: Any, seen: set[str], told: str) -> None:
        if data["success"]:
            others = [other for _, other, *_ in self.calls if other != mark]
            assert any(old + mark in _without(others, text) for text in seen), told
            if old == "tok":
                assert any(text.count(mark) >= text.count("tok") for text in seen), told
            return
        error = data["error"]
        if "is unknown" in error or "Read the file before" in error:
            return
        assert mark not in self.editor.text, told


def _without(marks: list[str], text: str) -> str:
    """The text before other calls put something into the same place."""
    for mark in marks:
        text = text.replace(mark, "")
    return text


async def play(directory: Path, seeds: range) -> None:
    async with Editors.start(SERVER) as client:
        assert isinstance(client, Editors)
        client.editors = {}
        await client.initialize(directory)
        turns = asyncio.Semaphore(AT_ONCE)

        async def take_turn(one: Play) -> None:
            async with turns:
                await one.run()

        plays = [Play(client, directory, seed) for seed in seeds]
        async with asyncio.TaskGroup() as group:
            for one in plays:
                group.create_task(take_turn(one))
        done = [one.succeeded for one in plays]
        assert sum(done) > len(plays), f"too few edits landed to say anything: {done}"
        assert await client.leave() == 0
        assert b"Traceback" not in client.stderr, client.stderr.decode()


@pytest.mark.contract("E2", "E6", "E7", "E8", "E12", "B3")
async def test_no_report_contradicts_what_the_editor_went_through(tmp_path: Path) -> None:
    await play(tmp_path, range(40))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.contract("E2", "E6", "E7", "E8", "E12", "B3")
async def test_no_report_contradicts_thousands_of_histories(tmp_path: Path) -> None:
    for first in range(1000, 5000, 200):
        await play(tmp_path, range(first, first + 200))
