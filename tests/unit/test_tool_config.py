"""ToolConfig: the one place where a composition root says what its tools are, and what it refuses (X5)."""

from __future__ import annotations

from typing import Any

import pytest
from openbuffer.sandbox.memory import InMemorySandboxClient
from openbuffer.tools import ToolDefinitionError
from openbuffer.tools.adapters.task_memory import InMemoryTaskStore
from openbuffer.tools.config import ToolConfig, build_tools
from pydantic import ValidationError


@pytest.mark.contract("X5")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rots": ("/w",)}, "rots"),
        ({"roots": "/w"}, "not the one text '/w'"),
        ({"deferred": "Grep"}, "not the one text 'Grep'"),
        ({"sandbox": "docker"}, "str is no such port: it has no filesystem and no run"),
        ({"tasks": {}}, "dict is no such port: it has no tasks and no put"),
        ({"artifacts": object()}, "object is no such port"),
        ({"editor": 7}, "int is no such port: it has no __call__"),
        ({"web": {"allowed_hosts": ()}}, "instance of WebSettings"),
        ({"tools": ("Read",)}, "instance of FunctionTool"),
        ({"file_max_bytes": 0}, "greater than 0"),
        ({"read_output_max_bytes": "much"}, "valid integer"),
        ({"writes": "perhaps"}, "valid boolean"),
    ],
)
def test_what_no_field_can_take_is_refused_by_its_name(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=next(iter(given))) as refused:
        ToolConfig(**{"roots": ("/w",), **given})
    assert words in str(refused.value)


@pytest.mark.contract("X5")
def test_it_does_not_change_after_it_was_made() -> None:
    config = ToolConfig(roots=("/w",))
    with pytest.raises(ValidationError, match="frozen"):
        config.writes = False


@pytest.mark.contract("X5", "T7")
def test_roots_are_required_and_have_to_be_usable() -> None:
    with pytest.raises(ValidationError, match="roots"):
        ToolConfig()  # type: ignore[call-arg]
    for roots in ((), ("relative",), ("",)):
        with pytest.raises(ToolDefinitionError, match="cwd"):
            build_tools(ToolConfig(roots=roots))


@pytest.mark.contract("X5")
def test_ports_are_taken_as_they_are_and_variables_are_never_shown() -> None:
    sandbox, tasks, variables = InMemorySandboxClient(), InMemoryTaskStore(), {"TOKEN": "s3cret"}
    config = ToolConfig(roots=("/w",), sandbox=sandbox, tasks=tasks, environment=variables)
    assert (config.sandbox, config.tasks, config.environment) == (sandbox, tasks, variables)
    assert config.environment is variables
    assert "s3cret" not in repr(config)
