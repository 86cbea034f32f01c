"""A recorded call as it is printed: one line of the list, the whole of it with the diff, and as JSON.

What was recorded may come from anywhere, so that everything of it is made harmless for a terminal.
"""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, cast

from openbuffer.tools.contract import CommandTarget, UrlTarget
from openbuffer.tools.events import ApprovalAnswered, ApprovalAsked, ToolFinished, ToolIntended, ToolRejected

from .terminal import harmless

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openbuffer.tools.adapters.sqlite_log_reader import CallOutcome, LoggedCall, LoggedEvent
    from openbuffer.tools.contract import FileChange, Hunk, Target

    from .terminal import Terminal, Tone

_TEXT_MAX_CHARS: Final = 2_000
"""Of one text in an argument or a result; ``--json`` has all of it."""

_DIFF_MAX_LINES: Final = 2_000

_TONES: Final[dict[CallOutcome, Tone]] = {
    "succeeded": "good",
    "failed": "warn",
    "error": "bad",
    "cancelled": "warn",
    "outdated": "warn",
    "rejected": "bad",
    "running": "strong",
    "interrupted": "bad",
}
_MEANING: Final[dict[str, str]] = {
    "running": "it runs, or could not record how it ended",
    "interrupted": "the session ended in the middle of it; what it did is not known, so look before it is repeated",
    "outdated": "something else had changed what it was about; nothing was done, and it did not begin again",
}


def row(call: LoggedCall, terminal: Terminal) -> str:
    """One line; cut to the width of a terminal."""
    outcome = terminal.paint(_TONES[call.outcome], f"{call.outcome:<11}")
    start = f"{call.number:>6}  {_local(call.at_ns)}  {_one_line(call.tool):<8}  "
    about = _one_line(_about(call))
    room = terminal.width - len(start) - 13
    if terminal.colours and len(about) > max(room, 1):
        about = f"{about[: max(room - 1, 0)]}…"
    return f"{start}{outcome}  {about}"


def shown_call(call: LoggedCall, terminal: Terminal) -> Iterator[str]:
    """All of it, line by line."""
    session = call.session
    yield terminal.paint("strong", f"Call {call.number}: {_one_line(call.tool)}, ") + terminal.paint(
        _TONES[call.outcome], call.outcome
    )
    if call.outcome in _MEANING:
        yield f"  {_MEANING[call.outcome]}"
    yield f"  id       {_one_line(call.call_id)}"
    yield f"  began    {_local(call.at_ns)}{_took(call)}"
    roots = ", ".join(map(_one_line, session.roots))
    yield f"  session  {session.number} ({session.face} {session.release}, process {session.process}, roots {roots})"
    for at_ns, later in session.later_roots:
        yield f"           from {_local(at_ns)} roots {', '.join(map(_one_line, later))}"
    for event in call.events:
        yield ""
        yield from _shown_event(event, terminal)


def call_to_json(call: LoggedCall, *, whole: bool) -> dict[str, Any]:
    """The form of ``--json``; ``whole`` has the events with all that they hold."""
    session = call.session
    ended = call.ended_ns
    wire: dict[str, Any] = {
        "number": call.number,
        "callId": call.call_id,
        "tool": call.tool,
        "outcome": call.outcome,
        "at": _utc(call.at_ns),
        "seconds": None if ended is None else round((ended - call.at_ns) / 1e9, 6),
        "session": {
            "number": session.number,
            "key": session.key,
            "face": session.face,
            "process": session.process,
            "alive": session.is_alive,
            "roots": list(
                dict.fromkeys((*session.roots, *chain.from_iterable(later for _, later in session.later_roots)))
            ),
        },
        "targets": [_target_to_json(target) for target in call.targets],
    }
    error = _error(call)
    if error is not None:
        wire["error"] = error
    if whole:
        wire["events"] = [_event_to_json(event) for event in call.events]
    return wire


