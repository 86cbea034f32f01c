"""Time and memory from HTML to Markdown, and what was lost on the way, beside other libraries. Linux only.

Each converter has a process of its own, each hostile page a new one, that is killed when it takes too long. Losses are
counted against what stands in the sources of the written pages: headings, links, table rows, items and blocks of code
of the main part that are not in the output as such, and words of scripts and hidden parts that are.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from bs4 import BeautifulSoup
from measure import parse_options
from web_converter import CONVERTERS, URL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bs4 import Tag

HERE = Path(__file__).resolve().parent
PAGES = HERE.parent / "unit" / "web_pages"
SECONDS_MAX = 30
END = "<p>the text at the end</p>"
HOSTILE = {
    "50,000 nested div": "<div>" * 50_000 + END,
    "the same, closed": "<div>" * 50_000 + END + "</div>" * 50_000,
    "50,000 nested quotes": "<blockquote>" * 50_000 + END,
    "50,000 nested lists": "<ul><li>" * 50_000 + END,
    "20,000 nested tables": "<table><tr><td>" * 20_000 + END,
    "20,000 bold and italic": "<p><b><i>" * 20_000 + END,
    "5,000 fonts, 5,000 p": "<p>" + "".join(f"<font size={n}>" for n in range(5_000)) + "<p>x" * 5_000 + END,
    "an unclosed script": f"{END}<p>x</p><script>var secret = '<p>secret</p>'",
    "200,000 attributes": "<div " + " ".join(f"a{n}=1" for n in range(200_000)) + ">" + END,
    "200,000 of an end tag": "<div>x</div " + " ".join(f"a{n}=1" for n in range(200_000)) + ">" + END,
    "100,000 options": "<select>" + "<option>x" * 100_000 + "</select>" + END,
    "200,000 empty div": "<div></div>" * 200_000 + END,
    "100,000 hidden p": "<p hidden>secret</p>" * 100_000 + END,
    "500,000 brackets": "<" * 500_000 + END,
    "a comment of 5 MB": "<!--" + "secret " * 700_000 + "-->" + END,
}


def main() -> None:
    """Print three tables."""
    options = parse_options(__doc__)
    python = dict.fromkeys(CONVERTERS, sys.executable)
    if options.peers is not None:
        python |= {name: str(options.peers / "bin" / "python") for name in CONVERTERS if not name.startswith("ours")}
    written = [page.read_text(encoding="utf-8") for page in sorted(PAGES.glob("*.html"))]
    runs = options.rounds(5)
    print(f"\n{len(written)} written pages: processor time of all, and what was lost of the main parts")
    wanted = [Wanted.of(html) for html in written]
    whole = [sum(getattr(each, kind).total() for each in wanted) for kind in KINDS]
    print(f"{'':20} {'ms':>8}  " + "  ".join(f"{kind:>10}" for kind in (*KINDS, "shown")))
    print(f"{'in the pages':20} {'':>8}  " + "  ".join(f"{count:>10}" for count in whole))
    for name in CONVERTERS:
        print(f"{name:20} {_written_row(_asked(python[name], name, runs, written), wanted)}")
    large = _large(written)
    print(f"\none page of {len(large) / 1e6:.1f} MB of all of them in a row: processor time and memory")
    base = 0.0
    for name in ("html-to-markdown", *(each for each in CONVERTERS if each != "html-to-markdown")):
        (told,) = _asked(python[name], name, max(1, runs // 2), [large])
        if name == "html-to-markdown":
            base = told.get("seconds", 0.0)
        ratio = f"{told['seconds'] / base:8.2f}x" if base and "seconds" in told else ""
        print(f"{name:20} {_cost(told)} {ratio}")
    print("\nhostile pages: seconds of processor time, MB, and whether the text is there and no script's")
    shown = [name for name in CONVERTERS if name != "ours, first answer"]
    print(f"{'':24}" + "".join(f"{name:>24}" for name in shown))
    for kind, html in HOSTILE.items():
        cells = (_hostile_cell(_asked(python[name], name, 1, [html])[0]) for name in shown)
        print(f"{kind:24}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


# --- asking --------------------------------------------------------------------------------------------------------


def _asked(python: str, name: str, runs: int, pages: Iterable[str]) -> list[dict[str, Any]]:
    """What a new process answers to each page; the one that takes too long is the last."""
    process = subprocess.Popen(
        [python, str(HERE / "web_converter.py"), name, str(runs)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    assert process.stdin is not None
    assert process.stdout is not None
    answers: list[dict[str, Any]] = []
    for html in pages:
        timer = threading.Timer(SECONDS_MAX, process.kill)
        timer.start()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps({"html": html}) + "\n")
            process.stdin.flush()
        line = process.stdout.readline()
        late = not timer.is_alive()
        timer.cancel()
        answers.append(json.loads(line) if line else {"reason": f"> {SECONDS_MAX} s" if late else "crashed"})
    process.kill()
    with contextlib.suppress(BrokenPipeError):
        process.communicate()
    return answers


def _large(written: list[str]) -> str:
    bodies = [re.sub(r"(?is)<!doctype[^>]*>|</?(?:html|body|main|head)[^>]*>", "", html) for html in written]
    one = "\n".join(f"<div>{body}</div>" for body in bodies if "<script" not in body and "<pre" in body)
    return f"<body><main>{one * (1_000_000 // len(one))}</main></body>"


# --- what is to be there -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Texts:
    """Texts of one kind, without what separates words."""

    texts: list[str] = field(default_factory=list[str])

    def total(self) -> int:
        """How many there are."""
        return len(self.texts)


KINDS = ("headings", "links", "rows", "items", "code")
AROUND = ("nav", "header", "footer", "aside", "script", "style", "template", "dialog", "select", "noscript")


@dataclass(slots=True)
class Wanted:
    """What the source of a page has in its main part, and words that nobody is to see."""

    headings: Texts
    links: Texts
    rows: Texts
    items: Texts
    code: Texts
    unseen: list[str]
    base: str

    @classmethod
    def of(cls, html: str) -> Wanted:
        """Read by another parser than any of the converters uses alone."""
        soup = BeautifulSoup(html, "lxml")
        found = soup.select_one("base[href]")
        base = urljoin(URL, str(found["href"])) if found is not None else URL
        hidden = soup.select("script, style, template, [hidden]")
        unseen = [word for tag in hidden for word in [_bare(tag.get_text())] if len(word) > 2]
        for tag in soup.select(f"{', '.join(AROUND)}, [hidden], [aria-hidden=true], [style*=none i], [role]:not(main)"):
            if not (tag.name == "header" and tag.find_parent(["main", "article"])):
                tag.decompose()
        return cls(
            Texts([_bare(tag.get_text()) for tag in soup.select("h1, h2, h3, h4, h5, h6") if _bare(tag.get_text())]),
            Texts([address for tag in soup.select("a[href]") for address in [_address(tag, base)] if address]),
            Texts([_bare(tag.get_text()) for tag in soup.select("tr") if _is_row(tag)]),
            Texts([_bare(_own(tag)) for tag in soup.select("li") if _bare(_own(tag))]),
            Texts([_bare(tag.get_text()) for tag in soup.select("pre") if _bare(tag.get_text())]),
            unseen,
            base,
        )

    def lost(self, markdown: str) -> list[int]:
        """How many of each kind are not in the output as what they are, and how much is that nobody was to see."""
        lines = markdown.split("\n")
        headings = {_bare(line) for line in lines if line.lstrip("> ").startswith("#")}
        headings |= {_bare(one) for one, under in itertools.pairwise(lines) if re.match(r"^[=-]{3,}$", under)}
        rows = {_bare(line) for line in lines if "|" in line}
        items = [_bare(line) for line in lines if re.match(r"[\s>]*(?:[-*+]|\d+[.)])\s", line)]
        fenced = _bare("".join(each[0] for each in re.finditer(r"(?ms)^[\s>]*(`{3,}).*?^[\s>]*\1", markdown)))
        fenced += _bare("\n".join(line for line in lines if line.startswith("    ")))
        addresses = set(re.findall(r"\]\(<?([^\s)>]+)", markdown)) | set(re.findall(r"<(https?:[^>]+)>", markdown))
        addresses = {_plain(urljoin(self.base, address)) for address in addresses}
        bare = _bare(markdown)
        return [
            sum(text not in headings for text in self.headings.texts),
            sum(_plain(address) not in addresses for address in self.links.texts),
            sum(text not in rows for text in self.rows.texts),
            sum(not any(text in item for item in items) for text in self.items.texts),
            sum(text not in fenced for text in self.code.texts),
            sum(word in bare for word in self.unseen),
        ]


def _bare(text: str) -> str:
    return re.sub(r"(?:\[image: )|[\W_]+", "", re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", text))


def _own(item: Tag) -> str:
    """The first words of an item, without a list or block of code inside of it."""
    return "".join(str(part) if isinstance(part, str) else part.get_text() for part in item.contents[:1])


def _is_row(row: Tag) -> bool:
    table = row.find_parent("table")
    arranges = table is None or table.select_one("table, td ul, td pre, td h1, td p + p") is not None
    return not arranges and bool(_bare(row.get_text()))


def _address(link: Tag, base: str) -> str:
    """Where it leads; nothing for a place in the same page."""
    given = str(link.get("href", "")).strip()
    address = urljoin(base, given)
    return address if address.startswith("http") and not given.startswith("#") else ""


def _plain(address: str) -> str:
    return re.sub(r"%2[89]|[()]", "", address).replace("\\", "")


# --- telling -------------------------------------------------------------------------------------------------------


def _written_row(told: list[dict[str, Any]], wanted: list[Wanted]) -> str:
    if not told or "reason" in told[0]:
        return str(told[0]["reason"] if told else "nothing")
    counts = [each.lost(answer.get("markdown", "")) for each, answer in zip(wanted, told, strict=False)]
    seconds = sum(answer.get("seconds", 0.0) for answer in told)
    return f"{seconds * 1e3:8.1f}  " + "  ".join(f"{sum(kind):>10}" for kind in zip(*counts, strict=True))


def _cost(told: dict[str, Any]) -> str:
    return str(told["reason"]) if "reason" in told else f"{told['seconds'] * 1e3:8.0f} ms  {told['peak'] / 1e6:7.0f} MB"


def _hostile_cell(told: dict[str, Any]) -> str:
    if "reason" in told:
        return str(told["reason"])
    lost = "" if "thetextattheend" in _bare(told["markdown"]) else " LOST"
    shown = " SCRIPT" if "secret" in told["markdown"] else ""
    return f"{told['seconds']:.2f} s {told['peak'] / 1e6:.0f} MB{lost}{shown}"


if __name__ == "__main__":
    main()
