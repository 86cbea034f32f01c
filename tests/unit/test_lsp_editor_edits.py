"""The shape of outgoing edits: whatever the text and the client's way to count, the same change arrives."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from openbuffer.editor_access import TextEdit
from openbuffer.editor_access.document_store import TextBuffer
from openbuffer.editor_access.lsp_edits import effective_edits, outgoing_edits
from openbuffer.editor_access.lsp_outcome import IntendedEdit
from openbuffer.editor_access.text import PositionEncoding, apply_edits, minimal_edits

pytestmark = pytest.mark.contract("E8")

PIECES = st.sampled_from(["a", "b", "\n", "\n", "\r\n", "\r", "😋", "é", "e\u0301", "\u2028", "\x0c", " "])
TEXTS = st.lists(PIECES, max_size=14).map("".join)


@st.composite
def texts_with_edits(draw: st.DrawFn) -> tuple[str, list[TextEdit]]:
    text = draw(TEXTS)
    bounds = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    return text, [TextEdit(start, end, draw(TEXTS)) for start, end in pairs]


@given(texts_with_edits(), st.booleans())
@example(("a\r\nb", [TextEdit(2, 2, "x\r")]), True)
@example(("a😋\n", [TextEdit(1, 1, "x"), TextEdit(3, 3, "b\n")]), True)
def test_outgoing_edits_make_the_same_change_and_stay_apart(case: tuple[str, list[TextEdit]], avoid: bool) -> None:
    text, edits = case
    wanted = effective_edits(text, edits)
    outgoing = outgoing_edits(text, wanted, avoid_columns_beyond_bmp=avoid)
    intended = apply_edits(text, edits)
    assert apply_edits(text, wanted) == intended
    assert apply_edits(text, outgoing) == intended
    assert all(one.end < other.start for one, other in pairwise(outgoing))
    assert all(edit.new_text != text[edit.start : edit.end] for edit in outgoing)


@given(texts_with_edits())
def test_no_edit_only_inserts_on_the_line_after_the_last_one(case: tuple[str, list[TextEdit]]) -> None:
    text, edits = case
    outgoing = outgoing_edits(text, effective_edits(text, edits), avoid_columns_beyond_bmp=True)
    if text.endswith(("\n", "\r")):
        assert all(edit.start < len(text) for edit in outgoing)


@given(texts_with_edits(), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_the_ranges_mean_the_same_in_each_encoding(
    case: tuple[str, list[TextEdit]], encoding: PositionEncoding
) -> None:
    text, edits = case
    outgoing = outgoing_edits(text, effective_edits(text, edits), avoid_columns_beyond_bmp=encoding != "utf-32")
    assert _applied_by(text, outgoing, ours=encoding, theirs=encoding) == apply_edits(text, outgoing)


@given(texts_with_edits())
def test_a_client_that_counts_code_points_makes_the_same_change(case: tuple[str, list[TextEdit]]) -> None:
    text, edits = case
    outgoing = outgoing_edits(text, effective_edits(text, edits), avoid_columns_beyond_bmp=True)
    assert _applied_by(text, outgoing, ours="utf-16", theirs="utf-32") == apply_edits(text, outgoing)


@example(("😋\na\n", [TextEdit(2, 4, "")]))
@given(texts_with_edits().filter(lambda case: case[0].endswith("\n")))
def test_no_column_goes_out_that_clients_disagree_on(case: tuple[str, list[TextEdit]]) -> None:
    text, edits = case
    outgoing = outgoing_edits(text, effective_edits(text, edits), avoid_columns_beyond_bmp=True)
    by_units, by_code_points = TextBuffer(text, "utf-16"), TextBuffer(text, "utf-32")
    for edit in outgoing:
        assert by_units.range_of(edit.start, edit.end) == by_code_points.range_of(edit.start, edit.end)


def _applied_by(text: str, edits: list[TextEdit], *, ours: PositionEncoding, theirs: PositionEncoding) -> str:
    buffer, client = TextBuffer(text, ours), TextBuffer(text, theirs)
    for edit in reversed(edits):
        client.change(buffer.range_of(edit.start, edit.end), edit.new_text)
    return client.text


def test_text_without_characters_beyond_the_bmp_is_not_widened() -> None:
    text = "one é two\nthree\n"
    edits = [TextEdit(6, 9, "TWO")]
    assert outgoing_edits(text, edits, avoid_columns_beyond_bmp=True) == edits


def test_only_what_a_character_beyond_the_bmp_precedes_is_widened() -> None:
    text = "one 😋 two\nthree\n"
    assert outgoing_edits(text, [TextEdit(0, 3, "ONE")], avoid_columns_beyond_bmp=True) == [TextEdit(0, 3, "ONE")]
    assert outgoing_edits(text, [TextEdit(6, 9, "TWO")], avoid_columns_beyond_bmp=True) == [
        TextEdit(0, 10, "one 😋 TWO\n")
    ]


@pytest.mark.contract("E7")
@given(texts_with_edits())
def test_the_intended_text_holds_the_edit_and_the_base_lacks_it(case: tuple[str, list[TextEdit]]) -> None:
    text, edits = case
    wanted = effective_edits(text, edits)
    intended = apply_edits(text, wanted)
    if intended != text:
        judge = IntendedEdit(text, wanted)
        assert judge.judge(intended) == "holds"
        assert judge.judge(text) == "lacks"


@pytest.mark.contract("E7")
@pytest.mark.parametrize(
    ("base", "after", "shown", "verdict"),
    [
        ("a\r\nb\r\n", "a\r\nx\r\nb\r\n", "a\r\nx\nb\r\n", "holds"),  # inserted line ends are the editor's affair
        ("a\nb\n", "a\nx\r\nb\n", "a\nx\nb\n", "holds"),
        ("a\nb", "a\nB", "a\nB\n", "holds"),  # so is a final newline
        ("a\n", "A", "A\n", "holds"),
        ("a", "a\n", "a", "lacks"),  # unless nothing else was asked for
        ("a\n", "a", "a\n", "lacks"),
        ("x\na", "x\na\n", "x!\na", "lacks"),
        ("a\r\nb\r\n", "a\nb\n", "a\r\nb\r\nc", "lacks"),
        ("one\ntwo\n", "one\nTWO\n", "one!\nTWO\nthree\n", "holds"),
        ("one\ntwo\n", "one\nTWO\n", "one!\ntwo\n", "lacks"),
        ("one\ntwo\n", "one\nTWO\n", "one\nTxO\n", "unclear"),
    ],
)
def test_what_a_text_says_about_an_edit(base: str, after: str, shown: str, verdict: str) -> None:
    assert IntendedEdit(base, minimal_edits(base, after)).judge(shown) == verdict


NVIM = shutil.which("nvim", path=str(Path(sys.executable).parent)) or shutil.which("nvim")

NVIM_CASES = [
    (before, after)
    for texts in (
        [
            "",
            "\n",
            "x\n",
            "x\ny\n",
            "a\nx\ny\n",
            "x\ny\nb\n",
            "x\n\ny\n",
            "x\ny\n\n",
            "\n\nx\n",
            "😋x\n😋y\n",
            "x\n😋y\n",
        ],
        ["x\r\ny\r\n", "x\r\n", "a\r\nx\r\nb\r\n", "x\r\ny\r\n\r\n", "😋\r\nx\r\n", "x\r\n😋y\r\n"],
    )
    for before in texts
    for after in texts
    if before and before != after
]

APPLY_ALL = r"""
local cases = vim.json.decode(io.read('*a'))
local results = {}
for index, case in ipairs(cases) do
  local buffer = vim.api.nvim_create_buf(true, false)
  vim.bo[buffer].fileformat = case.dos and 'dos' or 'unix'
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, case.lines)
  vim.lsp.util.apply_text_edits(case.edits, buffer, 'utf-8')
  results[index] = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
