"""ToolSearch: finds deferred tools by words or by exact names, and loads them for the rest of the session (W4).

The same catalog and the same query always give the same tools in the same order, whatever was loaded before.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..catalog import TOOL_SEARCH
from ..contract import Capability, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..errors import ToolFailure
from ..limits import (
    TOOL_SEARCH_MAX_LOADED,
    TOOL_SEARCH_MAX_NAMES,
    TOOL_SEARCH_MAX_WORDS,
    TOOL_SEARCH_OUTPUT_MAX_BYTES,
    TOOL_SEARCH_QUERY_MAX_CHARS,
    TOOL_SEARCH_TEXT_MAX_CHARS,
)
from ..support.blocking import run_blocking
from ..support.json_line import json_line
from ..support.left_out import counted
from ..support.located import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

    from ..contract import CancellationToken
    from ..ports import DeferredToolCatalog
    from ..schema import ToolSchema

_MOST_NAMED: Final = 50
_DESCRIPTION_SHOWN_CHARS: Final = 500


class ToolSearchInput(BaseModel):
    """Arguments of ToolSearch."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(
        "", max_length=TOOL_SEARCH_QUERY_MAX_CHARS, description="Words to look for; not together with names."
    )
    names: list[str] = Field(
        default_factory=list[str],
        max_length=TOOL_SEARCH_MAX_NAMES,
        description="Exact names of the tools to load; not together with query.",
    )

    @model_validator(mode="after")
    def _refuse_none_and_both(self) -> Self:
        if bool(self.query.strip()) == bool(self.names):
            given = "both are" if self.names else "neither is"
            raise ValueError(f"give either query or names; {given} given")
        return self


def with_tool_search(tools: Sequence[FunctionTool], *, description: str | None = None) -> tuple[FunctionTool, ...]:
    """The tools, and ToolSearch after them where one of them is deferred."""
    deferred = [tool.name for tool in tools if tool.deferred]
    if not deferred:
        return tuple(tools)
    return (*tools, create_tool_search_tool(deferred=deferred, description=description))


def create_tool_search_tool(*, deferred: Iterable[str] = (), description: str | None = None) -> FunctionTool:
    """Build the ToolSearch tool. It works on the catalog of each call's context, and refuses to run without one.

    ``deferred`` are the names of the tools that it can load, for its description, which tells the first of them.
    """

    async def prepare(parsed: ToolSearchInput, context: ToolContext) -> Plan:
        catalog = context.deferred
        if catalog is None:
            raise ToolFailure(
                "this session has no catalog of deferred tools, so nothing was searched and nothing was loaded; only "
                "the tools that are listed can be called."
            )
        found = await run_blocking(context.cancellation, lambda: _found(catalog, parsed, context.cancellation))
        settled = None if found.matches else InvocationResult(success=True, output=_nothing(found))
        return Plan(settled=settled, state=found)

    return create_builtin_tool(
        name=TOOL_SEARCH,
        description=description if description is not None else _description(sorted(deferred)),
        model=ToolSearchInput,
        prepare=prepare,
        commit=_commit,
        capabilities=frozenset({Capability.SESSION}),
    )


def _description(deferred: Sequence[str]) -> str:
    named = f" Deferred here: {_listed(deferred)}." if deferred else ""
    return (
        "Loads deferred tools, which cannot be called before that and can be for the rest of the session, and returns "
        "name, description and input schema of each as JSON. `names` are exact names; with one that no deferred tool "
        f"has, the call fails and loads nothing. `query` is words, of which the first {TOOL_SEARCH_MAX_WORDS} count: a "
        "tool is found that has one of them, in upper or lower case and as a part of a word too, in its name, its "
        "description, or the names and descriptions of its parameters (of these two texts, in the first "
        f"{TOOL_SEARCH_TEXT_MAX_CHARS} characters). The tool whose name is the query comes first, then those with more "
        "of the words; among these a word in the name counts most, one in the description next, one in the parameters "
        f"last, and ties are by name. The first {TOOL_SEARCH_MAX_LOADED} are loaded, further ones are named.{named}"
    )


# --- finding -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a call is about: the tools to load, the names of others that were found, and how many there are at all."""

    catalog: DeferredToolCatalog
    matches: Sequence[ToolSchema]
    others: Sequence[str] = ()
    all_names: Sequence[str] = ()


