"""Real VS Code with the extension: the random histories of ``test_neovim_interleavings``, with VS Code's own keys.

What is promised is the same, and one thing more, which only this editor puts at risk:

- Every key that is typed arrives in the document in its order, while edits of the server come in between: no edit takes
  the focus away.

Half of the histories have the editor save by itself, after a tenth of a second or after one.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..e2e.neovim_wishes import some_text
from ..e2e.test_nvim_client_interleavings import PluginHistory
from .client_window import ClientWindow
from .recorder import RecordedWindow
from .vscode_keys import VSCodeKeys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..e2e.neovim_recorder import Taken
    from ..e2e.neovim_wishes import Wish
    from .browser import Browser
    from .client_server import ClientServer

pytestmark = [pytest.mark.vscode, pytest.mark.contract("B4", "E1", "E7", "E8", "E9", "E10", "E11", "E12")]

INTERLEAVINGS = 500
QUICK = 20
SEEDS = [seed if seed < QUICK else pytest.param(seed, marks=pytest.mark.slow) for seed in range(INTERLEAVINGS)]
AUTOSAVE_MS = (0, 100, 0, 1000)
_numbers = itertools.count(1)


class VSCodeHistory(PluginHistory):
    """Judged like the others, but for what reloading, saving and the keys of this editor change."""

    def __init__(self, recorded: RecordedWindow, folder: Path, seed: int, autosave_ms: int) -> None:
        super().__init__(recorded, folder, seed)
        self.told = [f"seed {seed}, autosave {autosave_ms} ms"]
        self.keys = VSCodeKeys(self.dice, self.mark)
        self.autosave_ms = autosave_ms

    def _begin(self) -> None:
        dice, window = self.dice, self.recorded.editor
        self.recorded.autosave_ms = self.autosave_ms
        window.configure("files.autoSave", "afterDelay" if self.autosave_ms else "off")
        window.configure("files.autoSaveDelay", self.autosave_ms or 1000)
        self.recorded.clear()
        lines = [self.mark("k") + some_text(dice) for _ in range(dice.randint(0, 6))]
        text = "\n".join(lines) + dice.choice(["\n", "\n", "\n\n", ""])
        Path(self.path).write_bytes(text.replace("\n", dice.choice(["\n", "\n", "\r\n"])).encode())
        self._look_at_disk()
        window.show(Path(self.path))
        self._judge([], {})

    def _rename(self) -> None:
        """Instead, the user closes the document, and opens it or another one; what is unsaved is thrown away."""
        window = self.recorded.editor
        window.close_editors()
        self._take_in()
        self.path = self.dice.choice(self.paths)
        if not Path(self.path).exists():
            self.path = self.paths[0]
        self.told.append(f"closed; {Path(self.path).name} is opened")
        if Path(self.path).exists():
            window.show(Path(self.path))
        else:
            Path(self.path).write_text("")
            self._look_at_disk()
            window.show(Path(self.path))
        self._judge([], {})

    def _remember(self, taken: Taken, now: dict[str, str | None], outside: Iterable[str] = (), **more: Any) -> None:
        # Of a reload VS Code tells that the text was changed. The server knows it for one by the disk, unless something
        # else changed the document before; then it takes it for unsaved, and is in conflict with it until it is saved.
        suspects = self.raced | set(outside)
        super()._remember(taken, now, outside, **more)
        self.raced |= suspects & self.recorded.reloaded

    def _judge(self, wishes: list[Wish], outside: dict[str, list[str | None]], **more: Any) -> None:
        super()._judge(wishes, outside, **more)
        typed, self.recorded.typed = self.recorded.typed, ""
        arrived = iter(self.recorded.arrived)
        lost = [key for key in typed if key not in arrived]
        self._require(not lost, "keys that were typed and did not arrive", (typed, self.recorded.arrived))


@pytest.fixture(scope="module")
def recorded(server: ClientServer, browser: Browser) -> Iterator[Callable[[], RecordedWindow]]:
    """The window, opened when it is first asked for and anew after a history that failed."""
    started: list[RecordedWindow] = []

    def window() -> RecordedWindow:
        if not started:
            root = server.home / f"interleavings{next(_numbers)}"
            root.mkdir()
            server.set_config("")
            window = ClientWindow(server, browser, root).open().wait_until_running()
            started.append(RecordedWindow(window, server))
        return started[0]

    yield window, started
    for one in started:
        one.editor.configure("files.autoSave", "off")
        one.editor.configure("files.autoSaveDelay", None)
        one.editor.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_or_misreported_in_a_random_history_in_vscode(
    recorded: Any, seed: int, record_property: Callable[[str, object], None]
) -> None:
    window, started = recorded
    history = VSCodeHistory(window(), window().editor.place / f"seed{seed}", seed, AUTOSAVE_MS[seed % len(AUTOSAVE_MS)])
    try:
        history.run()
        history.editor.close_editors()
    except BaseException:
        started.pop().editor.close()
        raise
    finally:
        for name, count in history.counts.items():
            record_property(name, count)
