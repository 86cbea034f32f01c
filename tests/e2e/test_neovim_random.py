"""Real Neovim, no plugin: a user and an agent change one buffer at random, and its text stays what each was told.

After every round what Read shows is what the buffer holds; a call that says done has done exactly what was asked,
and one that says failed has changed nothing.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from .neovim import Answer, Neovim, editor_in, folder_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.editor
_numbers = itertools.count(1)

PIECES = ["a", "b", "é", "😋", "\t", "日", "e\u0301", "x y", "\u2028", "  ", "<lt>"]
TYPING = [
    *("yyp", "yyGp", "Gyyggp", "ccX<Esc>", "p", "P", "Go<Esc>", "O<Esc>", "ggO{t}<Esc>", "GA{t}<Esc>", "cwnew{t}<Esc>"),
    *("o{t}<Esc>", "i{t}<CR>{t}<Esc>", "gg<C-v>G$A{t}<Esc>", "gg", "G", "j", "k", "w", "l"),
]
"""What a user does while an edit is on its way; nothing that can empty the buffer, see below."""

ANYTHING = [
    *(*TYPING, "dd", "Gdd", "xp", "xxx", "D", "J", "5J", "gUU", "u", "<C-r>", "ggdG", "ggVGd", "ggyGP"),
    *(":%s/a/bb/ge<CR>", ":silent! 1,2m$<CR>", ":w<CR>", ":set ff=dos<CR>", ":set ff=unix<CR>"),
]
SEEDS = [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 40))]


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    yield from editor_in(tmp_path_factory.mktemp("nvim"), debounce_text_changes=10)


@pytest.fixture
def folder(editor: Neovim) -> Iterator[Path]:
    yield from folder_in(editor, editor.root / f"random{next(_numbers)}")


@dataclass(frozen=True, kw_only=True)
class Wish:
    """A call and the text that it is to lead to, from the text it was made for."""

    tool: str
    arguments: dict[str, object]
    before: list[str]
    text: str


@pytest.mark.contract("B4", "E1", "E7", "E8")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", SEEDS)
def test_user_and_agent_at_random_keep_one_text(editor: Neovim, folder: Path, seed: int) -> None:
    dice = random.Random(seed)
    file = folder / "a.txt"
    file.write_bytes("a😋b\n\nlast é\n".encode())
    editor.open(file)
    landed = 0
    for round_ in range(25):
        meanwhile = dice.random() < 0.3
        kinds = TYPING if meanwhile else ANYTHING
        keys = "".join(dice.choice(kinds).replace("{t}", _some_text(dice)) for _ in range(dice.randint(1, 3)))
        said = f"seed {seed}, round {round_}: {keys!r}"
        if not meanwhile:
            editor.type(keys)
            editor.type(":silent! 200,$d<CR>")
            _settle_an_empty_buffer(editor)
            wish = _wish(dice, file, editor.lines())
            answer = editor.call(wish.tool, wish.arguments)
            _kept_its_word(editor, wish, answer, said)
            landed += answer.success
        else:
            wish = _wish(dice, file, editor.lines())
            answer = editor.begin_then_type(wish.tool, wish.arguments, keys, flush=dice.random() < 0.2).answer()
        assert not answer.is_hard_error, (said, wish, answer)
        _settle_an_empty_buffer(editor)
        _read_shows_the_buffer(editor, file, (said, wish, answer))
    assert landed >= 5


def _some_text(dice: random.Random) -> str:
    return "".join(dice.choice(PIECES) for _ in range(dice.randint(0, 4)))


def _settle_an_empty_buffer(editor: Neovim) -> None:
    """Save, so that the client sends the text.

    Deleting all but an empty last line, and emptying the line above it, are one and the same didChange of Neovim.
    """
    if editor.lines() == [""]:
        editor.type(":w<CR>")


def _wish(dice: random.Random, file: Path, lines: list[str]) -> Wish:
    text = "".join(line + "\n" for line in lines)
    path = str(file)
    if dice.random() < 0.7:
        start = dice.randrange(len(text))
        old = text[start : start + dice.randint(1, 6)]
        new = _some_text(dice).replace("<lt>", "<") + dice.choice(["", "\n", "\n\n", "z"])
        arguments: dict[str, object] = {"filePath": path, "oldString": old, "newString": new, "replaceAll": True}
        return Wish(tool="Edit", arguments=arguments, before=lines, text=text.replace(old, new))
    wanted = list(lines)
    for _ in range(dice.randint(1, 3)):
        place, kind = dice.randint(0, len(wanted)), dice.random()
        if kind < 0.4 or not wanted:
            wanted.insert(place, _some_text(dice).replace("<lt>", "<"))
        elif kind < 0.7:
            del wanted[min(place, len(wanted) - 1)]
        else:
            wanted[min(place, len(wanted) - 1)] += dice.choice(["é", "😋", "z"])
    content = "\n".join(wanted) + dice.choice(["\n", "\n", ""])
    return Wish(tool="Write", arguments={"filePath": path, "content": content}, before=lines, text=content)


def _kept_its_word(editor: Neovim, wish: Wish, answer: Answer, said: str) -> None:
    now = editor.lines()
    if not answer.success:
        assert now == wish.before, (said, wish, answer)
        return
    # A buffer has at least one line, and its last line always has an end.
    wanted = wish.text.removesuffix("\n").split("\n")
    assert now == wanted, (said, wish, answer)


def _read_shows_the_buffer(editor: Neovim, file: Path, said: object) -> None:
    answer = editor.read(file)
    assert answer.success, (said, answer)
    numbered = [line.split("\t", 1)[1] for line in answer.output.split("\n") if line.lstrip()[:1].isdigit()]
    # After `:set ff` the client tells no change, so that its line ends are known from the next change on only.
    assert [line.removesuffix("\r") for line in numbered] == editor.lines(), said
