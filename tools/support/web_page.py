"""What of a page is read: its main part, or a window of it, as a small clean tree for the way into Markdown.

Runs in a process of its own. The parser is that of browsers and written in C; what is dropped, and how much text there
is, is decided in there. Only what one answer shows is ever made into objects of Python, so that a page of any size
takes little more time than its parsing.

A *position* is a number of characters of the text that is left once everything unwanted is gone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urljoin

from bs4 import BeautifulSoup
from bs4.element import NavigableString
from selectolax.lexbor import LexborHTMLParser, LexborNode

from .web_markdown import PageTag, markdown_of
from .web_tame import tamed, within_tags

_NEVER: Final = (
    "script, style, template, svg, object, embed, canvas, iframe, audio, video, map, head > *, datalist, "
    "[hidden]:not([hidden='until-found']), dialog:not([open]), input[type='hidden']"
)
"""What nobody sees, or what is no text."""

_STYLED: Final = "[style*='none' i], [style*='hidden' i], [style*='collapse' i]"
_UNSEEN_STYLE: Final = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\s*(?:!\s*important\s*)?(?:;|$)",
    re.IGNORECASE,
)
_STYLE_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
"""A style that says that it is not shown. What is only hard to see, in white or small or moved aside, is text: scripts
make many a page of that visible, and nobody can tell without the style sheets."""

_UNSEEN: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\U000e0000-\U000e007f\U000e0100-\U000e01ef]")
"""Characters that are never shown, and can carry words that nobody sees or act on a terminal."""

_AROUND: Final = (
    "nav, select, [aria-hidden='true'], [role='navigation'], [role='search'], [role='dialog'], [role='alertdialog'], "
    "[role='menu'], [role='menubar'], [role='toolbar'], [role='tablist']"
)
_AROUND_THE_MAIN_PART: Final = "header, footer, aside, [role='banner'], [role='contentinfo'], [role='complementary']"
_INSIDE_THE_MAIN_PART: Final = f":is(main, article, section, blockquote, li, td) :is({_AROUND_THE_MAIN_PART})"
_MAIN: Final = ("main, [role='main']", "article, [itemprop='articleBody']")
"""What says of itself that it is the main part, the surest first."""

_MAIN_SHARE: Final = 0.4
"""A main part with less of the page's text than this is not believed to be it."""

_OTHERS_SHARE: Final = 0.2
"""Others of its kind that have more text than this, compared with it, are as much the main part."""

_CANDIDATES_MAX: Final = 50
_FEW_CHARS: Final = 200
_ELEMENTS_MAX: Final = 8_000
_PICTURES_SHARE: Final = 0.5
"""Of a window's limit, for what all of its pictures say and where they are."""
_QUOTES_MAX: Final = 24
_QUOTING: Final = frozenset(("blockquote", "li", "dd"))
"""Inside each other, each adds to every line in it."""
_COLUMNS_MAX: Final = 20
_MARKDOWN_SHARE: Final = 2
_MARKDOWN_MORE_CHARS: Final = 4_000
"""A window has at most so many times its limit of Markdown, and some more; addresses and tables can be far longer."""

_DEPTH_MAX: Final = 60
_ADDRESS_MAX_CHARS: Final = 2_000

_HEADINGS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_AS_THEY_ARE: Final = frozenset(
    (
        *(*_HEADINGS, "p", "ul", "ol", "li", "dl", "dt", "dd", "blockquote", "pre", "code", "kbd", "samp", "hr", "br"),
        *("table", "tr", "td", "th", "caption", "figcaption", "a", "em", "i", "strong", "b", "del", "s", "q", "sup"),
        "img",
    )
)
_INLINE: Final = frozenset(
    (
        *("span", "font", "abbr", "acronym", "bdi", "bdo", "big", "cite", "data", "dfn", "ins", "label", "mark"),
        *("meter", "output", "progress", "rb", "rp", "rt", "ruby", "rtc", "small", "sub", "time", "u", "var", "wbr"),
        *("nobr", "slot", "picture", "tbody", "thead", "tfoot", "colgroup", "math", "mi", "mo", "mn", "mrow"),
    )
)
_UNCUT: Final = frozenset((*_HEADINGS, "p", "li", "tr", "dt", "dd", "figcaption", "caption"))
_PERMALINKS: Final = frozenset({"", "¶", "#", "§", "🔗", "\uf0c1", "\ue9cb"})
_LANGUAGE: Final = re.compile(
    r"(?:^|\s)(?:lang(?:uage)?[-:]|highlight-source-|highlight-(?!source)|brush:\s*)([A-Za-z0-9+#.-]{1,30})"
)
_SPACES: Final = re.compile(r"[ \t\r\n\f\x0b]+")
_LONG_GAPS: Final = re.compile(r"[ \n]{100,}")


