"""What is protected in a workspace: which of the names exist, what leads elsewhere, and git's directories (S9)."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from openbuffer.sandbox.quarantine.protected import PROTECTED_NAMES, protected_paths

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.contract("S9")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "ws"
    root.mkdir()
    return root


def test_the_list_holds_every_name_of_the_contract() -> None:
    named = {
        ".git",
        ".mcp.json",
        ".claude",
        ".agents",
        ".cursor",
        ".vscode",
        ".openbuffer",
        "openbuffer.toml",
        ".envrc",
        ".gitmodules",
        ".gitconfig",
        ".npmrc",
        ".ripgreprc",
        ".bashrc",
        ".zshrc",
        ".profile",
    }
    assert named <= set(PROTECTED_NAMES)
    assert len(set(PROTECTED_NAMES)) == len(PROTECTED_NAMES)


def test_an_empty_workspace_protects_nothing_and_stays_empty(root: Path) -> None:
    assert protected_paths([str(root)]).read_only == ()
    assert list(root.iterdir()) == []


def test_existing_entries_are_read_only_and_others_are_not(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".mcp.json").write_text("{}")
    (root / "src").mkdir()
    found = protected_paths([str(root)])
    assert found.read_only == (str(root / ".git"), str(root / ".mcp.json"))
    assert {entry.name: entry.kind for entry in found.entries} == {".git": "directory", ".mcp.json": "file"}
    assert found.links == ()


def test_a_worktree_protects_its_git_directory_and_the_common_one(tmp_path: Path) -> None:
    main = tmp_path.resolve() / "main"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(main)]
    main.mkdir()
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "tree")], check=True)
    tree = tmp_path.resolve() / "tree"
    found = protected_paths([str(tree)])
    assert set(found.git_directories) == {str(main / ".git"), str(main / ".git/worktrees/tree")}
    assert found.read_only == (str(main / ".git"), str(tree / ".git"))


def test_a_git_file_that_points_into_the_workspace_protects_what_it_points_to(root: Path) -> None:
    (root / "meta/common").mkdir(parents=True)
    (root / "meta/commondir").write_text("common\n")
    (root / ".git").write_text("gitdir: meta\n")
    found = protected_paths([str(root)])
    assert set(found.git_directories) == {str(root / "meta"), str(root / "meta/common")}
    assert found.read_only == (str(root / ".git"), str(root / "meta"))


@pytest.mark.parametrize("pointer", ["gitdir: .", "gitdir: ..", "gitdir: /"])
def test_a_pointer_to_the_workspace_itself_does_not_make_all_of_it_read_only(root: Path, pointer: str) -> None:
    (root / ".git").write_text(pointer)
    (root / "config").write_text("")
    (root / "hooks").mkdir()
    (root / "src").mkdir()
    read_only = protected_paths([str(root)]).read_only
    assert str(root / ".git") in read_only
    assert not any(str(root / "src").startswith(path) for path in read_only)
    if pointer == "gitdir: .":
        assert {str(root / "config"), str(root / "hooks")} <= set(read_only)


@pytest.mark.parametrize(
    "content", [b"", b"gitdir:", b"gitdir: /no/such", b"x" * 100_000, b"gitdir: a\0b", b"gitdir: \xff\xfe"]
)
def test_a_git_file_that_points_nowhere_protects_itself_alone(root: Path, content: bytes) -> None:
    (root / ".git").write_bytes(content)
    found = protected_paths([str(root)])
    assert found.read_only == (str(root / ".git"),)


def test_a_fifo_for_a_git_file_does_not_hang(root: Path) -> None:
    os.mkfifo(root / ".git")
    os.mkfifo(root / ".envrc")
    assert {entry.kind for entry in protected_paths([str(root)]).entries} == {"other"}


def test_a_link_is_told_with_its_text_and_where_it_leads(root: Path) -> None:
    (root / "conf").mkdir()
    (root / ".vscode").symlink_to("conf")
    (root / ".envrc").symlink_to("nowhere")
    (root / ".zshrc").symlink_to(".zshrc")
    links = {link.name: (link.target, link.leads_to) for link in protected_paths([str(root)]).links}
    assert links == {".vscode": ("conf", str(root / "conf")), ".envrc": ("nowhere", ""), ".zshrc": (".zshrc", "")}
    assert protected_paths([str(root)]).read_only == (str(root / "conf"),)


def test_a_link_to_a_directory_around_the_workspace_is_not_made_read_only(root: Path) -> None:
    (root / ".vscode").symlink_to("..")
    (root / ".git").symlink_to(".")
    (root / "HEAD").write_text("")
    assert protected_paths([str(root)]).read_only == (str(root / "HEAD"),)


def test_a_thousand_links_in_a_row_lead_nowhere_and_end(root: Path) -> None:
    for number in range(1_200):
        (root / f"l{number}").symlink_to(f"l{number + 1}")
    (root / "l1200").mkdir()
    (root / ".git").symlink_to("l0")
    (link,) = protected_paths([str(root)]).links
    assert link.leads_to == ""
    (root / ".git").unlink()
    (root / ".git").write_text("gitdir: l0/x")
    assert protected_paths([str(root)]).missing_git_directories == (str(root / "l0/x"),)


def test_the_repository_around_a_workspace_is_protected_too(root: Path) -> None:
    (root.parent / ".git").mkdir()
    below = root / "a/b"
    below.mkdir(parents=True)
    assert protected_paths([str(below)]).read_only == (str(root.parent / ".git"),)


def test_a_root_that_is_missing_or_has_a_strange_name_is_survived(root: Path) -> None:
    strange = os.path.join(os.fsencode(root), b"\xff\n")
    os.mkdir(strange)
    os.mkdir(os.path.join(strange, b".git"))
    found = protected_paths([str(root / "gone"), os.fsdecode(strange), "bad\0root"])
    assert [os.fsencode(path) for path in found.read_only] == [os.path.join(strange, b".git")]
