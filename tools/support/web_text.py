"""What a fetched body says, by its type: pages as Markdown, text as it is, everything else by name and size.

Pages are read by a process that can be killed: a page is what a stranger wrote, and parsers are written in C.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from ..errors import ToolCancelledError
from ..limits import WEB_PAGE_TIMEOUT_S
from .http_guard_errors import PageFailedError
from .isolated_process import IsolatedProcesses, ProcessCancelledError, ProcessFailedError, ProcessTimedOutError
from .located import printable
from .web_charset import decode_body
from .web_tame import TAGS_MAX
from .web_worker import START, PageOrder, order_frame, read_answer

if TYPE_CHECKING:
    from ..contract import CancellationToken
    from .isolated_process import Exchange
    from .web_worker import PageAnswer

Kind: TypeAlias = Literal["page", "text", "other", "unknown"]

_PAGES: Final = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS: Final = frozenset(
    {
        *("json", "xml", "javascript", "x-javascript", "ecmascript", "typescript", "yaml", "x-yaml", "toml", "sql"),
        *("x-sh", "x-httpd-php", "x-ndjson", "jsonl", "json5", "graphql", "rtf", "x-tex", "x-www-form-urlencoded"),
        *("xml-dtd", "mbox", "x-python-code", "x-perl", "x-csh", "manifest+json", "vnd.api+json"),
    }
)
_UNKNOWN: Final = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/unknown"})
_LOOKS_LIKE_A_PAGE: Final = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_SNIFFED_BYTES: Final = 4096
_NO_TEXT: Final = re.compile(rb"[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f]")
"""Bytes that no text has, in whatever charset that is one byte a character in this range."""
_MARKS: Final = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The part of a body that is shown, and what is to be told about it.

    ``start``, ``end`` and ``total`` are positions in the text; ``kind`` is what it was taken for.
    """

    kind: Kind
    text: str
    start: int = 0
    end: int = 0
    total: int = 0
    title: str = ""
    charset: str = ""
    notes: tuple[str, ...] = ()


def kind_of_type(content_type: str) -> Kind:
    """What a media type promises."""
    if content_type in _PAGES:
        return "page"
    main, _, sub = content_type.partition("/")
    if main == "text" or (main == "application" and (sub in _TEXTS or sub.endswith(("+json", "+xml", "+yaml")))):
        return "text"
    if content_type == "image/svg+xml":
        return "text"
    return "unknown" if content_type in _UNKNOWN else "other"


def kind_of_body(content_type: str, body: bytes) -> Kind:
    """What it really is, by its type and its first bytes."""
    kind = kind_of_type(content_type)
    if kind == "other":
        return kind
    if kind == "unknown" or content_type == "text/plain":
        head = body[:_SNIFFED_BYTES]
        if (b"\0" in head or (kind == "unknown" and _NO_TEXT.search(head))) and not head.startswith(_MARKS):
            return "other"
        if kind == "unknown":
            is_page = head.lstrip().startswith(b"<") and _LOOKS_LIKE_A_PAGE.search(head)
            return "page" if is_page else "text"
    return kind


def name_of(url: str) -> str:
    """The file's name in a URL, or its host where there is none."""
    parts = urlsplit(url)
    return printable(unquote(os.path.basename(parts.path))) or parts.netloc


class BodyReader:
    """Reads bodies; has processes of its own for pages, and none before the first. May be used from several threads."""

    def __init__(self, *, page_timeout_s: float = WEB_PAGE_TIMEOUT_S) -> None:
        self._timeout_s = page_timeout_s
        self._processes = IsolatedProcesses(START, ("LANG", "LC_ALL", "LC_CTYPE", "PYTHONUTF8"))

    def close(self) -> None:
        """End the processes that wait for a page."""
        self._processes.close()

    def read(
        self,
        body: bytes,
        *,
        url: str,
        content_type: str,
        is_whole_body: bool,
        offset: int,
        limit: int,
        whole: bool,
        token: CancellationToken,
    ) -> Shown:
        """The part from ``offset`` on, of up to ``limit`` characters; blocks. ``content_type`` is the whole header.

        Raises:
            PageFailedError: the page could not be read.
            ToolCancelledError: the call was cancelled, and the process has ended.
        """
        kind = kind_of_body(content_type.partition(";")[0].strip().lower(), body)
        if kind == "other":
            return Shown(kind=kind, text="")
        if kind == "page":
            order = PageOrder(
                url=url,
                content_type=content_type,
                is_whole_body=is_whole_body,
                offset=offset,
                limit=limit,
                whole=whole,
            )
            return _page(self._answer(order, body, token))
        decoded = decode_body(body, content_type, is_markup="xml" in content_type, is_whole=is_whole_body)
        text = decoded.text
        start = min(offset, len(text))
        end = _end(text, start, start + limit)
        return Shown(
            kind="text",
            text=text[start:end],
            start=start,
            end=end,
            total=len(text),
            charset=f"{decoded.charset} ({decoded.how})",
            notes=(decoded.note,) if decoded.note else (),
        )

    def _answer(self, order: PageOrder, body: bytes, token: CancellationToken) -> PageAnswer:
        def ask(exchange: Exchange) -> PageAnswer:
            exchange.send(order_frame(order, body))
            return read_answer(exchange.receive)

        shown = printable(order.url)
        try:
            return self._processes.use(ask, token, self._timeout_s)
        except ProcessCancelledError:
            raise ToolCancelledError(f"{shown}: the fetch was cancelled, and has stopped.") from None
        except ProcessTimedOutError:
            raise PageFailedError(
                f"{shown}: the page came, and reading it took over {self._timeout_s:g} seconds. Fetch another page."
            ) from None
        except ProcessFailedError as failure:
            why = "reading it needs more memory than it may have" if failure.needed_memory else str(failure)
            raise PageFailedError(
                f"{shown}: the page came, and could not be read ({why}). Fetch another page."
            ) from None


def _page(answer: PageAnswer) -> Shown:
    window = answer.window
    notes = [answer.note] if answer.note else []
    if window["reduced"]:
        notes.append("what is around the main part (navigation, header, footer) is left out; whole=true shows it too")
    if window["cut_off"]:
        notes.append(f"the page has more than {TAGS_MAX} tags, and what follows them is left out")
    if left_out := window["pictures_left_out"]:
        notes.append(f"{left_out} pictures are left out")
    return Shown(
        kind="page",
        text=window["markdown"],
        start=window["start"],
        end=window["end"],
        total=window["total"],
        title=window["title"],
        charset=f"{answer.charset} ({answer.how})",
        notes=tuple(notes),
    )


def _end(text: str, start: int, most: int) -> int:
    """Where a part of a text ends: behind a line, if one ends in its second half."""
    if most >= len(text):
        return len(text)
    line_end = text.rfind("\n", start + (most - start) // 2, most)
    return line_end + 1 if line_end > 0 else most
