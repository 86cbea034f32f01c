"""What openbuffer asks of a client beyond LSP: method names, wire models, capabilities. Pure.

A client announces what it can do under ``capabilities.experimental.openbuffer``, each on its own. What it does not
announce is not asked for; then the tools say what could not be assured. PROTOCOL.md is the document of
this module; a test holds the two together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal, NotRequired, TypedDict

READ_DOCUMENT: Final = "openbuffer/readDocument"
APPLY_EDIT: Final = "openbuffer/applyEdit"
SAVE_DOCUMENT: Final = "openbuffer/saveDocument"
RELOAD_DOCUMENT: Final = "openbuffer/reloadDocument"
WITHDRAW_DIALOG: Final = "openbuffer/withdrawDialog"
REQUEST_PERMISSION: Final = "openbuffer/requestPermission"
ASK_USER: Final = "openbuffer/askUser"
TOOLS_CHANGED: Final = "openbuffer/toolsChanged"


class ClientCapabilities(TypedDict):
    """``capabilities.experimental.openbuffer`` of ``initialize``."""

    protocolVersion: int
    readDocument: NotRequired[bool]
    applyEdit: NotRequired[bool]
    saveDocument: NotRequired[bool]
    reloadDocument: NotRequired[bool]
    withdrawDialog: NotRequired[bool]
    requestPermission: NotRequired[bool]
    askUser: NotRequired[bool]
    toolsChanged: NotRequired[bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class RichCapabilities:
    """What a client announced beyond LSP; nothing, unless said otherwise."""

    read_document: bool = False
    apply_edit: bool = False
    save_document: bool = False
    reload_document: bool = False
    withdraw_dialog: bool = False
    request_permission: bool = False
    ask_user: bool = False
    tools_changed: bool = False


class DocumentState(TypedDict):
    """A document as it is in the editor, after everything that changed it was told by ``textDocument/didChange``."""

    version: int
    textHash: str
    dirty: bool
    autosave: NotRequired[str]
    text: NotRequired[str]


class WireDocument(TypedDict):
    """A document by its URI, or one state of it."""

    uri: str
    version: NotRequired[int]


class ReadDocumentParams(TypedDict):
    """The parameters of ``openbuffer/readDocument``; its result is a ``DocumentState``, or null: not open."""

    textDocument: WireDocument
    includeText: NotRequired[bool]


class ApplyEditParams(TypedDict):
    """The parameters of ``openbuffer/applyEdit``."""

    textDocument: WireDocument
    textHash: str
    edits: Sequence[Any]
    label: str
    dialogId: str


class SaveDocumentParams(TypedDict):
    """The parameters of ``openbuffer/saveDocument`` and ``openbuffer/reloadDocument``."""

    textDocument: WireDocument
    textHash: str
    diskHash: str | None
    dialogId: str


class DocumentActionResult(TypedDict):
    """The answer of ``applyEdit``, ``saveDocument`` and ``reloadDocument``."""

    done: bool
    reason: NotRequired[str]
    document: NotRequired[DocumentState | None]


class WithdrawDialogParams(TypedDict):
    """The parameters of the notification ``openbuffer/withdrawDialog``."""

    dialogId: str


class PermissionTarget(TypedDict):
    """What a plan is about; which members there are goes by ``kind``."""

    kind: Literal["file", "command", "url"]
    path: NotRequired[str]
    access: NotRequired[str]
    exists: NotRequired[bool]
    command: NotRequired[str]
    argv: NotRequired[Sequence[str]]
    cwd: NotRequired[str]
    confinedBy: NotRequired[str]
    url: NotRequired[str]
    host: NotRequired[str]
    port: NotRequired[int]
    method: NotRequired[str]
    inSandbox: NotRequired[bool]


class PermissionHunk(TypedDict):
    """One region of a file that is replaced."""

    startLine: int
    before: str
    after: str


class PermissionChange(TypedDict):
    """What a file will be, within bounds: ``isWhole`` tells whether ``hunks`` are all of it."""

    path: str
    kind: Literal["file", "link", "directory"]
    hunks: Sequence[PermissionHunk]
    hunkCount: int
    removedLines: int
    addedLines: int
    beforeBytes: int | None
    afterBytes: int | None
    isWhole: bool
    isCounted: bool
    inSandbox: bool


class RequestPermissionParams(TypedDict):
    """The parameters of ``openbuffer/requestPermission``."""

    dialogId: str
    message: str
    callId: str
    tool: str
    capabilities: Sequence[str]
    reason: str
    targets: Sequence[PermissionTarget]
    change: NotRequired[PermissionChange]
    arguments: NotRequired[str]
    containment: NotRequired[str]
    rules: Sequence[str]


class RequestPermissionResult(TypedDict):
    """The answer of ``openbuffer/requestPermission``."""

    outcome: Literal["once", "session", "always", "no", "dismissed"]
    reason: NotRequired[str]


class UserOption(TypedDict):
    """One of the answers that a question offers."""

    label: str
    description: NotRequired[str]


class AskUserParams(TypedDict):
    """The parameters of ``openbuffer/askUser``."""

    dialogId: str
    header: NotRequired[str]
    text: str
    options: Sequence[UserOption]
    multiSelect: bool
    freeText: bool


class AskUserResult(TypedDict):
    """The answer of ``openbuffer/askUser``."""

    outcome: Literal["answered", "dismissed"]
    values: NotRequired[Sequence[str]]


def text_hash(text: str) -> str:
    """SHA-256 of the text in UTF-8, in lower-case hex; half a surrogate pair counts as U+FFFD."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
    return sha256(data).hexdigest()


def disk_hash(data: bytes | None) -> str | None:
    """SHA-256 of a file's bytes, in lower-case hex; None where there is no file."""
    return None if data is None else sha256(data).hexdigest()