@dataclass(slots=True)
class Window:
    """The part of a page that is shown: Markdown of its text from ``start`` to ``end``, of ``total`` characters.

    ``reduced``: something was left out as being around the main part. ``pictures_left_out`` is their number.
    ``cut_off``: the page has more tags than are read, and what follows them is left out.
    """

    title: str = ""
    markdown: str = ""
    start: int = 0
    end: int = 0
    total: int = 0
    reduced: bool = False
    pictures_left_out: int = 0
    cut_off: bool = False


def read_page(html: str, url: str, *, offset: int = 0, limit: int | None = None, whole: bool = False) -> Window:
    """The window of a page from ``offset`` on; ``limit`` is how many characters it shows at most, None for all.

    ``whole`` keeps what is around the main part; what nobody sees is never shown.
    """
    kept = within_tags(html)
    page = LexborHTMLParser(tamed(kept))
    title = _SPACES.sub(" ", _text_of_first(page, "title")).strip()
    base = _base(page, url)
    body = page.body
    if body is None:
        return Window(title=title, cut_off=kept is not html)
    _drop(page, _NEVER)
    for node in page.css(_STYLED):
        style = _STYLE_COMMENT.sub(" ", node.attributes.get("style") or "")
        if node.tag not in {"html", "body"} and _UNSEEN_STYLE.search(style):
            node.decompose()
    before = _length(body)
    part, lost_heading = (body, "") if whole else _main_part(page, body)
    total = _length(part)
    most = None if limit is None else _MARKDOWN_SHARE * limit + _MARKDOWN_MORE_CHARS
    while True:
        end = total if limit is None else min(total, offset + limit)
        cut = _Cut(base, min(offset, total), end, limit)
        cut.take(part, total)
        if lost_heading and offset == 0:
            heading = PageTag(name="h1")
            heading.append(NavigableString(lost_heading))
            cut.soup.insert(0, heading)
        markdown = markdown_of(cut.soup)
        if most is None or len(markdown) <= most or limit == 1:
            break
        limit = max(1, (cut.stopped_at or end) - cut.start) * most // (len(markdown) + most) or 1
    return Window(
        title=title,
        markdown=markdown,
        start=cut.start,
        end=cut.stopped_at if cut.stopped_at is not None else total,
        total=total,
        reduced=total < before,
        pictures_left_out=cut.pictures_left_out,
        cut_off=kept is not html,
    )


def _main_part(page: LexborHTMLParser, body: LexborNode) -> tuple[LexborNode, str]:
    """The element that has the main text, and the page's first heading where that is outside of it."""
    heading = _SPACES.sub(" ", _text_of_first(page, "h1")).strip()
    _drop(page, _AROUND)
    visible = _length(body)
    noscript = page.css("noscript")
    if visible - sum(map(_length, noscript)) > _FEW_CHARS:
        for node in noscript:
            node.decompose()
        visible = _length(body)
    part = next((found for each in _MAIN if (found := _one_of(page.css(each), visible)) is not None), None)
    if part is None:
        part = body
        inside = {node.mem_id for node in page.css(_INSIDE_THE_MAIN_PART)}
        around = [node for node in page.css(_AROUND_THE_MAIN_PART) if node.mem_id not in inside]
        if visible - sum(map(_length, around)) > _FEW_CHARS:
            for node in around:
                node.decompose()
    has_heading = part.css_first("h1") is not None
    return part, "" if has_heading else heading


def _one_of(candidates: list[LexborNode], visible: int) -> LexborNode | None:
    """The one that has most of the page's text; None where it is one among several, as in a list of articles."""
    if len(candidates) > _CANDIDATES_MAX:
        return None
    sizes = sorted(((_length(node), place) for place, node in enumerate(candidates)), reverse=True)
    if not sizes or sizes[0][0] < _MAIN_SHARE * visible:
        return None
    largest = candidates[sizes[0][1]]
    others = sum(size for size, place in sizes[1:] if not _is_within(candidates[place], largest))
    return largest if others < _OTHERS_SHARE * sizes[0][0] else None


def _is_within(node: LexborNode, outer: LexborNode) -> bool:
    parent = node.parent
    while parent is not None and parent.mem_id != outer.mem_id:
        parent = parent.parent
    return parent is not None


def _drop(page: LexborHTMLParser, selector: str) -> None:
    for node in page.css(selector):
        if node.tag not in {"html", "body"}:
            node.decompose()


def _length(node: LexborNode) -> int:
    return len(node.text())


def _text_of_first(page: LexborHTMLParser, selector: str) -> str:
    node = page.css_first(selector)
    return "" if node is None else _UNSEEN.sub("", node.text()[:1_000])


