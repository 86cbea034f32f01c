"""A manifest as a document: YAML and JSON give the same, and nothing of YAML that could surprise is taken."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING

import pytest
from openbuffer.bridge.commands.manifest_file import DOCUMENT_MAX_BYTES, ManifestFileError, read_document
from openbuffer.sandbox.manifests.model import parse_manifest

if TYPE_CHECKING:
    from pathlib import Path

YAML = """\
# what a session begins with
entries:
  task.md:
    type: file
    content: |
      Look.
      Löök.
    permissions: 0644
  repo: {type: gitRepo, url: "https://example.test/r.git", ref: 1e3, shallow: true}
  2024-01-01: {type: dir}
environment:
  PORT: 8080
  COUNTRY: no
"""
DOCUMENT = {
    "entries": {
        "task.md": {"type": "file", "content": "Look.\nLöök.\n", "permissions": "0644"},
        "repo": {"type": "gitRepo", "url": "https://example.test/r.git", "ref": "1e3", "shallow": True},
        "2024-01-01": {"type": "dir"},
    },
    "environment": {"PORT": "8080", "COUNTRY": "no"},
}


@pytest.mark.contract("S11")
def test_yaml_and_json_give_the_same_document(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(YAML, encoding="utf-8")
    (tmp_path / "m.json").write_text(json.dumps(DOCUMENT))
    (tmp_path / "without-a-kind").write_text("\ufeff" + json.dumps(DOCUMENT), encoding="utf-8")
    for name in ("m.yaml", "m.json", "without-a-kind"):
        assert read_document(str(tmp_path / name)) == DOCUMENT
    assert parse_manifest(DOCUMENT).environment["COUNTRY"] == "no"


def test_a_manifest_comes_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(YAML.encode())))
    assert read_document("-") == DOCUMENT


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &x [1]\nb: *x\n", "an alias .* line 2, column 4|an alias .*"),
        ("a: !!python/object/apply:os.system [echo]\n", "a tag"),
        ("a: !!binary eA==\n", "a tag"),
        ("a: !x y\n", "a tag"),
        ("a: 1\na: 2\n", "'a' is there twice"),
        ("a: {b: 1, b: 2}\n", "'b' is there twice"),
        ("<<: {a: 1}\n", "a merge"),
        ("? [a]\n: b\n", "a name is no text"),
        ("a: 1\n---\nb: 2\n", "a second document"),
        ("a: [\n", "not usable YAML"),
        ("a: \x01\n", "not usable YAML"),
        ("- a\n", "no mapping"),
        ("", "no mapping"),
        ("just words\n", "no mapping"),
        ("[" * 30 + "]" * 30, "nested more than 20 deep"),
        ("{" * 100_000, "not usable JSON"),
        ('{"a": 1, "a": 2}', "twice in one object"),
        ('{"a": NaN}', "NaN"),
        ("[1]", "no mapping"),
    ],
)
def test_what_is_no_plain_tree_is_refused_with_the_place(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "m"
    file.write_text(text)
    with pytest.raises(ManifestFileError, match=words):
        read_document(str(file))


def test_a_bomb_of_aliases_is_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    (tmp_path / "bomb.yaml").write_text("\n".join(lines))
    with pytest.raises(ManifestFileError, match="alias"):
        read_document(str(tmp_path / "bomb.yaml"))


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a: \xe4\n"])
def test_what_is_not_utf_8_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ManifestFileError, match="UTF-8"):
        read_document(str(tmp_path / "m"))


def test_what_is_no_file_of_a_usual_size_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(DOCUMENT_MAX_BYTES + 1)
    for name, words in {
        "fifo": "no regular file",
        "missing": "not there",
        "large": "more than",
        ".": "no regular file",
        "a\0b": "null",
    }.items():
        with pytest.raises(ManifestFileError, match=words):
            read_document(f"{tmp_path}/{name}")
