"""Real VS Code, its own agent, offline: a scripted model calls our tools on unsaved text, the user decides.

What an extension gets by ``vscode.lm`` is the same registration, and is tried beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from .window import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .client_server import ClientServer
    from .client_window import ClientWindow

pytestmark = [pytest.mark.vscode, pytest.mark.contract("B4", "E1")]

CONFIRMATION = ".chat-confirmation-widget-buttons:visible"

_ENABLE = """
await vscode.commands.executeCommand('workbench.extensions.action.enableAll');
for (let tries = 0; tries < 300; tries += 1) {
  const models = await vscode.lm.selectChatModels({vendor: 'openbuffer-probe'});
  if (models.length && vscode.extensions.getExtension('GitHub.copilot-chat')?.isActive !== false) return true;
  await new Promise((resolve) => setTimeout(resolve, 100));
}
return false;
"""

_ASK = """
await vscode.commands.executeCommand('workbench.action.chat.cancel');
await vscode.commands.executeCommand('workbench.action.chat.resetTrustedTools');
probe.script = args[0];
probe.heard = [];
await vscode.commands.executeCommand('workbench.action.chat.newChat');
await vscode.commands.executeCommand('workbench.action.chat.open', {query: args[1], mode: 'agent'});
"""

_INVOKE = """
const options = {input: args[1], toolInvocationToken: undefined};
const result = await vscode.lm.invokeTool(args[0], options);
return result.content.map((part) => part.value).join('');
"""


@pytest.fixture(scope="module", autouse=True)
def agent(window: ClientWindow) -> Iterator[None]:
    """The editor's agent, with the scripted model alone. It would save all documents before it is asked anything."""
    window.configure("chat.saveBeforeSend", value=False)
    assert window.js(_ENABLE, timeout_s=60)
    yield
    window.configure("chat.saveBeforeSend", None)


@pytest.fixture
def file(window: ClientWindow, folder: Path) -> Path:
    file = folder / "a.txt"
    file.write_text("one\ntwo\nthree\n")
    window.show(file)
    window.type_at_end("typed_by_hand")
    window.wait_for_text(file, "one\ntwo\nthree\ntyped_by_hand")
    return file


def ask(window: ClientWindow, *script: dict[str, Any]) -> None:
    """Put a question to the agent, whose model says this."""
    window.js(_ASK, list(script), "do it")


def results(window: ClientWindow, count: int) -> list[str]:
    """What the model was told of its calls, once there is so much of it."""

    def told() -> list[str] | None:
        heard = window.js("return probe.heard")
        found = [part["result"] for part in heard[-1]["parts"] if "result" in part] if heard else []
        return found if len(found) >= count else None

    return wait_for(told, f"{count} results in {window.js('return probe.heard')}", 45)


def test_the_agent_is_offered_our_tools(window: ClientWindow, file: Path) -> None:
    del file
    ask(window, {"text": "nothing to do"})
    wait_for(lambda: window.js("return probe.heard.length"), "the model to be asked", 45)
    offered = {name for heard in window.js("return probe.heard") for name in heard["tools"]}
    for name in ("Read", "Write", "Edit", "Grep", "Glob", "Shell"):
        assert f"openbuffer_{name}" in offered, offered


@pytest.mark.contract("E10")
def test_the_agent_reads_what_is_not_saved(window: ClientWindow, file: Path) -> None:
    ask(window, {"tool": "openbuffer_Read", "input": {"filePath": str(file)}}, {"text": "done"})
    (told,) = results(window, 1)
    assert "typed_by_hand" in told
    assert "unsaved" in told
    assert file.read_text() == "one\ntwo\nthree\n"


@pytest.mark.contract("E8", "E9")
def test_an_edit_of_the_agent_waits_for_the_user_and_lands_in_the_document(window: ClientWindow, file: Path) -> None:
    change = {"filePath": str(file), "oldString": "two", "newString": "TWO"}
    ask(window, {"tool": "openbuffer_Edit", "input": change}, {"text": "done"})
    window.see(CONFIRMATION)
    assert window.text(file) == "one\ntwo\nthree\ntyped_by_hand"
    shown = window.see(".chat-confirmation-widget-container:visible")
    assert "a.txt" in shown
    assert "TWO" in shown
    window.command("workbench.action.chat.acceptTool")
    (told,) = results(window, 1)
    assert "Edited" in told
    window.wait_for_text(file, "one\nTWO\nthree\ntyped_by_hand")
    assert file.read_text() == "one\ntwo\nthree\n"
    window.undo(file)
    window.wait_for_text(file, "one\ntwo\nthree\ntyped_by_hand")


