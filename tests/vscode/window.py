"""One window of the real VS Code: a page of a browser for the user's hands, the probe for what the editor knows."""

from __future__ import annotations

import contextlib
import json
import time
import urllib.parse
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from .browser import Browser
    from .code_server import CodeServer

DEADLINE_S = 30.0
"""Any single answer; a deadline that passes is a failure, so it is generous for a busy machine."""
START_S = 150.0

_CLOSE_EDITORS = """
for (const document of vscode.workspace.textDocuments) {
  if (!document.isDirty || document.uri.scheme !== 'file') continue;
  await vscode.window.showTextDocument(document);
  await vscode.commands.executeCommand('workbench.action.files.revert');
}
await vscode.commands.executeCommand('workbench.action.closeAllEditors');
"""
_DO_NOT_SAVE = '.monaco-dialog-box .monaco-button:has-text("Don\'t Save")'


@dataclass(frozen=True, slots=True)
class Shown:
    """A document as the editor has it."""

    text: str
    version: int
    dirty: bool
    eol: str


class ProbeError(AssertionError):
    """Code of the test failed inside the extension host."""


def wait_for(holds: Callable[[], Any], what: str, timeout_s: float = DEADLINE_S) -> Any:
    """What it returns, once that is true."""
    deadline = time.monotonic() + timeout_s
    while not (value := holds()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.03)
    return value


