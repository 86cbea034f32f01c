"""What a client says of itself in ``initialize``, read leniently: what cannot be read counts as not said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from openbuffer.editor_access.client_requests import RichCapabilities
from openbuffer.editor_access.uri import path_from_uri

from .protocol import PROTOCOL_VERSION, MalformedParamsError, json_kind
from .workspace_folders import folder_uris

if TYPE_CHECKING:
    from openbuffer.editor_access.text import PositionEncoding

_ENCODINGS: Final[dict[str, PositionEncoding]] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}
_PID_MAX: Final = 2**31 - 1
_SHOWN_MAX_CHARS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFacts:
    """The part of InitializeParams that the bridge uses. ``roots`` are absolute paths, in the client's order.

    ``folders`` are the URIs that they came from, with those that are no paths of this machine.
    ``pulls_configuration``: it answers ``workspace/configuration``; ``registers_configuration``: it takes a
    registration for changes of it.
    ``foreign_protocol_version``: what the client speaks instead of ours; then nothing is asked of it beyond LSP.
    ``workspace_trusted`` None: the client does not say whether the user trusts the workspace. ``settings`` are those of
    the editor as they came; ``config_editor`` judges them.
    """

    process_id: int | None = None
    roots: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    position_encoding: PositionEncoding = "utf-16"
    applies_edits: bool = False
    is_neovim: bool = False
    creates_progress: bool = False
    pulls_configuration: bool = False
    registers_configuration: bool = False
    rich: RichCapabilities = field(default_factory=RichCapabilities)
    foreign_protocol_version: str = ""
    workspace_trusted: bool | None = None
    settings: object = None


def read_client_facts(params: object) -> ClientFacts:
    """Read InitializeParams.

    An unknown value anywhere (a new enum member, a wrong type) does not spoil the rest.

    Raises:
        MalformedParamsError: they are no object at all.
    """
    if not isinstance(params, dict):
        raise MalformedParamsError(f"params of initialize must be an object, not {json_kind(params)}")
    fields = cast("dict[str, Any]", params)
    capabilities = fields.get("capabilities")
    openbuffer = _at(capabilities, "experimental", "openbuffer")
    foreign = _foreign_protocol_version(openbuffer)
    return ClientFacts(
        process_id=_process_id(fields.get("processId")),
        roots=_roots(fields),
        folders=_folders(fields),
        position_encoding=_encoding(_at(capabilities, "general", "positionEncodings")),
        applies_edits=_at(capabilities, "workspace", "applyEdit") is True,
        is_neovim=_at(fields, "clientInfo", "name") == "Neovim",
        creates_progress=_at(capabilities, "window", "workDoneProgress") is True,
        pulls_configuration=_at(capabilities, "workspace", "configuration") is True,
        registers_configuration=_at(capabilities, "workspace", "didChangeConfiguration", "dynamicRegistration") is True,
        rich=RichCapabilities() if foreign else _rich(openbuffer),
        foreign_protocol_version=foreign,
        workspace_trusted=_workspace_trusted(fields),
        settings=_at(fields, "initializationOptions", "openbuffer", "settings"),
    )


def _workspace_trusted(fields: Mapping[str, Any]) -> bool | None:
    """What is neither true nor false has not been said."""
    told = _at(fields, "initializationOptions", "openbuffer", "workspaceTrusted")
    return told if isinstance(told, bool) else None


def _foreign_protocol_version(openbuffer: object) -> str:
    if openbuffer is None:
        return ""
    version = _at(openbuffer, "protocolVersion")
    is_ours = version == PROTOCOL_VERSION and not isinstance(version, bool)
    return "" if is_ours else repr(version)[:_SHOWN_MAX_CHARS]


def _rich(openbuffer: object) -> RichCapabilities:
    return RichCapabilities(
        read_document=_at(openbuffer, "readDocument") is True,
        apply_edit=_at(openbuffer, "applyEdit") is True,
        save_document=_at(openbuffer, "saveDocument") is True,
        reload_document=_at(openbuffer, "reloadDocument") is True,
        withdraw_dialog=_at(openbuffer, "withdrawDialog") is True,
        request_permission=_at(openbuffer, "requestPermission") is True,
        ask_user=_at(openbuffer, "askUser") is True,
        tools_changed=_at(openbuffer, "toolsChanged") is True,
    )


def _process_id(value: object) -> int | None:
    is_pid = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _PID_MAX
    return cast("int", value) if is_pid else None


def _folders(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Workspace folders; else the root URI."""
    folders = fields.get("workspaceFolders")
    if isinstance(folders, list) and folders:
        return folder_uris(cast("object", folders))
    root = fields.get("rootUri")
    return (root,) if isinstance(root, str) else ()


def _roots(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The folders; where there is not even a root URI the root path. Folders that are not files are left out."""
    folders = fields.get("workspaceFolders")
    if not (isinstance(folders, list) and folders) and not isinstance(fields.get("rootUri"), str):
        path = fields.get("rootPath")
        return (path,) if isinstance(path, str) and path.startswith("/") else ()
    paths = (path_from_uri(uri) for uri in _folders(fields))
    return tuple(dict.fromkeys(path for path in paths if path is not None))


def _encoding(offered: object) -> PositionEncoding:
    """The first that the client lists and we know; utf-16 is what LSP takes without a word."""
    for name in cast("list[object]", offered) if isinstance(offered, list) else ():
        if isinstance(name, str) and name in _ENCODINGS:
            return _ENCODINGS[name]
    return "utf-16"


def _at(value: object, *keys: str) -> object:
    """The value below these keys, or None."""
    for key in keys:
        value = cast("Mapping[str, object]", value).get(key) if isinstance(value, Mapping) else None
    return value
