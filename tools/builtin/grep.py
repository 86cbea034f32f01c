"""Grep: the lines or files below a directory that a pattern matches, searched by a process that can be killed (F8).

The pattern is of one dialect whatever engine searches; ``support/grep/dialect.py`` has all of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from ..contract import Capability, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..errors import PathRefusedError, PlanOutdatedError, ToolFailure
from ..limits import (
    GREP_CONTEXT_MAX_LINES,
    GREP_DEFAULT_HEAD,
    GREP_FILE_MAX_BYTES,
    GREP_MAX_HEAD,
    GREP_OUTPUT_MAX_BYTES,
    GREP_TIMEOUT_S,
    LINE_MAX_CHARS,
)
from ..support.admitted import admitted_plan
from ..support.blocking import run_blocking
from ..support.descriptor_path import LISTING_FLAGS
from ..support.editor_note import editor_note
from ..support.glob_pattern import GlobPattern
from ..support.grep.dialect import read_pattern
from ..support.grep.isolation import Searches
from ..support.grep.order import Answer, EngineName, Order
from ..support.grep.ripgrep import find_ripgrep
from ..support.located import why_unread
from ..support.near_names import near_names
from ..support.paths import CwdInput, Roots, printable
from ..support.search_start import EDITOR_SENTENCE, as_no_path_was_given, named_on_the_way, unreadable_below

if TYPE_CHECKING:
    from openbuffer.editor_access.port import EditorProvider

    from ..contract import CancellationToken, Unreadable
    from ..support.located import Located


class GrepInput(BaseModel):
    """Arguments of Grep."""

    model_config = ConfigDict(extra="forbid")

    pattern: str = Field(min_length=1, description="Regular expression to search for.")
    path: str = Field("", description="Absolute path of the directory or file to search; the first root if left out.")
    glob: str = Field(
        "",
        description="Which files to search, such as *.py or src/**/*.{ts,tsx}, relative to the directory; without a "
        "slash it is about names at any depth.",
    )
    output_mode: Literal["files_with_matches", "content", "count"] = Field(
        "files_with_matches",
        alias="outputMode",
        description="files_with_matches lists paths, content shows the matching lines with their numbers, count tells "
        "for each file how many lines match.",
    )
    context_lines: int = Field(
        0,
        alias="contextLines",
        ge=0,
        le=GREP_CONTEXT_MAX_LINES,
        description="With content: how many lines to show before and behind each matching line.",
    )
    head_limit: int = Field(
        GREP_DEFAULT_HEAD,
        alias="headLimit",
        ge=1,
        le=GREP_MAX_HEAD,
        description="How many files, or with content matching lines, to show at most.",
    )
    case_insensitive: bool = Field(False, alias="caseInsensitive", description="Whether to ignore the case of letters.")
    multiline: bool = Field(False, description="Whether a match may reach across lines.")
    respect_gitignore: bool = Field(
        True,
        alias="respectGitignore",
        description="Whether to leave out what .gitignore and other ignore files name.",
    )


def create_grep_tool(
    *,
    cwd: CwdInput,
    editor: EditorProvider | None = None,
    max_file_bytes: int = GREP_FILE_MAX_BYTES,
    max_output_bytes: int = GREP_OUTPUT_MAX_BYTES,
    timeout_s: float = GREP_TIMEOUT_S,
    engine: EngineName | None = None,
    description: str | None = None,
) -> FunctionTool:
    """Build the Grep tool for one root or several.

    ``editor`` is asked at every call for the editor that is attached then: the disk is searched all the same, and the
    answer says so. A file of more than ``max_file_bytes`` is left out; ``max_output_bytes`` bounds what is shown,
    ``timeout_s`` the search. ``engine``: None takes ripgrep for large trees where there is one, "own" never does,
    "ripgrep" does for all directories.

    Calling it raises GrepIsolationError for a search that did not come to its end.

    Raises:
        ToolDefinitionError: ``cwd`` is empty, relative or no path.
    """
    roots = Roots(cwd)
    searches = Searches(timeout_s)

    async def prepare(parsed: GrepInput, context: ToolContext) -> Plan:
        async def fill(located: Located, plan: Plan) -> None:
            await _check(parsed, located, context)
            hidden = unreadable_below(located, context)
            plan.state = _Search(
                roots, parsed, located, editor, searches, max_file_bytes, max_output_bytes, engine, hidden
            )

        return await admitted_plan(
            lambda: roots.locate(parsed.path or roots.first), (Capability.FILE_READ,), context, fill
        )

    return create_builtin_tool(
        name="Grep",
        description=description if description is not None else _description(max_file_bytes, max_output_bytes, editor),
        model=GrepInput,
        prepare=prepare,
        commit=_commit,
        capabilities=frozenset({Capability.FILE_READ}),
    )


def _description(max_file_bytes: int, max_output_bytes: int, editor: EditorProvider | None) -> str:
    document = EDITOR_SENTENCE if editor else ""
    return (
        "Searches the text of files below a directory, or of one file, for a regular expression, and lists by path "
        "what matches. A match lies within one line unless multiline is set. The dialect is that of ripgrep, except "
        "that `{` where no number follows is a brace, that look-around and back-references work, that `$` also stands "
        "before the carriage return of a line end, and that what other dialects read differently is refused with a "
        "reason. Files in UTF-8 and, with a byte-order mark, UTF-16 are text; binary files and what links lead to are "
        f"not searched, and files of more than {max_file_bytes} bytes are not shown. Directories named .git and "
        "node_modules are left out unless path or glob has that name in it; what ignore files such as .gitignore name "
        "is left out unless respectGitignore is false. The output says how much matches, how much of that is shown, "
        "and what was left out for which reason. A line of more than "
        f"{LINE_MAX_CHARS} characters is cut and its length told; at most "
        f"{max_output_bytes} bytes are shown. {document}A relative path starts at the first root."
    )


@dataclass(frozen=True, slots=True)
class _Search:
    """What a plan of Grep holds."""

    roots: Roots
    parsed: GrepInput
    located: Located
    editor: EditorProvider | None
    searches: Searches
    max_file_bytes: int
    max_output_bytes: int
    engine: EngineName | None
    unreadable: Unreadable | None


async def _check(parsed: GrepInput, located: Located, context: ToolContext) -> None:
    """Refuse what cannot be searched, and patterns that are none, before anything is started."""
    await run_blocking(context.cancellation, lambda: _check_patterns(parsed))
    if located.kind == "missing":
        raise PathRefusedError(
            f"no such file or directory: {printable(located.path)} (root {printable(located.root)}). Check the path; a "
            f"relative one starts at the first root.{await near_names(located, context)}"
        )
    if located.kind != "directory":
        located.require_file()


def _check_patterns(parsed: GrepInput) -> None:
    read_pattern(parsed.pattern, ignore_case=parsed.case_insensitive, multiline=parsed.multiline)
    if parsed.glob:
        GlobPattern(parsed.glob, anywhere=True)


async def _commit(plan: Plan, context: ToolContext) -> InvocationResult:
    search: _Search = plan.state
    answer = await run_blocking(context.cancellation, lambda: _answer(search, context.cancellation))
    if answer.failure:
        raise ToolFailure(f"{printable(search.located.path)}: {answer.failure}")
    lines = [_header(search, answer)]
    if answer.body:
        lines.append(answer.body)
    if answer.left_out:
        lines += ["Not searched:", *(f"- {reason}" for reason in answer.left_out)]
    if note := editor_note(search.editor, _directory(search.located), search.unreadable):
        lines.append(note)
    return InvocationResult(success=True, output="\n".join(lines))


def _directory(located: Located) -> str:
    return located.path if located.kind == "directory" else os.path.dirname(located.path)


def _answer(search: _Search, token: CancellationToken) -> Answer:
    located = search.located
    if located.kind != "directory":
        return search.searches.run(_order(search), located.require_file(), token)
    try:
        descriptor = os.open(located.name or ".", LISTING_FLAGS, dir_fd=located.anchor_fd)
    except OSError as error:
        raise ToolFailure(f"{printable(located.path)}: cannot be searched {why_unread(error)}.") from error
    try:
        if located.status is None or not os.path.samestat(os.fstat(descriptor), located.status):
            raise PlanOutdatedError(f"{printable(located.path)}: was moved or replaced since the call began.")
        return search.searches.run(_order(search), descriptor, token)
    finally:
        os.close(descriptor)


def _order(search: _Search) -> Order:
    parsed, located = search.parsed, search.located
    names = GlobPattern(parsed.glob, anywhere=True).names if parsed.glob else ()
    return Order(
        pattern=parsed.pattern,
        path=located.path,
        is_file=located.kind != "directory",
        named=tuple(sorted(named_on_the_way(located, names))),
        glob=parsed.glob,
        mode=parsed.output_mode,
        context=parsed.context_lines if parsed.output_mode == "content" else 0,
        head=parsed.head_limit,
        ignore_case=parsed.case_insensitive,
        multiline=parsed.multiline,
        ignoring=parsed.respect_gitignore,
        max_file_bytes=search.max_file_bytes,
        max_output_bytes=search.max_output_bytes,
        ripgrep=None if search.engine == "own" else find_ripgrep(search.roots.given),
        engine=search.engine,
        unreadable=[] if search.unreadable is None else search.unreadable.plain(),
    )


def _header(search: _Search, answer: Answer) -> str:
    parsed = search.parsed
    where = _where(search)
    pattern = printable(parsed.pattern)
    if not answer.files:
        looked = "" if answer.searched is None else f" ({_counted(answer.searched, 'file')} searched)"
        return f"No matches of {pattern} {where}{looked}."
    files = _counted(answer.files, "file")
    lines = _counted(answer.lines, "line")
    total = answer.files
    what = f"{files} {'matches' if total == 1 else 'match'}"
    if parsed.output_mode == "count":
        what = f"{lines} in {files} {'matches' if answer.lines == 1 else 'match'}"
    elif parsed.output_mode == "content":
        what = f"{lines} in {files} {'matches' if answer.lines == 1 else 'match'}"
        total = answer.lines
    cut = ""
    if answer.cut_by:
        bound = f"headLimit {parsed.head_limit}" if answer.cut_by == "head" else f"{search.max_output_bytes} bytes"
        unit = "lines" if parsed.output_mode == "content" else "files"
        cut = f"; the first {answer.shown} {unit} by path are shown, {total - answer.shown} are not ({bound})"
    return f"{what} {pattern} {where}{cut}:"


def _where(search: _Search) -> str:
    parsed, roots, located = search.parsed, search.roots, search.located
    where = f"{'below' if located.kind == 'directory' else 'in'} {printable(located.path)}"
    if parsed.glob:
        where = f"in files {printable(parsed.glob)} {where}"
    if not parsed.path:
        where += as_no_path_was_given(roots)
    return where


def _counted(number: int, word: str) -> str:
    return f"1 {word}" if number == 1 else f"{number} {word}s"
