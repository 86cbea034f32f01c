"""How many looks at the disk wait at once, whatever an editor tells and however slow the disk is (E11)."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import TYPE_CHECKING

import pytest
from openbuffer.editor_access.baselines import BaselineKeeper, DiskReader
from openbuffer.editor_access.truth import Baseline, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.contract("E11")

SAVES = 100


class Text(str):
    """A text that can be seen to be gone."""

    __slots__ = ("__weakref__",)


class HeldDisk:
    """Holds whatever it is asked about, once a test lets it answer."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.looked_for: list[str] = []

    def baseline(self, path: str, text: str) -> Baseline | None:  # noqa: ARG002  # it holds the same everywhere
        self.go.wait(30)
        self.looked_for.append(str(text))
        return Baseline(text, fingerprint(text.encode()))


@pytest.fixture
def disk() -> Iterator[HeldDisk]:
    disk = HeldDisk()
    yield disk
    disk.go.set()


def saved_often(keeper: BaselineKeeper) -> list[weakref.ref[Text]]:
    texts = [Text(f"text {number}") for number in range(SAVES)]
    for text in texts:
        keeper.saved(text)
    return [weakref.ref(text) for text in texts]


def kept(texts: list[weakref.ref[Text]]) -> list[str]:
    gc.collect()
    return [str(found) for text in texts if (found := text()) is not None]


async def test_of_texts_that_wait_for_a_slow_disk_only_the_newest_are_kept_and_looked_for(disk: HeldDisk) -> None:
    reader = DiskReader(disk)
    keeper = BaselineKeeper("/f", reader)
    texts = saved_often(keeper)
    assert len(kept(texts)) <= 8
    assert f"text {SAVES - 1}" in kept(texts)
    disk.go.set()
    found = await keeper.settled()
    assert found is not None
    assert found.text == f"text {SAVES - 1}"
    assert len(disk.looked_for) <= 8
    reader.stop()


async def test_nothing_more_is_looked_for_once_a_document_is_closed(disk: HeldDisk) -> None:
    reader = DiskReader(disk)
    keeper = BaselineKeeper("/f", reader)
    texts = saved_often(keeper)
    keeper.closed()
    assert len(kept(texts)) <= 2
    other = BaselineKeeper("/g", reader)
    other.opened("other")
    disk.go.set()
    assert (found := await other.settled()) is not None
    assert found.text == "other"
    assert len(disk.looked_for) <= 3
    reader.stop()
