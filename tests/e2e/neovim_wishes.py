"""What an agent asks for in a random history, and a model of what each wish leads to.

Texts are *plain*: without carriage returns, and without one final line end, which Neovim keeps to itself.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable
    from pathlib import Path

    from .neovim import Answer, Call

Said = Literal["done", "nothing", "unknown", "cancelled"]
PIECES = ["a", "b", "é", "😋", "\t", "日", "e\u0301", "x y", "\u2028", "  ", "<", "👩‍💻", "."]
_MARK = re.compile(r"[kuao]\d+~")


def plain(text: str) -> str:
    return text.replace("\r", "").removesuffix("\n")


def plain_bytes(data: bytes) -> str:
    return plain(data.decode())


@dataclass(slots=True, kw_only=True)
class Wish:
    """A call of Edit, Write or Read, and what became of it."""

    tool: str
    path: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    is_cancelled: bool = False
    number: int = 0
    call: Call | None = None
    answer: Answer | None = None

    @property
    def params(self) -> dict[str, Any]:
        return {"name": self.tool, "arguments": {"filePath": self.path, **self.arguments}}

    @property
    def changes(self) -> bool:
        return self.tool != "Read"

    def results(self, before: str | None) -> set[str]:
        """What a plain text may be once this wish was made in it; empty where it cannot be. None: there is no file."""
        if self.tool == "Write":
            return {plain(self.arguments["content"])}
        if before is None:
            return set()
        old, new = self.arguments["oldString"], self.arguments["newString"]
        texts = [text for text in (before, before + "\n") if old in text]
        if not self.arguments["replaceAll"]:
            texts = [text for text in texts if text.count(old) == 1]
        return {plain(text.replace(old, new)) for text in texts}

    def led(self, before: str, after: str, bases: Iterable[str]) -> bool:
        """Whether this wish, and nothing else, made one of the other.

        An Edit may have been prepared for one of ``bases`` and moved along with what was typed elsewhere since. Then
        it takes and brings the same characters as there, and none of the marks that have come since.
        """
        if after in self.results(before):
            return True
        return self.tool == "Edit" and any(
            _differ_alike(base, wanted, before, after)
            for base in set(bases)
            for wanted in self.results(base)
            if base != before
        )

    def fits(self, text: str) -> bool:
        """Whether nothing about the wish itself stands in its way, the end of the text left aside."""
        if self.tool == "Write":
            return True
        old, new = self.arguments["oldString"], self.arguments["newString"]
        found = len(re.findall(f"(?={re.escape(old)})", text, re.DOTALL))
        return (
            old != new
            and not (text + "\n").endswith(old)
            and (found == 1 or (found > 1 and self.arguments["replaceAll"]))
        )

    @property
    def said(self) -> Said:
        """What the answer claims."""
        assert self.answer is not None
        if self.answer.is_hard_error:
            assert self.is_cancelled, self
            assert "cancel" in self.answer.error.lower(), self
            return "cancelled"
        if self.answer.success:
            return "done"
        error = self.answer.error.lower()
        assert self.path in self.answer.error, self
        if "nothing was changed" in error:
            return "nothing"
        if "outcome is unknown" in error or "may be this edit" in error:
            return "unknown"
        return "nothing"

    def __str__(self) -> str:
        return f"{self.params}{' cancelled' if self.is_cancelled else ''} -> {self.answer}"


def _differ_alike(base: str, wanted: str, before: str, after: str) -> bool:
    old, new, was, became = map(Counter, (base, wanted, before, after))
    since = Counter(_MARK.findall(before)) - Counter(_MARK.findall(base))
    return new - old == became - was and old - new == was - became and not since - Counter(_MARK.findall(after))


def some_text(dice: random.Random, most: int = 3) -> str:
    return "".join(dice.choice(PIECES) for _ in range(dice.randint(0, most)))


def some_edit(dice: random.Random, path: Path, text: str, mark: str) -> Wish:
    """An Edit of a place that is in ``text``: with a mark of its own, or of any few characters anywhere."""
    marks = [found for found in _MARK.findall(text) if text.count(found) == 1]
    if not marks or dice.random() < 0.25:
        whole = text + "\n"
        start = dice.randrange(len(whole))
        old = whole[start : start + dice.randint(1, 6)]
        new = dice.choice([some_text(dice), mark]) + dice.choice(["", "\n", "\n\n", "z"])
        arguments = {"oldString": old, "newString": new, "replaceAll": True}
    else:
        old = dice.choice(marks)
        # Where the old text stays, making the edit twice is possible, and seen.
        new = dice.choice([old + mark, old + mark, f"{mark}\n{old}", f"{old}\n{some_text(dice)}{mark}", mark, ""])
        arguments = {"oldString": old, "newString": new, "replaceAll": dice.random() < 0.2}
    return Wish(tool="Edit", path=str(path), arguments=arguments)


def some_write(dice: random.Random, path: Path, text: str, mark: str) -> Wish:
    """A Write of the text with a few lines changed, or of something else altogether."""
    if dice.random() < 0.1:
        return Wish(tool="Write", path=str(path), arguments={"content": dice.choice(["", "\n", mark, f"{mark}\n\n"])})
    wanted = text.split("\n")
    for _ in range(dice.randint(1, 3)):
        place, kind = dice.randint(0, len(wanted)), dice.random()
        if kind < 0.4 or not wanted:
            wanted.insert(place, some_text(dice))
        elif kind < 0.7:
            del wanted[min(place, len(wanted) - 1)]
        else:
            wanted[min(place, len(wanted) - 1)] += dice.choice(["é", "😋", "z"])
    wanted.insert(dice.randint(0, len(wanted)), mark)
    content = "\n".join(wanted) + dice.choice(["\n", "\n", ""])
    return Wish(tool="Write", path=str(path), arguments={"content": content})
