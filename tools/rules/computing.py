"""What a shell computes: it runs what a value has in its brackets, whether the line, a file or a variable brings it.

So calculating with anything but numbers is not understood.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .shell_words import Word

COMPUTES: Final = "computes with what is no number"

_NUMBER: Final = rb"(?:-?\d+|\$[?#]|\$\{#\w+\})"
_COMPUTING_TEST: Final = re.compile(rb"-(?:eq|ne|lt|le|gt|ge|v|R)\b")
_COMPARED_NUMBERS: Final = re.compile(rb"(?<!\S)%b\s+-(?:eq|ne|lt|le|gt|ge)\s+%b(?!\S)" % (_NUMBER, _NUMBER))
_CALCULATION: Final = re.compile(rb"(?:[\s\d()+*/%<>=!&|^~?:,\]-]|\$[?#]|\$\{#\w+\})*+")
_PART: Final = re.compile(rb"\$\{#?(?:\w+|[@*?#$!-]):(?![-+?=])(.*)\}", re.DOTALL)

_BINARY: Final = frozenset(
    {"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "-a", "-o"}
)
_BEFORE_OPERATORS: Final = frozenset({"[", "test", "!", "(", "-a", "-o"})
_IN_BRACKETS: Final = re.compile(r"\$\(|`|\[")


def is_number(text: bytes) -> bool:
    """Whether nothing but numbers and signs is computed."""
    return _CALCULATION.fullmatch(text) is not None


def takes_part(expansion: bytes) -> bool:
    """Whether ``${...}`` cuts out a part at a place that is no number."""
    part = _PART.fullmatch(expansion)
    return part is not None and not all(map(is_number, part[1].split(b":")))


def compares_unknown(test: bytes) -> bool:
    """Whether ``[[ ]]`` compares what is no number, or looks for a variable."""
    return len(_COMPUTING_TEST.findall(test)) != len(_COMPARED_NUMBERS.findall(test))


def may_compute(program: str, words: Sequence[Word]) -> bool:
    """Whether a program of the shell may take a word for an expression, or for a variable with one in its brackets."""
    if any(_IN_BRACKETS.search(word.text) for word in words[1:]):
        return True
    if program not in {"[", "test"}:
        return program == "wait" and not all(word.is_exact for word in words)
    end = len(words) - (program == "[")
    return any(
        words[at].splits or words[at].text in {"-v", "-R"} or _may_be_operator(words[at - 1 : min(at + 2, end)])
        for at in range(1, end)
    )


def _may_be_operator(around: Sequence[Word]) -> bool:
    """Whether the second of these words of a test may be one that has the third taken for a variable."""
    if len(around) < 3 or not around[1].text.startswith(("\0", "-\0")):
        return False
    return around[0].text in _BEFORE_OPERATORS and around[2].text not in _BINARY
