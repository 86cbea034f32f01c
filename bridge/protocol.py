"""What openbuffer adds to LSP: method names, wire models, and how they are read. PROTOCOL.md is its document.

``tests/unit/test_protocol_document.py`` holds the two together, for which the annotations are evaluated here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NotRequired, TypedDict, cast

PROTOCOL_VERSION: Final = 1
"""Announced as ``capabilities.experimental.openbuffer.protocolVersion``; a breaking change raises it."""

LIST_TOOLS: Final = "openbuffer/listTools"
CALL_TOOL: Final = "openbuffer/callTool"

TRUST_CHANGED: Final = "openbuffer/didChangeWorkspaceTrust"
"""A notification of the client."""

UNSYNCHRONIZED_CHANGED: Final = "openbuffer/didChangeUnsynchronizedDocuments"
"""Another one."""

LIST_TOOLS_COMMAND: Final = "openbuffer.listTools"
CALL_TOOL_COMMAND: Final = "openbuffer.callTool"
"""The same two for clients that can send nothing but ``workspace/executeCommand``."""

NAME_MAX_CHARS: Final = 200
"""Of a longer name only the start is looked for and repeated; no tool has one."""

ProgressToken = int | str


class ToolDescription(TypedDict):
    """One tool, as a model is to see it."""

    name: str
    description: str
    inputSchema: Mapping[str, Any]
    capabilities: Sequence[str]


class WithheldTools(TypedDict):
    """Tools that are there and cannot be called now, by their names, and why; for people."""

    tools: Sequence[str]
    reason: str


class ListToolsResult(TypedDict):
    """The answer of ``openbuffer/listTools``."""

    tools: Sequence[ToolDescription]
    withheld: NotRequired[WithheldTools]


class CallToolParams(TypedDict):
    """The parameters of ``openbuffer/callTool``, and the one argument of its command."""

    name: str
    arguments: NotRequired[Mapping[str, Any]]
    workDoneToken: NotRequired[ProgressToken]


class WorkspaceTrustParams(TypedDict):
    """The parameters of ``openbuffer/didChangeWorkspaceTrust``."""

    trusted: bool


class UnsynchronizedDocument(TypedDict):
    """A document with unsaved changes that the client does not synchronise, and why not; for people and the model."""

    uri: str
    reason: str


class UnsynchronizedDocumentsParams(TypedDict):
    """The parameters of ``openbuffer/didChangeUnsynchronizedDocuments``: all that there are now."""

    documents: Sequence[UnsynchronizedDocument]


class ToolError(TypedDict):
    """Why a call has no result at all."""

    type: str
    message: str
    reason: NotRequired[str]


class CallToolResult(TypedDict):
    """The answer of ``openbuffer/callTool``: ``data`` of a call that ran, ``error`` of one that did not.

    ``toolsChanged`` is there, and true, where there are more tools now than before.
    """

    name: str
    isError: bool
    data: NotRequired[Any]
    error: NotRequired[ToolError]
    toolsChanged: NotRequired[bool]


class OpenbufferCapabilities(TypedDict):
    """What the server says of itself under ``capabilities.experimental.openbuffer``."""

    protocolVersion: int


class MalformedParamsError(ValueError):
    """The parameters are not what the method takes; answered as JSON-RPC error -32602."""


class RequestFailedError(Exception):
    """The request is sound and cannot be carried out; answered as JSON-RPC error -32803."""


class CallCancelledError(Exception):
    """The user cancelled a call through its progress; answered as JSON-RPC error -32800."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as it was asked for; ``arguments`` are for the tool's schema to judge."""

    name: str
    arguments: object
    token: ProgressToken | None = None


def read_tool_call(params: object) -> ToolCall:
    """Read ``CallToolParams``.

    An empty array stands for an empty object: that is how some clients (Lua) write an empty table.

    Raises:
        MalformedParamsError: no object, or no usable ``name``.
    """
    if not isinstance(params, dict):
        raise MalformedParamsError(f"params must be an object {{name, arguments}}, not {json_kind(params)}")
    fields = cast("dict[str, Any]", params)
    name = fields.get("name")
    if not isinstance(name, str):
        raise MalformedParamsError(f"params.name must be a string (the tool's name), not {json_kind(name)}")
    arguments: object = fields.get("arguments")
    if arguments is None or arguments == []:
        arguments = {}
    return ToolCall(name[:NAME_MAX_CHARS], arguments, read_token(fields))


def read_token(fields: Mapping[str, Any]) -> ProgressToken | None:
    """The ``workDoneToken`` among these fields.

    Raises:
        MalformedParamsError: it is neither a string nor an integer.
    """
    token = fields.get("workDoneToken")
    if token is None or is_id(token):
        return token
    raise MalformedParamsError(f"workDoneToken must be a string or an integer, not {json_kind(token)}")


def is_id(value: object) -> bool:
    """True for what LSP takes as a request id or progress token: an integer or a string."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def json_kind(value: object) -> str:
    """What a JSON value is, in the words of JSON."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int() | float():
            return "a number"
        case list():
            return "an array"
        case _:
            return "an object"
