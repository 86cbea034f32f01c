"""A tree of files in memory: kinds, permission bits, links, bounds; equal steps give equal trees. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ..errors import (
    SandboxFileError,
    SandboxFileNotFoundError,
    SandboxFileTooLargeError,
    SandboxIsDirectoryError,
    SandboxNotDirectoryError,
    SandboxNotEmptyError,
    SandboxPermissionError,
)
from ..file_content import not_a_file, too_large
from ..port import DirectoryEntry, DirectoryListing, FileKind, FileStat, require_sandbox_path


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimits:
    """The most bytes in one file and in all, and the most files, links and directories."""

    file_bytes: int = 256 * 1024 * 1024
    total_bytes: int = 1024 * 1024 * 1024
    entries: int = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """``content`` is a file's; ``target`` a link's. Nodes do not change, so that a snapshot is a copy of the table."""

    kind: FileKind
    mode: int
    mtime_ns: int
    content: bytes = b""
    target: str = ""


class MemoryFiles:
    """Absolute paths and what they lead to. The bits of the owner count, as they do for a user that is not root.

    Every change comes one second after the last one, on a clock of the tree's own.
    """

    def __init__(self, limits: MemoryLimits | None = None) -> None:
        self._limits = limits or MemoryLimits()
        self._now_ns = _EPOCH_NS
        self._total_bytes = 0
        self._nodes: dict[str, _Node] = {"/": _Node(kind="directory", mode=0o755, mtime_ns=_EPOCH_NS)}
        self._children: dict[str, set[str]] = {"/": set()}

    def copy(self) -> MemoryFiles:
        """The same tree; from here on each changes by itself."""
        other = MemoryFiles(self._limits)
        other._now_ns = self._now_ns
        other._total_bytes = self._total_bytes
        other._nodes = dict(self._nodes)
        other._children = {directory: set(names) for directory, names in self._children.items()}
        return other

    def stat(self, path: str) -> FileStat:
        """What the path leads to.

        Raises:
            SandboxFileError: it leads nowhere, or may not be looked at.
        """
        own = self._walk(path, follow_last=False)
        if own not in self._nodes:
            raise _missing(path)
        try:
            end = self._walk(path, follow_last=True)
        except SandboxFileError:
            end = own
        node = self._nodes.get(end, self._nodes[own])
        return FileStat(
            kind=node.kind,
            size=len(node.content),
            mtime_ns=node.mtime_ns,
            mode=node.mode,
            is_link=self._nodes[own].kind == "link",
        )

    def read(self, path: str, max_bytes: int | None = None) -> bytes:
        """The content of a file.

        Raises:
            SandboxFileError: it is none, may not be read, or holds more.
        """
        node = self._node(path)
        if node.kind != "file":
            raise not_a_file(path, node.kind)
        if not node.mode & 0o400:
            raise _denied(path)
        if max_bytes is not None and len(node.content) > max_bytes:
            raise too_large(path, max_bytes)
        return node.content

    def write(self, path: str, content: bytes) -> None:
        """Make a file and the directories above it, or replace its content.

        Raises:
            SandboxFileError: it cannot be; then nothing was changed but directories that were made.
        """
        require_sandbox_path(path)
        if path.endswith("/"):
            raise SandboxIsDirectoryError(f"{path} names a directory; name a file", path=path)
        if self._find(path) is None:
            self.make_directory(path.rpartition("/")[0] or "/")
        end = self._walk(path, follow_last=True)
        node = self._nodes.get(end)
        if node is not None and node.kind != "file":
            raise not_a_file(path, node.kind)
        if node is not None and not node.mode & 0o200:
            raise _denied(path)
        self._require_room(path, len(content), len(node.content) if node is not None else 0)
        if node is None:
            self._add(path, end, _Node(kind="file", mode=0o644, mtime_ns=self._tick(), content=content))
        else:
            self._nodes[end] = replace(node, content=content, mtime_ns=self._tick())
        self._total_bytes += len(content) - (len(node.content) if node is not None else 0)

    def make_directory(self, path: str) -> None:
        """Make a directory and those above it.

        Raises:
            SandboxFileError: one of them cannot be made.
        """
        require_sandbox_path(path)
        names = [name for name in path.split("/") if name]
        for count in range(1, len(names) + 1):
            part = "/" + "/".join(names[:count])
            end = self._walk(part, follow_last=True)
            node = self._nodes.get(end)
            if node is None:
                self._add(part, end, _Node(kind="directory", mode=0o755, mtime_ns=self._tick()))
            elif node.kind != "directory":
                raise SandboxNotDirectoryError(f"{part} is no directory", path=path)

    def link(self, path: str, target: str) -> None:
        """Make a link, which may lead nowhere.

        Raises:
            SandboxFileError: something has this path, or it cannot be made there.
        """
        own = self._walk(path, follow_last=False)
        if own in self._nodes:
            raise SandboxFileError(f"{path} exists", path=path)
        self._add(path, own, _Node(kind="link", mode=0o777, mtime_ns=self._tick(), target=target))

    def chmod(self, path: str, mode: int) -> None:
        """Set the permission bits of what the path leads to.

        Raises:
            SandboxFileError: it leads nowhere.
        """
        node = self._node(path)
        self._nodes[self._walk(path, follow_last=True)] = replace(node, mode=mode & 0o7777)

    def delete(self, path: str) -> None:
        """Delete a file, a link itself or an empty directory.

        Raises:
            SandboxFileError: there is none, it holds something, or it may not be deleted.
        """
        own = self._walk(path, follow_last=False)
        node = self._nodes.get(own)
        if node is None:
            raise _missing(path)
        if own == "/":
            raise SandboxPermissionError("/ is not deleted", path=path)
        if self._children.get(own):
            raise SandboxNotEmptyError(f"{path} is a directory that is not empty", path=path)
        above, name = _split(own)
        self._require_writable(path, above)
        self._children[above].remove(name)
        self._children.pop(own, None)
        self._total_bytes -= len(node.content)
        del self._nodes[own]
        self._tick()
        self._touch(above)

    def list_directory(self, path: str, max_entries: int | None = None) -> DirectoryListing:
        """The entries of a directory.

        Raises:
            SandboxFileError: it is none, or may not be read.
        """
        if self._node(path).kind != "directory":
            raise SandboxNotDirectoryError(f"{path} is no directory", path=path)
        end = self._walk(path, follow_last=True)
        if not self._nodes[end].mode & 0o400:
            raise _denied(path)
        names = sorted(self._children[end])
        shown = names if max_entries is None else names[:max_entries]
        entries = (DirectoryEntry(name=name, kind=self._nodes[_join(end, name)].kind) for name in shown)
        return DirectoryListing(entries=tuple(entries), complete=len(shown) == len(names))

    def _find(self, path: str) -> _Node | None:
        try:
            return self._nodes.get(self._walk(path, follow_last=True))
        except SandboxFileNotFoundError:
            return None

    def _node(self, path: str) -> _Node:
        end = self._walk(path, follow_last=True)
        if end not in self._nodes:
            raise _missing(path)
        return self._nodes[end]

    def _walk(self, path: str, *, follow_last: bool) -> str:
        """The path without links; its last part need not exist."""
        require_sandbox_path(path)
        names = _names(path)
        needs_directory = path.endswith(("/", "/.", "/.."))
        here = "/"
        links = 0
        while names:
            name = names.pop()
            self._require_enterable(path, here)
            if name == "..":
                here = _split(here)[0]
                continue
            there = _join(here, name)
            node = self._nodes.get(there)
            if node is not None and node.kind == "link" and (names or follow_last or needs_directory):
                links += 1
                if links > _LINKS_MAX:
                    raise SandboxFileError(f"{path} goes through too many links", path=path)
                names += _names(node.target)
                here = "/" if node.target.startswith("/") else here
                continue
            if node is None and names:
                raise _missing(path)
            here = there
        if needs_directory:
            self._require_enterable(path, here)
        return here

    def _require_enterable(self, path: str, directory: str) -> None:
        node = self._nodes.get(directory)
        if node is None:
            raise _missing(path)
        if node.kind != "directory":
            raise SandboxNotDirectoryError(f"{path}: {directory} is no directory", path=path)
        if not node.mode & 0o100:
            raise _denied(path)

    def _require_writable(self, path: str, directory: str) -> None:
        if not self._nodes[directory].mode & 0o200:
            raise _denied(path)

    def _require_room(self, path: str, size: int, size_before: int) -> None:
        if size > self._limits.file_bytes:
            raise SandboxFileTooLargeError(f"{path}: a file holds at most {self._limits.file_bytes:,} bytes", path=path)
        if self._total_bytes - size_before + size > self._limits.total_bytes:
            raise SandboxFileTooLargeError(
                f"{path}: all files together hold at most {self._limits.total_bytes:,} bytes", path=path
            )

    def _add(self, path: str, end: str, node: _Node) -> None:
        above, name = _split(end)
        self._require_writable(path, above)
        if len(name.encode("utf-8", "surrogatepass")) > _NAME_MAX_BYTES:
            raise SandboxFileError(f"{path}: File name too long", path=path)
        if len(self._nodes) >= self._limits.entries:
            raise SandboxFileTooLargeError(f"{path}: there are {self._limits.entries:,} entries already", path=path)
        self._nodes[end] = node
        if node.kind == "directory":
            self._children[end] = set()
        self._children[above].add(name)
        self._touch(above)

    def _touch(self, directory: str) -> None:
        self._nodes[directory] = replace(self._nodes[directory], mtime_ns=self._now_ns)

    def _tick(self) -> int:
        self._now_ns += 1_000_000_000
        return self._now_ns


_EPOCH_NS: Final = 946_684_800_000_000_000
"""The first second of the year 2000."""

_LINKS_MAX: Final = 40
_NAME_MAX_BYTES: Final = 255


def _names(path: str) -> list[str]:
    """The names of a path, the first one last."""
    return [name for name in reversed(path.split("/")) if name not in {"", "."}]


def _split(path: str) -> tuple[str, str]:
    above, _, name = path.rpartition("/")
    return above or "/", name


def _join(directory: str, name: str) -> str:
    return f"/{name}" if directory == "/" else f"{directory}/{name}"


def _missing(path: str) -> SandboxFileNotFoundError:
    return SandboxFileNotFoundError(f"{path}: no such file or directory", path=path)


def _denied(path: str) -> SandboxPermissionError:
    return SandboxPermissionError(f"{path}: permission denied", path=path)
