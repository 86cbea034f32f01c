"""Why ``oldString`` is not in a text, told so that the next try can be right; pure and bounded.

Nothing here ever makes an edit succeed. The work is bounded by the start of the text that is looked at, and the
answer by a few short lines.
"""

from __future__ import annotations

import heapq
import html
import re
import unicodedata
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Fold: TypeAlias = "Callable[[str], str]"

_LINE_FEED: Final = "\n"

_TEXT_CHARS: Final = 2_000_000
_OLD_CHARS: Final = 20_000
_COMPARED_LINES: Final = 50_000
_COMPARED_LINE_CHARS: Final = 400
_WINDOW_CHARS: Final = 2_000
_COMPARED_CHARS: Final = 160
_COMPARED_WORDS: Final = 100
_CLOSELY_COMPARED: Final = 8
_LEAST_SIMILARITY: Final = 0.5
_SHOWN_LINES: Final = 8
_SHOWN_LINE_CHARS: Final = 200

_NUMBERED: Final = re.compile(r"^ *\d+\t", re.MULTILINE)
_UNESCAPE: Final = re.compile(r"\\([nt\"'])")
_ESCAPES: Final = {"n": "\n", "t": "\t", '"': '"', "'": "'"}
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_WORD: Final = re.compile(r"\w+")
# No combining mark is a word character; no language stacks that many on one letter.
_STACK: Final = re.compile(r"[^\w\x00-\u02ff]{31}")
_LOOKALIKES: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u02bc\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"),
        **dict.fromkeys("\u00a0\u2007\u202f", " "),
        "\u2026": "...",
    }
)


def looked_at(utf8: bytes) -> str:
    """The front of a text as ``why_not_found`` takes it, so that nobody decodes all of a large one."""
    return utf8[: 4 * (_TEXT_CHARS + 1)].decode("utf-8", "ignore")


def why_not_found(text: str, old: str) -> str:
    """One or two sentences, and the lines of the place that comes closest where there is one."""
    if not text:
        return "The text is empty."
    part = text[:_TEXT_CHARS].replace("\r\n", _LINE_FEED)
    as_given, old = old, old[:_OLD_CHARS].replace("\r\n", _LINE_FEED)
    if len(old) == _OLD_CHARS and (at := part.find(old)) >= 0:
        return f"Its first {_OLD_CHARS} characters are there, in line {_line(part, at)}; what follows them differs."
    if "\r\n" in as_given and (at := part.find(old)) >= 0:
        place = _shown(part, _line(part, at), old.rstrip(_LINE_FEED).count(_LINE_FEED) + 1)
        return f"Except for the kind of line ends it would match {place}\nA line feed in oldString matches either kind."
    why = _numbers_copied(part, old) or _differs_only(part, old) or _escaped(part, old) or _most_similar(part, old)
    return why if len(text) <= _TEXT_CHARS else f"(Compared with the first {_TEXT_CHARS} characters only.) {why}"


def _numbers_copied(text: str, old: str) -> str:
    bare = _NUMBERED.sub("", old)
    if bare == old or not bare.strip():
        return ""
    at = text.find(bare)
    found = f" Without them it is in line {_line(text, at)}." if at >= 0 else ""
    return f"oldString holds line numbers, each with a tab, that are no part of the text; leave them out.{found}"


def _differs_only(text: str, old: str) -> str:
    for what, fold in _FOLDS:
        wanted = fold(old)
        if not wanted.strip():
            continue
        folded = fold(text)
        at = folded.find(wanted)
        if at >= 0:
            first = _line(folded, at)
            lines = wanted.rstrip(_LINE_FEED).count(_LINE_FEED) + 1
            return f"Except for {what} it would match {_shown(text, first, lines)}"
    return ""


def _escaped(text: str, old: str) -> str:
    for what, plain in (
        ("backslashes before n, t or a quote", _UNESCAPE.sub(lambda match: _ESCAPES[match[1]], old)),
        ("HTML entities", html.unescape(old)),
    ):
        at = text.find(plain) if plain != old else -1
        if at >= 0:
            return (
                f"oldString holds {what} where the text, in line {_line(text, at)}, has the characters they stand for."
            )
    return ""


