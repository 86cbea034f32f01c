r"""The dialect of Grep's patterns: what it has, what it has not, and reading it.

It is what ripgrep, RE2 and Python's ``regex`` agree on, and where they do not, one meaning that is written out for each
of them. What one of them would read differently from another, and what people read differently, is refused with the
place and with what to write instead.

Text: a line ends with a line feed, and a carriage return right before it belongs to the line end. Patterns are about
characters; bytes that are not UTF-8 are no characters and are matched by nothing. UTF-16 with a byte-order mark is
text like any other. Unless ``multiline`` is set, a match lies within one line.

- ``.`` is any character but a carriage return and a line feed; with ``(?s)`` and multiline it is any at all.
- ``[abc]``, ``[^abc]``, ``[a-z]``, with escapes and ``[:alpha:]`` and its kind (ASCII) inside. Unless multiline is set
  no negation (``[^x]``, ``\W``, ``\D``) and no ``\s`` matches a carriage return or a line feed.
- ``\d \w \s`` and ``\D \W \S`` by Unicode; ``\b`` and ``\B`` by that ``\w``.
- ``\p{..}`` and ``\P{..}``: general categories of one or two letters, and the scripts in ``vocabulary.SCRIPTS``.
- ``^`` and ``$`` are the beginning and end of a line; ``$`` also stands before the carriage return of a line end.
  With multiline there are ``\A`` and ``\z`` for the whole text.
- ``* + ? {n} {n,} {n,m}``, each also lazy with ``?``, up to 1,000 times. ``|``, ``(..)``, ``(?:..)``, ``(?<name>..)``,
  ``(?P<name>..)``.
- ``(?i)``, ``(?-i)``, ``(?s)``, ``(?-s)``, ``(?m)``: up to the end of the group they stand in; ``(?i:..)`` for a part.
  Ignoring the case follows the simple case folding of Unicode.
- ``\t \r \f \v \a``, ``\n`` with multiline, ``\xHH``, ``\x{H..}``, ``\uHHHH``, ``\u{H..}``, ``\UHHHHHHHH``, and a
  backslash before any ASCII punctuation but ``<`` and ``>``.
- ``{`` where no number follows is a brace: ``interface{}``; so are ``}`` and ``]`` where nothing is open.
- Looking around (``(?=..)``, ``(?!..)``, ``(?<=..)``, ``(?<!..)``) and referring back (``\1``, ``\k<name>``,
  ``(?P=name)``): always by the engine that backtracks, with a limit of time.

Not in it, and refused: an unescaped ``[`` and ``&&``, ``--``, ``~~`` inside a class; ``{,n}``; ``++`` and its kind;
``(?>``, ``(?|``, ``(?(``, ``(?#``, ``(?x)``, ``(?U)``, ``(?u)``; ``\h \H \R \X \K \G \Q \E \C \Z \< \> \b{``; octal
escapes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ...errors import ToolFailure
from ...limits import GREP_PATTERN_MAX_CHARS
from ..located import printable
from .syntax import (
    Alternatives,
    AnyChar,
    Assertion,
    Char,
    CharSet,
    Group,
    Look,
    Pattern,
    Property,
    Reference,
    Repeat,
    Sequence,
    Shorthand,
    Span,
)
from .vocabulary import CASED, CATEGORIES, CONTROL, POSIX, REFUSED_ESCAPES, SCRIPTS
from .weight import checked_weight

if TYPE_CHECKING:
    from .syntax import Node, SetItem

REPEAT_MAX: Final = 1_000
_DEPTH_MAX: Final = 50
_REPEAT: Final = re.compile(r"\{(\d*)(?:(,)(\d*))?\}", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEX: Final = re.compile(r"[0-9A-Fa-f]+")
_INLINE_FLAGS: Final = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?\)")
_GROUP_FLAGS: Final = re.compile(r"([a-zA-Z]*)(?:-([a-zA-Z]*))?:")
_DIGITS: Final = re.compile(r"[0-9]+")
_PROPERTY: Final = re.compile(r"\{([A-Za-z_]+)\}|([A-Z])")
_POSIX_NAME: Final = re.compile(r"\[:([a-z]*):\]")


class PatternRefusedError(ToolFailure):
    """A pattern that is not of the dialect; the text names the place and says what to write instead."""

    def __init__(self, pattern: str, at: int, why: str) -> None:
        part = printable(pattern[at : at + 12])
        more = "..." if len(pattern) > at + 12 else ""
        place = f"at character {at + 1}, {part}{more}" if at < len(pattern) else "at its end"
        super().__init__(f"pattern {printable(pattern[:200])}: {place}: {why}.")


def read_pattern(pattern: str, *, ignore_case: bool = False, multiline: bool = False) -> Pattern:
    """Read a pattern.

    Raises:
        PatternRefusedError: it is not of the dialect.
    """
    return _Reader(pattern, multiline=multiline).read(_Flags(fold=ignore_case, dot_all=False))


@dataclass(frozen=True, slots=True)
class _Flags:
    fold: bool
    dot_all: bool


class _Reader:
    """Reads one pattern from left to right."""

    def __init__(self, pattern: str, *, multiline: bool) -> None:
        self._pattern = pattern
        self._multiline = multiline
        self._at = 0
        self._depth = 0
        self._groups = 0
        self._names: dict[str, int] = {}
        self._closed: set[int] = set()
        self._backtracks = False
        self._by_unicode = False

    def read(self, flags: _Flags) -> Pattern:
        pattern = self._pattern
        if len(pattern) > GREP_PATTERN_MAX_CHARS:
            raise ToolFailure(
                f"the pattern has {len(pattern)} characters, at most {GREP_PATTERN_MAX_CHARS} are taken; "
                "search for a part of it."
            )
        if any(0xD800 <= ord(char) <= 0xDFFF for char in pattern):
            raise ToolFailure("the pattern is not valid Unicode (a lone surrogate).")
        node = self._alternatives(flags)
        if self._at < len(pattern):
            raise self._refused(self._at, "there is no ( that this closes; write \\) for the character")
        checked_weight(node, lambda why: self._refused(0, why))
        return Pattern(node=node, multiline=self._multiline, backtracks=self._backtracks, by_unicode=self._by_unicode)

    def _refused(self, at: int, why: str) -> PatternRefusedError:
        return PatternRefusedError(self._pattern, at, why)

    def _peek(self, text: str) -> bool:
        return self._pattern.startswith(text, self._at)

    def _take(self, text: str) -> bool:
        taken = self._peek(text)
        if taken:
            self._at += len(text)
        return taken

    def _alternatives(self, flags: _Flags) -> Node:
        branches: list[Node] = []
        while True:
            branch, flags = self._sequence(flags)
            branches.append(branch)
            if not self._take("|"):
                break
        return branches[0] if len(branches) == 1 else Alternatives(tuple(branches))

    def _sequence(self, flags: _Flags) -> tuple[Node, _Flags]:
        parts: list[Node] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            start = self._at
            if changed := self._inline_flags(flags):
                flags = changed
                if self._at < len(self._pattern) and self._pattern[self._at] in "*+?":
                    raise self._refused(self._at, "there is nothing before it to repeat")
                continue
            parts.append(self._repeated(self._atom(flags), start))
        return (parts[0] if len(parts) == 1 else Sequence(tuple(parts))), flags

    def _inline_flags(self, flags: _Flags) -> _Flags | None:
        found = _INLINE_FLAGS.match(self._pattern, self._at)
        if found is None or not (found[1] or found[2]):
            return None
        flags = self._flagged(flags, found[1], found[2] or "")
        self._at = found.end()
        return flags

    def _flagged(self, flags: _Flags, on: str, off: str) -> _Flags:
        for letter in on + off:
            if letter not in "ims":
                raise self._refused(self._at, f"the flag {letter} is not in this dialect; i, m and s are")
        if "m" in off:
            raise self._refused(self._at, "^ and $ are always those of a line here; write \\A or \\z with multiline")
        if set(on) & set(off):
            raise self._refused(self._at, "a flag cannot be set and unset at once")
        fold = (flags.fold or "i" in on) and "i" not in off
        return replace(flags, fold=fold, dot_all=(flags.dot_all or "s" in on) and "s" not in off)

    # --- repetition ---------------------------------------------------------------------------------------

    def _repeated(self, atom: Node, start: int) -> Node:
        counts = self._counts()
        if counts is None:
            return atom
        if isinstance(atom, (Assertion, Look)):
            raise self._refused(start, "a place cannot be repeated")
        lazy = self._take("?")
        least, most = counts
        if self._at < len(self._pattern):
            if self._pattern[self._at] == "+":
                raise self._refused(self._at, "a + behind a repetition means different things in different dialects")
            again = self._at
            if self._counts() is not None:
                raise self._refused(again, "a repetition cannot be repeated; put (?:..) around the first, or escape it")
        return Repeat(atom, least, most, lazy)

    def _counts(self) -> tuple[int, int | None] | None:
        for sign, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return counts
        found = _REPEAT.match(self._pattern, self._at)
        if found is None or not (found[1] or found[3]):
            return None
        at = self._at
        if not found[1]:
            raise self._refused(at, "means {0,n} in some dialects and itself in others; write {0,n} or \\{")
        least = int(found[1])
        most = least if found[2] is None else int(found[3]) if found[3] else None
        if max(least, most or 0) > REPEAT_MAX:
            raise self._refused(at, f"repeats more than {REPEAT_MAX} times, which is the most")
        if most is not None and most < least:
            raise self._refused(at, "the first number is larger than the second")
        self._at = found.end()
        return least, most

    # --- one thing ----------------------------------------------------------------------------------------

    def _atom(self, flags: _Flags) -> Node:
        at, char = self._at, self._pattern[self._at]
        if char == "(":
            return self._group(flags)
        if char == "[":
            return self._set(flags)
        if char == "\\":
            return self._escape(flags)
        found = _REPEAT.match(self._pattern, at)
        if char in "*+?" or (found is not None and (found[1] or found[3])):
            raise self._refused(at, f"there is nothing before it to repeat; write \\{char} for the character")
        self._at += 1
        if char == ".":
            return AnyChar(line_ends=flags.dot_all and self._multiline)
        if char == "^":
            return Assertion("line start")
        if char == "$":
            return Assertion("line end")
        return self._char(ord(char), flags, at)

    def _char(self, code: int, flags: _Flags, at: int) -> Char:
        if code == 0:
            raise self._refused(at, "a file with a NUL is binary, and not searched")
        if code == 10 and not self._multiline:
            raise self._refused(at, "a match lies within one line; set multiline to match across lines")
        if flags.fold and (code > 127 or chr(code).isalpha()):
            self._by_unicode = True
        return Char(code, flags.fold)

    def _group(self, flags: _Flags) -> Node:
        at = self._at
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise self._refused(at, f"groups are nested more than {_DEPTH_MAX} deep")
        self._at += 1
        node = self._special_group(flags, at) if self._take("?") else self._capturing(flags, at)
        self._depth -= 1
        return node

    def _capturing(self, flags: _Flags, at: int, name: str | None = None) -> Node:
        self._groups += 1
        index = self._groups
        if name is not None:
            if name in self._names:
                raise self._refused(at, f"the name {name} is given twice")
            self._names[name] = index
        node = self._rest_of_group(flags, at)
        self._closed.add(index)
        return Group(node, index)

    def _rest_of_group(self, flags: _Flags, at: int) -> Node:
        node = self._alternatives(flags)
        if not self._take(")"):
            raise self._refused(at, "this ( is not closed; write \\( for the character")
        return node

    def _special_group(self, flags: _Flags, at: int) -> Node:
        for sign, behind, negated in (("=", False, False), ("!", False, True), ("<=", True, False), ("<!", True, True)):
            if self._take(sign):
                self._backtracks = True
                return Look(self._rest_of_group(flags, at), behind, negated)
        if self._take("P="):
            return self._named_reference(flags, at, ")")
        if self._take("P<") or self._take("<"):
            return self._capturing(flags, at, self._name(at, ">"))
        found = _GROUP_FLAGS.match(self._pattern, self._at)
        if found is None:
            raise self._refused(at, "this kind of group is not in this dialect; (..), (?:..), (?<name>..) are")
        flags = self._flagged(flags, found[1], found[2] or "")
        self._at = found.end()
        return Group(self._rest_of_group(flags, at), None)

    def _name(self, at: int, end: str) -> str:
        found = _NAME.match(self._pattern, self._at)
        if found is None or not self._pattern.startswith(end, found.end()):
            raise self._refused(at, "a name is made of letters, digits and _, and does not begin with a digit")
        self._at = found.end() + len(end)
        return found[0]

    def _named_reference(self, flags: _Flags, at: int, end: str) -> Node:
        name = self._name(at, end)
        if name not in self._names:
            raise self._refused(at, f"there is no group named {name} before it")
        return self._reference(self._names[name], flags, at)

    def _reference(self, index: int, flags: _Flags, at: int) -> Reference:
        if index not in self._closed:
            raise self._refused(at, "there is no such group before it; octal escapes are not in this dialect, \\xHH is")
        self._backtracks = True
        self._by_unicode = self._by_unicode or flags.fold
        return Reference(index, flags.fold)

    # --- escapes ------------------------------------------------------------------------------------------

    def _escape(self, flags: _Flags) -> Node:
        at = self._at
        self._at += 1
        char = self._pattern[self._at : self._at + 1]
        if char in {"b", "B"}:
            self._at += 1
            if self._peek("{"):
                raise self._refused(at, "is not in this dialect; write \\b alone")
            self._by_unicode = True
            return Assertion("boundary" if char == "b" else "no boundary")
        if char in {"A", "z"}:
            if not self._multiline:
                raise self._refused(at, "is the beginning or end of the whole text: set multiline, or write ^ or $")
            self._at += 1
            return Assertion("text start" if char == "A" else "text end")
        if char == "k" and self._pattern.startswith("<", self._at + 1):
            self._at += 2
            return self._named_reference(flags, at, ">")
        if char and char in "123456789":
            found = _DIGITS.match(self._pattern, self._at)
            assert found is not None
            self._at = found.end()
            return self._reference(int(found[0]) if len(found[0]) < 4 else 0, flags, at)
        item = self._escaped_item(at)
        if isinstance(item, int):
            return self._char(item, flags, at)
        return self._checked_set(CharSet((item,), negated=False, fold=flags.fold), at)

    def _escaped_item(self, at: int) -> int | SetItem:
        """What is behind a backslash, inside of a class or outside; ``at`` is where the backslash is."""
        char = self._pattern[self._at : self._at + 1]
        if not char:
            raise self._refused(at, "there is nothing behind the backslash; write \\\\ for the character")
        self._at += 1
        if char in "dws":
            return Shorthand(char, negated=False)  # type: ignore[arg-type]  one of the three
        if char in "DWS":
            return Shorthand(char.lower(), negated=True)  # type: ignore[arg-type]  one of the three
        if char in "pP":
            return self._property(at, negated=char == "P")
        if char in CONTROL:
            return CONTROL[char]
        if char in "xuU":
            return self._code(char, at)
        if why := REFUSED_ESCAPES.get(char):
            raise self._refused(at, f"\\{char} {why}")
        if char.isascii() and not char.isalnum() and char.isprintable():
            return ord(char)
        if char.isdigit():
            raise self._refused(at, "octal escapes are not in this dialect; write \\xHH")
        raise self._refused(at, "this escape is not in this dialect; a backslash goes before ASCII punctuation")

    def _code(self, kind: str, at: int) -> int:
        if self._take("{"):
            found = _HEX.match(self._pattern, self._at)
            if found is None or not self._pattern.startswith("}", found.end()) or len(found[0]) > 8:
                raise self._refused(at, "hexadecimal digits and a } have to follow")
            digits, self._at = found[0], found.end() + 1
        else:
            length = {"x": 2, "u": 4, "U": 8}[kind]
            digits = self._pattern[self._at : self._at + length]
            if len(digits) < length or not _HEX.fullmatch(digits):
                raise self._refused(at, f"{length} hexadecimal digits have to follow")
            self._at += length
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise self._refused(at, "there is no such character")
        return code

    def _property(self, at: int, *, negated: bool) -> Property:
        found = _PROPERTY.match(self._pattern, self._at)
        name = "" if found is None else found[1] or found[2]
        if found is None or name not in CATEGORIES | SCRIPTS:
            raise self._refused(
                at,
                "a general category of one or two letters (L, Lu, Nd, ..) or one of these scripts has to follow in "
                f"braces: {', '.join(sorted(SCRIPTS))}",
            )
        self._at = found.end()
        return Property(name, negated)

    # --- classes ------------------------------------------------------------------------------------------

    def _set(self, flags: _Flags) -> CharSet:
        at = self._at
        self._at += 1
        negated = self._take("^")
        items: list[SetItem] = []
        if self._peek("]"):
            raise self._refused(at, "a ] right at the beginning of a class means different things; write \\]")
        while not self._take("]"):
            if self._at >= len(self._pattern):
                raise self._refused(at, "this [ is not closed; write \\[ for the character")
            items.extend(self._set_items())
        return self._checked_set(CharSet(tuple(items), negated, flags.fold), at)

    def _set_items(self) -> list[SetItem]:
        if self._peek("[:"):
            return self._posix()
        for sign in ("&&", "--", "~~"):
            if self._peek(sign):
                raise self._refused(self._at, f"combines classes in some dialects; write \\{sign[0]} for the character")
        at = self._at
        low = self._set_char()
        if not (self._peek("-") and not self._peek("-]") and not self._peek("--")):
            return [Span(low, low) if isinstance(low, int) else low]
        self._at += 1
        high = self._set_char()
        if not (isinstance(low, int) and isinstance(high, int)):
            raise self._refused(at, "a range goes from one character to another; write \\- for the character")
        if high < low:
            raise self._refused(at, "the range goes backwards")
        return [Span(low, high)]

    def _set_char(self) -> int | SetItem:
        at = self._at
        char = self._pattern[at : at + 1]
        self._at += 1
        if char == "\\":
            if self._pattern[self._at : self._at + 1] == "b":
                raise self._refused(at, "is a backspace in some dialects; write \\x08")
            item = self._escaped_item(at)
        elif char == "[":
            raise self._refused(at, "an unescaped [ inside of a class means different things; write \\[")
        elif not char:
            raise self._refused(at, "the class is not closed")
        else:
            return ord(char)
        return item

    def _posix(self) -> list[SetItem]:
        found = _POSIX_NAME.match(self._pattern, self._at)
        if found is None or found[1] not in POSIX:
            raise self._refused(self._at, f"this is one of [:name:] with {', '.join(POSIX)}, or write \\[")
        self._at = found.end()
        ends = POSIX[found[1]]
        return [Span(ord(low), ord(high)) for low, high in zip(ends[::2], ends[1::2], strict=True)]

    def _checked_set(self, chars: CharSet, at: int) -> CharSet:
        plain = all(isinstance(item, Span) for item in chars.items)
        self._by_unicode = self._by_unicode or not plain or chars.fold
        if chars.fold and any(isinstance(item, Property) and item.name in CASED for item in chars.items):
            raise self._refused(at, "a category of letters of one case means nothing where the case is ignored")
        if not self._multiline and not chars.negated and Span(10, 10) in chars.items:
            raise self._refused(at, "a match lies within one line; set multiline to match across lines")
        return chars
