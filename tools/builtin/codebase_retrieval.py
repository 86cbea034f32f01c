"""CodebaseRetrieval: the part of a code base that matters most for a question, as an adapter finds it (W5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from ..contract import Capability, FileTarget, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..limits import (
    RETRIEVAL_DEFAULT_TOKENS,
    RETRIEVAL_LEAST_TOKENS,
    RETRIEVAL_MAX_TOKENS,
    RETRIEVAL_NAMES_MAX,
    RETRIEVAL_QUERY_MAX_CHARS,
)
from ..retrieval.budget import estimated_tokens, lines_within
from ..retrieval.port import RetrievalQuery

if TYPE_CHECKING:
    from ..retrieval.port import RetrievalAdapter, RetrievalResult

_NOTES_SHARE: Final = 4
"""The part of the budget, one in so many, that is kept for what the answer says about itself."""

_HEADER_TOKENS: Final = 48
_CUT: Final = "- and more, for which the budget has no room"

_Name = Annotated[str, Field(min_length=1, max_length=1_000)]


class CodebaseRetrievalInput(BaseModel):
    """Arguments of CodebaseRetrieval."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(
        "", max_length=RETRIEVAL_QUERY_MAX_CHARS, description="What is looked for, in words or in names of the code."
    )
    identifiers: list[_Name] = Field(
        default_factory=list[str],
        max_length=RETRIEVAL_NAMES_MAX,
        description="Names of functions, types or other definitions that have to do with it.",
    )
    active_files: list[_Name] = Field(
        default_factory=list[str],
        alias="activeFiles",
        max_length=RETRIEVAL_NAMES_MAX,
        description="Absolute paths of files already in view: what they use ranks higher, and they are not shown.",
    )
    token_budget: int = Field(
        RETRIEVAL_DEFAULT_TOKENS,
        alias="tokenBudget",
        ge=RETRIEVAL_LEAST_TOKENS,
        le=RETRIEVAL_MAX_TOKENS,
        description="How many tokens the output may have at most, by an estimate.",
    )


def create_retrieval_tool(*, adapter: RetrievalAdapter, description: str | None = None) -> FunctionTool:
    """Build the CodebaseRetrieval tool; ``adapter`` decides which code base it is about and what matters in it.

    The usual description is that of ``RepoMapRetrievalAdapter``; an adapter that shows something else needs its own.
    """

    async def prepare(parsed: CodebaseRetrievalInput, context: ToolContext) -> Plan:
        roots = await adapter.roots(context.cancellation)
        plan = Plan(targets=tuple(FileTarget(path=root, access=Capability.FILE_READ) for root in roots))
        if plan.targets:
            await context.admit(plan.targets)
        plan.state = _Retrieval(adapter, parsed, roots)
        return plan

    return create_builtin_tool(
        name="CodebaseRetrieval",
        description=_DESCRIPTION if description is None else description,
        model=CodebaseRetrievalInput,
        prepare=prepare,
        commit=_commit,
        capabilities=frozenset({Capability.FILE_READ}),
    )


_DESCRIPTION: Final = (
    "Lists the definitions of the code base (functions, classes, types and the like) that matter most for a query, by "
    "file, each with its line number and the beginning of its text. They are ranked by how they refer to each other, "
    "starting from the query, the identifiers and the active files; definitions in active files are left out. Bodies "
    "are not shown. The output keeps within tokenBudget. It says how much was left out for lack of room, which files "
    "could not be parsed, and what else was not looked at."
)


@dataclass(frozen=True, slots=True)
class _Retrieval:
    """What a plan of CodebaseRetrieval holds."""

    adapter: RetrievalAdapter
    parsed: CodebaseRetrievalInput
    roots: tuple[str, ...]


async def _commit(plan: Plan, context: ToolContext) -> InvocationResult:
    retrieval: _Retrieval = plan.state
    parsed = retrieval.parsed
    for_notes = parsed.token_budget // _NOTES_SHARE
    for_map = parsed.token_budget - for_notes - _HEADER_TOKENS
    result = await retrieval.adapter.retrieve(
        RetrievalQuery(
            text=parsed.query,
            identifiers=tuple(parsed.identifiers),
            active_files=tuple(parsed.active_files),
            roots=retrieval.roots,
            max_tokens=for_map,
            unreadable=context.unreadable,
            token=context.cancellation,
            progress=context.progress,
        )
    )
    lines = lines_within(result.text.split("\n"), for_map) if result.text else []
    is_cut = len(lines) < len(result.text.split("\n"))  # by us: an adapter is trusted with nothing here
    header = _header(result, is_cut=is_cut, has_text=bool(lines))
    return InvocationResult(success=True, output="\n".join([header, *lines, *_notes(result, for_notes)]))


def _header(result: RetrievalResult, *, is_cut: bool, has_text: bool) -> str:
    files = "1 file" if result.files == 1 else f"{result.files} files"
    if not has_text:
        return f"Nothing found in {files}." if result.files else "Nothing found: there are no files that are parsed."
    if is_cut:
        return f"Of {files}, cut to the budget:"
    if result.shown < result.found:
        return f"{result.shown} of {result.found} definitions that have to do with it, in {files} (the budget is full):"
    return f"{result.shown} definitions that have to do with it, in {files}:"


def _notes(result: RetrievalResult, max_tokens: int) -> list[str]:
    """What the answer lacks, as far as there is room."""
    if not result.notes:
        return []
    whole = ["Not in it:", *(f"- {note}" for note in result.notes)]
    if len(lines_within(whole, max_tokens - 1)) == len(whole):
        return whole
    kept = whole[:1]
    left = max_tokens - 1 - estimated_tokens(whole[0]) - estimated_tokens(_CUT) - 1
    for line in whole[1:]:
        left -= estimated_tokens(line) + 1
        if left < 0:
            break
        kept.append(line)
    return [*kept, _CUT]
