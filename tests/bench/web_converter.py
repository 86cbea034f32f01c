"""One way from HTML to Markdown in a process of its own: ``web_converter.py NAME RUNS``, pages of JSON lines in.

In: ``{"html"}``. Out: ``{"seconds", "peak", "markdown"}`` for each: processor time, the least of the runs, and how many
bytes the process grew at its highest. An import that fails is ``{"reason"}``.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PROCESS = Path("/proc/self")
RESET_PEAK = "5"
URL = "https://e.org/a/b"


def main() -> None:
    """Answer until the input ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    runs = int(sys.argv[2])
    try:
        convert = CONVERTERS[sys.argv[1]]()
    except ImportError as error:
        print(json.dumps({"reason": f"not installed ({error.name})"}), file=answers, flush=True)
        return
    convert("<p>warm up</p>" * 20)
    for line in sys.stdin:
        print(json.dumps(measured(convert, json.loads(line)["html"], runs)), file=answers, flush=True)


def measured(convert: Callable[[str], str], html: str, runs: int) -> dict[str, Any]:
    """One page."""
    (PROCESS / "clear_refs").write_text(RESET_PEAK)
    before = resident("VmRSS")
    seconds: list[float] = []
    markdown = ""
    try:
        for _ in range(runs):
            start = time.process_time()
            markdown = convert(html)
            seconds.append(time.process_time() - start)
    except Exception as error:  # noqa: BLE001  what a peer raises is what the table is about
        return {"reason": type(error).__name__}
    return {"seconds": min(seconds), "peak": resident("VmHWM") - before, "markdown": markdown}


def resident(which: str) -> int:
    """Bytes, from the kernel's own account."""
    found = re.search(rf"{which}:\s+(\d+) kB", (PROCESS / "status").read_text())
    return int(found[1]) * 1024 if found else 0


def ours(limit: int | None) -> Callable[[str], str]:
    """What the process behind WebFetch does, from the decoded page to the answer."""
    read_page = importlib.import_module("openbuffer.tools.support.web_page").read_page
    return lambda html: read_page(html, URL, limit=limit).markdown


def markdownify() -> Callable[[str], str]:
    """As it comes."""
    return importlib.import_module("markdownify").markdownify


def html_to_markdown() -> Callable[[str], str]:
    """As it comes."""
    convert = importlib.import_module("html_to_markdown").convert
    return lambda html: convert(html).content or ""


def html2text() -> Callable[[str], str]:
    """Without wrapping, which would cut what is looked for."""
    module = importlib.import_module("html2text")
    return lambda html: module.html2text(html, baseurl=URL, bodywidth=0)


def trafilatura() -> Callable[[str], str]:
    """With all that it can keep."""
    extract = importlib.import_module("trafilatura").extract
    kept = {f"include_{what}": True for what in ("links", "tables", "images", "formatting")}
    return lambda html: extract(html, url=URL, output_format="markdown", **kept) or ""


CONVERTERS: dict[str, Callable[[], Callable[[str], str]]] = {
    "ours": lambda: ours(None),
    "ours, first answer": lambda: ours(50_000),
    "markdownify": markdownify,
    "html-to-markdown": html_to_markdown,
    "html2text": html2text,
    "trafilatura": trafilatura,
}


if __name__ == "__main__":
    main()
