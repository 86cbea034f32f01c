"""The workspace folders of a client, as they come and go; which of them are roots for the tools.

A folder leads where it led when the client opened it. One that leads elsewhere later, because a link was put in its
place, is left out until the client opens it anew: whoever may write in one folder must not get another one by that.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, cast

from openbuffer.editor_access.uri import path_from_uri

from .limits import WORKSPACE_FOLDERS_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN_MAX_CHARS: Final = 200


class WorkspaceFolders:
    """The folders in the client's order. Looks at the disk, and never raises."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}
        """Where each led when it was opened, by its path."""
        self._others: dict[str, None] = {}
        """URIs that name no directory of this machine, and those that are too many."""

    def begin(self, uris: Iterable[str]) -> None:
        """These are open, and no others."""
        self._folders.clear()
        self._others.clear()
        self._add(uris)

    def change(self, added: Iterable[str], removed: Iterable[str]) -> bool:
        """Some were opened and some closed; whether anything is different by that.

        One that is in both keeps its place: that is how a folder gets another name, or is opened anew.
        """
        before = list(self._folders.items()), list(self._others)
        added = list(added)
        again = {folder_path(uri) for uri in added}
        for uri in removed:
            path = folder_path(uri)
            if path in self._folders and path in again:
                self._folders[path] = os.path.realpath(path)
            elif path is not None:
                self._folders.pop(path, None)
            self._others.pop(uri, None)
        self._add(added)
        return before != (list(self._folders.items()), list(self._others))

    def roots(self) -> tuple[str, ...]:
        """The paths of those that are where they were; the first is where relative paths start."""
        not_used = self._not_used()
        return tuple(path for path in self._folders if path not in not_used)

    def left_out(self) -> tuple[str, ...]:
        """A sentence on each folder that the tools do not have."""
        return (*(_about_uri(uri) for uri in self._others), *self._not_used().values())

    def _add(self, uris: Iterable[str]) -> None:
        for uri in uris:
            path = folder_path(uri)
            if path is not None and path in self._folders:
                continue
            if path is None or len(self._folders) >= WORKSPACE_FOLDERS_MAX:
                if len(self._others) < WORKSPACE_FOLDERS_MAX:
                    self._others[uri] = None
            else:
                self._folders[path] = os.path.realpath(path)

    def _not_used(self) -> dict[str, str]:
        """Folders that lead elsewhere, and those that somebody else could make appear; each with the reason."""
        found: dict[str, str] = {}
        for path, led_to in self._folders.items():
            if os.path.realpath(path) != led_to:
                found[path] = f"{path}: this workspace folder leads elsewhere than when it was opened; open it anew"
            elif not os.path.isdir(led_to) and any(led_to.startswith(f"{each}/") for each in self._folders.values()):
                found[path] = f"{path}: this workspace folder is not there; make it, and open it anew"
        return found


def folder_path(uri: str) -> str | None:
    """The path of a folder, without a slash at its end; None where it is none of this machine."""
    path = path_from_uri(uri)
    return None if path is None else path.rstrip("/") or path


def folder_uris(folders: object) -> tuple[str, ...]:
    """The URIs of LSP's ``WorkspaceFolder[]``; what cannot be read is passed over."""
    given = cast("list[Any]", folders) if isinstance(folders, list) else []
    uris = (cast("dict[str, Any]", each).get("uri") for each in given if isinstance(each, dict))
    return tuple(dict.fromkeys(uri for uri in uris if isinstance(uri, str)))


def _about_uri(uri: str) -> str:
    shown = uri if len(uri) <= _SHOWN_MAX_CHARS else f"{uri[:_SHOWN_MAX_CHARS]}…"
    if folder_path(uri) is not None:
        return f"{shown}: more than {WORKSPACE_FOLDERS_MAX} workspace folders are open; the tools do not have this one"
    return f"{shown}: this workspace folder is no directory of this machine, so that the tools do not have it"
