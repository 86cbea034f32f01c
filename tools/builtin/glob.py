"""Glob: the files below one directory whose paths match a pattern, newest first, and what was not looked at.

Links are not followed and not listed, wherever they lead; how many match is told.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from ..contract import Capability, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..errors import PathRefusedError, ToolFailure
from ..limits import GLOB_DEFAULT_FILES, GLOB_MAX_FILES, GLOB_OUTPUT_MAX_BYTES
from ..support.admitted import admitted_plan
from ..support.blocking import run_blocking
from ..support.editor_note import editor_note
from ..support.glob_pattern import GlobPattern, is_absolute, literal_beginning, literally
from ..support.left_out import FirstNames, counted, left_out
from ..support.located import why_unread
from ..support.newest import Newest
from ..support.paths import CwdInput, Roots, printable
from ..support.search_start import (
    EDITOR_SENTENCE,
    as_no_path_was_given,
    named_on_the_way,
    no_such_directory,
    unreadable_below,
)
from ..support.walk import Slice, Walk

if TYPE_CHECKING:
    from openbuffer.editor_access.port import EditorProvider

    from ..contract import CancellationToken, Unreadable
    from ..support.located import Located


class GlobInput(BaseModel):
    """Arguments of Glob."""

    model_config = ConfigDict(extra="forbid")

    pattern: str = Field(
        description="Pattern of the paths, such as src/**/*.{ts,tsx}: relative to the directory that is searched, or "
        "absolute."
    )
    path: str = Field("", description="Absolute path of the directory to search; the first root if left out.")
    limit: int = Field(GLOB_DEFAULT_FILES, ge=1, le=GLOB_MAX_FILES, description="How many files to list at most.")
    respect_gitignore: bool = Field(
        True,
        alias="respectGitignore",
        description="Whether to leave out what .gitignore and other ignore files name.",
    )


def create_glob_tool(
    *,
    cwd: CwdInput,
    editor: EditorProvider | None = None,
    max_output_bytes: int = GLOB_OUTPUT_MAX_BYTES,
    description: str | None = None,
) -> FunctionTool:
    """Build the Glob tool for one root or several.

    ``editor`` is asked at every call for the editor that is attached then: the disk is searched all the same, and the
    answer says so. ``max_output_bytes`` bounds the list.

    Raises:
        ToolDefinitionError: ``cwd`` is empty, relative or no path.
    """
    roots = Roots(cwd)

    async def prepare(parsed: GlobInput, context: ToolContext) -> Plan:
        asked = _Asked(roots, parsed)

        async def fill(located: Located, plan: Plan) -> None:
            if located.kind != "directory":
                raise await _no_directory(located, context)
            pattern = await run_blocking(context.cancellation, asked.compiled)
            hidden = unreadable_below(located, context)
            plan.state = _Search(asked, located, pattern, editor, max_output_bytes, hidden)

        return await admitted_plan(asked.locate, (Capability.FILE_READ,), context, fill)

    return create_builtin_tool(
        name="Glob",
        description=description if description is not None else _description(max_output_bytes, editor),
        model=GlobInput,
        prepare=prepare,
        commit=_commit,
        capabilities=frozenset({Capability.FILE_READ}),
    )


def _description(max_output_bytes: int, editor: EditorProvider | None) -> str:
    document = EDITOR_SENTENCE if editor else ""
    return (
        "Lists the files below a directory whose paths match a pattern, as absolute paths, the last modified first and "
        "those modified at the same time by path. In the pattern `*` is any part of a name, a leading dot included, "
        "`?` one character, `[a-z]` and `[!a-z]` a class, `{a,b}` either, and `**` any number of directories; a "
        "backslash takes the next character as it is. A pattern without `**` and without a slash is about the "
        "directory itself. Directories and links are not listed, and links are not followed. Directories named .git "
        "and node_modules are left out unless path or pattern has that name in it; what ignore files name "
        "(.gitignore in a git repository, .ignore anywhere) is left out unless respectGitignore is false. The output "
        "says how many files match, which of them are listed, and what was left out for which reason. At most "
        f"{max_output_bytes} bytes of paths are listed. {document}A relative path starts at the first root."
    )


class _Asked:
    """A call's arguments, and the directory and pattern that they come to."""

    def __init__(self, roots: Roots, parsed: GlobInput) -> None:
        self.roots = roots
        self.parsed = parsed
        self._relative = parsed.pattern

    def locate(self) -> Located:
        """The directory to search. Blocks; raises as ``Roots.locate`` does."""
        parsed, roots = self.parsed, self.roots
        if not is_absolute(parsed.pattern) or "\0" in parsed.pattern:
            return roots.locate(parsed.path or roots.first)
        beginning, rest = literal_beginning(parsed.pattern)
        with roots.locate(beginning.rstrip("/") or "/") as base:
            start = roots.locate(parsed.path or base.root)
            inside = (base.path + "/").removeprefix(start.path.rstrip("/") + "/")
            if inside.startswith("/"):
                start.close()
                raise PathRefusedError(
                    f"pattern {printable(parsed.pattern)}: is absolute and not inside the path "
                    f"{printable(parsed.path)}; leave path out, or make the pattern relative to it."
                )
        self._relative = literally(inside) + rest
        return start

    def compiled(self) -> GlobPattern:
        """The pattern below that directory; raises ToolFailure for one that is none."""
        return GlobPattern(self._relative)


