"""The words that names are made of, so that a question in words finds them."""

from __future__ import annotations

import functools
import re
from typing import Final

_PARTS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ENDINGS: Final = re.compile(r"(?<=...)(?:i[sz]ations?|ations?|ings?|ions?|ers?|ies|ed|es|s|y)$")


class WordIndex:
    """Which names have a word in them. A name that was added twice has to be removed twice."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._by_word: dict[str, set[str]] | None = None

    def add(self, name: str) -> None:
        """Take a name in."""
        known = self._names.get(name, 0)
        self._names[name] = known + 1
        if not known and self._by_word is not None:
            for word in words_of(name):
                self._by_word.setdefault(word, set()).add(name)

    def remove(self, name: str) -> None:
        """Take a name out."""
        known = self._names[name]
        if known > 1:
            self._names[name] = known - 1
            return
        del self._names[name]
        if self._by_word is not None:
            for word in words_of(name):
                self._by_word[word].discard(name)

    def names_with(self, word: str) -> set[str]:
        """The names that have a word in them, as ``words_of`` gives it."""
        if self._by_word is None:  # the first question in words pays for it, and no start
            self._by_word = {}
            for name in self._names:
                for each in words_of(name):
                    self._by_word.setdefault(each, set()).add(name)
        return self._by_word.get(word, set())


def words_of(name: str) -> list[str]:
    """The words in a name, in lower case and without their endings; each once, in their order."""
    return list(dict.fromkeys(stemmed(part.lower()) for part in _PARTS.findall(name)))


@functools.lru_cache(maxsize=16_384)
def stemmed(word: str) -> str:
    """A word without the endings that English puts on it; crude, and the same for both sides of a comparison."""
    word = _ENDINGS.sub("", word)
    return word[:-1] if word.endswith("e") and len(word) > 3 else word