def unified(hunks: tuple[Hunk, ...]) -> Iterator[str]:
    """The hunks as the lines of a unified diff, without its header."""
    shift = 0
    for hunk in hunks:
        before, after = _lines(hunk.before), _lines(hunk.after)
        old, new = hunk.start_line, hunk.start_line + shift
        yield f"@@ -{old if before else old - 1},{len(before)} +{new if after else new - 1},{len(after)} @@"
        for sign, lines in (("-", before), ("+", after)):
            for line in lines:
                yield sign + line.removesuffix("\n")
                if not line.endswith("\n"):
                    yield "\\ No newline at end of file"
        shift += len(after) - len(before)


def _lines(text: str) -> list[str]:
    """At line feeds alone, as the numbers of lines are counted."""
    pieces = text.split("\n")
    return [f"{piece}\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _about(call: LoggedCall) -> str:
    about = ", ".join(dict.fromkeys(target.subject for target in call.targets))
    error = _error(call)
    return f"{about}: {error}" if about and error and not error.startswith(about) else error or about


def _error(call: LoggedCall) -> str | None:
    event = call.events[-1].event
    error = event.error if isinstance(event, (ToolFinished, ToolRejected)) else None
    value: object = event.value if isinstance(event, ToolFinished) else None
    told = cast("dict[str, object]", value).get("error") if isinstance(value, dict) else None
    return error or (told if isinstance(told, str) else None)


def _took(call: LoggedCall) -> str:
    return "" if call.ended_ns is None else f", took {(call.ended_ns - call.at_ns) / 1e9:.3f} s"


def _shown_event(logged: LoggedEvent, terminal: Terminal) -> Iterator[str]:
    match logged.event:
        case ToolIntended() as event:
            yield terminal.paint("strong", f"Intent at {_local(logged.at_ns)}, attempt {event.attempt}")
            for target in event.targets:
                yield f"  {_shown_target(target)}"
            yield from _indented(_json(event.arguments))
            if event.change is not None:
                yield from _shown_change(event.change, logged, terminal)
        case ToolFinished() as event:
            yield terminal.paint("strong", f"Outcome at {_local(logged.at_ns)}: {event.outcome}")
            if event.made_on is not None:
                yield f"  made on version {event.made_on} of the document; the lines of the change had moved along"
            yield from _indented(event.error or "")
            yield from _indented(_value(event.value))
        case ToolRejected() as event:
            yield terminal.paint("strong", f"Refused at {_local(logged.at_ns)}: {_one_line(event.error_type)}")
            yield from _indented(event.error)
        case ApprovalAsked() | ApprovalAnswered() as event:
            yield from _shown_approval(event, logged, terminal)
        case None:
            yield f"{_one_line(logged.kind)} at {_local(logged.at_ns)}: of a newer release, which can show it"
    for name, (size, why) in logged.not_kept.items():
        yield terminal.paint("faint", f"  {name}: not kept, {_one_line(why)}" + (f" ({size} bytes)" if size else ""))


def _shown_approval(event: ApprovalAsked | ApprovalAnswered, logged: LoggedEvent, terminal: Terminal) -> Iterator[str]:
    at = _local(logged.at_ns)
    if isinstance(event, ApprovalAnswered):
        yield terminal.paint("strong", f"Answered at {at}: {event.outcome}")
        yield from _indented(event.reason)
        for rule in event.rules:
            yield f"  allowed from then on: {_one_line(rule)}"
        return
    yield terminal.paint("strong", f"Asked at {at}: {_one_line(event.reason)}")
    for target in event.targets:
        yield f"  {_shown_target(target)}"
    for rule in event.rules:
        yield f"  offered as a rule: {_one_line(rule)}"
    if event.change is not None:
        yield from _shown_change(event.change, logged, terminal)
        if not event.is_whole:
            yield terminal.paint("faint", "  (there is more, which was not shown)")


def _shown_target(target: Target) -> str:
    if isinstance(target, CommandTarget):
        confined = f", confined by {target.confined_by}" if target.confined_by else ", unconfined"
        return f"{_one_line(target.command)} (in {_one_line(target.cwd)}{confined})"
    if isinstance(target, UrlTarget):
        return f"{_one_line(target.url)} ({_one_line(target.method)})"
    exists = "" if target.exists else ", new"
    return f"{_one_line(target.path)} ({target.access.value}, {target.place}{exists})"


def _shown_change(change: FileChange, logged: LoggedEvent, terminal: Terminal) -> Iterator[str]:
    if logged.before_sha256 is not None:
        version = "" if logged.before_version is None else f", version {logged.before_version} of the document"
        yield terminal.paint("faint", f"  the text before it is kept{version} (--before prints it)")
    path = _one_line(change.path)
    yield f"--- {'/dev/null' if change.before_bytes is None else path}"
    yield f"+++ {'/dev/null' if change.after_bytes is None else path}"
    tones: dict[str, Tone] = {"-": "bad", "+": "good", "@": "faint"}
    for number, line in enumerate(unified(change.hunks)):
        if number == _DIFF_MAX_LINES:
            yield terminal.paint("faint", "… (--json has the rest)")
            return
        tone = tones.get(line[:1])
        plain = harmless(line)
        yield plain if tone is None else terminal.paint(tone, plain)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        told = cast("dict[str, Any]", value)
        if isinstance(told.get("output"), str) and set(told) <= {"success", "output", "error", "exitCode", "startLine"}:
            code = f"exit code {told['exitCode']}\n" if "exitCode" in told else ""
            return "\n".join(_cut(text) for text in (code, told.get("error") or "", told["output"]) if text)
    return "" if value is None else _json(value)


def _json(value: Any) -> str:
    return json.dumps(_shortened(value), ensure_ascii=False, indent=1)


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, dict):
        return {key: _shortened(child) for key, child in cast("dict[str, Any]", value).items()}
    return [_shortened(child) for child in cast("list[Any]", value)] if isinstance(value, list) else value


