"""What the tests of the configuration share: for each key its values, and which of two is looser.

A new key has to be put in here, in ``VALUES`` and ``NO_LOOSER``; a test says so.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from openbuffer.bridge.config_layers import effective
from openbuffer.bridge.config_reading import parse_layer
from openbuffer.tools.contract import Capability

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from openbuffer.bridge.config import Config

_SWITCH = st.booleans()
_NUMBER = st.integers(1, 10**9)
_PATHS = st.lists(st.sampled_from(["/a", "/a/b", "/a/b/c", "/d", "/d/e", "/ab"]), max_size=3)
_PROGRAMS = st.lists(st.sampled_from(["git", "docker", "make"]), max_size=3)
_VARIABLES = st.lists(st.sampled_from(["A", "B_*", "*", "CARGO_*"]), max_size=3)
_RULES = st.lists(st.sampled_from(["Read(a)", "Bash", "Bash(git:*)", "FILE_WRITE"]), max_size=3)
_HOSTS = st.lists(st.sampled_from(["localhost:3000", "10.0.0.0/8", "*.corp.example"]), max_size=3)
_VERDICT = st.sampled_from(["allow", "ask", "deny"])

VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "roots": st.lists(st.sampled_from(["/", "/usr"]), max_size=2),
    "limits.file_max_bytes": _NUMBER,
    "limits.read_output_max_bytes": _NUMBER,
    "limits.command_output_max_bytes": _NUMBER,
    "sandbox.enabled": _SWITCH,
    "sandbox.network": _SWITCH,
    "sandbox.allow_write": _PATHS,
    "sandbox.deny_read": _PATHS,
    "sandbox.excluded_commands": _PROGRAMS,
    "sandbox.auto_allow": _SWITCH,
    "commands.pass_environment": _VARIABLES,
    "commands.drop_environment": _VARIABLES,
    "log.keep": st.lists(st.sampled_from(["results", "rejections"]), max_size=2),
    "log.days": st.integers(1, 36_500),
    "log.max_bytes": st.integers(1_048_576, 10**12),
    "log.redact": st.lists(st.sampled_from(["a+", "b"]), max_size=2),
    "permissions.deny": _RULES,
    "permissions.ask": _RULES,
    "permissions.allow": _RULES,
    "permissions.default": _VERDICT | st.dictionaries(st.sampled_from([str(each) for each in Capability]), _VERDICT),
    "web.enabled": _SWITCH,
    "web.allowed_hosts": _HOSTS,
    "web.allowed_ports": st.lists(st.sampled_from([22, 81, 8443]), max_size=3),
    "web.proxy": st.sampled_from(["http://proxy:3128", "http://u:p@other:1"]),
    "web.authorities": st.sampled_from(["/etc/a.pem", "/etc/b.pem"]),
    "web.timeout_s": st.integers(1, 3_600) | st.floats(0.5, 3_600),
    "web.max_bytes": _NUMBER,
    "web.max_redirects": st.integers(0, 100),
    "web.max_output_chars": _NUMBER,
    "search.enabled": _SWITCH,
    "search.provider": st.sampled_from(["brave", "searxng"]),
    "search.url": st.sampled_from(["http://localhost:8888", "https://search.example/x"]),
}


def _same(after: Any, before: Any) -> bool:
    return bool(after == before)


def _fewer(after: tuple[Any, ...], before: tuple[Any, ...]) -> bool:
    return set(after) <= set(before)


def _more(after: tuple[Any, ...], before: tuple[Any, ...]) -> bool:
    return set(after) >= set(before)


def _inside(after: tuple[str, ...], before: tuple[str, ...]) -> bool:
    return all(any(f"{path}/".startswith(f"{each}/") for each in before) for path in after)


def _stricter(after: Mapping[str, str], before: Mapping[str, str]) -> bool:
    order = ("allow", "ask", "deny")
    return all(order.index(after[name]) >= order.index(before[name]) for name in Capability)


NO_LOOSER: Mapping[str, Callable[[Any, Any], bool]] = {
    **dict.fromkeys(VALUES, _same),  # what is nobody's but the user's stays as it is
    "sandbox.enabled": operator.ge,
    "sandbox.network": operator.le,
    "sandbox.allow_write": _inside,
    "sandbox.deny_read": _more,
    "sandbox.excluded_commands": _fewer,
    "sandbox.auto_allow": operator.le,
    "commands.pass_environment": _fewer,
    "permissions.deny": _more,
    "permissions.ask": _more,
    "permissions.allow": _fewer,
    "permissions.default": _stricter,
    "web.enabled": operator.le,
    "web.allowed_hosts": _fewer,
    "web.allowed_ports": _fewer,
    "search.enabled": operator.le,
}
"""Whether the first value of a key lets no more happen than the second."""


def is_looser(key: str, after: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether more may happen by this key than before."""
    return not NO_LOOSER[key](after[key], before[key])