async def _no_directory(located: Located, context: ToolContext) -> PathRefusedError:
    shown = printable(located.path)
    if located.kind == "missing":
        return await no_such_directory(located, context)
    what = "file" if located.kind == "file" else located.kind
    return PathRefusedError(
        f"{shown}: is a {what}, and Glob searches directories. Name the directory that it is in, and put its name into "
        "the pattern."
    )


@dataclass(slots=True)
class _Search:
    """What a plan of Glob holds, and what the search has found so far."""

    asked: _Asked
    located: Located
    pattern: GlobPattern
    editor: EditorProvider | None
    max_output_bytes: int
    unreadable: Unreadable | None
    ignored: FirstNames = field(default_factory=FirstNames)
    ignored_directories: FirstNames = field(default_factory=FirstNames)
    links: FirstNames = field(default_factory=FirstNames)


async def _commit(plan: Plan, context: ToolContext) -> InvocationResult:
    search: _Search = plan.state
    output = await run_blocking(context.cancellation, lambda: _found(search, context.cancellation))
    if note := editor_note(search.editor, search.located.path, search.unreadable):
        output += f"\n{note}"
    return InvocationResult(success=True, output=output)


def _found(search: _Search, token: CancellationToken) -> str:
    parsed, located = search.asked.parsed, search.located
    newest = Newest(parsed.limit)
    walk = Walk(
        located,
        token,
        ignoring=parsed.respect_gitignore,
        named=named_on_the_way(located, search.pattern.names),
        selection=search.pattern.selection(),
        is_denied=search.unreadable,
    )
    try:
        with closing(walk.slices()) as slices:
            for part in slices:
                newest.take(part.path, part.files, part.fd)
                _note(search, part)
    except OSError as error:
        raise ToolFailure(f"{printable(located.path)}: cannot be searched {why_unread(error)}.") from error
    finally:
        located.close()
    return _words(search, walk, newest)


def _note(search: _Search, part: Slice) -> None:
    if part.ignored:
        search.ignored.add(part.path, part.ignored)
    if part.ignored_directories:
        search.ignored_directories.add(part.path, part.ignored_directories)
    if part.links:
        search.links.add(part.path, part.links)


def _words(search: _Search, walk: Walk, newest: Newest) -> str:
    listed = _listed(search, newest)
    lines = [_header(search, newest, len(listed)), *listed]
    if not newest.count:
        lines.append(_why_nothing(search, walk))
    reasons = left_out(
        walk.tally, ignored=search.ignored, ignored_directories=search.ignored_directories, links=search.links
    )
    if reasons:
        lines.append("Left out:")
        lines.extend(f"- {reason}" for reason in reasons)
    return "\n".join(lines)


def _listed(search: _Search, newest: Newest) -> list[str]:
    prefix = search.located.path.rstrip("/") + "/"
    lines: list[str] = []
    left = search.max_output_bytes
    for path in newest.paths():
        line = printable(prefix + path)
        left -= len(line.encode()) + 1
        if left < 0:
            break
        lines.append(line)
    return lines


def _header(search: _Search, newest: Newest, listed: int) -> str:
    parsed, roots = search.asked.parsed, search.asked.roots
    where = printable(search.located.path)
    if not parsed.path and not is_absolute(parsed.pattern):
        where += as_no_path_was_given(roots)
    found = f"{printable(parsed.pattern)} below {where}"
    if not newest.count:
        return f"No files match {found}."
    files = "1 file matches" if newest.count == 1 else f"{newest.count} files match"
    if listed == newest.count:
        return f"{files} {found}, newest first:"
    bound = f"limit {parsed.limit}" if listed == parsed.limit else f"at most {search.max_output_bytes} bytes of paths"
    older = counted(newest.count - listed, "older one is", "older ones are")
    return f"{files} {found}; the {listed} newest are listed, {older} not ({bound}):"


def _why_nothing(search: _Search, walk: Walk) -> str:
    tally = walk.tally
    looked = f"{counted(tally.entries, 'entry', 'entries')} in {counted(tally.directories, 'directory', 'directories')}"
    sentences = [f"Looked at {looked}."]
    if tally.matching_directories:
        what = counted(tally.matching_directories, "directory matches", "directories match")
        sentences.append(f"{what}; add /** to list what is in there.")
    elif not search.pattern.is_deep:
        sentences.append("A pattern that begins with **/ is about all directories below, too.")
    return " ".join(sentences)
