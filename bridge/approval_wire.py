"""A plan as ``openbuffer/requestPermission`` carries it, and the answer to it; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast, get_args

from openbuffer.tools.contract import CommandTarget, FileTarget, UrlTarget
from openbuffer.tools.ports import ApprovalAnswer, ApprovalOutcome

from .approval_text import plan_in_words

if TYPE_CHECKING:
    from openbuffer.editor_access.client_requests import PermissionChange, PermissionTarget, RequestPermissionParams
    from openbuffer.tools.contract import Target
    from openbuffer.tools.ports import ApprovalRequest, ShownChange

_GIVEN: Final = frozenset(get_args(ApprovalOutcome)) - {"timeout", "unavailable"}
"""What a client can answer."""

_REASON_MAX_CHARS: Final = 2_000


def permission_params(request: ApprovalRequest) -> RequestPermissionParams:
    """The params of the request, but for its ``dialogId``."""
    params: dict[str, Any] = {
        "message": plan_in_words(request).message,
        "callId": request.call_id,
        "tool": request.tool,
        "capabilities": sorted(request.capabilities),
        "reason": request.reason,
        "targets": [_target(target) for target in request.targets],
        "rules": list(request.rules),
    }
    if request.change is not None:
        params["change"] = _change(request.change)
    if request.arguments:
        params["arguments"] = request.arguments
    if request.containment:
        params["containment"] = request.containment
    return cast("RequestPermissionParams", params)


def read_permission(answer: object) -> ApprovalAnswer | None:
    """What a client answered; None for whatever is no answer. A reason of another kind than a text is none."""
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    outcome, reason = fields.get("outcome"), fields.get("reason")
    if not isinstance(outcome, str) or outcome not in _GIVEN:
        return None
    said = reason[:_REASON_MAX_CHARS].strip() if isinstance(reason, str) else ""
    return ApprovalAnswer(outcome=cast("ApprovalOutcome", outcome), reason=said)


def _target(target: Target) -> PermissionTarget:
    match target:
        case FileTarget():
            return {
                "kind": "file",
                "path": target.path,
                "access": target.access.value,
                "exists": target.exists,
                "inSandbox": target.in_sandbox,
            }
        case CommandTarget():
            return {
                "kind": "command",
                "command": target.command,
                "argv": target.argv,
                "cwd": target.cwd,
                "confinedBy": target.confined_by,
                "inSandbox": target.in_sandbox,
            }
        case UrlTarget():
            return {
                "kind": "url",
                "url": target.url,
                "host": target.host,
                "port": target.port,
                "method": target.method,
            }


def _change(change: ShownChange) -> PermissionChange:
    return {
        "path": change.path,
        "kind": change.kind,
        "hunks": [{"startLine": hunk.start_line, "before": hunk.before, "after": hunk.after} for hunk in change.hunks],
        "hunkCount": change.hunk_count,
        "removedLines": change.removed_lines,
        "addedLines": change.added_lines,
        "beforeBytes": change.before_bytes,
        "afterBytes": change.after_bytes,
        "isWhole": change.is_whole,
        "isCounted": change.is_counted,
        "inSandbox": change.in_sandbox,
    }
