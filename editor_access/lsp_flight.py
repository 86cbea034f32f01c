"""One edit on its way to a language client and back: what the client answers, and what its text shows (E7)."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from .errors import EditorLostError
from .port import Document, EditOutcome
from .truth import same_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from .lsp_documents import DocumentSlot, OpenDocument
    from .lsp_outcome import IntendedEdit, Verdict
    from .lsp_rich import EditAnswer

    _Send = Callable[[], Awaitable[EditAnswer | None]]

T = TypeVar("T")

_REASON_MAX_CHARS = 500
_LARGE_CHARS = 500_000
"""Comparing texts from this size on takes long enough for others to notice."""


@dataclass(frozen=True, slots=True)
class EditTimeouts:
    """How long an edit is waited for, in seconds.

    ``reply_s``: the client's answer; long, for some clients ask their user. ``text_s``: the changed text after an
    answer. ``grace_s``: more text, once something else has come that should have been the last word. ``promised_s``:
    the same where the client said that it applied the edit and may do so whatever the document's version; five times
    the longest delay that was measured, for an edit called skipped too soon is made twice by the next attempt.
    ``flush_s``: the answer of a client that is asked to tell what it has not told yet.
    """

    reply_s: float = 30.0
    text_s: float = 5.0
    grace_s: float = 1.0
    promised_s: float = 2.5
    flush_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What the client answered; ``revision`` is the state of the document at that moment.

    ``unreadable``: something that is neither a yes nor a no, so that nothing follows from it. ``is_last_word``: the
    client had told everything before it answered, so that nothing more is to be waited for.
    """

    kind: Literal["applied", "refused", "unreadable", "lost"]
    revision: int
    reason: str = ""
    is_last_word: bool = False


