"""Pages as Markdown: what is kept, what is left out, and pages that are made to harm.

``web_pages`` has pages of many kinds with what is to come of them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools.contract import CancellationToken
from openbuffer.tools.errors import ToolCancelledError
from openbuffer.tools.support import web_text
from openbuffer.tools.support.http_guard_errors import PageFailedError
from openbuffer.tools.support.web_page import Window, read_page
from openbuffer.tools.support.web_tame import tamed
from openbuffer.tools.support.web_text import BodyReader, Shown

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.contract("W1")

PAGES = sorted(Path(__file__).with_name("web_pages").glob("*.html"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_becomes_the_markdown_that_stands_beside_it(page: Path) -> None:
    window = read_page(page.read_text(encoding="utf-8"), "https://e.org/a/b")
    assert window.markdown.rstrip("\n") + "\n" == page.with_suffix(".md").read_text(encoding="utf-8")
    assert (window.start, window.end) == (0, window.total)


def test_there_are_pages_of_many_kinds() -> None:
    assert len(PAGES) >= 20


def test_the_whole_page_has_what_is_around_the_main_part_and_still_nothing_that_nobody_sees() -> None:
    page = "<nav>menu</nav><main><h1>Main</h1>text</main><footer>foot</footer><script>no()</script><p hidden>no</p>"
    part, whole = read_page(page, "https://e.org/"), read_page(page, "https://e.org/", whole=True)
    assert (part.markdown, part.reduced) == ("# Main\n\ntext", True)
    assert (whole.markdown, whole.reduced) == ("menu\n\n# Main\n\ntext\n\nfoot", False)


def test_a_heading_outside_of_the_main_part_is_not_lost() -> None:
    page = f"<header><h1>The title</h1></header><main><p>{'words ' * 50}</p></main>"
    assert read_page(page, "https://e.org/").markdown.startswith("# The title\n\nwords")


@pytest.mark.parametrize(
    "style",
    [
        *("display:none", "DISPLAY : NONE ;color:red", "color:red;display:\tnone", "display:none!important"),
        *("visibility:hidden", "visibility :hidden", "visibility: collapse", "/**/display/*x*/:/**/none"),
    ],
)
def test_what_its_own_style_hides_is_not_shown(style: str) -> None:
    page = f'<main><p>seen</p><div style="{style}"><p>do as I say</p></div></main>'
    assert read_page(page, "https://e.org/").markdown == "seen"
    assert read_page(page, "https://e.org/", whole=True).markdown == "seen"


@pytest.mark.parametrize("style", ["--display:none", "x-display:none", "overflow:hidden", "border-collapse:collapse"])
def test_what_its_style_does_not_hide_is_shown(style: str) -> None:
    assert read_page(f'<p style="{style}">seen</p>', "https://e.org/").markdown == "seen"


def test_characters_that_are_never_shown_are_left_out_of_a_page() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "do as I say") + "\U000e0100\x1b\x9b\x07\x7f"
    page = f"<title>T{hidden}</title><p>se{hidden}en<code>x{hidden}</code><img alt='p{hidden}' src=a>"
    window = read_page(page, "https://e.org/")
    assert (window.title, window.markdown) == ("T", "seen`x`![p](https://e.org/a)")
    joined = "नमस्\u200dते 👩\u200d💻 e\ufe0f"
    assert read_page(f"<p>{joined}", "https://e.org/").markdown == joined


# --- hostile pages ---------------------------------------------------------------------------------------------------

END = "<p>the text at the end</p>"
HOSTILE = {
    "nested div": "<div>" * 50_000 + END,
    "nested and closed": "<div>" * 50_000 + END + "</div>" * 50_000,
    "nested lists": "<ul><li>" * 50_000 + END,
    "nested quotes": "<blockquote>" * 50_000 + END,
    "nested bold": "<b>" * 50_000 + END,
    "nested tables": "<table><tr><td>" * 20_000 + END,
    "nested definitions": "<dl><dd>" * 20_000 + END,
    "formatting across blocks": "<p><b><i>" * 20_000 + END,
    "nested links": "<a href=x>" * 20_000 + END,
    "nested svg": "<svg>" * 20_000 + "</svg>" * 20_000 + END,
    "attributes": "<div " + " ".join(f"a{n}=1" for n in range(200_000)) + ">" + END,
    "bare attributes": "<div " + " ".join(f"a{n}" for n in range(200_000)) + ">" + END,
    "quoted attributes": "<div " + " ".join(f"a{n}='>'" for n in range(100_000)) + ">" + END,
    "attributes of an end tag": "<div>x</div " + " ".join(f"a{n}=1" for n in range(300_000)) + ">" + END,
    "options": "<select>" + "<option>no" * 100_000 + "</select>" + END,
    "grouped options": "<SELECT\n>" + "<optgroup><option>no" * 100_000 + "</select>" + END,
    "breaks": "<br>" * 400_000 + END,
    "classes": f"<div class='{'c ' * 500_000}'>{END}",
    "empty elements": "<div></div>" * 200_000 + END,
    "hidden elements": "<p hidden>no</p>" * 100_000 + END,
    "comments": "<!-- no -->" * 200_000 + END,
    "open brackets": "<" * 500_000 + END,
    "ampersands": "&" * 500_000 + END,
    "close tags": "</p></div>" * 100_000 + END,
}


@pytest.fixture(scope="module")
def reader() -> Iterator[BodyReader]:
    reader = BodyReader()
    yield reader
    reader.close()


def read(reader: BodyReader, page: str, *, limit: int = 50_000, token: CancellationToken | None = None) -> Shown:
    return reader.read(
        page.encode(),
        url="https://e.org/",
        content_type="text/html; charset=utf-8",
        is_whole_body=True,
        offset=0,
        limit=limit,
        whole=False,
        token=token or CancellationToken(),
    )


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_page_that_is_made_to_harm_is_read_to_its_end_by_a_process_that_stays(kind: str, reader: BodyReader) -> None:
    shown = read(reader, HOSTILE[kind], limit=1_000_000)
    assert shown.text.rstrip().endswith("the text at the end") or "the text at the end" in shown.text
    assert shown.end == shown.total


@pytest.mark.parametrize(
    "page",
    [
        "<ol>" + "<li>item</li>" * 100_000 + "</ol>",
        "<table>" + "<tr><td>a<td>b" * 50_000,
        "<table><thead>" + "<tr><td>a<td>b" * 50_000,
        "<p>" + "<b>x</b> " * 200_000,
        "<p>" + "word " * 1_000_000,
        "<p>" + "w" * 5_000_000,
        "<p>x" + " " * 5_000_000 + "x",
        "<pre>x" + "\n" * 1_000_000 + "x",
        "<pre>" + (" \n" * 20 + "x") * 50_000,
        "<p>" + "<img alt=a src=b>" * 100_000 + "word " * 50_000,
        "<h1>" * 20_000 + "word " * 50_000,
        "<p>fonts" + "".join(f"<font size={n}>" for n in range(5_000)) + "<p>word" * 20_000,
        "<p>unclosed" + "<b><i><u><s><tt><em>" * 60 + "<p>word" * 20_000,
        "<div>" * 190 + "<p>word</p>" * 200_000,
    ],
    ids=lambda page: page[:25],
)
def test_of_a_huge_page_one_part_is_shown_and_told_where_the_next_begins(page: str, reader: BodyReader) -> None:
    shown = read(reader, page, limit=10_000)
    assert 0 < shown.end < shown.total
    assert len(shown.text) < 60_000


def test_of_a_page_with_more_tags_than_memory_is_for_the_beginning_is_read_and_the_rest_told(
    reader: BodyReader,
) -> None:
    shown = read(reader, f"<p>begun{'<i>x</i>' * 500_001}{END}", limit=1_000)
    assert shown.text.startswith("begun")
    assert "the page has more than 1000000 tags, and what follows them is left out" in shown.notes


@pytest.mark.parametrize("tag", ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "template"])
@pytest.mark.parametrize("deep", [0, 300], ids=["flat", "deep"])
def test_what_an_unclosed_element_swallows_in_a_browser_is_not_shown_as_text(tag: str, deep: int) -> None:
    page = "<div>" * deep + f"<p>seen</p><{tag}>var secret = '<p>no</p>'"
    shown = read_page(page, "https://e.org/").markdown
    assert shown.startswith("seen")
    if tag in {"script", "style", "template", "iframe"}:
        assert shown == "seen"


def test_old_pages_that_close_nothing_keep_their_structure_however_long_they_are() -> None:
    page = "<ul>" + "<li>item<p>more" * 600 + "</ul><table>" + "<tr><td>a<td>b" * 600 + "</table>"
    assert tamed(page) == page
    markdown = read_page(page, "https://e.org/").markdown
    assert markdown.count("- item\n\n  more") == 600
    assert markdown.count("| a | b |") == 600


@pytest.mark.parametrize(
    "piece",
    [
        f"<a href='{'y' * 1_900}'>x</a> ",
        "<table><tr>" + "<td colspan=99>x" * 80 + "</table>",
        f"<img alt='{'a' * 5_000}' src='{'b' * 1_000}'>x ",
        f"<img alt='{'a' * 5_000_000}'>x ",
        "<ul><li>" * 50 + "<p>x" * 100 + "</ul>" * 50,
        "<blockquote>" * 50 + f"<pre>{(chr(120) + chr(10)) * 1_000}</pre>" + "</blockquote>" * 50,
    ],
    ids=lambda piece: piece[:12],
)
def test_what_is_shown_is_bounded_also_where_it_is_more_than_its_text_and_all_of_it_can_be_had(piece: str) -> None:
    page = f"<p>begin</p>{piece * 8}<p>the end</p>"
    at, told = 0, ""
    while True:
        window = read_page(page, "https://e.org/", offset=at, limit=3_000)
        assert len(window.markdown) <= 10_000
        told += window.markdown
        if window.end == window.total:
            break
        assert window.end > at
        at = window.end
    assert told.startswith("begin")
    assert told.endswith("the end")


TEXT = st.text(alphabet="abcdefg ", min_size=1, max_size=12)
TAGS = st.sampled_from(
    ["div", "p", "b", "i", "ul", "li", "ol", "table", "tr", "td", "h2", "a", "span", "section", "code"]
)


@given(st.lists(st.tuples(TAGS, TEXT, st.booleans()), max_size=30), st.integers(5, 60))
def test_windows_of_any_page_have_its_words_in_order_and_none_is_lost(
    pieces: list[tuple[str, str, bool]], limit: int
) -> None:
    page = "".join(f"<{tag}>{text}{f'</{tag}>' if closed else ''}" for tag, text, closed in pieces)
    windows: list[Window] = []
    while not windows or windows[-1].end < windows[-1].total:
        windows.append(read_page(page, "https://e.org/", offset=windows[-1].end if windows else 0, limit=limit))
        assert windows[-1].end > windows[-1].start or windows[-1].total == 0
    told = "".join(re.sub(r"[^a-g]", "", window.markdown) for window in windows)
    assert told == re.sub(r"[^a-g]", "", read_page(page, "https://e.org/").markdown)


# --- the process -----------------------------------------------------------------------------------------------------


def test_a_page_that_takes_too_long_ends_with_its_process_and_the_next_one_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(web_text, "START", "import time; time.sleep(60)")
    slow = BodyReader(page_timeout_s=0.3)
    with pytest.raises(PageFailedError, match=r"took over 0\.3 seconds"):
        read(slow, "<p>x</p>")
    monkeypatch.undo()
    again = BodyReader()
    assert read(again, "<p>x</p>").text == "x"
    again.close()


def test_a_process_that_fails_is_told_with_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    for start, words in (("raise SystemExit(3)", "exit code 3"), ("raise SystemExit(77)", "more memory than it may")):
        monkeypatch.setattr(web_text, "START", start)
        with pytest.raises(PageFailedError, match=words):
            read(BodyReader(), "<p>x</p>")


def test_cancelling_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_text, "START", "import time; time.sleep(60)")
    token = CancellationToken()
    token.cancel()
    with pytest.raises(ToolCancelledError, match="has stopped"):
        read(BodyReader(), "<p>x</p>", token=token)
