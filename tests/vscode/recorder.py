"""What happens in a real VS Code, written down beside it, so that a test knows who changed what.

The extension is left as it is. The probe notes every state of each document, and every opening and saving; the tap on
the server's wire has every edit that the server asked for. An edit was made where a document went from the very version
and text that the edit was for to the very text that it leads to. All else is the user's, or was loaded from disk.
"""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from ..e2e.neovim_recorder import Happening, Taken
from ..e2e.neovim_wishes import plain
from .client_window import Call

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from .client_server import ClientServer
    from .client_window import ClientWindow

_RECORDER = """
const fs = require('node:fs');
const R = probe.recorder = {log: [], saving: new Map(), lastEvent: Date.now()};
const note = (kind, document, more) => {
  if (document.uri.scheme !== 'file') return;
  R.lastEvent = Date.now();
  const {version, isDirty: dirty} = document;
  R.log.push({kind, path: document.uri.fsPath, version, text: document.getText(), dirty, ...more});
};
const diskOf = (path) => { try { return fs.readFileSync(path).toString('utf8'); } catch { return null; } };
vscode.workspace.onDidOpenTextDocument((document) => note('open', document));
vscode.workspace.onDidCloseTextDocument((document) => note('close', document));
vscode.workspace.onDidChangeTextDocument((event) => {
  if (!event.contentChanges.length) return;
  const typed = event.contentChanges.map((change) => change.text);
  // The first change that is typed comes before the editor counts the document as modified.
  const disk = event.document.isDirty || event.reason ? null : diskOf(event.document.uri.fsPath);
  note('change', event.document, {reason: event.reason ?? 0, typed, disk});
});
vscode.workspace.onWillSaveTextDocument((event) => {
  R.saving.set(event.document.uri.fsPath, Date.now());
  note('saving', event.document);
});
vscode.workspace.onDidSaveTextDocument((document) => {
  R.saving.delete(document.uri.fsPath);
  note('saved', document, {disk: diskOf(document.uri.fsPath)});
});
R.isBusy = (autosaveMs) => {
  const now = Date.now();
  if ([...R.saving.values()].some((since) => now - since < 5000)) return true;
  if (now - R.lastEvent < 60) return true;
  const files = vscode.workspace.textDocuments.filter((one) => one.uri.scheme === 'file' && !one.isClosed);
  const isDirty = files.some((one) => one.isDirty);
  return autosaveMs > 0 && isDirty && now - R.lastEvent < autosaveMs + 2500;
};
R.take = () => {
  const shown = {};
  for (const one of vscode.workspace.textDocuments) {
    if (one.uri.scheme !== 'file' || one.isClosed) continue;
    shown[one.uri.fsPath] = {version: one.version, text: one.getText(), dirty: one.isDirty};
  }
  const current = vscode.window.activeTextEditor?.document.uri.fsPath ?? '';
  const taken = {log: R.log, shown, current};
  R.log = [];
  return taken;
};
"""

_KEY = re.compile(r"\{(\w[\w+]*|command:[\w.]+)\}")
Keys = str
"""Text that is typed; ``{Control+z}`` is a key, ``{command:name}`` a command of the editor."""


@dataclass(slots=True)
class _Event:
    """One line of the probe's log."""

    kind: str
    path: str
    version: int
    text: str
    dirty: bool
    reason: int = 0
    typed: list[str] = field(default_factory=list[str])
    disk: str | None = None


