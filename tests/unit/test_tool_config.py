"""ToolConfig: the one place where a composition root says what its tools are, and what it refuses (X5)."""

from __future__ import annotations

from typing import Any

import pytest
from openbuffer.sandbox.memory_client import InMemorySandboxClient
from openbuffer.tools import ToolDefinitionError
from openbuffer.tools.adapters.brave_search import BraveSearch
from openbuffer.tools.adapters.task_memory import InMemoryTaskStore
from openbuffer.tools.config import ToolConfig, build_tools
from openbuffer.tools.contract import ToolContext
from openbuffer.tools.support.http_guard_settings import WebSettings
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
        ({"web_search": "brave"}, "str is no such port: it has no abilities"),
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


@pytest.mark.contract("X5", "W1", "W2")
def test_the_web_is_there_where_it_is_configured_and_is_asked_for_at_each_call() -> None:
    def names(**more: Any) -> list[str]:
        return [tool.name for tool in build_tools(ToolConfig(roots=("/w",), writes=False, commands=False, **more))]

    without = names()
    assert names(web=WebSettings()) == [*without, "WebFetch"]
    assert names(web=lambda: None) == [*without, "WebFetch"]
    assert names(web_search=BraveSearch(api_key="key")) == [*without, "WebSearch"]


@pytest.mark.contract("X5", "W1")
async def test_web_settings_count_as_they_are_when_the_page_is_fetched() -> None:
    now: list[WebSettings | None] = [WebSettings(allowed_hosts=("127.0.0.1",))]
    config = ToolConfig(roots=("/w",), web=lambda: now[0])
    fetch = next(tool for tool in build_tools(config) if tool.name == "WebFetch")
    url = {"url": "http://127.0.0.1:9/"}
    assert "allowed" not in (await fetch.execute(url)).value["error"]
    plan = await fetch.prepare(fetch.validate(url), ToolContext())
    assert plan.settled is None
    now[0] = WebSettings()
    assert "a loopback address" in (await fetch.execute(url)).value["error"]
    assert "a loopback address" in (await fetch.commit(plan, ToolContext())).value["error"]
    now[0] = None
    assert "switched off by the settings (web.enabled)" in (await fetch.execute(url)).value["error"]
