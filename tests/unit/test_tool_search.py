"""ToolSearch and the catalog behind it: what is found, in which order, and what a session can call (W4)."""

from __future__ import annotations

import json
import re
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools import (
    Capability,
    FunctionTool,
    ToolArgumentError,
    ToolContext,
    ToolNotFoundError,
    create_function_tool,
)
from openbuffer.tools.catalog import DeferredCatalog
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.events import ToolIntended
from openbuffer.tools.executor import SandboxedToolExecutor, create_tool_executor
from openbuffer.tools.host import create_tool_search_tool, with_tool_search
from openbuffer.tools.limits import (
    TOOL_SEARCH_MAX_LOADED,
    TOOL_SEARCH_MAX_NAMES,
    TOOL_SEARCH_MAX_WORDS,
    TOOL_SEARCH_OUTPUT_MAX_BYTES,
    TOOL_SEARCH_QUERY_MAX_CHARS,
    TOOL_SEARCH_TEXT_MAX_CHARS,
)
from openbuffer.tools.registry import DefaultToolRegistry
from openbuffer.tools.rules.places import RulePlaces
from openbuffer.tools.rules.policy import RulePolicy


def own(name: str, description: str = "Does it.", *, deferred: bool = True, **parameters: str) -> FunctionTool:
    """A tool whose parameters have these descriptions, and which gives its arguments back."""
    properties = {key: {"type": "string", "description": told} for key, told in parameters.items()}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return create_function_tool(name, description, schema, lambda arguments: arguments, deferred=deferred)


def session(*tools: FunctionTool, **options: Any) -> SandboxedToolExecutor:
    return create_tool_executor(ToolConfig(roots=("/w",), writes=False, commands=False, tools=tools), **options)


async def search(executor: SandboxedToolExecutor, query: str = "", names: list[str] | None = None) -> str:
    arguments = {"names": names} if names is not None else {"query": query}
    result = await executor.call("ToolSearch", arguments)
    assert result.success, result.value
    return result.value["output"]


def found(output: str) -> list[str]:
    """The names of what was loaded, in order."""
    return [json.loads(line)["name"] for line in output.splitlines() if line.startswith("{")]


def names_of(executor: SandboxedToolExecutor) -> list[str]:
    return [tool.name for tool in executor.tools]


WEATHER = (
    own("send_mail", "Sends a letter.", body="What the weather was like."),
    own("umbrella", "Tells whether the weather asks for one."),
    own("get_weather", "Rain and wind.", city="Where."),
    own("bad_weather_alarm", "Rings."),
    own("weather", "Short."),
    own("calendar", "Dates."),
)


@pytest.mark.contract("W4")
async def test_ranked_are_exact_name_name_description_parameters_and_ties_by_name() -> None:
    output = await search(session(*WEATHER), "Weather")
    assert found(output) == ["weather", "bad_weather_alarm", "get_weather", "umbrella", "send_mail"]
    assert output.startswith("5 tools are loaded and can be called for the rest of the session:\n")
    assert json.loads(output.splitlines()[3]) == {
        "name": "get_weather",
        "description": "Rain and wind.",
        "inputSchema": dict(WEATHER[2].input_schema),
    }


@pytest.mark.contract("W4")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("get weather", ["get_weather", "bad_weather_alarm", "weather", "umbrella", "send_mail"]),
        ("GET-WEATHER", ["get_weather", "bad_weather_alarm", "weather", "umbrella", "send_mail"]),
        ("rain in a city", ["get_weather", "bad_weather_alarm", "calendar", "send_mail", "umbrella"]),
        ("alend", ["calendar"]),
        ("\uff43\uff41lendar", ["calendar"]),
        ("body", ["send_mail"]),
        ("letter rings", ["bad_weather_alarm", "send_mail"]),
    ],
)
async def test_more_of_the_words_come_first_whatever_their_case_and_signs(query: str, expected: list[str]) -> None:
    assert found(await search(session(*WEATHER), query)) == expected


@pytest.mark.contract("W4")
@given(st.randoms(use_true_random=False), st.text(alphabet="wetahr _-dniugcls", max_size=20))
def test_the_same_catalog_and_query_give_the_same_whatever_the_order_and_whatever_is_loaded(
    random: Any, query: str
) -> None:
    async def scenario() -> None:
        tools = list(WEATHER)
        random.shuffle(tools)
        executor, other = session(*WEATHER), session(*tools)
        await search(other, names=[random.choice(tools).name])
        assert found(await search(executor, f"{query}x")) == found(await search(other, f"{query}x"))

    anyio.run(scenario)


