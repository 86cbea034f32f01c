"""The map of the code base for a session; there where ``openbuffer[retrieval]`` is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from openbuffer.editor_access.port import EditorProvider
    from openbuffer.tools.contract import CancellationToken
    from openbuffer.tools.retrieval.port import RetrievalAdapter, RetrievalQuery, RetrievalResult

_OF_THE_EXTRA: Final = ("tree_sitter", "tree_sitter_python")


def session_retrieval(
    roots: tuple[str, ...], directory: Path, *, editor: EditorProvider | None, ending: ExitStack
) -> RetrievalAdapter | None:
    """The adapter for these roots, which keeps its indexes in ``directory``; None where the extra is not installed.

    What it starts is ended, and what it learnt is kept, by ``ending``; that blocks.
    """
    if any(find_spec(module) is None for module in _OF_THE_EXTRA):
        return None
    return _SessionRetrieval(roots, directory, editor, ending)


class _SessionRetrieval:
    """Loads what it is made of when it is asked first: no answer of the server waits for that."""

    def __init__(
        self, roots: tuple[str, ...], directory: Path, editor: EditorProvider | None, ending: ExitStack
    ) -> None:
        self._roots = roots
        self._directory = directory
        self._editor = editor
        self._ending = ending
        self._adapter: RetrievalAdapter | None = None

    async def roots(self, token: CancellationToken) -> tuple[str, ...]:
        return await self._made().roots(token)

    async def retrieve(self, query: RetrievalQuery) -> RetrievalResult:
        return await self._made().retrieve(query)

    def _made(self) -> RetrievalAdapter:
        if self._adapter is None:
            from openbuffer.tools.adapters.tree_sitter_parser import TreeSitterParser  # noqa: PLC0415  see the class
            from openbuffer.tools.retrieval.repo_map import RepoMapRetrievalAdapter  # noqa: PLC0415

            parser = TreeSitterParser()
            adapter = RepoMapRetrievalAdapter(
                roots=self._roots, parser=parser, state_directory=self._directory, editor=self._editor
            )
            self._ending.callback(parser.close)
            self._ending.callback(adapter.close)
            self._adapter = adapter
        return self._adapter
