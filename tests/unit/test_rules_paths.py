"""Rules about paths: what they mean, with the file system's own way to compare names."""

from __future__ import annotations

import os
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools.contract import Capability, CommandTarget
from openbuffer.tools.rules.hidden_paths import hidden_paths
from openbuffer.tools.rules.host_places import folds_case, host_places
from openbuffer.tools.rules.places import RulePlaces
from openbuffer.tools.rules.policy import RulePolicy
from openbuffer.tools.support.unreadable import UnreadablePaths

from .rules_desk import file, policy, request, rules

if TYPE_CHECKING:
    from pathlib import Path

TWO_ROOTS = RulePlaces(roots=("/ws", "/other"), home="/home/u")


@pytest.mark.contract("X4", "P2")
@pytest.mark.parametrize(
    ("pattern", "denied", "free"),
    [
        ("src/**", ["/ws/src", "/ws/src/a", "/other/src/a/b"], ["/ws/srcx", "/ws/a/src/b", "/src/a"]),
        ("src", ["/ws/src", "/ws/src/a/b", "/ws/a/src/b"], ["/ws/srcx"]),
        ("src/", ["/ws/src", "/ws/src/a", "/ws/a/src/b"], ["/ws/srcx"]),
        ("./src", ["/ws/src", "/ws/src/a"], ["/ws/a/src"]),
        (".env", ["/ws/.env", "/ws/a/b/.env", "/ws/.env/x"], ["/ws/x.env", "/.env", "/ws/.env.local"]),
        ("*.{key,pem}", ["/ws/a.key", "/other/d/b.pem"], ["/ws/akey", "/ws/a.key.pub"]),
        ("a/*/c", ["/ws/a/b/c", "/ws/a/b/c/d"], ["/ws/a/c", "/ws/a/b/b/c"]),
        ("a/**/c", ["/ws/a/c", "/ws/a/b/b/c/d"], ["/ws/b/c"]),
        ("~/.ssh/**", ["/home/u/.ssh", "/home/u/.ssh/id"], ["/home/u/.sshx", "/home/v/.ssh/id", "/ws/~/.ssh/id"]),
        ("~", ["/home/u", "/home/u/x"], ["/home/ux", "/home"]),
        ("/etc/shadow", ["/etc/shadow", "/etc/shadow/x"], ["/ws/etc/shadow", "/etc/shadow-"]),
        ("/etc/**/*.key", ["/etc/x.key", "/etc/a/b.key"], ["/etc/x"]),
        ("**", ["/ws", "/ws/a/b", "/other"], ["/etc", "/wsx"]),
        ("a b/[...slug]/(x)", ["/ws/a b/[...slug]/(x)"], ["/ws/a b/x"]),
    ],
)
def test_what_a_path_means_where_it_restricts(pattern: str, denied: list[str], free: list[str]) -> None:
    for verdict in ("deny", "ask"):
        by = policy(places=TWO_ROOTS, **{verdict: [f"FILE_READ({pattern})"]})
        hidden = by.unreadable("Grep")
        assert hidden is not None
        for path in denied:
            assert (path, file(by, "Read", path).verdict) == (path, verdict)
            assert hidden(path), path
        for path in free:
            assert (path, file(by, "Read", path).verdict) == (path, "allow")
            assert not hidden(path), path


@pytest.mark.contract("X4")
@pytest.mark.parametrize(
    ("pattern", "allowed", "not_allowed"),
    [
        ("src/**", ["/ws/src/a", "/ws/src/a/b"], ["/ws/srcx", "/ws/a/src/b"]),
        ("src/", ["/ws/src/a", "/ws/d/src/a/b"], ["/ws/srcx"]),
        ("notes", ["/ws/notes", "/ws/d/notes"], ["/ws/notes/x"]),
        ("./notes", ["/ws/notes"], ["/ws/notes/x", "/ws/d/notes"]),
        ("*.md", ["/ws/a.md", "/ws/d/a.md"], ["/ws/a.md/x", "/a.md"]),
        ("docs/*", ["/ws/docs/a"], ["/ws/docs/a/b", "/ws/docs"]),
        ("**", ["/ws/a/b"], ["/a"]),
    ],
)
def test_what_a_path_means_where_it_allows(pattern: str, allowed: list[str], not_allowed: list[str]) -> None:
    by = policy(allow=[f"FILE_WRITE({pattern})"])
    assert [path for path in allowed if file(by, "Edit", path, "FILE_WRITE").verdict != "allow"] == []
    assert [path for path in not_allowed if file(by, "Edit", path, "FILE_WRITE").verdict != "ask"] == []