class EditFlight:
    """Sends one edit and finds out what became of it. It is the slot's observer while it lasts."""

    def __init__(
        self,
        *,
        slot: DocumentSlot,
        path: str,
        intended: IntendedEdit,
        timeouts: EditTimeouts,
        is_lost: Callable[[], bool],
        checks_versions: bool,
        withdraw: Callable[[], None] | None = None,
    ) -> None:
        """``is_lost`` tells whether the connection has ended; ``checks_versions``: the client is known to do so.

        ``withdraw`` closes the dialog in which the client may be asking its user.
        """
        self._checks_versions = checks_versions
        self._withdraw = withdraw
        self._slot = slot
        self._path = path
        self._intended = intended
        self._timeouts = timeouts
        self._is_lost = is_lost
        self._sent_at = slot.revision
        self._generation = None if slot.open is None else slot.open.generation
        self._sent_version = 0 if slot.open is None else slot.open.version
        self._reply: Reply | None = None
        self._held: Document | None = None
        self._before_held: tuple[str, ...] | None = None
        self._last_text = None if slot.open is None or len(slot.open.buffer) >= _LARGE_CHARS else slot.open.buffer.text
        self._is_perhaps_gone = False
        self._unsent = False

    async def carry_out(self, send: _Send) -> EditOutcome | None:
        """Send, wait, judge. Ends by itself: each wait is bounded, and the request is dropped at the end.

        None where the document moved before the request went out: then nothing was sent.
        """
        self._slot.observer = self
        outcome = self._unknown("the wait for it was given up")
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._ask, send)
                outcome = await self._outcome()
                group.cancel_scope.cancel()
        finally:
            self._slot.observer = None
        if self._unsent:
            return None
        if outcome.kind == "unknown":
            self._slot.unsettled_until = (self._slot.revision, time.monotonic() + self._timeouts.text_s)
        return outcome

    def observe(self, opened: OpenDocument | None) -> None:
        """Look at each state as it comes: a user may undo what was done before anybody wakes."""
        if self._held is not None or opened is None or opened.out_of_sync is not None:
            return
        verdict = self._verdict(opened)
        if verdict == "holds":
            self._held = opened.snapshot(self._path)
            return
        # An editor may have made it in a wrong place, which its user can take back before anybody wakes.
        self._is_perhaps_gone = self._is_perhaps_gone or verdict == "unclear" or self._came_with(opened)
        if not (self._checks_versions and opened.generation == self._generation) or self._lacks(opened):
            # Else hardly anything was changed in between, and some tell the edit itself in several messages.
            self._before_held = opened.buffer.pieces()

    def glimpse(self, opened: OpenDocument) -> None:
        """A user may also undo or change what was done before the client tells anything, which then tells all at once.

        Such a state between two changes may be a part of the edit, so that it is no state from before the edit. And
        somebody who types over a word has deleted it in between, which may be all that a short edit does.
        """
        if self._held is not None or len(opened.buffer) >= _LARGE_CHARS:
            return
        verdict = self._verdict(opened)
        if verdict == "holds" and self._intended.is_distinctive:
            self._held = opened.snapshot(self._path)
        elif verdict in {"holds", "unclear"}:
            self._is_perhaps_gone = True
        elif self._lacks(opened):
            # It was typed before the edit was made, which can have covered it.
            self._before_held = opened.buffer.pieces()

    def _verdict(self, opened: OpenDocument) -> Verdict | None:
        """What is told of the edit by this state; None where it is not in it, which is quickly seen."""
        buffer, intended = opened.buffer, self._intended
        return intended.judge(buffer.text) if buffer.has_in_a_line(intended.longest_line) else None

    def _came_with(self, opened: OpenDocument) -> bool:
        """Whether this state may differ from the last one by the edit in a wrong place, beside what was typed before.

        Not looked at in large texts, where it takes too long at every key.
        """
        if len(opened.buffer) >= _LARGE_CHARS:
            return False
        before, self._last_text = self._last_text, opened.buffer.text
        return before is not None and self._intended.may_have_come_between(before, self._last_text)

    def _lacks(self, opened: OpenDocument) -> bool:
        """Whether nothing of the edit is in the text, as far as that is told quickly."""
        return len(opened.buffer) < _LARGE_CHARS and self._intended.judge(opened.buffer.text) == "lacks"

    async def _ask(self, send: _Send) -> None:
        try:
            if self._slot.revision != self._sent_at:
                # Since the check of the caller this task had to wait for its turn. Not every client refuses a stale
                # edit, and what was typed in between could be overwritten without anybody noticing.
                self._unsent = True
                return
            result = await send()
        except EditorLostError:
            self._reply = Reply("lost", self._slot.revision)
        except Exception as error:  # noqa: BLE001  # whatever a client answers with an error is a refusal
            self._reply = Reply("refused", self._slot.revision, str(error) or type(error).__name__)
        else:
            if result is None:
                self._reply = Reply("unreadable", self._slot.revision)
            else:
                kind = "applied" if result.applied else "refused"
                self._reply = Reply(kind, self._slot.revision, result.reason, self._has_told(result))
        finally:
            # Also where the request was given up under us: then no answer will come.
            self._reply = self._reply or Reply("lost", self._slot.revision)
            self._slot.pulse.fire()

    def _has_told(self, answer: EditAnswer) -> bool:
        opened, told = self._slot.open, answer.told_version
        if told is None or opened is None:
            return False
        # An edit makes a new version: a client that names none cannot have told what it says that it made.
        return opened.version >= told >= self._sent_version + (1 if answer.applied else 0)

    async def _outcome(self) -> EditOutcome:
        """What became of the request that ``_ask`` sends."""
        await self._until(lambda: self._reply is not None or self._held is not None, self._timeouts.reply_s)
        if self._reply is None and self._held is None and self._withdraw is not None:
            self._withdraw()
            await self._until(lambda: self._reply is not None or self._held is not None, self._timeouts.grace_s)
        if self._reply is None and self._held is not None:
            # The answer is about to come; the next edit should not overtake it.
            await self._until(lambda: self._reply is not None, self._timeouts.grace_s)
        reply = self._reply
        if self._held is None and reply is not None and not self._unsent and not reply.is_last_word:
            if reply.kind in {"applied", "unreadable"}:
                await self._await_text()
            elif reply.kind == "refused":
                await self._await_word_after_refusal(reply)
            if self._slot.open is None:
                # didClose and didOpen in a row are a reload, which shows what became of the edit.
                await self._until(lambda: self._slot.open is not None, self._timeouts.grace_s)
        return self._judged(reply) if self._held is None else await self._made(self._held)

    async def _made(self, held: Document) -> EditOutcome:
        if held.generation != self._generation and not same_text(held.text, self._intended.expected):
            # An editor may make an edit for one opening in the next one, at places that are others there.
            return self._unknown("the document was opened anew meanwhile, and is not just what it was with this edit")
        if self._before_held is None or await self._spares(self._before_held, held.text):
            return EditOutcome(kind="done", document=held)
        return EditOutcome(
            kind="not_done",
            reason=f"{self._path}: the editor made the edit over a newer text than the one it was for, and what was "
            "changed in between may be gone; tell the user",
        )

    async def _spares(self, before: tuple[str, ...], after: str) -> bool:
        if len(after) < _LARGE_CHARS:
            return self._intended.spares("".join(before), after)
        # Both texts are settled, so that it does not matter what comes meanwhile.
        return await anyio.to_thread.run_sync(lambda: self._intended.spares("".join(before), after))

    async def _await_text(self) -> None:
        slot, limits = self._slot, self._timeouts
        await self._until(lambda: self._held is not None or slot.revision != self._sent_at, limits.text_s)
        if slot.revision != self._sent_at:
            # What came may have been typed before the edit was applied; the edit itself then comes right after.
            last_word_s = limits.grace_s if self._checks_versions else limits.promised_s
            await self._until(lambda: self._held is not None, last_word_s)

    async def _await_word_after_refusal(self, reply: Reply) -> None:
        # A stale edit is refused before or after the text that made it stale comes. Some clients apply and refuse,
        # so that the text which has come already is not quite the last word.
        grace_s = self._timeouts.grace_s if self._slot.revision == self._sent_at else self._timeouts.grace_s / 4
        await self._until(lambda: self._held is not None or self._slot.revision != reply.revision, grace_s)

    def _judged(self, reply: Reply | None) -> EditOutcome:
        opened = self._slot.open
        if reply is None or reply.kind == "lost" or self._is_lost():
            lost = self._is_lost() or reply is not None
            return self._unknown("the connection to the editor ended" if lost else self._no_answer())
        if opened is None:
            return self._unknown("the document was closed while the edit was on its way")
        if opened.out_of_sync is not None:
            return self._unknown(f"its text is not known any more ({opened.out_of_sync})")
        verdict = self._intended.judge(opened.buffer.text)
        if reply.kind == "refused":
            return self._refused(reply, nothing_changed=verdict == "lacks" and not self._is_perhaps_gone)
        if self._slot.revision == self._sent_at:
            said = "that it applied the edit" if reply.kind == "applied" else "neither yes nor no"
            waited = "" if reply.is_last_word else f" in {self._timeouts.text_s:g} s"
            return self._unknown(f"the editor answered {said}, and sent no changed text{waited}")
        if verdict == "unclear" or self._is_perhaps_gone:
            return self._unknown("its text was changed in a way that may or may not be this edit")
        return EditOutcome(
            kind="not_done",
            reason=f"{self._path}: the document moved on without the edit; the editor skipped it, probably because "
            "it had been changed in the meantime",
            nothing_changed=True,
        )

    def _refused(self, reply: Reply, *, nothing_changed: bool) -> EditOutcome:
        why = reply.reason or "without a reason; it may have been changed in the meantime, or the user said no"
        why = why if len(why) <= _REASON_MAX_CHARS else why[:_REASON_MAX_CHARS] + "…"
        shown = (
            ""
            if nothing_changed
            else ". Its text was changed in a way that may be this edit; read it before you try again"
        )
        return EditOutcome(
            kind="not_done",
            reason=f"{self._path}: the editor refused the edit: {why}{shown}",
            nothing_changed=nothing_changed,
        )

    def _unknown(self, why: str) -> EditOutcome:
        return EditOutcome(kind="unknown", reason=f"{self._path}: {why}")

    def _no_answer(self) -> str:
        return f"the editor did not answer within {self._timeouts.reply_s:g} s, and may still make it"

    async def _until(self, condition: Callable[[], bool], seconds: float) -> bool:
        return await wait_until(self._slot, lambda: condition() or self._is_lost(), seconds)


async def wait_until(slot: DocumentSlot, condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until ``condition`` holds, looking at each event of the document; False when the time is over."""
    with anyio.move_on_after(max(seconds, 0)):
        while not condition():
            await slot.pulse.wait()
    return condition()


async def finished(work: Coroutine[Any, Any, T], on_cancel: Callable[[], None] | None = None) -> T:
    """Run ``work`` to its end in a task of its own; cancelling the caller calls ``on_cancel`` and goes on after that.

    A task of asyncio's, because the language server cancels a handler's task itself, from which no shield of
    anyio's protects. ``work`` has to be bounded in time.
    """
    task = asyncio.get_running_loop().create_task(work)
    cancelled: asyncio.CancelledError | None = None
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError as error:
        cancelled = error
        if on_cancel is not None:
            on_cancel()
    with anyio.CancelScope(shield=True):
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
    if cancelled is not None:
        raise cancelled
    await anyio.lowlevel.checkpoint_if_cancelled()
    return task.result()
