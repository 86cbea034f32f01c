"""The port itself: what it says about where things run, its operations and its errors; and that it is pure."""

from __future__ import annotations

import inspect
import subprocess
import sys
from types import SimpleNamespace

import pytest
from openbuffer.sandbox import EXECUTION_CONTAINMENT_WORDS, SandboxError, describe_execution_containment, errors
from openbuffer.sandbox.memory_client import InMemorySandboxClient
from openbuffer.sandbox.port import OPERATIONS, StatsFiles, find_operation, routes_files_through_sandbox


@pytest.mark.contract("S4")
@pytest.mark.parametrize(
    ("client", "containment"),
    [
        (None, "host"),
        (SimpleNamespace(filesystem="shared"), "sandbox-shared"),
        (InMemorySandboxClient(), "sandbox-separate"),
    ],
)
def test_where_commands_and_files_are_is_one_of_three_with_words_for_each(client: object, containment: str) -> None:
    assert describe_execution_containment(client) == containment  # type: ignore[arg-type]  a stand-in for a client
    assert routes_files_through_sandbox(client) is (containment == "sandbox-separate")  # type: ignore[arg-type]  see above
    assert EXECUTION_CONTAINMENT_WORDS[containment].endswith(".")  # type: ignore[index]  it is one of the three
    assert len(EXECUTION_CONTAINMENT_WORDS) == 3


def test_each_optional_operation_is_one_method_that_a_client_can_lack() -> None:
    for protocol, name in OPERATIONS.items():
        methods = [each for each, _ in inspect.getmembers(protocol, inspect.isfunction) if not each.startswith("_")]
        assert methods in (["containment", "wrap_command"], [f"{name}_directory"], [name])
    assert find_operation(SimpleNamespace(filesystem="separate"), StatsFiles) is None  # type: ignore[arg-type]  it has none


def test_every_error_is_drawn_in_the_tree() -> None:
    tree = inspect.getdoc(errors) or ""
    kinds = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, Exception)]
    assert all(issubclass(each, SandboxError) for each in kinds)
    assert [each.__name__ for each in kinds if each.__name__ not in tree] == []


@pytest.mark.contract("T9")
def test_the_port_touches_no_host() -> None:
    program = (
        "import sys\n"
        "for name in ('anyio', 'asyncio', 'socket', 'subprocess', 'e2b'): sys.modules[name] = None\n"
        "import openbuffer.sandbox, openbuffer.sandbox.exit_codes, openbuffer.sandbox.shell_files\n"
        "import openbuffer.sandbox.memory.files\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, capture_output=True).stderr == b""