@pytest.mark.contract("X4", "T10")
def test_a_restriction_of_reading_or_changing_holds_for_every_tool_and_a_permission_for_the_tool_it_names() -> None:
    by = policy(deny=["Read(a/**)", "Edit(b/**)", "Delete(c/**)", "Grep(d/**)"], allow=["Edit(e/**)"])
    reads = [each for each in "abcde" if file(by, "Grep", f"/ws/{each}/x").verdict == "deny"]
    changes = [each for each in "abcde" if file(by, "Write", f"/ws/{each}/x", "FILE_WRITE").verdict == "deny"]
    deletes = [each for each in "abcde" if file(by, "Delete", f"/ws/{each}/x", "FILE_WRITE").verdict == "deny"]
    assert (reads, changes, deletes) == (["a", "d"], ["b"], ["b", "c"])
    assert file(by, "Edit", "/ws/e/x", "FILE_WRITE").verdict == "allow"
    assert file(by, "Delete", "/ws/e/x", "FILE_WRITE").verdict == "ask"
    assert file(by, "Read", "/ws/d/x").verdict == "allow"
    assert by.unreadable("Glob") is not None
    assert by.unreadable("Grep")("/ws/d/x")  # type: ignore[misc]  there is one
    assert not by.unreadable("Glob")("/ws/d/x")  # type: ignore[misc]  there is one


@pytest.mark.contract("X4")
def test_the_reason_names_the_rule_and_where_it_comes_from() -> None:
    by = policy(deny=["Read(x)", "Read(~/.ssh/**)"])
    assert file(by, "Read", "/home/u/.ssh/id").reason == "by the deny rule Read(~/.ssh/**) (the user's configuration)"


# --- how names are compared ----------------------------------------------------------------------------------------

FOLDING = RulePlaces(roots=("/ws",), home="/home/u", folds_case=lambda path: path.startswith("/ws"))


@pytest.mark.contract("X4")
@pytest.mark.parametrize("path", ["/ws/.GIT/config", "/WS/.git/CONFIG", "/ws/.Git"])
def test_on_a_disk_that_folds_case_a_rule_does_too(path: str) -> None:
    assert file(policy(places=FOLDING, deny=["Read(./.git/**)"]), "Read", path).verdict == "deny"
    assert file(policy(deny=["Read(./.git/**)"]), "Read", path).verdict == "allow"


@pytest.mark.contract("X4")
def test_the_case_rule_is_that_of_the_place_of_the_rule() -> None:
    by = policy(
        places=FOLDING,
        deny=["Read(~/.SSH/**)", "Read(KEYS/[A-Z]*)", "Read(up/[[:upper:]]x)"],
        allow=["FILE_WRITE(./Src/**)"],
    )
    assert file(by, "Read", "/home/u/.ssh/id").verdict == "allow"
    assert file(by, "Read", "/ws/keys/a").verdict == "deny"
    assert file(by, "Read", "/ws/up/ax").verdict == "deny"
    assert file(by, "Edit", "/ws/src/a", "FILE_WRITE").verdict == "allow"


@pytest.mark.contract("X4")
def test_unicodes_forms_are_one_where_a_rule_restricts_and_two_where_it_allows() -> None:
    composed, decomposed = unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é")
    for one, other in ((composed, decomposed), (decomposed, composed)):
        assert file(policy(deny=[f"Read({one}/**)"]), "Read", f"/ws/{other}/x").verdict == "deny"
        assert file(policy(allow=[f"FILE_WRITE({one}/**)"]), "Edit", f"/ws/{other}/x", "FILE_WRITE").verdict == "ask"
        assert file(policy(allow=[f"FILE_WRITE({one}/**)"]), "Edit", f"/ws/{one}/x", "FILE_WRITE").verdict == "allow"


