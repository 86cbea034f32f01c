"""The profile for macOS, rule by rule (S7, S8, S9, S10). That the system enforces it is not shown here."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from openbuffer.sandbox.quarantine.protected import PROTECTED_NAMES
from openbuffer.sandbox.seatbelt import SeatbeltPolicy, quoted, seatbelt_argv, seatbelt_profile

WS = "/Users/a/ws"


def rules(**policy: object) -> list[str]:
    given = {"roots": (), "writable": ()} | policy
    return seatbelt_profile(SeatbeltPolicy(**given)).splitlines()  # type: ignore[arg-type]  as each test names them


def rules_beyond(**policy: object) -> list[str]:
    """Those that are there for what the policy names."""
    plain = set(rules())
    return [rule for rule in rules(**policy) if rule not in plain]


@pytest.mark.contract("S7")
def test_the_program_is_the_systems_own_and_the_command_follows_the_options() -> None:
    policy = SeatbeltPolicy(roots=(), writable=())
    assert seatbelt_argv(policy, ("/bin/sh", "-c", "ls")) == (
        "/usr/bin/sandbox-exec", "-p", seatbelt_profile(policy), "--", "/bin/sh", "-c", "ls",
    )  # fmt: skip


@pytest.mark.contract("S8")
def test_nothing_is_allowed_but_what_the_profile_names() -> None:
    assert rules() == snapshot(
        [
            "(version 1)",
            "(deny default)",
            "(allow process-exec)",
            "(allow process-fork)",
            "(allow process-info* (target same-sandbox))",
            "(allow signal (target same-sandbox))",
            "(allow sysctl-read)",
            "(allow ipc-posix-sem)",
            "(allow pseudo-tty)",
            '(allow mach-lookup (global-name "com.apple.bsd.dirhelper"))',
            '(allow mach-lookup (global-name "com.apple.cfprefsd.agent"))',
            '(allow mach-lookup (global-name "com.apple.cfprefsd.daemon"))',
            '(allow mach-lookup (global-name "com.apple.diagnosticd"))',
            '(allow mach-lookup (global-name "com.apple.logd"))',
            '(allow mach-lookup (global-name "com.apple.system.logger"))',
            '(allow mach-lookup (global-name "com.apple.system.notification_center"))',
            '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
            '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.membership"))',
            "(allow file-read*)",
            '(allow file-write-data (literal "/dev/null"))',
            '(allow file-write-data (literal "/dev/zero"))',
            '(allow file-write-data (literal "/dev/tty"))',
            '(allow file-write-data (literal "/dev/dtracehelper"))',
            '(allow file-write-data (literal "/dev/stdout"))',
            '(allow file-write-data (literal "/dev/stderr"))',
            '(allow file-write* file-ioctl (literal "/dev/ptmx"))',
            '(allow file-write* file-ioctl (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))',  # noqa: E501  a rule is a line
            "(deny file-write-setugid)",
            "(deny network*)",
        ]
    )


@pytest.mark.contract("S8")
def test_a_writable_place_may_be_written_and_not_be_moved_away() -> None:
    assert rules_beyond(writable=(WS,)) == snapshot(
        ['(allow file-write* (subpath "/Users/a/ws"))', '(deny file-write-unlink (literal "/Users/a/ws"))']
    )


@pytest.mark.contract("S8")
def test_a_network_is_one_of_addresses_and_of_the_resolver() -> None:
    assert rules_beyond(network=True) == snapshot(
        [
            '(allow network-outbound (remote ip "*:*"))',
            '(allow network-inbound (local ip "*:*"))',
            '(allow network-bind (local ip "*:*"))',
            "(allow system-socket)",
            '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
            '(allow mach-lookup (global-name "com.apple.SystemConfiguration.configd"))',
            '(allow mach-lookup (global-name "com.apple.SystemConfiguration.DNSConfiguration"))',
            '(allow mach-lookup (global-name "com.apple.dnssd.service"))',
            '(allow mach-lookup (global-name "com.apple.networkd"))',
            '(allow mach-lookup (global-name "com.apple.trustd"))',
            '(allow mach-lookup (global-name "com.apple.trustd.agent"))',
        ]
    )
    assert "(deny network*)" in rules()
    assert "(deny network*)" not in rules(network=True)


@pytest.mark.contract("S9")
def test_each_protected_name_is_not_written_in_whatever_case_it_is_spelled() -> None:
    found = rules_beyond(roots=(WS,), writable=(WS,))
    denied = [rule for rule in found if rule.startswith("(deny file-write* ")]
    assert len(denied) == len(PROTECTED_NAMES)
    assert denied[0] == snapshot(
        '(deny file-write* (subpath "/Users/a/ws/.git") (regex #"^/Users/a/ws/\\.[gG][iI][tT](/|$)"))'
    )
    assert found.index(denied[0]) > found.index(f'(allow file-write* (subpath "{WS}"))')


@pytest.mark.contract("S9")
def test_git_directories_elsewhere_are_not_written_and_nothing_above_them_is_renamed() -> None:
    assert rules_beyond(writable=(WS,), read_only=(f"{WS}/meta/git", "/elsewhere/.git")) == snapshot(
        [
            '(allow file-write* (subpath "/Users/a/ws"))',
            '(deny file-write* (subpath "/Users/a/ws/meta/git"))',
            '(deny file-write* (subpath "/elsewhere/.git"))',
            '(deny file-write-unlink (literal "/Users/a/ws"))',
            '(deny file-write-unlink (literal "/Users/a/ws/meta"))',
            '(deny file-write-unlink (literal "/Users/a/ws/meta/git"))',
        ]
    )


@pytest.mark.contract("S10")
def test_hidden_paths_come_after_all_that_is_allowed() -> None:
    found = rules(writable=(WS,), hidden=(f"{WS}/secret", "/Users/a/.ssh"), network=True)
    denied = [number for number, rule in enumerate(found) if rule.startswith("(deny file-read* ")]
    assert [found[number] for number in denied] == snapshot(
        [
            '(deny file-read* file-write* (subpath "/Users/a/ws/secret"))',
            '(deny file-read* file-write* (subpath "/Users/a/.ssh"))',
        ]
    )
    assert min(denied) > max(number for number, rule in enumerate(found) if rule.startswith("(allow "))
    assert f'(deny file-write-unlink (literal "{WS}/secret"))' in found


@pytest.mark.contract("S9")
@pytest.mark.parametrize(
    "root", ['/a")(allow default)(', "/a\n(allow default)", "/a\\", "/a b.c*[x]", "/ü", "/\udcff", "/"]
)
def test_a_hostile_path_makes_no_rule_of_its_own(root: str) -> None:
    hostile = rules(roots=(root,), writable=(root,), hidden=(root,), read_only=(root,))
    harmless = rules(roots=("/x",), writable=("/x",), hidden=("/x",), read_only=("/x",))
    assert [_shape(rule) for rule in hostile] == [_shape(rule) for rule in harmless]


@given(st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"])))
def test_a_quoted_path_reads_back_as_itself(path: str) -> None:
    assert _read_back(quoted(path)) == os.fsencode(path)


def test_every_profile_balances_its_brackets() -> None:
    profile = seatbelt_profile(
        SeatbeltPolicy(roots=("/a(",), writable=("/a(", "/b)"), hidden=('/c"',), read_only=("/a(/x",), network=True)
    )
    for rule in profile.splitlines():
        assert _shape(rule).count("(") == _shape(rule).count(")")


def _shape(rule: str) -> str:
    """A rule with its strings taken out, as a reader of the language finds them."""
    shape: list[str] = []
    position = 0
    while position < len(rule):
        if rule[position] == '"':
            is_raw = rule[position - 1] == "#"
            position += 1
            while rule[position] != '"':
                position += 2 if rule[position] == "\\" and not is_raw else 1
        shape.append(rule[position])
        position += 1
    return "".join(shape)


def _read_back(text: str) -> bytes:
    """As the language's reader does it: a backslash before a quote, another one, or an x and two digits."""
    content = os.fsencode(text)
    assert content[:1] == content[-1:] == b'"'
    found = bytearray()
    position = 1
    while position < len(content) - 1:
        if content[position : position + 2] == b"\\x":
            found.append(int(content[position + 2 : position + 4], 16))
            position += 4
            continue
        assert content[position : position + 1] != b'"'
        position += content[position : position + 1] == b"\\"
        found.append(content[position])
        position += 1
    return bytes(found)
