"""Every set that can be assembled: what is in it, and that its descriptions are true of that very set (T8, X5)."""

from __future__ import annotations

import functools
import itertools
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.sandbox.memory_client import InMemorySandboxClient
from openbuffer.tools import Capability, FunctionTool, ToolDefinitionError, create_function_tool
from openbuffer.tools.adapters.artifact_memory import InMemoryArtifactStore
from openbuffer.tools.adapters.asks import InMemoryAsks
from openbuffer.tools.adapters.brave_search import BraveSearch
from openbuffer.tools.adapters.computer_memory import InMemoryComputerDriver
from openbuffer.tools.adapters.task_memory import InMemoryTaskStore
from openbuffer.tools.builtin.web_search import create_web_search_tool
from openbuffer.tools.config import ToolConfig, build_tools
from openbuffer.tools.defaults import create_default_tools
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.search_provider import SearchAbilities
from openbuffer.tools.support.http_guard_settings import WebSettings
from openbuffer.tools.support.shells import Shell

from .command_desk import Pretence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openbuffer.tools import CancellationToken, UrlTarget
    from openbuffer.tools.retrieval.port import RetrievalQuery, RetrievalResult
    from openbuffer.tools.search_provider import SearchAnswer, SearchRequest

SHELL = Shell(name="bash", program="/bin/bash", system="Linux")
CHANGING = ["Write", "Edit", "Delete"]
SEARCHING = ["ListDir", "Glob", "Grep"]
RETRIEVING = ["CodebaseRetrieval"]
RUNNING = ["Shell", "Bash"]
OUTSIDE = ["WebFetch", "WebSearch", "AskUserQuestion", "ComputerView", "Computer"]
"""What reaches the web, the user and a computer that is driven, where ports for that are given."""

ON_TASKS = ["TaskCreate", "TaskUpdate", "TaskList"]
SHIPPED = ["Read", *CHANGING, *SEARCHING, *RETRIEVING, *RUNNING, *OUTSIDE, *ON_TASKS, "ToolSearch"]
POLICY = ("always", "never use", "prefer", "must", "should", "before you", "important", "you ", "instead of", "please")
"""Words that tell a model how to work. A description tells how the tool works."""


def lookup(*, deferred: bool = False, name: str = "lookup") -> FunctionTool:
    schema = {"type": "object", "properties": {}}
    return create_function_tool(name, "Looks up.", schema, lambda arguments: arguments, deferred=deferred)


def no_editor() -> None:
    """An editor can be attached, and none is."""


class Limited:
    """A provider of searches that cannot do much."""

    def __init__(self, abilities: SearchAbilities) -> None:
        self.name = "Limited"
        self.abilities = abilities

    def targets(self, request: SearchRequest) -> tuple[UrlTarget, ...]:
        raise AssertionError(f"nobody searches for {request}")

    async def search(self, request: SearchRequest) -> SearchAnswer:
        raise AssertionError(f"nobody searches for {request}")