@pytest.mark.contract("X4")
def test_the_case_rule_of_a_disk_is_found_out_by_looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Name").write_text("")
    assert not folds_case(str(tmp_path))
    assert not folds_case(str(tmp_path / "not" / "there"))
    real = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path, **more: real(os.path.join(os.path.dirname(path), "Name"), **more))
    assert folds_case(str(tmp_path))
    assert folds_case(str(tmp_path / "not there"))
    os.link(tmp_path / "Name", tmp_path / "nAME")
    assert not folds_case(str(tmp_path)) or os.listdir(tmp_path) != ["Name", "nAME"]


@pytest.mark.contract("X4", "P2")
def test_a_link_in_a_rule_means_what_it_leads_to_as_well(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "ws", tmp_path / "real"
    (elsewhere / "keys").mkdir(parents=True)
    root.mkdir()
    (root / "link").symlink_to(elsewhere)
    by = policy(places=host_places([str(root)], home=str(tmp_path)), deny=["Read(link/keys/*.pem)", "Read(~/ws/link)"])
    assert file(by, "Read", f"{elsewhere}/keys/a.pem").verdict == "deny"
    assert file(by, "Read", f"{elsewhere}/x").verdict == "deny"
    assert file(by, "Read", f"{tmp_path}/y").verdict == "allow"
    allowing = policy(places=host_places([str(root)]), allow=["FILE_WRITE(link/**)"])
    assert file(allowing, "Edit", f"{elsewhere}/x", "FILE_WRITE").verdict == "ask"


# --- what tools that walk leave out --------------------------------------------------------------------------------


@pytest.mark.contract("X4")
def test_a_link_carries_no_redirection_to_where_it_is_not_allowed_or_denied(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    for name in ("out/sub", "secret", "home"):
        (root / name).mkdir(parents=True)
    for name, leads_to in (("bashrc", "../home/.bashrc"), ("s", "../secret"), ("in", "sub"), ("away", root / "home")):
        (root / "out" / name).symlink_to(leads_to)
    by = RulePolicy(
        rules(allow=["Bash(ls:*)", "Write(out/**)"], deny=["Edit(secret/**)"]), host_places([str(root)], home="/home/u")
    )

    def verdict(line: str) -> str:
        target = CommandTarget(command=line, argv=("/bin/bash", "-c", "--", line), cwd=str(root))
        return by.decide(request("Bash", Capability.SHELL, target)).verdict

    assert [verdict(f"ls > out/{name}") for name in ("x", "in/x", "sub/new/x")] == ["allow"] * 3
    assert [verdict(f"ls > out/{name}") for name in ("bashrc", "away/x", "away/../x")] == ["ask"] * 3
    assert [verdict(f"ls > out/{name}") for name in ("s/x", "s", "in/../s/x")] == ["deny"] * 3


@pytest.mark.contract("X4")
def test_what_matters_for_a_search_depends_on_the_patterns_alone() -> None:
    by = policy(deny=["Read(~/.ssh/**)", "Read(a/b/**)", "Read(**/x/*.key)"], ask=["Read(c/**)"])
    hidden = by.unreadable("Grep")
    assert hidden is not None
    assert hidden.within("/elsewhere") is None
    within = {
        start: [each.pattern.glob for each in kept.patterns]
        for start in ("/ws", "/ws/a", "/ws/a/b/c", "/ws/c", "/ws/c/d", "/home")
        if (kept := hidden.within(start))
    }
    assert within == {
        "/ws": ["a/b/**", "**/x/*.key", "c/**"],
        "/ws/a": ["a/b/**", "**/x/*.key"],
        "/ws/a/b/c": ["a/b/**", "**/x/*.key"],
        "/ws/c": ["**/x/*.key"],
        "/ws/c/d": ["**/x/*.key"],
        "/home": [".ssh/**"],
    }


@pytest.mark.contract("X4")
def test_it_crosses_to_another_process_as_data() -> None:
    import json

    hidden = policy(places=FOLDING, deny=["Read(a/*.key)"], ask=["Read(b)"]).unreadable("Grep")
    assert hidden is not None
    again = UnreadablePaths.of(json.loads(json.dumps(hidden.plain())))
    assert again is not None
    assert again.patterns == hidden.patterns
    assert UnreadablePaths.of([]) is None
    assert policy(deny=["Edit(x)"]).unreadable("Grep") is None


@pytest.mark.contract("X4", "S10")
def test_denials_become_paths_that_a_sandbox_can_hide_and_what_that_misses_is_told(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    for name in ("a/.env", "a/b/.env", "keys/x.pem", "keys/x.txt", "secret/f"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    (root / "loop").symlink_to(root)
    places = host_places([str(root)], home=str(tmp_path / "home"))
    by = policy(
        places=places,
        deny=["Read(secret/**)", "Read(~/.ssh)", "Read(.env)", "Read(keys/*.pem)", "Read(/**/*.key)"],
        ask=["Read(a/**)"],
    )
    found = hidden_paths(by.unreadable("Shell"))
    where = os.path.realpath(root)
    assert sorted(found.paths) == sorted(
        [
            f"{where}/secret",
            f"{os.path.realpath(tmp_path)}/home/.ssh",
            f"{where}/a/.env",
            f"{where}/a/b/.env",
            f"{where}/keys/x.pem",
        ]
    )
    assert found.notes == [
        "/**/*.key: may match anywhere, and is not hidden from commands",
        f"{where}/**/.env, {where}/keys/*.pem: what matches now is hidden, what is made later is not",
    ]
    assert hidden_paths(None).paths == []


@pytest.mark.contract("X4", "S10")
def test_looking_for_what_is_to_be_hidden_is_bounded(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.pem").write_text("")
    by = policy(places=host_places([str(tmp_path)]), deny=["Read(*.pem)"])
    hidden = by.unreadable("Shell")
    found = hidden_paths(hidden, max_paths=10)
    assert len(found.paths) == 10
    assert any("the first 10 are hidden" in note for note in found.notes)
    cut = hidden_paths(hidden, max_entries=5)
    assert len(cut.paths) == 5
    assert any("too large to be searched whole" in note for note in cut.notes)
    assert hidden_paths(policy(deny=["FILE_READ"]).unreadable("Shell")).notes == [
        "nothing at all may be read, which no sandbox can express; deny commands instead"
    ]


# --- properties ----------------------------------------------------------------------------------------------------

_NAMES = st.sampled_from(["a", "b", "A", "é", "é", ".env", "x.key"])
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map(lambda names: "/ws/" + "/".join(names))
_PARTS = st.sampled_from(["a", "b", "*", "**", "?", "[ab]", "*.key", ".env", "{a,b}", "A"])
_PATTERNS = st.lists(_PARTS, min_size=1, max_size=4).map("/".join)
_RULES = st.lists(
    st.tuples(st.sampled_from(["Read", "Edit", "FILE_READ", "FILE_WRITE", "Grep", "Write"]), _PATTERNS).map(
        lambda each: f"{each[0]}({each[1]})"
    ),
    max_size=3,
)
_RANK: dict[str, int] = {"allow": 0, "ask": 1, "deny": 2}


@pytest.mark.contract("X4", "B7")
@given(
    allow=_RULES,
    ask=_RULES,
    deny=_RULES,
    more=_RULES,
    path=_PATHS,
    access=st.sampled_from(["FILE_READ", "FILE_WRITE"]),
    tool=st.sampled_from(["Read", "Edit", "Grep", "Delete"]),
)
def test_another_restriction_never_loosens(
    allow: Any, ask: Any, deny: Any, more: Any, path: str, access: str, tool: str
) -> None:
    before = file(policy(allow=allow, ask=ask, deny=deny), tool, path, access).verdict
    denied = file(policy(allow=allow, ask=ask, deny=[*more, *deny]), tool, path, access).verdict
    asked = file(policy(allow=allow, ask=[*ask, *more], deny=deny), tool, path, access).verdict
    assert _RANK[denied] >= _RANK[before]
    assert _RANK[asked] >= _RANK[before]


@pytest.mark.contract("X4")
@given(pattern=_PATTERNS, path=_PATHS, below=_NAMES)
def test_what_is_denied_is_denied_with_all_below_it_and_told_to_the_walk_alike(
    pattern: str, path: str, below: str
) -> None:
    by = policy(deny=[f"Read({pattern})"])
    hidden = by.unreadable("Glob")
    assert hidden is not None
    is_denied = file(by, "Read", path).verdict == "deny"
    assert hidden(path) == is_denied
    narrowed = hidden.within("/ws")
    assert (narrowed is not None and narrowed(path)) == is_denied
    if is_denied:
        assert file(by, "Read", f"{path}/{below}").verdict == "deny"
        assert hidden(f"{path}/{below}")
