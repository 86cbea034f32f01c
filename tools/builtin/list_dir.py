"""ListDir: what is in a directory, or the tree below it.

The shallow listing shows everything, hidden and ignored names too. Where a directory holds nothing but one directory,
and that again, it goes down to where the ways part, and says so (F10). Links are listed and never followed.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, Field

from ..contract import Capability, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..errors import PathRefusedError, ToolFailure
from ..limits import LIST_DEFAULT_ENTRIES, LIST_MAX_ENTRIES, LIST_OUTPUT_MAX_BYTES
from ..support.admitted import admitted_plan
from ..support.blocking import run_blocking
from ..support.left_out import FirstNames, counted, left_out
from ..support.located import why_unread
from ..support.paths import CwdInput, Roots, printable
from ..support.search_start import as_no_path_was_given, named_on_the_way, no_such_directory, unreadable_below
from ..support.walk import PRUNED, Slice, Walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..contract import CancellationToken, Unreadable
    from ..support.located import Located

_CHAIN_MAX: Final = 32
_LINK_MAX_CHARS: Final = 300


class ListDirInput(BaseModel):
    """Arguments of ListDir."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field("", description="Absolute path of the directory; the first root if left out.")
    recursive: bool = Field(False, description="Whether to list the whole tree below it.")
    limit: int = Field(LIST_DEFAULT_ENTRIES, ge=1, le=LIST_MAX_ENTRIES, description="How many entries to list at most.")
    respect_gitignore: bool = Field(
        True,
        alias="respectGitignore",
        description="Whether a recursive listing leaves out what .gitignore and other ignore files name.",
    )


def create_list_dir_tool(
    *, cwd: CwdInput, max_output_bytes: int = LIST_OUTPUT_MAX_BYTES, description: str | None = None
) -> FunctionTool:
    """Build the ListDir tool for one root or several. ``max_output_bytes`` bounds the list.

    Raises:
        ToolDefinitionError: ``cwd`` is empty, relative or no path.
    """
    roots = Roots(cwd)

    async def prepare(parsed: ListDirInput, context: ToolContext) -> Plan:
        async def fill(located: Located, plan: Plan) -> None:
            if located.kind != "directory":
                raise await _no_directory(located, context)
            plan.state = _Listing(roots, located, parsed, max_output_bytes, unreadable_below(located, context))

        def locate() -> Located:
            return roots.locate(parsed.path or roots.first)

        return await admitted_plan(locate, (Capability.FILE_READ,), context, fill)

    return create_builtin_tool(
        name="ListDir",
        description=description if description is not None else _description(max_output_bytes),
        model=ListDirInput,
        prepare=prepare,
        commit=_commit,
        capabilities=frozenset({Capability.FILE_READ}),
    )


def _description(max_output_bytes: int) -> str:
    return (
        "Lists what is in a directory: files with their sizes, directories with a slash at the end, links with where "
        "they lead, other kinds by name; hidden and ignored names too. Sorted by name, files before directories. If a "
        "directory holds nothing but one directory, and so on, the first one below it that does not is listed, and the "
        "output says so. With recursive the tree below the directory is listed, indented, without what is inside of "
        "directories named .git and node_modules (unless path has that name in it) and, unless respectGitignore is "
        "false, without what ignore files such as .gitignore name; the output says what was left out. Links are not "
        f"followed. At most {max_output_bytes} bytes are listed, and how many entries there are is told. A relative "
        "path starts at the first root."
    )


@dataclass(slots=True)
class _Listing:
    """What a plan of ListDir holds."""

    roots: Roots
    located: Located
    parsed: ListDirInput
    max_output_bytes: int
    unreadable: Unreadable | None


async def _no_directory(located: Located, context: ToolContext) -> PathRefusedError:
    shown = printable(located.path)
    if located.kind == "missing":
        return await no_such_directory(located, context)
    if located.kind == "file":
        size = located.status.st_size if located.status else 0
        return PathRefusedError(
            f"{shown}: is a file of {_bytes(size)}, no directory; show it (Read, where that tool is offered)."
        )
    return PathRefusedError(f"{shown}: is a {located.kind}, no directory; there is nothing in it to list.")


async def _commit(plan: Plan, context: ToolContext) -> InvocationResult:
    listing: _Listing = plan.state
    return InvocationResult(
        success=True, output=await run_blocking(context.cancellation, lambda: _listed(listing, context.cancellation))
    )


def _listed(listing: _Listing, token: CancellationToken) -> str:
    try:
        return _tree(listing, token) if listing.parsed.recursive else _shallow(listing, token)
    except OSError as error:
        shown = printable(listing.located.path)
        raise ToolFailure(f"{shown}: cannot be listed {why_unread(error)}.") from error
    finally:
        listing.located.close()


# --- one directory -------------------------------------------------------------------------------------------------


def _shallow(listing: _Listing, token: CancellationToken) -> str:
    walk = Walk(
        listing.located,
        token,
        ignoring=False,
        named=PRUNED,
        is_denied=listing.unreadable,
        max_depth=_CHAIN_MAX,
        ordered=True,
    )
    lines = _Lines(listing)
    here, parts = "", 0
    with closing(walk.slices()) as slices:
        for part in slices:
            parts += 1
            here, only = part.path, _only_directory(part)
            if only is not None and parts < _CHAIN_MAX:
                continue  # listed only if it cannot be entered, or holds nothing that could be listed instead
            lines.take(part, "")
            break
        else:
            # The walk ended inside the chain: the last directory could not be read.
            return _broken_chain(listing, walk, here)
    return "\n".join([_header(listing, here, lines), *lines.lines, *_hidden(walk)])


