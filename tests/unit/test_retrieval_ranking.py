"""Ranks: those of PageRank, the same whatever came before, and shown within the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openbuffer.tools.contract import CancellationToken
from openbuffer.tools.errors import ToolCancelledError
from openbuffer.tools.retrieval import ranking
from openbuffer.tools.retrieval.budget import estimated_tokens, lines_within
from openbuffer.tools.retrieval.graph import SymbolGraph
from openbuffer.tools.retrieval.map_text import map_text
from openbuffer.tools.retrieval.names import words_of
from openbuffer.tools.retrieval.ranking import Interest, personalised_pagerank, ranked_definitions

from .retrieval_desk import CODE_BASES, NAMES, PATHS, Files

if TYPE_CHECKING:
    from openbuffer.tools.retrieval.graph import Node

TOKEN = CancellationToken()
INTERESTS = st.builds(
    Interest,
    text=st.sampled_from(["", "how does alpha work", "delta_beta", "the epsilon of all betas"]),
    identifiers=st.lists(NAMES, max_size=2),
    active_files=st.lists(PATHS, max_size=2),
)


def graph_of(texts: dict[str, str]) -> SymbolGraph:
    graph = SymbolGraph()
    graph.update(Files(texts).index().files)
    return graph


def ranked(graph: SymbolGraph, interest: Interest) -> list[tuple[Node, float]]:
    return [(each.node, each.rank) for each in ranked_definitions(graph, interest, TOKEN)]


def names(graph: SymbolGraph, **interest: object) -> list[str]:
    found = ranked_definitions(graph, Interest(**interest), TOKEN)  # type: ignore[arg-type]
    return [f"{path}:{key}" for path, key in (each.node for each in found)]


@pytest.mark.contract("W5")
@settings(max_examples=200)
@given(st.lists(CODE_BASES, min_size=2, max_size=4), st.lists(INTERESTS, min_size=2, max_size=2))
def test_a_graph_that_was_changed_ranks_exactly_as_one_that_is_made_anew(
    versions: list[dict[str, str]], interests: list[Interest]
) -> None:
    graph = SymbolGraph()
    before: dict[str, str] = {}
    for texts in versions:
        files = Files(texts).index().files
        changed = {path: entry for path, entry in files.items() if before.get(path) != texts[path]}
        graph.update(changed, [path for path in before if path not in texts])
        for interest in interests:  # which leaves edges behind, for the next change to be judged by
            assert ranked(graph, interest) == ranked(graph_of(texts), interest)
        before = texts


@pytest.mark.contract("W5")
@given(CODE_BASES, INTERESTS)
def test_the_order_in_which_files_come_changes_nothing(texts: dict[str, str], interest: Interest) -> None:
    turned = dict(reversed(texts.items()))
    assert ranked(graph_of(texts), interest) == ranked(graph_of(turned), interest)


@pytest.mark.contract("W5")
@given(CODE_BASES.filter(bool))
def test_ranks_are_those_of_a_walker_who_goes_back_to_the_start_now_and_then(texts: dict[str, str]) -> None:
    graph = graph_of(texts)
    nodes: list[Node] = [(path, key) for path, file in graph.files.items() for key in ("", *file.keys)]
    starts = [(node, 1.0 + place) for place, node in enumerate(nodes[:3])]
    total = sum(weight for _, weight in starts)
    start = {node: weight / total for node, weight in starts}
    exact = dict.fromkeys(nodes, 0.0)
    for _ in range(80):  # power iteration over all of it
        flow = dict.fromkeys(nodes, 0.0)
        for node in nodes:
            for target, share in graph.edges(node):
                flow[target] += exact[node] * share
        exact = {node: ranking.RESTART * start.get(node, 0.0) + (1 - ranking.RESTART) * flow[node] for node in nodes}
    found = personalised_pagerank(graph, starts, TOKEN)
    bound = ranking.LEAST * len(nodes)
    for node in nodes:
        assert exact[node] - bound <= found.get(node, 0.0) <= exact[node] + 1e-9


@given(CODE_BASES)
def test_the_shares_of_each_node_add_up_to_all_of_its_weight(texts: dict[str, str]) -> None:
    graph = graph_of(texts)
    for path, file in graph.files.items():
        for key in ("", *file.keys):
            edges = graph.edges((path, key))
            assert not edges or sum(share for _, share in edges) == pytest.approx(1.0)
            assert all(share > 0 and target[0] in graph.files for target, share in edges)


@pytest.mark.contract("W5")
def test_what_an_active_file_uses_comes_first_and_what_is_in_it_is_left_out() -> None:
    graph = graph_of(
        {
            "active.toy": "import near\ndef here\n  wanted",
            "near.toy": "def wanted\n  helper\ndef aside",
            "far.toy": "def wanted\ndef helper",
            "other.toy": "def unrelated",
        }
    )
    found = names(graph, active_files=["active.toy"])
    assert found[0] == "near.toy:wanted", "of two definitions that of the file which is imported"
    assert "far.toy:helper" in found
    assert not any(each.startswith(("active.toy", "other.toy")) for each in found)


@pytest.mark.contract("W5")
def test_an_identifier_ranks_its_definition_first_then_what_it_uses_and_what_uses_it() -> None:
    graph = graph_of(
        {"a.toy": "def caller\n  middle", "b.toy": "def middle\n  callee", "c.toy": "def callee\ndef stranger\n  other"}
    )
    assert names(graph, identifiers=["middle"])[:3] == ["b.toy:middle", "c.toy:callee", "a.toy:caller"]
    assert names(graph, identifiers=["X.middle"])[0] == "b.toy:middle"
    assert names(graph, identifiers=["other"])[0] == "c.toy:stranger", "nothing defines it, and this uses it"


def test_words_of_the_question_find_names_that_have_them_whatever_their_ending() -> None:
    graph = graph_of({"a.toy": "def evictKeys\ndef parse_line\ndef HTTPServer", "b.toy": "def run"})
    assert names(graph, text="How are the keys evicted?")[0] == "a.toy:evictKeys"
    assert names(graph, text="What is it that parses lines?")[0] == "a.toy:parse_line"
    assert names(graph, text="parse_line")[0] == "a.toy:parse_line"
    assert words_of("HTTPServer_2x") == ["http", "serv", "2", "x"]


@pytest.mark.parametrize(
    ("interest", "first"),
    [
        ({"text": "get"}, "a.toy:get"),
        ({"text": "where is it"}, "a.toy:is_it"),
        ({"text": "do"}, "b.toy:do"),
        ({"identifiers": ["Get"]}, "a.toy:get"),
        ({"identifiers": ["Foo.IsIt"]}, "a.toy:is_it"),
        ({"text": "größe"}, "b.toy:größe"),
        ({"text": "what is имя for"}, "b.toy:имя"),
    ],
)
def test_words_that_say_little_and_names_in_other_letters_find_what_is_called_by_them(
    interest: dict[str, object], first: str
) -> None:
    graph = graph_of({"a.toy": "def get\ndef is_it\ndef get_data", "b.toy": "def do\ndef größe\ndef имя\ndef run"})
    assert names(graph, **interest)[0] == first
    assert names(graph, text="nothing of the kind", identifiers=["Missing"]) == []


@pytest.mark.contract("W5")
def test_a_word_that_is_in_every_name_finds_some_of_them() -> None:
    graph = graph_of({f"{n}.toy": f"def data_{n}x\n  data\ndef data" for n in range(300)})
    for interest in ({"text": "data"}, {"identifiers": ["data"]}, {"text": "get the data"}):
        assert len(names(graph, **interest)) > 40


def test_a_definition_in_a_test_ranks_lower_unless_tests_are_what_it_is_about() -> None:
    graph = graph_of({"tests/a.toy": "def alpha", "z.toy": "def alpha"})
    assert names(graph, identifiers=["alpha"]) == ["z.toy:alpha", "tests/a.toy:alpha"]
    assert names(graph, identifiers=["alpha"], text="which test") == ["tests/a.toy:alpha", "z.toy:alpha"]


def test_without_a_question_the_most_used_definitions_come_first() -> None:
    texts = {f"{number}.toy": f"def own{number}\n  common" for number in range(5)}
    assert names(graph_of({**texts, "z.toy": "def common"}))[0] == "z.toy:common"
    assert names(graph_of({})) == []


def test_a_name_of_one_language_is_not_that_of_another() -> None:
    graph = graph_of({"a.toy": "def caller\n  shared", "b.yot": "def shared"})
    assert names(graph, active_files=["a.toy"]) == []


def test_a_cancelled_ranking_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "_POLL_EVERY", 0)
    token = CancellationToken()
    token.cancel()
    graph = graph_of({"a.toy": "def a\n  b\ndef b\n  a"})
    with pytest.raises(ToolCancelledError):
        ranked_definitions(graph, Interest(identifiers=["a"]), token)


def test_the_work_of_one_ranking_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of({"a.toy": "\n".join(f"def f{n}\n  f{(n * 7 + 1) % 200}\n  f{(n * 3) % 200}" for n in range(200))})
    monkeypatch.setattr(ranking, "PUSHES_MAX", 50)
    assert 0 < len(ranked(graph, Interest(identifiers=["f1"]))) <= 60


# --- the text ----------------------------------------------------------------------------------------------


@pytest.mark.contract("W5")
@given(CODE_BASES, INTERESTS, st.integers(0, 120))
def test_a_map_never_has_more_tokens_than_it_may(texts: dict[str, str], interest: Interest, most: int) -> None:
    graph = graph_of(texts)
    found = map_text(graph, ranked_definitions(graph, interest, TOKEN), most)
    assert estimated_tokens(found.text) <= most
    assert found.shown <= sum(line[:1].isdigit() for line in found.text.split("\n"))


@pytest.mark.contract("W5")
def test_a_map_shows_the_first_in_rank_by_file_and_line_with_what_they_lie_in() -> None:
    graph = graph_of({"pkg/a.toy": "def outer\n  def inner\n    deep\ndef last\n  inner", "b\n.toy": "def deep"})
    order = ranked_definitions(graph, Interest(identifiers=["inner"]), TOKEN)
    assert (
        map_text(graph, order, 1_000).text == "pkg/a.toy:\n1 def outer\n2  def inner\n4 def last\nb\\n.toy:\n1 def deep"
    )
    assert map_text(graph, order, 18) == ("pkg/a.toy:\n1 def outer\n2  def inner", 2)
    assert map_text(graph, order, 3) == ("", 0)


@given(st.text(max_size=80), st.text(max_size=80))
def test_the_estimate_of_lines_is_what_each_has_and_one_for_a_line_end(one: str, other: str) -> None:
    assert estimated_tokens(f"{one}\n{other}") == estimated_tokens(one) + 1 + estimated_tokens(other)
    assert estimated_tokens(one) <= max(1, len(one.encode("utf-8", "replace"))) * 1 or not one


@given(st.lists(st.text(max_size=20)), st.integers(-1, 40))
def test_lines_that_are_kept_fit_and_the_next_would_not(lines: list[str], most: int) -> None:
    kept = lines_within(lines, most)
    assert kept == lines[: len(kept)]
    assert estimated_tokens("\n".join(kept)) <= max(0, most)
    if len(kept) < len(lines):
        assert estimated_tokens("\n".join(lines[: len(kept) + 1])) > most