class Unasked:
    """An adapter of code bases that nobody asks."""

    async def roots(self, token: CancellationToken) -> tuple[str, ...]:
        raise AssertionError(f"nobody asks for roots with {token}")

    async def retrieve(self, query: RetrievalQuery) -> RetrievalResult:
        raise AssertionError(f"nobody asks for {query}")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One combination of the options that change what there is, or what is told of it."""

    writes: bool
    commands: bool
    sandbox: str
    editor: bool
    tasks: bool
    artifacts: bool
    own: str
    outside: bool
    more: dict[str, Any] = field(default_factory=dict[str, Any])

    def config(self) -> ToolConfig:
        sandboxes = {"none": None, "shared": Pretence(), "separate": InMemorySandboxClient()}
        own = {"none": (), "resident": (lookup(),), "deferred": (lookup(deferred=True),)}
        return ToolConfig(
            roots=("/w",),
            writes=self.writes,
            commands=self.commands,
            sandbox=sandboxes[self.sandbox],
            editor=no_editor if self.editor else None,
            tasks=InMemoryTaskStore() if self.tasks else None,
            artifacts=InMemoryArtifactStore() if self.artifacts else None,
            tools=own[self.own],
            shell=SHELL,
            web=WebSettings() if self.outside else None,
            web_search=BraveSearch(api_key="key") if self.outside else None,
            ask=InMemoryAsks() if self.outside else None,
            computer=InMemoryComputerDriver() if self.outside else None,
            retrieval=Unasked() if self.outside else None,
            **self.more,
        )

    def expected(self) -> list[str]:
        names = ["Read"]
        names += CHANGING if self.writes else []
        names += SEARCHING if self.sandbox != "separate" else []
        names += RETRIEVING if self.sandbox != "separate" and self.outside else []
        names += RUNNING if self.commands else []
        names += OUTSIDE if self.outside else []
        names += ON_TASKS if self.tasks else []
        names += ["lookup"] if self.own != "none" else []
        names += ["ToolSearch"] if self.own == "deferred" else []
        return names


def choices(**more: Any) -> Iterator[Choice]:
    both = (False, True)
    for values in itertools.product(
        both, both, ("none", "shared", "separate"), both, both, both, ("none", "resident", "deferred"), both
    ):
        names = ("writes", "commands", "sandbox", "editor", "tasks", "artifacts", "own", "outside")
        yield Choice(**dict(zip(names, values, strict=True)), more=more)  # type: ignore[arg-type]


def all_sets() -> Iterator[tuple[FunctionTool, ...]]:
    """Every set of the configuration, and every default tier."""
    yield from (build_tools(choice.config()) for choice in choices())
    for sandbox, editor in itertools.product((None, Pretence(), InMemorySandboxClient()), (None, no_editor)):
        yield create_default_tools(cwd="/w", sandbox=sandbox, editor=editor)
    for provider in (None, Limited(SearchAbilities()), Limited(SearchAbilities(max_page=2, languages=True))):
        yield (create_web_search_tool(provider=provider),)


def told(tool: FunctionTool) -> list[str]:
    """The description, and those of the arguments."""
    return [tool.description, *(str(each["description"]) for each in tool.input_schema["properties"].values())]


def clauses(tool: FunctionTool) -> Iterator[str]:
    """What is promised, one thing at a time, as promises.txt has it. The text of an argument is one."""
    description, *arguments = (re.sub(r"\d+", "N", text) for text in told(tool))
    description = re.sub(r"with \S+ on \S+ \(/\S+\)", "with SHELL", description)
    yield from [*re.split(r"(?<=[.;:]) ", description), *arguments]


def promises() -> dict[str, str]:
    """Clause -> the test that holds it, as ``file::name``."""
    held: dict[str, str] = {}
    test = ""
    for line in (Path(__file__).parent / "promises.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            assert line.strip() not in held, f"twice: {line}"
            held[re.sub(r"\d+", "N", line.strip())] = test
        elif line and not line.startswith("#"):
            test = line
    return held


@pytest.mark.contract("X5", "S4", "X6")
def test_each_combination_of_options_has_exactly_its_tools_in_one_order() -> None:
    combinations = list(choices())
    assert len(combinations) == 576
    for choice in combinations:
        tools = build_tools(choice.config())
        assert [tool.name for tool in tools] == choice.expected(), choice
        executor = create_tool_executor(choice.config())
        resident = [name for name in choice.expected() if not (name == "lookup" and choice.own == "deferred")]
        assert [tool.name for tool in executor.tools] == resident, choice


@pytest.mark.contract("T8")
def test_a_sibling_is_named_only_where_it_is_in_the_set() -> None:
    named: set[str] = set()
    for tools in all_sets():
        there = {tool.name for tool in tools}
        for tool in tools:
            for name in siblings(tool.name, tuple(told(tool))):
                assert name in there, f"{tool.name} names {name}, which is not among {sorted(there)}"
                named.add(name)
    assert named == {"Read", "Write", "Edit", "Shell", "Bash", "ComputerView"}


@functools.cache
def siblings(own: str, texts: tuple[str, ...]) -> frozenset[str]:
    """The names of other tools in these texts."""
    names = set(SHIPPED) - {own}
    return frozenset(name for name in names if any(re.search(rf"\b{name}\b", text) for text in texts))


@pytest.mark.contract("T8")
def test_what_is_told_is_mechanism_and_no_way_of_working() -> None:
    for text in {text.lower() for tools in all_sets() for tool in tools for text in told(tool)}:
        for words in POLICY:
            assert words not in text, f"{words!r} in: {text}"


@pytest.mark.contract("T8")
def test_each_clause_of_each_description_has_a_test_that_holds_it() -> None:
    promised = {
        (tool.name, clause)
        for tools in all_sets()
        for tool in tools
        for clause in clauses(tool)
        if tool.name in SHIPPED
    }
    assert len(promised) > 150
    held = promises()
    assert sorted(f"{name}: {clause}" for name, clause in promised if clause not in held) == []
    assert sorted(set(held) - {clause for _, clause in promised}) == []


@pytest.mark.contract("T8")
def test_the_tests_of_that_table_exist() -> None:
    from .test_requirements import requirements

    assert sorted(set(promises().values()) - requirements.test_names()) == []


@pytest.mark.contract("T8", "X5")
def test_a_description_of_ones_own_stands_as_it_is_in_every_set() -> None:
    mine = {name: f"  {name}, mine: always Grep first.\n" for name in SHIPPED}
    for choice in choices(descriptions=mine):
        for tool in build_tools(choice.config()):
            assert tool.description == mine.get(tool.name, "Looks up."), choice


@pytest.mark.contract("T10")
def test_every_tool_of_ours_declares_what_it_can_do_and_the_protocol_of_its_results() -> None:
    declared = {tool.name: tool.capabilities for tools in all_sets() for tool in tools if tool.name != "lookup"}
    read, write, session = (
        frozenset({each}) for each in (Capability.FILE_READ, Capability.FILE_WRITE, Capability.SESSION)
    )
    assert declared == {
        **dict.fromkeys(["Read", *SEARCHING, *RETRIEVING], read),
        **dict.fromkeys(["Write", "Delete"], write),
        "Edit": read | write,
        **dict.fromkeys(RUNNING, frozenset({Capability.SHELL})),
        **dict.fromkeys([*ON_TASKS, "ToolSearch"], session),
        **dict.fromkeys(["WebFetch", "WebSearch"], frozenset({Capability.NETWORK})),
        "AskUserQuestion": frozenset({Capability.ASK_USER}),
        "ComputerView": frozenset({Capability.SCREEN_READ}),
        "Computer": frozenset({Capability.COMPUTER}),
    }
    assert all(tool.declares_invocation for tools in all_sets() for tool in tools if tool.name != "lookup")


@pytest.mark.contract("X5")
@pytest.mark.parametrize(
    ("tools", "double"),
    [
        ((lookup(), lookup()), "lookup"),
        ((lookup(name="Read"),), "Read"),
        ((lookup(name="TaskList"),), "TaskList"),
        ((lookup(name="ToolSearch"), lookup(deferred=True)), "ToolSearch"),
    ],
)
def test_two_tools_of_one_name_are_refused_when_they_are_put_together(
    tools: tuple[FunctionTool, ...], double: str
) -> None:
    config = ToolConfig(roots=("/w",), tasks=InMemoryTaskStore(), tools=tools)
    with pytest.raises(ToolDefinitionError, match=f"two tools are named {double}; names must be unique"):
        create_tool_executor(config)


@pytest.mark.contract("X5", "T2", "T4")
async def test_a_tool_of_ones_own_goes_through_the_whole_pipeline() -> None:
    executor = create_tool_executor(ToolConfig(roots=("/w",), tools=(lookup(),)))
    result = await executor.call("lookup", {"anything": 1})
    assert (result.success, result.data) == (True, {"anything": 1})
