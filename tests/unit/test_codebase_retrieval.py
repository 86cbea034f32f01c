"""The tool: the port it is made of, its budget, what it says of what is missing, and the gate in front of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.sandbox.memory_client import InMemorySandboxClient
from openbuffer.tools import Capability, PermissionDeniedError, ToolArgumentError, ToolContext
from openbuffer.tools.adapters.tree_sitter_parser import TreeSitterParser
from openbuffer.tools.builtin.codebase_retrieval import create_retrieval_tool
from openbuffer.tools.config import ToolConfig, build_tools
from openbuffer.tools.errors import ToolFailure
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.permissions import Decision
from openbuffer.tools.retrieval.budget import estimated_tokens
from openbuffer.tools.retrieval.port import RetrievalQuery, RetrievalResult
from openbuffer.tools.retrieval.repo_map import RepoMapRetrievalAdapter

from .retrieval_desk import ToyParser

if TYPE_CHECKING:
    from openbuffer.tools import FunctionTool
    from openbuffer.tools.contract import CancellationToken
    from openbuffer.tools.permissions import PermissionRequest
    from openbuffer.tools.retrieval.port import RetrievalAdapter


ONE = RetrievalResult(text="a.py:\n1 def a", shown=1, found=1, files=1)


@dataclass
class Canned:
    """An adapter that answers the same whatever it is asked, and does not keep to the budget."""

    result: RetrievalResult = ONE
    where: tuple[str, ...] = ()
    queries: list[RetrievalQuery] = field(default_factory=list[RetrievalQuery])

    async def roots(self, token: CancellationToken) -> tuple[str, ...]:
        assert not token.cancelled
        return self.where

    async def retrieve(self, query: RetrievalQuery) -> RetrievalResult:
        self.queries.append(query)
        return self.result


def result_of(text: str, *notes: str, shown: int = 1, found: int = 1) -> RetrievalResult:
    return RetrievalResult(text=text, shown=shown, found=found, files=2, notes=notes)


async def output(adapter: RetrievalAdapter, **arguments: Any) -> str:
    result = await create_retrieval_tool(adapter=adapter).execute(arguments)
    assert result.invocation is not None
    assert result.success, result.invocation.error
    return result.invocation.output


@pytest.mark.contract("W5")
async def test_what_is_asked_comes_to_the_adapter_and_its_answer_is_shown() -> None:
    adapter = Canned(where=("/w",))
    shown = await output(adapter, query="how", identifiers=["a", "B.c"], activeFiles=["/w/x.py"], tokenBudget=500)
    assert shown == "1 definitions that have to do with it, in 1 file:\na.py:\n1 def a"
    (query,) = adapter.queries
    assert (query.text, query.identifiers, query.active_files, query.roots) == (
        "how",
        ("a", "B.c"),
        ("/w/x.py",),
        ("/w",),
    )
    assert 250 < query.max_tokens < 500


@pytest.mark.contract("W5")
async def test_the_header_tells_how_much_there_was() -> None:
    more = await output(Canned(result_of("a.py:\n1 def a", shown=1, found=9)))
    assert more.startswith("1 of 9 definitions that have to do with it, in 2 files (the budget is full):\na.py:")
    assert await output(Canned(result_of("", found=0))) == "Nothing found in 2 files."
    none = RetrievalResult(text="", shown=0, found=0, files=0)
    assert await output(Canned(none)) == "Nothing found: there are no files that are parsed."


@pytest.mark.contract("W5")
async def test_notes_say_what_is_not_in_it_and_are_cut_where_there_is_no_room() -> None:
    shown = await output(Canned(result_of("a.py:\n1 def a", "1 file that could not be parsed: b.py", "1 link")))
    assert shown.endswith("1 def a\nNot in it:\n- 1 file that could not be parsed: b.py\n- 1 link")
    cut = await output(Canned(result_of("a.py:\n1 def a", "first", *["word " * 30] * 20)))
    assert "Not in it:\n- first\n- word" in cut
    assert cut.endswith("\n- and more, for which the budget has no room")


@pytest.mark.contract("W5")
@given(
    st.lists(st.text(max_size=60), max_size=60), st.lists(st.text(max_size=200), max_size=20), st.integers(200, 16_000)
)
async def test_the_output_keeps_within_the_budget_whatever_the_adapter_does(
    lines: list[str], notes: list[str], budget: int
) -> None:
    adapter = Canned(result_of("\n".join(lines), *notes, found=99))
    assert estimated_tokens(await output(adapter, tokenBudget=budget)) <= budget


@pytest.mark.contract("W5")
async def test_an_answer_over_the_budget_is_cut_and_said_to_be() -> None:
    shown = await output(Canned(result_of("\n".join(["word"] * 10_000))), tokenBudget=200)
    assert shown.startswith("Of 2 files, cut to the budget:\nword\n")


@pytest.mark.parametrize(
    "arguments",
    [
        {"tokenBudget": 199},
        {"tokenBudget": 16_001},
        {"query": "x" * 4_001},
        {"identifiers": ["a"] * 101},
        {"identifiers": [""]},
        {"activeFiles": ["a"] * 101},
        {"nonsense": 1},
    ],
)
async def test_arguments_out_of_bounds_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolArgumentError):
        await create_retrieval_tool(adapter=Canned()).execute(arguments)


async def test_a_failure_of_the_adapter_is_an_ordinary_one() -> None:
    class Failing(Canned):
        async def retrieve(self, query: RetrievalQuery) -> RetrievalResult:
            raise ToolFailure(f"no index for {query.text}")

    result = await create_retrieval_tool(adapter=Failing()).execute({"query": "x"})
    assert (result.success, result.invocation and result.invocation.error) == (False, "no index for x")


@pytest.mark.contract("W5", "T8", "T10")
def test_it_reads_files_and_a_description_of_ones_own_is_taken() -> None:
    tool = create_retrieval_tool(adapter=Canned(), description="mine")
    assert (tool.name, tool.capabilities, tool.description) == ("CodebaseRetrieval", {Capability.FILE_READ}, "mine")


@pytest.mark.contract("X4", "W5")
async def test_the_gate_is_asked_about_the_roots_before_the_adapter_is_asked_anything() -> None:
    seen: list[tuple[str, Any]] = []

    async def admit(targets: Any) -> None:
        seen.extend((target.path, target.access) for target in targets)
        raise PermissionDeniedError("no")

    adapter = Canned(where=("/w", "/v"))
    with pytest.raises(PermissionDeniedError):
        await create_retrieval_tool(adapter=adapter).execute({}, ToolContext(admit=admit))
    assert (seen, adapter.queries) == ([("/w", Capability.FILE_READ), ("/v", Capability.FILE_READ)], [])


@pytest.mark.contract("X5", "S4", "W5")
def test_it_is_in_the_set_where_an_adapter_is_given_and_files_are_not_elsewhere() -> None:
    def names(**more: Any) -> list[str]:
        return [tool.name for tool in build_tools(ToolConfig(roots=("/w",), **more))]

    assert "CodebaseRetrieval" not in names()
    assert "CodebaseRetrieval" in names(retrieval=Canned())
    assert "CodebaseRetrieval" not in names(retrieval=Canned(), sandbox=InMemorySandboxClient())


class Deny:
    """Denies one directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = str(directory)

    def decide(self, request: PermissionRequest) -> Decision:
        inside = any(f"{target.path}/".startswith(f"{self._directory}/") for target in request.targets)
        return Decision("deny" if inside else "allow")


