"""Lines end at the three line ends of LSP, whatever else Python would break a text at."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from openbuffer.editor_access.lines import terminated_lines

BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"


@given(st.one_of(st.text("ab\n\r"), st.text("ab" + BREAKS)))
def test_a_text_is_cut_behind_each_line_end_and_nowhere_else(text: str) -> None:
    assert terminated_lines(text) == re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)
