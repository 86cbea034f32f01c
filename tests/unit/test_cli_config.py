"""The configuration file of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from openbuffer.bridge.commands.config import ConfigError, load_tool_config

if TYPE_CHECKING:
    from pathlib import Path


def written(tmp_path: Path, name: str, text: str | bytes) -> Path:
    file = tmp_path / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def test_without_a_file_the_root_is_all_there_is(tmp_path: Path) -> None:
    assert load_tool_config(tmp_path).roots == (tmp_path,)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("settings.toml", 'roots = ["more"]\n[limits]\nfile_max_bytes = 7\nread_output_max_bytes = 8\n'),
        ("settings.json", '{"roots": ["more"], "limits": {"file_max_bytes": 7, "read_output_max_bytes": 8}}'),
        ("63", '\ufeff {"roots": ["more"], "limits": {"file_max_bytes": 7, "read_output_max_bytes": 8}}'),
    ],
)
def test_toml_and_json_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "more").mkdir()
    root = tmp_path / "root"
    root.mkdir()
    config = load_tool_config(root, written(tmp_path, name, text))
    assert config.roots == (root, tmp_path / "more")
    assert (config.file_max_bytes, config.read_output_max_bytes) == (7, 8)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "limit = 1", "unknown key limit; known are roots, limits"),
        (
            "a.toml",
            "[limits]\nfile_max = 1",
            "unknown key limits.file_max; known are limits.file_max_bytes, limits.read_output_max_bytes",
        ),
        ("a.toml", "limits = 1", "limits must be a table, not 1"),
        ("a.toml", "[limits]\nfile_max_bytes = true", "limits.file_max_bytes must be a whole number of bytes"),
        ("a.toml", "[limits]\nfile_max_bytes = 0", "1 or more, not 0"),
        ("a.toml", "[limits]\nfile_max_bytes = 1.5", "1 or more, not 1.5"),
        ("a.toml", "[limits]\nfile_max_bytes = '1'", "1 or more, not '1'"),
        ("a.toml", "roots = 'more'", "roots must be a list of directory names, not 'more'"),
        ("a.toml", "roots = [1]", "roots must be a list of directory names, not [1]"),
        ("a.toml", "roots = ['']", "roots must be a list of directory names, not ['']"),
        ("a.toml", "roots = ['nowhere']", "nowhere: a directory of roots does not exist"),
        ("a.toml", "roots = ['a.toml']", "a.toml: a directory of roots is not a directory"),
        ("a.toml", "roots = [", "is not TOML: "),
        ("a.json", "{", "is not JSON: "),
        ("a.json", "[]", "is not JSON: the whole is not an object"),
        ("a.json", '{"roots": [], "roots": []}', "is not JSON: 'roots' is there twice"),
        ("a.json", "[" * 100_000, "is not JSON: "),
        ("a.toml", b"roots = ['\xff']", "is not UTF-8 text; save it as UTF-8"),
        ("a.toml", b"#" * (1024 * 1024 + 1), "that is no configuration file"),
    ],
)
def test_what_cannot_be_used_is_told_with_the_file_and_what_is_expected(
    tmp_path: Path, name: str, text: str | bytes, message: str
) -> None:
    file = written(tmp_path, name, text)
    with pytest.raises(ConfigError) as caught:
        load_tool_config(tmp_path, file)
    assert str(file) in str(caught.value)
    assert message in str(caught.value)


def test_a_missing_file_and_a_missing_root_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read \(No such file or directory\); check --config"):
        load_tool_config(tmp_path, tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="none: the root does not exist; name a directory that exists"):
        load_tool_config(tmp_path / "none")
