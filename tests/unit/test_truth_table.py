"""The table of truth: what Read, Edit, Write and Delete make of each row, with a plain editor and with a rich one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from .truth_desk import (
    ADAPTERS,
    BASE,
    COMMAND,
    NEW,
    USER,
    Desk,
    Row,
    changed_and_changed,
    changed_and_changed_the_other_way_round,
    changed_and_deleted,
    changed_and_same,
    desk_with,
    edited,
    opened_already_different,
    opened_in_a_wrong_encoding,
    opened_without_a_file,
    replaced_by_a_directory,
    same_and_changed,
    same_and_deleted,
    same_and_same,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.contract("E11", "F11")


@pytest.fixture(params=ADAPTERS.values(), ids=list(ADAPTERS))
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    yield from desk_with(request.param, tmp_path)


# --- the table: what each tool makes of each row -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Cell:
    """``shown`` and ``disk``: what the editor and the file hold afterwards; AS_BEFORE: what they held."""

    succeeds: bool
    says: str
    shown: str | None
    disk: str | None


AS_BEFORE = "as before"


def reads(text: str, says: str) -> Cell:
    return Cell(succeeds=True, says=f"{says}~     1\t{text.splitlines()[0]}", shown=AS_BEFORE, disk=AS_BEFORE)


def changes(says: str, *, shown: str, disk: str | None) -> Cell:
    return Cell(succeeds=True, says=says, shown=shown, disk=disk)


def deletes(says: str, *, shown: str) -> Cell:
    return Cell(
        succeeds=True, says=f"Deleted ~{says}~cannot be asked to close it~bring the file back", shown=shown, disk=None
    )


def refuses(says: str) -> Cell:
    return Cell(succeeds=False, says=says, shown=AS_BEFORE, disk=AS_BEFORE)


IN_DOCUMENT = "It is in the open document; nothing was saved to disk, which this editor cannot be asked to do"
SAVED = "It is in the open document, and saved to disk"
IN_PLACE = (
    "It is in the open document, in place of unsaved changes of the user; nothing was saved to disk, which this editor "
    "cannot be asked to do"
)
OVER = "It is in the open document, in place of unsaved changes of the user; nothing was saved to disk."
BESIDE = "It is in the open document, beside unsaved changes of the user; nothing was saved to disk"
ON_DISK = "Written to disk.~the open document still shows older text~this editor cannot be asked to reload it"
CONFLICT = "conflict~Nothing was changed~Ask the user to save the document"
TWO_TEXTS = "differs from the file on disk~Nothing was changed~Ask the user to save the document"
GONE = "no such file~the open document still shows its old text"
BOTH_GONE = "conflict~was deleted as well~Nothing was changed"
WRONG = "opened it in a wrong encoding~Nothing was changed"
INCOMPARABLE = "cannot be compared~is a directory~Nothing was changed"

# One cell is for every editor; of two, the first is for a plain one and the second for one that flushes, saves and
# reloads. In `says` the pieces between `~` come in this order, with anything between them.
TABLE: dict[Row, dict[str, Cell | tuple[Cell, Cell]]] = {
    same_and_same: {
        "Read": reads(BASE, "in the open document, nothing unsaved"),
        "Edit": (
            changes(IN_DOCUMENT, shown=edited(BASE), disk=BASE),
            changes(SAVED, shown=edited(BASE), disk=edited(BASE)),
        ),
        "Write": (changes(IN_DOCUMENT, shown=NEW, disk=BASE), changes(SAVED, shown=NEW, disk=NEW)),
        "Delete": deletes("still shows its text", shown=BASE),
    },
    same_and_changed: {
        "Read": reads(COMMAND, "on disk, changed there; the open document still shows older text"),
        "Edit": (
            changes(ON_DISK, shown=BASE, disk=edited(COMMAND)),
            changes(SAVED, shown=edited(COMMAND), disk=edited(COMMAND)),
        ),
        "Write": (changes(ON_DISK, shown=BASE, disk=NEW), changes(SAVED, shown=NEW, disk=NEW)),
        "Delete": deletes("still shows older text than the file had", shown=BASE),
    },
    same_and_deleted: {
        "Read": refuses(GONE),
        "Edit": refuses(GONE),
        "Write": (
            changes("Written to disk.~the open document still shows older text", shown=BASE, disk=NEW),
            changes("Written to disk.", shown=NEW, disk=NEW),
        ),
        "Delete": refuses("no such file~It is deleted already~still shows its old text"),
    },
    changed_and_same: {
        "Read": reads(USER, "in the open document, unsaved changes of the user"),
        "Edit": (
            changes(IN_DOCUMENT, shown=edited(USER), disk=BASE),
            changes(BESIDE, shown=edited(USER), disk=BASE),
        ),
        "Write": (changes(IN_PLACE, shown=NEW, disk=BASE), changes(OVER, shown=NEW, disk=BASE)),
        "Delete": refuses("unsaved changes of the user, which are nowhere on disk~Nothing was deleted~Ask the user"),
    },
    changed_and_changed: {
        "Read": reads(USER, "in conflict with the disk: the file was changed as well"),
        "Edit": refuses(CONFLICT),
        "Write": refuses(CONFLICT),
        "Delete": refuses(CONFLICT),
    },
    changed_and_changed_the_other_way_round: {
        "Read": reads(USER, "in conflict with the disk: the file was changed as well"),
        "Edit": refuses(CONFLICT),
        "Write": refuses(CONFLICT),
        "Delete": refuses(CONFLICT),
    },
    changed_and_deleted: {
        "Read": reads(USER, "in conflict with the disk: the file was deleted as well"),
        "Edit": refuses(BOTH_GONE),
        "Write": refuses(BOTH_GONE),
        "Delete": refuses("no such file~Only an open document in the editor has text for it, unsaved"),
    },
    opened_already_different: {
        "Read": reads(USER, "in the open document, which was opened with other text than is on disk"),
        "Edit": refuses(TWO_TEXTS),
        "Write": refuses(TWO_TEXTS),
        "Delete": refuses(TWO_TEXTS),
    },
    opened_without_a_file: {
        "Read": reads(USER, "in the open document, unsaved: there is no file on disk"),
        "Edit": (
            changes(IN_DOCUMENT, shown=edited(USER), disk=None),
            changes(BESIDE, shown=edited(USER), disk=None),
        ),
        "Write": (changes(IN_PLACE, shown=NEW, disk=None), changes(OVER, shown=NEW, disk=None)),
        "Delete": refuses("no such file~Only an open document in the editor has text for it, unsaved"),
    },
    opened_in_a_wrong_encoding: {
        "Read": reads("na\ufffdve", "in the open document, which was opened with other text than is on disk"),
        "Edit": refuses(WRONG),
        "Write": refuses(WRONG),
        "Delete": refuses(WRONG),
    },
    replaced_by_a_directory: {
        "Read": reads(BASE, "in the open document, which cannot be compared with the file on disk"),
        "Edit": refuses(INCOMPARABLE),
        "Write": refuses(INCOMPARABLE),
        "Delete": refuses(INCOMPARABLE),
    },
}


@pytest.mark.parametrize("tool", ["Read", "Edit", "Write", "Delete"])
@pytest.mark.parametrize("row", TABLE)
async def test_each_tool_makes_of_each_row_what_the_table_says(desk: Desk, row: Row, tool: str) -> None:
    await row(desk)
    before = {"shown": desk.shown, "disk": desk.disk}
    found = TABLE[row][tool]
    cell = found[desk.is_rich] if isinstance(found, tuple) else found
    calls = {"Read": desk.call_read, "Edit": desk.edit, "Write": desk.write, "Delete": desk.delete}
    result = await calls[tool]()
    told = result.output if result.success else str(result.error)
    assert result.success is cell.succeeds, told
    assert re.search(".*".join(map(re.escape, cell.says.split("~"))), told, re.DOTALL), told
    after = {"shown": cell.shown, "disk": cell.disk}
    assert {"shown": desk.shown, "disk": desk.disk} == {
        side: before[side] if held == AS_BEFORE else held for side, held in after.items()
    }
    if tool == "Read" and result.success:
        assert ("as last sent by the editor" in told.split("\n", 1)[0]) is not desk.is_rich
