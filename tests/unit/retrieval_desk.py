"""A language that is parsed by a few lines of Python, code bases of it, and what is asked of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hypothesis import strategies as st
from openbuffer.tools.contract import CancellationToken
from openbuffer.tools.errors import ToolCancelledError
from openbuffer.tools.retrieval.index import SourceFile, build_repo_map_index
from openbuffer.tools.retrieval.port import Definition, FileSymbols, Parsed, RetrievalQuery

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openbuffer.tools.contract import Unreadable
    from openbuffer.tools.retrieval.index import RepoMapIndex
    from openbuffer.tools.retrieval.port import SourceText

_LINE = re.compile(r"(\s*)def (\w+)|\s*import (\w+)|\s*(\w+)")


class ToyParser:
    """``def name`` defines, ``import name`` imports, any other word uses; what is indented lies in what is above.

    Keeps the paths that it parsed.
    """

    def __init__(self, version: str = "toy") -> None:
        self.fingerprint = version
        self.parsed: list[str] = []

    def language_of(self, path: str) -> str | None:
        return {"toy": "toy", "yot": "yot"}.get(path.rpartition(".")[2])

    def parse(self, sources: Iterable[SourceText], token: CancellationToken) -> Iterator[Parsed]:
        if token.cancelled:
            raise ToolCancelledError("stopped")
        for source in sources:
            self.parsed.append(source.path)
            text = source.content.decode()
            yield Parsed(source.path, trouble="is bad") if "!" in text else Parsed(source.path, toy_symbols(text))


def toy_symbols(text: str) -> FileSymbols:
    definitions: list[Definition] = []
    uses: dict[tuple[int, str], int] = {}
    imports: list[str] = []
    owners: list[tuple[int, int]] = []
    for number, line in enumerate(text.split("\n"), 1):
        found = _LINE.match(line)
        if found is None:
            continue
        depth = len(line) - len(line.lstrip())
        while owners and owners[-1][0] >= depth:
            owners.pop()
        owner = owners[-1][1] if owners else -1
        if name := found[2]:
            owners.append((depth, len(definitions)))
            definitions.append(Definition(name, "function", number, number, owner, line.strip()))
        elif imported := found[3]:
            imports.append(imported)
        else:
            uses[owner, found[4]] = uses.get((owner, found[4]), 0) + 1
    references = tuple((owner, name, times) for (owner, name), times in uses.items())
    return FileSymbols(tuple(definitions), references, tuple(imports))


@dataclass(frozen=True)
class Files:
    """Files by their paths; the mark of one is what ``marks`` says, or its text."""

    texts: Mapping[str, str]
    marks: Mapping[str, tuple[int, ...] | None] | None = None

    def listed(self) -> list[SourceFile]:
        return [SourceFile(path, self._mark(path), lambda path: self.texts[path].encode()) for path in self.texts]

    def _mark(self, path: str) -> tuple[int, ...] | None:
        return (hash(self.texts[path]),) if self.marks is None else self.marks.get(path)

    def index(self, parser: ToyParser | None = None) -> RepoMapIndex:
        return build_repo_map_index(self.listed(), parser or ToyParser(), CancellationToken())


def query(
    text: str = "",
    *,
    roots: tuple[str, ...] = (),
    identifiers: tuple[str, ...] = (),
    active: tuple[str, ...] = (),
    max_tokens: int = 1_000,
    unreadable: Unreadable | None = None,
    token: CancellationToken | None = None,
) -> RetrievalQuery:
    return RetrievalQuery(
        text=text,
        identifiers=identifiers,
        active_files=active,
        roots=roots,
        max_tokens=max_tokens,
        unreadable=unreadable,
        token=token or CancellationToken(),
    )


NAMES = st.sampled_from(["alpha", "beta", "gamma", "delta_beta", "epsilonAlpha", "zeta"])
PATHS = st.sampled_from(["a.toy", "b.toy", "pkg/a.toy", "pkg/c.toy", "pkg/__init__.toy", "tests/b.toy", "d.yot"])


@st.composite
def toy_texts(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for _ in range(draw(st.integers(0, 7))):
        what = draw(st.sampled_from(["def {}", "  def {}", "    {}", "  {}", "{}", "import {}"]))
        lines.append(what.format(draw(NAMES)))
    return "\n".join(lines)


CODE_BASES = st.dictionaries(PATHS, toy_texts(), max_size=6)
"""Few names and few files, so that they refer to each other in many ways."""
