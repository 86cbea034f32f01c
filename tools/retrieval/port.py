"""What retrieval asks of others: an adapter for the part of a code base that matters, a parser for a file's symbols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..contract import CancellationToken, Unreadable
    from ..ports import ProgressPort


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalQuery:
    """What is looked for.

    Attributes:
        text: the question in words; may be empty.
        identifiers: names out of the code that have to do with it.
        active_files: paths of the files that the agent has in view, as it wrote them; relative ones start at the first
            root. They need not exist.
        roots: what ``RetrievalAdapter.roots`` gave, once the gate has admitted it.
        max_tokens: bound of the answer's text, by ``estimated_tokens`` of ``budget``.
        unreadable: paths that rules keep from being read; nothing of them may be told, and nothing come from them.
        token: polled by what takes long.
        progress: told from any thread how far what takes long has come; None where nobody wants to know.
    """

    text: str
    identifiers: tuple[str, ...] = ()
    active_files: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    max_tokens: int
    unreadable: Unreadable | None = None
    token: CancellationToken
    progress: ProgressPort | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalResult:
    """What was found.

    Attributes:
        text: for the model, within the query's ``max_tokens``; empty where nothing was found.
        shown: how many symbols, or whatever the adapter ranks, ``text`` shows; ``found`` how many there were to show.
        files: how many files were searched.
        notes: what the answer lacks, one sentence part each: what was not parsed, is stale, or was left out. The most
            important comes first, because the end may be cut.
    """

    text: str
    shown: int
    found: int
    files: int
    notes: tuple[str, ...] = ()


class RetrievalAdapter(Protocol):
    """Finds what matters in a code base. It is asked for, and answers, within the roots that it was made for."""

    async def roots(self, token: CancellationToken) -> tuple[str, ...]:
        """The directories of this machine that it would read, as canonical paths; none where it reads none.

        Nothing below them is looked at for that. The gate is asked about them.

        Raises:
            ToolFailure: one is not to be had; the text says why and what to do.
        """
        ...

    async def retrieve(self, query: RetrievalQuery) -> RetrievalResult:
        """Find the part of the code base that matters most for the query, within its budget.

        Must not block the event loop, and ends within a bounded time.

        Raises:
            ToolFailure: it cannot be told; the text says why and what to do.
            PlanOutdatedError: its roots are other ones by now than those of the query.
            ToolCancelledError: the query's token was cancelled; the work has stopped.
        """
        ...


class Definition(NamedTuple):
    """A definition in a file. Lines count from 1.

    ``owner`` is the place of the innermost definition that encloses it in the file's list, or -1; owners come before
    what they enclose. ``text`` is the beginning of the definition on one line.
    """

    name: str
    kind: str
    line: int
    end_line: int
    owner: int
    text: str


Reference: TypeAlias = "tuple[int, str, int]"
"""A name that is used in a file: inside of which definition (as ``Definition.owner``), the name, how many times.

Plain tuples: an index has hundreds of thousands, and the garbage collector passes over those that hold no others.
"""


@dataclass(frozen=True, slots=True)
class FileSymbols:
    """What a parser found in one file: definitions by line, references, and the last names of what is imported."""

    definitions: tuple[Definition, ...] = ()
    references: tuple[Reference, ...] = ()
    imports: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file to be parsed."""

    path: str
    language: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Parsed:
    """What became of one file; ``trouble`` says why there are no symbols, and is "" where there are.

    ``may_pass``: it need not be the file's fault, so that it is worth another try in another session.
    """

    path: str
    symbols: FileSymbols | None = None
    trouble: str = ""
    may_pass: bool = False


class SymbolParser(Protocol):
    """Finds definitions and references. Whatever a file holds, it ends, and says so of that file alone."""

    @property
    def fingerprint(self) -> str:
        """What tells its symbols from those of another version; an index made by another one is made anew."""
        ...

    def language_of(self, path: str) -> str | None:
        """The language of a file by its name; None for what is no source, or of a language that it cannot parse."""
        ...

    def parse(self, sources: Iterable[SourceText], token: CancellationToken) -> Iterator[Parsed]:
        """Parse files; blocks. Each comes out once, in any order.

        Raises:
            ToolCancelledError: the token was cancelled; what was started for it has ended.
            ToolFailure: it can parse nothing now, whatever the file; the text says why.
        """
        ...
