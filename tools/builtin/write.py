"""Write: replaces or creates a whole text file, in the open document where an editor has it open.

An existing file keeps its byte-order mark, its encoding, and CRLF line ends where it has no others and the new
content has none; the result says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from ..contract import Capability, FileChange, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..errors import ToolFailure
from ..limits import FILE_MAX_BYTES
from ..support.blocking import run_blocking
from ..support.hunks import line_hunks, narrowed
from ..support.places import CHANGES_DOCUMENTS, Change, TextPlace, places_of
from ..support.sandbox_words import HOW_WRITTEN_IN_SANDBOX, IN_SANDBOX, PATHS_IN_SANDBOX, is_in_sandbox
from ..support.text_files import uses_crlf_only

if TYPE_CHECKING:
    from openbuffer.editor_access.port import EditorProvider
    from openbuffer.sandbox.port import SandboxClient

    from ..contract import CancellationToken
    from ..support.paths import CwdInput
    from ..support.text_files import TextFile

_MARK = "\ufeff"


class WriteInput(BaseModel):
    """Arguments of Write."""

    model_config = ConfigDict(extra="forbid")

    file_path: str = Field(alias="filePath", description="Absolute path of the file to write.")
    content: str = Field(description="The whole new content.")


def create_write_tool(
    *,
    cwd: CwdInput,
    editor: EditorProvider | None = None,
    sandbox: SandboxClient | None = None,
    max_bytes: int = FILE_MAX_BYTES,
    description: str | None = None,
) -> FunctionTool:
    """Build the Write tool for one root or several.

    ``editor`` is asked at every call for the editor that is attached then. A ``sandbox`` with files of its own carries
    everything, ``cwd`` is a directory in there, and no editor is asked; any other changes nothing. ``max_bytes`` bounds
    the file before and
    after.

    Raises:
        ToolDefinitionError: ``cwd`` is empty, relative or no path.
    """
    places = places_of(cwd, editor=editor, sandbox=sandbox, max_bytes=max_bytes)

    async def prepare(parsed: WriteInput, context: ToolContext) -> Plan:
        async def fill(place: TextPlace, plan: Plan) -> None:
            made = await run_blocking(
                context.cancellation, lambda: _write(place, parsed.content, max_bytes, context.cancellation)
            )
            if place.exists and not made.file_change.hunks:
                plan.settled = _unchanged(made)
            plan.state = made
            plan.change = made.file_change

        return await places.plan(parsed.file_path, (Capability.FILE_WRITE,), context, fill)

    return create_builtin_tool(
        name="Write",
        description=description if description is not None else _description(max_bytes, editor, is_in_sandbox(sandbox)),
        model=WriteInput,
        prepare=prepare,
        commit=_commit,
        capabilities=frozenset({Capability.FILE_WRITE}),
    )


def _description(max_bytes: int, editor: EditorProvider | None, in_sandbox: bool) -> str:
    document = CHANGES_DOCUMENTS if editor and not in_sandbox else ""
    where = IN_SANDBOX if in_sandbox else "below the workspace roots"
    paths = PATHS_IN_SANDBOX if in_sandbox else "A relative path starts at the first root."
    how = HOW_WRITTEN_IN_SANDBOX if in_sandbox else "On disk it is replaced in one step: it is never seen half-written."
    return (
        f"Writes a whole text file {where}: creates it, with missing parent directories, or replaces "
        "all of its content. A new file is written as UTF-8, exactly as given. An existing file keeps its byte-order "
        "mark and its encoding, and its CRLF line ends if it has no others and content has none; content that its "
        "encoding cannot hold is refused, and so is replacing a binary file. "
        f"{document}A file or content of more than {max_bytes} bytes is refused. {how} The result "
        f"tells the number of bytes. {paths}"
    )


@dataclass(frozen=True, slots=True)
class _Write:
    """What a plan of Write holds."""

    place: TextPlace
    change: Change
    file_change: FileChange
    kept: tuple[str, ...]


def _write(place: TextPlace, content: str, max_bytes: int, token: CancellationToken) -> _Write:
    before = place.load(max_bytes, token)
    body, kept = _kept(place, before, content)
    utf8 = body.encode()
    changes = narrowed(before.utf8, utf8)
    change = place.change(before, changes)
    if change.after_bytes > max_bytes:
        raise ToolFailure(
            f"{place.path}: the content has {change.after_bytes} bytes, over the budget of {max_bytes} bytes; "
            "nothing was changed. Write less, or split the file."
        )
    file_change = FileChange(
        path=place.targets[0].path,
        hunks=line_hunks(before.utf8, changes),
        before_bytes=len(before.raw) if place.exists else None,
        after_bytes=change.after_bytes,
        before=change.recorded,
        in_sandbox=place.targets[0].in_sandbox,
    )
    return _Write(place, change, file_change, kept)


def _kept(place: TextPlace, before: TextFile, content: str) -> tuple[str, tuple[str, ...]]:
    """The content as the existing file wants it, and what of that file is kept."""
    kept: list[str] = []
    encoding = before.encoding
    if encoding.mark or place.hides_mark:
        content = content.removeprefix(_MARK)
    if encoding.mark:
        kept.append("byte-order mark")
    if encoding.codec != "utf-8":
        kept.append(f"encoding {encoding.label}" + (" (a guess)" if encoding.guessed else ""))
    if "\n" in content and "\r" not in content and uses_crlf_only(before.utf8):
        content = content.replace("\n", "\r\n")
        kept.append("CRLF line ends")
    return content, tuple(kept)


def _unchanged(made: _Write) -> InvocationResult:
    size = made.file_change.after_bytes
    where = "the open document" if made.place.targets[0].place == "document" else "the file"
    return InvocationResult(
        success=True,
        output=f"{made.place.path}: {where} already holds exactly this content ({size} bytes); nothing was written.",
    )


async def _commit(plan: Plan, context: ToolContext) -> InvocationResult:
    made: _Write = plan.state
    landed = await made.place.put(made.change, context, label="Write")
    verb = "Replaced the content of" if made.place.exists else "Created"
    sentences = [f"{verb} {made.place.path}: {made.file_change.after_bytes} bytes. {landed.where}"]
    if made.kept:
        sentences.append(f"Kept from the file: {', '.join(made.kept)}.")
    sentences += [f"Note: {note}." for note in landed.notes]
    return InvocationResult(success=True, output=" ".join(sentences))
