"""The retrieval adapter that comes with openbuffer: a map of the definitions that matter most for a query."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from ..errors import PlanOutdatedError, ToolCancelledError, ToolFailure
from ..limits import RETRIEVAL_BUILD_TIMEOUT_S
from ..support.blocking import run_blocking
from ..support.ignore_rules import leaves_out
from ..support.left_out import counted
from ..support.located import printable
from ..support.paths import CwdInput, Roots
from ..support.walk import PRUNED
from .graph import SymbolGraph
from .index import IndexedFile, RepoMapIndex, SourceFile, index_files, update_repo_map_index
from .kept_index import KeptIndexes
from .map_text import map_text
from .open_texts import open_texts
from .port import RetrievalResult
from .ranking import Interest, names_in, ranked_definitions
from .source_tree import OpenedRoot, SourceTree

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from openbuffer.editor_access.port import Document, EditorProvider

    from ..contract import CancellationToken
    from .open_texts import OpenTexts
    from .port import RetrievalQuery, SymbolParser

_SAVE_AFTER_NEWS: Final = 64  # fewer are parsed again by the next session in less time than the index takes to write
_PLACED_AT_ONCE: Final = 1_024
_TURN_S: Final = 0.05
_NAMED_MAX: Final = 5


class RepoMapRetrievalAdapter:
    """Ranks definitions by personalised PageRank (see ``ranking``) and shows the first of them within the budget.

    ``roots`` is the code base: what lies below them is indexed at the first query, and brought up to date at each, by
    stat and then by content. Of a document of ``editor`` that has unsaved text, that text counts. ``state_directory``
    keeps the index between sessions; without one it is made anew in each. After ``build_timeout_s`` seconds of parsing
    the answer is about what was parsed by then, and says so.

    Raises:
        ToolDefinitionError: ``roots`` is empty, relative or no path.
    """

    def __init__(
        self,
        *,
        roots: CwdInput,
        parser: SymbolParser,
        state_directory: str | os.PathLike[str] | None = None,
        editor: EditorProvider | None = None,
        build_timeout_s: float = RETRIEVAL_BUILD_TIMEOUT_S,
    ) -> None:
        self._roots = Roots(roots)
        self._editor = editor
        self._map = _RepoMap(
            self._roots, parser, None if state_directory is None else KeptIndexes(state_directory), build_timeout_s
        )

    async def roots(self, token: CancellationToken) -> tuple[str, ...]:
        """The roots as canonical paths; raises ToolFailure where one is not to be had."""
        return await run_blocking(token, self._map.located_roots)

    async def retrieve(self, query: RetrievalQuery) -> RetrievalResult:
        """The map for a query; see ``RetrievalAdapter``."""
        texts = await open_texts(self._editor, query, self._map.is_source)
        return await run_blocking(query.token, lambda: self._map.answer(query, texts))

    def bring_up_to_date(self, query: RetrievalQuery) -> None:
        """Index what lies below the query's roots, or what has changed there; blocks. A query does that by itself."""
        self._map.refresh(query)

    def close(self) -> None:
        """Keep what was parsed since the index was last written; blocks. A query may follow."""
        self._map.save()


@dataclass(slots=True)
class _RootMap:
    """One root: its files and their index. ``prefix`` is put before a path of it to get that in the graph."""

    path: str
    prefix: str
    tree: SourceTree
    index: RepoMapIndex
    journal: dict[str, IndexedFile] = field(default_factory=dict[str, IndexedFile])
    news_since_saved: int = 0
    save_trouble: str = ""


