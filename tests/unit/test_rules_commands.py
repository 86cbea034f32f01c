"""What rules say of commands besides the table: doubts, the sandbox's word, other shells, bounds, and properties."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools.contract import Capability
from openbuffer.tools.rules.looked_through import look_through
from openbuffer.tools.rules.policy import RulePolicy

from .rules_desk import PLACES, USER, WORKSPACE, command, policy, request, rules

POWERSHELL = (r"C:\Program Files\PowerShell\7\pwsh.exe", "-NoLogo", "-Command", "x")
RANK = {"allow": 0, "ask": 1, "deny": 2}


@pytest.mark.contract("X4")
@pytest.mark.parametrize("tool", ["Shell", "Bash"])
def test_shell_and_bash_are_one(tool: str) -> None:
    by = policy(deny=["Bash(rm:*)"], ask=["Shell(git push)"], allow=["Shell(ls)"])
    assert [command(by, line, tool=tool).verdict for line in ("rm", "git push", "ls")] == ["deny", "ask", "allow"]
    assert command(policy(allow=["Bash"]), "ls", tool=tool).verdict == "allow"
    assert command(policy(deny=["Shell"]), "ls", tool=tool).verdict == "deny"


@pytest.mark.contract("X4")
def test_what_is_allowed_to_shell_is_not_allowed_to_another_tool_that_runs_commands() -> None:
    by = policy(allow=["Bash"], deny=[])
    assert by.decide(request("Mine", Capability.SHELL)).verdict == "ask"
    assert policy(deny=["Bash"]).decide(request("Mine", Capability.SHELL)).verdict == "deny"


@pytest.mark.contract("X4")
def test_the_reason_names_the_command_and_the_rule_or_what_is_not_known() -> None:
    by = policy(allow=["Bash(git:*)"], ask=["Bash(git push --force:*)"], deny=["Bash(rm *)"])
    told = {
        line: command(by, line).reason for line in ("ls && rm -r x", "git push $X", "$X y", "git a; cat b", "git a")
    }
    assert told == {
        "ls && rm -r x": "rm -r x: by the deny rule Bash(rm *) (the user's configuration)",
        "git push $X": (
            "git push …: it may be what the ask rule Bash(git push --force:*) (the user's configuration) means"
        ),
        "$X y": "it cannot be told which rules apply: the line runs a program that is named by an expansion",
        "git a; cat b": "no rule allows cat b",
        "git a": "by the allow rule Bash(git:*) (the user's configuration)",
    }


@pytest.mark.contract("X4", "S7")
def test_without_a_rule_the_sandboxs_word_counts_and_a_restriction_comes_before_it() -> None:
    by = policy(deny=["Bash(rm:*)"], ask=["Bash(git push:*)", "Edit(secret/**)"], allow=["Bash(ls)"])
    verdicts = {
        line: command(by, line, auto_allowed=True).verdict
        for line in ("make", "rm x", "git push", "$X", "a>secret/x", "a>b")
    }
    assert verdicts == {
        "make": "allow",
        "rm x": "deny",
        "git push": "ask",
        "$X": "ask",
        "a>secret/x": "ask",
        "a>b": "allow",
    }
    assert command(policy(allow=["Bash(ls)"]), "$X (", auto_allowed=True).verdict == "allow"
    assert command(policy(), "$X (", auto_allowed=True).verdict == "allow"
    assert command(policy(), "ls").verdict == "ask"


@pytest.mark.contract("X4")
def test_a_rule_for_every_command_decides_what_is_not_understood_unless_another_could_restrict_it() -> None:
    assert command(policy(allow=["Bash"]), "$X (").verdict == "allow"
    assert command(policy(allow=["Bash"], deny=["Bash(rm:*)"]), "$X (").verdict == "ask"
    assert command(policy(allow=["Bash"], deny=["Bash(rm:*)"]), "make; ls").verdict == "allow"
    assert command(policy(allow=["Bash"], deny=["Edit(secret/**)"]), "make > $X").verdict == "ask"


@pytest.mark.contract("X4")
@pytest.mark.parametrize("argv", [POWERSHELL, ("/usr/bin/fish", "-c", "x"), ("powershell.exe",)])
def test_lines_of_other_shells_are_asked_about_unless_a_rule_for_all_decides(argv: tuple[str, ...]) -> None:
    by = policy(allow=["Bash(ls:*)"], deny=["Bash(rm:*)"])
    assert command(by, "ls", argv=argv).verdict == "ask"
    assert command(by, "Remove-Item x; rm y", argv=argv).verdict == "deny"
    assert (
        command(policy(allow=["Bash(ls:*)"]), "ls", argv=argv).reason
        == "no rule can allow it: the line is not of a POSIX shell"
    )
    assert command(policy(allow=["Bash"]), "ls", argv=argv).verdict == "allow"
    assert command(policy(deny=["Bash"]), "ls", argv=argv).verdict == "deny"
    assert command(policy(allow=["Bash(ls:*)"]), "ls", argv=()).verdict == "allow", "a sandbox of its own has no vector"


@pytest.mark.contract("X4")
def test_names_of_programs_are_compared_without_case_where_the_system_does() -> None:
    from openbuffer.tools.rules.reading import rules_from

    for folds, verdict in ((True, "deny"), (False, "ask")):
        read = rules_from({"deny": ["Bash(RM:*)"], "allow": ["Bash(ls)"]}, USER, folds_programs=folds)
        assert command(RulePolicy(read.rules, PLACES), "/bin/Rm x").verdict == verdict
        assert command(RulePolicy(read.rules, PLACES), "LS").verdict == "ask"


@pytest.mark.contract("X4")
@pytest.mark.parametrize(
    ("rule", "line", "verdict"),
    [
        ("git push", "git push", "allow"),
        ("git push", "git push x", "ask"),
        ("git * main", "git push origin main", "allow"),
        ("git * main", "git main", "allow"),
        ("git * main", "git push main x", "ask"),
        ("make te*", "make test", "allow"),
        ("make te*", "make test x", "ask"),
        ("make *t*s", "make tests", "allow"),
        ("make *t*s", "make s", "ask"),
        ("git commit -m 'a b'", "git commit -m a\\ b", "allow"),
        ("git commit -m 'a b'", "git commit -m a b", "ask"),
        (r"echo \*", "echo '*'", "allow"),
        (r"echo \*", "echo x", "ask"),
        ("timeout * make", "timeout 5 make", "ask"),
        ("timeout 5 make:*", "timeout 5 make x", "allow"),
        ("sudo:*", "sudo rm x", "ask"),
        ("sudo apt:*", "sudo apt update", "allow"),
        ("bash -c 'rm x'", "bash -c 'rm x'", "allow"),
        ("bash -c:*", "bash -c 'rm x'", "ask"),
        ("bash:*", "bash x.sh", "allow"),
        ("find:*", "find . -name x", "allow"),
        ("find:*", "find . -delete", "ask"),
        ("find:*", "find . -fprint x", "ask"),
        ("xargs grep:*", "ls | xargs grep x", "ask"),
        ("./run.sh:*", "./run.sh x", "allow"),
        ("./run.sh:*", "a/../run.sh x", "ask"),
        ("/usr/bin/git:*", "/usr/bin/git x", "allow"),
        ("/usr/bin/git:*", "git x", "ask"),
        ("* --version", "git --version", "allow"),
        ("* --version", "sudo git --version", "allow"),
        ("* --version", "git --version x", "ask"),
        ("*t --version", "git --version", "allow"),
    ],
)
def test_patterns_of_commands(rule: str, line: str, verdict: str) -> None:
    assert command(policy(allow=[f"Bash({rule})"]), line).verdict == verdict


# --- bounds --------------------------------------------------------------------------------------------------------

HOSTILE = [
    "a;" * 500_000, "$(" * 60_000, "(" * 100_000, "`" * 100_000, "'" * 100_001, '"' * 99_999, "<<E " * 30_000,
    "${a" * 5_400,
    "[[" * 8_000, "a " * 8_000, "'a' " * 4_000, "a;" * 8_000, "sudo " * 3_000, "eval " * 3_000, "watch " * 2_700,
    "parallel sudo -z " * 900, "find . " + "-exec a ; " * 1_500, "git -c alias.x=!git " * 800,
    'bash -c "bash -c \'' * 1_000,
    "{" * 16_000, "a\\\n" * 5_000, "if a; then " * 1_400, "case x in " * 1_600, "x" * 1_000_000, "a=" * 8_000,
    "\\" * 16_001,
    "env " * 4_000, "rm" * 8_000, "é" * 8_000, "\ud800", "a\0b", "\r\n" * 8_000, "$" * 16_000, "*" * 16_000,
    "{a,b}" * 3_000, "a " + "${a:-" * 2_000 + "x" + "}" * 2_000, 'a "' + '${a:-"' * 1_500 + "x" + '"}' * 1_500 + '"',
    "a ${x:$((1" + "+(1" * 2_000 + ")" * 2_000 + "))}", "a " + "$((" * 2_000 + "1" + "))" * 2_000,
    "[ " + "( " * 2_000 + "a" + " )" * 2_000 + " ]", "npx " * 4_000, "uv run " * 2_000, "[ " + "a " * 7_900 + "]",
]  # fmt: skip


@pytest.mark.contract("X4")
def test_no_line_takes_long_and_none_passes_that_is_not_understood() -> None:
    by = policy(allow=["Bash(a:*)"], deny=["Bash(q:*)", "Bash(* q *)"], ask=["Bash(z * y)"])
    for line in HOSTILE:
        assert command(by, line).verdict == ("allow" if line == "a;" * 8_000 else "ask"), line[:30]


@pytest.mark.contract("X4")
def test_ten_thousand_rules_are_judged_and_too_much_is_asked_about() -> None:
    many = [f"Bash(p{number} *x* * y{number})" for number in range(9_000)] + [
        f"Bash(*{number} a)" for number in range(900)
    ]
    by = policy(deny=many, allow=["Bash(ls:*)"])
    assert command(by, "ls").verdict == "allow"
    assert command(by, "p77 axb y77").verdict == "deny"
    assert command(by, "q899 a").verdict == "deny"
    busy = "; ".join(f"b{number} $X" for number in range(1_000))
    assert command(by, busy).reason == "the line runs more commands than can be compared with the rules"


@pytest.mark.contract("X4")
def test_a_command_of_very_many_words_is_denied_by_its_beginning_and_else_asked_about() -> None:
    words = " ".join(f"f{number}" for number in range(2_000))
    assert command(policy(deny=["Bash(rm:*)"]), f"rm {words}").verdict == "deny"
    assert command(policy(deny=["Bash(git * zz)"], allow=["Bash(git:*)"]), f"git {words} zz").verdict == "ask"
    assert command(policy(allow=["Bash(git:*)"]), f"git {words}").verdict == "allow"
    assert command(policy(allow=["Bash(git * zz)"]), f"git {words} zz").verdict == "ask"


# --- properties ----------------------------------------------------------------------------------------------------

_PIECES = st.sampled_from(
    ["git", "rm", "ls", "push", "x", " ", " ", " ", ";", "&&", "|", "\n", "$(", ")", "`", "'", '"', "\\", "$X",
    ">", "<", "{ ",
     "; }", "(", "if ", "; then ", "; fi", "#", "*", "sudo ", "xargs ", "env ", "bash -c ", "eval ", "<<E\n",
     "\nE\n", "=", "~", "/"]
)  # fmt: skip
_LINES = st.lists(_PIECES, min_size=1, max_size=12).map("".join) | st.text(max_size=20)
_COMMAND_RULES = st.lists(
    st.sampled_from(
        [
            "Bash(git:*)",
            "Bash(rm *)",
            "Bash(ls)",
            "Bash(git push:*)",
            "Bash(*m x)",
            "Bash(x * x)",
            "Bash",
            "Edit(x)",
            "Write(**)",
            "FILE_WRITE",
            "Bash(sudo:*)",
            "Bash(env *)",
        ]
    ),
    max_size=3,
)


@pytest.mark.contract("X4")
@given(
    line=_LINES, allow=_COMMAND_RULES, ask=_COMMAND_RULES, deny=_COMMAND_RULES, more=_COMMAND_RULES, auto=st.booleans()
)
def test_another_restriction_never_loosens(line: str, allow: Any, ask: Any, deny: Any, more: Any, auto: bool) -> None:
    before = command(policy(allow=allow, ask=ask, deny=deny), line, auto_allowed=auto).verdict
    assert (
        RANK[command(policy(allow=allow, ask=ask, deny=[*more, *deny]), line, auto_allowed=auto).verdict]
        >= RANK[before]
    )
    assert (
        RANK[command(policy(allow=allow, ask=[*more, *ask], deny=deny), line, auto_allowed=auto).verdict]
        >= RANK[before]
    )


@pytest.mark.contract("X4", "B7")
@given(
    line=_LINES,
    own=_COMMAND_RULES,
    theirs=st.dictionaries(st.sampled_from(["ask", "deny"]), _COMMAND_RULES),
    auto=st.booleans(),
)
def test_a_workspace_never_loosens(line: str, own: list[str], theirs: dict[str, list[str]], auto: bool) -> None:
    from openbuffer.tools.rules.reading import rules_from

    user = rules(allow=own, deny=["Bash(rm *)"])
    read = rules_from({**theirs, "allow": ["Bash", "Write", "NETWORK"]}, WORKSPACE)
    before = command(RulePolicy(user, PLACES), line, auto_allowed=auto).verdict
    for together in ((*user, *read.rules), (*read.rules, *user)):
        assert RANK[command(RulePolicy(together, PLACES), line, auto_allowed=auto).verdict] >= RANK[before]


@pytest.mark.contract("X4", "B7")
def test_rules_of_a_workspace_that_allow_do_not_count_however_they_got_here() -> None:
    from openbuffer.tools.rules.grammar import parse_rule

    by = RulePolicy([parse_rule("Bash", "allow", WORKSPACE), parse_rule("Read(x)", "deny", WORKSPACE)], PLACES)
    assert command(by, "ls").verdict == "ask"
    assert by.unreadable("Read") is not None


def _quoted(word: str, ways: list[int]) -> str:
    """The word, each letter written in one of the ways that a shell has."""
    writers = (
        lambda c: c, lambda c: f"\\{c}", lambda c: f"'{c}'", lambda c: f'"{c}"', lambda c: f"$'{c}'",
        lambda c: f"$'\\x{ord(c):02x}'", lambda c: f"''{c}", lambda c: f"\\\n{c}", lambda c: f'{c}""',
        lambda c: f"$'\\{ord(c):03o}'",
    )  # fmt: skip
    return "".join(writers[way](letter) for letter, way in zip(word, ways, strict=False))


@pytest.mark.contract("X4")
@given(
    ways=st.lists(st.integers(0, 9), min_size=8, max_size=8),
    before=st.sampled_from(["", "/bin/", "ls; ", "ls | ", "sudo ", "xargs ", "nice -n 1 ", "(", "$(", "X=1 ", "! "]),
)
def test_quoting_hides_no_word(ways: list[int], before: str) -> None:
    by = policy(deny=["Bash(rm secret *)"], allow=["Bash(ls)"])
    end = ")" if before.endswith("(") else ""
    line = f"{before}{_quoted('rm', ways)} {_quoted('secret', ways[::-1])}{end}"
    assert command(by, line).verdict == "deny"


@pytest.mark.contract("X4")
@given(st.text(min_size=1, max_size=12))
def test_what_python_quotes_for_a_shell_is_read_as_one_word(text: str) -> None:
    line = f"p {shlex.quote(text)}"
    if "\0" in text or not text.isprintable():
        return
    run = look_through(line)
    assert [word.text for word in run.commands[0].words] == ["p", text]
