"""The index of a code base: what is defined and used in each of its files. Pure: who has the files tells of them.

An update reads a file again only where its mark (size, times, identity) is another one, and parses it again only where
its content is.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from ..errors import ToolCancelledError, ToolFailure
from ..limits import RETRIEVAL_FILE_MAX_BYTES, RETRIEVAL_MAX_FILES
from .port import FileSymbols, SourceText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ..contract import CancellationToken
    from ..ports import ProgressPort
    from .port import SymbolParser

Mark: TypeAlias = "tuple[int, ...]"
"""What tells a file from a changed one without reading it; nothing but equality counts."""

_DIGEST_BYTES: Final = 16
_SNIFFED_BYTES: Final = 8_192
_LONG_LINES_FROM_BYTES: Final = 32 * 1024
_LONG_LINE_BYTES: Final = 500
_FILES_OF_A_REPORT: Final = 50


class SourceFile(NamedTuple):
    """A file as it is now, by its path below the root of the code base, with slashes.

    ``read`` gives the content of the file at that path, or raises OSError or ToolFailure. ``mark`` None: it is always
    read.
    """

    path: str
    mark: Mark | None
    read: Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """What is known of a file. ``trouble`` says why there are no symbols, and is "" where there are.

    ``mark`` None: its times are too new to be relied on, so it is read again the next time. ``digest`` is of its
    content, and empty where that could not be read. ``may_pass``: another session tries the same content again.
    """

    mark: Mark | None
    digest: bytes
    language: str
    symbols: FileSymbols = field(default_factory=FileSymbols)
    trouble: str = ""
    may_pass: bool = False


@dataclass(frozen=True, slots=True)
class RepoMapIndex:
    """The files by their paths. ``parser`` is the fingerprint of the one that made it. Nothing in it is changed.

    ``pending`` is how many files were left for the next update because time was over, ``beyond`` how many were left
    out because a code base may not have more than ``RETRIEVAL_MAX_FILES``.
    """

    parser: str
    files: Mapping[str, IndexedFile] = field(default_factory=dict[str, IndexedFile])
    pending: int = 0
    beyond: int = 0


@dataclass(frozen=True, slots=True)
class IndexUpdate:
    """An index, and what is other in it than in the one before: ``changed`` paths have other symbols, ``gone`` none."""

    index: RepoMapIndex
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    parsed: int


def build_repo_map_index(
    files: Iterable[SourceFile], parser: SymbolParser, token: CancellationToken, *, timeout_s: float | None = None
) -> RepoMapIndex:
    """Index files; blocks. See ``update_repo_map_index``."""
    return update_repo_map_index(RepoMapIndex(parser.fingerprint), files, parser, token, timeout_s=timeout_s).index


def update_repo_map_index(
    index: RepoMapIndex,
    files: Iterable[SourceFile],
    parser: SymbolParser,
    token: CancellationToken,
    *,
    timeout_s: float | None = None,
    progress: ProgressPort | None = None,
    journal: dict[str, IndexedFile] | None = None,
) -> IndexUpdate:
    """Bring an index up to date with ``files``, which are all that there are, each once; blocks.

    The result is that of ``build_repo_map_index`` with the same files, whatever was in ``index``. After ``timeout_s``
    seconds nothing more is parsed, and the rest is ``pending``. ``progress`` is told of each some dozen files. What is
    parsed is put into ``journal`` at once, and what is there is not parsed again: so an update goes on where one with
    the same parser was cancelled.

    Raises:
        ToolCancelledError: the token was cancelled.
    """
    known: Mapping[str, IndexedFile] = index.files if index.parser == parser.fingerprint else {}
    found: dict[str, IndexedFile] = {}
    beyond = 0
    fresh: list[tuple[SourceFile, str]] = []
    for file in files:
        entry = known.get(file.path)
        if entry is not None and entry.mark is not None and entry.mark == file.mark:
            found[file.path] = entry
        elif (language := parser.language_of(file.path)) is not None:
            if len(found) + len(fresh) >= RETRIEVAL_MAX_FILES:
                beyond += 1
            else:
                fresh.append((file, language))
    work = _Work(known, token, None if timeout_s is None else time.monotonic() + timeout_s, progress, journal)
    news = work.done(fresh, parser)
    found.update(news)
    changed = tuple(sorted(path for path, entry in news.items() if _is_news(entry, index.files.get(path))))
    gone = tuple(sorted(path for path in index.files if path not in found))
    result = RepoMapIndex(parser.fingerprint, found, work.pending, beyond)
    return IndexUpdate(result, changed, gone, work.parsed)


def without_passing_trouble(index: RepoMapIndex) -> RepoMapIndex:
    """The index without the files that are worth another try."""
    return replace(index, files={path: file for path, file in index.files.items() if file.digest and not file.may_pass})


def index_files(
    files: Iterable[SourceFile],
    known: Mapping[str, IndexedFile],
    parser: SymbolParser,
    token: CancellationToken,
    *,
    timeout_s: float | None = None,
) -> dict[str, IndexedFile]:
    """Index these files alone, using what is ``known`` of the same contents; blocks.

    Raises:
        ToolCancelledError: the token was cancelled.
    """
    work = _Work(known, token, None if timeout_s is None else time.monotonic() + timeout_s)
    fresh = [(file, language) for file in files if (language := parser.language_of(file.path)) is not None]
    return work.done(fresh, parser)


class _Work:
    """Reading and parsing the files of one update."""

    def __init__(
        self,
        known: Mapping[str, IndexedFile],
        token: CancellationToken,
        deadline: float | None,
        progress: ProgressPort | None = None,
        journal: dict[str, IndexedFile] | None = None,
    ) -> None:
        self.pending = 0
        self.parsed = 0
        self._known = known
        self._token = token
        self._deadline = deadline
        self._progress = progress
        self._journal = {} if journal is None else journal
        self._found: dict[str, IndexedFile] = {}
        self._read: dict[str, tuple[Mark | None, bytes, str]] = {}

    def done(self, files: list[tuple[SourceFile, str]], parser: SymbolParser) -> dict[str, IndexedFile]:
        for result in parser.parse(self._sources(files), self._token):
            mark, digest, language = self._read.pop(result.path)
            symbols = result.symbols or FileSymbols()
            entry = IndexedFile(mark, digest, language, symbols, result.trouble, result.may_pass)
            self._found[result.path] = self._journal[result.path] = entry
            self.parsed += 1
        return self._found

    def _sources(self, files: list[tuple[SourceFile, str]]) -> Iterator[SourceText]:
        for place, (file, language) in enumerate(files):
            if self._token.cancelled:
                raise ToolCancelledError("the code base was being indexed: cancelled, and stopped.")
            if self._progress is not None and place and place % _FILES_OF_A_REPORT == 0:
                told = f"{place} of {len(files)} new or changed files have been read"
                self._progress.report(told, percentage=100 * place // len(files))
            if self._deadline is not None and time.monotonic() > self._deadline:
                self.pending = len(files) - place
                return
            content = self._content(file, language)
            if content is None:
                continue
            digest = hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
            before = self._known_as(file.path, digest, language)
            if before is not None:
                self._found[file.path] = replace(before, mark=file.mark)
            elif trouble := why_not_parsed(content):
                self._found[file.path] = IndexedFile(file.mark, digest, language, trouble=trouble)
            else:
                self._read[file.path] = (file.mark, digest, language)
                yield SourceText(file.path, language, content)

    def _known_as(self, path: str, digest: bytes, language: str) -> IndexedFile | None:
        for before in (self._known.get(path), self._journal.get(path)):
            if before is not None and before.digest == digest and before.language == language:
                return before
        return None

    def _content(self, file: SourceFile, language: str) -> bytes | None:
        try:
            return file.read(file.path)
        except OSError as error:
            trouble = f"cannot be read ({error.strerror or error})"
        except ToolCancelledError:
            raise
        except ToolFailure as error:
            trouble = str(error)
        # It is tried again at every update, for the mark of a file does not tell whether it can be read.
        self._found[file.path] = IndexedFile(None, b"", language, trouble=trouble)
        return None


def why_not_parsed(content: bytes) -> str:
    """Why a content is not given to a parser, or ""."""
    size = len(content)
    if size > RETRIEVAL_FILE_MAX_BYTES:
        return f"is larger than {RETRIEVAL_FILE_MAX_BYTES} bytes"
    if b"\0" in content[:_SNIFFED_BYTES]:
        return "is binary, or in an encoding that is not parsed"
    if size > _LONG_LINES_FROM_BYTES and size > _LONG_LINE_BYTES * (content.count(b"\n") + 1):
        return "looks minified or generated (very long lines)"
    return ""


def _is_news(entry: IndexedFile, before: IndexedFile | None) -> bool:
    if before is None:
        return True
    return entry is not before and (entry.symbols, entry.trouble) != (before.symbols, before.trouble)
