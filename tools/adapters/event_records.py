"""Events as a log keeps them: named parts, each of them JSON or bytes, redacted and bounded; and back.

Nothing here fails for what a tool returns, whatever that is: what JSON does not know is kept as its description.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, assert_never, cast
from urllib.parse import quote, unquote

from ..contract import Capability, CommandTarget, FileChange, FileTarget, Hunk, Target, UrlTarget
from ..events import ApprovalAnswered, ApprovalAsked, ToolFinished, ToolIntended, ToolRejected
from ..limits import LOG_PART_MAX_BYTES
from .log_redaction import REDACTED, names_credential

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..events import Event
    from .log_redaction import Redaction
    from .log_settings import Kept

Kind: TypeAlias = Literal["intended", "finished", "rejected", "asked", "answered"]

BEFORE: Final = "before"
"""The one part that is no JSON: the bytes of a before-state."""

NOT_KEPT: Final = "not_kept"
"""The part that tells which others are missing: by name, how many bytes they had (0: not known) and why."""

_MOST_DEPTH: Final = 100
_DESCRIPTION_MAX_CHARS: Final = 1_000


@dataclass(slots=True, kw_only=True)
class EventRecord:
    """One event. ``outcome`` is that of a call's end or of an answer, or the error of one that was rejected; else "".

    ``parts`` are JSON as UTF-8, by name, except for the before-state.
    """

    kind: Kind
    call_id: str
    attempt: int
    tool: str
    outcome: str
    parts: dict[str, bytes] = field(default_factory=dict[str, bytes])


def encode(event: Event, keep: frozenset[Kept], redaction: Redaction) -> EventRecord:
    """The event as it is kept."""
    match event:
        case ToolIntended():
            return _Encoder(keep, redaction).intended(event)
        case ToolFinished():
            return _Encoder(keep, redaction).finished(event)
        case ToolRejected():
            return _Encoder(keep, redaction).rejected(event)
        case ApprovalAsked():
            return _Encoder(keep, redaction).asked(event)
        case ApprovalAnswered():
            return _Encoder(keep, redaction).answered(event)
        case _:
            assert_never(event)


def decode(record: EventRecord) -> Event | None:
    """The event; None for one of a kind, or with parts, that this version does not know.

    What was not kept is empty or None. A before-state is not part of it: whoever wants one reads it.
    """
    try:
        parts = {name: json.loads(part) for name, part in record.parts.items() if name != BEFORE}
        return _DECODERS[record.kind](record, parts)
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


class _Encoder:
    def __init__(self, keep: frozenset[Kept], redaction: Redaction) -> None:
        self._keep = keep
        self._redaction = redaction
        self._not_kept: dict[str, tuple[int, str]] = {}
        self._parts: dict[str, bytes] = {}

    def intended(self, event: ToolIntended) -> EventRecord:
        """What is about to be done."""
        self._put("capabilities", sorted(event.capabilities))
        self._put("targets", [self._target(target) for target in event.targets])
        if event.change is not None:
            self._change(event.change)
        self._put("arguments", self._plain(dict(event.arguments)))
        return self._record("intended", event, event.attempt)

    def finished(self, event: ToolFinished) -> EventRecord:
        """What became of it."""
        if event.value is not None:
            if "results" in self._keep:
                self._put("value", self._plain(event.value))
            else:
                self._not_kept["value"] = 0, "results are not kept"
        if event.error is not None:
            self._put("error", self._plain(event.error))
        if event.made_on is not None:
            self._put("made_on", event.made_on)
        return self._record("finished", event, event.attempt, event.outcome)

    def rejected(self, event: ToolRejected) -> EventRecord:
        """Why it never began."""
        self._put("error", self._plain(event.error))
        return self._record("rejected", event, 0, event.error_type)

    def asked(self, event: ApprovalAsked) -> EventRecord:
        """What somebody was asked about, as it was shown."""
        self._put("capabilities", sorted(event.capabilities))
        self._put("targets", [self._target(target) for target in event.targets])
        if event.change is not None:
            self._change(event.change)
        asked = {"reason": event.reason, "is_whole": event.is_whole, "rules": event.rules}
        self._put("asked", self._plain(asked))
        return self._record("asked", event, event.attempt)

    def answered(self, event: ApprovalAnswered) -> EventRecord:
        """What became of that."""
        self._put("answered", self._plain({"reason": event.reason, "rules": event.rules}))
        return self._record("answered", event, event.attempt, event.outcome)

    def _record(self, kind: Kind, event: Event, attempt: int, outcome: str = "") -> EventRecord:
        if self._not_kept:
            self._put(NOT_KEPT, self._not_kept)
        return EventRecord(
            kind=kind,
            call_id=text_as_kept(event.call_id),
            attempt=attempt,
            tool=text_as_kept(self._redaction.text(event.tool)),
            outcome=text_as_kept(outcome),
            parts=self._parts,
        )

    def _target(self, target: Target) -> dict[str, Any]:
        told = _fields(target)
        if not isinstance(target, FileTarget):  # where something is done is never redacted: the record is for that
            told = {name: self._plain(value) for name, value in told.items()}
        if isinstance(target, UrlTarget):
            told["url"] = self._url(target.url)
        return {"type": _TARGET_NAMES.get(type(target), type(target).__name__), **told}

    def _url(self, url: str) -> str:
        """A URL also hides what is to be redacted by its spelling."""
        meant = unquote(url)
        redacted = self._redaction.text(meant)
        return self._redaction.text(url) if redacted == meant else quote(redacted, safe=_URL_CHARACTERS)

    def _change(self, change: FileChange) -> None:
        before = change.before
        told = {name: value for name, value in _fields(change).items() if name not in {"hunks", "before"}}
        self._put("change", {**told, "version": before.version if before is not None else None})
        self._put("hunks", [[h.start_line, self._plain(h.before), self._plain(h.after)] for h in change.hunks])
        changes = bool(change.hunks) or change.after_bytes is None
        if changes and before is not None and before.content is not None:
            self._before(before.content)

    def _before(self, content: bytes) -> None:
        """Whole or not at all: a text with a hole is nothing to go back to."""
        why = ""
        if "before_states" not in self._keep:
            why = "before-states are not kept"
        elif len(content) > LOG_PART_MAX_BYTES:
            why = _TOO_LARGE
        elif self._redaction.is_needed_in(content):
            why = "holds what is to be redacted"
        if why:
            self._not_kept[BEFORE] = len(content), why
        else:
            self._parts[BEFORE] = content

    def _put(self, name: str, value: Any) -> None:
        content = _json(value)
        if len(content) > LOG_PART_MAX_BYTES:
            self._not_kept[name] = len(content), _TOO_LARGE
        else:
            self._parts[name] = content

    def _plain(self, value: object, depth: int = 0) -> Any:
        """The value as JSON has it, redacted."""
        if isinstance(value, str):
            return self._redaction.text(value)
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else str(value)
        if depth < _MOST_DEPTH:
            if isinstance(value, dict):
                entries = cast("dict[object, object]", value).items()
                return {
                    self._redaction.text(key if isinstance(key, str) else _described(key)): self._plain_member(
                        key, each, depth
                    )
                    for key, each in entries
                }
            if isinstance(value, (list, tuple)):
                return [self._plain(item, depth + 1) for item in cast("list[object]", value)]
        return self._redaction.text(_described(value))

    def _plain_member(self, name: object, value: object, depth: int) -> Any:
        if value and isinstance(value, str) and isinstance(name, str) and names_credential(name):
            return REDACTED
        return self._plain(value, depth + 1)


_TARGET_NAMES: Final[dict[type[Target], str]] = {FileTarget: "file", CommandTarget: "command", UrlTarget: "url"}
"""What a kind of target is called in a log, for good."""

_URL_CHARACTERS: Final = "!$%&'()*+,-./:;=?@[]_~"

_TOO_LARGE: Final = f"is over {LOG_PART_MAX_BYTES} bytes"


def _fields(record: Target | FileChange) -> dict[str, Any]:
    return {each.name: getattr(record, each.name) for each in fields(record)}


def _described(value: object) -> str:
    try:
        return repr(value)[:_DESCRIPTION_MAX_CHARS]
    except Exception:  # noqa: BLE001  any object may come here, and the record must be made
        return f"<{type(value).__name__}>"


def _json(value: Any) -> bytes:
    try:
        escaped = json.dumps(value, separators=(",", ":")).encode()  # the quicker way, and mostly nothing is escaped
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() if b"\\u" in escaped else escaped
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(value, separators=(",", ":")).encode()
    except ValueError:  # a number of more digits than are written
        return _json(_writable(value))


def _writable(value: Any) -> Any:
    """The value with numbers that nobody can write as their size."""
    if isinstance(value, bool) or not isinstance(value, (int, dict, list)):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < 10_000 else f"<a number of {value.bit_length()} bits>"
    if isinstance(value, dict):
        return {key: _writable(item) for key, item in cast("dict[str, Any]", value).items()}
    return [_writable(item) for item in cast("list[Any]", value)]


def text_as_kept(text: str) -> str:
    """A short text as a database takes it: without half surrogate pairs and NUL."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def _intended(record: EventRecord, parts: Mapping[str, Any]) -> ToolIntended:
    return ToolIntended(
        call_id=record.call_id,
        attempt=record.attempt,
        tool=record.tool,
        capabilities=frozenset(map(Capability, parts["capabilities"])),
        arguments=parts.get("arguments", {}),
        targets=tuple(map(_target, parts.get("targets", []))),
        change=_change(parts) if "change" in parts else None,
    )