@dataclass(slots=True)
class _RepoMap:
    """The roots together, as one graph. Everything blocks, and one query comes after the other."""

    roots: Roots
    parser: SymbolParser
    kept: KeptIndexes | None
    build_timeout_s: float
    _canonical: dict[str, str] = field(default_factory=dict[str, str])
    _missing: tuple[str, ...] = ()
    _maps: dict[str, _RootMap] = field(default_factory=dict[str, _RootMap])
    _graph: SymbolGraph = field(default_factory=SymbolGraph)
    _unplaced: dict[str, IndexedFile | None] = field(default_factory=dict[str, "IndexedFile | None"])
    _overlay: dict[str, IndexedFile] = field(default_factory=dict[str, IndexedFile])
    _laid: dict[str, Document] = field(default_factory=dict[str, "Document"])
    _late: int = 0
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def is_source(self, path: str) -> bool:
        return self.parser.language_of(path) is not None

    def located_roots(self) -> tuple[str, ...]:
        found: dict[str, str] = {}
        failures: dict[str, ToolFailure] = {}
        for root in self.roots.given:
            try:
                with self.roots.locate(root) as located, OpenedRoot(located) as opened:
                    found[root] = opened.path
            except ToolFailure as failure:
                failures[root] = failure
        if not found:
            raise next(iter(failures.values()))
        self._canonical, self._missing = found, tuple(failures)
        return tuple(dict.fromkeys(found.values()))

    def answer(self, query: RetrievalQuery, texts: OpenTexts) -> RetrievalResult:
        with self._turn_of(query.token):
            self._bring_up_to_date(query)
            self._lay_over(texts.documents, query.token)
            return self._answer(query, texts)

    def refresh(self, query: RetrievalQuery) -> None:
        with self._turn_of(query.token):
            self._bring_up_to_date(query)

    def save(self) -> None:
        with self._turn:
            for each in self._maps.values():
                if each.news_since_saved:
                    self._save(each)

    @contextmanager
    def _turn_of(self, token: CancellationToken) -> Generator[None]:
        while not self._turn.acquire(timeout=_TURN_S):
            if token.cancelled:
                raise ToolCancelledError("another query of the code base was waited for: cancelled, and stopped.")
        try:
            yield
        finally:
            self._turn.release()

    def _bring_up_to_date(self, query: RetrievalQuery) -> None:
        for root, each in list(self._maps.items()):
            if root not in query.roots or each.prefix != _prefix(root, query.roots):
                del self._maps[root]
                self._place({}, [each.prefix + path for path in each.index.files], query.token)
        for root in query.roots:
            self._bring_root_up_to_date(root, query)

    def _bring_root_up_to_date(self, root: str, query: RetrievalQuery) -> None:
        unreadable = None if query.unreadable is None else query.unreadable.within(root)
        given = next((given for given, canonical in self._canonical.items() if canonical == root), root)
        with self.roots.locate(given) as located:
            if located.path != root:
                raise PlanOutdatedError(f"{printable(root)}: was moved or replaced since the call began.")
            with OpenedRoot(located) as opened:
                each = self._maps.get(root) or self._new_map(root, query)
                files = each.tree.look(opened, query.token, unreadable)
                above = f"{root.rstrip('/')}/"
                inner = tuple(f"{other[len(above) :]}/" for other in query.roots if other.startswith(above))
                if inner:
                    files = [file for file in files if not file.path.startswith(inner)]
                update = update_repo_map_index(
                    each.index,
                    files,
                    self.parser,
                    query.token,
                    timeout_s=self.build_timeout_s,
                    progress=query.progress,
                    journal=each.journal,
                )
        each.index = update.index
        each.journal.clear()
        each.news_since_saved += update.parsed + len(update.gone)
        changed = {each.prefix + path: update.index.files[path] for path in update.changed}
        gone = [each.prefix + path for path in update.gone]
        for path in (*changed, *gone):
            self._overlay.pop(path, None)
        self._place(changed, gone, query.token)
        if each.news_since_saved >= _SAVE_AFTER_NEWS:
            self._save(each)

    def _new_map(self, root: str, query: RetrievalQuery) -> _RootMap:
        kept = self.kept.load(root, query.token) if self.kept is not None else None
        index = kept or RepoMapIndex(self.parser.fingerprint)
        prefix = _prefix(root, query.roots)
        each = self._maps[root] = _RootMap(root, prefix, SourceTree(self.is_source), index)
        self._place({prefix + path: file for path, file in index.files.items()}, (), query.token)
        return each

    def _save(self, each: _RootMap) -> None:
        if self.kept is None:
            return
        each.save_trouble = self.kept.save(each.path, each.index)
        each.news_since_saved = 0

    def _lay_over(self, documents: Sequence[Document], token: CancellationToken) -> None:
        """Have unsaved texts in the graph, in the place of what the disk has, and no others."""
        fresh: list[SourceFile] = []
        overlay: dict[str, IndexedFile] = {}
        laid: dict[str, Document] = {}
        for document in documents:
            path = self._path_in_graph(document.path)
            if path is None or (self._on_disk(path) is None and self._is_left_out(document.path)):
                continue
            laid[path] = document
            if path in self._overlay and self._laid.get(path) == document:
                overlay[path] = self._overlay[path]
            else:
                fresh.append(SourceFile(path, None, partial(_text_of, document)))
        overlay.update(index_files(fresh, self._overlay, self.parser, token, timeout_s=self.build_timeout_s))
        self._late = len(laid) - len(overlay)
        back = {path: self._on_disk(path) for path in self._overlay if path not in overlay}
        changed = {path: file for path, file in overlay.items() if self._overlay.get(path) is not file}
        changed.update({path: file for path, file in back.items() if file is not None})
        gone = [path for path, file in back.items() if file is None]
        self._overlay, self._laid = overlay, laid
        self._place(changed, gone, token)

    def _place(self, changed: Mapping[str, IndexedFile], gone: Iterable[str], token: CancellationToken) -> None:
        """Have this in the graph; what a cancelled query did not come to is done by the next one."""
        self._unplaced.update(changed)
        self._unplaced.update(dict.fromkeys(gone))
        while self._unplaced:
            if token.cancelled:
                raise ToolCancelledError("the code base was being mapped: cancelled, and stopped.")
            part = {path: self._unplaced[path] for path in islice(self._unplaced, _PLACED_AT_ONCE)}
            self._graph.update(
                {path: file for path, file in part.items() if file is not None},
                [path for path, file in part.items() if file is None],
            )
            for path in part:
                del self._unplaced[path]

    def _is_left_out(self, path: str) -> bool:
        """Of a document that is not indexed: whether its file is not either, or would not be if there were one."""
        if os.path.lexists(path):
            return True
        root = self._root_of(path)
        return root is None or leaves_out(root, path[len(root.rstrip("/")) + 1 :], PRUNED)

    def _path_in_graph(self, path: str) -> str | None:
        """A canonical path as the graph has it; None where it lies in no root."""
        root = self._root_of(path)
        return None if root is None else self._maps[root].prefix + path[len(root.rstrip("/")) + 1 :]

    def _root_of(self, path: str) -> str | None:
        """The root that a canonical path lies in. Inner ones come before outer ones."""
        around = (root for root in self._maps if path.startswith(f"{root.rstrip('/')}/"))
        return max(around, key=len, default=None)

    def _on_disk(self, path: str) -> IndexedFile | None:
        for each in self._maps.values():
            if path.startswith(each.prefix) and (file := each.index.files.get(path[len(each.prefix) :])) is not None:
                return file
        return None

    def _answer(self, query: RetrievalQuery, texts: OpenTexts) -> RetrievalResult:
        active, unknown = self._active_files(query)
        interest = Interest(text=query.text, identifiers=query.identifiers, active_files=[*active, *unknown])
        ranked = ranked_definitions(self._graph, interest, query.token)
        shown = map_text(self._graph, ranked, query.max_tokens)
        return RetrievalResult(
            text=shown.text,
            shown=shown.shown,
            found=len(ranked),
            files=len(self._graph.files),
            notes=(*self._notes_of_query(query, unknown, is_empty=not ranked), *self._notes(texts)),
        )

    def _notes_of_query(self, query: RetrievalQuery, unknown: list[str], *, is_empty: bool) -> list[str]:
        notes: list[str] = []
        if is_empty and self._graph.files and (query.text or query.identifiers):
            notes.append("whatever has no word of the query in its name: try other words, or search the files' text")
        missing = [each for each in query.identifiers if not self._knows(each)]
        if missing:
            notes.append(f"identifiers that nothing defines or uses: {_names(missing)}")
        if unknown:
            notes.append(f"active files that are not among the indexed ones: {_names(unknown)}")
        return notes

    def _knows(self, identifier: str) -> bool:
        last = names_in(identifier)[-1:]
        return any(self._graph.definers(name) or self._graph.users(name) for name in last)

    def _active_files(self, query: RetrievalQuery) -> tuple[list[str], list[str]]:
        """Those that are in the graph, as it has them, and those that are not, as they were written."""
        known: list[str] = []
        unknown: list[str] = []
        for written in query.active_files:
            path = os.path.normpath(os.path.join(query.roots[0], written))
            for given, canonical in self._canonical.items():
                if path.startswith(f"{given}/"):
                    path = canonical + path[len(given) :]
                    break
            place = self._path_in_graph(path)
            if place is not None and place in self._graph.files:
                known.append(place)
            else:
                unknown.append(written)
        return known, unknown

    def _notes(self, texts: OpenTexts) -> list[str]:
        notes: list[str] = []
        indexes = [each.index for each in self._maps.values()]
        if self._missing:
            notes.append(f"roots that are not to be had: {', '.join(map(printable, self._missing))}")
        if pending := sum(index.pending for index in indexes):
            limit = f"{self.build_timeout_s:g} seconds"
            notes.append(f"{counted(pending, 'file', 'files')} not parsed yet ({limit} were over); call again for them")
        if beyond := sum(index.beyond for index in indexes):
            notes.append(f"{counted(beyond, 'file', 'files')} beyond the most that are indexed")
        troubled = {path: file.entry.trouble for path, file in self._graph.files.items() if file.entry.trouble}
        if troubled:
            notes.append(f"{counted(len(troubled), 'file', 'files')} that could not be parsed: {_named(troubled)}")
        if self._late:
            what = "of which the unsaved text was not parsed yet, so that of the disk counts; call again for that"
            notes.append(f"{counted(self._late, 'open document', 'open documents')} {what}")
        notes += texts.notes
        for each in self._maps.values():
            notes += each.tree.notes
            if each.save_trouble:
                notes.append(f"the index could not be kept for the next session ({each.save_trouble})")
        return notes


def _text_of(document: Document, _path: str) -> bytes:
    return document.text.encode("utf-8", "replace")


def _prefix(root: str, roots: Sequence[str]) -> str:
    """What is put before the path of a file to get that in the graph: what is in the first root has none."""
    return "" if root == roots[0] else f"{root.rstrip('/')}/"


def _names(names: Sequence[str]) -> str:
    return _first_of(map(printable, names), len(names))


def _named(troubled: Mapping[str, str]) -> str:
    return _first_of((f"{printable(path)} ({troubled[path]})" for path in sorted(troubled)), len(troubled))


def _first_of(shown: Iterable[str], count: int) -> str:
    more = f" and {count - _NAMED_MAX} more" if count > _NAMED_MAX else ""
    return ", ".join(islice(shown, _NAMED_MAX)) + more
