"""The words of the dialect of Grep: names of classes, escapes, and what to write for those that it has not."""

from __future__ import annotations

from typing import Final

_SCRIPT_NAMES: Final = (
    "Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul Hebrew Hiragana "
    "Kannada Katakana Khmer Lao Latin Malayalam Mongolian Myanmar Sinhala Tamil Telugu Thaana Thai Tibetan"
)
SCRIPTS: Final = frozenset(_SCRIPT_NAMES.split())
_CATEGORY_NAMES: Final = "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp"
CATEGORIES: Final = frozenset(_CATEGORY_NAMES.split())
CASED: Final = {"Lu", "Ll", "Lt"}

POSIX: Final = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\x00\x7f",
    "blank": "\t\t  ",
    "cntrl": "\x00\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": "09AZ__az",
    "xdigit": "09AFaf",
}
CONTROL: Final = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "a": 7}
REFUSED_ESCAPES: Final = {
    "h": "means a blank in some dialects and a hexadecimal digit in others; write [ \\t] or [0-9A-Fa-f]",
    "H": "means different things in different dialects; write [^ \\t] or [^0-9A-Fa-f]",
    "R": "is not in this dialect; with multiline write \\r?\\n",
    "X": "is not in this dialect; write . for one character",
    "K": "is not in this dialect; (?<=..) looks behind",
    "G": "is not in this dialect",
    "Q": "is not in this dialect; escape the characters one by one",
    "E": "is not in this dialect; escape the characters one by one",
    "C": "is not in this dialect; write . for one character",
    "Z": "means different things in different dialects; write $, or \\z with multiline",
    "<": "means the beginning of a word in some dialects and < in others; write \\b or <",
    ">": "means the end of a word in some dialects and > in others; write \\b or >",
    "e": "is not in this dialect; write \\x1b",
    "N": "means different things in different dialects; write [^\\n] or the character itself",
    "c": "is not in this dialect; write \\xHH",
    "o": "is not in this dialect; write \\xHH",
}
