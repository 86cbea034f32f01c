"""A client that can do more is asked by the richer requests, and its user answers them; a plain one by messages."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from openbuffer.bridge.headless import HeadlessEditor, open_headless
from openbuffer.editor_access.memory_lsp import PLAIN, RICH

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from openbuffer.bridge.client import ToolAnswer

pytestmark = pytest.mark.contract("B2", "B4")
EDIT = {"filePath": "a.txt", "oldString": "one", "newString": "two"}
MANY = {
    "question": "Which of them?",
    "header": "Colours",
    "options": ["red", {"label": "blue", "description": "like the sky"}],
    "multiSelect": True,
    "freeText": True,
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    config = tmp_path / "config" / "openbuffer" / "openbuffer.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permissions]\ndefault = { FILE_WRITE = "ask" }\n')
    root = tmp_path.resolve() / "ws"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    return root


async def answered(editor: HeadlessEditor, answer: Any, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
    """The answer of a call whose user chooses ``answer``; False: no, None: they are not asked."""
    answers: list[ToolAnswer] = []

    async def call() -> None:
        answers.append(await editor.call_tool(name, arguments))

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        if answer is not None:
            prompt = await editor.client.next_prompt()
            if answer is False:
                prompt.answer(yes=False)
            else:
                prompt.choose(answer)
    return answers[0]


@pytest.mark.contract("X4")
async def test_the_whole_plan_is_put_and_an_answer_for_the_session_lasts(root: Path) -> None:
    async with open_headless(root, rich=RICH) as editor:
        editor.memory.open(str(root / "a.txt"))
        assert not (await answered(editor, "session", "Edit", EDIT)).is_error
        back = {**EDIT, "oldString": "two", "newString": "three"}
        assert not (await answered(editor, None, "Edit", back)).is_error
        assert editor.memory.buffer(str(root / "a.txt")).text == "three\n"
        asked = [params for method, params in editor.client.asked if method == "openbuffer/requestPermission"]
        assert len(asked) == 1
        assert asked[0]["change"]["hunks"] == [{"startLine": 1, "before": "one\n", "after": "two\n"}]
        assert asked[0]["rules"] == [f"Edit({root}/a.txt)"]


@pytest.mark.contract("X4")
@pytest.mark.parametrize("rich", [PLAIN, RICH])
async def test_a_no_of_either_client_changes_nothing(root: Path, rich: Any) -> None:
    async with open_headless(root, rich=rich) as editor:
        answer = await answered(editor, "Deny" if rich is PLAIN else False, "Edit", EDIT)
        assert answer.error is not None
        assert answer.error.get("reason") == "no"
    assert (root / "a.txt").read_text() == "one\n"


@pytest.mark.contract("W3")
async def test_a_question_of_several_choices_and_a_text_is_put_and_answered(root: Path) -> None:
    async with open_headless(root, rich=RICH) as editor:
        answer = await answered(editor, ["blue", "ochre"], "AskUserQuestion", {"questions": [MANY]})
        assert not answer.is_error
        assert json.loads(answer.output.splitlines()[1])["answers"] == ["blue", "ochre"]
        (asked,) = [params for method, params in editor.client.asked if method == "openbuffer/askUser"]
        assert (asked["header"], asked["multiSelect"], asked["freeText"]) == ("Colours", True, True)
        closed = await answered(editor, False, "AskUserQuestion", {"questions": [MANY]})
        assert closed.is_error
        assert '"outcome":"dismissed"' in closed.data["output"].replace(" ", "")
        wrong = await answered(editor, ["blue", "ochre", "umber"], "AskUserQuestion", {"questions": [MANY]})
        assert '"outcome":"refused"' in wrong.data["output"].replace(" ", "")


@pytest.mark.contract("T6", "W3", "X4")
@pytest.mark.parametrize(
    ("name", "arguments"), [("Edit", EDIT), ("AskUserQuestion", {"questions": [MANY]})], ids=["permission", "question"]
)
async def test_a_call_that_is_cancelled_closes_its_dialog_and_later_ones_open(
    root: Path, name: str, arguments: dict[str, Any]
) -> None:
    async with open_headless(root, rich=RICH) as editor:
        async with anyio.create_task_group() as group:
            group.start_soon(editor.call_tool, name, arguments)
            prompt = await editor.client.next_prompt()
            group.cancel_scope.cancel()
        await prompt.wait()
        assert prompt.reply == "withdrawn"
        assert editor.client.prompts == ()
        assert not (await answered(editor, "once", "Edit", EDIT)).is_error
    assert (root / "a.txt").read_text() == "two\n"


async def test_a_plain_dialog_is_closed_too_and_the_next_one_opens(root: Path) -> None:
    async with open_headless(root, rich=PLAIN) as editor:
        async with anyio.create_task_group() as group:
            group.start_soon(editor.call_tool, "Edit", EDIT)
            prompt = await editor.client.next_prompt()
            group.cancel_scope.cancel()
        with anyio.fail_after(20):
            assert await prompt.wait() == "withdrawn"
        assert editor.client.prompts == ()
        assert not (await answered(editor, "Allow once", "Edit", EDIT)).is_error


async def test_several_dialogs_of_the_richer_kind_are_open_at_once(root: Path) -> None:
    async with open_headless(root, rich=RICH) as editor, anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(editor.call_tool, "AskUserQuestion", {"questions": [MANY]})
        prompts = [await editor.client.next_prompt() for _ in range(3)]
        assert len(editor.client.prompts) == 3
        assert len({prompt.request["dialogId"] for prompt in prompts}) == 3  # type: ignore[index]  its params
        for prompt in reversed(prompts):
            prompt.answer(yes=False)


async def test_a_call_that_lasts_makes_a_progress_of_its_own(root: Path) -> None:
    told: list[Any] = []
    came = anyio.Event()
    os.mkfifo(root / "hold")

    async def sees(message: str) -> None:
        nonlocal came
        with anyio.fail_after(20):
            while not any(value.get("message") == message for _, value in told):
                came = anyio.Event()
                await came.wait()

    async with open_headless(root, rich=RICH) as editor:

        def on_notification(method: str, params: Any) -> None:
            if method == "$/progress":
                told.append((params["token"], params["value"]))
                came.set()

        editor.bridge._on_notification = on_notification
        async with anyio.create_task_group() as group:
            line = "echo at work; read x <hold; echo done; read x <hold"
            group.start_soon(editor.call_tool, "Shell", {"command": line})
            await sees("at work")
            await anyio.Path(root / "hold").write_text("go on\n")
            await sees("at work \u2502 done")
            await anyio.Path(root / "hold").write_text("end\n")
    values = [value for _, value in told]
    assert len({token for token, _ in told}) == 1
    assert (values[0]["kind"], values[0]["title"], values[0]["cancellable"]) == ("begin", "Shell", True)
    assert {value["kind"] for value in values[1:-1]} == {"report"}
    assert values[-1] == {"kind": "end"}