def _base(page: LexborHTMLParser, url: str) -> str:
    node = page.css_first("base[href]")
    return url if node is None else _joined(url, node.attributes.get("href") or "") or url


def _joined(base: str, address: str) -> str:
    """An absolute address with http or https; empty where there is none."""
    try:
        joined = urljoin(base, _SPACES.sub("", address) if "\n" in address else address.strip())
    except ValueError:
        return ""
    if len(joined) > _ADDRESS_MAX_CHARS or not joined.lower().startswith(("http://", "https://", "mailto:")):
        return ""
    return joined.replace(" ", "%20").replace("(", "%28").replace(")", "%29").replace("<", "%3C").replace(">", "%3E")


@dataclass(slots=True)
class _Place:
    """Where the walk is: an element of the page, whose text ends at a position, and what of it goes into the tree."""

    tag: PageTag | BeautifulSoup
    node: LexborNode | None
    ends_at: int
    depth: int
    in_code: bool
    items: int = 0
    in_head: bool = False
    is_layout: bool = False
    quotes: int = 0


@dataclass(slots=True)
class _Cut:
    """Takes the window of an element into a tree, in the order of the text."""

    base: str
    start: int
    end: int
    limit: int | None
    soup: BeautifulSoup = field(default_factory=lambda: BeautifulSoup("", "html.parser"))
    at: int = 0
    elements: int = 0
    picture_chars: int = 0
    pictures_left_out: int = 0
    stopped_at: int | None = None

    def take(self, root: LexborNode, size: int) -> None:
        """Walk it, without recursion, until the window is full; ``size`` is that of its text."""
        places = [_Place(self.soup, root.first_child, size, 0, in_code=False)]
        while places and self.stopped_at is None:
            place = places[-1]
            node = place.node
            if node is None:
                places.pop()
                continue
            place.node = node.next
            if node.is_text_node:
                self._take_text(place, node.text_content or "")
            elif node.is_element_node and (inner := self._enter(place, node)) is not None:
                places.append(inner)

    def _enter(self, place: _Place, node: LexborNode) -> _Place | None:
        name = node.tag or ""
        size = self._size(place, node) if node.first_child is not None else 0
        if name == "li":
            place.items += 1
        if self.at + size <= self.start and (size or self.at < self.start):
            self.at += size
            return None
        if size == 0:
            self._take_empty(place, node, name)
            return None
        if self._is_full(name, size):
            self.stopped_at = self.at
            return None
        self.elements += 1
        return self._opened(place, node, name, self.at + size)

    def _size(self, place: _Place, node: LexborNode) -> int:
        """How much text it has. Counting it anew at each of many levels would take long, and the last one is known."""
        return place.ends_at - self.at if place.node is None else _length(node)

    def _is_full(self, name: str, size: int) -> bool:
        if self.limit is None or self.at <= self.start:
            return False
        fits = self.at + size <= self.end
        return self.at >= self.end or self.elements >= _ELEMENTS_MAX or (name in _UNCUT and not fits)

    def _take_empty(self, place: _Place, node: LexborNode, name: str) -> None:
        """An element without text: a picture, a line, or what holds some."""
        if name in {"br", "hr", "td", "th"} and (self.limit is None or self.elements < _ELEMENTS_MAX):
            self.elements += 1
            place.tag.append(PageTag(name="th" if place.in_head and name == "td" else name))
        if name != "img" and node.first_child is None:
            return
        for picture in [node] if name == "img" else node.css("img"):
            self._take_picture(place, picture, node if name == "a" else None)

    def _take_picture(self, place: _Place, picture: LexborNode, link: LexborNode | None) -> None:
        alt = _UNSEEN.sub("", _SPACES.sub(" ", picture.attributes.get("alt") or "")).strip()
        if not alt:
            return
        source = _joined(self.base, picture.attributes.get("src") or picture.attributes.get("data-src") or "")
        size = len(alt) + len(source) + len("![]()")
        if self.limit is not None and self.picture_chars + size > _PICTURES_SHARE * self.limit:
            self.pictures_left_out += 1
            return
        self.picture_chars += size
        made: PageTag | NavigableString = (
            PageTag(name="img", attrs={"alt": alt, "src": source}) if source else NavigableString(f"[image: {alt}]")
        )
        if link is not None and (address := _joined(self.base, link.attributes.get("href") or "")):
            around = PageTag(name="a", attrs={"href": address})
            around.append(made)
            made = around
        place.tag.append(made)

    def _opened(self, place: _Place, node: LexborNode, name: str, ends_at: int) -> _Place | None:
        """What the element's children go into."""
        if name == "a" and self._is_permalink(node):
            self.at += _length(node)
            return None
        is_cut_open = self.at < self.start
        in_head = place.in_head or name == "thead"
        is_layout = _is_layout(node) if name == "table" else place.is_layout
        attributes = self._attributes(node, name)
        name = _name_in_tree(name, attributes, in_head=in_head, is_layout=is_layout)
        quotes = place.quotes + (name in _QUOTING)
        if quotes > _QUOTES_MAX:
            name, quotes = "div" if name in _QUOTING else name, _QUOTES_MAX
        is_stray = name in {"td", "th"} and place.tag.name != "tr"
        if name in _INLINE or is_stray or place.depth >= _DEPTH_MAX:
            if name not in _INLINE:
                place.tag.append(NavigableString(" "))
            return replace(place, node=node.first_child, ends_at=ends_at, in_head=in_head, is_layout=is_layout)
        tag = PageTag(name=name, attrs=attributes)
        if name == "li":
            tag.number = place.items - 1
        if name == "caption" and place.tag.name == "table":
            place.tag.insert_before(tag)  # the first row has to be the first element, or it has no line below
        else:
            place.tag.append(tag)
        in_code = place.in_code or name == "pre"
        if is_cut_open and name == "pre":
            tag.append(NavigableString("…\n"))
        return _Place(tag, node.first_child, ends_at, place.depth + 1, in_code, 0, in_head, is_layout, quotes)

    def _attributes(self, node: LexborNode, name: str) -> dict[str, str]:
        """What markdownify looks at."""
        if name == "a":
            address = node.attributes.get("href") or ""
            joined = _joined(self.base, address) if address else ""
            return {"href": joined} if joined else {}
        if name == "ol":
            return _start_of(node)
        if name in {"td", "th"}:
            span = node.attributes.get("colspan") or ""
            return {"colspan": str(min(int(span), _COLUMNS_MAX))} if re.fullmatch("[0-9]{1,4}", span) else {}
        return {"data-language": _language(node)} if name == "pre" else {}

    @staticmethod
    def _is_permalink(node: LexborNode) -> bool:
        """Whether a link only marks the heading that it stands in."""
        if not (node.attributes.get("href") or "").startswith("#"):
            return False
        text = node.text()
        return len(text) < 10 and text.strip() in _PERMALINKS

    def _take_text(self, place: _Place, text: str) -> None:
        size = len(text)
        if self.at + size <= self.start:
            self.at += size
            return
        first = max(0, self.start - self.at)
        last = size
        if self.limit is not None and self.at + size > self.end:
            last = _last_gap(text, first, max(first + 1, self.end - self.at))
            self.stopped_at = self.at + last
        self.at += size
        shown = text[first:last]
        if place.in_code:
            shown = _LONG_GAPS.sub(lambda gap: gap.group()[:100], shown.replace("\r\n", "\n").replace("\t", "    "))
        else:
            shown = _SPACES.sub(" ", shown)
        shown = _UNSEEN.sub("", shown)
        if shown:
            place.tag.append(NavigableString(shown))


