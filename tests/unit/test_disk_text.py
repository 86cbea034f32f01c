"""A file is compared with a text without loading it; what that says is never more than a full comparison says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.editor_access.truth import judge
from openbuffer.tools.support.disk_text import RootedDiskText, holds_exactly
from openbuffer.tools.support.file_bytes import PIECE_BYTES

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.contract("E11")


def held(path: Path, data: bytes, text: str) -> bool:
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    try:
        return holds_exactly(fd, text)
    finally:
        os.close(fd)


LONG = "é" + "x" * (2 * PIECE_BYTES) + "😋"


@pytest.mark.parametrize(
    ("data", "text", "is_held"),
    [
        (b"a\n", "a\n", True),
        (b"a\r\n", "a\r\n", True),
        (b"\xef\xbb\xbfa\n", "a\n", True),
        (b"a\n", "a", True),
        (b"", "", True),
        (b"\n", "", True),
        (LONG.encode(), LONG, True),
        (LONG.encode() + b"\n", LONG, True),
        (LONG.encode() + b"y", LONG, False),
        (LONG.encode()[:-1], LONG, False),
        (LONG.encode().replace(b"xx", b"xy", 1), LONG, False),
        (b"a\n\n", "a\n", False),
        (b"a\r\n", "a\r", False),
        (b"a\r", "a", False),
        (b"b", "a", False),
        (b"\xed\xa0\x80", "\ud800", False),
    ],
)
def test_a_file_is_told_to_hold_a_text(tmp_path: Path, data: bytes, text: str, is_held: bool) -> None:
    assert held(tmp_path / "f", data, text) is is_held


TEXTS = st.text(st.sampled_from("a\r\n\ufeffé"), max_size=5)


@given(data=st.binary(max_size=5) | TEXTS.map(str.encode), extra=TEXTS)
def test_what_is_held_exactly_is_the_same_text(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, extra: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "held"
    for text in (data.decode(errors="replace"), data.decode(errors="replace").removesuffix("\n"), extra):
        assert not held(path, data, text) or judge(text, None, data) == "one_text"


def test_documents_outside_of_the_roots_are_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out.txt").write_text("a")
    (tmp_path / "in" / "a.txt").write_text("a")
    disk = RootedDiskText(tmp_path / "in")
    assert disk.baseline(str(tmp_path / "out.txt"), "a") is None
    assert disk.baseline(str(tmp_path / "in" / "a.txt"), "a") is not None
    assert disk.baseline(str(tmp_path / "in"), "a") is None
