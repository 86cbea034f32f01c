"""The parser of the extra ``openbuffer[retrieval]``: tree-sitter with the grammars that are installed.

Files are parsed by processes that can be killed. One in which a grammar hangs, crashes or takes too much memory is told
as such, and all others are parsed nevertheless.
"""

from __future__ import annotations

import functools
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import util
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from ..errors import ToolCancelledError, ToolFailure
from ..limits import RETRIEVAL_BATCH_TIMEOUT_S, RETRIEVAL_FILE_TIMEOUT_S, RETRIEVAL_HANGS_MAX
from ..retrieval.plain import NotPlainError, symbols_from_plain
from ..retrieval.port import Parsed
from ..support.isolated_process import (
    IsolatedProcesses,
    ProcessCancelledError,
    ProcessFailedError,
    ProcessTimedOutError,
)
from .tree_sitter_tags import GRAMMARS, TAGS_VERSION
from .tree_sitter_worker import START, order_frame, read_answer, wait_until_begun

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..contract import CancellationToken
    from ..retrieval.port import SourceText
    from ..support.isolated_process import Exchange

_BATCH_FILES: Final = 48
_BATCH_BYTES: Final = 512 * 1024
_PROCESSES_MAX: Final = 4
_START_TIMEOUT_S: Final = 30.0
_NOT_TRIED: Final = "not tried: too many others could not be parsed"


class TreeSitterParser:
    """A ``SymbolParser``. Nothing is started before the first file is parsed; may be used from several threads.

    ``languages`` are those that it knows, of ``tree_sitter_tags.GRAMMARS``; None takes all whose grammar is installed.
    A file for which ``file_timeout_s`` seconds do not suffice has no symbols.
    """

    def __init__(
        self, *, languages: Iterable[str] | None = None, file_timeout_s: float = RETRIEVAL_FILE_TIMEOUT_S
    ) -> None:
        self._wanted = None if languages is None else frozenset(languages)
        self._file_timeout_s = file_timeout_s
        self._processes = IsolatedProcesses(START, ("LANG", "LC_ALL", "LC_CTYPE", "PYTHONUTF8"))

    @functools.cached_property
    def languages(self) -> frozenset[str]:
        """The languages that it can parse."""
        there = installed_languages()
        return there if self._wanted is None else there & self._wanted

    @property
    def fingerprint(self) -> str:
        """Our queries with the releases of the library and the grammars."""
        return self._fingerprint

    @functools.cached_property
    def _fingerprint(self) -> str:
        modules = sorted({GRAMMARS[language].module for language in self.languages})
        releases = " ".join(f"{module.removeprefix('tree_sitter_')}={_release(module)}" for module in modules)
        return f"tree-sitter tags={TAGS_VERSION} core={_release('tree_sitter')} {releases}"

    def language_of(self, path: str) -> str | None:
        """The language of a file by its name, if its grammar is there."""
        name = path.rpartition("/")[2]
        start, dot, suffix = name.rpartition(".")
        language = _BY_NAME.get(name) or (_BY_SUFFIX.get(f"{dot}{suffix.lower()}") if start else None)
        return language if language in self.languages else None

    def parse(self, sources: Iterable[SourceText], token: CancellationToken) -> Iterator[Parsed]:
        """Parse files; blocks. Each comes out once, in the order in which they came.

        Raises:
            ToolCancelledError: the token was cancelled, and what parsed has ended.
            ToolFailure: no process can be started, so that no file can be parsed now.
        """
        batches = _batches(sources)
        first = list(_taken(batches, 2))
        patience = _Patience()
        if len(first) < 2:
            for batch in first:
                yield from self._parsed(batch, token, patience)
            return
        processes = _process_count()
        waiting: deque[Future[list[Parsed]]] = deque()
        with ThreadPoolExecutor(processes, thread_name_prefix="openbuffer-parse") as pool:
            try:
                for batch in chain(first, batches):
                    waiting.append(pool.submit(self._parsed, batch, token, patience))
                    if len(waiting) > processes:
                        yield from waiting.popleft().result()
                while waiting:
                    yield from waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def close(self) -> None:
        """End the processes that wait for files."""
        self._processes.close()

    def _parsed(self, batch: list[SourceText], token: CancellationToken, patience: _Patience) -> list[Parsed]:
        found: dict[str, Parsed] = {}
        left = [source for source in batch if source.language not in patience.unloadable]
        if left:
            try:
                found = {each.path: each for each in self._parsed_together(left, token, patience)}
            except _NotBegunError as failure:
                languages = {source.language for source in left}
                if len(languages) == 1:
                    patience.unloadable[languages.pop()] = str(failure)
                for language in sorted(languages):
                    part = [source for source in left if source.language == language]
                    found.update((each.path, each) for each in self._parsed(part, token, patience))
        return [found.get(source.path) or _unloadable(source, patience) for source in batch]

    def _parsed_together(self, batch: list[SourceText], token: CancellationToken, patience: _Patience) -> list[Parsed]:
        is_single = len(batch) == 1
        try:
            timeout_s = self._file_timeout_s if is_single else max(RETRIEVAL_BATCH_TIMEOUT_S, self._file_timeout_s)
            return self._asked(batch, token, timeout_s)
        except ProcessCancelledError:
            raise ToolCancelledError("the code base was being parsed: cancelled, and stopped.") from None
        except ProcessTimedOutError:
            trouble = f"parsing it takes more than {self._file_timeout_s:g} seconds"
        except ProcessFailedError as failure:
            trouble = "parsing it needs too much memory" if failure.needed_memory else f"the parser failed: {failure}"
        if is_single:
            patience.hangs += 1
            return [Parsed(batch[0].path, trouble=trouble, may_pass=True)]
        # Which of them it was is found out by parsing them one by one.
        alone: list[Parsed] = []
        for source in batch:
            if patience.hangs >= RETRIEVAL_HANGS_MAX:
                alone.append(Parsed(source.path, trouble=_NOT_TRIED, may_pass=True))
            else:
                alone += self._parsed([source], token, patience)
        return alone

    def _asked(self, batch: list[SourceText], token: CancellationToken, timeout_s: float) -> list[Parsed]:
        has_begun = False

        def ask(exchange: Exchange) -> list[Any]:
            nonlocal has_begun
            exchange.send(order_frame(batch))
            wait_until_begun(exchange.receive)
            has_begun = True
            # What the start of a process takes on a busy machine is no file's fault.
            exchange.allow(timeout_s)
            return read_answer(exchange.receive, len(batch))

        try:
            answers = self._processes.use(ask, token, _START_TIMEOUT_S)
        except ProcessTimedOutError:
            if has_begun:
                raise
            raise _NotBegunError(f"it takes more than {_START_TIMEOUT_S:g} seconds") from None
        except ProcessFailedError as failure:
            if failure.code is None:
                raise ToolFailure(
                    f"the parser cannot be started ({failure}), so that nothing was indexed."
                ) from failure
            if has_begun:
                raise
            raise _NotBegunError("the process has ended") from failure
        return [_result(source.path, answer) for source, answer in zip(batch, answers, strict=True)]