def _last_gap(text: str, first: int, last: int) -> int:
    """Where to cut so that no word, and in the best case no line, is cut; ``last`` where there is no such place."""
    for gap in ("\n", " "):
        place = text.rfind(gap, first + (last - first) // 2, last)
        if place > 0:
            return place + 1
    return last


def _name_in_tree(name: str, attributes: dict[str, str], *, in_head: bool, is_layout: bool) -> str:
    """What an element becomes; what is in ``_INLINE`` becomes no tag, only its text."""
    if name == "button" or (name == "a" and not attributes):
        return "span"
    if is_layout and name in {"table", "tr", "td", "th"}:
        return "div"
    if name in {"td", "tt"}:
        return "code" if name == "tt" else "th" if in_head else "td"
    return name if name in _AS_THEY_ARE or name in _INLINE else "div"


def _start_of(node: LexborNode) -> dict[str, str]:
    start = node.attributes.get("start") or ""
    return {"start": start} if start.isascii() and start.isdigit() and len(start) < 9 else {}


def _is_layout(table: LexborNode) -> bool:
    """Whether a table only arranges: it says so, or has in its cells what no cell of Markdown can hold."""
    if table.attributes.get("role") in {"presentation", "none"}:
        return True
    if table.css_first("td ul, td ol, td pre, td h1, td h2, td h3, td p + p") is not None:
        return True
    return any(each.mem_id != table.mem_id for each in table.css("table"))


def _language(node: LexborNode) -> str:
    """The language of a block of code, from its classes or those around it."""
    inner = node.css_first("code")
    for each in (inner, node, node.parent, node.parent.parent if node.parent is not None else None):
        if each is None:
            continue
        attributes = each.attributes
        if said := attributes.get("data-lang") or attributes.get("data-language"):
            return re.sub(r"[^A-Za-z0-9+#.-]", "", said)[:30]
        if found := _LANGUAGE.search(attributes.get("class") or ""):
            return found.group(1)
    return ""
