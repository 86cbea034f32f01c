"""The user's configuration file: every key, and what is said of one that cannot be used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from openbuffer.bridge.config import CommandSettings, ConfigError, SearchSettings
from openbuffer.bridge.config_file import NamedFile, Reading, read_user_file, read_workspace_file
from openbuffer.sandbox.settings import SandboxSettings
from openbuffer.tools.adapters.log_settings import LogSettings
from openbuffer.tools.support.http_guard_settings import WebSettings

from .config_desk import parse_config

if TYPE_CHECKING:
    from pathlib import Path

TOML = """
roots = ["more"]
[limits]
file_max_bytes = 7
read_output_max_bytes = 8
[sandbox]
enabled = true
network = true
allow_write = ["~/cache", "/data/./x", "build"]
deny_read = ["../secret"]
excluded_commands = ["docker", "docker"]
auto_allow = true
[commands]
pass_environment = ["CARGO_*"]
drop_environment = ["EDITOR"]
[log]
keep = ["results", "rejections"]
days = 7
max_bytes = 2097152
redact = ["user-[0-9]+"]
[web]
allowed_hosts = ["localhost:3000"]
proxy = "http://proxy:3128"
timeout_s = 5
[search]
provider = "searxng"
url = "http://localhost:8888"
"""
JSON = """{"roots": ["more"], "limits": {"file_max_bytes": 7, "read_output_max_bytes": 8},
"sandbox": {"enabled": true, "network": true, "allow_write": ["~/cache", "/data/./x", "build"],
"deny_read": ["../secret"], "excluded_commands": ["docker"], "auto_allow": true},
"commands": {"pass_environment": ["CARGO_*"], "drop_environment": ["EDITOR"]},
"log": {"keep": ["results", "rejections"], "days": 7, "max_bytes": 2097152, "redact": ["user-[0-9]+"]},
"web": {"allowed_hosts": ["localhost:3000"], "proxy": "http://proxy:3128", "timeout_s": 5},
"search": {"provider": "searxng", "url": "http://localhost:8888"}}"""


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    directory = tmp_path / "config"
    (directory / "more").mkdir(parents=True)
    return directory


@pytest.mark.contract("S7")
@pytest.mark.parametrize(("name", "text"), [("a.toml", TOML), ("a.json", JSON), ("63", f"\ufeff {JSON}")])
def test_toml_and_json_say_the_same(directory: Path, tmp_path: Path, name: str, text: str) -> None:
    config = parse_config(directory / name, text.encode())
    assert config.roots == (directory / "more",)
    assert config.limits == {"file_max_bytes": 7, "read_output_max_bytes": 8, "command_output_max_bytes": 32_768}
    assert config.web == WebSettings(allowed_hosts=("localhost:3000",), proxy="http://proxy:3128", timeout_s=5.0)
    assert config.search == SearchSettings(provider="searxng", url="http://localhost:8888")
    assert config.sandbox == SandboxSettings(
        enabled=True,
        network=True,
        allow_write=(str(tmp_path / "home" / "cache"), "/data/x", str(directory / "build")),
        deny_read=(str(tmp_path / "secret"),),
        excluded_commands=("docker",),
        auto_allow=True,
    )
    assert config.commands.pass_environment == ("CARGO_*",)
    assert config.commands.drop_environment == ("EDITOR",)
    assert config.log == LogSettings(
        keep=frozenset({"results", "rejections"}), days=7, max_bytes=2_097_152, redact=("user-[0-9]+",)
    )


def test_an_empty_file_says_nothing(directory: Path) -> None:
    config = parse_config(directory / "a.toml", b"")
    assert (config.roots, config.sandbox, config.commands) == ((), SandboxSettings(), CommandSettings())
    assert (config.log, config.web, config.search) == (LogSettings(), WebSettings(), SearchSettings())
    assert (config.permissions.rules, set(config.permissions.without_rules.values())) == ((), {"allow"})  # type: ignore[union-attr]  # a mapping here


def test_a_way_up_is_gone_from_where_a_link_leads(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "far" / "away").mkdir(parents=True)
    (directory / "link").symlink_to(tmp_path / "far" / "away")
    config = parse_config(directory / "a.toml", b'[sandbox]\ndeny_read = ["link/../key", "link/.."]')
    assert config.sandbox.deny_read == (str(tmp_path / "far" / "key"), str(tmp_path / "far"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "limit = 1", "unknown key limit (did you mean limits?); known are roots, limits, sandbox, "),
        (
            "a.toml",
            "[limits]\nfile_max = 1",
            "unknown key limits.file_max (did you mean limits.file_max_bytes?); known are limits.file_max_bytes, ",
        ),
        ("a.toml", "[sandbox]\nenable = true", "unknown key sandbox.enable (did you mean sandbox.enabled?); known are"),
        ("a.toml", "[commands]\nenv = []", "unknown key commands.env; known are commands.pass_environment, "),
        ("a.toml", '"a b\\n" = 1', r"unknown key 'a b\n'; known are"),
        ("a.toml", "limits = 1", "limits must be a table, not 1"),
        ("a.toml", "sandbox = true", "sandbox must be a table, not True"),
        ("a.toml", "[limits]\nfile_max_bytes = true", "limits.file_max_bytes must be a whole number of bytes"),
        ("a.toml", "[limits]\nfile_max_bytes = 0", "1 or more, not 0"),
        ("a.toml", "[limits]\nfile_max_bytes = 1.5", "1 or more, not 1.5"),
        ("a.toml", "[limits]\nfile_max_bytes = '1'", "1 or more, not '1'"),
        ("a.toml", "roots = 'more'", "roots must be a list of directory names, not 'more'"),
        ("a.toml", "roots = [1]", "roots must be a list of directory names, not [1]"),
        ("a.toml", "roots = ['']", "roots must be a list of directory names, not ['']"),
        ("a.toml", "roots = ['nowhere']", "nowhere' does not exist; name a directory that exists"),
        ("a.toml", "roots = ['/dev/null']", "roots: '/dev/null' is not a directory"),
        ("a.toml", "[sandbox]\nenabled = 'yes'", "sandbox.enabled must be true or false, not 'yes'"),
        ("a.toml", "[sandbox]\nnetwork = 1", "sandbox.network must be true or false, not 1"),
        ("a.toml", "[sandbox]\nallow_write = '/data'", "sandbox.allow_write must be a list of paths, not '/data'"),
        ("a.toml", "[sandbox]\nallow_write = ['/']", "'/' would leave nothing to confine"),
        ("a.toml", "[sandbox]\ndeny_read = ['**/.env']", "'**/.env' is a pattern; name files and directories one by"),
        ("a.toml", "[sandbox]\ndeny_read = ['~eva/x']", "'~eva/x' names somebody's home directory; name the whole"),
        ("a.toml", '[sandbox]\ndeny_read = ["a\\u0000"]', r"'a\x00' cannot be a path"),
        ("a.toml", f"[sandbox]\ndeny_read = {['/x'] * 257}", "sandbox.deny_read has 257 entries; the most is 256"),
        ("a.toml", "[sandbox]\nexcluded_commands = ['git push']", "'git push' is not the name of a program"),
        ("a.toml", "[sandbox]\nexcluded_commands = ['/bin/git']", "'/bin/git' is not the name of a program"),
        ("a.toml", "[commands]\npass_environment = ['A=1']", "'A=1' is not the name of a variable"),
        ("a.toml", "[commands]\ndrop_environment = ['*_TOKEN']", "'*_TOKEN' is not the name of a variable"),
        ("a.toml", "[log]\nkept = []", "unknown key log.kept (did you mean log.keep?); known are log.keep, log.days"),
        (
            "a.toml",
            "[sandbox]\nallowed_hosts = []",
            "unknown key sandbox.allowed_hosts (did you mean web.allowed_hosts?)",
        ),
        (
            "a.toml",
            "[search]\napi_key = 'k3y'",
            "search.api_key is no setting: a key in a file is read by ",
        ),
        ("a.toml", "[search]\nprovider = 'google'", "search.provider must be one of brave, searxng, not 'google'"),
        ("a.toml", "[search]\nurl = 'http://me:pw@host'", "search.url must be a URL with http or https and without"),
        ("a.toml", "[web]\nproxy = 'socks://u:s3cret@p'", "the proxy of the web is to be a URL with http or https"),
        ("a.toml", "[web]\nallowed_hosts = ['0.0.0.0/0']", "web.allowed_hosts: '0.0.0.0/0' is no host that can be"),
        ("a.toml", "[web]\nallowed_ports = [0]", "web.allowed_ports must be a list of ports, from 1 to 65535, not [0]"),
        ("a.toml", "[web]\ntimeout_s = nan", "web.timeout_s must be a number of seconds, above 0 and 3600 at the most"),
        ("a.toml", "[web]\ntimeout_s = inf", "at the most, not inf"),
        ("a.toml", f"[web]\nmax_bytes = {2**53}", "9007199254740991 at the most, not 9007199254740992"),
        ("a.toml", f"[log]\ndays = {10**4000}", "log.days must be a whole number of days, 36500 at the most, not 1000"),
        ("a.toml", f"[log]\ndays = 1{'0' * 5000}", "is not TOML: "),
        ("a.toml", f"{'a.' * 32}a = 1", "is not TOML: a key of 32 parts or more is none that anybody wants"),
        ("a.toml", "a." * 60_000 + "a = 1", "a key of 32 parts or more"),
        ("a.toml", "[" + '"a" . ' * 60_000 + "a]", "a key of 32 parts or more"),
        ("a.toml", "x = [" * 30_000, "is not TOML: "),
        (
            "a.toml",
            "[log]\nkeep = ['intents']",
            "'intents' is none of observations, rejections, results, before_states",
        ),
        ("a.toml", "[log]\nkeep = true", "log.keep must be a list of some of observations, rejections, results, "),
        ("a.toml", "[log]\ndays = 0", "log.days must be a whole number of days, 1 or more, not 0"),
        ("a.toml", "[log]\nmax_bytes = 1000", "log.max_bytes must be a whole number of bytes, 1048576 or more"),
        ("a.toml", "[log]\nredact = ['(']", "log.redact: '(' is no regular expression (missing ) at position 1)"),
        ("a.toml", "roots = [", "is not TOML: "),
        ("a.json", "{", "is not JSON: "),
        ("a.json", "[]", "is not JSON: the whole is not an object"),
        ("a.json", '{"roots": [], "roots": []}', "is not JSON: 'roots' is there twice"),
        ("a.json", "[" * 100_000, "is not JSON: "),
        ("a.json", "{" + "".join(f'"{n}": 1, ' for n in range(40_000)) + '"7": 1}', "is not JSON: '7' is there twice"),
        ("a.json", '{"' + "k" * 9_000 + '": 1, "' + "k" * 9_000 + '": 1}', "kkk' is there twice"),
        ("a.toml", f"[{'k' * 9_000}]\n" * 2, "is not TOML: Cannot declare ('kkk"),
        ("a.toml", b"roots = ['\xff']", "is not UTF-8 text; save it as UTF-8"),
        ("a.toml", f"roots = [{'1, ' * 1000}]", "roots has 1000 entries; the most is 256"),
        ("a.toml", f"roots = [{'1, ' * 200}]", "..."),
    ],
)
def test_what_cannot_be_used_is_told_with_the_file_and_what_is_expected(
    directory: Path, name: str, text: str | bytes, message: str
) -> None:
    file = directory / name
    with pytest.raises(ConfigError) as caught:
        parse_config(file, text.encode() if isinstance(text, str) else text)
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 700
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("read", [read_user_file, NamedFile(), read_workspace_file])
def test_what_is_no_file_of_text_is_told_and_not_waited_for(tmp_path: Path, read: object) -> None:
    assert callable(read)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "huge").write_bytes(b"#" * (1024 * 1024 + 1))
    (tmp_path / "file").write_bytes(b"x")
    assert read(tmp_path / "none") == Reading()
    assert read(tmp_path / "file" / "none") == Reading()
    assert read(tmp_path / "file") == Reading(b"x")
    most = 128 * 1024 if read is read_workspace_file else 1024 * 1024
    assert read(tmp_path / "huge") == Reading(problem=f"is over {most} bytes; that is no configuration file")
    assert "is a directory" in read(tmp_path).problem
    if isinstance(read, NamedFile):
        assert read(tmp_path / "fifo") == Reading(b"")  # with nobody at its other end
    else:
        assert "is a FIFO" in read(tmp_path / "fifo").problem


def test_links_are_followed_for_the_user_and_not_for_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    assert read_user_file(tmp_path / "link") == Reading(b"x")
    assert read_workspace_file(tmp_path / "link") == Reading(problem="is a link; put the file itself there")
    (tmp_path / "loop").symlink_to("loop")
    assert "cannot be read" in read_user_file(tmp_path / "loop").problem


def test_a_pipe_that_the_user_named_is_read_once(tmp_path: Path) -> None:
    reading_end, writing_end = os.pipe()
    os.write(writing_end, b"roots = []")
    os.close(writing_end)
    read = NamedFile()
    file = tmp_path.joinpath(f"/dev/fd/{reading_end}")
    assert [read(file), read(file)] == [Reading(b"roots = []")] * 2
    os.close(reading_end)
