"""The tool contract: factories, validation, the declared result protocol, prepare and commit."""

from __future__ import annotations

import json
from collections.abc import Callable  # noqa: TC003  pydantic evaluates the annotation
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools import (
    Capability,
    FunctionTool,
    InvocationResult,
    Plan,
    PlanOutdatedError,
    ToolArgumentError,
    ToolContext,
    ToolDefinitionError,
    ToolResultError,
    create_function_tool,
    create_pydantic_tool,
)
from openbuffer.tools.contract import create_builtin_tool
from openbuffer.tools.errors import ToolFailure
from openbuffer.tools.limits import COMMIT_ATTEMPTS
from pydantic import BaseModel, ConfigDict, Field

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}


class Weather(BaseModel):
    city: str = Field(description="City name")
    days: int = Field(default=1, ge=1)


class OpenWeather(Weather):
    model_config = ConfigDict(extra="allow")


def echo(arguments: Any) -> Any:
    return arguments


@pytest.mark.contract("T1")
async def test_a_function_tool_hands_its_function_the_validated_arguments() -> None:
    tool = create_function_tool("get_weather", "Weather of a city.", SCHEMA, echo)
    result = await tool.execute({"city": "Oslo", "days": 2})
    assert (result.success, result.data) == (True, {"city": "Oslo", "days": 2})


@pytest.mark.contract("T1")
async def test_a_pydantic_tool_hands_its_function_the_parsed_model() -> None:
    seen: list[Weather] = []
    tool = create_pydantic_tool("get_weather", "Weather of a city.", Weather, seen.append)
    await tool.execute({"city": "Oslo"})
    assert seen == [Weather(city="Oslo", days=1)]


@pytest.mark.contract("T1")
async def test_a_function_may_be_a_coroutine_and_may_take_the_context() -> None:
    async def fn(arguments: dict[str, Any], context: ToolContext) -> str:
        return f"{arguments['city']} {context.call_id}"

    tool = create_function_tool("w", "Weather.", SCHEMA, fn)
    assert (await tool.execute({"city": "Oslo"}, ToolContext(call_id="c1"))).data == "Oslo c1"


@pytest.mark.contract("T1")
async def test_a_function_written_in_c_may_be_the_function() -> None:
    assert (await create_function_tool("w", "Weather.", SCHEMA, str).execute({"city": "x"})).data == "{'city': 'x'}"


@pytest.mark.contract("T1", "T3")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "w: missing argument city"),
        ({"city": 1}, 'w: city: 1 is not of type "string"'),
        ({"city": "x", "days": 0}, "w: days: 0 is less than the minimum of 1"),
        ({"city": "x", "town": "y"}, "w: unknown argument town (known: city, days)"),
        ("city", "w: the arguments must be an object"),
        (None, "w: the arguments must be an object"),
        ({"city": "\ud800"}, "w: an argument holds a lone surrogate, which is not Unicode text"),
        ({"city": b"x"}, "w: not JSON: Unsupported type: 'bytes'"),
    ],
)
async def test_arguments_that_do_not_fit_never_reach_the_function(arguments: Any, message: str) -> None:
    ran: list[Any] = []
    for tool in (
        create_function_tool("w", "Weather.", SCHEMA, ran.append),
        create_pydantic_tool("w", "Weather.", Weather, ran.append),
    ):
        with pytest.raises(ToolArgumentError) as refused:
            await tool.execute(arguments)
        assert str(refused.value) == message
    assert ran == []


@pytest.mark.contract("T1")
async def test_giant_and_deep_arguments_get_a_short_error() -> None:
    tool = create_function_tool("w", "Weather.", SCHEMA, echo)
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    many: dict[str, Any] = {"city": [[] for _ in range(1_000_001)]}
    for arguments in ({"city": ["x" * 50_000_000]}, {"city": deep}, {f"k{i}": 1 for i in range(100_000)}, many):
        with pytest.raises(ToolArgumentError) as refused:
            await tool.execute(arguments)
        assert len(str(refused.value)) < 2_000


