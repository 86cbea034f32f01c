"""``window/workDoneProgress/cancel``: the user stops a call at its progress bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..protocol import is_id

if TYPE_CHECKING:
    from ..session import Session


def cancel_progress(session: Session, params: object) -> None:
    """Cancel the call that reports under this token."""
    token = cast("dict[str, Any]", params).get("token") if isinstance(params, dict) else None
    if is_id(token):
        session.cancel_by_token(cast("int | str", token))
