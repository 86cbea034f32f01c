"""Rules as they are written: one grammar, and errors that name the rule and what is expected."""

from __future__ import annotations

from typing import Any

import pytest
from openbuffer.tools.contract import Capability, UrlTarget
from openbuffer.tools.rules.grammar import RuleError, Source, parse_rule
from openbuffer.tools.rules.policy import RulePolicy
from openbuffer.tools.rules.reading import RULES_MAX, rules_from

from .rules_desk import USER, WORKSPACE, command, file, policy, request


@pytest.mark.parametrize(
    ("text", "subject", "whole"),
    [
        ("Write", "Write", True),
        (" Edit ( src/** ) ", "Edit", False),
        ("Bash", "SHELL", True),
        ("Shell(*)", "SHELL", True),
        ("Bash(:*)", "SHELL", True),
        ("SHELL(git status:*)", "SHELL", False),
        ("FILE_WRITE(docs/**)", "FILE_WRITE", False),
        ("NETWORK(domain:*.example.org)", "NETWORK", False),
        ("WebFetch(domain:docs.python.org)", "WebFetch", False),
        ("mcp__server__tool", "mcp__server__tool", True),
        ("Read(a (b)/c)", "Read", False),
    ],
)
def test_a_rule_is_read(text: str, subject: str, whole: bool) -> None:
    rule = parse_rule(text, "deny", USER)
    assert (rule.subject, rule.is_whole, str(rule)) == (
        subject,
        whole,
        f"deny rule {text.strip()} (the user's configuration)",
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is no rule; expected is TOOL, TOOL(PATTERN), CAPABILITY or CAPABILITY(PATTERN)"),
        ("rm -rf", "is no rule; expected is TOOL"),
        ("Bash(rm", "is no rule; expected is TOOL"),
        ("bash(rm:*)", "there is no bash; Bash is written like this"),
        ("file_read", "there is no file_read; FILE_READ is written like this"),
        ("Edit()", "has nothing in its brackets; Edit without brackets means all of it"),
        ("Edit(../x)", "goes up by `..`"),
        ("Edit(~root/x)", "expected is ~/ for the home directory"),
        ("Edit(a\0b)", "has a NUL character"),
        (
            "Bash(a && b)",
            "has '&', and a rule is about one command; quote it, or write one rule for each; expected is a command",
        ),
        ("Bash('a)", "has a ' that is not closed"),
        ("Bash(* *)", "names no word; leave the brackets out for every command"),
        ("WebFetch(python.org)", "expected is domain:HOST in the brackets"),
        (
            "WebFetch(domain:https://x)",
            "expected is a host such as docs.python.org, *.example.org, or [::1]; no URL, no port",
        ),
        ("AskUserQuestion(x)", "AskUserQuestion takes no pattern; write AskUserQuestion alone"),
        ("mytool(x)", "mytool takes no pattern"),
        ("Read(" + "x" * 3000 + ")", "has 3006 characters, at most 2000 are taken"),
    ],
)
def test_what_is_no_rule_is_named_with_what_is_expected(text: str, why: str) -> None:
    with pytest.raises(RuleError) as refused:
        parse_rule(text, "allow", USER)
    assert why in str(refused.value)
    assert str(refused.value).startswith("rule ")


@pytest.mark.contract("B7")
def test_a_table_is_read_and_all_that_is_wrong_in_it_is_told() -> None:
    table = {"deny": ["Bash(rm:*)", "bash", 3], "ask": "Edit", "allow": ["Edit(", "Read"], "denny": []}
    read = rules_from(table, USER)
    assert [str(rule) for rule in read.rules] == [
        "deny rule Bash(rm:*) (the user's configuration)",
        "ask rule that cannot be read (the user's configuration)",
        "allow rule Read (the user's configuration)",
    ]
    assert read.problems == (
        "unknown key permissions.denny; known are permissions.allow, .ask and .deny",
        "permissions.deny: rule bash: there is no bash; Bash is written like this",
        "permissions.deny must be a list of rules, and 3 is no text",
        "permissions.ask must be a list of rules, not 'Edit'",
        "permissions.allow: rule Edit(: is no rule; expected is TOOL, TOOL(PATTERN), CAPABILITY or CAPABILITY(PATTERN)",
    )
    assert rules_from([], USER).problems == ("permissions must be a table, not []",)


@pytest.mark.contract("X4", "B7")
@pytest.mark.parametrize("entry", ["Edit(", "Read({" + "a," * 1500 + "})", 7])
def test_a_restriction_that_cannot_be_read_has_everything_asked_about(entry: Any) -> None:
    from .rules_desk import PLACES

    read = rules_from({"deny": [entry], "allow": ["Bash", "Read"]}, USER)
    assert len(read.problems) == 1
    by = RulePolicy(read.rules, PLACES)
    assert command(by, "ls").verdict == "ask"
    assert file(by, "Read", "/ws/x").verdict == "ask"
    assert by.decide(request("AskUserQuestion", Capability.ASK_USER)).reason == (
        "by the ask rule that cannot be read (the user's configuration)"
    )


