"""HTML that takes a parser no more time than its size: nesting and attributes beyond all use are cut before.

Parsers look through the open elements at each tag, and through the attributes at each attribute; fifty thousand of
either take them minutes. Nothing of the text is lost: it is the tags that are left out. Pages that people write never
come here further than the first look.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

_DEPTH_SUSPECT: Final = 400
_DEPTH_MAX: Final = 200
_TAG_SUSPECT_CHARS: Final = 512
_ATTRIBUTES_MAX: Final = 100

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


def tamed(html: str) -> str:
    """The same page, or one that its tags do not make slow."""
    parts = html.split("<")
    if any(len(part) > _TAG_SUSPECT_CHARS for part in parts):
        parts = [_with_fewer_attributes(part) if len(part) > _TAG_SUSPECT_CHARS else part for part in parts]
    if len(parts) > _DEPTH_SUSPECT and _looks_deep(parts):
        parts = _flattened(parts)
        return "".join(parts)
    return "<".join(parts)


def _looks_deep(parts: list[str]) -> bool:
    depth = 0
    for part in parts:
        start = part[:2]
        if start[:1] == "/":
            depth -= 1
        elif start[:1].isalpha() and start not in _NOT_NESTING:
            depth += 1
            if depth > _DEPTH_SUSPECT:
                return True
    return False


def _with_fewer_attributes(part: str) -> str:
    name = _NAME.match(part)
    if name is None or part.startswith("/") or part.count("=") + part.count(" ") + part.count("\n") < _ATTRIBUTES_MAX:
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
                kept.append("<" + part)
            continue
        while opened and opened[-1] in _CLOSED_BY.get(name, ()):
            opened.pop()
        if len(opened) >= _DEPTH_MAX:
            left_out[name] += 1
            kept.append(_behind(part))
        else:
            opened.append(name)
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