def _found(catalog: DeferredToolCatalog, parsed: ToolSearchInput, token: CancellationToken) -> _Found:
    schemas = catalog.schemas()
    all_names = sorted(schema.name for schema in schemas)
    if parsed.names:
        return _Found(catalog=catalog, matches=_by_name(schemas, parsed.names), all_names=all_names)
    ranked = _ranked(schemas, parsed.query, token)
    return _Found(
        catalog=catalog,
        matches=ranked[:TOOL_SEARCH_MAX_LOADED],
        others=[schema.name for schema in ranked[TOOL_SEARCH_MAX_LOADED:]],
        all_names=all_names,
    )


def _by_name(schemas: Sequence[ToolSchema], names: Sequence[str]) -> list[ToolSchema]:
    known = {schema.name: schema for schema in schemas}
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    if unknown:
        shown = ", ".join(printable(repr(name[:80])) for name in unknown)
        raise ToolFailure(
            f"no deferred tool is named {shown}; nothing was loaded. A tool that is listed needs no loading; look for "
            "others by query."
        )
    return [known[name] for name in dict.fromkeys(names)]


def _ranked(schemas: Sequence[ToolSchema], query: str, token: CancellationToken) -> list[ToolSchema]:
    words = list(dict.fromkeys(re.findall(r"\w+", _folded(query))))[:TOOL_SEARCH_MAX_WORDS]
    wanted = " ".join(_folded(query).split())
    ranked: list[tuple[tuple[bool, int, int, str], ToolSchema]] = []
    for schema in schemas:
        if token.cancelled:
            return []  # nobody waits for the answer any more
        rank = _rank(schema, wanted, words)
        if rank is not None:
            ranked.append((rank, schema))
    return [schema for _, schema in sorted(ranked, key=lambda each: each[0])]


def _rank(schema: ToolSchema, wanted: str, words: Sequence[str]) -> tuple[bool, int, int, str] | None:
    """What tools are sorted by, or None for one that was not found."""
    name = _folded(schema.name)
    places = (name, _folded(schema.description), _folded(_parameter_text(schema.input_schema)))
    at = [next((place for place, text in enumerate(places) if word in text), None) for word in words]
    hits = [place for place in at if place is not None]
    is_exact = name == wanted
    return (not is_exact, -len(hits), sum(hits), schema.name) if hits or is_exact else None


def _folded(text: str) -> str:
    """The beginning of a text as it is compared: without case, compatible forms as one, and a name's words apart."""
    text = unicodedata.normalize("NFKC", text[:TOOL_SEARCH_TEXT_MAX_CHARS]).casefold()
    return text.replace("_", " ").replace("-", " ")


def _parameter_text(schema: Mapping[str, Any]) -> str:
    """Names and descriptions of the parameters, each on a line, as far as they are searched."""
    parts: list[str] = []
    room = TOOL_SEARCH_TEXT_MAX_CHARS
    for name, parameter in cast("dict[str, object]", schema.get("properties", {})).items():
        told: object = cast("dict[str, object]", parameter).get("description") if isinstance(parameter, dict) else None
        for text in (name, told):
            if isinstance(text, str) and room > 0:
                parts.append(text[:room])
                room -= len(text) + 1
        if room <= 0:
            break
    return "\n".join(parts)


# --- loading and telling -------------------------------------------------------------------------------------------


async def _commit(plan: Plan, _context: ToolContext) -> InvocationResult:
    found: _Found = plan.state
    found.catalog.load([schema.name for schema in found.matches])
    return InvocationResult(success=True, output="\n".join(_lines(found)))


def _lines(found: _Found) -> list[str]:
    loaded = counted(len(found.matches), "tool is loaded and", "tools are loaded and")
    lines = [f"{loaded} can be called for the rest of the session:"]
    left = TOOL_SEARCH_OUTPUT_MAX_BYTES
    for schema in found.matches:
        told = {"name": schema.name, "description": schema.description}
        line = json_line({**told, "inputSchema": schema.input_schema})
        size = len(line.encode())
        if size > left:
            told["description"] = schema.description[:_DESCRIPTION_SHOWN_CHARS]
            told["notShown"] = f"the rest, {size} bytes with the input schema; the list of tools has it"
            line = json_line(told)
            size = len(line.encode())
        left = max(left - size, 0)
        lines.append(line)
    if found.others:
        other = counted(len(found.others), "other deferred tool has", "other deferred tools have")
        lines.append(f"{other} some of the words and were not loaded: {_listed(found.others)}. `names` loads by name.")
    return lines


def _nothing(found: _Found) -> str:
    if not found.all_names:
        return "No tool is deferred; nothing was loaded."
    there = counted(len(found.all_names), "deferred tool is", "deferred tools are")
    return f"No deferred tool has any of these words; nothing was loaded. {there} there: {_listed(found.all_names)}."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