def parse_config(file: Path, content: bytes) -> Config:
    """What a user's file alone brings about."""
    return effective([parse_layer(file, content)]).config


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """The keys as tables."""
    tables: dict[str, Any] = defaultdict(dict)
    for key, value in values.items():
        table, _, name = key.rpartition(".")
        if table:
            tables[table][name] = value
        else:
            tables[name] = value
    return dict(tables)


def tables_from(values: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Tables of values that can be used."""
    return values.map(nested)


def tables_of_junk() -> st.SearchStrategy[Any]:
    """Anything that JSON and TOML can say, also at the names of keys that there are."""
    names = st.sampled_from(sorted({part for key in VALUES for part in key.split(".")})) | st.text(max_size=4)
    leaves = (
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["/", "~", "*"])
    )
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4), max_leaves=12
    )


EXAMPLES: Mapping[str, tuple[Any, Any, Any]] = {
    "roots": (["/usr"], ["/"], ["/etc"]),
    "limits.file_max_bytes": (1, 2, 3),
    "limits.read_output_max_bytes": (1, 2, 3),
    "limits.command_output_max_bytes": (1, 2, 3),
    "sandbox.enabled": (True, False, True),
    "sandbox.network": (True, False, True),
    "sandbox.allow_write": (["/a"], ["/b"], []),
    "sandbox.deny_read": (["/a"], ["/b"], []),
    "sandbox.excluded_commands": (["git"], ["docker"], []),
    "sandbox.auto_allow": (True, False, True),
    "commands.pass_environment": (["A"], ["B_*"], []),
    "commands.drop_environment": (["A"], ["B_*"], []),
    "log.keep": (["results"], ["rejections"], []),
    "log.days": (1, 2, 3),
    "log.max_bytes": (2_000_000, 3_000_000, 4_000_000),
    "log.redact": (["a+"], ["b+"], []),
    "permissions.deny": (["Read(a)"], ["Read(b)"], ["Bash"]),
    "permissions.ask": (["Read(a)"], ["Read(b)"], ["Bash"]),
    "permissions.allow": (["Read(a)"], ["Read(b)"], ["Bash"]),
    "permissions.default": ("ask", "deny", {"SHELL": "ask"}),
    "web.enabled": (False, True, False),
    "web.allowed_hosts": (["localhost:3000"], ["10.0.0.0/8"], []),
    "web.allowed_ports": ([81], [82], []),
    "web.proxy": ("http://a:1", "http://b:1", "http://c:1"),
    "web.authorities": ("/a", "/b", "/c"),
    "web.timeout_s": (1, 2, 3.5),
    "web.max_bytes": (1, 2, 3),
    "web.max_redirects": (0, 1, 2),
    "web.max_output_chars": (1, 2, 3),
    "search.enabled": (False, True, False),
    "search.provider": ("searxng", "brave", "searxng"),
    "search.url": ("http://a", "http://b", "http://c"),
}
"""What the user's file, the environment and the editor say of each key: each something else than the one before."""
