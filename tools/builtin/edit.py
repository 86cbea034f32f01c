"""Edit: replaces an exact string in a text file, in the open document where an editor has it open.

What is not matched exactly is never matched; the one liberty is that a line feed stands for a CRLF line end as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, Field

from ..contract import Capability, FileChange, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..errors import ToolFailure
from ..limits import FILE_MAX_BYTES
from ..support.blocking import run_blocking
from ..support.byte_search import line_number
from ..support.hunks import line_hunks
from ..support.not_found import looked_at, named_lines, why_not_found
from ..support.paths import CwdInput, printable
from ..support.places import CHANGES_DOCUMENTS, Change, TextPlace, places_of
from ..support.replacing import Span, TooMixedError, count_up_to, occurrences, replacements, size_after
from ..support.sandbox_words import HOW_WRITTEN_IN_SANDBOX, IN_SANDBOX, PATHS_IN_SANDBOX, is_in_sandbox

if TYPE_CHECKING:
    from openbuffer.editor_access.port import EditorProvider
    from openbuffer.sandbox.port import SandboxClient

    from ..contract import CancellationToken
    from ..support.text_files import TextFile

_MOST_REPLACEMENTS: Final = 1_000_000
_NAMED_LINES: Final = 10
_SHOWN_PATH_CHARS: Final = 300


class EditInput(BaseModel):
    """Arguments of Edit."""

    model_config = ConfigDict(extra="forbid")

    file_path: str = Field(alias="filePath", description="Absolute path of the file to change.")
    old_string: str = Field(
        alias="oldString",
        description="The exact text to replace, without line numbers. A line feed also matches a CRLF line end.",
    )
    new_string: str = Field(
        alias="newString",
        description="The text to put there, taken literally. A line feed becomes the line end used at that place.",
    )
    replace_all: bool = Field(
        default=False,
        alias="replaceAll",
        description="Replace every occurrence. Without it oldString has to occur exactly once.",
    )


def create_edit_tool(
    *,
    cwd: CwdInput,
    editor: EditorProvider | None = None,
    sandbox: SandboxClient | None = None,
    max_bytes: int = FILE_MAX_BYTES,
    description: str | None = None,
) -> FunctionTool:
    """Build the Edit tool for one root or several.

    ``editor`` is asked at every call for the editor that is attached then. A ``sandbox`` with files of its own carries
    everything, ``cwd`` is a directory in there, and no editor is asked; any other changes nothing. ``max_bytes`` bounds
    the file before and
    after the change.

    Raises:
        ToolDefinitionError: ``cwd`` is empty, relative or no path.
    """
    places = places_of(cwd, editor=editor, sandbox=sandbox, max_bytes=max_bytes)

    async def prepare(parsed: EditInput, context: ToolContext) -> Plan:
        _refuse_senseless(parsed)

        async def fill(place: TextPlace, plan: Plan) -> None:
            place.require_text()
            made = await run_blocking(
                context.cancellation, lambda: _edit(place, parsed, max_bytes, context.cancellation)
            )
            plan.state = made
            plan.change = made.file_change

        return await places.plan(parsed.file_path, (Capability.FILE_READ, Capability.FILE_WRITE), context, fill)

    return create_builtin_tool(
        name="Edit",
        description=description if description is not None else _description(max_bytes, editor, is_in_sandbox(sandbox)),
        model=EditInput,
        prepare=prepare,
        commit=_commit,
        capabilities=frozenset({Capability.FILE_READ, Capability.FILE_WRITE}),
    )


def _description(max_bytes: int, editor: EditorProvider | None, in_sandbox: bool) -> str:
    document = CHANGES_DOCUMENTS if editor and not in_sandbox else ""
    where = IN_SANDBOX if in_sandbox else "below the workspace roots"
    paths = PATHS_IN_SANDBOX if in_sandbox else "A relative path starts at the first root."
    how = (
        HOW_WRITTEN_IN_SANDBOX
        if in_sandbox
        else "On disk the file is replaced in one step: it is never seen half-written."
    )
    return (
        f"Replaces an exact string in a text file {where}. oldString is matched literally, blanks and "
        "tabs included; if it does not occur, or occurs several times without replaceAll, nothing is changed and the "
        "result says where it occurs or which place is similar. Line ends, byte-order mark, encoding and everything "
        "outside the replaced text stay as they are, and a change that the file's encoding cannot hold is refused. "
        f"{document}A file of more than {max_bytes} bytes, before or after the change, is refused. {how} {paths}"
    )


@dataclass(frozen=True, slots=True)
class _Edit:
    """What a plan of Edit holds."""

    place: TextPlace
    change: Change
    file_change: FileChange
    count: int


def _refuse_senseless(parsed: EditInput) -> None:
    path = printable(parsed.file_path[:_SHOWN_PATH_CHARS])
    if not parsed.old_string:
        raise ToolFailure(
            f"{path}: oldString is empty; give the exact text to replace. An empty or a new file is filled as a whole "
            "(Write, where that tool is offered)."
        )
    if parsed.old_string == parsed.new_string:
        raise ToolFailure(f"{path}: oldString and newString are the same, so nothing would change; give the new text.")


def _edit(place: TextPlace, parsed: EditInput, max_bytes: int, token: CancellationToken) -> _Edit:
    text = place.load(max_bytes, token)
    old, new = parsed.old_string.encode(), parsed.new_string.encode()
    try:
        if parsed.replace_all:
            places = _count(text, old)
            spans = partial(occurrences, text.utf8, old)  # not all of them at once: there may be a million
        else:
            places = 1
            spans = partial(iter, [_only_span(text, old, parsed.old_string)])
        _refuse_growth(text, size_after(text.utf8, spans(), new), max_bytes)
        changes = replacements(text.utf8, spans(), new)
    except TooMixedError:
        raise ToolFailure(
            f"{text.path}: oldString mixes kinds of line ends, and so does the file, in too many places to compare; "
            "nothing was changed. Give a shorter oldString, with plain line feeds only."
        ) from None
    if all(text.utf8[change.start : change.end] == change.new for change in changes):
        raise ToolFailure(
            f"{place.path}: nothing would change: oldString and newString differ in line ends only, and a line feed in "
            "newString becomes the line end that the place has."
        )
    change = place.change(text, changes)
    change.can_move = True
    _refuse_over(text.path, change.after_bytes, max_bytes)
    file_change = FileChange(
        path=place.targets[0].path,
        hunks=line_hunks(text.utf8, changes),
        before_bytes=len(text.raw),
        after_bytes=change.after_bytes,
        before=change.recorded,
        in_sandbox=place.targets[0].in_sandbox,
    )
    return _Edit(place, change, file_change, places)


def _only_span(text: TextFile, old: bytes, old_string: str) -> Span:
    found = list(islice(occurrences(text.utf8, old, overlapping=True), _NAMED_LINES))
    if len(found) == 1:
        return found[0]
    if not found:
        raise _not_found(text, old_string)
    total = max(len(found), count_up_to(text.utf8, old, _MOST_REPLACEMENTS))
    times = f"more than {_MOST_REPLACEMENTS}" if total > _MOST_REPLACEMENTS else str(total)
    lines = named_lines([line_number(text.utf8, start) for start, _ in found], total)
    raise ToolFailure(
        f"{text.path}: oldString was found {times} times, in {lines}; nothing was changed. Put more of the surrounding "
        "text into oldString to make it unique, or set replaceAll to replace every one."
    )


def _count(text: TextFile, old: bytes) -> int:
    total = count_up_to(text.utf8, old, _MOST_REPLACEMENTS)
    if total > _MOST_REPLACEMENTS:
        raise ToolFailure(
            f"{text.path}: oldString was found more than {_MOST_REPLACEMENTS} times, which is more than one Edit "
            "replaces; nothing was changed. Use a command made for it."
        )
    if not total:
        raise _not_found(text, old.decode())
    return total


def _not_found(text: TextFile, old_string: str) -> ToolFailure:
    why = why_not_found(looked_at(text.utf8), old_string)
    return ToolFailure(f"{text.path}: oldString was not found; nothing was changed. {why}")


def _refuse_growth(text: TextFile, size: int, max_bytes: int) -> None:
    """Refuse what is certainly too large before it is built; ``size`` is that in UTF-8, the exact one comes later."""
    # No encoding takes less than a third of what UTF-8 takes.
    _refuse_over(text.path, size if text.encoding.codec == "utf-8" else size // 3, max_bytes)


def _refuse_over(path: str, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise ToolFailure(
            f"{path}: would have {size} bytes after the change, over the budget of {max_bytes} bytes; "
            "nothing was changed. Replace less, or split the file."
        )


async def _commit(plan: Plan, context: ToolContext) -> InvocationResult:
    made: _Edit = plan.state
    landed = await made.place.put(made.change, context, label="Edit")
    places = "1 place" if made.count == 1 else f"{made.count} places"
    encoding = made.change.before.encoding
    notes = [f"Note: {note}." for note in landed.notes]
    if encoding.guessed:
        notes.append(f"The file is read and written as {encoding.label}, which is a guess.")
    hunks = made.file_change.hunks
    lines = [landed.line(hunk.start_line) for hunk in islice(hunks, _NAMED_LINES)]
    where = f"in {named_lines(lines, len(hunks))}"
    output = " ".join([f"Edited {made.place.path}: replaced {places}, {where}. {landed.where}", *notes])
    return InvocationResult(success=True, output=output, start_line=lines[0])
