"""Real VS Code with the extension: what is seen of it besides its dialogs, and its commands, used by mouse and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .window import wait_for

if TYPE_CHECKING:
    from pathlib import Path

    from .client_server import ClientServer
    from .client_window import ClientWindow

pytestmark = [pytest.mark.vscode, pytest.mark.contract("B4")]

STATUS = ".statusbar-item[id='openbuffer.openbuffer.openbuffer.status']"
ROW = ".pane-body .monaco-list-row:has-text('{}')"
PICK = ".quick-input-widget .monaco-list-row:has-text('{}')"

SHOWN_TEXTS = """
const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
const uris = [tab?.input?.original, tab?.input?.modified, tab?.input?.uri].filter(Boolean);
const texts = [];
for (const uri of uris) texts.push((await vscode.workspace.openTextDocument(uri)).getText());
return texts;
"""


def shown(window: ClientWindow) -> list[str]:
    """The texts of the active tab: both sides of a diff, or the one of a page."""
    return window.js(SHOWN_TEXTS)


@pytest.fixture
def file(window: ClientWindow, folder: Path) -> Path:
    file = folder / "a.txt"
    file.write_text("one\ntwo\nthree\n")
    window.show(file)
    return file


def test_the_status_bar_counts_documents_with_unsaved_text(window: ClientWindow, file: Path) -> None:
    wait_for(lambda: window.see(STATUS).strip() == "openbuffer", "no count")
    window.type_at_end("typed")
    wait_for(lambda: window.see(STATUS).split() == ["openbuffer", "1"], "the count")
    window.save(file)
    wait_for(lambda: window.see(STATUS).strip() == "openbuffer", "no count again")


def test_the_status_bar_opens_a_menu(window: ClientWindow, file: Path) -> None:
    del file
    window.click(STATUS)
    window.see(PICK.format("Restart Server"))
    assert "from the setting" in window.see(PICK.format("Restart Server"))
    window.press("Escape")


def test_what_waits_is_in_the_status_bar_and_on_top_of_the_calls(
    server: ClientServer, window: ClientWindow, file: Path
) -> None:
    server.set_config('[permissions]\nask = ["Edit"]\n')
    window.command("openbuffer.calls.focus")
    call = window.begin("Edit", filePath=str(file), oldString="two", newString="2")
    wait_for(lambda: "Edit a.txt" in window.see(STATUS), "what waits")
    window.see(ROW.format("waits for you"))
    window.command("openbuffer.approval.deny")
    assert not call.answer().success
    wait_for(lambda: "Edit" not in window.see(STATUS), "nothing that waits")
    server.set_config("")


def test_a_call_of_the_tree_opens_its_change_and_its_details(window: ClientWindow, file: Path) -> None:
    assert window.edit(file, "two", "2").success
    window.command("openbuffer.calls.focus")
    window.see(ROW.format("This window"))
    # Of those that run or were rejected, something else stands behind the name.
    edit = ".pane-body .monaco-list-row:has(:text-matches('^a.txt · \\\\d'))"
    window.click(edit)
    wait_for(lambda: shown(window) == ["one\ntwo\nthree\n", "one\n2\nthree\n"], "both sides of the change")
    window.do(lambda page: page.hover(edit))
    window.click(f"{edit} .action-label[aria-label='Show Details']")
    wait_for(lambda: "+2" in "".join(shown(window)), "the details")
    (page,) = shown(window)
    assert "Edit, succeeded" in page
    assert '"oldString": "two"' in page


def test_a_tool_is_called_by_hand_with_what_the_editor_suggests(window: ClientWindow, file: Path) -> None:
    window.type_at_end("typed_here")
    window.wait_for_text(file, "one\ntwo\nthree\ntyped_here")
    running = window.begin_js("return await vscode.commands.executeCommand('openbuffer.callTool')")
    window.click(PICK.format("Shows lines of a text file"))
    window.see(PICK.format("Call Read"))
    assert "a.txt" in window.see(PICK.format("filePath"))
    window.click(PICK.format("Call Read"))
    outcome = running.result(60)
    assert outcome["isError"] is False
    wait_for(lambda: "typed_here" in "".join(shown(window)), "the answer")


def test_arguments_that_do_not_fit_are_not_sent(window: ClientWindow, file: Path) -> None:
    del file
    running = window.begin_js("return await vscode.commands.executeCommand('openbuffer.callTool', 'Grep')")
    window.see(".quick-input-widget input")
    window.press("Escape")
    window.click(PICK.format("Call Grep"))
    assert "pattern" in window.see(PICK.format("Call Grep"))
    window.press("Escape")
    assert running.result(60) is None


def test_the_doctor_and_the_settings_are_pages(window: ClientWindow, file: Path) -> None:
    del file
    window.command("openbuffer.showConfiguration")
    wait_for(lambda: "sandbox.enabled = false" in "".join(shown(window)), "the settings")
    window.command("openbuffer.showLog")
    wait_for(lambda: "Edit" in "".join(shown(window)), "the log")
    window.begin_js("await vscode.commands.executeCommand('openbuffer.doctor')")
    labels = "return vscode.window.tabGroups.all.flatMap((group) => group.tabs.map((tab) => tab.label))"
    wait_for(lambda: any("openbuffer doctor" in label for label in window.js(labels)), "the doctor's page", 60)


def test_what_a_command_declares_is_there(window: ClientWindow) -> None:
    missing = window.js(
        """
        const {commands} = vscode.extensions.getExtension('openbuffer.openbuffer').packageJSON.contributes;
        const known = new Set(await vscode.commands.getCommands());
        return commands.map((one) => one.command).filter((name) => !known.has(name));
        """
    )
    assert missing == []


@pytest.mark.contract("T3")
def test_what_a_model_gives_is_held_against_the_schema_before_the_server_sees_it(
    server: ClientServer, window: ClientWindow
) -> None:
    before = len(server.wire())
    told = window.js(
        """
        const input = {filePath: 'a.txt', oldString: 3};
        const result = await vscode.lm.invokeTool('openbuffer_Edit', {input, toolInvocationToken: undefined});
        return result.content.map((part) => part.value).join('');
        """
    )
    assert told.startswith("The call failed (ToolArgumentError)")
    assert "newString" in told
    assert server.requests("openbuffer/callTool", before) == []
