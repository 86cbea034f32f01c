"""Read: numbered lines of a text file, from the open document where an editor has it open.

The whole text is looked at whatever slice is asked for, because the header promises the exact number of lines and
because text that is damaged further down is not text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from ..contract import Capability, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..errors import ReadByteLimitError
from ..limits import FILE_MAX_BYTES, LINE_MAX_CHARS, READ_DEFAULT_LINES, READ_OUTPUT_MAX_BYTES
from ..support.blocking import run_blocking
from ..support.encodings import Encoding, NotUtf8Error, legacy_encoding, marked_text, utf8_pieces
from ..support.line_window import LineWindow, utf8_length
from ..support.places import TextPlace, places_of
from ..support.sandbox_words import IN_SANDBOX, PATHS_IN_SANDBOX, is_in_sandbox

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openbuffer.editor_access.port import EditorProvider
    from openbuffer.sandbox.port import SandboxClient

    from ..contract import CancellationToken
    from ..support.encodings import Pieces, TextPiece
    from ..support.paths import CwdInput

_LINE_NUMBER_MAX = 2**31 - 1  # no file that can be read has as many; larger numbers are echoed by nobody
_HEADER_NUMBERS_BYTES = 400  # room for everything in the header except the path


class ReadInput(BaseModel):
    """Arguments of Read."""

    model_config = ConfigDict(extra="forbid")

    file_path: str = Field(alias="filePath", description="Absolute path of the file to read.")
    offset: int = Field(
        1, ge=1, le=_LINE_NUMBER_MAX, description="Number of the first line to show; lines count from 1."
    )
    limit: int = Field(READ_DEFAULT_LINES, ge=1, le=_LINE_NUMBER_MAX, description="How many lines to show at most.")


def create_read_tool(
    *,
    cwd: CwdInput,
    editor: EditorProvider | None = None,
    sandbox: SandboxClient | None = None,
    max_bytes: int = FILE_MAX_BYTES,
    max_output_bytes: int = READ_OUTPUT_MAX_BYTES,
    description: str | None = None,
) -> FunctionTool:
    """Build the Read tool for one root or several.

    ``editor`` is asked at every call for the editor that is attached then. A ``sandbox`` with files of its own carries
    everything, ``cwd`` is a directory in there, and no editor is asked; any other changes nothing. ``max_bytes`` bounds
    the file, ``max_output_bytes`` the answer.

    Raises:
        ToolDefinitionError: ``cwd`` is empty, relative or no path.
    """
    places = places_of(cwd, editor=editor, sandbox=sandbox, max_bytes=max_bytes)

    async def prepare(parsed: ReadInput, context: ToolContext) -> Plan:
        async def fill(place: TextPlace, plan: Plan) -> None:
            place.require_text()
            plan.state = _Slice(place, parsed.offset, parsed.limit, max_bytes, max_output_bytes)

        return await places.plan(parsed.file_path, (Capability.FILE_READ,), context, fill)

    ours = _description(max_bytes, max_output_bytes, editor, is_in_sandbox(sandbox))
    return create_builtin_tool(
        name="Read",
        description=ours if description is None else description,
        model=ReadInput,
        prepare=prepare,
        commit=_commit,
        capabilities=frozenset({Capability.FILE_READ}),
    )


def _description(max_bytes: int, max_output_bytes: int, editor: EditorProvider | None, in_sandbox: bool) -> str:
    document = (
        "If an attached editor has the file open, the text of that document is shown, unless only the file on disk "
        "changed since it was opened. "
        if editor and not in_sandbox
        else ""
    )
    where = IN_SANDBOX if in_sandbox else "below the workspace roots"
    carried = ", where the sandbox hands over bytes" if in_sandbox else ""
    paths = PATHS_IN_SANDBOX if in_sandbox else "A relative path starts at the first root."
    return (
        f"Shows lines of a text file {where}. The output starts with one header line: the path, which lines of how "
        "many are shown, where the text is, and what is special about its encoding and line ends. Each "
        "line follows as its number, right-aligned to six characters, a tab, and the line. Lines end at line feeds; a "
        f"line of more than {LINE_MAX_CHARS} characters is cut and its length told. {document}"
        f"Text in a legacy encoding is decoded if that loses nothing{carried}. A file of more than {max_bytes} bytes "
        f"or a slice of more than {max_output_bytes} bytes is an error; binary files, directories and missing files "
        f"are failures. {paths}"
    )


@dataclass(frozen=True, slots=True)
class _Slice:
    """What a plan of Read holds."""

    place: TextPlace
    offset: int
    limit: int
    max_bytes: int
    max_output_bytes: int


async def _commit(plan: Plan, context: ToolContext) -> InvocationResult:
    asked: _Slice = plan.state
    await asked.place.refresh()
    token = context.cancellation
    return InvocationResult(success=True, output=await run_blocking(token, lambda: _read_once(asked, token)))


def _read_once(asked: _Slice, token: CancellationToken) -> str:
    try:
        return _read(asked, token)
    finally:
        asked.place.release()


def _read(asked: _Slice, token: CancellationToken) -> str:
    place = asked.place
    place.check_path()
    size = place.size()
    if size is not None and size > asked.max_bytes:
        raise ReadByteLimitError(
            f"{place.path}: has {size} bytes, over the budget of {asked.max_bytes} bytes that holds whatever slice is "
            "asked for. Search it for what you need (Grep, where that tool is offered), or print a part with a command "
            "such as sed -n '1,200p'."
        )
    window, encoding = _scan(asked, place.pieces(token, asked.max_bytes))
    header = _header(asked, window, encoding)
    if window.shown_lines == 0:
        return header
    output = "\n".join([header, *window.blocks])
    if utf8_length(output) > asked.max_output_bytes:
        raise _output_over_budget(asked, window)
    return output


def _scan(asked: _Slice, pieces: Pieces) -> tuple[LineWindow, Encoding]:
    path = asked.place.path
    encoding, text = marked_text(path, pieces)
    try:
        return _window(asked, text), encoding
    except NotUtf8Error as error:
        encoding = legacy_encoding(path, pieces, error)
        return _window(asked, utf8_pieces(path, pieces, encoding)), encoding


def _window(asked: _Slice, text: Iterable[TextPiece]) -> LineWindow:
    window = LineWindow(first=asked.offset, limit=asked.limit, max_bytes=asked.max_output_bytes)
    for piece, plain_line_feeds in text:
        window.feed(piece, plain_line_feeds)
        if window.is_over_budget:
            raise _output_over_budget(asked, window)
    window.finish()
    return window


def _output_over_budget(asked: _Slice, window: LineWindow) -> ReadByteLimitError:
    path = asked.place.path
    fits = window.lines_within(asked.max_output_bytes - len(path.encode()) - _HEADER_NUMBERS_BYTES)
    instead = f"offset {asked.offset} with limit {fits} fits." if fits else "Not even one line fits."
    last = asked.offset + window.shown_lines - 1
    size = asked.place.size()
    of_all = "" if size is None else f" (the text has {size} bytes)"
    return ReadByteLimitError(
        f"{path}: lines {asked.offset} to {last} take more than the output budget of {asked.max_output_bytes} "
        f"bytes{of_all}. {instead} Or search the file for what you need (Grep, where that tool is offered)."
    )


def _header(asked: _Slice, window: LineWindow, encoding: Encoding) -> str:
    path = asked.place.path.replace("\r", "\\r").replace("\n", "\\n")
    remarks = "; ".join([asked.place.whereabouts, *_remarks(asked.place, window, encoding)])
    total = window.total_lines
    if total == 0:
        return f"{path}: empty, 0 lines, {remarks}"
    lines = "1 line" if total == 1 else f"{total} lines"
    if asked.offset > total:
        return f"{path}: offset {asked.offset} is past the end, the text has {lines}, {remarks}"
    return f"{path}: lines {asked.offset}-{asked.offset + window.shown_lines - 1} of {total}, {remarks}"


def _remarks(place: TextPlace, window: LineWindow, encoding: Encoding) -> list[str]:
    remarks: list[str] = []
    if encoding.guessed:
        remarks.append(f"read as {encoding.label}, a guess that gives every byte back")
    elif encoding.codec != "utf-8":
        remarks.append(encoding.label)
    if encoding.mark:
        remarks.append("byte-order mark")
    if window.crlf_lines:
        all_of_them = window.crlf_lines == window.line_feeds
        mixed = f"mixed line ends, {window.crlf_lines} of {window.line_feeds} are CRLF"
        remarks.append("CRLF line ends" if all_of_them else mixed)
    if window.total_lines and not window.ends_with_line_feed:
        remarks.append("no line end after the last line")
    if window.line_feeds == 1 and window.size == 1 + window.crlf_lines:
        remarks.append("the only line is empty")
    if remark := place.remark():
        remarks.append(remark)
    return remarks