@pytest.mark.contract("T2")
async def test_unknown_arguments_pass_only_a_model_that_allows_them() -> None:
    seen: list[Weather] = []
    allowing = create_pydantic_tool("w", "Weather.", OpenWeather, seen.append)
    await allowing.execute({"city": "Oslo", "unit": "K"})
    assert seen[0].model_extra == {"unit": "K"}
    closed = create_pydantic_tool("w", "Weather.", Weather, seen.append)
    with pytest.raises(ToolArgumentError, match=r"unknown argument unit \(known: city, days\)"):
        await closed.execute({"city": "Oslo", "unit": "K"})


@pytest.mark.contract("T3")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}},
        {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/schema"}}},
        {"type": "object", "properties": {"a": {"type": "no-such-type"}}},
        {"type": "object", "properties": {"a": {"type": "array"}}},
        {"type": "object", "properties": {"a": {"type": ["array", "null"]}}},
        {"type": "object", "oneOf": [{"required": ["a"]}]},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
    ],
)
def test_a_schema_that_clients_or_the_validator_refuse_is_refused_at_construction(schema: dict[str, Any]) -> None:
    with pytest.raises(ToolDefinitionError):
        create_function_tool("w", "Weather.", schema, echo)


@pytest.mark.contract("T3")
async def test_the_schema_cannot_be_changed_behind_the_tool() -> None:
    schema = json.loads(json.dumps(SCHEMA))
    tool = create_function_tool("w", "Weather.", schema, echo)
    schema["additionalProperties"] = True
    schema["properties"]["unit"] = {"type": "string"}
    with pytest.raises(ToolArgumentError):
        await tool.execute({"city": "Oslo", "unit": "K"})
    assert tool.input_schema == SCHEMA


ALMOST_ARGUMENTS = st.dictionaries(
    st.sampled_from(["city", "days", "unit"]),
    st.one_of(st.none(), st.booleans(), st.integers(-2, 3), st.text(max_size=3), st.lists(st.integers(), max_size=2)),
)


@pytest.mark.contract("T3")
@given(ALMOST_ARGUMENTS)
def test_what_the_pydantic_form_accepts_is_what_its_schema_accepts(arguments: dict[str, Any]) -> None:
    by_model = create_pydantic_tool("w", "Weather.", Weather, echo)
    by_schema = create_function_tool("w", "Weather.", dict(by_model.input_schema), echo)
    assert _accepts(by_model, arguments) == _accepts(by_schema, arguments)


def _accepts(tool: FunctionTool, arguments: dict[str, Any]) -> bool:
    try:
        tool.validate(arguments)
    except ToolArgumentError:
        return False
    return True


@pytest.mark.contract("T4")
@pytest.mark.parametrize("value", [{"success": False}, {"success": "x", "output": 1}, None, "text", [1], 7])
async def test_a_custom_tools_value_stays_domain_data_whatever_its_shape(value: Any) -> None:
    result = await create_function_tool("w", "Weather.", SCHEMA, lambda _: value).execute({"city": "x"})
    assert (result.success, result.data) == (True, value)


def declared(value: Any, *, failing_in: str = "") -> FunctionTool:
    async def prepare(_arguments: Weather, _context: ToolContext) -> Plan:
        if failing_in == "prepare":
            raise ToolFailure("no such city")
        return Plan()

    async def commit(_plan: Plan, _context: ToolContext) -> Any:
        if failing_in == "commit":
            raise ToolFailure("no such city")
        return value

    return create_builtin_tool(
        name="W",
        description="Weather.",
        model=Weather,
        prepare=prepare,
        commit=commit,
        capabilities=frozenset({Capability.NETWORK}),
    )


