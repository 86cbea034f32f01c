"""Colours and marks where they can be shown, plain text elsewhere."""

from __future__ import annotations

import io

import pytest
from openbuffer.bridge.commands.terminal import harmless, terminal_for


class Stream(io.TextIOWrapper):
    def __init__(self, encoding: str, *, seen: bool) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self._seen = seen

    def isatty(self) -> bool:
        return self._seen


def shown(stream: Stream) -> str:
    terminal = terminal_for(stream)
    return f"{terminal.mark('good')} {terminal.paint('strong', 'x')}"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_gets_colours_and_marks() -> None:
    assert shown(Stream("utf-8", seen=True)) == "\x1b[32m✓\x1b[0m \x1b[1mx\x1b[0m"


def test_a_pipe_gets_words() -> None:
    stream = Stream("utf-8", seen=False)
    assert shown(stream) == "ok   x"
    assert terminal_for(stream).width == 80


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert shown(Stream("utf-8", seen=True)) == "✓ x"


def test_a_dumb_terminal_gets_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert shown(Stream("utf-8", seen=True)) == "✓ x"


def test_a_terminal_that_cannot_show_the_marks_gets_words() -> None:
    assert shown(Stream("latin-1", seen=True)) == "\x1b[32mok  \x1b[0m \x1b[1mx\x1b[0m"


def test_what_the_encoding_cannot_show_is_escaped_and_no_error() -> None:
    stream = Stream("ascii", seen=False)
    terminal_for(stream).print("/tmp/é😋")
    stream.seek(0)
    assert stream.buffer.read() == b"/tmp/\\xe9\\U0001f60b\n"


def test_a_very_narrow_terminal_is_not_taken_at_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1")
    assert terminal_for(Stream("utf-8", seen=True)).width == 40


def test_what_would_act_on_a_terminal_is_escaped_and_line_feeds_and_tabs_stay() -> None:
    assert harmless("\x1b]0;title\x07a\tb\n\x9b2Jc\r\u202ed\u2066 é日😋\x7f") == (
        "\\x1b]0;title\\x07a\tb\n\\x9b2Jc\\r\\u202ed\\u2066 é日😋\\x7f"
    )
