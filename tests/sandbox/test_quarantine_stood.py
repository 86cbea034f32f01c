"""What is protected for a command is what stood before every command that runs beside it, not what those made (S9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from openbuffer.sandbox.quarantine.protected import protected_paths
from openbuffer.sandbox.quarantine.watch import Quarantine, Watch

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.contract("S9")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "ws"
    made.mkdir()
    return made


@pytest.fixture
def quarantine(tmp_path: Path) -> Quarantine:
    return Quarantine(str(tmp_path.resolve() / "state"))


def read_only(root: Path, watch: Watch) -> list[str]:
    paths = protected_paths([str(root)], watch.stood).read_only
    return [path.removeprefix(f"{root}/") for path in paths]


def test_what_stands_is_protected_as_it_is_without_another_command(root: Path, quarantine: Quarantine) -> None:
    (root / ".git").mkdir()
    (root / ".envrc").write_text("x")
    (root / "dot").mkdir()
    (root / "dot" / "npmrc").write_text("x")
    (root / ".npmrc").symlink_to("dot/npmrc")
    (root / ".zshrc").symlink_to("nowhere")
    with quarantine.around([str(root)], longest_s=60) as watch:
        assert read_only(root, watch) == [".envrc", ".git", "dot/npmrc"]
        assert protected_paths([str(root)]).read_only == protected_paths([str(root)], watch.stood).read_only


def test_what_another_command_has_planted_is_not_mounted(root: Path, quarantine: Quarantine) -> None:
    """It could be led elsewhere between two looks; it is moved out when that command ends."""
    (root / ".envrc").write_text("x")
    with quarantine.around([str(root)], longest_s=60):
        (root / ".vscode").mkdir()
        (root / "repository").mkdir()
        (root / ".git").write_text("gitdir: repository\n")
        with quarantine.around([str(root)], longest_s=60) as second:
            assert read_only(root, second) == [".envrc"]


def test_a_link_that_another_command_replaced_or_removed_is_what_it_was(root: Path, quarantine: Quarantine) -> None:
    for name in ("bashrc", "npmrc", "envrc", "evil"):
        (root / name).write_text("x")
    for name in ("bashrc", "npmrc", "envrc"):
        (root / f".{name}").symlink_to(name)
    with quarantine.around([str(root)], longest_s=60):
        (root / ".bashrc").unlink()
        (root / ".npmrc").unlink()
        (root / ".npmrc").symlink_to("evil")
        (root / ".envrc").unlink()
        (root / ".envrc").write_text("evil")
        with quarantine.around([str(root)], longest_s=60) as second:
            assert read_only(root, second) == ["bashrc", "envrc", "npmrc"]


def test_a_link_to_a_repository_leads_where_it_led(root: Path, quarantine: Quarantine) -> None:
    (root / "pointer").write_text("gitdir: a/repository\n")
    (root / "a" / "repository").mkdir(parents=True)
    (root / "evil").write_text("gitdir: b/repository\n")
    (root / "b" / "repository").mkdir(parents=True)
    (root / ".git").symlink_to("pointer")
    with quarantine.around([str(root)], longest_s=60):
        (root / ".git").unlink()
        (root / ".git").symlink_to("evil")
        with quarantine.around([str(root)], longest_s=60) as second:
            assert read_only(root, second) == ["a/repository", "pointer"]