def _hidden(walk: Walk) -> list[str]:
    """All that a shallow listing leaves out."""
    reasons = left_out(walk.tally, ignored=FirstNames(), ignored_directories=FirstNames(), links=None)
    return [f"Left out: {reason}" for reason in reasons] if walk.tally.hides else []


def _only_directory(part: Slice) -> str | None:
    if len(part.directories) != 1 or part.files or part.links or part.others:
        return None
    return part.directories[0]


def _header(listing: _Listing, here: str, lines: _Lines) -> str:
    where = _where(listing)
    entries = _entries(lines)
    if not here:
        return f"{where}: {entries}"
    full = printable(os.path.join(listing.located.path, here))
    return (
        f"{where}: holds nothing but {printable(here)}/, each directory with only the next one in it, which are taken "
        f"together; listed is the first that does not, {full}: {entries}"
    )


def _entries(lines: _Lines) -> str:
    total = lines.files + lines.directories + lines.rest
    if not total:
        return "empty"
    kinds = [
        counted(number, one, many)
        for number, one, many in (
            (lines.files, "file", "files"),
            (lines.directories, "directory", "directories"),
            (lines.rest, "link or other", "links and others"),
        )
        if number
    ]
    cut = "" if lines.listed == total else f"; the first {lines.listed:,} are listed ({lines.why_cut})"
    return f"{counted(total, 'entry', 'entries')} ({', '.join(kinds)}){cut}"


def _broken_chain(listing: _Listing, walk: Walk, here: str) -> str:
    unread = walk.tally.unread.named
    why = f"could not be read: {unread[0]}" if unread else "was gone when its turn came"
    inside = printable(os.path.join(listing.located.path, here)) if here else "it"
    return f"{_where(listing)}: 1 entry (1 directory). The one directory in {inside} {why}"


# --- the tree ------------------------------------------------------------------------------------------------------


def _tree(listing: _Listing, token: CancellationToken) -> str:
    located, parsed = listing.located, listing.parsed
    walk = Walk(
        located,
        token,
        ignoring=parsed.respect_gitignore,
        named=named_on_the_way(located),
        is_denied=listing.unreadable,
        ordered=True,
    )
    lines = _Lines(listing)
    ignored, ignored_directories = FirstNames(), FirstNames()
    with closing(walk.slices()) as slices:
        for part in slices:
            ignored.add(part.path, part.ignored)
            ignored_directories.add(part.path, part.ignored_directories)
            depth = part.path.count("/") + 1 if part.path else 0
            if part.path:
                lines.add_directory("  " * (depth - 1) + printable(part.path.rpartition("/")[2]) + "/")
            lines.take(part, "  " * depth, with_directories=False)
    reasons = left_out(walk.tally, ignored=ignored, ignored_directories=ignored_directories, links=None)
    notes = [f"- {reason}" for reason in reasons]
    output = [f"{_where(listing)}: {_entries(lines)}, recursively", *lines.lines]
    if notes:
        output += ["Left out:", *notes]
    return "\n".join(output)


def _where(listing: _Listing) -> str:
    where = printable(listing.located.path)
    return where if listing.parsed.path else where + as_no_path_was_given(listing.roots)


@dataclass(slots=True)
class _Lines:
    """The lines of a listing within its bounds, and the count of all that there would be."""

    listing: _Listing
    lines: list[str] = field(default_factory=list[str])
    files: int = 0
    directories: int = 0
    rest: int = 0
    listed: int = 0
    why_cut: str = ""
    _bytes: int = 0

    def take(self, part: Slice, indent: str, *, with_directories: bool = True) -> None:
        """The entries of a directory, its own directories only where they do not come by themselves."""
        self.files += len(part.files)
        self.rest += len(part.links) + len(part.others)
        for line in self._wanted(part):
            if not self._add(indent + line):
                break
        if not with_directories:
            for name in part.pruned:
                self.add_directory(f"{indent}{printable(name)}/ (not looked into)")
            return
        for name in part.directories:
            self.add_directory(f"{indent}{printable(name)}/")

    def add_directory(self, line: str) -> None:
        """One directory."""
        self.directories += 1
        self._add(line)

    def _wanted(self, part: Slice) -> Iterator[str]:
        names = [(name, "file") for name in part.files]
        names += [(name, "link") for name in part.links]
        names += [(name, str(kind)) for name, kind in part.others]
        for name, kind in sorted(names):
            if self.why_cut:
                return  # before the system is asked about what is not listed
            yield _described(name, kind, part.fd)

    def _add(self, line: str) -> bool:
        if self.why_cut:
            return False
        if self.listed >= self.listing.parsed.limit:
            self.why_cut = f"limit {self.listing.parsed.limit}"
            return False
        self._bytes += len(line.encode()) + 1
        if self._bytes > self.listing.max_output_bytes:
            self.why_cut = f"at most {self.listing.max_output_bytes} bytes"
            return False
        self.lines.append(line)
        self.listed += 1
        return True


def _described(name: str, kind: str, directory_fd: int) -> str:
    shown = printable(name)
    try:
        if kind == "file":
            return f"{shown}  {_bytes(os.stat(name, dir_fd=directory_fd, follow_symlinks=False).st_size)}"
        if kind == "link":
            target = printable(os.readlink(name, dir_fd=directory_fd))
            return f"{shown} -> {target if len(target) <= _LINK_MAX_CHARS else target[:_LINK_MAX_CHARS] + '…'}"
    except OSError as error:
        return f"{shown}  ({error.strerror or error})"
    return f"{shown}  ({kind})"


def _bytes(size: int) -> str:
    return counted(size, "byte", "bytes")
