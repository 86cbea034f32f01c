"""Keys that a user may press in Neovim, and files that others may write, at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .neovim_wishes import some_text

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

_INSERTING = [
    *("o{t}<Esc>", "O{t}<Esc>", "A{t}<Esc>", "I{t}<Esc>", "i{t}<CR>{t}<Esc>", "cw{t}<Esc>", "cc{t}<Esc>", "s{t}<Esc>"),
    *("R{t}<Esc>", "C{t}<Esc>", "Go{t}<Esc>", "ggO{t}<Esc>", "GA{t}<Esc>", "ggO<Esc>", "Go<Esc>", "ccX<Esc>"),
    *(
        "3o{t}<Esc>",
        "2A{t}<Esc>",
        "i<C-w>{t}<C-u>{t}<Esc>",
        "A{t}<BS><BS><Esc>",
        "i{t}<Left><Left>{t}<Esc>",
        "gi{t}<Esc>",
    ),
]
_BLOCKS = ["gg<C-v>G$A{t}<Esc>", "gg<C-v>jI{t}<Esc>", "<C-v>jlc{t}<Esc>", "<C-v>Gd", "<C-v>jr-"]
_VISUAL = ["Vjd", "viwd", "Vjp", "vec{t}<Esc>", "V~", "gv~", "vjd", "Vjyp", "v$dp", "VGJ", "ggVGd"]
_MACROS = ["qqA{t}<Esc>jq2@q", "qqddpq@q", "qqO{t}<Esc>jjq3@q", "@q", "@@", "qqxjqq2@q"]
_NORMAL = [
    *(
        "yyp",
        "yyGp",
        "Gyyggp",
        "ggyGP",
        "dd",
        "Gdd",
        "2dd",
        "dw",
        "daw",
        "ddp",
        "xp",
        "xxx",
        "D",
        "J",
        "3J",
        "gUU",
        "~",
    ),
    *("p", "P", "]p", ">>", ".", "ggdG", "dgg", "dG", "gg", "G", "j", "k", "w", "l", "0", "$", "<C-a>", "dap", "g~~"),
]
_HISTORY = ["u", "u", "3u", "<C-r>", "3<C-r>", "g-", "g+", ":earlier 2f<CR>", ":later 1f<CR>", "U", ":undo 0<CR>"]
_COMMANDS = [
    *(":%s/a/bb/ge<CR>", ":%s/~/~~/e<CR>", ":%s/\\n\\n/\\r/e<CR>", ":silent! 1,2m$<CR>", ":silent! 1,2t$<CR>"),
    *(":sort<CR>", ":%d<CR>", ":g/z/d<CR>", ":silent! %normal! Az<CR>", ":set ff=dos<CR>", ":set ff=unix<CR>"),
    *(":%!sort -r<CR>", ":retab!<CR>", ":%j<CR>", ":1d<CR>", ":$d<CR>"),
]
_FILE = [
    *(":w<CR>", ":w<CR>", ":w!<CR>", ":update<CR>", ":e<CR>", ":e!<CR>", ":checktime<CR>", ":bd!<CR>"),
    *(":bd!<CR>:e {path}<CR>", ":bw!<CR>:e {path}<CR>", ":w<CR>:bd<CR>:e {path}<CR>", ":e {path}<CR>", ":enew<CR>"),
]
_KINDS = [(_INSERTING, 5), (_BLOCKS, 2), (_VISUAL, 2), (_MACROS, 1), (_NORMAL, 5), (_HISTORY, 2), (_COMMANDS, 2)]
_TYPING = [*_INSERTING, *_BLOCKS[:2], "yyp", "yyGp", "p", "gg", "G", "j", "k", "w", "l", *_FILE[:4], "u", "<C-r>"]
_SHORTEN = ":silent! 40,$d<CR>"
_CTRL = "<C-Bslash><C-n>"


class Keys:
    """Key sequences with marks of their own, for files in one folder."""

    def __init__(self, dice: random.Random, mark: Callable[[str], str]) -> None:
        self._dice = dice
        self._mark = mark

    def any(self, path: str) -> str:
        """Any few things a user does in normal mode; the buffer may be closed, reloaded or saved by it."""
        return _CTRL + "".join(self._one(path) for _ in range(self._dice.randint(1, 3)))

    def typing(self, path: str) -> str:
        """Something that is typed while an edit is on its way."""
        return _CTRL + "".join(self._filled(self._dice.choice(_TYPING), path) for _ in range(self._dice.randint(1, 2)))

    def into_insert_mode(self) -> str:
        """The user stays in insert mode."""
        return _CTRL + self._dice.choice(["o", "A", "O", "I", "Go", "ggO"]) + self.text()

    def text(self) -> str:
        """What is typed in insert mode."""
        return (self._mark("u") + some_text(self._dice)).replace("<", "<lt>") + self._dice.choice(["", "", "<CR>"])

    def save_as(self, other: str) -> str:
        return f"{_CTRL}:saveas! {other}<CR>"

    def call_it(self, other: str) -> str:
        """The buffer has another name, and is not saved there yet."""
        return f"{_CTRL}:file {other}<CR>"

    def save(self) -> str:
        return f"{_CTRL}:w!<CR>"

    def open(self, path: str) -> str:
        return f"{_CTRL}:e {path}<CR>"

    def shorten(self) -> str:
        """Keep a text small, that was doubled again and again."""
        return _CTRL + _SHORTEN

    def start_over(self) -> str:
        """Another text, that is small."""
        return _CTRL + ":%d<CR>i~<Esc>"

    def _one(self, path: str) -> str:
        if self._dice.random() < 0.2:
            return self._filled(self._dice.choice(_FILE), path)
        kinds, weights = zip(*_KINDS, strict=True)
        return self._filled(self._dice.choice(self._dice.choices(kinds, weights)[0]), path)

    def _filled(self, keys: str, path: str) -> str:
        while "{t}" in keys:
            text = self._mark("u") + some_text(self._dice)
            keys = keys.replace("{t}", text.replace("<", "<lt>"), 1)
        return keys.replace("{path}", path)


def outside_content(dice: random.Random, now: str | None, mark: str) -> str:
    """What a command makes of a file."""
    lines = [] if now is None else now.split("\n")
    kind = dice.random()
    if kind < 0.2 or not lines:
        lines = [mark, *(some_text(dice) for _ in range(dice.randint(0, 3)))]
    elif kind < 0.6:
        lines.insert(dice.randint(0, len(lines)), mark)
    elif kind < 0.8:
        lines[dice.randrange(len(lines))] = mark
    elif kind < 0.9:
        del lines[dice.randrange(len(lines))]
    return "\n".join(lines) + "\n"
