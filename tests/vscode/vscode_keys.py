"""Keys that a user may press in VS Code, at random: ``{Control+z}`` is a key, the rest is typed as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..e2e.neovim_wishes import some_text

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

_TYPED = [
    *(
        "{End}{Enter}[t]",
        "{Home}[t]",
        "{End}[t]",
        "{Control+End}{Enter}[t]",
        "{Control+Home}[t]{Enter}",
        "[t]{Enter}[t]",
    ),
    *(
        "{Control+Enter}[t]",
        "{Control+Shift+Enter}[t]",
        "{End}[t]{Backspace}{Backspace}",
        "[t]{ArrowLeft}{ArrowLeft}[t]",
    ),
    *("{Shift+End}[t]", "{Control+ArrowRight}[t]", "{Shift+ArrowDown}[t]", "{Control+End}[t]{Enter}", "[t]"),
]
_CARETS = [
    *("{ArrowDown}", "{ArrowUp}", "{Control+Home}", "{Control+End}", "{Home}", "{End}", "{Control+ArrowRight}"),
    *("{ArrowLeft}", "{Shift+ArrowDown}", "{Control+l}"),
]
_MANY = [
    *("{Control+Home}{Control+Alt+ArrowDown}{Control+Alt+ArrowDown}[t]{Escape}", "{Control+d}{Control+d}[t]{Escape}"),
    "{Control+a}{Shift+Alt+i}[t]{Escape}",
]
_LINES = [
    *("{Alt+ArrowDown}", "{Alt+ArrowUp}", "{Shift+Alt+ArrowDown}", "{Control+Shift+k}", "{Control+x}", "{Control+c}"),
    *("{Control+v}", "{Control+x}{ArrowDown}{Control+v}", "{Delete}", "{Backspace}", "{Control+Backspace}"),
    *("{Control+Delete}", "{Control+a}{Delete}", "{Control+a}{Control+c}{Control+End}{Control+v}"),
    *("{command:editor.action.sortLinesAscending}", "{command:editor.action.joinLines}", "{Tab}", "{Shift+Tab}"),
    *("{command:editor.action.trimTrailingWhitespace}", "{command:editor.action.transposeLetters}"),
]
_HISTORY = ["{Control+z}", "{Control+z}", "{Control+z}{Control+z}{Control+z}", "{Control+y}", "{Control+y}{Control+y}"]
_FILE = [
    "{Control+s}",
    "{Control+s}",
    "{command:workbench.action.files.revert}",
    "{Control+s}",
]
_KINDS = [(_TYPED, 6), (_CARETS, 2), (_MANY, 1), (_LINES, 4), (_HISTORY, 2), (_FILE, 3)]
_WHILE_ON_ITS_WAY = [*_TYPED, *_CARETS, *_LINES[:3], "{Control+s}", "{Control+z}", "{Control+y}"]
_PLAIN = ["{Control+End}{Enter}", "{End}", "{Control+End}", "{End}{Enter}"]


class VSCodeKeys:
    """Key sequences with marks of their own. Has the face of the keys for Neovim."""

    def __init__(self, dice: random.Random, mark: Callable[[str], str]) -> None:
        self._dice = dice
        self._mark = mark

    def any(self, path: str) -> str:
        """Any few things a user does; the document may be reloaded or saved by it."""
        del path
        kinds, weights = zip(*_KINDS, strict=True)
        return "".join(
            self._filled(self._dice.choice(self._dice.choices(kinds, weights)[0]))
            for _ in range(self._dice.randint(1, 3))
        )

    def typing(self, path: str) -> str:
        """Something that is typed while an edit is on its way."""
        del path
        return "".join(self._filled(self._dice.choice(_WHILE_ON_ITS_WAY)) for _ in range(self._dice.randint(1, 2)))

    def into_insert_mode(self) -> str:
        """A place to type at, and a first text."""
        return self._dice.choice(_PLAIN) + self.text()

    def text(self) -> str:
        """What is typed in one go."""
        return self._mark("u") + some_text(self._dice) + self._dice.choice(["", "", "{Enter}"])

    def save(self) -> str:
        return "{Control+s}"

    def shorten(self) -> str:
        """Another text, that is small."""
        return "{Control+a}{Delete}~"

    start_over = shorten

    def _filled(self, keys: str) -> str:
        while "[t]" in keys:
            keys = keys.replace("[t]", self._mark("u") + some_text(self._dice), 1)
        return keys
