"""Which file a document stands for is judged by the disk as it is now, however seldom that is looked at."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openbuffer.editor_access import document_identity
from openbuffer.editor_access.document_identity import LastLook, WantedFile

if TYPE_CHECKING:
    from collections.abc import Callable

TICK_S = 0.02
"""Longer than what any file system of the tests takes for one moment."""


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories are taken for settled a tick after they changed."""
    monkeypatch.setattr(document_identity, "_SETTLED_NS", int(TICK_S / 2 * 1e9))


def changes(root: Path) -> list[Callable[[str, str], object]]:
    return [
        lambda one, _: (root / one).write_text("new"),
        lambda one, _: (root / one).unlink(),
        lambda one, other: os.replace(root / one, root / other),
        lambda one, other: (root / one).symlink_to(root / other),
        lambda one, other: (root / one).hardlink_to(root / other),
        lambda one, other: os.symlink(os.path.basename(other), root / one),
        lambda _, __: os.rename(*sorted([root / "d", root / "gone"], key=Path.exists, reverse=True)),
        lambda _, __: os.rename(root / "e", root / "gone") if (root / "e").exists() else (root / "e").symlink_to("d"),
        lambda _, __: os.utime(root / "d", ns=(0, 0)),
    ]  # fmt: skip


@pytest.mark.contract("E1")
@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("seed", range(6))
def test_a_remembered_look_says_what_a_new_one_does_whatever_is_renamed_linked_and_replaced(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    root = tmp_path.resolve()
    for directory in ("d", "e"):
        (root / directory).mkdir()
    names = [f"{directory}{name}" for directory in ("", "d/", "e/", "e/../") for name in ("a", "b")]
    for name in names:
        (root / name).write_text(name)
    documents = {str(root / name): LastLook() for name in names}
    told_apart = 0
    for _ in range(40):
        try:
            rng.choice(changes(root))(rng.choice(names), rng.choice(names))
        except OSError:
            continue
        time.sleep(TICK_S)
        for wanted in {os.path.realpath(document) for document in documents}:
            file = WantedFile(wanted)
            for document, last in documents.items():
                assert file.is_opened_as(document, last) == WantedFile(wanted).is_opened_as(document), (
                    document,
                    wanted,
                )
                told_apart += last.inode is not None
    assert told_apart > 100


@pytest.mark.contract("E1")
def test_a_directory_is_looked_at_instead_of_the_hundreds_of_documents_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = {str(tmp_path / f"{number}"): LastLook() for number in range(300)}
    for document in documents:
        (tmp_path / document).touch()
    soon = time.time_ns() + 3 * document_identity._SETTLED_NS
    monkeypatch.setattr(document_identity.time, "time_ns", lambda: soon)
    looks: list[str] = []
    for name in ("stat", "lstat"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda path, real=real: (looks.append(path), real(path))[1])
    wanted = str(tmp_path / "7")
    for most in (310, 10):
        looks.clear()
        file = WantedFile(wanted)
        assert [each for each, last in documents.items() if file.is_opened_as(each, last)] == [wanted]
        looked_at = [path for path in looks if os.path.dirname(path) == str(tmp_path)]
        assert len(looked_at) < most


@pytest.mark.contract("E1")
def test_a_directory_that_has_just_changed_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    last = LastLook()
    assert not WantedFile(str(tmp_path / "b")).is_opened_as(str(tmp_path / "a"), last)
    assert last == LastLook()
