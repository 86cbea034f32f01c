"""Which file a document URI names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.editor_access.uri import path_from_uri, uri_from_path


@pytest.mark.contract("E6")
@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///ws/a%20b.txt", "/ws/a b.txt"),
        ("file:///ws/a b.txt", "/ws/a b.txt"),
        ("file:///ws/a%23b%3F.txt", "/ws/a#b?.txt"),
        ("file:///ws/a#b?.txt", "/ws/a#b?.txt"),
        ("file:///ws/100%25.txt", "/ws/100%.txt"),
        ("file:///ws/100%.txt", "/ws/100%.txt"),
        ("file:///ws/%C3%A9.txt", "/ws/é.txt"),
        ("file:///ws/%c3%a9.txt", "/ws/é.txt"),
        ("file:///ws/e%CC%81.txt", "/ws/e\u0301.txt"),
        ("file:///ws/é.txt", "/ws/é.txt"),
        ("file://localhost/ws/a.txt", "/ws/a.txt"),
        ("FILE:///ws/a.txt", "/ws/a.txt"),
        ("file:/ws/a.txt", "/ws/a.txt"),
        ("file:///ws/%FF.txt", "/ws/\udcff.txt"),
        ("file:///ws/a%0Ab.txt", "/ws/a\nb.txt"),
    ],
)
def test_a_posix_uri_names_the_decoded_path(uri: str, path: str) -> None:
    assert path_from_uri(uri, windows=False) == path


@pytest.mark.contract("E6")
@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///c%3A/A%20b/%C3%A9.txt", "C:\\A b\\é.txt"),
        ("file:///C:/A%20b/é.txt", "C:\\A b\\é.txt"),
        ("file:///c:/x", "C:\\x"),
        ("file://server/share/x.txt", "\\\\server\\share\\x.txt"),
    ],
)
def test_a_windows_uri_names_drive_or_share(uri: str, path: str) -> None:
    assert path_from_uri(uri, windows=True) == path


@pytest.mark.contract("E6")
@pytest.mark.parametrize(
    "uri",
    [
        "file://",
        "file:///",
        "",
        "untitled:Untitled-1",
        "output:log",
        "vscode-notebook-cell:/ws/a.ipynb#x",
        "file://elsewhere/ws/a.txt",
        "file:a.txt",
        "file:///ws/a%00b",
        "/ws/a.txt",
        "file:///\ud800",
    ],
)
def test_what_names_no_file_of_this_machine_has_no_path(uri: str) -> None:
    assert path_from_uri(uri, windows=False) is None


def test_a_windows_path_without_a_drive_is_no_path() -> None:
    assert path_from_uri("file:///ws/a.txt", windows=True) is None


@pytest.mark.contract("E6")
@given(st.lists(st.binary(min_size=1, max_size=12), min_size=1, max_size=4))
def test_every_posix_path_survives_its_uri(parts: list[bytes]) -> None:
    names = [part.replace(b"/", b"_").replace(b"\0", b"_") for part in parts]
    path = os.fsdecode(b"/" + b"/".join(names))
    # pathlib drops "." components when it builds the URI, so the comparison is by pathlib's own idea of the path.
    shown = str(Path(path))
    assert path_from_uri(uri_from_path(path), windows=False) == (None if shown == "/" else shown)


@pytest.mark.contract("E6", "B3")
@pytest.mark.parametrize(
    "uri", ["file:///" + "a/" * 500_000, "file:///" + "a/../" * 1_000, "file:///" + "%61" * 5_000, "x" * 1_000_000]
)
def test_what_is_longer_than_any_path_names_no_file(uri: str) -> None:
    assert path_from_uri(uri, windows=False) is None


@pytest.mark.contract("E6")
def test_a_path_may_be_as_long_as_the_system_takes_and_encoded_throughout() -> None:
    assert path_from_uri("file:///" + "%61" * 4_000, windows=False) == "/" + "a" * 4_000