@pytest.mark.contract("W5", "X4")
async def test_through_the_pipeline_it_answers_about_real_code_and_a_denied_root_is_refused(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path)) / "ws"  # noqa: ASYNC240  a directory of the test's own
    root.mkdir()
    (root / "app.py").write_text("from shop import Cart\n\n\ndef main():\n    return Cart().total()\n")
    (root / "shop.py").write_text(
        "class Cart:\n    def total(self) -> int:\n        return 1\n\n\nclass Unrelated:\n    pass\n"
    )
    (root / "data.js").write_bytes(b"\xff\xfe" * 100)
    parser = TreeSitterParser()
    adapter = RepoMapRetrievalAdapter(roots=root, parser=parser)
    try:
        executor = create_tool_executor(ToolConfig(roots=(root,), retrieval=adapter))
        result = await executor.call("CodebaseRetrieval", {"query": "total", "activeFiles": [str(root / "app.py")]})
        assert result.invocation is not None
        assert result.invocation.output.split("\n")[1:4] == ["shop.py:", "1 class Cart", "2  def total(self) -> int"]
        denying = create_tool_executor(ToolConfig(roots=(root,), retrieval=adapter), policy=Deny(root))
        with pytest.raises(PermissionDeniedError):
            await denying.call("CodebaseRetrieval", {"query": "total"})
    finally:
        parser.close()


@pytest.mark.contract("W5")
async def test_a_call_that_indexes_many_files_tells_how_far_it_has_come(
    tmp_path: Path,
) -> None:
    root = Path(os.path.realpath(tmp_path)) / "ws"  # noqa: ASYNC240  a directory of the test's own
    root.mkdir()
    for number in range(120):
        (root / f"{number}.toy").write_text("def a")
        os.utime(root / f"{number}.toy", (1_000_000_000, 1_000_000_000))
    told: list[tuple[str, int | None]] = []

    class Told:
        def report(self, message: str, *, percentage: int | None = None) -> None:
            told.append((message, percentage))

    tool = create_retrieval_tool(adapter=RepoMapRetrievalAdapter(roots=root, parser=ToyParser()))
    assert (await tool.execute({"query": "a"}, ToolContext(progress=Told()))).success
    assert told == [
        ("50 of 120 new or changed files have been read", 41),
        ("100 of 120 new or changed files have been read", 83),
    ]


def tool_of(config: ToolConfig) -> FunctionTool:
    return next(tool for tool in build_tools(config) if tool.name == "CodebaseRetrieval")


def test_its_text_can_be_replaced_by_configuration() -> None:
    config = ToolConfig(roots=("/w",), retrieval=Canned(), descriptions={"CodebaseRetrieval": "Mine."})
    assert tool_of(config).description == "Mine."
