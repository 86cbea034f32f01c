"""Characters that deceive are told in paths and dialogs, refused in questions, and gone from what was found."""

from __future__ import annotations

import re
import unicodedata

import pytest
from openbuffer.bridge.dialog_text import one_line
from openbuffer.tools.support.found_text import words_of
from openbuffer.tools.support.located import printable
from openbuffer.tools.support.unseen import HIDDEN, SELECTORS, SHAPELESS, TURNING

JOINERS = "\u200c\u200d"
EVERY = [chr(code) for code in range(0x110000) if re.match(f"[{HIDDEN}{SHAPELESS}{TURNING}]", chr(code))]


@pytest.mark.contract("T8", "B3")
def test_a_path_and_a_dialog_tell_each_of_them() -> None:
    for character in EVERY:
        assert printable(f"/ws/a{character}.txt").isascii(), f"U+{ord(character):04X}"
        assert one_line(f"a{character}b", 100).isascii(), f"U+{ord(character):04X}"
        assert words_of(f"a{character}b", 100) == "ab", f"U+{ord(character):04X}"


@pytest.mark.contract("T8")
def test_names_that_people_give_are_shown_as_they_are() -> None:
    for name in (
        "naïve.txt",
        "日本語.md",
        "می\u200cشود.txt",
        "👨\u200d👩\u200d👧.png",
        "葛\U000e0100城.txt",
        "❤\ufe0f.md",
    ):
        assert printable(f"/ws/{name}") == f"/ws/{name}"


@pytest.mark.contract("T8")
def test_every_mark_of_format_is_one_of_them_or_is_part_of_words() -> None:
    formats = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"]
    drawn = re.compile("[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f]")
    music_and_shorthand = re.compile("[\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]")
    left = [
        f"U+{ord(each):04X}"
        for each in formats
        if each not in EVERY and each not in JOINERS and not drawn.match(each) and not music_and_shorthand.match(each)
    ]
    assert left == []
    assert not re.search(f"[{SELECTORS}]", "".join(EVERY))