def _target(told: Mapping[str, Any]) -> Target:
    values = dict(told)
    kind = {name: kind for kind, name in _TARGET_NAMES.items()}[values["type"]]
    if "access" in values:
        values["access"] = Capability(values["access"])
    if "argv" in values:
        values["argv"] = tuple(values["argv"])
    return kind(**_known(kind, values))


def _change(parts: Mapping[str, Any]) -> FileChange:
    hunks = tuple(Hunk(*hunk) for hunk in parts.get("hunks", []))
    return FileChange(**_known(FileChange, parts["change"]), hunks=hunks)


def _known(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what a newer release adds."""
    names = {each.name for each in fields(kind)}
    return {name: value for name, value in values.items() if name in names}


def _finished(record: EventRecord, parts: Mapping[str, Any]) -> ToolFinished:
    return ToolFinished(
        call_id=record.call_id,
        attempt=record.attempt,
        tool=record.tool,
        outcome=cast("Any", record.outcome),
        value=parts.get("value"),
        error=parts.get("error"),
        made_on=parts.get("made_on"),
    )


def _rejected(record: EventRecord, parts: Mapping[str, Any]) -> ToolRejected:
    return ToolRejected(
        call_id=record.call_id, tool=record.tool, error_type=record.outcome, error=parts.get("error", "")
    )


def _asked(record: EventRecord, parts: Mapping[str, Any]) -> ApprovalAsked:
    asked = parts["asked"]
    return ApprovalAsked(
        call_id=record.call_id,
        attempt=record.attempt,
        tool=record.tool,
        capabilities=frozenset(map(Capability, parts["capabilities"])),
        reason=asked["reason"],
        targets=tuple(map(_target, parts.get("targets", []))),
        change=_change(parts) if "change" in parts else None,
        is_whole=asked["is_whole"],
        rules=tuple(asked["rules"]),
    )


def _answered(record: EventRecord, parts: Mapping[str, Any]) -> ApprovalAnswered:
    answered = parts["answered"]
    return ApprovalAnswered(
        call_id=record.call_id,
        attempt=record.attempt,
        tool=record.tool,
        outcome=cast("Any", record.outcome),
        reason=answered["reason"],
        rules=tuple(answered["rules"]),
    )


_DECODERS: Final = {
    "intended": _intended,
    "finished": _finished,
    "rejected": _rejected,
    "asked": _asked,
    "answered": _answered,
}
