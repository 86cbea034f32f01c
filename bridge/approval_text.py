"""A plan in words, for clients that can show a message and some buttons; pure.

What decides comes first, since some clients show no more than a thousand characters: the tool, what it is about, and
the rules that an answer may bring about, whole or not at all. What comes from a file stands last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from openbuffer.tools.contract import Capability, CommandTarget, FileTarget, UrlTarget

from .dialog_text import LINE_END, marked_lines, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openbuffer.tools.contract import Hunk, Target
    from openbuffer.tools.ports import ApprovalRequest, ShownChange

_NAME_MAX_CHARS: Final = 100
_SUBJECT_MAX_CHARS: Final = 600
_REASON_MAX_CHARS: Final = 300
_RULES_MAX_CHARS: Final = 600
_LINE_MAX_CHARS: Final = 240
_TARGETS_MAX: Final = 10
_COMMAND_MAX_LINES: Final = 30
_COMMAND_LINE_MAX_CHARS: Final = 1_500
_COMMAND_MAX_CHARS: Final = 3_000
_HUNK_MAX_LINES: Final = 12
_HUNKS_MAX_LINES: Final = 24
_ARGUMENTS_MAX_CHARS: Final = 1_000


@dataclass(frozen=True, slots=True)
class PlanInWords:
    """What is shown. ``offers_rules``: the rules are told whole, so that an answer may bring them about."""

    message: str
    offers_rules: bool


def plan_in_words(request: ApprovalRequest) -> PlanInWords:
    """The words for one request, bounded in size."""
    rules, offers_rules = _rules(request.rules)
    lines = [f"openbuffer needs your permission: {one_line(request.tool, _NAME_MAX_CHARS)} {_wish(request)}"]
    if request.containment:
        lines.append(f"Containment: {one_line(request.containment, _REASON_MAX_CHARS)}")
    if request.reason:
        lines.append(f"Why you are asked: {one_line(request.reason, _REASON_MAX_CHARS)}")
    lines += rules
    for target in request.targets[:_TARGETS_MAX]:
        if isinstance(target, CommandTarget):
            lines += _command(target)
    if request.change is not None:
        lines += _hunks(request.change)
    return PlanInWords("\n".join(lines), offers_rules)


def _wish(request: ApprovalRequest) -> str:
    if request.change is not None:
        others = [target for target in request.targets if target not in _files_of(request.change, request.targets)]
        also = f"; it also {_about(others)}" if others else ""
        return f"wants to {_changing(request.change)}{also}"
    if request.targets:
        return _about(request.targets)
    return f"wants to act on {one_line(request.arguments, _ARGUMENTS_MAX_CHARS)}"


def _files_of(change: ShownChange, targets: Iterable[Target]) -> list[Target]:
    """The targets that the words about a change are about already."""
    return [
        target
        for target in targets
        if isinstance(target, FileTarget) and (target.path, target.in_sandbox) == (change.path, change.in_sandbox)
    ]


def _about(targets: tuple[Target, ...] | list[Target]) -> str:
    told = list(dict.fromkeys(map(_target, targets)))
    more = f"; and {len(told) - _TARGETS_MAX} more" if len(told) > _TARGETS_MAX else ""
    return f"wants to {'; '.join(told[:_TARGETS_MAX])}{more}"


def _target(target: Target) -> str:
    match target:
        case FileTarget():
            does = "read" if target.access is Capability.FILE_READ else "change"
            return f"{does} {_path(target.path, in_sandbox=target.in_sandbox)}"
        case UrlTarget():
            host = one_line(target.host, _SUBJECT_MAX_CHARS)
            where = f"the host {host}, port {target.port}"
            return f"send {one_line(target.method, 20)} to {where}: {one_line(target.url, _SUBJECT_MAX_CHARS)}"
        case CommandTarget():
            return f"run a command in {_path(target.cwd, in_sandbox=target.in_sandbox)}{_program(target)}"
        case _:
            # A kind of target that these words do not know yet is shown as it shows itself.
            return f"act on {one_line(str(target), _SUBJECT_MAX_CHARS)}"


def _program(target: CommandTarget) -> str:
    return f" with {one_line(target.argv[0], _LINE_MAX_CHARS)}" if target.argv else ""


def _path(path: str, *, in_sandbox: bool) -> str:
    return f"{one_line(path, _SUBJECT_MAX_CHARS)}{' in the sandbox' if in_sandbox else ''}"


def _changing(change: ShownChange) -> str:
    path = _path(change.path, in_sandbox=change.in_sandbox)
    what = "" if change.kind == "file" else f"the {change.kind} "
    if change.after_bytes is None:
        return f"delete {what}{path}{_size(change.before_bytes)}{_counts(change)}"
    if change.before_bytes is None:
        return f"make {what}{path}{_size(change.after_bytes)}{_counts(change)}"
    places = "1 place" if change.hunk_count == 1 else f"{change.hunk_count} places"
    return f"change {what}{path} in {places}{_counts(change)}"


def _size(size: int | None) -> str:
    return "" if size is None else f" of {size} bytes"


def _counts(change: ShownChange) -> str:
    if not change.hunk_count:
        return ""
    least = "" if change.is_counted else "at least "
    return f" ({least}-{change.removed_lines} +{change.added_lines} lines)"


def _rules(rules: tuple[str, ...]) -> tuple[list[str], bool]:
    if not rules:
        return [], False
    shown = [one_line(rule, len(rule) + _RULES_MAX_CHARS) for rule in rules]
    if sum(map(len, shown)) > _RULES_MAX_CHARS or len(shown) > _TARGETS_MAX:
        return ["It can be allowed for this once only: the rule for more is too long to be shown."], False
    return [f"An answer for the session or for always allows from then on: {', '.join(shown)}"], True


def _command(target: CommandTarget) -> list[str]:
    """The line as a shell would prompt for it; its beginning and its end where it is long."""
    lines = marked_lines(
        target.command, "> ", most_lines=_COMMAND_MAX_LINES, most_chars=_line_bound(target.command.count("\n") + 1)
    )
    lines[0] = f"$ {lines[0].removeprefix('> ')}"
    return [*(f"{line} {LINE_END}" for line in lines[:-1]), lines[-1]]


def _line_bound(lines: int) -> int:
    """How long a line may be, so that all of them together stay within bounds."""
    return min(_COMMAND_LINE_MAX_CHARS, max(100, _COMMAND_MAX_CHARS // min(lines, _COMMAND_MAX_LINES)))


def _hunks(change: ShownChange) -> list[str]:
    """As many as fit, and the beginning of the first one in any case."""
    lines: list[str] = []
    shown = 0
    for hunk in change.hunks:
        told = _hunk(hunk)
        if lines and len(lines) + len(told) > _HUNKS_MAX_LINES:
            break
        lines += told
        shown += 1
    if not change.hunk_count:
        return []
    if shown < change.hunk_count:
        lines.append(f"(and {change.hunk_count - shown} more places, which are not shown)")
    elif not change.is_whole:
        lines.append("(the end of it is not shown)")
    return lines


def _hunk(hunk: Hunk) -> list[str]:
    before = hunk.before and marked_lines(
        hunk.before, "- ", most_lines=_HUNK_MAX_LINES // 2, most_chars=_LINE_MAX_CHARS
    )
    after = hunk.after and marked_lines(hunk.after, "+ ", most_lines=_HUNK_MAX_LINES // 2, most_chars=_LINE_MAX_CHARS)
    return [f"At line {hunk.start_line}:", *before, *after]
