"""Patterns of commands, such as ``git status:*`` or ``npm run test``: compared word by word, never as text."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .shell_words import Word

Match: TypeAlias = Literal["yes", "maybe", "no"]

WORDS_MAX: Final = 400
"""Of a command; what is behind them is not known."""

_PLACES_MAX: Final = 50
_PATTERN_MAX_WORDS: Final = 64
_OPERATORS: Final = frozenset(";&|<>()`\n")


class CommandPatternError(ValueError):
    """The text is no pattern of one command; it says what is expected."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One word of a pattern: what stands between its stars."""

    chunks: tuple[str, ...]

    @property
    def literal(self) -> str | None:
        return self.chunks[0] if len(self.chunks) == 1 else None

    @property
    def is_any_words(self) -> bool:
        return self.chunks == ("", "")

    def fits(self, text: str) -> bool:
        chunks = self.chunks
        if len(chunks) == 1:
            return text == chunks[0]
        first, last = chunks[0], chunks[-1]
        if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
            return False
        at, end = len(first), len(text) - len(last)
        for chunk in chunks[1:-1]:
            found = text.find(chunk, at, end)
            if found < 0:
                return False
            at = found + len(chunk)
        return True

    def may_fit(self, text: str) -> bool:
        """Whether a word that begins like this, up to what is unknown of it, may fit."""
        known = text.partition("\0")[0]
        first = self.chunks[0]
        return first.startswith(known) or (len(self.chunks) > 1 and known.startswith(first))


class CommandPattern:
    """One pattern. A word ``*`` is any words, ``:*`` at the end too; ``*`` in a word is any part of it.

    Raises:
        CommandPatternError: it is empty, has operators of a shell, or a quote that is not closed.
    """

    def __init__(self, text: str, *, folds: bool = False) -> None:
        self.text = text
        self._folds = folds
        body, is_open = (text[:-2], True) if text.endswith(":*") else (text, False)
        parts = _parts(body)
        if is_open or (len(parts) > 1 and parts[-1].is_any_words):
            parts = [*parts[: len(parts) if is_open else -1], _ANY]
        if all(part.is_any_words for part in parts):
            raise CommandPatternError("names no word; leave the brackets out for every command")
        if len(parts) > _PATTERN_MAX_WORDS:
            raise CommandPatternError(f"has more than {_PATTERN_MAX_WORDS} words")
        if folds:
            parts[0] = _Part(tuple(chunk.casefold() for chunk in parts[0].chunks))
        self._parts = tuple(parts)
        self._literals = tuple(part.chunks[0] for part in self._parts if part.literal is not None)
        self._names_path = "/" in "".join(parts[0].chunks)

    @property
    def program(self) -> str | None:
        """The name that the program must have, without directories; None where it has a star."""
        literal = self._parts[0].literal
        return None if literal is None else self._folded(posixpath.basename(literal))

    def known_words(self) -> int:
        """How many words it names before the first that can be any."""
        return next((at for at, part in enumerate(self._parts) if part.is_any_words), len(self._parts))

    def allows(self, words: Sequence[Word]) -> bool:
        """Whether it is certain that the command is one that is meant; the program is as it is written."""
        return self._walk([word.text for word in words], [word.is_exact for word in words], guesses=False)

    def restricts(self, words: Sequence[Word]) -> Match:
        """Whether the command is, or may be, one that is meant; the program by whatever path."""
        texts = [word.text for word in words]
        if not self._names_path:
            texts[0] = posixpath.basename(texts[0])
        texts[0] = self._folded(texts[0])
        exact = [word.is_exact for word in words]
        if self._walk(texts, exact, guesses=False):
            return "yes"
        if all(exact) and len(texts) <= WORDS_MAX:
            return "no"
        return "maybe" if self._walk(texts, exact, guesses=True) else "no"

    def occurs_in(self, words: Sequence[str], names: Sequence[str]) -> bool:
        """Whether it may be in a line of which only the words are known, and not what they are to each other.

        ``names`` are the words without directories.
        """
        first, *rest = self._parts
        texts = words if self._names_path else names
        if first.literal is not None and not self._folds:
            places = _places_of(first.literal, texts)
        else:
            places = [at for at, text in enumerate(texts) if first.fits(self._folded(text))][:_PLACES_MAX]
        for at in places:
            following = iter(words[at + 1 : at + 1 + WORDS_MAX])
            if all(part.is_any_words or any(part.fits(text) for text in following) for part in rest):
                return True
        return False

    def _folded(self, text: str) -> str:
        return text.casefold() if self._folds else text

    def _walk(self, texts: Sequence[str], exact: Sequence[bool], *, guesses: bool) -> bool:
        """Go through words and parts together; ``guesses``: unknown words are what would fit."""
        parts = self._parts
        cut = len(texts) > WORDS_MAX
        places = {0}
        for text, is_exact in zip(texts[:WORDS_MAX], exact, strict=False):
            following: set[int] = set()
            for at in self._opened(places):
                part = parts[at] if at < len(parts) else None
                if part is None:
                    continue
                if part.is_any_words:
                    following.add(at)
                elif is_exact and part.fits(self._folded(text) if at == 0 else text):
                    following.add(at + 1)
                elif not is_exact and guesses and part.may_fit(text):
                    # Nobody knows how many words it becomes, so that all that is behind may be reached.
                    following.update(range(at, len(parts) + 1))
            if not following:
                return False
            places = following
        reached = self._opened(places)
        if cut:
            return guesses or (len(parts) - 1 in reached and parts[-1].is_any_words)
        return len(parts) in reached

    def _opened(self, places: set[int]) -> set[int]:
        """With what is behind a part that may be no word at all."""
        found = set(places)
        for place in places:
            at = place
            while at < len(self._parts) and self._parts[at].is_any_words:
                at += 1
                found.add(at)
        return found


def _places_of(text: str, texts: Sequence[str]) -> list[int]:
    """Where a word stands among others: the first few places."""
    places: list[int] = []
    at = -1
    while len(places) < _PLACES_MAX:
        try:
            at = texts.index(text, at + 1)
        except ValueError:
            break
        places.append(at)
    return places


_ANY: Final = _Part(("", ""))


def _parts(text: str) -> list[_Part]:
    """The words of a pattern; quotes and backslashes are those of a shell."""
    parts: list[_Part] = []
    chunks: list[str] | None = None
    quote = ""
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if quote:
            if char == quote:
                quote = ""
                continue
        elif char in " \t":
            if chunks is not None:
                parts.append(_Part(_without_doubles(chunks)))
            chunks = None
            continue
        elif char in "'\"":
            quote = char
            chunks = chunks or [""]
            continue
        elif char == "\\" and at < len(text):
            char = text[at]
            at += 1
        elif char == "*":
            chunks = [*(chunks or [""]), ""]
            continue
        elif char in _OPERATORS or (char == "$" and text[at : at + 1] == "("):
            raise CommandPatternError(
                f"has {char!r}, and a rule is about one command; quote it, or write one rule for each"
            )
        chunks = chunks or [""]
        chunks[-1] += char
    if quote:
        raise CommandPatternError(f"has a {quote} that is not closed")
    if chunks is not None:
        parts.append(_Part(_without_doubles(chunks)))
    return parts


def _without_doubles(chunks: list[str]) -> tuple[str, ...]:
    """Stars in a row are one."""
    return (chunks[0], *(chunk for chunk in chunks[1:-1] if chunk), *chunks[1:][-1:])
