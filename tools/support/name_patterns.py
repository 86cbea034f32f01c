"""Patterns of one name, and many of them as one matcher.

``*`` is any run of characters, ``?`` one character, ``[a-c]`` a class as git has it (``[!x]`` and ``[^x]``,
backslashes, ``[:alpha:]``), a backslash takes the next character literally. A name holds no slash.

Time is bounded whatever the pattern: behind a star the first place that fits is as good as any, so that stars are
atomic groups and nothing is tried twice.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

NAME_MAX_BYTES: Final = 255
"""No file system of ours has longer names; a pattern that needs more matches nothing."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """One pattern: ``literal`` where it is a plain name, ``ending`` where it is a star and what is behind the last dot.

    ``weight`` is about what comparing a long name with it costs, where it is no look into a table.
    """

    regex: str
    literal: str | None = None
    ending: str | None = None
    is_everything: bool = False
    weight: int = 0


Token = str | None
"""A regular expression for one character, or None for a star."""

_SEARCH_WEIGHT: Final = 20  # of a character that is compared at every place of a name, not at one


def name_pattern(tokens: Sequence[Token], plain: str | None) -> NamePattern | None:
    """Compile the tokens of one name; ``plain`` is their text where all but stars are plain characters.

    None: no name can match.
    """
    if not tokens or sum(token is not None for token in tokens) > NAME_MAX_BYTES:
        return None
    chunks = _chunks(tokens)
    if len(chunks) == 1:
        return NamePattern("".join(chunks[0]), literal=plain, weight=0 if plain is not None else len(tokens))
    if len(chunks) == 2 and not chunks[0]:
        if not chunks[1]:
            return NamePattern(".*+", is_everything=True)
        # Everything is taken at once, and then it is looked back at: the fastest way for endings.
        is_plain = plain is not None and plain.rfind(".") == 0
        return NamePattern(
            f".*+(?<={''.join(chunks[1])})", ending=plain if is_plain else None, weight=0 if is_plain else len(tokens)
        )
    first, *middle, last = chunks
    between = "".join(f"(?>.*?{''.join(chunk)})" for chunk in middle)
    # The lookbehind alone could see characters that were taken already.
    ends = f"(?=.{{{len(last)}}}).*+(?<={''.join(last)})" if last else ".*+"
    # Each part is looked for behind the one before, so that all of them together go through a name once.
    weight = len(tokens) + _SEARCH_WEIGHT * max(map(len, middle), default=0)
    return NamePattern(f"{''.join(first)}{between}{ends}", weight=weight)


def _chunks(tokens: Sequence[Token]) -> list[list[str]]:
    """What is between the stars; stars in a row are one."""
    chunks: list[list[str]] = [[]]
    after_star = False
    for token in tokens:
        if token is not None:
            chunks[-1].append(token)
        elif not after_star:
            chunks.append([])
        after_star = token is None
    return chunks


def class_at(text: str, start: int) -> tuple[str, int] | None:
    """The regular expression of the class whose ``[`` is at ``start``, and where it ends; None where it is no class."""
    at = start + 1
    negated = text[at : at + 1] in {"!", "^"}
    at += negated
    ranges: list[tuple[str, str]] = []
    previous, first = "", True
    while first or text[at : at + 1] != "]":
        first = False
        char = text[at : at + 1]
        if char == "-" and previous and text[at + 1 : at + 2] not in {"", "]"}:
            at += 1 + (text[at + 1] == "\\")
            if at >= len(text):
                return None
            ranges.append((previous, text[at]))
            previous = ""
        elif text.startswith("[:", at) and (named := _named_class(text, at)) is not None:
            chars, at = named
            if not chars:
                return None
            ranges.extend((each, each) for each in chars)
            previous = ""
        else:
            at += char == "\\"
            if at >= len(text):
                return None
            previous = text[at]
            ranges.append((previous, previous))
        at += 1
    return _class_regex(ranges, negated), at + 1


def _named_class(text: str, at: int) -> tuple[str, int] | None:
    """The characters of ``[:name:]`` and where its last bracket is; none of an unknown name, None where it is none."""
    end = text.find("]", at + 2)
    if end < 0:
        return "", at
    if end == at + 2 or text[end - 1] != ":":
        return None
    return _NAMED.get(text[at + 2 : end - 1], ""), end


def _class_regex(ranges: Iterable[tuple[str, str]], negated: bool) -> str:
    # A range that runs backwards holds nothing, here as in git.
    inside = "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in ranges if low <= high)
    if not inside:
        return "." if negated else "(?!.)."
    return f"[^{inside}]" if negated else f"[{inside}]"


_PUNCTUATION: Final = string.punctuation
_NAMED: Final = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(32), 127))),
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + _PUNCTUATION,
    "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + _PUNCTUATION + " ",
    "punct": _PUNCTUATION,
    "space": " \t\n\v\f\r",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


class Names:
    """Many patterns as one matcher. Each has a verdict, a number above 0; of those that match the highest counts."""

    __slots__ = ("_endings", "_everything", "_exact", "_match", "_verdicts", "is_empty")

    def __init__(self, patterns: Iterable[tuple[NamePattern, int]]) -> None:
        self._exact: dict[str, int] = {}
        self._endings: dict[str, int] = {}
        self._everything = 0
        others: dict[int, dict[str, None]] = {}
        for pattern, verdict in patterns:
            ending = pattern.ending
            if pattern.literal is not None:
                self._exact[pattern.literal] = max(verdict, self._exact.get(pattern.literal, 0))
            elif ending is not None:
                self._endings[ending] = max(verdict, self._endings.get(ending, 0))
            elif pattern.is_everything:
                self._everything = max(verdict, self._everything)
            else:
                others.setdefault(verdict, {})[pattern.regex] = None
        self._verdicts = sorted((verdict for verdict in others if verdict > self._everything), reverse=True)
        self._match = _merged([others[verdict] for verdict in self._verdicts])
        self.is_empty = not (self._exact or self._endings or self._everything or self._match)

    def look(self, name: str) -> int:
        """The highest verdict of the patterns that match, 0 where none does."""
        verdict = max(
            self._everything, self._exact.get(name, 0), self._endings.get(name[name.rfind(".") :], 0) if name else 0
        )
        if self._match is not None and (found := self._match(name)):
            return max(verdict, self._verdicts[(found.lastindex or 1) - 1])
        return verdict

    def misses(self, names: list[str]) -> list[str]:
        """The names that no pattern matches, in their order; the same list where none is matched."""
        exact, endings, match = self._exact, self._endings, self._match
        if self._everything:
            return []
        if exact and not exact.keys().isdisjoint(names):
            names = [name for name in names if name not in exact]
        if endings:
            if match:
                return [name for name in names if name[name.rfind(".") :] not in endings and not match(name)]
            return [name for name in names if name[name.rfind(".") :] not in endings]
        return [name for name in names if not match(name)] if match else names

    def hits(self, names: list[str]) -> list[str]:
        """The names that a pattern matches, in their order; the same list where all are matched."""
        if self._everything:
            return names
        exact, endings, match = self._exact, self._endings, self._match
        if endings and not exact and not match:
            return [name for name in names if name[name.rfind(".") :] in endings]
        if exact and not endings and not match:
            return [name for name in names if name in exact]
        return [
            name
            for name in names
            if name in exact or name[name.rfind(".") :] in endings or (match is not None and match(name))
        ]


def _merged(groups: list[dict[str, None]]) -> Callable[[str], re.Match[str] | None] | None:
    """One expression whose groups are tried in turn: the first one that matches has the highest verdict."""
    if not groups:
        return None
    return re.compile("(?s:" + "|".join(f"({'|'.join(group)})" for group in groups) + ")\\Z").match


NO_NAMES: Final = Names(())
