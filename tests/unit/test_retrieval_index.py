"""The index: brought up to date it is what it would be if built anew; as bytes it comes back whole or not at all."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools.contract import CancellationToken
from openbuffer.tools.errors import ToolCancelledError, ToolFailure
from openbuffer.tools.limits import RETRIEVAL_FILE_MAX_BYTES
from openbuffer.tools.retrieval import index_format
from openbuffer.tools.retrieval.index import (
    IndexedFile,
    RepoMapIndex,
    SourceFile,
    build_repo_map_index,
    update_repo_map_index,
)
from openbuffer.tools.retrieval.index_format import (
    RepoMapIndexError,
    deserialize_repo_map_index,
    serialize_repo_map_index,
)
from openbuffer.tools.retrieval.port import Parsed

from .retrieval_desk import CODE_BASES, Files, ToyParser

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openbuffer.tools.retrieval.port import SourceText

SOME = Files({"a.toy": "def alpha\n  beta", "pkg/b.toy": "import a\ndef beta\n  def gamma\n    alpha", "c.toy": "bad!"})


@pytest.mark.contract("W5")
@given(st.lists(CODE_BASES, min_size=1, max_size=5))
def test_an_updated_index_is_the_one_that_is_built_anew_whatever_was_before(versions: list[dict[str, str]]) -> None:
    index = RepoMapIndex("toy")
    for texts in versions:
        before = index
        update = update_repo_map_index(index, Files(texts).listed(), ToyParser(), CancellationToken())
        index = update.index
        assert index == Files(texts).index()
        other = {
            path
            for path in texts
            if path not in before.files or before.files[path].symbols != index.files[path].symbols
        }
        assert set(update.changed) == other
        assert set(update.gone) == set(before.files) - set(texts)


@pytest.mark.contract("W5")
def test_only_a_file_whose_content_changed_is_parsed_again() -> None:
    marks: dict[str, tuple[int, ...] | None] = {"a.toy": (1,), "b.toy": (1,), "c.toy": None}
    texts = {"a.toy": "def a", "b.toy": "def b", "c.toy": "def c"}
    index = Files(texts, marks).index()
    read: list[str] = []

    def listed(texts: dict[str, str], marks: dict[str, tuple[int, ...] | None]) -> list[SourceFile]:
        def reader(path: str) -> bytes:
            read.append(path)
            return texts[path].encode()

        return [SourceFile(path, marks[path], reader) for path in texts]

    parser = ToyParser()
    same = update_repo_map_index(index, listed(texts, marks), parser, CancellationToken())
    assert (same.changed, read, parser.parsed) == ((), ["c.toy"], []), "c.toy has no mark that can be relied on"
    touched = {**marks, "a.toy": (2,)}
    update = update_repo_map_index(index, listed(texts, touched), parser, CancellationToken())
    assert (update.changed, read[1:], parser.parsed) == ((), ["a.toy", "c.toy"], [])
    assert update.index.files["a.toy"].mark == (2,)
    edited = {**texts, "a.toy": "def other"}
    update = update_repo_map_index(index, listed(edited, touched), parser, CancellationToken())
    assert (update.changed, parser.parsed, update.parsed) == (("a.toy",), ["a.toy"], 1)


def test_an_index_of_another_parser_is_made_anew() -> None:
    files = Files({"a.toy": "def a"}, {"a.toy": (1,)})
    parser = ToyParser("newer")
    update = update_repo_map_index(files.index(), files.listed(), parser, CancellationToken())
    assert (parser.parsed, update.index.parser) == (["a.toy"], "newer")


@pytest.mark.contract("W5")
def test_what_cannot_be_parsed_is_listed_with_its_reason_and_stops_nothing() -> None:
    def refuses(path: str) -> bytes:
        raise ToolFailure(f"{path} went away")

    def fails(path: str) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    huge, lines = b"x" * (RETRIEVAL_FILE_MAX_BYTES + 1), b"var a=1;" * 10_000
    contents = {"huge.toy": huge, "min.toy": lines, "nul.toy": b"a\0b", "bad.toy": b"bad!", "good.toy": b"def a"}
    files = [SourceFile(path, (1,), lambda path: contents[path]) for path in contents]
    files += [SourceFile("gone.toy", (1,), refuses), SourceFile("shut.toy", (1,), fails)]
    files += [SourceFile("README.md", (1,), fails)]
    index = build_repo_map_index(files, ToyParser(), CancellationToken())
    assert {path: entry.trouble for path, entry in index.files.items()} == {
        "huge.toy": f"is larger than {RETRIEVAL_FILE_MAX_BYTES} bytes",
        "min.toy": "looks minified or generated (very long lines)",
        "nul.toy": "is binary, or in an encoding that is not parsed",
        "bad.toy": "is bad",
        "good.toy": "",
        "gone.toy": "gone.toy went away",
        "shut.toy": "cannot be read (Permission denied)",
    }
    parser = ToyParser()
    again = update_repo_map_index(
        index, [*files[:5], SourceFile("shut.toy", (1,), lambda _: b"def b")], parser, CancellationToken()
    )
    assert (again.changed, parser.parsed) == (("shut.toy",), ["shut.toy"]), "a parse that failed is not tried again"


def test_when_time_is_over_the_rest_is_left_for_the_next_update() -> None:
    files = Files({f"{number}.toy": "def a" for number in range(5)})
    index = build_repo_map_index(files.listed(), ToyParser(), CancellationToken(), timeout_s=-1)
    assert (len(index.files), index.pending) == (0, 5)
    assert update_repo_map_index(index, files.listed(), ToyParser(), CancellationToken()).index == files.index()


def test_a_cancelled_update_ends() -> None:
    token = CancellationToken()

    def cancels(_path: str) -> bytes:
        token.cancel()
        return b"def a"

    files = [SourceFile("a.toy", None, cancels), *Files({"b.toy": "def b"}).listed()]
    with pytest.raises(ToolCancelledError, match="cancelled, and stopped"):
        build_repo_map_index(files, ToyParser(), token)


@pytest.mark.contract("W5")
def test_an_update_goes_on_where_a_cancelled_one_has_ended() -> None:
    files = Files({f"{number}.toy": f"def f{number}" for number in range(9)})
    journal: dict[str, IndexedFile] = {}
    parser = ToyParser()
    for last in ("2.toy", "6.toy"):
        token = CancellationToken()

        def read(path: str, token: CancellationToken = token, last: str = last) -> bytes:
            if path == last:
                token.cancel()
            return files.texts[path].encode()

        listed = [SourceFile(path, None, read) for path in files.texts]
        with pytest.raises(ToolCancelledError):
            update_repo_map_index(RepoMapIndex("toy"), listed, parser, token, journal=journal)
    assert parser.parsed == [f"{number}.toy" for number in range(7)]
    update = update_repo_map_index(RepoMapIndex("toy"), files.listed(), parser, CancellationToken(), journal=journal)
    assert update.index == files.index()
    assert len(update.changed) == 9
    assert sorted(parser.parsed) == sorted(files.texts), "each once"


@pytest.mark.contract("W5")
@given(CODE_BASES)
def test_an_index_comes_back_from_its_bytes_as_it_was(texts: dict[str, str]) -> None:
    index = Files(texts).index()
    data = serialize_repo_map_index(index)
    assert deserialize_repo_map_index(data) == index
    assert serialize_repo_map_index(deserialize_repo_map_index(data)) == data


@pytest.mark.contract("W5")
@given(st.data())
def test_cut_or_changed_bytes_are_an_error(data: st.DataObject) -> None:
    whole = serialize_repo_map_index(SOME.index())
    at = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(RepoMapIndexError):
        deserialize_repo_map_index(whole[:at])
    with pytest.raises(RepoMapIndexError):
        deserialize_repo_map_index(whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :])


@pytest.mark.contract("W5")
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "this is no index"),
        (b"\x80\x04\x95\x10\x00", "this is no index"),
        (b"openbuffer-repo-map 2\n{}\n", "of version '2', and known is 1"),
        (b"openbuffer-repo-map 1" + b"0" * 10_000, "of version '10000000000000000000', and known is 1"),
        (b"openbuffer-repo-map 1\n", "cut or damaged"),
    ],
)
def test_what_is_no_index_or_of_an_unknown_version_is_said_to_be_that(data: bytes, why: str) -> None:
    with pytest.raises(RepoMapIndexError, match=why) as error:
        deserialize_repo_map_index(data)
    assert "build it anew" in str(error.value)


HEAD = {"parser": "p", "pending": 0, "beyond": 0, "files": 1}
FILE = ["a.toy", [1], "", "toy", "", [["a", "function", 1, 1, -1, "def a"], [[-1, "b", 2]], ["c"]]]


def sealed(head: object, *files: object) -> bytes:
    """Bytes with a proof that is right, whatever is in them."""
    body = (
        b"\n".join(
            [
                b"openbuffer-repo-map 1",
                *(part if isinstance(part, bytes) else json.dumps(part).encode() for part in (head, *files)),
            ]
        )
        + b"\n"
    )
    return body + index_format._proof(body)


def test_the_hostile_bytes_below_would_pass_if_they_were_right() -> None:
    assert list(deserialize_repo_map_index(sealed(HEAD, FILE)).files) == ["a.toy"]


def with_symbols(*parts: object) -> list[object]:
    return [*FILE[:5], list(parts)]


@pytest.mark.contract("W5")
@pytest.mark.parametrize(
    "data",
    [
        sealed([], FILE),
        sealed({**HEAD, "files": 2}, FILE),
        sealed({**HEAD, "files": 10**30}, FILE),
        sealed({**HEAD, "pending": -1}, FILE),
        sealed({**HEAD, "pending": True}, FILE),
        sealed({**HEAD, "parser": "p" * 10_000}, FILE),
        sealed({"files": 1}, FILE),
        sealed({**HEAD, "files": 2}, FILE, FILE),
        sealed(HEAD, {}),
        sealed(HEAD, FILE[:5]),
        sealed(HEAD, ["/etc/passwd", *FILE[1:]]),
        sealed(HEAD, ["a/../../b.toy", *FILE[1:]]),
        sealed(HEAD, ["a\0", *FILE[1:]]),
        sealed(HEAD, [7, *FILE[1:]]),
        sealed(HEAD, ["a.toy", ["x"], *FILE[2:]]),
        sealed(HEAD, ["a.toy", [1] * 100, *FILE[2:]]),
        sealed(HEAD, ["a.toy", [1], "not base64!", *FILE[3:]]),
        sealed(HEAD, with_symbols([], [])),
        sealed(HEAD, with_symbols(["a", "function", 1, 1, -1], [], [])),
        sealed(HEAD, with_symbols(["a", "function", 1, 1, 0, "def a"], [], [])),
        sealed(HEAD, with_symbols(["a", "function", 0, 1, -1, "def a"], [], [])),
        sealed(HEAD, with_symbols(["a", "function", 9, 1, -1, "def a"], [], [])),
        sealed(HEAD, with_symbols(["", "function", 1, 1, -1, "def a"], [], [])),
        sealed(HEAD, with_symbols([["a"], "function", 1, 1, -1, "def a"], [], [])),
        sealed(HEAD, with_symbols(["a", "function", 1, 2**40, -1, "def a"], [], [])),
        sealed(HEAD, with_symbols(["a" * 5_000, "function", 1, 1, -1, "def a"], [], [])),
        sealed(HEAD, with_symbols([], [[0, "b", 1]], [])),
        sealed(HEAD, with_symbols([], [[-2, "b", 1]], [])),
        sealed(HEAD, with_symbols([], [[-1, "b", 0]], [])),
        sealed(HEAD, with_symbols([], [[-1, "b", True]], [])),
        sealed(HEAD, with_symbols([], [[-1, "b"]], [])),
        sealed(HEAD, with_symbols([], [[-1, ["b"], 1]], [])),
        sealed(HEAD, with_symbols([], [], [None])),
        sealed(HEAD, b"[" * 100_000),
        sealed(HEAD, b'["a.toy", [' + b"9" * 10_000 + b"]]"),
        sealed(HEAD, b"\xff\xfe"),
        sealed(HEAD, b"NaN"),
    ],
)
def test_hostile_bytes_are_an_error_although_their_proof_is_right(data: bytes) -> None:
    with pytest.raises(RepoMapIndexError, match=r"holds what is none \(.{1,100}\); build it anew"):
        deserialize_repo_map_index(data)


def test_random_bytes_are_an_error() -> None:
    chance = random.Random(5)
    for _ in range(200):
        with pytest.raises(RepoMapIndexError):
            deserialize_repo_map_index(b"openbuffer-repo-map 1\n" + chance.randbytes(chance.randrange(500)))


def test_an_index_that_is_too_large_is_neither_written_nor_read(monkeypatch: pytest.MonkeyPatch) -> None:
    data = serialize_repo_map_index(SOME.index())
    monkeypatch.setattr(index_format, "RETRIEVAL_INDEX_MAX_BYTES", 100)
    with pytest.raises(RepoMapIndexError, match="more than 100 bytes"):
        serialize_repo_map_index(SOME.index())
    with pytest.raises(RepoMapIndexError, match="too large"):
        deserialize_repo_map_index(data)


class SlowParser(ToyParser):
    """Gives up on every file, which need not be the file's fault."""

    def parse(self, sources: Iterable[SourceText], token: CancellationToken) -> Iterator[Parsed]:
        for parsed in super().parse(sources, token):
            yield Parsed(parsed.path, trouble="takes too long", may_pass=True)


@pytest.mark.contract("W5")
def test_what_took_too_long_is_tried_again_by_another_session_and_not_by_this_one() -> None:
    parser, files = SlowParser(), Files({"a.toy": "def a"}, marks={"a.toy": None})
    index = files.index(parser)
    for _ in range(2):
        index = update_repo_map_index(index, files.listed(), parser, CancellationToken()).index
    assert parser.parsed == ["a.toy"]
    kept = index_format.deserialize_repo_map_index(index_format.serialize_repo_map_index(index))
    update_repo_map_index(kept, files.listed(), parser, CancellationToken())
    assert parser.parsed == ["a.toy", "a.toy"]
