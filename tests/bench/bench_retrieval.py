"""CodebaseRetrieval beside aider's repository map: how fast, and how often what was asked for is found. See README.md.

Speed is of 2,000 files of Python and JavaScript. "one change" is a function added to a file that lies in the middle;
"brought up to date" is that without ranking and showing. aider is told to map anew at every query, because it would
else show the same map again whatever has changed. Quality is of thirty questions about four code bases: whether the
wanted definition is in the first 1,000 tokens of the answer, by one tokenizer for both (without aider by our own
estimate); once with the question in words, which both get, and once with active files and identifiers alone.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import Goal, NotMeasuredError, Row, interleave, parse_options, print_table, scratch_folder
from openbuffer.tools.adapters.tree_sitter_parser import TreeSitterParser
from openbuffer.tools.builtin.codebase_retrieval import create_retrieval_tool
from openbuffer.tools.contract import CancellationToken
from openbuffer.tools.retrieval.budget import estimated_tokens, lines_within
from openbuffer.tools.retrieval.port import RetrievalQuery
from openbuffer.tools.retrieval.repo_map import RepoMapRetrievalAdapter
from peers import HERE, JsonLines
from retrieval_questions import QUESTIONS
from retrieval_trees import REPOSITORIES, repository, speed_tree

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from retrieval_questions import Question

OURS = "openbuffer"
AIDER = "aider"
OURS_WORDLESS = "openbuffer, no words"
AIDER_WORDLESS = "aider, no words"
FIRST_TOKENS = 1_000
SPEED_ACTIVE = "Django/django/contrib/admin/sites.py"
CHANGED = "Django/django/core/paginator.py"
SPEED_QUESTIONS = (
    ("How does the admin site register models?", "ModelAdmin"),
    ("Where are querysets filtered by lookups?", "QuerySet"),
    ("What renders the form fields of the admin?", "AdminForm"),
    ("How is a view protected against cross-site request forgery?", "csrf_protect"),
)


class Ours:
    """The tool on one code base."""

    def __init__(self, root: Path, state: Path, parser: TreeSitterParser) -> None:
        self._root = root
        self.adapter = RepoMapRetrievalAdapter(roots=root, parser=parser, state_directory=state)
        self._tool = create_retrieval_tool(adapter=self.adapter)

    async def ask(self, text: str, active: tuple[str, ...], identifiers: tuple[str, ...], tokens: int) -> str:
        """The answer of the tool."""
        result = await self._tool.execute(
            {
                "query": text,
                "activeFiles": [str(self._root / path) for path in active],
                "identifiers": list(identifiers),
                "tokenBudget": tokens,
            }
        )
        if result.invocation is None or not result.invocation.success:
            raise NotMeasuredError(str(result.invocation and result.invocation.error))
        return result.invocation.output


class Aider:
    """aider in a process of its own, on a copy of the code base, because it keeps its cache in there."""

    def __init__(self, peers: Path | None, root: Path) -> None:
        python = None if peers is None else peers / "aider/bin/python"
        if python is None or not python.exists():
            raise NotMeasuredError("not installed")
        self._process = JsonLines([str(python), str(HERE / "peer_aider.py"), str(root)])

    def ask(self, op: str, **order: Any) -> dict[str, Any]:
        """One order; the answer, or why there is none."""
        answer = self._process.ask({"op": op, **order})
        if "reason" in answer:
            raise NotMeasuredError(answer["reason"])
        return answer

    def close(self) -> None:
        """End it."""
        self._process.close()


async def main() -> None:
    """Speed, then quality."""
    options = parse_options(__doc__)
    with scratch_folder() as scratch:
        await speed(options.peers, scratch, options.rounds(5))
        await quality(options.peers, scratch)


async def speed(peers: Path | None, scratch: Path, rounds: int) -> None:
    """Four tables: cold, warm, after one change, and the change alone."""
    tree, copy = scratch / "tree", scratch / "copy"
    for each in (tree, copy):
        shutil.copytree(speed_tree(), each)
    await asyncio.sleep(
        3
    )  # what was written this moment cannot be told from what changes now, and is read at each query
    parser = TreeSitterParser()
    warm = Ours(tree, scratch / "state", parser)
    try:
        aider: Aider | NotMeasuredError = Aider(peers, copy)
    except NotMeasuredError as error:
        aider = error
    numbers = itertools.count()
    try:
        rows = [Row(OURS, cold(tree, scratch)), Row(AIDER, asked(aider, "cold"), max_samples=2)]
        await interleave(rows, rounds)
        print_table("cold: the first query of 2,000 files", rows, base=OURS, goals=[Goal(OURS, 0.2, AIDER)])
        rows = [Row(OURS, timed(warm)), Row(AIDER, asked(aider, "warm"), max_samples=5)]
        await interleave(rows, rounds * 3)
        print_table("warm: a further query", rows, base=OURS, goals=[Goal(OURS, 50)])
        rows = [
            Row(OURS, timed(warm, lambda: change(tree, numbers))),
            Row(AIDER, asked(aider, "warm", lambda: change(copy, numbers)), max_samples=5),
        ]
        await interleave(rows, rounds * 3)
        print_table("one change: a query after a file was changed", rows, base=OURS, goals=[Goal(OURS, 50)])
        rows = [Row(OURS, brought_up_to_date(warm, tree, numbers))]
        await interleave(rows, rounds * 3)
        print_table("one change: the index brought up to date", rows, base=OURS, goals=[Goal(OURS, 20)])
    finally:
        parser.close()
        if isinstance(aider, Aider):
            aider.close()


def cold(tree: Path, scratch: Path) -> Callable[[], Awaitable[float]]:
    """Everything is new: adapter, parser with its processes, kept index."""

    async def once() -> float:
        parser = TreeSitterParser()
        with tempfile.TemporaryDirectory(dir=scratch) as state:
            start = time.perf_counter()
            await Ours(tree, Path(state), parser).ask(*speed_question(0), FIRST_TOKENS)
            seconds = time.perf_counter() - start
        parser.close()
        return seconds

    return once


def timed(ours: Ours, before: Callable[[], None] | None = None) -> Callable[[], Awaitable[float]]:
    """Further queries, one question after the other."""
    numbers = itertools.count()

    async def once() -> float:
        if before is not None:
            before()
        start = time.perf_counter()
        await ours.ask(*speed_question(next(numbers)), FIRST_TOKENS)
        return time.perf_counter() - start

    return once


def brought_up_to_date(ours: Ours, tree: Path, numbers: itertools.count[int]) -> Callable[[], Awaitable[float]]:
    """The part of a query that looks for changes and takes them over."""

    async def once() -> float:
        roots = await ours.adapter.roots(CancellationToken())
        query = RetrievalQuery(text="", roots=roots, max_tokens=1, token=CancellationToken())
        change(tree, numbers)
        start = time.perf_counter()
        ours.adapter.bring_up_to_date(query)
        return time.perf_counter() - start

    return once


def asked(
    aider: Aider | NotMeasuredError, op: str, before: Callable[[], None] | None = None
) -> Callable[[], Awaitable[float]]:
    """The same of aider, which takes its own time."""
    numbers = itertools.count()

    async def once() -> float:
        if isinstance(aider, NotMeasuredError):
            raise aider
        if before is not None:
            before()
        text, active, identifiers = speed_question(next(numbers))
        return aider.ask(op, text=text, active=list(active), identifiers=list(identifiers))["seconds"]

    return once


def speed_question(number: int) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """One after the other."""
    text, identifier = SPEED_QUESTIONS[number % len(SPEED_QUESTIONS)]
    return text, (SPEED_ACTIVE,), (identifier,)


def change(tree: Path, numbers: itertools.count[int]) -> None:
    """Another function at the end of a file."""
    path = tree / CHANGED
    number = next(numbers)
    text = path.read_text(encoding="utf-8").partition("\n\n\ndef added_")[0]
    path.write_text(f"{text}\n\n\ndef added_{number}(form):\n    return Paginator(form)\n", encoding="utf-8")


async def quality(peers: Path | None, scratch: Path) -> None:
    """Thirty questions, with their words and without."""
    found: dict[str, set[Question]] = {name: set() for name in (OURS, AIDER, OURS_WORDLESS, AIDER_WORDLESS)}
    absent = ""
    asked_of: list[Question] = []
    estimates: list[float] = []
    for name in REPOSITORIES:
        try:
            tree = repository(name)
        except NotMeasuredError as error:
            print(f"\n{error}")
            continue
        copy = scratch / name
        shutil.copytree(tree, copy)
        parser = TreeSitterParser()
        ours = Ours(tree, scratch / "state", parser)
        try:
            aider = Aider(peers, copy)
        except NotMeasuredError as error:
            aider, absent = None, str(error)
        try:
            for question in (each for each in QUESTIONS if each.repository == name):
                asked_of.append(question)
                for words, own, other in ((question.text, OURS, AIDER), ("", OURS_WORDLESS, AIDER_WORDLESS)):
                    text = await ours.ask(words, question.active, question.identifiers, FIRST_TOKENS)
                    first = "\n".join(lines_within(text.split("\n"), FIRST_TOKENS))
                    if aider is not None:
                        answer = aider.ask("first", text=text)
                        estimates.append(estimated_tokens(text) / answer["tokens"])
                        first = answer["text"]
                        if shows(asked_aider(aider, question, words), question):
                            found[other].add(question)
                    if shows(first, question):
                        found[own].add(question)
        finally:
            parser.close()
            if aider is not None:
                aider.close()
    report(asked_of, found, absent, estimates)


def asked_aider(aider: Aider, question: Question, words: str) -> str:
    """The first tokens of its map."""
    order = {"text": words, "active": list(question.active), "identifiers": list(question.identifiers)}
    return aider.ask("first", text=aider.ask("query", **order)["text"])["text"]


def shows(text: str, question: Question) -> bool:
    """Whether one of the wanted definitions stands below the name of its file."""
    at = ""
    for line in text.split("\n"):
        if line.endswith(":") and line[:1] not in {" ", "│", "⋮"} and not line[:1].isdigit():
            at = line[:-1]
        elif any(path == at and wanted in line for path, wanted in question.wanted):
            return True
    return False


def report(asked_of: list[Question], found: dict[str, set[Question]], absent: str, estimates: list[float]) -> None:
    """Print what was found, by code base and question."""
    width = max(map(len, found))
    print("\nthe wanted definition is in the first 1,000 tokens")
    print(f"{'':{width}}" + "".join(f"{name:>10}" for name in (*REPOSITORIES, "all", "of")))
    for who, questions in found.items():
        if absent and who.startswith(AIDER):
            print(f"{who:{width}}  {absent}")
            continue
        counts = [sum(each.repository == name for each in questions) for name in REPOSITORIES]
        print(f"{who:{width}}" + "".join(f"{count:10}" for count in (*counts, len(questions), len(asked_of))))
    for question in asked_of:
        marks = "".join("x" if question in questions else "." for questions in found.values())
        print(f"  {marks}  {question.repository}: {question.text}")
    if estimates:
        span = f"{min(estimates):.2f} to {max(estimates):.2f}"
        print(f"our estimate of the tokens of our answers, to those that the tokenizer makes: {span}")
    if not absent:
        for own, other in ((OURS, AIDER), (OURS_WORDLESS, AIDER_WORDLESS)):
            verdict = "met" if len(found[own]) >= len(found[other]) else "MISSED"
            print(f"goal: {own} at least as often as {other}: {verdict}")


if __name__ == "__main__":
    asyncio.run(main())
