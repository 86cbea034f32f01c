"""HTML that takes a parser no more time and memory than its size: what is beyond all use is cut before.

Parsers look through the open elements at each tag, through the attributes at each attribute, and through the options at
each option; fifty thousand of either take them minutes. They repeat formatting that nobody closes in each block that
follows. Nothing of the text is lost: it is the tags that are left out. Pages that people write never come here further
than the first look.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from typing import Final

TAGS_MAX: Final = 1_000_000
"""Each is some hundred bytes in the parser's memory."""

_DEPTH_SUSPECT: Final = 400
_DEPTH_MAX: Final = 200
_TAG_SUSPECT_CHARS: Final = 512
_ATTRIBUTES_MAX: Final = 100
_UNCLOSED_SUSPECT: Final = 8
_UNCLOSED_MAX: Final = 3

_FORMATTING: Final = frozenset(
    ("b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u", "nobr")
)
"""What stays in force until it is closed, whatever is around it."""

_STARTS: Final = {*(name[:2] for name in _FORMATTING if len(name) > 1), *(a + b for a in "bisu" for b in "> \n\t/")}
_MAYBE_FORMATTING: Final = frozenset({*_STARTS, *map(str.upper, _STARTS)})

_NOT_NESTING: Final = frozenset(
    {"br", "im", "hr", "in", "me", "wb", "so", "co", "p>", "p ", "BR", "IM", "HR", "IN", "P>", "P "}
)
"""How the tags begin that open nothing, or that close themselves at the next one."""

_VOID: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr", "p")
)
_CLOSED_BY: Final = {
    "li": frozenset({"li"}),
    "td": frozenset({"td", "th"}),
    "th": frozenset({"td", "th"}),
    "tr": frozenset({"td", "th", "tr"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "option": frozenset({"option"}),
}
"""What the next one of its kind ends, where nobody else has."""

_RAW: Final = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"})
_NAME: Final = re.compile(r"/?([A-Za-z][^\s/>]*)")
_ATTRIBUTE: Final = re.compile(r"[\s/]*[^\s/>=][^\s/>=]*(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>\"']*))?")


def within_tags(html: str) -> str:
    """The page, up to so many tags."""
    if html.count("<") <= TAGS_MAX:
        return html
    return html[: next(islice(re.finditer("<", html), TAGS_MAX, None)).start()]


def tamed(html: str) -> str:
    """The same page, or one that its tags do not make slow."""
    parts = html.split("<")
    changed = False
    if any(len(part) > _TAG_SUSPECT_CHARS for part in parts):
        fewer = [_with_fewer_attributes(part) if len(part) > _TAG_SUSPECT_CHARS else part for part in parts]
        changed = fewer != parts
        parts = fewer
    if len(parts) <= _DEPTH_SUSPECT:
        return "<".join(parts) if changed else html
    for place, part in enumerate(parts):
        if part[:6] in {"select", "SELECT"} and not part[6:7].isalnum():
            parts[place] = f"select multiple{part[6:]}"  # of which several may be chosen, so that nobody looks for it
            changed = True
    if _looks_deep(parts):
        return "".join(_flattened(parts))
    return "<".join(parts) if changed else html  # another copy of a large page would be its size in memory


def _looks_deep(parts: list[str]) -> bool:
    depth = 0
    unclosed: Counter[str] = Counter()
    count = 0
    for part in parts:
        start = part[:2]
        if start[:1] == "/":
            depth -= 1
            if count and (name := _formatting(part, start[1:])) and unclosed[name]:
                unclosed[name] -= 1
                count -= 1
            continue
        if start in _MAYBE_FORMATTING and (name := _formatting(part, start)):
            unclosed[name] += 1
            count += 1
            if count > _UNCLOSED_SUSPECT:
                return True
        if start[:1].isalpha() and start not in _NOT_NESTING:
            depth += 1
            if depth > _DEPTH_SUSPECT:
                return True
    return False


def _formatting(part: str, start: str) -> str:
    """The name of a tag, where it is one of formatting."""
    found = _NAME.match(part) if start[:1] in "bcefinstuBCEFINSTU" else None
    name = found.group(1).lower() if found else ""
    return name if name in _FORMATTING else ""


def _with_fewer_attributes(part: str) -> str:
    name = _NAME.match(part)
    if name is None or part.count("=") + part.count(" ") + part.count("\n") < _ATTRIBUTES_MAX:
        return part
    place, kept = name.end(), name.end()
    count = 0
    while attribute := _ATTRIBUTE.match(part, place):
        place = attribute.end()
        count += 1
        if count <= _ATTRIBUTES_MAX:
            kept = place
    return part[:kept] + part[place:] if count > _ATTRIBUTES_MAX else part


def _flattened(parts: list[str]) -> list[str]:
    """The parts with their opening bracket, without the tags that would open too much."""
    kept: list[str] = [parts[0]]
    opened: list[str] = []
    left_out: Counter[str] = Counter()
    formatting: Counter[str] = Counter()
    inside = ""  # what only its own end tag, or the end of a comment, ends
    for part in parts[1:]:
        if inside:
            kept.append("<" + part)
            if _ends(inside, part):
                inside = ""
            continue
        if part.startswith("!--"):
            inside = "" if "-->" in part else "!--"
            kept.append("<" + part)
            continue
        found = _NAME.match(part)
        name = found.group(1).lower() if found else ""
        if name in _RAW and not part.startswith("/"):
            inside = name
        if name in _RAW or name in _VOID or not name:
            kept.append("<" + part)
            continue
        if part.startswith("/"):
            if left_out[name]:
                left_out[name] -= 1
                kept.append(_behind(part))
            else:
                _close(opened, name)
                formatting[name] -= name in _FORMATTING and formatting[name] > 0
                kept.append("<" + part)
            continue
        while opened and opened[-1] in _CLOSED_BY.get(name, ()):
            opened.pop()
        if len(opened) >= _DEPTH_MAX or (name in _FORMATTING and formatting.total() >= _UNCLOSED_MAX):
            left_out[name] += 1
            kept.append(_behind(part))
        else:
            opened.append(name)
            formatting[name] += name in _FORMATTING
            kept.append("<" + part)
    return kept


def _ends(inside: str, part: str) -> bool:
    return "-->" in part if inside == "!--" else part[: len(inside) + 1].lower() == "/" + inside


def _close(opened: list[str], name: str) -> None:
    for place in range(len(opened) - 1, -1, -1):
        if opened[place] == name:
            del opened[place:]
            return


def _behind(part: str) -> str:
    """What follows a tag; a space stands for it, so that words stay apart."""
    text = part.partition(">")[2]
    return f" {text}" if text else ""