end
io.write(vim.json.encode(results))
"""


@pytest.mark.editor
@pytest.mark.skipif(NVIM is None, reason="nvim is not installed; it comes with the test extra")
def test_neovim_makes_of_the_outgoing_edits_what_was_intended(tmp_path: Path) -> None:
    script = tmp_path / "apply.lua"
    script.write_text(APPLY_ALL)
    assert NVIM is not None
    done = subprocess.run(
        [NVIM, "--headless", "--clean", "-l", str(script)],
        input=json.dumps([_neovim_case(before, after) for before, after in NVIM_CASES]),
        capture_output=True,
        text=True,
        check=True,
        timeout=50,
    )
    shown = ["\n".join(lines) + "\n" for lines in json.loads(done.stdout)]
    # Neovim's smallest text is one empty line.
    assert shown == [after.replace("\r\n", "\n") or "\n" for _, after in NVIM_CASES]


def _neovim_case(before: str, after: str) -> dict[str, Any]:
    buffer = TextBuffer(before, "utf-8")
    edits: list[dict[str, Any]] = []
    outgoing = outgoing_edits(
        before, effective_edits(before, minimal_edits(before, after)), avoid_columns_beyond_bmp=True
    )
    for edit in outgoing:
        found = buffer.range_of(edit.start, edit.end)
        edits.append(
            {
                "range": {
                    "start": {"line": found.start.line, "character": found.start.character},
                    "end": {"line": found.end.line, "character": found.end.character},
                },
                "newText": edit.new_text,
            }
        )
    is_dos = "\r\n" in before
    lines = before.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return {"dos": is_dos, "lines": lines, "edits": edits}