def installed_languages() -> frozenset[str]:
    """The languages whose grammars are installed, with tree-sitter itself; none without it."""
    if not _is_installed("tree_sitter"):
        return frozenset()
    return frozenset(name for name, grammar in GRAMMARS.items() if _is_installed(grammar.module))


class _NotBegunError(Exception):
    """The process did not come so far that it could begin with the first file; the text says why."""


class _Patience:
    """How many files could not be parsed within one call, each of which costs seconds; and the languages, with why,
    whose grammars could not be loaded.
    """

    def __init__(self) -> None:
        self.hangs = 0
        self.unloadable: dict[str, str] = {}


def _unloadable(source: SourceText, patience: _Patience) -> Parsed:
    why = patience.unloadable[source.language]
    return Parsed(source.path, trouble=f"its grammar cannot be loaded ({why})", may_pass=True)


def _result(path: str, answer: Any) -> Parsed:
    if isinstance(answer, str):
        return Parsed(path, trouble=answer)
    try:
        return Parsed(path, symbols_from_plain(answer))
    except NotPlainError as error:
        return Parsed(path, trouble=f"the parser gave a wrong answer ({error})")


def _batches(sources: Iterable[SourceText]) -> Iterator[list[SourceText]]:
    batch: list[SourceText] = []
    size = 0
    for source in sources:
        batch.append(source)
        size += len(source.content)
        if len(batch) >= _BATCH_FILES or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _taken(batches: Iterator[list[SourceText]], count: int) -> Iterator[list[SourceText]]:
    for _ in range(count):
        batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _process_count() -> int:
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(there, _PROCESSES_MAX)


@functools.cache
def _is_installed(module: str) -> bool:
    return util.find_spec(module) is not None


def _release(module: str) -> str:
    from importlib import metadata  # noqa: PLC0415  it loads half of the mail package

    try:
        return metadata.version(module.replace("_", "-"))
    except metadata.PackageNotFoundError:
        return "unknown"


_BY_SUFFIX: Final = {suffix: name for name, grammar in GRAMMARS.items() for suffix in grammar.suffixes}
_BY_NAME: Final = {file: name for name, grammar in GRAMMARS.items() for file in grammar.names}
