"""``openbuffer call``: one tool call without an editor, on the disk alone."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from openbuffer.tools.adapters.approvals import HeadlessApprovals
from openbuffer.tools.contract import ToolContext
from openbuffer.tools.errors import ToolExecutionError, ToolNotFoundError

from ..assembly import assemble
from ..config_file import NamedFile
from ..config_values import what_is_wrong_with_directory
from ..life.interrupt import run_until_stopped
from ..protocol import json_kind
from .output import writing
from .terminal import harmless

if TYPE_CHECKING:
    from openbuffer.tools.adapters.approvals import HeadlessPolicy
    from openbuffer.tools.executor import SandboxedToolExecutor

    from ..protocol import CallToolResult, ToolError

EXIT_DONE: Final = 0
EXIT_FAILED: Final = 1
EXIT_HARD: Final = 2

_HOW_TO_SEARCH: Final = (
    ". WebSearch is there with BRAVE_API_KEY in the environment, or with search.provider and search.url, which name a "
    "SearXNG"
)
_HOW_TO_APPROVE: Final = "there is no editor. Allow it by a rule in the configuration, or give --approve once"


def call(
    name: str,
    arguments: str,
    *,
    root: Path | None,
    config_file: Path | None,
    as_json: bool,
    approve: HeadlessPolicy = "never",
) -> int:
    """Call one tool and print its answer; returns the exit code. ``approve`` answers what rules ask about.

    Without ``as_json`` the output goes to stdout as text, and what went wrong to stderr. With it, exactly the
    answer object of ``openbuffer/callTool`` goes to stdout. Wrong usage is told on stderr either way.
    """
    with ExitStack() as ending:
        try:
            parsed = _parse_arguments(name, _argument_text(arguments))
            executor = assemble(
                (_root(root),),
                ending=ending,
                face="call",
                config_file=config_file,
                read=NamedFile(),
                tell=_complain,
                approvals=HeadlessApprovals(approve, how=_HOW_TO_APPROVE),
            ).executor()
        except (_UsageError, ToolExecutionError) as error:
            _complain(str(error))
            return EXIT_HARD
        return _called(executor, name, parsed, as_json=as_json)


def _called(executor: SandboxedToolExecutor, name: str, parsed: dict[str, Any], *, as_json: bool) -> int:
    async def work() -> int:
        answer = await _answer(executor, name, parsed)
        if as_json:
            # ASCII, so that neither the locale nor a lone surrogate can get in the way.
            _write_line(json.dumps(answer))
        else:
            _show(answer)
        if "error" in answer:
            return EXIT_HARD
        return EXIT_FAILED if answer["isError"] else EXIT_DONE

    code = run_until_stopped(work)
    if code >= 128:
        _complain("stopped. A change may already have been made; read before you try again.")
    return code


class _UsageError(Exception):
    """The command line cannot be understood; the text says what to give instead."""


def _root(root: Path | None) -> Path:
    try:
        root = (root if root is not None else Path.cwd()).absolute()
    except FileNotFoundError:
        raise _UsageError("the current directory does not exist any more; name one with --root") from None
    wrong = what_is_wrong_with_directory(root)
    if wrong:
        raise _UsageError(f"{root}: the root {wrong}; name a directory that exists")
    return root


def _argument_text(arguments: str) -> str:
    if arguments != "-":
        return arguments
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _UsageError(f"the arguments on stdin are not UTF-8 ({error.reason} at byte {error.start})") from None


def _parse_arguments(name: str, text: str) -> dict[str, Any]:
    example = f"""give one JSON object, for example: openbuffer call {name} '{{"filePath": "notes.txt"}}'"""
    try:
        parsed = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        where = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise _UsageError(f"the arguments are not JSON ({where}); {example}") from None
    except (ValueError, RecursionError) as error:
        raise _UsageError(f"the arguments are not usable JSON ({error}); {example}") from None
    if not isinstance(parsed, dict):
        raise _UsageError(f"the arguments are {json_kind(parsed)} and not an object; {example}")
    return parsed  # pyright: ignore[reportUnknownVariableType]  JSON object keys are strings


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


async def _answer(executor: SandboxedToolExecutor, name: str, arguments: dict[str, Any]) -> CallToolResult:
    try:
        result = await executor.call(name, arguments, ToolContext())
    except ToolExecutionError as error:
        told = cast("ToolError", error.to_json())
        if isinstance(error, ToolNotFoundError) and name == "WebSearch":
            told["message"] += _HOW_TO_SEARCH
        return {"name": name, "isError": True, "error": told}
    return {"name": name, "isError": not result.success, "data": result.value}


def _show(answer: CallToolResult) -> None:
    if "error" in answer:
        _complain(answer["error"]["message"])
        return
    data = answer.get("data", {})
    if data.get("output"):
        text = data["output"].removesuffix("\n")
        _write_line(harmless(text) if sys.stdout.isatty() else text)
    if data.get("error"):
        _complain(data["error"])


def _write_line(text: str) -> None:
    """Write all of it, in the terminal's encoding; what that cannot hold is escaped rather than lost."""
    unwritten = memoryview(f"{text}\n".encode(sys.stdout.encoding, "backslashreplace"))
    with writing():
        while unwritten:  # an unbuffered stdout writes what fits into the pipe and says nothing of the rest
            unwritten = unwritten[sys.stdout.buffer.write(unwritten) :]


def _complain(message: str) -> None:
    print(f"openbuffer: {harmless(message)}", file=sys.stderr)  # noqa: T201  a command line prints
