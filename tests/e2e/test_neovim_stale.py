"""Real Neovim, no plugin: edits that meet text the server has not seen.

Neovim skips a stale edit and answers ``applied: true``. Whatever happens, "success" means that the edit is in the
buffer, a failure that says "nothing was changed" means that it is not, and nothing that the user typed is lost.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from .neovim import Call, Neovim, editor_in, folder_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.editor
_numbers = itertools.count(1)
HUNDRED = "".join(f"{number}\n" for number in range(1, 101))


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    yield from editor_in(tmp_path_factory.mktemp("nvim"))


@pytest.fixture
def folder(editor: Neovim) -> Iterator[Path]:
    yield from folder_in(editor, editor.root / f"stale{next(_numbers)}")


@pytest.mark.contract("B4", "E7", "E2")
@pytest.mark.parametrize("flush", [False, True], ids=["debounced", "flushed"])
@pytest.mark.parametrize("seen", [False, True], ids=["version-0", "later-version"])
def test_typing_while_an_edit_is_on_its_way_loses_neither(
    editor: Neovim, folder: Path, flush: bool, seen: bool
) -> None:
    file = folder / "a.txt"
    file.write_text("a\nb\nc\n")
    editor.open(file)
    if seen:
        editor.type("Goseen<Esc>")
        assert "seen" in editor.read(file).output
    before = editor.lines()
    call = editor.begin_then_type("Edit", _edit(file, "a", "A"), "2Gcctyped<Esc>", flush=flush)
    answer = call.answer()
    assert editor.lines()[1] == "typed"
    if answer.success:
        assert editor.lines() == ["A", "typed", *before[2:]]
    else:
        _is_an_honest_failure(answer.error, file)
    # Once the server has seen the typing nothing stands in the way of the edit.
    again = editor.edit(file, "a", "A") if not answer.success and "A" not in editor.lines() else answer
    assert again.success or "A" in editor.lines(), again
    assert editor.lines() == ["A", "typed", *before[2:]]
    assert file.read_text() == "a\nb\nc\n"


@pytest.mark.contract("B4", "E7")
@pytest.mark.parametrize("flush", [False, True], ids=["debounced", "flushed"])
@pytest.mark.parametrize("seen", [False, True], ids=["version-0", "later-version"])
def test_a_skipped_edit_is_redone_from_a_fresh_read_and_lands(
    editor: Neovim, folder: Path, flush: bool, seen: bool
) -> None:
    file = folder / "a.txt"
    file.write_text("a\nb\nc\n")
    editor.open(file)
    if seen:
        editor.type("GA!<Esc>")
        assert "c!" in editor.read(file).output
    # New lines above the place: an edit at the old place would hit what was just typed. Neovim checks no version
    # while the document is at version 0, as it is until its first change.
    call = editor.begin_then_type("Edit", _edit(file, "b", "B"), "ggOone<Esc>Ozero<Esc>", flush=flush)
    answer = call.answer()
    assert editor.lines() == ["zero", "one", "a", "B", "c!" if seen else "c"], answer
    assert answer.success, answer


@pytest.mark.contract("B4", "E7")
@pytest.mark.parametrize("flush", [False, True], ids=["debounced", "flushed"])
def test_an_edit_whose_text_the_user_removes_meanwhile_is_not_reported_as_done(
    editor: Neovim, folder: Path, flush: bool
) -> None:
    file = folder / "a.txt"
    file.write_text("a\nb\nc\n")
    editor.open(file)
    editor.type("Goseen<Esc>")
    assert "seen" in editor.read(file).output
    answer = editor.begin_then_type("Edit", _edit(file, "b", "B"), "2Gdd", flush=flush).answer()
    assert not answer.success, answer
    assert str(file) in answer.error
    assert editor.lines() == ["a", "c", "seen"]


@pytest.mark.contract("B4", "E7")
def test_an_edit_whose_text_the_user_changes_the_same_way_is_there_once(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("a\nb\nc\n")
    editor.open(file)
    editor.type("Goseen<Esc>")
    assert "seen" in editor.read(file).output
    editor.begin_then_type("Edit", _edit(file, "b", "B"), "2GccB<Esc>").answer()
    assert editor.lines() == ["a", "B", "c", "seen"]


@pytest.mark.contract("B4", "E7", "F3")
def test_a_write_that_meets_typing_never_takes_it_away_unseen(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("a\nb\nc\n")
    editor.open(file)
    editor.type("Goseen<Esc>")
    assert "seen" in editor.read(file).output
    wanted = {"filePath": str(file), "content": "A\nb\nc\nseen\n"}
    answer = editor.begin_then_type("Write", wanted, "2Gcctyped<Esc>").answer()
    if answer.success:
        # The whole text is what was asked for; what was typed is one undo step away.
        assert editor.lines() == ["A", "b", "c", "seen"]
        editor.type("u")
    else:
        _is_an_honest_failure(answer.error, file)
    assert editor.lines()[1] == "typed"


@pytest.mark.contract("B4", "E7")
def test_a_user_in_insert_mode_keeps_typing_through_an_edit(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text(HUNDRED)
    editor.open(file)
    editor.type("80Gccin the mid")
    calls: list[Call] = []
    for number in (10, 11, 12):
        calls.append(editor.begin("Edit", _edit(file, f"\n{number}\n", f"\nten\nmore {number}\n")))
        editor.type("dle of ")
    answers = [call.answer() for call in calls]
    assert editor.api("nvim_get_mode")["mode"] == "i"
    editor.type("it<Esc>")
    assert editor.lines().count("in the middle of dle of dle of it") == 1
    for number, answer in zip((10, 11, 12), answers, strict=True):
        assert answer.success == (f"more {number}" in editor.lines()), answer
    # Typing and edits take turns for ever at most for the attempts a call has; each must have had its turn here.
    assert any(answer.success for answer in answers), answers
    left = [line for line in editor.lines() if line not in {"ten", "more 10", "more 11", "more 12"}]
    assert len(left) == 100 - sum(answer.success for answer in answers)


@pytest.mark.contract("B4", "E7", "E12")
@pytest.mark.parametrize(("rounds", "flags"), [(10, {}), (50, {"debounce_text_changes": 10})], ids=["default", "quick"])
def test_edits_of_two_lines_at_once_for_fifty_rounds_lose_nothing(
    tmp_path: Path, rounds: int, flags: dict[str, int]
) -> None:
    root = tmp_path / "work"
    root.mkdir()
    file = root / "a.txt"
    file.write_text(HUNDRED)
    with Neovim(tmp_path / "home", root, **flags) as editor:
        editor.open(file)
        _edit_two_lines_at_once(editor, file, rounds)


def _edit_two_lines_at_once(editor: Neovim, file: Path, rounds: int) -> None:
    expected = HUNDRED.splitlines()
    for round_ in range(rounds):
        calls: list[tuple[int, str, Call]] = []
        for line in (50, 75):
            old, new = expected[line - 1], f"{line} in round {round_}"
            calls.append((line, new, editor.begin("Edit", _edit(file, f"\n{old}\n", f"\n{new}\n"))))
        for line, new, call in calls:
            answer = call.answer()
            if answer.success:
                expected[line - 1] = new
            else:
                _is_an_honest_failure(answer.error, file)
        assert editor.lines() == expected, round_
    assert sum("in round" in line for line in expected) == 2


@pytest.mark.contract("B4", "E7", "E12")
def test_edits_while_the_user_types_on_every_round_lose_nothing(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text(HUNDRED)
    editor.open(file)
    expected = HUNDRED.splitlines()
    landed = 0
    for round_ in range(10):
        old, new = expected[49], f"edited in round {round_}"
        keys = f"{80 + round_}GAtyped {round_}<Esc>"
        call = editor.begin_then_type("Edit", _edit(file, f"\n{old}\n", f"\n{new}\n"), keys, flush=round_ % 2 == 1)
        expected[79 + round_] += f"typed {round_}"
        answer = call.answer()
        if answer.success:
            expected[49] = new
            landed += 1
        else:
            _is_an_honest_failure(answer.error, file)
            expected[49] = editor.lines()[49]
            assert expected[49] in {old, new}
        assert editor.lines() == expected, (round_, answer)
    assert landed >= 5


@pytest.mark.contract("B4", "E7")
def test_an_edit_of_which_nothing_is_heard_is_reported_as_unknown(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    file = root / "a.txt"
    file.write_text("a\nb\n")
    # The client tells changes so late that no word can come in time; what it did with the edit is not known.
    with Neovim(tmp_path / "home", root, debounce_text_changes=600_000) as editor:
        editor.open(file)
        call = editor.begin_then_type("Edit", _edit(file, "a", "A"), "Gotyped<Esc>")
        answer = call.answer()
        assert "typed" in editor.lines()
        assert not answer.success, answer
        assert str(file) in answer.error
        assert "read" in answer.error.lower()
        # The next request makes the client tell everything, and the truth is seen.
        shown = editor.read(file)
        assert "typed" in shown.output
        assert ("1\tA" in shown.output) == (editor.lines()[0] == "A")


@pytest.mark.contract("B4", "E2", "E7")
def test_a_buffer_wiped_while_an_edit_is_on_its_way_is_told_apart_from_success(editor: Neovim, folder: Path) -> None:
    file = folder / "a.txt"
    file.write_text("a\nb\n")
    editor.open(file)
    editor.type("Goseen<Esc>")
    assert "seen" in editor.read(file).output
    answer = editor.begin_then_type("Edit", _edit(file, "a", "A"), ":bwipeout!<CR>").answer()
    shown = editor.read(file)
    assert shown.success
    landed = "1\tA" in shown.output
    assert answer.success == landed or "unknown" in answer.error, (answer, shown)


def _edit(file: Path, old: str, new: str) -> dict[str, str]:
    return {"filePath": str(file), "oldString": old, "newString": new}


def _is_an_honest_failure(error: str, file: Path) -> None:
    assert str(file) in error
    assert any(word in error.lower() for word in ("read", "again", "retry")), error
