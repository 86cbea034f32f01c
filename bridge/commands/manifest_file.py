"""A workspace manifest as a document: JSON, or YAML of the same shape, read within bounds.

Of YAML only the tree is taken: no alias, so that no small document stands for a large one, no tag, no merge, no name
twice. A plain scalar is text, but for ``true``, ``false`` and ``null``: a ref like ``1e3`` or a mode like ``0644``
stays as it is written.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCUMENT_MAX_BYTES: Final = 8 * 1024 * 1024
"""A larger document belongs into files that it names (``localFile``, ``localDir``)."""

DEPTH_MAX: Final = 20


class ManifestFileError(Exception):
    """There is no such document, or it is neither JSON nor YAML; the text says what to do."""


def read_document(name: str) -> dict[str, Any]:
    """The document in the file, or on stdin for ``-``.

    Raises:
        ManifestFileError: it cannot be used.
    """
    content = _stdin() if name == "-" else _file(Path(name))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ManifestFileError(f"is not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    is_json = Path(name).suffix == ".json" or text[:64].lstrip()[:1] == "{"
    document = _json(text) if is_json else _yaml(text)
    if not isinstance(document, dict):
        raise ManifestFileError("holds no mapping; begin with `entries:`")
    return cast("dict[str, Any]", document)


def _file(file: Path) -> bytes:
    try:
        descriptor = os.open(file, os.O_RDONLY | _AT_ONCE)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ManifestFileError("is no regular file; name one, or give - and send the manifest to stdin")
            with open(descriptor, "rb", closefd=False) as opened:
                return _bounded(opened.read(DOCUMENT_MAX_BYTES + 1))
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        raise ManifestFileError("is not there; name a file with a manifest, or - for stdin") from None
    except (OSError, ValueError) as error:
        raise ManifestFileError(f"cannot be read ({getattr(error, 'strerror', None) or error})") from None


def _stdin() -> bytes:
    return _bounded(sys.stdin.buffer.read(DOCUMENT_MAX_BYTES + 1))


def _bounded(content: bytes) -> bytes:
    if len(content) > DOCUMENT_MAX_BYTES:
        raise ManifestFileError(
            f"has more than {DOCUMENT_MAX_BYTES:,} bytes; put large content into files, and name them as localFile"
        )
    return content


def _json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ManifestFileError(f"is not usable JSON: {error}") from None


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name[:200]!r} is there twice in one object")
        found[name] = value
    return found


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _yaml(text: str) -> object:
    tree = _Tree()
    try:
        for event in _parse(text):
            tree.take(event)
    except yaml.YAMLError as error:
        raise ManifestFileError(f"is not usable YAML: {' '.join(str(error).split())[:500]}") from None
    return tree.document


def _parse(text: str) -> Iterator[yaml.Event]:
    parse: Any = getattr(yaml, "parse")  # noqa: B009  its stubs tell no types
    return parse(text, Loader=_LOADER)


class _Tree:
    """Makes the document of the parser's events."""

    def __init__(self) -> None:
        self.document: object = None
        self._documents = 0
        self._open: list[tuple[dict[str, object] | list[object], list[str]]] = []
        """What is not closed yet; of a mapping, the name whose value comes next."""

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise _wrong(event, "a second document begins; keep one")
            case yaml.AliasEvent():
                raise _wrong(event, "an alias (*name) is not taken; write out what it stands for")
            case yaml.ScalarEvent():
                self._refuse_tag(event, event.tag)
                self._put(event, _scalar(event))
            case yaml.MappingStartEvent():
                self._begin(event, {})
            case yaml.SequenceStartEvent():
                self._begin(event, [])
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._open.pop()
            case _:
                pass

    def _begin(self, event: yaml.CollectionStartEvent, made: dict[str, object] | list[object]) -> None:
        self._refuse_tag(event, event.tag)
        if len(self._open) >= DEPTH_MAX:
            raise _wrong(event, f"it is nested more than {DEPTH_MAX} deep")
        self._put(event, made)
        self._open.append((made, []))

    def _put(self, event: yaml.Event, value: object) -> None:
        if not self._open:
            self.document = value
            return
        above, name = self._open[-1]
        if isinstance(above, list):
            above.append(value)
        elif name:
            above[name.pop()] = value
        elif not isinstance(event, yaml.ScalarEvent):
            raise _wrong(event, "a name is no text")
        else:
            if event.value in above:
                raise _wrong(event, f"{event.value[:200]!r} is there twice in one mapping")
            if event.value == "<<" and not event.style:
                raise _wrong(event, "a merge (<<) is not taken; write out what it brings")
            name.append(event.value)

    def _refuse_tag(self, event: yaml.Event, tag: str | None) -> None:
        if tag not in _USUAL_TAGS:
            raise _wrong(event, f"a tag ({tag[:100]!r}) is not taken; leave it out" if tag else "a tag is not taken")


def _scalar(event: yaml.ScalarEvent) -> object:
    value: str = event.value
    if event.style or event.tag is not None:  # the faster parser has an empty style for a plain one
        return value
    return _WORDS.get(value, value)


def _wrong(event: yaml.Event, words: str) -> ManifestFileError:
    mark = event.start_mark
    return ManifestFileError(f"is not usable YAML: {words} (line {mark.line + 1}, column {mark.column + 1})")


_AT_ONCE: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_WORDS: Final[dict[str, object]] = {"true": True, "false": False, "null": None, "~": None, "": None}
_USUAL_TAGS: Final = (None, "!", "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")
