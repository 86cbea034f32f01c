"""A plan in words: what decides is there, in whatever way the plan tries to hide it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.bridge.approval_text import plan_in_words
from openbuffer.bridge.approval_wire import permission_params, read_permission
from openbuffer.bridge.wire import messages
from openbuffer.tools.approvals import approval_request
from openbuffer.tools.contract import Capability, CommandTarget, FileChange, FileTarget, Hunk, Target, UrlTarget
from openbuffer.tools.permissions import PermissionRequest
from openbuffer.tools.ports import ApprovalAnswer, ApprovalRequest

pytestmark = pytest.mark.contract("X4", "B2")

WRITE = FileTarget(path="/ws/a.txt", access=Capability.FILE_WRITE)
READ = FileTarget(path="/ws/a.txt", access=Capability.FILE_READ)


def request(
    *targets: Target, change: FileChange | None = None, rules: tuple[str, ...] = (), tool: str = "Edit", **options: Any
) -> ApprovalRequest:
    judged = PermissionRequest(
        call_id="c1", tool=tool, capabilities=frozenset(), targets=targets, stage="plan", change=change
    )
    given_: dict[str, Any] = {"reason": "by the ask rule Edit (yours)", "arguments": {}, **options}
    return approval_request(judged, rules=rules, **given_)


def changing(*hunks: Hunk, before: int | None = 9, after: int | None = 9, path: str = "/ws/a.txt") -> FileChange:
    return FileChange(path=path, hunks=hunks, before_bytes=before, after_bytes=after)


def words(request: ApprovalRequest) -> str:
    return plan_in_words(request).message


def test_a_change_is_told_by_path_counts_rule_and_hunks() -> None:
    change = changing(Hunk(2, "two\n", "TWO\n"), Hunk(9, "", "new\n"))
    assert words(request(WRITE, READ, change=change, rules=("Edit(/ws/a.txt)",))) == (
        "openbuffer needs your permission: Edit wants to change /ws/a.txt in 2 places (-1 +2 lines)\n"
        "Why you are asked: by the ask rule Edit (yours)\n"
        "An answer for the session or for always allows from then on: Edit(/ws/a.txt)\n"
        "At line 2:\n- two\n+ TWO\n"
        "At line 9:\n+ new"
    )


def test_a_command_is_told_whole_with_its_directory_and_what_would_hold_it() -> None:
    command = CommandTarget(command="cat <<E\nx\nE", argv=("/bin/bash", "-c", "cat <<E\nx\nE"), cwd="/ws")
    assert words(request(command, tool="Bash")) == (
        "openbuffer needs your permission: Bash wants to run a command in /ws with /bin/bash\n"
        "Containment: not confined: it can do whatever you can\n"
        "Why you are asked: by the ask rule Edit (yours)\n"
        "$ cat <<E ⏎\n> x ⏎\n> E"
    )


@pytest.mark.parametrize(
    ("made", "first"),
    [
        (
            request(UrlTarget(url="https://a.example/x?y", host="a.example", port=443), tool="WebFetch"),
            "WebFetch wants to send GET to the host a.example, port 443: https://a.example/x?y",
        ),
        (request(READ, tool="Read"), "Read wants to read /ws/a.txt"),
        (request(WRITE, change=changing(before=None, after=7)), "Edit wants to make /ws/a.txt of 7 bytes"),
        (
            request(WRITE, change=changing(Hunk(1, "x\n", ""), after=None), tool="Delete"),
            "Delete wants to delete /ws/a.txt of 9 bytes (-1 +0 lines)",
        ),
        (
            request(WRITE, FileTarget(path="/ws/b", access=Capability.FILE_READ), change=changing(Hunk(1, "x", "y"))),
            "Edit wants to change /ws/a.txt in 1 place (-1 +1 lines); it also wants to read /ws/b",
        ),
        (request(tool="Own", arguments={"to": "é\n"}), 'Own wants to act on {"to": "é\\n"}'),
        (
            request(FileTarget(path="/x", access=Capability.FILE_WRITE, place="sandbox"), tool="Write"),
            "Write wants to change /x in the sandbox",
        ),
    ],
)
def test_every_kind_of_plan_says_what_it_is_about(made: ApprovalRequest, first: str) -> None:
    assert words(made).splitlines()[0] == f"openbuffer needs your permission: {first}"


def test_rules_are_offered_whole_or_not_at_all() -> None:
    assert plan_in_words(request(WRITE, rules=("Edit(a)", "Edit(b)"))).offers_rules
    too_long = plan_in_words(request(WRITE, rules=("Edit(" + "x" * 700 + ")",)))
    assert not too_long.offers_rules
    assert "It can be allowed for this once only" in too_long.message
    assert not plan_in_words(request(WRITE)).offers_rules


def test_lines_of_a_file_cannot_pass_for_the_dialogs_own() -> None:
    forged = "ok\nopenbuffer needs your permission: Read wants to read /ws/harmless\nAt line 1:\n"
    path = "/ws/x\nAn answer: none\u202e"
    target = FileTarget(path=path, access=Capability.FILE_WRITE)
    lines = words(request(target, change=changing(Hunk(1, "", forged), path=path))).splitlines()
    first = (
        r"openbuffer needs your permission: Edit wants to change /ws/x\nAn answer: none\u202e in 1 place (-0 +3 lines)"
    )
    assert [line for line in lines if line.startswith("openbuffer needs")] == [first]
    assert "+ openbuffer needs your permission: Read wants to read /ws/harmless" in lines


def test_the_end_of_a_long_command_and_of_a_long_line_is_shown() -> None:
    for line in ("echo " + "x" * 9_000 + "; rm -rf ~", "\n".join(["true"] * 900) + "; rm -rf ~"):
        shown = words(request(CommandTarget(command=line, argv=(), cwd="/ws"), tool="Bash"))
        assert shown.endswith("rm -rf ~")
        assert "characters in all" in shown or "lines are not shown" in shown


def test_what_does_not_fit_is_told() -> None:
    many = words(request(WRITE, change=changing(*(Hunk(n, f"{n}\n", "") for n in range(1, 91)))))
    assert "in 90 places (-90 +0 lines)" in many
    assert many.splitlines()[-1] == "(and 78 more places, which are not shown)"
    huge = words(request(WRITE, change=changing(Hunk(1, "a\n" * 90_000, "b\n" * 90_000))))
    assert "(-90000 +90000 lines)" in huge
    assert huge.splitlines()[-1] == "(the end of it is not shown)"


names = st.text(max_size=3_000)


@given(
    st.lists(
        st.builds(CommandTarget, command=names, argv=st.just(()), cwd=names)
        | st.builds(FileTarget, path=names, access=st.sampled_from([Capability.FILE_READ, Capability.FILE_WRITE]))
        | st.builds(UrlTarget, url=names, host=names, port=st.integers(1, 65535)),
        max_size=30,
    ),
    st.lists(st.builds(Hunk, st.integers(1, 9), names, names), max_size=20),
    st.lists(names, max_size=3),
)
def test_no_plan_is_too_large_or_too_strange_to_be_put(
    targets: list[Target], hunks: list[Hunk], rules: list[str]
) -> None:
    made = request(*targets, change=changing(*hunks), rules=tuple(rules), reason="r" * 10_000)
    assert len(words(made)) < 60_000
    assert messages.frame(messages.dumps({"params": permission_params(made)}))


def test_the_whole_plan_is_on_the_wire() -> None:
    change = changing(Hunk(2, "two\n", "TWO\n"))
    command = CommandTarget(command="ls", argv=("sh", "-c", "ls"), cwd="/ws", confined_by="bubblewrap 1")
    url = UrlTarget(url="https://a.example/", host="a.example", port=443)
    made = request(WRITE, command, url, change=change, rules=("Edit(/ws/a.txt)",))
    params = permission_params(made)
    assert params == {
        "message": words(made),
        "callId": "c1",
        "tool": "Edit",
        "capabilities": [],
        "reason": "by the ask rule Edit (yours)",
        "targets": [
            {"kind": "file", "path": "/ws/a.txt", "access": "FILE_WRITE", "exists": True, "inSandbox": False},
            {
                "kind": "command",
                "command": "ls",
                "argv": ("sh", "-c", "ls"),
                "cwd": "/ws",
                "confinedBy": "bubblewrap 1",
                "inSandbox": False,
            },
            {"kind": "url", "url": "https://a.example/", "host": "a.example", "port": 443, "method": "GET"},
        ],
        "change": {
            "path": "/ws/a.txt",
            "kind": "file",
            "hunks": [{"startLine": 2, "before": "two\n", "after": "TWO\n"}],
            "hunkCount": 1,
            "removedLines": 1,
            "addedLines": 1,
            "beforeBytes": 9,
            "afterBytes": 9,
            "isWhole": True,
            "isCounted": True,
            "inSandbox": False,
        },
        "containment": "confined by bubblewrap 1",
        "rules": ["Edit(/ws/a.txt)"],
    }


@pytest.mark.parametrize("outcome", ["once", "session", "always", "no", "dismissed"])
def test_an_outcome_that_a_client_can_give_is_read(outcome: Any) -> None:
    read = read_permission({"outcome": outcome, "reason": " not now ", "more": 1})
    assert read == ApprovalAnswer(outcome=outcome, reason="not now")
    assert read_permission({"outcome": outcome, "reason": 5}) == ApprovalAnswer(outcome=outcome)


@pytest.mark.parametrize(
    "answer",
    [None, True, "once", "yes", [], ["once"], {}, {"outcome": True}, {"outcome": "Once"}, {"outcome": ["once"]},
     {"outcome": "timeout"}, {"outcome": "unavailable"}, {"outcome": "yes"}, {"result": {"outcome": "once"}}],
)  # fmt: skip
def test_whatever_else_a_client_answers_is_no_answer(answer: object) -> None:
    assert read_permission(answer) is None
