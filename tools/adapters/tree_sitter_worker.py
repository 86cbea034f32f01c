"""The process that parses source files, and how the two sides speak: two lengths, JSON, and the files' bytes."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, Final, cast

from ..limits import RETRIEVAL_IDLE_S, RETRIEVAL_MEMORY_MAX_BYTES
from ..retrieval.plain import symbols_as_plain
from ..support.isolated_process import BrokenFrameError, read_exactly

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from ..retrieval.port import SourceText

START: Final = "from openbuffer.tools.adapters.tree_sitter_worker import main; main()"

_HEAD: Final = struct.Struct("!II")
_ANSWER_MAX_BYTES: Final = 256 * 1024 * 1024
_BEGUN: Final = b"\1"
_WHY_MAX_CHARS: Final = 300


def order_frame(sources: Sequence[SourceText]) -> bytes:
    """An order to parse these files, ready to be sent."""
    head = json.dumps([(source.language, len(source.content)) for source in sources]).encode()
    size = sum(len(source.content) for source in sources)
    return b"".join((_HEAD.pack(len(head), size), head, *(source.content for source in sources)))


def wait_until_begun(receive: Callable[[int], bytes]) -> None:
    """Wait until the process has all that it needs, and begins with the first file.

    Raises:
        BrokenFrameError: it ends before that.
    """
    if read_exactly(receive, 1) != _BEGUN:
        raise BrokenFrameError


def read_answer(receive: Callable[[int], bytes], count: int) -> list[Any]:
    """What became of each of ``count`` files: symbols as plain data, or a text that says why there are none.

    Raises:
        BrokenFrameError: it ends before the answer does, or is none.
    """
    size, _ = _HEAD.unpack(read_exactly(receive, _HEAD.size))
    if size > _ANSWER_MAX_BYTES:
        raise BrokenFrameError
    try:
        answer = json.loads(read_exactly(receive, size))
    except (ValueError, RecursionError):
        raise BrokenFrameError from None
    if not isinstance(answer, list) or len(cast("list[Any]", answer)) != count:
        raise BrokenFrameError
    return cast("list[Any]", answer)


def main() -> None:
    """Answer orders until there are no more, or none came for a while."""
    from ..support.isolated_life import live  # noqa: PLC0415  the other side has no use for it
    from .tree_sitter_symbols import NotParsedError, load, symbols_of  # noqa: PLC0415

    unloadable: dict[str, str] = {}

    def loaded(language: str) -> None:
        try:
            load(language)
        except Exception as error:  # noqa: BLE001  whatever a module of somebody else raises
            unloadable[language] = f"its grammar cannot be loaded ({type(error).__name__}: {error})"[:_WHY_MAX_CHARS]

    def parsed(language: str, content: bytes) -> Any:
        if language in unloadable:
            return unloadable[language]
        try:
            return symbols_as_plain(symbols_of(language, content))
        except NotParsedError as error:
            return str(error)

    def answer_next(owner: socket.socket) -> bytes | None:
        lengths = owner.recv(_HEAD.size)
        if not lengths:
            return None
        head, size = _HEAD.unpack(lengths)
        order = json.loads(read_exactly(owner.recv, head))
        contents = read_exactly(owner.recv, size)
        for language in {language for language, _ in order}:
            loaded(language)
        owner.sendall(_BEGUN)
        answers: list[Any] = []
        start = 0
        for language, length in order:
            answers.append(parsed(language, contents[start : start + length]))
            start += length
        told = json.dumps(answers).encode()
        return _HEAD.pack(len(told), 0) + told

    live(answer_next, idle_s=RETRIEVAL_IDLE_S, memory_max_bytes=RETRIEVAL_MEMORY_MAX_BYTES)