class RecordedWindow:
    """A user's hands on a window whose doings are recorded. Has the face of the recorder of Neovim."""

    def __init__(self, window: ClientWindow, server: ClientServer) -> None:
        self.editor = window
        self.server = server
        self.autosave_ms = 0
        self.typed = ""
        self.arrived = ""
        self.reloaded: set[str] = set()
        """Documents that were loaded anew since the last time, while they were open."""
        self._heard = 0
        self._texts: dict[str, _Event] = {}
        self._calls: list[Call] = []
        window.js(_RECORDER)

    def clear(self) -> None:
        """Forget what happened so far."""
        self.settle()
        shown = self.editor.js("return probe.recorder.take()")["shown"]
        self._texts = {path: _Event(kind="open", path=path, **state) for path, state in shown.items()}
        self._heard = len(self.server.wire())
        self.typed = ""

    def settle(self) -> None:
        """Wait until nothing is being saved, or will be saved by itself in a moment."""
        deadline = time.monotonic() + 20
        while self.editor.js(
            "await vscode.commands.executeCommand('setContext', 'probe', 1); return probe.recorder.isBusy(args[0])",
            self.autosave_ms,
        ):
            assert time.monotonic() < deadline, "the editor does not come to rest"
            time.sleep(0.03)

    def take(self, dice: random.Random) -> Taken:
        del dice
        self.settle()
        wire = self.editor.js("return probe.recorder.take()")
        events = [_Event(**entry) for entry in wire["log"]]
        self.reloaded = set()
        self.arrived = "".join("".join(event.typed) for event in events)
        return Taken(
            log=list(self._happenings(events, self._edits())),
            texts=[plain(event.text) for event in events],
            shown={path: plain(state["text"]) for path, state in wire["shown"].items()},
            current=wire["current"],
            settled=0,
            odd=frozenset(),
        )

    def turn(self, items: Sequence[dict[str, Any]], dice: random.Random) -> None:
        """Do several things without waiting for any of them."""
        del dice
        for item in items:
            if "keys" in item:
                self._press(item["keys"])
            elif "call" in item:
                self._calls[item["number"]].begin(self.editor, item["call"])
            elif "cancel" in item:
                self._calls[item["cancel"]].cancel()

    def expect(self) -> tuple[int, Call]:
        """A number under which a turn's call reports its answer."""
        self._calls.append(Call())
        return len(self._calls) - 1, self._calls[-1]

    def type(self, keys: Keys, dice: random.Random) -> None:
        """Type keys and come back when the extension host knows what came of them."""
        del dice
        self._press(keys)
        self.editor.js("await vscode.commands.executeCommand('setContext', 'probe', 1)")

    def answer(self, call: Call, dice: random.Random) -> Any:
        del dice
        return call.answer()

    def _press(self, keys: Keys) -> None:
        if keys.startswith("<C-Bslash>"):
            return  # Neovim is told to look at the disk; VS Code does that by itself
        place = 0
        for found in _KEY.finditer(keys):
            self._type(keys[place : found.start()])
            name = found.group(1)
            if name.startswith("command:"):
                self.editor.command(name.removeprefix("command:"))
            else:
                self.editor.press(name)
            place = found.end()
        self._type(keys[place:])

    def _type(self, text: str) -> None:
        if text:
            self.typed += text
            self.editor.type(text)

    # --- who changed what ----------------------------------------------------------------------------------

    def _happenings(self, events: list[_Event], edits: list[dict[str, Any]]) -> Iterator[Happening]:
        saving: dict[str, list[str]] = {}
        for event in events:
            before = self._texts.get(event.path)
            self._texts[event.path] = event
            text = plain(event.text)
            if event.path in saving:
                saving[event.path].append(text)
            if event.kind == "change":
                assert before is not None, event
                if any(_led(edit, before, event) for edit in edits):
                    if plain(before.text) != text:
                        yield Happening("edit", event.path, text, plain(before.text))
                elif event.disk is not None and plain(event.disk) == text:
                    self.reloaded.add(event.path)
                    yield Happening("read", event.path, text)
            elif event.kind == "open":
                yield Happening("read", event.path, text)
            elif event.kind == "saving":
                saving[event.path] = [text]
            elif event.kind == "saved":
                candidates = saving.pop(event.path, [text])
                on_disk = None if event.disk is None else plain(event.disk)
                yield Happening("write", event.path, on_disk if on_disk in candidates else candidates[0])

    def _edits(self) -> list[dict[str, Any]]:
        """What the server asked for since the last time."""
        fresh = self.server.wire(self._heard)
        self._heard += len(fresh)
        messages = [line["message"] for line in fresh if line["from"] == "server"]
        return [message["params"] for message in messages if message.get("method") == "openbuffer/applyEdit"]


def _led(edit: dict[str, Any], before: _Event, after: _Event) -> bool:
    """Whether this edit, and nothing else, made one of the other."""
    document = edit["textDocument"]
    path = unquote(urlsplit(document["uri"]).path)
    if path != after.path or document["version"] != before.version or after.version != before.version + 1:
        return False
    return edit["textHash"] == _hash(before.text) and plain(_applied(before.text, edit["edits"])) == plain(after.text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _applied(text: str, edits: list[dict[str, Any]]) -> str:
    """Edits in UTF-16 positions, made as LSP says; the editor makes of their line ends those of the document."""
    units = text.encode("utf-16-le", "surrogatepass")
    starts = [0]
    for line in re.findall(r"[^\n]*\n", text):
        starts.append(starts[-1] + len(line.encode("utf-16-le", "surrogatepass")))
    for edit in reversed(edits):
        first, last = (
            starts[place["line"]] + 2 * place["character"] if place["line"] < len(starts) else len(units)
            for place in (edit["range"]["start"], edit["range"]["end"])
        )
        units = units[:first] + edit["newText"].encode("utf-16-le", "surrogatepass") + units[last:]
    return units.decode("utf-16-le", "surrogatepass")
