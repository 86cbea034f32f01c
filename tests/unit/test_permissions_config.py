"""The table ``[permissions]``: the user's counts, a workspace's only tightens, and what is wrong with one is told."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from openbuffer.bridge.assembly import assemble
from openbuffer.bridge.config import ConfigError
from openbuffer.bridge.permissions import FileRules
from openbuffer.bridge.tightening import read_tightening
from openbuffer.tools.contract import Capability
from openbuffer.tools.errors import PermissionDeniedError
from openbuffer.tools.rules.kept_rules import KeptRules
from openbuffer.tools.rules.session_rules import SessionRules

from .approval_desk import Person
from .config_desk import parse_config
from .rules_desk import command, file
from .test_live_settings import Desk as Files


class Desk(Files):
    """The files, and the policy that comes of them."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.kept_file = directory / "config" / "permissions"
        self.kept = KeptRules(str(self.kept_file))

    def rules(self) -> SessionRules:
        source = FileRules(self.open(), self.kept, tell=self.told.append)
        return SessionRules(source, [str(self.root)], keep=self.kept.append, tell=self.told.append)

    def reads(self, rules: SessionRules, name: str) -> str:
        return file(rules, "Read", str(self.root / name)).verdict  # type: ignore[arg-type]  # it judges as RulePolicy does


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve())


def parsed(text: str) -> Any:
    return parse_config(Path("/home/u/openbuffer.toml"), text.encode()).permissions


@pytest.mark.contract("X4")
def test_without_a_table_everything_is_allowed_as_it_was(desk: Desk) -> None:
    rules = desk.rules()
    assert command(rules, "rm -rf build").verdict == "allow"  # type: ignore[arg-type]  # likewise
    assert file(rules, "Write", str(desk.root / "a"), "FILE_WRITE").verdict == "allow"  # type: ignore[arg-type]  # likewise
    assert rules.unreadable("Grep") is None
    assert desk.told == []


@pytest.mark.contract("X4")
@pytest.mark.parametrize(
    ("default", "shell", "read"),
    [
        ('"ask"', "ask", "ask"),
        ('"deny"', "deny", "deny"),
        ('{ SHELL = "ask" }', "ask", "allow"),
        ("{}", "allow", "allow"),
    ],
)
def test_the_user_says_what_happens_without_a_rule(desk: Desk, default: str, shell: str, read: str) -> None:
    desk.user(f"[permissions]\ndefault = {default}\n")
    rules = desk.rules()
    assert command(rules, "make").verdict == shell  # type: ignore[arg-type]  # likewise
    assert desk.reads(rules, "a") == read


@pytest.mark.contract("X4")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("permissions = 1", "permissions must be a table"),
        (
            "[permissions]\ndney = []",
            "unknown key permissions.dney .did you mean permissions.deny.*; known are permissions.deny",
        ),
        ('[permissions]\ndefault = "maybe"', "permissions.default must be one of deny, ask, allow, not 'maybe'"),
        (
            '[permissions]\ndefault = { SHEL = "ask" }',
            "permissions.default has the key SHEL, which is no capability",
        ),
        ("[permissions]\ndefault = { SHELL = true }", "permissions.default must be one of deny, ask, allow, not True"),
    ],
)
def test_a_table_of_the_user_s_that_could_look_as_if_it_were_in_force_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parsed(text)


@pytest.mark.contract("X4")
def test_an_entry_that_is_no_rule_is_told_and_everything_is_asked_about_until_it_is_corrected(desk: Desk) -> None:
    desk.user('[permissions]\ndeny = ["Read(a", "Read(b)"]\nallow = ["???"]\n')
    rules = desk.rules()
    assert [desk.reads(rules, name) for name in "ab"] == ["ask", "deny"]
    assert len(desk.told) == 2
    assert all(str(desk.file) in told for told in desk.told)
    assert "permissions.deny: rule Read(a" in "".join(desk.told)


@pytest.mark.contract("B7", "X4")
def test_a_workspace_can_deny_and_ask_and_nothing_else(desk: Desk) -> None:
    desk.user('[permissions]\ndeny = ["Read(a)"]\nask = ["Read(b)"]\n')
    desk.workspace(
        '[permissions]\nallow = ["Read(a)", "Read(b)", "Bash"]\ndeny = ["Read(c)"]\nask = ["Bash"]\n'
        'default = "allow"\nfree = []\n'
    )
    rules = desk.rules()
    assert [desk.reads(rules, name) for name in "abcd"] == ["deny", "ask", "deny", "allow"]
    assert command(rules, "ls").verdict == "ask"  # type: ignore[arg-type]  # likewise
    told = "\n".join(desk.told)
    assert "permissions.allow = ['Read(a)', 'Read(b)', 'Bash'] would loosen the user's rules and does not count" in told
    assert "permissions.default is the user's to set" in told
    assert "unknown key permissions.free" in told


