"""Real VS Code with the extension: permissions in the diff editor, and questions, answered as a user answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .window import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from .client_server import ClientServer
    from .client_window import Call, ClientWindow

pytestmark = [pytest.mark.vscode, pytest.mark.contract("B2", "B4", "X4")]

ASKING = '[permissions]\ndefault = { FILE_WRITE = "ask", SHELL = "ask" }\n'
BUTTON = ".editor-actions .action-label[aria-label^='{}']"
NOTIFICATION = ".notifications-center .notification-list-item:has-text('{}')"


@pytest.fixture
def asks(server: ClientServer, window: ClientWindow) -> Iterator[None]:
    server.set_config(ASKING)
    yield
    server.set_config("")
    window.command("notifications.clearAll")


@pytest.fixture
def file(window: ClientWindow, folder: Path, asks: None) -> Path:
    """A document that is open, with an unsaved line at its end."""
    del asks
    file = folder / "a.txt"
    file.write_text("one\ntwo\nthree\n")
    window.show(file)
    window.type_at_end("typed")
    window.wait_for_text(file, "one\ntwo\nthree\ntyped")
    return file


def asked(window: ClientWindow, file: Path, old: str = "two", new: str = "TWO") -> Call:
    """A call that waits for its user, who sees the change."""
    call = window.begin("Edit", filePath=str(file), oldString=old, newString=new)
    wait_for(lambda: dialogs(window), "the change to be shown")
    return call


def dialogs(window: ClientWindow) -> list[str]:
    """The titles of the tabs in which something is asked."""
    return window.js(
        """
        const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
        const uris = (input) => [input?.uri, input?.modified].filter(Boolean);
        return tabs.filter((tab) => uris(tab.input).some((uri) => uri.scheme === 'openbuffer-approval'))
          .map((tab) => tab.label);
        """
    )


def pages(window: ClientWindow) -> list[str]:
    """The texts in which something is asked."""
    return window.js(
        """
        const shown = vscode.workspace.textDocuments.filter((one) => !one.isClosed);
        return shown.filter((one) => one.uri.scheme === 'openbuffer-approval').map((one) => one.getText());
        """
    )


def no_dialog(window: ClientWindow) -> None:
    wait_for(lambda: not dialogs(window), "the dialog to be gone")


def in_diff(window: ClientWindow) -> None:
    """Click into the change that is shown."""
    window.command("openbuffer.answer")
    window.see(".monaco-diff-editor")


@pytest.mark.contract("E1")
def test_a_change_is_shown_in_the_diff_editor_and_made_once_it_is_allowed(window: ClientWindow, file: Path) -> None:
    call = asked(window, file)
    assert dialogs(window) == ["Edit a.txt (+1 \N{MINUS SIGN}1)"]
    both = {"one\ntwo\nthree\ntyped", "one\nTWO\nthree\ntyped"}
    wait_for(lambda: both <= set(pages(window)), "both sides")  # the editor forgets those of earlier dialogs later
    assert window.text(file) == "one\ntwo\nthree\ntyped"
    assert not call.done()
    in_diff(window)
    window.click(BUTTON.format("Allow Once"))
    answer = call.answer()
    assert answer.success, answer
    assert window.text(file) == "one\nTWO\nthree\ntyped"
    assert file.read_text() == "one\ntwo\nthree\n"
    no_dialog(window)
    window.undo(file)
    window.wait_for_text(file, "one\ntwo\nthree\ntyped")


def test_a_change_that_is_denied_is_not_made_and_the_agent_hears_why(window: ClientWindow, file: Path) -> None:
    call = asked(window, file)
    in_diff(window)
    window.click(BUTTON.format("Deny"))
    answer = call.answer()
    assert not answer.success
    assert "did not approve" in answer.error
    assert window.text(file) == "one\ntwo\nthree\ntyped"
    no_dialog(window)


def test_a_reason_for_the_denial_is_told(window: ClientWindow, file: Path) -> None:
    call = asked(window, file)
    window.command("openbuffer.approval.denyWithReason")
    window.see(".quick-input-widget input")
    window.type("not on a Friday")
    window.press("Enter")
    assert "not on a Friday" in call.answer().error
    assert window.text(file) == "one\ntwo\nthree\ntyped"


def test_the_change_is_answered_from_the_notification_too(window: ClientWindow, file: Path) -> None:
    call = asked(window, file)
    window.command("notifications.showList")  # a toast goes there by itself after a while
    window.see(NOTIFICATION.format("Edit a.txt"))
    window.click(NOTIFICATION.format("Edit a.txt") + " a:has-text('Allow once')")
    assert call.answer().success
    window.wait_for_text(file, "one\nTWO\nthree\ntyped")
    window.gone(NOTIFICATION.format("Edit a.txt"))
    window.command("notifications.hideList")


def test_closing_the_diff_is_no_yes(window: ClientWindow, file: Path) -> None:
    call = asked(window, file)
    in_diff(window)
    window.command("workbench.action.closeActiveEditor")
    answer = call.answer()
    assert not answer.success
    assert "closed" in answer.error
    assert window.text(file) == "one\ntwo\nthree\ntyped"


def test_typing_goes_on_while_a_change_is_asked_about_and_answers_nothing(window: ClientWindow, file: Path) -> None:
    call = asked(window, file)
    window.type(" and yes\n")
    window.wait_for_text(file, "one\ntwo\nthree\ntyped and yes\n")
    assert not call.done()
    window.command("openbuffer.approval.allow")
    assert call.answer().success
    window.wait_for_text(file, "one\nTWO\nthree\ntyped and yes\n")


def test_what_became_another_change_while_it_was_asked_about_is_not_made_unseen(
    window: ClientWindow, file: Path
) -> None:
    call = asked(window, file)
    window.focus(file)
    window.caret(file, 1, 3)
    window.type("!")
    window.wait_for_text(file, "one\ntwo!\nthree\ntyped")
    window.command("openbuffer.approval.allow")
    wait_for(lambda: any("TWO!" in page for page in pages(window)), "the next question")
    assert window.text(file) == "one\ntwo!\nthree\ntyped"
    window.command("openbuffer.approval.deny")
    assert not call.answer().success
    assert window.text(file) == "one\ntwo!\nthree\ntyped"


def test_always_is_for_the_rules_that_are_shown_and_is_not_asked_again(window: ClientWindow, file: Path) -> None:
    call = asked(window, file)
    window.command("openbuffer.approval.always")
    rules = window.see(".quick-input-widget .quick-input-list")
    assert "Allow for this session" in rules
    assert "Edit(" in rules
    window.press("Enter")
    assert call.answer().success
    answer = window.edit(file, "TWO", "2")
    assert answer.success
    assert window.text(file) == "one\n2\nthree\ntyped"
    assert dialogs(window) == []


def test_a_cancelled_call_takes_its_dialog_away(window: ClientWindow, file: Path) -> None:
    call = asked(window, file, "three", "3")
    call.cancel()
    assert call.answer().is_hard_error
    no_dialog(window)
    assert window.text(file) == "one\ntwo\nthree\ntyped"


def test_a_command_is_shown_with_its_directory_and_what_would_confine_it(window: ClientWindow, file: Path) -> None:
    call = window.begin("Shell", command="echo from the shell", workingDirectory=str(file.parent))
    wait_for(lambda: dialogs(window), "the command to be shown")
    (page,) = wait_for(lambda: pages(window), "the page")
    assert "$ echo from the shell" in page
    assert str(file.parent) in page
    assert "Containment" in page
    window.command("openbuffer.approval.allow")
    assert "from the shell" in call.answer().output


@pytest.mark.contract("W3")
class TestQuestions:
    """AskUserQuestion, in quick picks and input boxes."""

    def ask(self, window: ClientWindow, **question: object) -> Call:
        call = window.begin("AskUserQuestion", questions=[question])
        window.see(".quick-input-widget")
        # Keys of the first moment were meant for something else.
        window.do(lambda page: page.wait_for_timeout(600))
        return call

    def test_an_option_is_chosen_with_the_keys(self, window: ClientWindow, folder: Path) -> None:
        del folder
        call = self.ask(window, question="Which colour?", options=["red", "green"])
        window.press("ArrowDown", "Enter")
        answer = call.answer()
        assert answer.success, answer
        assert "green" in answer.output

    def test_several_are_chosen(self, window: ClientWindow, folder: Path) -> None:
        del folder
        call = self.ask(window, question="Which ones?", options=["a1", "b2", "c3"], multiSelect=True)
        boxes = ".quick-input-widget .monaco-list-row:has-text('{}')"
        window.click(boxes.format("a1"))
        window.click(boxes.format("c3"))
        window.click(".quick-input-widget .monaco-button:has-text('OK')")
        output = call.answer().output
        assert "a1" in output
        assert "c3" in output
        assert "b2" not in output

    def test_a_text_of_ones_own_is_taken(self, window: ClientWindow, folder: Path) -> None:
        del folder
        call = self.ask(window, question="What name?", freeText=True)
        window.type("Ada é😋")
        window.press("Enter")
        assert "Ada é😋" in call.answer().output

    def test_a_question_that_is_dismissed_is_no_answer(self, window: ClientWindow, folder: Path) -> None:
        del folder
        call = self.ask(window, question="Which colour?", options=["red", "green"])
        window.press("Escape")
        answer = call.answer()
        assert not answer.success
        assert "closed question 1 without an answer" in answer.error

    def test_a_question_does_not_take_the_keys_of_somebody_who_types(self, window: ClientWindow, folder: Path) -> None:
        file = folder / "a.txt"
        file.write_text("")
        window.show(file)
        window.type("t")
        call = window.begin("AskUserQuestion", questions=[{"question": "Which?", "options": ["red", "green"]}])
        for _ in range(12):
            window.type("yes ")
        window.wait_for_text(file, "t" + "yes " * 12)
        window.see(".quick-input-widget:has-text('Which?')")
        assert window.text(file) == "t" + "yes " * 12
        window.press("Escape")
        assert not call.answer().success
