"""markdownify as pages for a model need it: ATX headings, no needless escapes, code with its language.

What a page says is read and not rendered, so that its asterisks and underscores stay as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

from bs4 import Tag
from markdownify import ATX, MarkdownConverter

if TYPE_CHECKING:
    from bs4 import BeautifulSoup

_FENCES: Final = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)


def markdown_of(soup: BeautifulSoup) -> str:
    """The Markdown of a cleaned tree of ``PageTag``, which nests only so far."""
    converter = _Converter(
        heading_style=ATX,
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        sup_symbol="^",
        keep_inline_images_in=["td", "th", "a"],
    )
    return str(cast("Any", converter).convert_soup(soup))


class PageTag(Tag):
    """A tag of a cleaned tree. markdownify asks each for its parents, and items for their number: both are cheap."""

    number: int = 0
    """Of an item, how many of its list are before it."""

    def find_parent(self, name: Any = None, *others: Any, **more: Any) -> Any:
        """The nearest one around it of that name."""
        if others or more or not isinstance(name, str):
            return cast("Any", super()).find_parent(name, *others, **more)
        parent = self.parent
        while parent is not None and parent.name != name:
            parent = parent.parent
        return parent

    def find_previous_siblings(self, name: Any = None, *others: Any, **more: Any) -> Any:
        """As many as there are items before this one, where items are asked for."""
        if name == "li" == self.name and not others and not more:
            return [self] * self.number
        return cast("Any", super()).find_previous_siblings(name, *others, **more)


class _Converter(MarkdownConverter):
    """What markdownify has otherwise."""

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  called by markdownify
        """A cell; a bar in its text is no border."""
        return _cell(el, text)

    def convert_th(self, el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  called by markdownify
        """The same for a cell of a heading."""
        return _cell(el, text)

    def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: ARG002  called by markdownify
        """A block of code, fenced by more backticks than any of its own fences."""
        text = text.strip("\n")
        if not text.strip():
            return ""
        longest = max((len(run) for run in _FENCES.findall(text)), default=2)
        fence = "`" * max(3, longest + 1)
        return f"\n\n{fence}{el.get('data-language') or ''}\n{text}\n{fence}\n\n"


def _cell(cell: Tag, text: str) -> str:
    columns = int(str(cell.get("colspan") or 1)) or 1
    return f" {' '.join(text.split()).replace('|', chr(92) + '|')} |" + " |" * (columns - 1)
