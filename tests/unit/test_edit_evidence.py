"""Whether a text that came back holds an edit, lacks it, or cannot tell."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openbuffer.editor_access import edit_evidence
from openbuffer.editor_access.port import TextEdit
from openbuffer.editor_access.text import apply_edits, holds_edits, lacks_edits, minimal_edits

if TYPE_CHECKING:
    from collections.abc import Sequence

Verdict = Literal["holds", "lacks", "undecided"]


def verdict(base: str, edits: Sequence[TextEdit], result: str) -> Verdict:
    holds, lacks = holds_edits(base, edits, result), lacks_edits(base, edits, result)
    assert not (holds and lacks), "never both"
    return "holds" if holds else "lacks" if lacks else "undecided"


def replaced(base: str, old: str, new: str) -> TextEdit:
    assert base.count(old) == 1
    return TextEdit(base.index(old), base.index(old) + len(old), new)


CODE = "def first():\n    return 1\n\n\ndef second():\n    return 2\n\n\ndef third():\n    return 3\n"


@pytest.mark.contract("E7")
def test_the_expected_text_holds_and_the_old_one_lacks() -> None:
    edits = [replaced(CODE, "second", "zweite"), replaced(CODE, "return 3", "return 33")]
    assert verdict(CODE, edits, apply_edits(CODE, edits)) == "holds"
    assert verdict(CODE, edits, CODE) == "lacks"


@pytest.mark.contract("E7")
@pytest.mark.parametrize(
    "typed",
    [
        replaced(CODE, "first", "erste"),
        replaced(CODE, "third", "dritte"),
        replaced(CODE, "    return 2", "    x = 5\n    return x"),
        TextEdit(0, 0, "import os\n"),
        TextEdit(len(CODE), len(CODE), "# end"),
        replaced(CODE, "def first():\n    return 1\n\n\n", ""),
        replaced(CODE, "def third", "async def third"),
    ],
    ids=lambda edit: edit.new_text or "deletion",
)
def test_typing_elsewhere_does_not_matter(typed: TextEdit) -> None:
    edit = replaced(CODE, "second", "zweite")
    assert verdict(CODE, [edit], apply_edits(CODE, sorted([edit, typed], key=lambda e: e.start))) == "holds"
    assert verdict(CODE, [edit], apply_edits(CODE, [typed])) == "lacks"


@pytest.mark.contract("E7")
def test_typing_on_both_sides_in_the_line_of_the_edit_does_not_matter() -> None:
    base = "before the old word and after it\n"
    edit = replaced(base, "old", "brand new")
    typed = [replaced(base, "before", "long before"), replaced(base, "after", "quite after")]
    assert verdict(base, [edit], apply_edits(base, [typed[0], edit, typed[1]])) == "holds"
    assert verdict(base, [edit], apply_edits(base, typed)) == "lacks"


@pytest.mark.contract("E7")
def test_typing_right_beside_a_distinctive_text_does_not_matter() -> None:
    base = "alpha omega\n"
    edit = TextEdit(6, 6, "middle ")
    assert verdict(base, [edit], "alpha -middle omega\n") == "holds"
    assert verdict(base, [edit], "alpha middle -omega\n") == "holds"


def test_typing_right_beside_a_text_of_few_letters_leaves_it_undecided() -> None:
    # "alpha help omega" may hold the "e" of the edit, or one of the user's own.
    base = "alpha omega\n"
    assert verdict(base, [TextEdit(6, 6, "e")], "alpha helpomega\n") == "undecided"


@pytest.mark.contract("E7")
def test_some_hunks_in_and_others_not_is_undecided() -> None:
    edits = [replaced(CODE, "first", "erste"), replaced(CODE, "third", "dritte")]
    assert verdict(CODE, edits, apply_edits(CODE, edits[:1])) == "undecided"
    assert verdict(CODE, edits, apply_edits(CODE, edits[1:])) == "undecided"


@pytest.mark.contract("E7")
def test_an_edit_that_the_user_changed_or_replaced_is_undecided() -> None:
    edit = replaced(CODE, "second", "completely_other")
    assert verdict(CODE, [edit], CODE.replace("second", "completely_and_other")) == "undecided"
    assert verdict(CODE, [edit], CODE.replace("second", "something")) == "undecided"
    assert verdict(CODE, [edit], CODE.replace("def second", "def")) == "undecided"
    assert verdict(CODE, [edit], "a text of its own\n") == "undecided"
    assert verdict(CODE, [edit], "") == "undecided"


@pytest.mark.contract("E7")
def test_an_edit_that_was_undone_is_lacking_whatever_was_typed_elsewhere() -> None:
    edit = replaced(CODE, "second", "zweite")
    assert verdict(CODE, [edit], CODE.replace("third", "dritte")) == "lacks"


@pytest.mark.contract("E7")
def test_the_same_change_at_another_place_is_not_the_edit() -> None:
    base = "call()\nalpha\ncall()\nomega\ncall()\n"
    edit = TextEdit(base.index("call", 10), base.index("call", 10) + 4, "invoke")
    assert verdict(base, [edit], "invoke()\nalpha\ncall()\nomega\ncall()\n") == "lacks"
    assert verdict(base, [edit], "call()\nalpha\ncall()\nomega\ninvoke()\n") == "lacks"
    assert verdict(base, [edit], "invoke()\nalpha\ninvoke()\nomega\ncall()\n") == "holds"


def test_the_same_change_in_a_neighbouring_equal_line_is_not_held() -> None:
    base = "call()\ncall()\n"
    assert verdict(base, [TextEdit(0, 4, "invoke")], "call()\ninvoke()\n") != "holds"


@pytest.mark.contract("E7")
def test_a_new_text_that_already_stands_elsewhere_is_not_taken_for_the_edit() -> None:
    base = "return None\nx = 1\ny = 2\n"
    edit = replaced(base, "y = 2", "return None")
    assert verdict(base, [edit], "return None\nx = 10\ny = 2\n") == "lacks"
    assert verdict(base, [edit], "return None\nx = 10\nreturn None\n") == "holds"


@pytest.mark.contract("E7")
def test_an_added_line_among_equal_lines_is_seen() -> None:
    base = "start\n\n\nend\n"
    edit = TextEdit(6, 6, "\n")
    assert verdict(base, [edit], "start\n\n\n\nend\ntyped\n") == "holds"
    assert verdict(base, [edit], "start\n\n\nend\ntyped\n") == "lacks"


@pytest.mark.contract("E7")
def test_a_deletion_is_seen_by_what_meets_where_it_was() -> None:
    base = "keep\nremove\nlast\n"
    edit = replaced(base, "remove\n", "")
    assert verdict(base, [edit], "keep\nlast\ntyped\n") == "holds"
    assert verdict(base, [edit], "keep\nremove\nlast\ntyped\n") == "lacks"
    assert verdict(base, [edit], "keep\nsomething\nlast\n") == "undecided"
    assert verdict(base, [edit], "keep\nremove it\nlast\n") == "undecided"


def test_one_of_two_equal_lines_deleted_is_held_and_lacking_only_where_that_is_certain() -> None:
    base = "a = 1\nsame\nsame\nb = 2\n"
    edit = TextEdit(6, 11, "")
    assert verdict(base, [edit], "a = 1\nsame\nb = 2\ntyped\n") == "holds"
    assert verdict(base, [edit], "typed\na = 1\nsame\nsame\nb = 2\n") == "lacks"


@pytest.mark.contract("E7")
def test_typing_right_beside_an_old_text_does_not_hide_that_it_still_stands_there() -> None:
    assert verdict("a\r\nb\r\n", [TextEdit(1, 3, "\n"), TextEdit(4, 6, "\n")], "a\r\nb\r\nc") == "lacks"
    assert verdict("one\ntwo\n", [TextEdit(4, 7, "TWO")], "one\ntwo!\n") == "lacks"


def test_what_is_beside_a_new_text_may_be_a_rest_of_the_old_one() -> None:
    base = "please remove this now\n"
    assert verdict(base, [replaced(base, "remove this", "KEEP")], "please remove thKEEP now\n") == "undecided"


@pytest.mark.contract("E7")
def test_a_line_added_right_below_a_changed_line_does_not_matter() -> None:
    assert verdict("one\ntwo\n", [TextEdit(4, 7, "TWO")], "one\nTWO\nthree\n") == "holds"
    assert verdict("one\ntwo\n", [TextEdit(4, 7, "TWO")], "one\nzero\nTWO\n") == "holds"
    assert verdict("one\ntwo\n", [TextEdit(4, 7, "TWO")], "one\ntwo\nthree\n") == "lacks"


def test_edits_that_are_near_each_other_are_judged_each() -> None:
    base = "f(a, b, c)\n"
    edits = [TextEdit(2, 3, "x"), TextEdit(8, 9, "z")]
    assert verdict(base, edits, "f(x, bb, z)\n") == "holds"
    assert verdict(base, edits, "f(x, bb, c)\n") == "undecided"
    assert verdict(base, edits, "f(a, bb, c)\n") == "lacks"


def test_edits_without_effect_are_always_held() -> None:
    assert verdict("abc", [], "anything") == "holds"
    assert verdict("abc", [TextEdit(0, 1, "a")], "anything") == "holds"


def test_edits_that_do_not_fit_are_refused() -> None:
    for judge in (holds_edits, lacks_edits):
        with pytest.raises(ValueError, match="does not lie"):
            judge("abc", [TextEdit(0, 9, "")], "abc")


@st.composite
def scenes(draw: st.DrawFn) -> tuple[str, list[TextEdit], list[TextEdit]]:
    """A text, hunks, and changes of a user, all apart; no character but the line feed occurs twice anywhere."""
    fresh = iter(draw(st.permutations([chr(code) for code in range(0x4E00, 0x4E00 + 160)])))
    parts: list[str] = []
    edits: dict[str, list[TextEdit]] = {"hunk": [], "typed": [], "none": []}
    at = 0
    for kind in draw(st.lists(st.sampled_from(["hunk", "typed", "none"]), min_size=1, max_size=7)):
        gap = "".join(next(fresh) for _ in range(2)) + draw(st.sampled_from(["", "\n"])) + next(fresh)
        old = "".join(next(fresh) for _ in range(draw(st.integers(0, 4)))) + draw(st.sampled_from(["", "", "\n"]))
        new = "".join(next(fresh) for _ in range(draw(st.integers(0, 5)))) + draw(st.sampled_from(["", "", "\n"]))
        if kind != "none" and old != new:
            edits[kind].append(TextEdit(at + len(gap), at + len(gap) + len(old), new))
        parts += (gap, old)
        at += len(gap) + len(old)
    parts.append("".join(next(fresh) for _ in range(3)))
    return "".join(parts), edits["hunk"], edits["typed"]


@pytest.mark.contract("E7")
@given(scene=scenes())
@settings(max_examples=200)
def test_hunks_are_held_with_and_lacking_without_them_whatever_was_typed_apart(
    scene: tuple[str, list[TextEdit], list[TextEdit]],
) -> None:
    base, hunks, typed = scene
    both = apply_edits(base, sorted([*hunks, *typed], key=lambda edit: edit.start))
    assert verdict(base, hunks, both) == "holds"
    if hunks:
        assert verdict(base, hunks, apply_edits(base, typed)) == "lacks"
    if len(hunks) > 1:
        some = apply_edits(base, sorted([*hunks[1:], *typed], key=lambda edit: edit.start))
        assert verdict(base, hunks, some) == "undecided"


WORDS = ["alpha", "beta", "gamma", "delta", "x", "y", "(", ")", "=", "return", "if", "  ", "    "]


@pytest.mark.contract("E7")
@pytest.mark.parametrize("seed", range(6))
def test_in_repetitive_code_a_verdict_is_never_the_opposite_of_the_truth(seed: int) -> None:
    rng = random.Random(seed)
    decided = 0
    for number in range(60):
        lines = [" ".join(rng.choices(WORDS, k=rng.randrange(5))) + "\n" for _ in range(30)]
        starts = [sum(map(len, lines[:index])) for index in range(30)]
        # One hunk with a word that stands nowhere else, and typing in another line, made of the common words.
        at, other = rng.sample(range(30), 2)
        base = "".join(lines)
        hunk = TextEdit(starts[at], starts[at] + len(lines[at]) - 1, f"unique {number} " + lines[at].strip())
        typed = TextEdit(starts[other], starts[other] + len(lines[other]) - 1, " ".join(rng.choices(WORDS, k=3)))
        ordered = sorted([hunk, typed], key=lambda edit: edit.start)
        with_hunk = verdict(base, [hunk], apply_edits(base, ordered))
        without = verdict(base, [hunk], apply_edits(base, [typed]))
        assert with_hunk != "lacks"
        assert without != "holds"
        decided += (with_hunk == "holds") + (without == "lacks")
    assert decided >= 114, "and it is hardly ever in doubt"


@given(
    base=st.text(alphabet="ab\n", max_size=12),
    result=st.text(alphabet="ab\n", max_size=12),
    data=st.data(),
)
@settings(max_examples=300)
def test_no_text_is_ever_held_and_lacking_at_once(base: str, result: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(base)))
    edit = TextEdit(start, data.draw(st.integers(start, len(base))), data.draw(st.text(alphabet="ab\n", max_size=3)))
    found = verdict(base, [edit], result)
    if result == base and apply_edits(base, [edit]) != base:
        assert found == "lacks"


@pytest.mark.timeout(60)
def test_a_text_with_nothing_in_common_is_judged_soon() -> None:
    base = "".join(f"line {number}\n" for number in range(100_000))
    edits = [TextEdit(500, 504, "LINE"), TextEdit(700_000, 700_001, "")]
    result = "".join(f"other {number}\n" for number in range(100_000))
    assert verdict(base, edits, result) == "undecided"
    assert verdict(base, edits, "typed\n" + apply_edits(base, edits)) == "holds"
    assert verdict(base, edits, "typed\n" + base) == "lacks"


@pytest.mark.contract("E7")
def test_new_text_between_new_neighbours_may_be_in_a_wrong_place() -> None:
    base = "k0 and more\n"
    edit = TextEdit(2, 2, "<01>")
    # Made one character too early by an editor in whose text one was typed before it; then one was typed after it.
    assert verdict(base, [edit], "+k<01>0- and more\n") == "undecided"
    for beside in ("+k0<01> and more\n", "k0+<01> and more\n", "k0<01>- and more\n"):
        assert verdict(base, [edit], beside) == "holds"


@pytest.mark.timeout(60)
@pytest.mark.contract("E7")
def test_so_is_one_of_very_many_hunks_whatever_came_back() -> None:
    rng = random.Random(1)
    size = 2 * 1024 * 1024
    base, wanted = ("".join(rng.choices("abcdefgh \n", k=size)) for _ in range(2))
    edits = minimal_edits(base, wanted)
    assert len(edits) > 100
    assert verdict(base, edits, base[::-1]) == "undecided"
    assert verdict(base, edits, wanted) == "holds"
    assert verdict(base, edits, base) == "lacks"


# --- large texts -----------------------------------------------------------------------------------------------

LINES = [f"line {number} of a long text\n" for number in range(8_000)]
LONG = "".join(LINES)


def spread(count: int) -> list[TextEdit]:
    """As many edits all over the long text."""
    starts = [sum(map(len, LINES[:index])) for index in range(100, 7_900, 7_800 // count)]
    return [TextEdit(start, start + 4, "LINE") for start in starts]


@pytest.mark.contract("E7")
@pytest.mark.parametrize("count", [1, 40])
@pytest.mark.parametrize("where", [0, len(LONG) // 2 + 11, len(LONG)])
@pytest.mark.parametrize(("removed", "typed"), [(0, "typed"), (0, "typed\nlines\n" * 50), (5, "")])
def test_typing_elsewhere_in_a_large_text_needs_no_comparison_of_lines(
    monkeypatch: pytest.MonkeyPatch, count: int, where: int, removed: int, typed: str
) -> None:
    def compared(*_: object) -> None:
        raise AssertionError("the lines were compared")

    monkeypatch.setattr(edit_evidence, "changed_spans", compared)
    edits = spread(count)
    typing = TextEdit(min(where, len(LONG) - removed), min(where, len(LONG) - removed) + removed, typed)
    both = apply_edits(LONG, sorted([*edits, typing], key=lambda edit: edit.start))
    assert verdict(LONG, edits, both) == "holds"
    assert verdict(LONG, edits, apply_edits(LONG, [typing])) == "lacks"


@pytest.mark.contract("E7")
def test_a_part_of_the_edits_in_a_large_text_is_undecided() -> None:
    edits = spread(3)
    assert verdict(LONG, edits, apply_edits(LONG, edits[:2])) == "undecided"
    assert verdict(LONG, edits, apply_edits(LONG, [*edits[:2], TextEdit(len(LONG), len(LONG), "typed")])) == "undecided"


@pytest.mark.contract("E7")
@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_what_is_obvious_never_contradicts_the_comparison_in_full(data: st.DataObject) -> None:
    lines = st.lists(st.sampled_from(["a\n", "b\n", "ab\n", "\n"]), max_size=14).map("".join)
    base, result = data.draw(lines), data.draw(lines)
    first, second = sorted(data.draw(st.tuples(*[st.integers(0, len(base))] * 2)))
    edits = [TextEdit(first, second, data.draw(lines))]
    candidates = [result, apply_edits(base, minimal_edits(base, result)[:1])]
    expected = apply_edits(base, edits)
    at = data.draw(st.integers(0, len(expected)))
    candidates.append(expected[:at] + data.draw(st.sampled_from(["x", "a\n", "b"])) + expected[at:])
    at = data.draw(st.integers(0, len(base)))
    candidates.append(base[:at] + data.draw(st.sampled_from(["x", "a\n", "b"])) + base[at:])
    for candidate in candidates:
        in_full = verdict(base, edits, candidate)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(edit_evidence, "_LARGE_CHARS", 0)
            patched.setattr(edit_evidence, "_APART_CHARS", 3)
            assert {in_full, verdict(base, edits, candidate)} != {"holds", "lacks"}