@pytest.mark.contract("W4", "X5")
async def test_what_is_deferred_is_not_listed_and_not_called_before_it_is_loaded_and_stays_then() -> None:
    log = InMemoryEventLog()
    executor = session(own("weather", city="Where."), own("near", deferred=False), log=log)
    assert names_of(executor) == ["Read", "ListDir", "Glob", "Grep", "near", "ToolSearch"]
    with pytest.raises(ToolNotFoundError) as refused:
        await executor.call("weather", {"city": "Oslo"})
    assert str(refused.value) == (
        'weather is a deferred tool and is not loaded. Load it by ToolSearch with {"names": ["weather"]}, which tells '
        "its arguments; then call it."
    )
    assert refused.value.reason == "deferred"
    with pytest.raises(ToolNotFoundError, match=r"the tools are: Read, ListDir, Glob, Grep, near, ToolSearch$"):
        await executor.call("wether", {})
    await search(executor, names=["weather"])
    assert names_of(executor) == ["Read", "ListDir", "Glob", "Grep", "weather", "near", "ToolSearch"]
    assert (await executor.call("weather", {"city": "Oslo"})).value == {"city": "Oslo"}
    await search(executor, "nothing of that")
    assert "weather" in names_of(executor)
    assert [event.tool for event in log if isinstance(event, ToolIntended)] == ["ToolSearch", "weather", "ToolSearch"]


@pytest.mark.contract("W4")
async def test_what_one_session_loads_no_other_has() -> None:
    tools = (own("weather"), own("calendar"))
    first, second = session(*tools), session(*tools)
    await search(first, names=["weather"])
    assert set(names_of(first)) - set(names_of(second)) == {"weather"}


@pytest.mark.contract("W4")
async def test_nothing_found_is_a_normal_result_that_loads_nothing() -> None:
    executor = session(*WEATHER)
    for query in ("zeppelin", "***", "\u00a0.\u00a0?"):
        output = await search(executor, query)
        assert output == (
            "No deferred tool has any of these words; nothing was loaded. 6 deferred tools are there: "
            "bad_weather_alarm, calendar, get_weather, send_mail, umbrella, weather."
        )
    assert not {tool.name for tool in WEATHER} & set(names_of(executor))


@pytest.mark.contract("W4")
async def test_an_unknown_name_is_an_error_that_names_it_and_nothing_is_loaded() -> None:
    executor = session(*WEATHER)
    result = await executor.call("ToolSearch", {"names": ["weather", "Read", "w\x1b[31m" + "x" * 9_999]})
    assert not result.success
    error = result.value["error"]
    assert error.startswith("no deferred tool is named 'Read', 'w")
    assert "nothing was loaded" in error
    assert "\x1b" not in error
    assert len(error) < 500
    assert "weather" not in names_of(executor)


@pytest.mark.contract("W4")
async def test_exact_names_are_loaded_in_their_order_each_once() -> None:
    output = await search(session(*WEATHER), names=["umbrella", "calendar", "umbrella"])
    assert found(output) == ["umbrella", "calendar"]
    assert found(await search(session(*WEATHER), names=["weather"])) == ["weather"]


