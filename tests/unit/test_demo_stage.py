"""What the demo prints fits the terminal it is printed on."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from openbuffer.bridge.client import ToolAnswer
from openbuffer.bridge.commands.demo_stage import Buffer, Stage
from openbuffer.bridge.commands.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("marks", [False, True])
def test_no_line_is_wider_than_a_narrow_terminal_and_no_word_is_lost(marks: bool, tmp_path: Path) -> None:
    shown = io.StringIO()
    stage = Stage(Terminal(shown, colours=False, marks=marks, width=40))
    text = "a text that is much longer than forty columns, as most of them are"
    stage.title(text)
    stage.step(text, text)
    data = {"success": True, "output": f"{text}\n     1\tapples"}
    answer = ToolAnswer.from_json({"name": "Read", "isError": False, "data": data})
    stage.call("Read", {"filePath": text}, answer, tmp_path)
    stage.claim(text, True)
    (tmp_path / "notes.txt").write_text(f"{text}\n")
    stage.side_by_side(tmp_path / "notes.txt", Buffer(text="apples\n", modified=True))
    lines = shown.getvalue().splitlines()
    assert max(map(len, lines)) <= 40
    words = " ".join(line.strip(' >"') for line in lines)
    assert " ".join(words.split()).count(text) == 6