@pytest.mark.contract("B7")
def test_what_a_workspace_could_not_write_down_properly_is_asked_about(desk: Desk) -> None:
    desk.workspace('[permissions]\ndeny = ["Read(x"]\n')
    assert desk.reads(desk.rules(), "a") == "ask"
    (problem,) = read_tightening({"permissions": 3}, "x", desk.root).problems
    assert problem.sentence == "permissions must be a table, not 3"


@pytest.mark.contract("B7")
async def test_a_workspace_s_file_that_is_broken_later_does_not_take_its_denials_back(desk: Desk) -> None:
    desk.workspace('[permissions]\ndeny = ["Read(a)"]\n')
    rules = desk.rules()
    assert desk.reads(rules, "a") == "deny"
    desk.own.write_text("[permissions\n")
    await rules.look()
    assert desk.reads(rules, "a") == "deny"
    desk.own.write_text('[permissions]\ndeny = ["Read(b)"]\n')
    await rules.look()
    assert [desk.reads(rules, name) for name in "ab"] == ["allow", "deny"]


@pytest.mark.contract("X4")
async def test_a_change_of_the_user_s_file_counts_from_the_next_call_on_and_a_broken_one_only_tightens(
    desk: Desk,
) -> None:
    rules = desk.rules()
    await rules.look()
    desk.file.write_text('[permissions]\ndeny = ["Read(a)"]\n')
    await rules.look()
    assert desk.reads(rules, "a") == "deny"
    desk.file.write_text('spelt_wrong = 1\n[permissions]\nallow = ["Read(a)"]\ndeny = ["Read(b)"]\n')
    await rules.look()
    assert [desk.reads(rules, name) for name in "abc"] == ["deny", "deny", "allow"]
    desk.file.unlink()
    await rules.look()
    assert desk.reads(rules, "a") == "deny"


@pytest.mark.contract("X4")
async def test_the_file_of_what_was_allowed_for_good_is_read_and_may_deny_too(desk: Desk) -> None:
    desk.user('[permissions]\ndefault = "ask"\n')
    rules = desk.rules()
    assert desk.reads(rules, "a") == "ask"
    desk.kept_file.write_text(f"# mine\nallow Read({desk.root}/a)\n\ndeny Read(b)\n")
    await rules.look()
    assert [desk.reads(rules, name) for name in "abc"] == ["allow", "deny", "ask"]


@pytest.mark.contract("X4")
@pytest.mark.parametrize("content", [b"allow Read\nforbid Read(b)\n", b"\xff\xfe", b"deny Read(\n"])
def test_such_a_file_that_is_not_understood_makes_everything_asked_about(desk: Desk, content: bytes) -> None:
    desk.kept_file.write_bytes(content)
    assert desk.reads(desk.rules(), "a") == "ask"
    assert len(desk.told) == 1
    assert desk.kept.path in desk.told[0]


@pytest.mark.contract("X4", "S10")
def test_what_may_not_be_read_is_hidden_from_commands_as_it_is_now(desk: Desk) -> None:
    desk.user('[permissions]\ndeny = ["Read(/srv/keys/**)", "Read(*.pem)"]\nask = ["Read(/srv/asked)"]\n')
    (desk.root / "a.pem").touch()
    hidden = desk.rules().hidden()
    assert set(hidden.paths) == {"/srv/keys", str(desk.root / "a.pem")}
    assert any("what is made later is not" in note for note in hidden.notes)
    assert Capability.FILE_READ in parsed("").without_rules


@pytest.mark.contract("X4", "B7")
async def test_what_is_assembled_takes_the_port_that_is_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(desk.file.parent / "xdg"))
    desk.user('[permissions]\nask = ["Write"]\n[log]\nkeep = []\n')
    person = Person("once", "no")
    with ExitStack() as ending:
        made = assemble([desk.root], ending=ending, config_file=desk.file, tell=desk.told.append, approvals=person)
        executor = made.executor()
        write = {"filePath": "a.txt", "content": "new\n"}
        assert (await executor.call("Write", write)).success
        with pytest.raises(PermissionDeniedError) as refused:
            await executor.call("Write", {**write, "content": "newer\n"})
    assert refused.value.reason == "no"
    assert (desk.root / "a.txt").read_text() == "new\n"
    assert [request.reason for request in person.asked] == [f"by the ask rule Write ({desk.file})"] * 2
    assert [request.rules for request in person.asked] == [(), ()], "no rule that allows comes before one that asks"