def _trailing(text: str) -> str:
    return "\n".join([line.rstrip() for line in text.split("\n")])


def _indentation(text: str) -> str:
    return "\n".join([line.expandtabs(4) for line in text.split("\n")])


def _blanks(text: str) -> str:
    return "\n".join([" ".join(line.split()) for line in text.split("\n")])


def _lookalikes(text: str) -> str:
    plain = text.translate(_LOOKALIKES)
    if any(all(map(unicodedata.combining, stack[0])) for stack in _STACK.finditer(plain)):
        return plain  # sorting such a stack takes the square of its height
    return unicodedata.normalize("NFC", plain)


_FOLDS: Final[tuple[tuple[str, Fold], ...]] = (
    ("blanks at the ends of lines", _trailing),
    ("tabs against spaces", _indentation),
    ("blanks or indentation", _blanks),
    ("the kind of quotes, dashes, blanks or accents", _lookalikes),
    ("upper and lower case", str.lower),
)


def _most_similar(text: str, old: str) -> str:
    old_lines = old.strip("\n").split("\n")
    anchor = max(range(len(old_lines)), key=lambda index: len(old_lines[index].strip()))
    words = set(_WORD.findall(old_lines[anchor][:_COMPARED_LINE_CHARS]))
    lines = text.split("\n", _COMPARED_LINES)[:_COMPARED_LINES]
    shared = ((len(words.intersection(_WORD.findall(line[:_COMPARED_LINE_CHARS]))), -i) for i, line in enumerate(lines))
    promising = heapq.nlargest(_CLOSELY_COMPARED, (pair for pair in shared if pair[0]))
    wanted = "\n".join(old_lines)[:_WINDOW_CHARS]
    best, best_start = _LEAST_SIMILARITY, -1
    for _, negative in promising:
        start = max(0, -negative - anchor)
        ratio = _similarity(wanted, "\n".join(lines[start : start + len(old_lines)])[:_WINDOW_CHARS])
        if ratio > best:
            best, best_start = ratio, start
    if best_start < 0:
        return "No place in it is similar."
    return f"The most similar place: {_shown(text, best_start + 1, len(old_lines))}"


def _similarity(one: str, other: str) -> float:
    """By characters for short texts, by words for longer ones: the comparison is quadratic in what is compared."""
    if max(len(one), len(other)) <= _COMPARED_CHARS:
        matcher = SequenceMatcher[str](None, one, other, autojunk=False)
    else:
        words = (_TOKEN.findall(text)[:_COMPARED_WORDS] for text in (one, other))
        matcher = SequenceMatcher[str](None, *words, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() > _LEAST_SIMILARITY else 0.0


def _shown(text: str, first: int, count: int) -> str:
    lines = text.split("\n", first + _SHOWN_LINES)[first - 1 :][: min(count, _SHOWN_LINES)]
    shown = "\n".join(f"{number:6}\t{_short(line)}" for number, line in enumerate(lines, first))
    rest = f"\n(and {count - _SHOWN_LINES} more lines)" if count > _SHOWN_LINES else ""
    last = first + count - 1
    where = f"line {first}" if count == 1 else f"lines {first}-{last}"
    return f"{where}:\n{shown}{rest}"


def _short(line: str) -> str:
    return line if len(line) <= _SHOWN_LINE_CHARS else f"{line[:_SHOWN_LINE_CHARS]} … ({len(line)} characters)"


def _line(text: str, index: int) -> int:
    return text.count("\n", 0, index) + 1


def named_lines(lines: Sequence[int], total: int) -> str:
    """``lines 3, 17 and 240``, each once, or those of the first places and how many more there are."""
    numbers = [str(line) for line in dict.fromkeys(lines)]
    if total > len(lines):
        numbers.append(f"{total - len(lines)} more places")
    word = "line" if len(set(lines)) == 1 else "lines"
    return f"{word} {', '.join(numbers[:-1])} and {numbers[-1]}" if len(numbers) > 1 else f"{word} {numbers[0]}"