@pytest.mark.contract("T4")
async def test_a_declared_result_is_json_in_data_and_carries_only_what_is_there() -> None:
    result = await declared(InvocationResult(success=True, output="é", exit_code=3, start_line=2)).execute(
        {"city": "x"}
    )
    assert result.success
    assert json.loads(result.data) == {"success": True, "output": "é", "exitCode": 3, "startLine": 2}


@pytest.mark.contract("T4")
@pytest.mark.parametrize("step", ["prepare", "commit"])
async def test_an_ordinary_failure_keeps_its_payload_and_marks_the_envelope(step: str) -> None:
    result = await declared(None, failing_in=step).execute({"city": "x"})
    assert not result.success
    assert json.loads(result.data) == {"success": False, "output": "", "error": "no such city"}


@pytest.mark.contract("T4")
@pytest.mark.parametrize("value", [None, "ok", {"success": True, "output": ""}, True])
async def test_a_declared_tool_that_returns_anything_else_fails_explicitly(value: Any) -> None:
    with pytest.raises(ToolResultError, match="W declares an invocation result"):
        await declared(value).execute({"city": "x"})


@pytest.mark.contract("T10")
def test_capabilities_are_declared_on_the_tool() -> None:
    assert declared(None).capabilities == {Capability.NETWORK}
    tool = create_function_tool("w", "Weather.", SCHEMA, echo, capabilities=frozenset({Capability.SHELL}))
    assert tool.capabilities == {Capability.SHELL}


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "é", "a/b"])
def test_a_name_that_providers_refuse_is_refused(name: str) -> None:
    with pytest.raises(ToolDefinitionError, match="is not a tool name"):
        create_function_tool(name, "Weather.", SCHEMA, echo)


def test_an_empty_description_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="needs a description"):
        create_function_tool("w", "  ", SCHEMA, echo)


class Shifting:
    """A tool whose before-state changes under it a number of times."""

    def __init__(self, changes: int) -> None:
        self.changes = changes
        self.steps: list[str] = []

    def tool(self) -> FunctionTool:
        async def prepare(_arguments: Weather, _context: ToolContext) -> Plan:
            self.steps.append("prepare")
            plan = Plan()
            plan.resources.callback(self.steps.append, "close")
            return plan

        async def commit(_plan: Plan, _context: ToolContext) -> InvocationResult:
            if self.changes:
                self.changes -= 1
                raise PlanOutdatedError("a.txt changed.")
            self.steps.append("commit")
            return InvocationResult(success=True)

        return create_builtin_tool(
            name="W", description="W.", model=Weather, prepare=prepare, commit=commit, capabilities=frozenset()
        )


@pytest.mark.contract("T12", "E2")
async def test_a_call_starts_over_when_its_before_state_changed() -> None:
    shifting = Shifting(changes=1)
    assert (await shifting.tool().execute({"city": "x"})).success
    assert shifting.steps == ["prepare", "close", "prepare", "commit", "close"]


@pytest.mark.contract("T12", "E2")
async def test_a_before_state_that_never_holds_still_ends_as_a_failure() -> None:
    shifting = Shifting(changes=99)
    result = await shifting.tool().execute({"city": "x"})
    assert not result.success
    assert "nothing was changed" in json.loads(result.data)["error"]
    assert shifting.steps == ["prepare", "close"] * COMMIT_ATTEMPTS


class Unwritable(BaseModel):
    ask: Callable[[], str]


@pytest.mark.contract("T1")
@pytest.mark.parametrize(
    ("model", "why"),
    [
        (Weather(city="Oslo"), "not an instance of Weather"),
        ({"type": "object"}, "create_function_tool takes a JSON Schema"),
        (dict, "not <class 'dict'>"),
        (list[int], r"not list\[int\]"),
        (None, "not None"),
        (Unwritable, "the model has no JSON Schema: .*Callable"),
    ],
)
def test_what_is_no_usable_model_is_refused_at_construction(model: Any, why: str) -> None:
    with pytest.raises(ToolDefinitionError, match=f"w: .*{why}"):
        create_pydantic_tool("w", "Weather.", model, echo)
