"""An index as bytes: a line that says what it is, a line of JSON for each file, and a line that proves the rest whole.

Nothing that is read is executed, and everything is checked: a file of somebody else, or half of one, is an error.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, cast

from ..errors import ToolCancelledError, ToolExecutionError
from ..limits import PATH_MAX_CHARS, RETRIEVAL_INDEX_MAX_BYTES, RETRIEVAL_MAX_FILES
from .index import IndexedFile, RepoMapIndex
from .plain import NotPlainError, symbols_as_plain, symbols_from_plain

if TYPE_CHECKING:
    from ..contract import CancellationToken

VERSION: Final = 1
_MAGIC: Final = b"openbuffer-repo-map "
_FINGERPRINT_MAX_CHARS: Final = 2_000
_TROUBLE_MAX_CHARS: Final = 1_000
_LINE_MAX_BYTES: Final = 16 * 1024 * 1024
_MARK_MAX: Final = 8
_COUNT_MAX: Final = 2**40
_FIELDS: Final = 6
_POLL_EVERY: Final = 256


class RepoMapIndexError(ToolExecutionError):
    """Bytes that are no index, or no whole one, or of another version; the text says which. Build the index anew."""


def serialize_repo_map_index(index: RepoMapIndex) -> bytes:
    """The index as bytes; the same index gives the same bytes.

    Raises:
        RepoMapIndexError: it is larger than ``RETRIEVAL_INDEX_MAX_BYTES``.
    """
    head = {"parser": index.parser, "pending": index.pending, "beyond": index.beyond, "files": len(index.files)}
    lines = [b"%s%d" % (_MAGIC, VERSION), _json(head)]
    size = sum(map(len, lines)) + len(lines) + len(_proof(b""))
    for path in sorted(index.files):
        line = _json(_plain(path, index.files[path]))
        size += len(line) + 1
        if size > RETRIEVAL_INDEX_MAX_BYTES or len(line) > _LINE_MAX_BYTES:
            raise RepoMapIndexError(f"the index has more than {RETRIEVAL_INDEX_MAX_BYTES} bytes; index a part of it.")
        lines.append(line)
    body = b"\n".join(lines) + b"\n"
    return body + _proof(body)


def deserialize_repo_map_index(data: bytes, token: CancellationToken | None = None) -> RepoMapIndex:
    """The way back; ``token`` is polled, for a large index takes seconds.

    Raises:
        RepoMapIndexError: the bytes are no index, of an unknown version, cut, or changed.
        ToolCancelledError: the token was cancelled.
    """
    if len(data) > RETRIEVAL_INDEX_MAX_BYTES:
        raise RepoMapIndexError(f"an index of {len(data)} bytes is too large; build it anew.")
    first, _, _ = data[: len(_MAGIC) + 20].partition(b"\n")
    if not first.startswith(_MAGIC):
        raise RepoMapIndexError("this is no index of a code base; build it anew.")
    version = first[len(_MAGIC) :]
    if version != b"%d" % VERSION:
        known = version.decode("ascii", "replace")[:20]
        raise RepoMapIndexError(f"the index is of version {known!r}, and known is {VERSION}; build it anew.")
    at = data.rfind(b"\n") + 1
    if at == 0 or _proof(data[:at]) != data[at:]:
        raise RepoMapIndexError("the index is cut or damaged; build it anew.")
    try:
        return _index(data[:at].split(b"\n")[1:-1], token)
    except (ValueError, TypeError, KeyError, RecursionError, binascii.Error) as error:
        why = str(error)[:100] if isinstance(error, NotPlainError) else type(error).__name__
        raise RepoMapIndexError(f"the index holds what is none ({why}); build it anew.") from None


def _proof(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=32).hexdigest().encode()


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _plain(path: str, file: IndexedFile) -> list[Any]:
    return [
        path,
        None if file.mark is None or file.may_pass else list(file.mark),
        base64.b64encode(b"" if file.may_pass else file.digest).decode(),  # that much is true of one session
        file.language,
        file.trouble,
        symbols_as_plain(file.symbols),
    ]


def _index(lines: list[bytes], token: CancellationToken | None) -> RepoMapIndex:
    head = json.loads(lines[0])
    if not isinstance(head, dict):
        raise NotPlainError("no head")
    named = cast("dict[str, Any]", head)
    count = _count(named["files"])
    if count != len(lines) - 1 or count > RETRIEVAL_MAX_FILES:
        raise NotPlainError("a wrong number of files")
    files: dict[str, IndexedFile] = {}
    for number, line in enumerate(lines[1:]):
        if token is not None and number % _POLL_EVERY == 0 and token.cancelled:
            raise ToolCancelledError("the kept index was being read: cancelled, and stopped.")
        if len(line) > _LINE_MAX_BYTES:
            raise NotPlainError("a line is too long")
        path, file = _file(json.loads(line))
        files[path] = file
    if len(files) != count:
        raise NotPlainError("a file twice")
    return RepoMapIndex(
        _text(named["parser"], _FINGERPRINT_MAX_CHARS), files, _count(named["pending"]), _count(named["beyond"])
    )


def _file(plain: Any) -> tuple[str, IndexedFile]:
    if not isinstance(plain, list) or len(cast("list[Any]", plain)) != _FIELDS:
        raise NotPlainError("no file")
    path, mark, digest, language, trouble, symbols = cast("list[Any]", plain)
    checked = _text(path, PATH_MAX_CHARS)
    if not checked or checked.startswith("/") or "\0" in checked or ".." in checked.split("/"):
        raise NotPlainError("a path that is not below the root")
    return checked, IndexedFile(
        mark=_mark(mark),
        digest=base64.b64decode(_text(digest, 100), validate=True),
        language=_text(language, 100),
        trouble=_text(trouble, _TROUBLE_MAX_CHARS),
        symbols=symbols_from_plain(symbols),
    )


def _mark(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(cast("list[Any]", value)) > _MARK_MAX:
        raise NotPlainError("no mark")
    numbers = cast("list[Any]", value)
    if not all(type(number) is int for number in numbers):
        raise NotPlainError("no mark")
    return tuple(cast("list[int]", numbers))


def _text(value: Any, most: int) -> str:
    if type(value) is not str or len(value) > most:
        raise NotPlainError("a text is missing or too long")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _COUNT_MAX:
        raise NotPlainError("no count")
    return value
