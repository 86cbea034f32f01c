"""What an approval shows is bounded, and never less than the path, the counts and the first hunk; all is on record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools import Capability, FileChange, FileTarget, Hunk
from openbuffer.tools import limits as limits_module
from openbuffer.tools.adapters.approvals import PendingApprovals
from openbuffer.tools.adapters.event_records import decode, encode
from openbuffer.tools.adapters.log_redaction import Redaction
from openbuffer.tools.adapters.log_settings import KEPT, LogSettings
from openbuffer.tools.approvals import approval_request, shown_change, shown_of
from openbuffer.tools.contract import CommandTarget
from openbuffer.tools.events import ApprovalAnswered, ApprovalAsked
from openbuffer.tools.permissions import PermissionRequest
from openbuffer.tools.ports import ApprovalAnswer

from .log_desk import READS, Desk, changing, finished, intended, rejected

if TYPE_CHECKING:
    from pathlib import Path

ALL = frozenset(KEPT)
FILE = FileTarget(path="/ws/a.txt", access=Capability.FILE_WRITE)

hunks = st.builds(Hunk, st.integers(1, 9), st.text(max_size=40), st.text(max_size=40))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "log")


def asked(call_id: str = "c1", **options: object) -> ApprovalAsked:
    given_: dict[str, object] = {
        "attempt": 1,
        "tool": "Edit",
        "capabilities": frozenset({Capability.FILE_WRITE}),
        "reason": "by the ask rule Edit (yours)",
        "targets": (FILE,),
        "change": changing(b"a\n"),
        "rules": ("Edit(/ws/a.txt)",),
    }
    return ApprovalAsked(call_id=call_id, **{**given_, **options})  # type: ignore[arg-type]  # options of a test


def answered(call_id: str = "c1", outcome: str = "once") -> ApprovalAnswered:
    return ApprovalAnswered(call_id=call_id, attempt=1, tool="Edit", outcome=outcome, reason="why")  # type: ignore[arg-type]  # likewise


@pytest.mark.contract("X4")
@given(st.lists(hunks, max_size=8), st.integers(2, 200), st.integers(1, 5))
def test_a_shown_change_keeps_within_its_bounds_and_says_what_is_missing(
    given_hunks: list[Hunk], most: int, most_hunks: int
) -> None:
    change = FileChange(path="/ws/a", hunks=tuple(given_hunks), before_bytes=1, after_bytes=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits_module, "APPROVAL_SHOWN_MAX_CHARS", most)
        patch.setattr(limits_module, "APPROVAL_SHOWN_MAX_HUNKS", most_hunks)
        shown = shown_change(change)
    assert sum(len(h.before) + len(h.after) for h in shown.hunks) <= most
    assert len(shown.hunks) <= most_hunks
    assert (shown.path, shown.hunk_count) == ("/ws/a", len(given_hunks))
    assert bool(shown.hunks) == bool(given_hunks)
    assert shown.is_whole == (shown.hunks == change.hunks)
    for at, hunk in enumerate(shown.hunks):
        assert given_hunks[at].before.startswith(hunk.before)
        assert given_hunks[at].after.startswith(hunk.after)


@pytest.mark.contract("X4")
def test_of_one_huge_hunk_both_sides_are_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "APPROVAL_SHOWN_MAX_CHARS", 10)
    monkeypatch.setattr(limits_module, "APPROVAL_COUNTED_MAX_CHARS", 6)
    shown = shown_change(changing(b"x", (Hunk(1, "a\n" * 50, "b\n" * 50),)))
    assert shown.hunks == (Hunk(1, "a\na\na", "b\nb\nb"),)
    assert (shown.removed_lines, shown.added_lines, shown.is_counted, shown.is_whole) == (3, 0, False, False)


@pytest.mark.contract("X4")
def test_of_very_many_hunks_the_lines_are_counted_as_far_as_that_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "APPROVAL_COUNTED_MAX_HUNKS", 3)
    hunks = tuple(Hunk(line, "a\n", "") for line in range(1, 5))
    for count, told in ((3, (3, True)), (4, (3, False))):
        shown = shown_change(changing(b"x", hunks[:count]))
        assert (shown.removed_lines, shown.is_counted) == told
        assert shown.hunk_count == count


@pytest.mark.contract("X4")
def test_a_tool_that_tells_no_targets_is_shown_by_its_arguments_within_bounds() -> None:
    def request(arguments: dict[str, object]) -> str:
        judged = PermissionRequest(call_id="1", tool="Own", capabilities=frozenset(), targets=(), stage="plan")
        return approval_request(judged, reason="", arguments=arguments, rules=()).arguments

    assert request({"to": "é"}) == '{"to": "é"}'
    long = request({"numbers": list(range(100_000))})
    assert len(long) == limits_module.APPROVAL_ARGUMENTS_MAX_CHARS + 1
    assert long.endswith("…")


@pytest.mark.contract("X4")
def test_another_place_of_the_same_lines_is_the_same_and_all_else_is_another_change() -> None:
    base = shown_of((FILE,), changing(b"a\n"))
    assert shown_of((FILE,), changing(b"x\na\n", (Hunk(2, "a\n", "b\n"),))) == base
    moved = FileTarget(path="/ws/a.txt", access=Capability.FILE_WRITE, place="document")
    assert shown_of((moved,), changing(b"a\n")) == base
    different = [
        shown_of((FILE,), changing(b"a\n", (Hunk(1, "a\n", "c\n"),))),
        shown_of((FILE,), changing(None)),
        shown_of((FileTarget(path="/ws/b.txt", access=Capability.FILE_WRITE),), changing(b"a\n")),
        shown_of((FILE,), None),
    ]
    assert base not in different
    confined = CommandTarget(command="ls", argv=("sh", "-c", "ls"), cwd="/ws", confined_by="bubblewrap")
    bare = CommandTarget(command="ls", argv=("sh", "-c", "ls"), cwd="/ws")
    assert shown_of((confined,), None) != shown_of((bare,), None), "a sandbox that is gone meanwhile is asked about"
    assert shown_of((FILE,), changing(b"\0", ())) is None


@pytest.mark.contract("X2")
@pytest.mark.parametrize("event", [asked(), asked(change=None, rules=()), answered(), answered(outcome="withdrawn")])
def test_both_come_back_from_a_log_as_they_were(event: ApprovalAsked | ApprovalAnswered) -> None:
    assert decode(encode(event, ALL, Redaction())) == event


@pytest.mark.contract("X2", "X7")
async def test_an_approval_belongs_to_its_call(desk: Desk) -> None:
    log = desk.log()
    for event in (
        asked("a"), answered("a"), intended("a"), finished("a", outcome="outdated"),
        asked("a", attempt=2), answered("a"), intended("a", attempt=2), finished("a", attempt=2),
        asked("b"), answered("b", "no"), rejected("b"),
        intended("a"), finished("a"),
    ):  # fmt: skip
        await log.append(event)
    calls = desk.calls()
    assert [len(call.events) for call in calls] == [8, 3, 2]
    assert desk.outcomes() == ["a succeeded", "b rejected", "a succeeded"]
    assert calls[1].targets == (FILE,)
    log.close()


@pytest.mark.contract("X2", "X4")
async def test_a_session_that_ends_while_somebody_is_asked_has_done_nothing(desk: Desk) -> None:
    log = desk.log()
    await log.append(asked())
    assert desk.outcomes() == ["c1 running"]
    log.close()
    assert desk.outcomes() == ["c1 cancelled"]


@pytest.mark.contract("X7")
async def test_what_only_reads_is_left_out_with_its_approval(desk: Desk) -> None:
    log = desk.log(LogSettings(keep=ALL - {"observations"}))
    for event in (asked("r", capabilities=READS), answered("r"), intended("r", capabilities=READS), finished("r")):
        await log.append(event)
    await log.append(asked("s", capabilities=READS))
    await log.append(answered("s", "no"))
    await log.append(rejected("s"))
    assert desk.outcomes() == ["s rejected"]
    log.close()


@pytest.mark.contract("X4")
async def test_an_answer_to_what_does_not_wait_is_refused() -> None:
    assert PendingApprovals().answer("c1", ApprovalAnswer(outcome="once")) is False


@pytest.mark.contract("X4", "S7")
def test_why_a_confined_command_is_asked_about_all_the_same_is_shown_and_is_no_part_of_what_is_judged() -> None:
    target = CommandTarget(
        command="make", argv=("sh",), cwd="/ws", confined_by="bubblewrap 1", asks_because=".envrc can be written"
    )
    judged = PermissionRequest(
        call_id="c1",
        tool="Bash",
        capabilities=frozenset({Capability.SHELL}),
        targets=(target,),
        stage="plan",
        change=None,
    )
    shown = approval_request(judged, reason="", arguments={}, rules=())
    assert shown.containment == "confined by bubblewrap 1, and not allowed by that alone: .envrc can be written"
    assert target == CommandTarget(command="make", argv=("sh",), cwd="/ws", confined_by="bubblewrap 1")