def _cut(text: str) -> str:
    if len(text) <= _TEXT_MAX_CHARS:
        return text
    return f"{text[:_TEXT_MAX_CHARS]}… ({len(text)} characters; --json has all)"


def _indented(text: str) -> Iterator[str]:
    for line in text.rstrip("\n").split("\n") if text.strip() else []:
        yield f"  {harmless(line)}"


def _event_to_json(logged: LoggedEvent) -> dict[str, Any]:
    wire: dict[str, Any] = {"number": logged.number, "at": _utc(logged.at_ns), "kind": logged.kind}
    match logged.event:
        case ToolIntended() as event:
            wire["attempt"] = event.attempt
            wire["capabilities"] = sorted(event.capabilities)
            wire["arguments"] = event.arguments
            wire["targets"] = [_target_to_json(target) for target in event.targets]
            if event.change is not None:
                wire["change"] = _change_to_json(event.change)
        case ApprovalAsked() as event:
            wire |= {"attempt": event.attempt, "reason": event.reason, "rules": list(event.rules)}
            wire["targets"] = [_target_to_json(target) for target in event.targets]
            if event.change is not None:
                wire |= {"change": _change_to_json(event.change), "whole": event.is_whole}
        case ApprovalAnswered() as event:
            wire |= {"attempt": event.attempt, "outcome": event.outcome, "reason": event.reason}
            wire["rules"] = list(event.rules)
        case ToolFinished() as event:
            wire |= {"attempt": event.attempt, "outcome": event.outcome, "value": event.value, "error": event.error}
            wire |= {} if event.made_on is None else {"madeOn": event.made_on}
        case ToolRejected() as event:
            wire |= {"errorType": event.error_type, "error": event.error}
        case None:
            pass
    if logged.before_sha256 is not None:
        wire["before"] = {"sha256": logged.before_sha256, "version": logged.before_version}
    if logged.not_kept:
        wire["notKept"] = {name: {"bytes": size, "why": why} for name, (size, why) in logged.not_kept.items()}
    return wire


def _change_to_json(change: FileChange) -> dict[str, Any]:
    told = dataclasses.asdict(dataclasses.replace(change, before=None))
    return {name: value for name, value in told.items() if name != "before"}


def _target_to_json(target: Target) -> dict[str, Any]:
    return {each.name: getattr(target, each.name) for each in dataclasses.fields(target)}


def _one_line(text: str) -> str:
    return harmless(text.replace("\n", "\\n").replace("\t", "\\t"))


def _local(nanoseconds: int) -> str:
    return f"{datetime.fromtimestamp(nanoseconds / 1e9, UTC).astimezone():%Y-%m-%d %H:%M:%S}"


def _utc(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat(timespec="milliseconds")