@pytest.mark.contract("X4")
def test_an_edit_that_the_user_rejects_is_not_made(window: ClientWindow, file: Path) -> None:
    change = {"filePath": str(file), "oldString": "two", "newString": "TWO"}
    since = len(window.server.requests("openbuffer/callTool"))
    ask(window, {"tool": "openbuffer_Edit", "input": change}, {"text": "done"})
    window.see(CONFIRMATION)
    window.command("workbench.action.chat.skipTool")
    window.gone(CONFIRMATION)
    assert window.text(file) == "one\ntwo\nthree\ntyped_by_hand"
    calls = window.server.requests("openbuffer/callTool")[since:]
    assert [call["name"] for call in calls] == []


@pytest.mark.contract("E5")
def test_grep_tells_the_agent_which_documents_are_unsaved(window: ClientWindow, file: Path) -> None:
    search = {"pattern": "two", "path": str(file.parent), "outputMode": "content"}
    ask(window, {"tool": "openbuffer_Grep", "input": search}, {"text": "done"})
    (told,) = results(window, 1)
    assert "two" in told
    assert f"open here with text that is not on disk: {file}" in told


@pytest.fixture
def rules_alone(window: ClientWindow) -> Iterator[None]:
    """The chat leaves it to the rules whether anybody is asked."""
    window.configure("openbuffer.chat.confirmations", "rules")
    yield
    window.configure("openbuffer.chat.confirmations", None)


@pytest.mark.usefixtures("rules_alone")
def test_several_calls_in_a_row_see_each_others_edits(window: ClientWindow, file: Path) -> None:
    ask(
        window,
        {"tool": "openbuffer_Edit", "input": {"filePath": str(file), "oldString": "two", "newString": "2"}},
        {"tool": "openbuffer_Edit", "input": {"filePath": str(file), "oldString": "2\nthree", "newString": "3"}},
        {"tool": "openbuffer_Read", "input": {"filePath": str(file)}},
        {"text": "done"},
    )
    assert "typed_by_hand" in results(window, 3)[-1]
    assert window.text(file) == "one\n3\ntyped_by_hand"


@pytest.mark.contract("T2")
def test_arguments_that_do_not_fit_are_told_to_the_model_and_nobody_is_asked(window: ClientWindow, file: Path) -> None:
    ask(window, {"tool": "openbuffer_Edit", "input": {"filePath": str(file), "old": "two"}}, {"text": "done"})
    (told,) = results(window, 1)
    assert "oldString" in told
    assert not window.sees(CONFIRMATION)
    assert window.text(file) == "one\ntwo\nthree\ntyped_by_hand"


@pytest.fixture
def asks(server: ClientServer) -> Iterator[None]:
    server.set_config('[permissions]\ndefault = { FILE_WRITE = "ask" }\n')
    yield
    server.set_config("")


@pytest.mark.contract("X4", "B2")
@pytest.mark.usefixtures("asks", "rules_alone")
def test_where_rules_ask_the_diff_editor_does_and_the_chat_does_not_ask_again(window: ClientWindow, file: Path) -> None:
    change = {"filePath": str(file), "oldString": "two", "newString": "TWO"}
    ask(window, {"tool": "openbuffer_Edit", "input": change}, {"text": "done"})
    window.see(".tab:has-text('Edit a.txt (+1')", 45)
    assert not window.sees(CONFIRMATION)
    window.command("openbuffer.approval.allow")
    (told,) = results(window, 1)
    assert "Edited" in told
    assert window.text(file) == "one\nTWO\nthree\ntyped_by_hand"


@pytest.mark.contract("E10")
def test_another_extension_calls_the_tools_by_vscode_lm(window: ClientWindow, file: Path) -> None:
    assert "typed_by_hand" in window.js(_INVOKE, "openbuffer_Read", {"filePath": str(file)})


def test_a_call_of_another_extension_that_changes_is_confirmed_in_a_dialog(window: ClientWindow, file: Path) -> None:
    change = {"filePath": str(file), "oldString": "two", "newString": "TWO"}
    call = window.begin_js(_INVOKE, "openbuffer_Edit", change)
    assert "TWO" in window.see(".monaco-dialog-box")
    assert window.text(file) == "one\ntwo\nthree\ntyped_by_hand"
    window.click(".monaco-dialog-box .monaco-button:has-text('Yes')")
    assert "Edited" in call.result()
    assert window.text(file) == "one\nTWO\nthree\ntyped_by_hand"
