"""Approvals without a client: by a policy, where nobody is there; and by a program that embeds the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import anyio

from ..ports import ApprovalAnswer

if TYPE_CHECKING:
    from ..ports import ApprovalRequest

HeadlessPolicy: TypeAlias = Literal["never", "once"]


class HeadlessApprovals:
    """Answers by a policy: nobody is there who could be asked. Fulfils ``ApprovalPort``.

    ``how`` tells whoever reads a refusal what to do about it.
    """

    def __init__(self, policy: HeadlessPolicy = "never", *, how: str = "") -> None:
        self._answer: Final = (
            ApprovalAnswer(outcome="once") if policy == "once" else ApprovalAnswer(outcome="unavailable", reason=how)
        )

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:  # noqa: ARG002  the port's signature
        """The same answer to everything."""
        return self._answer


class PendingApprovals:
    """Requests that wait until the program answers them, on the event loop of the calls. Fulfils ``ApprovalPort``."""

    def __init__(self) -> None:
        self._pending: dict[str, _Pending] = {}
        self._came = anyio.Event()

    @property
    def requests(self) -> tuple[ApprovalRequest, ...]:
        """What waits for an answer, the oldest first."""
        return tuple(each.request for each in self._pending.values())

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Wait for the program's answer; a second request of one call takes the place of its first."""
        pending = _Pending(request)
        self._pending[request.call_id] = pending
        self._came.set()
        try:
            await pending.answered.wait()
        finally:
            if self._pending.get(request.call_id) is pending:
                del self._pending[request.call_id]
        return pending.answer

    async def next_request(self) -> ApprovalRequest:
        """The oldest request, once there is one."""
        while not self._pending:
            self._came = anyio.Event()
            await self._came.wait()
        return self.requests[0]

    def answer(self, call_id: str, answer: ApprovalAnswer) -> bool:
        """Answer the request of a call; False where it does not wait any more."""
        pending = self._pending.pop(call_id, None)
        if pending is None:
            return False
        pending.answer = answer
        pending.answered.set()
        return True


class _Pending:
    def __init__(self, request: ApprovalRequest) -> None:
        self.request = request
        self.answer = ApprovalAnswer(outcome="dismissed")
        self.answered = anyio.Event()
