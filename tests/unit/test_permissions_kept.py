"""The rule that an answer brings about says what was shown, is kept whole, and counts from then on."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools.contract import Capability, CommandTarget, FileTarget, UrlTarget
from openbuffer.tools.permissions import PermissionRequest, RuleNotKeptError
from openbuffer.tools.rules import kept_rules
from openbuffer.tools.rules.kept_rules import KeptRules
from openbuffer.tools.rules.session_rules import GivenRules, SessionRules

from .approval_desk import EDIT, Desk, Person
from .rules_desk import USER, policy, request, rules


def edit(path: str) -> PermissionRequest:
    accesses = (Capability.FILE_READ, Capability.FILE_WRITE)
    return request("Edit", Capability.FILE_WRITE, *(FileTarget(path=path, access=each) for each in accesses))  # type: ignore[arg-type]  # both are


def bash(line: str, argv: tuple[str, ...] = ("/bin/bash", "-c")) -> PermissionRequest:
    return request("Bash", Capability.SHELL, CommandTarget(command=line, argv=(*argv, line), cwd="/ws"))


ASKS = policy(without_rules="ask")


@pytest.mark.contract("X4")
@pytest.mark.parametrize(
    ("asked", "offered"),
    [
        (edit("/ws/a.txt"), ("Edit(/ws/a.txt)",)),
        (edit("/ws/[x]*{a,b}.txt"), (r"Edit(/ws/\[x]\*\{a,b}.txt)",)),
        (bash("git push origin main"), ("Bash(git push origin main)",)),
        (bash("cd src && npm test"), ("Bash(cd src)", "Bash(npm test)")),
        (bash("rm '*'"), ("Bash(rm '*')",)),
        (bash("echo a:'*'"), ("Bash(echo 'a:*')",)),
        (bash("sudo apt update"), ("Bash(sudo apt update)",)),
        (request("WebFetch", Capability.NETWORK, UrlTarget(url="https://a.org/x?y", host="a.org", port=443)),
         ("WebFetch(domain:a.org)",)),
        (request("Own", Capability.NETWORK), ("Own",)),
        (request("Own", None), ("Own",)),
    ],
)  # fmt: skip
def test_the_rules_that_are_offered_name_what_is_asked_about(asked: PermissionRequest, offered: Any) -> None:
    assert ASKS.offered(asked) == offered


@pytest.mark.contract("X4")
@pytest.mark.parametrize(
    "line",
    ["rm *", "rm $X", "rm $(cat x)", "X=1 make", "make > x", "cat ~/x", "for f in a; do rm $f; done", "rm 'a\nb'", "'"],
)
def test_no_rule_is_offered_for_a_line_that_none_can_name(line: str) -> None:
    assert ASKS.offered(bash(line)) == ()


@pytest.mark.contract("X4")
def test_no_rule_is_offered_where_it_would_not_help_or_say_more() -> None:
    assert policy(ask=["Edit(a.txt)"], without_rules="ask").offered(edit("/ws/a.txt")) == ()
    assert policy(ask=["Bash(git push:*)"], without_rules="ask").offered(bash("git push")) == ()
    elsewhere = FileTarget(path="/ws/a", access=Capability.FILE_WRITE, place="sandbox")
    assert ASKS.offered(request("Edit", Capability.FILE_WRITE, elsewhere)) == ()
    assert ASKS.offered(bash("Get-Item x", ("pwsh.exe", "-Command"))) == ()
    assert (
        ASKS.offered(request("Own", Capability.FILE_WRITE, FileTarget(path="/a", access=Capability.FILE_WRITE))) == ()
    )


@pytest.mark.contract("X4")
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=12))
def test_an_offered_rule_about_a_file_allows_that_file_and_none_beside_it(name: str) -> None:
    offered = ASKS.offered(edit(f"/ws/{name}"))
    if offered:
        by = policy(allow=list(offered), without_rules="ask")
        assert by.decide(edit(f"/ws/{name}")).verdict == "allow"
        assert by.decide(edit(f"/ws/{name}x")).verdict == "ask"
        assert by.decide(edit(f"/ws/x{name}")).verdict == "ask"


# --- learning ----------------------------------------------------------------------------------------------------


class Given:
    """A source of rules whose file is ``kept``."""

    def __init__(self, kept: KeptRules, **table: list[str]) -> None:
        self.kept = kept
        self.table = table

    def mark(self) -> object:
        return self.kept.mark()

    def given(self) -> GivenRules:
        return GivenRules(rules=(*rules(USER, **self.table), *self.kept.read().rules), without_rules="ask")


def session(tmp_path: Path, **table: list[str]) -> tuple[SessionRules, Path]:
    kept = KeptRules(str(tmp_path / "config" / "permissions"))
    told: list[str] = []
    return SessionRules(Given(kept, **table), [str(tmp_path)], keep=kept.append, tell=told.append), Path(kept.path)


@pytest.mark.contract("X4")
@pytest.mark.parametrize(("outcome", "lasts"), [("once", []), ("session", [True]), ("always", [True, True])])
async def test_an_answer_counts_for_as_long_as_it_says(tmp_path: Path, outcome: Any, lasts: list[bool]) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    first, kept = session(tmp_path)
    person = Person(outcome)
    desk = Desk(root, first, person)
    assert (await desk.call("Edit", EDIT)).success
    assert person.asked[0].rules == (f"Edit({desk.file})",)
    back = {**EDIT, "oldString": "TWO", "newString": "two"}
    (root / "b.txt").write_text("two\n")
    for policy_, counts in ((first, lasts[:1]), (session(tmp_path)[0], lasts[1:])):
        later = Desk(root, policy_, None)
        later.file.write_text("one\nTWO\nthree\n")
        if counts:
            assert (await later.call("Edit", back)).success
        else:
            assert (await later.refused("Edit", back)).reason == "ask"
        assert (await later.refused("Edit", {**EDIT, "filePath": "b.txt"})).reason == "ask"
    assert kept.exists() == (outcome == "always")


@pytest.mark.contract("X4")
async def test_what_is_persisted_is_what_was_shown(tmp_path: Path) -> None:
    rules_, kept = session(tmp_path)
    await rules_.look()
    shown = rules_.offered(bash("npm run 'x y'"))
    await rules_.allow(shown, always=True)
    assert kept.read_text().splitlines()[1:] == [f"allow {rule}" for rule in shown]
    assert rules_.decide(bash("npm run 'x y'")).verdict == "ask", "it is read with the next look"
    await rules_.look()
    assert rules_.decide(bash("npm run 'x y'")).verdict == "allow"
    assert rules_.decide(bash("npm run x y")).verdict == "ask"
    kept.unlink()
    await rules_.look()
    assert rules_.decide(bash("npm run 'x y'")).verdict == "ask", "the user took it back"


@pytest.mark.contract("X4")
async def test_a_rule_that_cannot_be_kept_counts_for_the_session(tmp_path: Path) -> None:
    rules_, kept = session(tmp_path)
    kept.mkdir(parents=True)
    with pytest.raises(RuleNotKeptError, match="allowed for this session alone, because it could not be kept"):
        await rules_.allow(("Edit(/ws/a.txt)",), always=True)
    kept.rmdir()
    await rules_.look()
    assert rules_.decide(edit("/ws/a.txt")).verdict == "allow"


@pytest.mark.contract("X4")
async def test_a_denial_comes_before_what_was_learnt(tmp_path: Path) -> None:
    rules_, _ = session(tmp_path, deny=["Edit(/ws/**)"])
    await rules_.allow(("Edit(/ws/a.txt)",), always=False)
    assert rules_.decide(edit("/ws/a.txt")).verdict == "deny"


# --- the file ----------------------------------------------------------------------------------------------------


@pytest.mark.contract("X4")
def test_the_file_is_private_keeps_what_is_there_and_takes_a_rule_once(tmp_path: Path) -> None:
    kept = KeptRules(str(tmp_path / "new" / "permissions"))
    kept.append(["Edit(/a)", "Edit(/a)", "Bash(ls)"])
    path = Path(kept.path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.write_text("# mine\ndeny Read(/k)\nallow Bash(ls)")
    kept.append(["Bash(ls)", "Edit(/b)"])
    assert path.read_text() == "# mine\ndeny Read(/k)\nallow Bash(ls)\nallow Edit(/b)\n"
    assert [name.name for name in path.parent.iterdir()] == ["permissions"]
    assert [rule.text for rule in kept.read().rules] == ["Read(/k)", "Bash(ls)", "Edit(/b)"]


@pytest.mark.contract("X4")
def test_a_file_that_is_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "permissions").symlink_to("dotfiles/permissions")
    KeptRules(str(tmp_path / "permissions")).append(["Edit(/a)"])
    assert (tmp_path / "permissions").is_symlink()
    assert "allow Edit(/a)\n" in (tmp_path / "dotfiles" / "permissions").read_text()


@pytest.mark.contract("X4")
def test_a_rule_of_several_lines_is_not_written(tmp_path: Path) -> None:
    kept = KeptRules(str(tmp_path / "permissions"))
    with pytest.raises(ValueError, match="one line"):
        kept.append(["Bash(ls)\nallow Bash"])
    assert not Path(kept.path).exists()


@pytest.mark.contract("X4")
def test_what_cannot_be_understood_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "permissions"
    path.write_bytes(b"\xff")
    with pytest.raises(ValueError, match="UTF-8"):
        KeptRules(str(path)).append(["Edit(/a)"])
    assert path.read_bytes() == b"\xff"


@pytest.mark.contract("X4")
def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "permissions"
    path.write_text("deny Read(/k)\n")

    def full(_fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept_rules.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        KeptRules(str(path)).append(["Edit(/a)"])
    assert os.listdir(tmp_path) == ["permissions"]
    assert path.read_text() == "deny Read(/k)\n"


@pytest.mark.contract("X4")
def test_rules_that_come_at_once_are_all_kept(tmp_path: Path) -> None:
    kept = KeptRules(str(tmp_path / "permissions"))
    threads = [threading.Thread(target=kept.append, args=([f"Edit(/{n})"],)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {rule.text for rule in kept.read().rules} == {f"Edit(/{n})" for n in range(16)}