class Window:
    """A folder, or a file that names several, opened in a profile of its own."""

    def __init__(self, server: CodeServer, browser: Browser, place: Path) -> None:
        self.server = server
        self.browser = browser
        self.place = place
        self._threads = ThreadPoolExecutor(16, "probe")
        self._page: Any = browser.new_page()
        self._known: Mapping[str, Any] = {}

    # --- life ----------------------------------------------------------------------------------------------

    def open(self, *, waits_for_probe: bool = True) -> Window:
        """Load the page, and wait until the extension host is there."""
        kind = "workspace" if self.place.suffix == ".code-workspace" else "folder"
        query = urllib.parse.urlencode({kind: str(self.place)})
        self.do(lambda page: page.goto(f"{self.server.url}/?{query}", timeout=START_S * 1000), START_S)
        self.do(lambda page: page.wait_for_selector(".monaco-workbench", timeout=START_S * 1000), START_S)
        if waits_for_probe:
            self._find_probe()
        return self

    def reload(self) -> None:
        """A new extension host. What is unsaved is gone: the page is asked to leave nothing behind."""
        self.js("await vscode.commands.executeCommand('workbench.action.closeAllEditors')")
        self.open()

    def close(self) -> None:
        """Close the page with its profile; the extension host goes with it."""
        self.browser.run(self._page.context.close)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _find_probe(self) -> None:
        old = {self._known.get("pid")}

        def found() -> Mapping[str, Any] | None:
            for file in self.server.probes.glob("*.json"):
                known = json.loads(file.read_text())
                is_mine = known["folders"][:1] == self._folders()[:1]
                if is_mine and known["pid"] not in old and Path(f"/proc/{known['pid']}").exists():
                    return known
            return None

        self._known = wait_for(found, f"the extension host: {self.server.log()}", START_S)

    def _folders(self) -> list[str]:
        if self.place.suffix != ".code-workspace":
            return [str(self.place)]
        return [entry["path"] for entry in json.loads(self.place.read_text())["folders"]]

    @property
    def host_pid(self) -> int:
        """The process of the extension host."""
        return self._known["pid"]

    # --- the probe -----------------------------------------------------------------------------------------

    def js(self, source: str, *args: Any, timeout_s: float = DEADLINE_S) -> Any:
        """Run the body of an async function in the extension host; it has ``vscode``, ``probe``, ``args``."""
        body = json.dumps({"source": source, "args": args}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._known['port']}/", body, {"x-token": self._known["token"]}
        )
        with urllib.request.urlopen(request, timeout=timeout_s) as reply:
            answer = json.load(reply)
        if "error" in answer:
            raise ProbeError(answer["error"])
        return answer["value"]

    def begin_js(self, source: str, *args: Any, timeout_s: float = 2 * DEADLINE_S) -> Future[Any]:
        """The same, without waiting for it."""
        return self._threads.submit(self.js, source, *args, timeout_s=timeout_s)

    def command(self, name: str, *args: Any) -> Any:
        return self.js("return await vscode.commands.executeCommand(args[0], ...args[1])", name, args)

    def configure(self, key: str, value: Any, *, target: str = "Global") -> None:
        """Change a setting; None takes it away."""
        self.js(
            """
            const dot = args[0].lastIndexOf('.');
            const section = vscode.workspace.getConfiguration(args[0].slice(0, dot));
            const value = args[1] === null ? undefined : args[1];
            await section.update(args[0].slice(dot + 1), value, vscode.ConfigurationTarget[args[2]]);
            """,
            key,
            value,
            target,
        )

    # --- documents -----------------------------------------------------------------------------------------

    def show(self, file: Path) -> None:
        """Open a file in an editor with the focus in it."""
        self.js("await vscode.window.showTextDocument(vscode.Uri.file(args[0]), {preview: false})", str(file))
        self.focus(file)

    def focus(self, file: Path) -> None:
        """Click into the editor of a file that is shown."""
        place = f'.editor-instance .monaco-editor[data-uri$="/{urllib.parse.quote(file.name)}"]'
        self.do(lambda page: page.click(f"{place} .view-lines"))
        self.do(lambda page: page.wait_for_selector(f"{place}.focused"))

    def document(self, file: Path) -> Shown | None:
        """The document as it is now; None where it is not open."""
        found = self.js(
            """
            const wanted = vscode.Uri.file(args[0]).toString();
            const documents = vscode.workspace.textDocuments.filter((one) => !one.isClosed);
            const found = documents.find((one) => one.uri.toString() === wanted);
            if (!found) return null;
            const eol = found.eol === vscode.EndOfLine.CRLF ? '\\r\\n' : '\\n';
            return {text: found.getText(), version: found.version, dirty: found.isDirty, eol};
            """,
            str(file),
        )
        return None if found is None else Shown(**found)

    def text(self, file: Path) -> str:
        shown = self.document(file)
        assert shown is not None, f"{file} is not open"
        return shown.text

    def is_dirty(self, file: Path) -> bool:
        shown = self.document(file)
        assert shown is not None, f"{file} is not open"
        return shown.dirty

    def wait_for_text(self, file: Path, text: str) -> None:
        with contextlib.suppress(AssertionError):
            wait_for(lambda: self.text(file) == text, "a text", timeout_s=10)
        shown = self.text(file)
        assert shown == text, f"{shown!r} is shown, not {text!r}"

    def caret(self, file: Path, line: int, character: int) -> None:
        """Put the caret somewhere; both count from 0."""
        self.js(
            """
            const wanted = vscode.Uri.file(args[0]).toString();
            const editor = vscode.window.visibleTextEditors.find((one) => one.document.uri.toString() === wanted);
            const place = new vscode.Position(args[1], args[2]);
            editor.selection = new vscode.Selection(place, place);
            // It is carried out by the window, before this.
            await vscode.commands.executeCommand('setContext', 'probe', 1);
            """,
            str(file),
            line,
            character,
        )

    def save(self, file: Path) -> None:
        """As the user saves: by the key."""
        self.focus(file)
        self.press("Control+s")
        wait_for(lambda: not self.is_dirty(file), f"{file} to be saved")

    def close_editors(self) -> None:
        """Close every editor, and throw away what is unsaved."""
        closing = self.begin_js(_CLOSE_EDITORS)
        while not closing.done():
            # A document whose file is gone cannot be reverted; then there is a question.
            if self.sees(_DO_NOT_SAVE):
                self.click(_DO_NOT_SAVE)
            time.sleep(0.03)
        closing.result()

    # --- the user's hands ----------------------------------------------------------------------------------

    def do(self, action: Callable[[Any], Awaitable[Any]], timeout_s: float = DEADLINE_S) -> Any:
        """Something on the page, in Playwright's words."""
        return self.browser.run(lambda: action(self._page), timeout_s)

    def type(self, text: str, *, delay_ms: float = 0) -> None:
        """Press the keys of a text, one after the other, wherever the focus is."""
        self.do(lambda page: page.keyboard.type(text, delay=delay_ms))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.do(lambda page, key=key: page.keyboard.press(key))

    def type_at_end(self, text: str) -> None:
        """What is typed behind all that the document in front has."""
        self.press("Control+End")
        self.type(text)

    def undo(self, file: Path) -> None:
        """One step, in the document of this file."""
        self.focus(file)
        self.press("Control+z")

    def dismiss(self) -> None:
        """Close what a test before left in the way of all others."""
        for _ in range(3):
            if self.sees(".monaco-dialog-box") or self.sees(".quick-input-widget"):
                self.press("Escape")

    def click(self, selector: str) -> None:
        self.do(lambda page: page.click(selector, timeout=DEADLINE_S * 1000))

    def see(self, selector: str, timeout_s: float = DEADLINE_S) -> str:
        """The text of what is on the screen, once it is there."""
        try:
            found = self.do(lambda page: page.wait_for_selector(selector, timeout=timeout_s * 1000), timeout_s + 5)
        except Exception as error:
            picture = self.server.home / "not-seen.png"
            self.picture(picture)
            raise AssertionError(f"{selector} is not on the screen; {picture} shows what is") from error
        return self.browser.run(found.inner_text)

    def sees(self, selector: str) -> bool:
        """Whether it is on the screen now."""
        return self.do(lambda page: page.locator(selector).first.is_visible())

    def gone(self, selector: str) -> None:
        self.do(lambda page: page.wait_for_selector(selector, state="hidden", timeout=DEADLINE_S * 1000))

    def picture(self, file: Path) -> None:
        """What the screen shows, as a PNG."""
        self.do(lambda page: page.screenshot(path=str(file)))
