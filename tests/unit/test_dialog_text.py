"""What a dialog shows of foreign text: seen in full or told to be cut, and never taken for the dialog's own."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.bridge.dialog_text import LINE_END, cut_in_the_middle, distinct, marked_lines, one_line

pytestmark = pytest.mark.contract("X4", "B2")

texts = st.text(
    st.characters() | st.sampled_from("\n\r\x1b\u202e\u2066\u200b\u00ad\u3164\u0301\ufeff\u2028](:a \t\\" + LINE_END),
    max_size=200,
)


@given(texts, st.integers(60, 300))
def test_a_line_is_one_line_within_its_bound_and_of_what_is_seen(text: str, most: int) -> None:
    shown = one_line(text, most)
    assert len(shown) <= most
    assert shown.splitlines() in ([], [shown])
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert LINE_END not in shown
    assert "](a:" not in shown


@given(texts, st.integers(3, 12))
def test_every_line_of_a_text_is_behind_its_mark(text: str, most_lines: int) -> None:
    lines = marked_lines(text, "+ ", most_lines=most_lines, most_chars=80)
    assert 1 <= len(lines) <= most_lines + 1
    unmarked = [line for line in lines if not line.startswith("+ ")]
    assert len(unmarked) <= 1
    assert all(line.endswith("lines are not shown)") for line in unmarked)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("src/a b.py", "src/a b.py"),
        ("größe/日本 😋", "größe/日本 😋"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x1b[2Jx", r"\x1b[2Jx"),
        ("gpj.\u202eexe", r"gpj.\u202eexe"),
        ("a\u200bb\u00a0c", r"a\u200bb\xa0c"),
        ("a\u3164b", r"a\u3164b"),
        ("e" + "\u0301" * 6, "e" + "\u0301" * 4 + r"\u0301\u0301"),
        ("[Allow](command:evil)", r"[Allow]\(command:evil)"),
        ("[x]( https://a)", r"[x]\( https://a)"),
        ("a[0](x)", "a[0](x)"),
        (f"ls {LINE_END} rm", r"ls \u23ce rm"),
        ("ls" + " " * 400 + "; rm", "ls…(400 blanks)…; rm"),
        ("    indented", "    indented"),
    ],
)
def test_what_is_not_plainly_seen_is_escaped_and_the_rest_is_left_alone(text: str, shown: str) -> None:
    assert one_line(text, 500) == shown


def test_what_is_cut_keeps_its_end_and_tells_its_length() -> None:
    shown = cut_in_the_middle("a" * 500 + "; rm -rf ~", 100)
    assert len(shown) == 100
    assert shown.startswith("aaa")
    assert "…(510 characters in all)…" in shown
    assert shown.endswith("; rm -rf ~")
    assert cut_in_the_middle("short", 5) == "short"


def test_a_text_of_many_lines_shows_the_first_and_the_last_ones() -> None:
    lines = marked_lines("\n".join(map(str, range(100))), "> ", most_lines=6, most_chars=60)
    assert lines == ["> 0", "> 1", "> 2", "> 3", "(94 lines are not shown)", "> 98", "> 99"]
    assert marked_lines("a\r\nb\rc\n", "- ", most_lines=9, most_chars=60) == ["- a", "- b", "- c"]
    assert marked_lines("", "- ", most_lines=9, most_chars=60) == ["- "]


@given(st.lists(st.sampled_from(["a", "a (2)", "a (3)", "b"]), max_size=12))
def test_titles_are_told_apart(titles: list[str]) -> None:
    told = list(distinct(titles))
    assert len(set(told)) == len(titles)
    assert all(each.startswith(title) for each, title in zip(told, titles, strict=True))
