"""Approvals: a plan that rules ask about is put before whoever decides, and what comes back is one answer (X4).

What is shown is what will be done: a plan that is made anew after the answer needs another one, unless it is the same
in all that was shown. Where its lines stand by then does not count.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast, get_args

import anyio
from openbuffer.sandbox.errors import in_words

from . import limits
from .contract import CommandTarget, FileChange, FileTarget, Hunk
from .errors import PermissionDeniedError, ToolCancelledError
from .ports import ApprovalAnswer, ApprovalOutcome, ApprovalRequest, ShownChange

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .contract import CancellationToken, Target
    from .permissions import PermissionRequest
    from .ports import ApprovalPort

Shown: TypeAlias = tuple[Any, ...]
"""All of a plan that a person decides about, to be compared with that of another attempt."""


def approval_request(
    request: PermissionRequest, *, reason: str, arguments: Mapping[str, Any], rules: tuple[str, ...]
) -> ApprovalRequest:
    """What is put before a person; bounded in size, and in the time that it takes to make.

    ``arguments`` are those of the call, ``rules`` those that an answer may bring about.
    """
    commands = [target for target in request.targets if isinstance(target, CommandTarget)]
    return ApprovalRequest(
        call_id=request.call_id,
        tool=request.tool,
        capabilities=request.capabilities,
        reason=reason,
        targets=request.targets,
        change=shown_change(request.change) if request.change is not None else None,
        arguments="" if request.targets else _bounded_json(arguments),
        containment="; ".join(dict.fromkeys(map(_containment, commands))),
        rules=rules,
    )


def shown_change(change: FileChange) -> ShownChange:
    """A change within the bounds of what is shown: as many of its hunks as fit, and the first in any case."""
    left = limits.APPROVAL_SHOWN_MAX_CHARS
    shown: list[Hunk] = []
    for hunk in change.hunks[: limits.APPROVAL_SHOWN_MAX_HUNKS]:
        size = len(hunk.before) + len(hunk.after)
        if size > left:
            if not shown:
                shown.append(_cut(hunk, left))
            break
        shown.append(hunk)
        left -= size
    removed, added, is_counted = _counted(change.hunks)
    return ShownChange(
        path=change.path,
        kind=change.kind,
        hunks=tuple(shown),
        hunk_count=len(change.hunks),
        removed_lines=removed,
        added_lines=added,
        before_bytes=change.before_bytes,
        after_bytes=change.after_bytes,
        is_whole=tuple(shown) == change.hunks,
        is_counted=is_counted,
        in_sandbox=change.in_sandbox,
    )


def recorded_change(change: ShownChange) -> FileChange:
    """What was shown, as the log keeps it."""
    return FileChange(
        path=change.path,
        hunks=change.hunks,
        before_bytes=change.before_bytes,
        after_bytes=change.after_bytes,
        kind=change.kind,
        in_sandbox=change.in_sandbox,
    )


def shown_of(targets: Sequence[Target], change: FileChange | None) -> Shown | None:
    """What is compared of two plans of one call; None where that is not all of it, so that it is asked about anew."""
    about = tuple(key_of(target) for target in targets)
    if change is None:
        return about, None
    if not change.hunks and change.kind == "file" and change.before_bytes:
        return None  # contents that are no text: another one would look the same
    hunks = tuple((hunk.before, hunk.after) for hunk in change.hunks)
    ends = (change.before_bytes is None, change.after_bytes is None)
    return about, (change.path, change.kind, change.in_sandbox, ends, hunks)


def key_of(target: Target) -> object:
    """What a target is, without what a tool finds out about a file later."""
    return (target.path, target.access, target.in_sandbox) if isinstance(target, FileTarget) else target


async def answer_of(port: ApprovalPort, request: ApprovalRequest, token: CancellationToken) -> ApprovalAnswer:
    """The one answer. Cancelling withdraws the request, and so does ``token``.

    Raises:
        ToolCancelledError: the call was cancelled through its token.
    """
    answer = ApprovalAnswer(outcome="timeout")

    async def ask() -> None:
        nonlocal answer
        try:
            answer = await port.approve(request)
        except Exception as error:  # noqa: BLE001  whatever a client's code raises, nobody was asked
            answer = ApprovalAnswer(outcome="unavailable", reason=in_words(error))
        group.cancel_scope.cancel()

    async def watch() -> None:
        while not token.cancelled:  # noqa: ASYNC110  a token is a flag that is set from any thread, and wakes nobody
            await anyio.sleep(limits.APPROVAL_POLL_S)
        group.cancel_scope.cancel()

    with anyio.move_on_after(limits.APPROVAL_TIMEOUT_S):
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            group.start_soon(ask)
    if token.cancelled:
        raise ToolCancelledError(f"{request.tool}: cancelled while it waited for an approval; nothing was done")
    return _understood(answer)


def _understood(answer: object) -> ApprovalAnswer:
    """The answer, of bounded length; what is none is no yes, whatever a client's code returns."""
    if not isinstance(answer, ApprovalAnswer):
        return ApprovalAnswer(outcome="unavailable", reason=f"the answer is a {type(answer).__name__}")
    outcome, reason = answer.outcome, str(answer.reason)
    if not isinstance(cast("object", outcome), str) or outcome not in get_args(ApprovalOutcome):
        return ApprovalAnswer(outcome="unavailable", reason=f"{outcome!r:.60} is no answer")
    most = limits.APPROVAL_REASON_MAX_CHARS
    return ApprovalAnswer(outcome=outcome, reason=reason if len(reason) <= most else f"{reason[:most]}…")


