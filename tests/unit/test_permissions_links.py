"""What is judged is what was opened: links in a root, also ones that come while somebody is asked, evade no rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.tools.ports import ApprovalAnswer, ApprovalRequest
from openbuffer.tools.rules.host_places import host_places
from openbuffer.tools.rules.policy import RulePolicy

from .approval_desk import Desk, Person
from .rules_desk import USER, rules

if TYPE_CHECKING:
    from pathlib import Path

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("Read", {"filePath": "a.txt"}),
    ("Edit", {"filePath": "a.txt", "oldString": "two", "newString": "TWO"}),
    ("Write", {"filePath": "a.txt", "content": "mine\n"}),
]


def desk_with(tmp_path: Path, person: Person, **table: list[str]) -> Desk:
    policy = RulePolicy(rules(USER, **table), host_places([str(tmp_path)]), without_rules="allow")
    desk = Desk(tmp_path, policy, person)
    (desk.root / "secret").mkdir()
    (desk.root / "secret" / "b.txt").write_text("one\ntwo\nthree\n")
    return desk


@pytest.mark.contract("P2", "X4")
@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=[name for name, _ in CALLS])
async def test_a_link_to_what_is_denied_is_denied(tmp_path: Path, name: str, arguments: Any) -> None:
    desk = desk_with(tmp_path, Person(), deny=["Read(secret/**)", "Edit(secret/**)"])
    desk.file.unlink()
    desk.file.symlink_to("secret/b.txt")
    assert (await desk.refused(name, arguments)).reason == "deny"
    assert (desk.root / "secret" / "b.txt").read_text() == "one\ntwo\nthree\n"


@pytest.mark.contract("P2", "X4", "T12")
@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=[name for name, _ in CALLS])
@pytest.mark.parametrize("way", ["file", "directory"])
async def test_a_link_that_is_put_there_while_somebody_is_asked_evades_no_rule(
    tmp_path: Path, name: str, arguments: Any, way: str
) -> None:
    def swap(_request: ApprovalRequest) -> ApprovalAnswer:
        if way == "file":
            desk.file.rename(desk.root / "was.txt")
            desk.file.symlink_to("secret/b.txt")
        else:
            (desk.root / "d").rename(desk.root / "was")
            (desk.root / "d").symlink_to("secret")
        return ApprovalAnswer(outcome="once")

    table = {
        "deny": ["Read(secret/**)", "Edit(secret/**)"],
        "ask": ["Read(a.txt)", "Edit(a.txt)", "Read(d)", "Edit(d)"],
    }
    desk = desk_with(tmp_path, Person(swap), **table)
    if way == "directory":
        (desk.root / "d").mkdir()
        desk.file.rename(desk.root / "d" / "b.txt")
        (desk.root / "d" / "b.txt").write_text("one\nold two\nthree\n")
        arguments = {**arguments, "filePath": "d/b.txt"}
    assert (await desk.refused(name, arguments)).reason == "deny"
    assert (desk.root / "secret" / "b.txt").read_text() == "one\ntwo\nthree\n"


@pytest.mark.contract("X4", "P2")
async def test_a_link_on_the_way_that_is_asked_about_is_asked_about_although_it_leads_elsewhere(tmp_path: Path) -> None:
    person = Person("no")
    desk = desk_with(tmp_path, person, ask=["Read(links/**)"])
    (desk.root / "links").mkdir()
    (desk.root / "links" / "x").symlink_to("../a.txt")
    assert (await desk.refused("Read", {"filePath": "links/x"})).reason == "no"
    assert {str(desk.file), str(desk.root / "links" / "x")} <= {t.subject for t in person.asked[0].targets}