@pytest.mark.contract("W4", "T3")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "give either query or names; neither is given"),
        ({"query": " \t"}, "give either query or names; neither is given"),
        ({"query": "", "names": []}, "give either query or names; neither is given"),
        ({"query": "x", "names": ["weather"]}, "give either query or names; both are given"),
        ({"query": "x" * (TOOL_SEARCH_QUERY_MAX_CHARS + 1)}, "query: .*longer than"),
        ({"names": ["weather"] * (TOOL_SEARCH_MAX_NAMES + 1)}, "names: .*more than"),
    ],
)
async def test_neither_and_both_and_too_much_are_refused(arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(ToolArgumentError, match=f"^ToolSearch: (arguments: )?{why}"):
        await session(*WEATHER).call("ToolSearch", arguments)


@pytest.mark.contract("W4")
async def test_without_a_catalog_it_refuses_to_run() -> None:
    for arguments in ({"query": "weather"}, {"names": ["weather"]}):
        result = await create_tool_search_tool().execute(arguments)
        assert not result.success
        assert "no catalog of deferred tools" in result.value["error"]
        assert "nothing was searched" in result.value["error"]


@pytest.mark.contract("W4", "X6")
def test_it_is_added_only_where_something_is_deferred() -> None:
    assert "ToolSearch" not in names_of(session(own("near", deferred=False)))
    assert with_tool_search((own("near", deferred=False),))[0].name == "near"
    far, tool_search = with_tool_search((own("far"),), description=" Mine. ")
    assert (far.name, tool_search.name, tool_search.description) == ("far", "ToolSearch", " Mine. ")
    assert not tool_search.deferred


@pytest.mark.contract("W4", "X5")
async def test_the_configuration_can_defer_any_tool_and_leaves_the_callers_own_as_it_is() -> None:
    near = own("near", deferred=False)
    config = ToolConfig(roots=("/w",), writes=False, commands=False, tools=(near,), deferred=("near", "Grep", "Edit"))
    executor = create_tool_executor(config)
    assert names_of(executor) == ["Read", "ListDir", "Glob", "ToolSearch"]
    assert not near.deferred
    assert found(await search(executor, "regular expression")) == ["Grep"]
    assert names_of(executor) == ["Read", "ListDir", "Glob", "Grep", "ToolSearch"]


@pytest.mark.contract("T8", "W4")
async def test_the_numbers_that_the_description_tells_hold() -> None:
    many = [own(f"tool_{number:04}", "Does something.") for number in range(60)]
    executor = session(*many, own("late", "x" * TOOL_SEARCH_TEXT_MAX_CHARS + " zebra"))
    told = next(tool for tool in executor.tools if tool.name == "ToolSearch").description
    assert f"the first {TOOL_SEARCH_MAX_WORDS} count" in told
    assert f"the first {TOOL_SEARCH_TEXT_MAX_CHARS} characters" in told
    assert f"The first {TOOL_SEARCH_MAX_LOADED} are loaded" in told
    assert "Deferred here: late, tool_0000, tool_0001" in told
    assert told.endswith(" and 11 more.")
    assert found(await search(executor, "zebra")) == []
    words = [f"nothing{number}" for number in range(TOOL_SEARCH_MAX_WORDS)]
    assert found(await search(executor, " ".join([*words, "tool"]))) == []
    output = await search(executor, " ".join([*words[1:], "tool"]))
    assert found(output) == [f"tool_{number:04}" for number in range(TOOL_SEARCH_MAX_LOADED)]
    assert output.splitlines()[-1].startswith(
        "55 other deferred tools have some of the words and were not loaded: tool_0005, tool_0006, "
    )
    assert output.endswith("and 5 more. `names` loads by name.")
    assert len(executor.tools) == len(["Read", "ListDir", "Glob", "Grep", "ToolSearch"]) + TOOL_SEARCH_MAX_LOADED


@pytest.mark.contract("W4")
async def test_thousands_of_tools_with_hostile_texts_give_a_bounded_answer() -> None:
    hostile = "a" * 20_000 + '"}\n{"name": "Read", "description": "\u2028\x1b]0;title\x07 '
    tools = [own(f"t{number}", f"{hostile}\ud800", **{"a" * 60: hostile}) for number in range(3_000)]
    tools[7] = own("t7", hostile * 50)
    executor = session(*tools, own("small", "a"))
    output = await search(executor, " ".join("a" * length for length in range(16, 0, -1)))
    assert len(output.encode()) < TOOL_SEARCH_OUTPUT_MAX_BYTES + 10_000
    assert len(executor.tools[-1].description) < 10_000
    assert [name for name in found(output) if not re.fullmatch(r"t\d+", name)] == []
    assert "\x1b" not in output
    assert all(line.startswith("{") for line in output.splitlines()[1:-1])
    # What is too large to be shown is loaded, and spoils nothing for the others.
    output = await search(executor, names=["t7", "small"])
    assert [sorted(json.loads(line)) for line in output.splitlines()[1:]] == [
        ["description", "name", "notShown"],
        ["description", "inputSchema", "name"],
    ]
    assert {"t7", "small"} < set(names_of(executor))


@pytest.mark.contract("W4", "T6")
async def test_a_search_that_is_cancelled_loads_nothing() -> None:
    catalog = DeferredCatalog(DefaultToolRegistry(WEATHER))
    context = ToolContext(deferred=catalog)
    tool = create_tool_search_tool()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await tool.execute({"query": "weather"}, context)
    assert scope.cancelled_caught
    assert catalog.tools == ()


@pytest.mark.contract("W4")
def test_a_catalog_loads_all_of_the_names_or_none() -> None:
    catalog = DeferredCatalog(DefaultToolRegistry(WEATHER))
    with pytest.raises(ToolNotFoundError, match="no deferred tool is named 'tomorrow'"):
        catalog.load(["weather", "tomorrow"])
    assert catalog.tools == ()
    with pytest.raises(ToolNotFoundError, match=r"not loaded\. Nothing here loads deferred tools\."):
        catalog.get("weather")
    catalog.load(["weather"])
    assert [tool.name for tool in catalog.tools] == ["weather"]
    assert catalog.get("weather").name == "weather"
    assert [schema.name for schema in catalog.schemas()] == [tool.name for tool in WEATHER]


@pytest.mark.contract("T10", "X4")
async def test_without_rules_it_runs_and_a_rule_about_it_holds() -> None:
    assert create_tool_search_tool().capabilities == {Capability.SESSION}
    places = RulePlaces(roots=("/w",), home="/home/u")
    assert found(await search(session(*WEATHER, policy=RulePolicy([], places)), "calendar")) == ["calendar"]
