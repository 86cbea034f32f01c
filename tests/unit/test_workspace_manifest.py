"""The models of a workspace manifest: what may be in one, and the words for what may not."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.sandbox.errors import ManifestRefusedError
from openbuffer.sandbox.manifests.git import check_ref, check_url, clone_line
from openbuffer.sandbox.manifests.model import ENTRIES_MAX, INLINE_MAX_BYTES, InlineFile, parse_manifest
from openbuffer.sandbox.manifests.paths import ManifestPathError, PathTable, check_path

FILE = {"type": "file", "content": "x"}


def refusal(document: Any) -> str:
    with pytest.raises(ManifestRefusedError) as caught:
        parse_manifest(document)
    return str(caught.value)


@pytest.mark.contract("S11")
def test_every_kind_of_entry_is_understood() -> None:
    manifest = parse_manifest(
        {
            "entries": {
                "task.md": {"type": "file", "content": "Look.\n", "permissions": "0640"},
                "blob": {"type": "file", "content": "AP8=", "encoding": "base64"},
                "out": {"type": "dir", "permissions": "755"},
                "data.csv": {"type": "localFile", "source": "data.csv"},
                "src": {"type": "localDir", "source": "src", "exclude": [".venv"]},
                "repo": {"type": "gitRepo", "url": "https://example.test/a/b.git", "ref": "main", "shallow": True},
                "m/s3": {"type": "s3Mount", "bucket": "b", "region": "eu-west-1", "readOnly": False},
                "m/gcs": {"type": "gcsMount", "bucket": "b", "prefix": "p/"},
                "m/r2": {"type": "r2Mount", "accountId": "a", "bucket": "b"},
                "m/az": {"type": "azureBlobMount", "account": "a", "container": "c"},
            },
            "environment": {"MODE": "test"},
        }
    )
    task, blob = manifest.entries["task.md"], manifest.entries["blob"]
    assert isinstance(task, InlineFile)
    assert isinstance(blob, InlineFile)
    assert (task.permissions, task.data, blob.data) == (0o640, b"Look.\n", b"\x00\xff")
    assert [entry.type for entry in manifest.entries.values()][2:] == [
        *("dir", "localFile", "localDir", "gitRepo", "s3Mount", "gcsMount", "r2Mount", "azureBlobMount")
    ]


@pytest.mark.contract("S11")
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("../x", "'..'"),
        ("a/../../x", "'..'"),
        ("a/..", "'..'"),
        (".", "'.'"),
        ("./a", "'.'"),
        ("a/./b", "'.'"),
        ("a//b", "empty name"),
        ("a/", "empty name"),
        ("a\0b", "NUL"),
        ("a\\b", "backslash"),
        ("..\\x", "backslash"),
        ("C:/x", "drive"),
        ("c:x", "drive"),
        ("a\nb", "control"),
        ("a\x7fb", "control"),
        ("\ud800", "character"),
        ("a" * 256, "255 bytes"),
        ("é" * 128, "255 bytes"),
        ("a/" * 64 + "a", "65 names deep"),
        ("a" * 1025, "characters"),
        (".git", "git's own"),
        (".GIT/hooks/x", "git's own"),
        ("repo/.git/config", "git's own"),
        ("repo/.git./config", "git's own"),
        ("repo/.git /config", "git's own"),
        ("repo/.git::$INDEX_ALLOCATION/config", "git's own"),
        ("repo/git~1/config", "git's own"),
        ("repo/.g\u200cit/config", "git's own"),
        ("repo/.\uff47it/config", "git's own"),
    ],
)
def test_a_path_that_no_entry_may_have_is_refused_with_the_reason(path: str, words: str) -> None:
    with pytest.raises(ManifestPathError, match=words):
        check_path(path)


@pytest.mark.parametrize(
    "path", ["a", "-rf", "~/x", "ä/ö.txt", "日本語", "a b/$(c)", ".github/x", ".gitignore", "x.git", "..."]
)
def test_an_odd_path_within_the_workspace_is_a_path(path: str) -> None:
    assert check_path(path) == path


@given(st.text(max_size=40) | st.lists(st.sampled_from(["..", ".", "a", "", "\\", "b:"]), max_size=5).map("/".join))
@pytest.mark.contract("S11")
def test_no_accepted_path_leads_out_of_the_workspace(path: str) -> None:
    import posixpath

    try:
        check_path(path)
    except ManifestPathError:
        return
    joined = posixpath.normpath(posixpath.join("/workspace", path))
    assert joined == f"/workspace/{path}"


@pytest.mark.contract("S11")
@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("README", "readme", "differ only"),
        ("é", "e\u0301", "differ only"),
        ("Straße", "STRASSE", "differ only"),
        ("Dir/a", "dir/b", "differ only"),
        ("a.", "a", "differ only"),
        ("a\u200b", "a", "differ only"),
        ("a\u202e/x", "a/x", "differ only"),
        ("d. /a", "d/a", "differ only"),
        ("a", "a/b", "a directory because of 'a/b'"),
        ("a/b", "a", "something else as well"),
        ("A", "a/b", "differ only"),
    ],
)
def test_two_paths_that_cannot_both_be_there_are_refused(first: str, second: str, words: str) -> None:
    assert words in refusal({"entries": {first: FILE, second: FILE}})


def test_a_directory_may_be_named_before_or_after_what_lies_in_it() -> None:
    for names in (["d", "d/f"], ["d/f", "d"]):
        parse_manifest({"entries": {name: FILE if name == "d/f" else {"type": "dir"} for name in names}})


def test_a_path_is_there_once() -> None:
    paths = PathTable()
    paths.add("a", "leaf")
    with pytest.raises(ManifestPathError, match="twice"):
        paths.add("a", "leaf")


def test_nothing_lies_below_a_repository_or_a_mount() -> None:
    repository = {"type": "gitRepo", "url": "https://example.test/r.git"}
    mount = {"type": "gcsMount", "bucket": "b"}
    assert "something else" in refusal({"entries": {"r": repository, "r/x": FILE}})
    assert "something else" in refusal({"entries": {"m": mount, "m/x": {"type": "dir"}}})


@pytest.mark.contract("S11")
@pytest.mark.parametrize(
    "path",
    [
        ".ssh",
        ".SSH",
        ".config/git",
        ".netrc",
        ".gnupg",
        ".aws",
        ".local/bin",
        "home/.ssh",
        "\uff0essh",
        "\u200c.ssh",
        "bin",
    ],
)
def test_of_several_repositories_none_lies_where_the_clone_of_another_looks(path: str) -> None:
    repository = {"type": "gitRepo", "url": "https://example.test/r.git"}
    assert "while another one is cloned" in refusal({"entries": {path: repository, "r": repository}})
    assert "while another one is cloned" in refusal({"entries": {"r": repository, path: repository}})
    for alone in ({path: repository}, {path: repository, "f": FILE}, {path: {"type": "dir"}, "r": repository}):
        assert len(parse_manifest({"entries": alone}).entries) == len(alone)


@pytest.mark.parametrize("path", ["a.b", "tools/bin", "binary", "a/b."])
def test_repositories_lie_beside_each_other_anywhere_else(path: str) -> None:
    repository = {"type": "gitRepo", "url": "https://example.test/r.git"}
    assert len(parse_manifest({"entries": {path: repository, "r": repository}}).entries) == 2


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "valid dictionary"),
        ({}, "entries: Field required"),
        ({"entries": {}, "env": {}}, "env: Extra inputs"),
        ({"entries": {"a": {"type": "socket"}}}, "'socket'"),
        ({"entries": {"a": {"content": "x"}}}, "discriminator"),
        ({"entries": {"a": {"type": "file"}}}, "entries.a.file.content: Field required"),
        ({"entries": {"a": {"type": "file", "content": 1}}}, "valid string"),
        ({"entries": {"a": {"type": "file", "content": "\ud800"}}}, "content"),
        ({"entries": {"a": {"type": "file", "content": "?", "encoding": "base64"}}}, "base64"),
        ({"entries": {"a": {"type": "file", "content": "", "permissions": 644}}}, "octal"),
        ({"entries": {"a": {"type": "file", "content": "", "permissions": "4755"}}}, "octal"),
        ({"entries": {"a": {"type": "localFile", "source": ""}}}, "at least 1"),
        ({"entries": {}, "environment": {"A B": "x"}}, "no name of a variable"),
        ({"entries": {}, "environment": {"A": "x\ny"}}, "line end"),
        ({"entries": {}, "environment": {"A": 1}}, "valid string"),
    ],
)
def test_what_is_no_manifest_is_refused_with_the_place_and_the_reason(document: Any, words: str) -> None:
    assert words in refusal(document)


def test_a_manifest_has_its_bounds() -> None:
    many = {f"d{number % 100}/f{number}": FILE for number in range(ENTRIES_MAX)}
    assert len(parse_manifest({"entries": many}).entries) == 10_000
    assert "10000" in refusal({"entries": {**many, "one-more": FILE}})
    assert "16,777,216" in refusal({"entries": {"a": {"type": "file", "content": "x" * (INLINE_MAX_BYTES + 1)}}})
    large = {"type": "file", "content": base64.b64encode(bytes(12_000_000)).decode(), "encoding": "base64"}
    assert "67,108,864" in refusal({"entries": {f"f{number}": large for number in range(5)}})


def test_only_so_many_problems_are_told_at_once() -> None:
    told = refusal({"entries": {f"f{number}": {"type": "file"} for number in range(20)}})
    assert told.endswith("and 15 more")


@pytest.mark.contract("S11")
@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% /tmp/x",
        "ext::sh",
        "fd::17",
        "file:///etc",
        "/etc",
        "../repo",
        "http://example.test/r.git",
        "git://example.test/r.git",
        "ftp://example.test/r.git",
        "--upload-pack=touch",
        "-u",
        "ssh://-oProxyCommand=touch/r",
        "ssh://-x@example.test/r",
        "git@-oProxyCommand=touch:r",
        "-x@example.test:r",
        "git@example.test:-r",
        "https://user:secret@example.test/r.git",
        "https://example.test",
        "https:///r.git",
        "https://example.test/r.git#x",
        "https://example.test/r%0d%0a.git",
        "https://example.test/r .git",
        "https://example.test:port/r",
        "HTTPS://example.test/r",
        "https://[zz]/r",
        "https://exa\nmple.test/r",
        "https::https://example.test/r",
        "https://" + "a" * 3000,
    ],
)
def test_a_url_that_runs_something_or_is_no_safe_transport_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="url") as caught:
        check_url(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.test/a/b.git",
        "https://user@example.test:8443/a/b",
        "https://[2001:db8::1]/r",
        "ssh://git@example.test:22/a/b.git",
        "git@example.test:a/b.git",
    ],
)
def test_the_usual_urls_are_taken(url: str) -> None:
    assert check_url(url) == url


@pytest.mark.contract("S11")
@pytest.mark.parametrize(
    "ref",
    [
        "",
        "-x",
        "--upload-pack=x",
        "a..b",
        "a b",
        "a~1",
        "a^",
        "a:b",
        "a?",
        "a*",
        "a[",
        "a\\b",
        "a@{1}",
        "@",
        "HEAD",
        *("/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.", "a\nb", "\ud800", "x" * 256, "refs/heads/main"),
    ],
)
def test_a_ref_that_git_would_not_take_for_a_name_is_refused(ref: str) -> None:
    with pytest.raises(ValueError, match="ref"):
        check_ref(ref)


@pytest.mark.parametrize("ref", ["main", "feature/x-1", "v1.2.3", "ünï", "a" * 40, "0" * 64, "it's"])
def test_names_and_commit_ids_are_refs(ref: str) -> None:
    assert check_ref(ref) == ref


def test_the_line_of_a_clone_quotes_what_the_manifest_says_and_closes_what_git_runs() -> None:
    line = clone_line("https://example.test/a;b.git", "it's", shallow=True, directory="/workspace/a b")
    assert "-- 'https://example.test/a;b.git' '/workspace/a b'" in line
    assert "'--branch=it'\"'\"'s'" in line
    assert "GIT_ALLOW_PROTOCOL=https:ssh GIT_TERMINAL_PROMPT=0 git -c core.hooksPath=/dev/null" in line
    assert "--depth=1" in line
    assert "--no-recurse-submodules" in line
    assert "rm -rf -- '/workspace/a b'" in line