def refusal(about: str, why: str, answer: ApprovalAnswer) -> PermissionDeniedError:
    """The error of an answer that is no yes; its ``reason`` is the outcome. ``about`` is the call, ``why`` the rule."""
    said = f": {answer.reason}" if answer.reason else ""
    asked = f" (asked {why})" if why else ""
    text = {
        "no": f"the user did not approve {about}{asked}{said}; nothing was done. Do not try it again in another way",
        "dismissed": f"the user closed the question about {about}{asked} without an answer{said}; nothing was done",
        "timeout": f"{about} needs an approval{asked} and nobody gave one in time{said}; nothing was done",
        "unavailable": f"{about} needs an approval{asked} and nobody could be asked{said}; nothing was done",
    }[answer.outcome]
    return PermissionDeniedError(text, reason=answer.outcome)


def _containment(command: CommandTarget) -> str:
    if command.in_sandbox:
        return "runs in the session's sandbox, which has files of its own"
    if not command.confined_by:
        return _UNCONFINED
    why = f", and not allowed by that alone: {command.asks_because}" if command.asks_because else ""
    return f"confined by {command.confined_by}{why}"


_UNCONFINED: Final = "not confined: it can do whatever you can"


def _cut(hunk: Hunk, most: int) -> Hunk:
    """The beginning of a hunk: of what goes and of what comes."""
    half = most // 2
    before = hunk.before[: max(half, most - len(hunk.after))]
    return Hunk(hunk.start_line, before, hunk.after[: most - len(before)])


def _counted(hunks: Sequence[Hunk]) -> tuple[int, int, bool]:
    """Lines that go, lines that come, and whether those are all."""
    counts = [0, 0]
    left = limits.APPROVAL_COUNTED_MAX_CHARS
    most = limits.APPROVAL_COUNTED_MAX_HUNKS
    for hunk in hunks[:most]:
        for index, text in enumerate((hunk.before, hunk.after)):
            if len(text) > left:
                counts[index] += text.count("\n", 0, left)
                return counts[0], counts[1], False
            left -= len(text)
            counts[index] += text.count("\n") + bool(text and not text.endswith("\n"))
    return counts[0], counts[1], len(hunks) <= most


def _bounded_json(arguments: Mapping[str, Any]) -> str:
    text = ""
    for piece in json.JSONEncoder(ensure_ascii=False).iterencode(dict(arguments)):
        text += piece
        if len(text) > limits.APPROVAL_ARGUMENTS_MAX_CHARS:
            return f"{text[: limits.APPROVAL_ARGUMENTS_MAX_CHARS]}…"
    return text