@pytest.mark.contract("B7")
def test_a_workspace_cannot_allow_and_that_is_told() -> None:
    read = rules_from({"allow": ["Bash"], "deny": ["Bash(rm:*)"]}, WORKSPACE)
    assert [str(rule) for rule in read.rules] == ["deny rule Bash(rm:*) (the workspace's file)"]
    assert read.problems == ("permissions.allow = ['Bash'] would loosen the user's rules and does not count",)


@pytest.mark.contract("B7")
def test_rules_are_bounded_in_number_and_what_does_not_count_is_told() -> None:
    many = rules_from({"deny": ["Bash(x:*)"] * (RULES_MAX + 5)}, USER)
    assert len(many.rules) == RULES_MAX + 1
    assert many.problems == ("permissions.deny has too many rules; 5 do not count",)
    fewer = rules_from({"deny": ["Bash(x:*)"] * RULES_MAX}, WORKSPACE)
    assert len(fewer.rules) == RULES_MAX // 10 + 1


@pytest.mark.contract("X4")
def test_a_tool_and_its_capability_as_a_whole() -> None:
    by = policy(deny=["Delete", "COMPUTER"], ask=["FILE_READ"], allow=["Write", "MyTool", "ASK_USER"])
    assert file(by, "Delete", "/ws/x", "FILE_WRITE").verdict == "deny"
    assert file(by, "Write", "/ws/x", "FILE_WRITE").verdict == "allow"
    assert file(by, "Edit", "/ws/x", "FILE_WRITE").verdict == "ask"
    assert file(by, "Grep", "/ws/x").reason == "by the ask rule FILE_READ (the user's configuration)"
    assert by.decide(request("Computer", Capability.COMPUTER)).verdict == "deny"
    assert by.decide(request("MyTool", Capability.SHELL)).verdict == "allow"
    assert by.decide(request("Other", Capability.SHELL)).verdict == "ask"
    assert by.decide(request("ToolSearch", Capability.SESSION)).verdict == "allow"


@pytest.mark.contract("X4")
def test_without_a_rule_it_is_what_the_composition_root_says() -> None:
    assert file(policy(), "Read", "/ws/x").verdict == "allow"
    assert file(policy(), "Edit", "/ws/x", "FILE_WRITE").reason == "no rule allows it"
    assert file(policy(without_rules="deny"), "Read", "/ws/x").verdict == "deny"
    assert command(policy(without_rules={Capability.SHELL: "allow"}), "x").verdict == "allow"


def url(host: str) -> UrlTarget:
    return UrlTarget(url=f"https://{host}/docs.python.org", host=host, port=443)


@pytest.mark.contract("X4", "B7")
@pytest.mark.parametrize(
    ("host", "verdict"),
    [
        ("docs.python.org", "allow"),
        ("DOCS.Python.ORG.", "allow"),
        ("x.docs.python.org", "ask"),
        ("docs.python.org.evil.example", "ask"),
        ("evil.example", "ask"),
        ("a.example.org", "allow"),
        ("example.org", "ask"),
        ("bad.example.org", "deny"),
        ("very.bad.example.org", "deny"),
        ("notbad.example.org", "allow"),
        ("bücher.example", "deny"),
        ("xn--bcher-kva.example", "deny"),
        ("[::1]", "deny"),
        ("xn--fa-hia.example", "deny"),
        ("[2001:db8::1]", "deny"),
        ("10.0.0.1", "deny"),
    ],
)
def test_a_request_is_judged_by_its_host(host: str, verdict: str) -> None:
    by = policy(
        allow=["WebFetch(domain:docs.python.org)", "NETWORK(domain:*.example.org)"],
        deny=[
            "NETWORK(domain:bad.example.org)",
            "WebFetch(domain:bücher.example)",
            "WebFetch(domain:faß.example)",
            "WebFetch(domain:[::1])",
            "WebFetch(domain:[2001:DB8:0::1])",
            "WebFetch(domain:10.1)",
        ],
    )
    assert by.decide(request("WebFetch", Capability.NETWORK, url(host))).verdict == verdict


@pytest.mark.contract("X4")
def test_a_call_whose_host_is_not_told_is_asked_about_where_hosts_are_denied() -> None:
    by = policy(allow=["WebSearch"], deny=["NETWORK(domain:bad.example.org)"])
    assert by.decide(request("WebSearch", Capability.NETWORK)).verdict == "ask"
    assert by.decide(request("WebSearch", Capability.NETWORK, stage="targets")).verdict == "allow"
    assert policy(allow=["WebSearch"]).decide(request("WebSearch", Capability.NETWORK)).verdict == "allow"


@pytest.mark.contract("X4")
def test_a_tool_that_declares_nothing_is_not_taken_for_harmless() -> None:
    def verdict(by: RulePolicy) -> str:
        return by.decide(request("Mine", None)).verdict

    assert verdict(policy()) == "ask"
    assert verdict(policy(without_rules="allow")) == "allow"
    assert verdict(policy(without_rules="deny")) == "deny"
    assert verdict(policy(without_rules="allow", deny=["FILE_WRITE"])) == "ask"
    assert verdict(policy(allow=["Mine"], deny=["FILE_WRITE"])) == "allow"
    assert verdict(policy(without_rules="allow", deny=["Mine"])) == "deny"


def test_a_source_has_a_name_for_people() -> None:
    assert str(parse_rule("Edit", "ask", Source("this session"))) == "ask rule Edit (this session)"
