"""Questions to the user without a client: nobody is there, or a program that embeds the tools answers them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio

from ..ports import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..ports import Question

Given: TypeAlias = "str | Sequence[str] | Answer"
"""An answer as a program gives it: one value, several, or what became of the question instead."""

_NOBODY: Final = "nobody is there who could be asked"


class HeadlessAsks:
    """Has the answers that were given beforehand, by the text of the question, and asks nobody. Fulfils ``AskPort``.

    Every other question is ``unavailable``; ``how`` tells whoever reads that what to do about it.
    """

    def __init__(self, answers: Mapping[str, Given] | None = None, *, how: str = "") -> None:
        self._answers: Final = {text: _answer(given) for text, given in (answers or {}).items()}
        self._nobody: Final = Answer(outcome="unavailable", reason=how or _NOBODY)

    async def ask(self, question: Question) -> Answer:
        """The answer that was given, at once."""
        return self._answers.get(question.text, self._nobody)


class InMemoryAsks:
    """Answers from a script, and after its end waits for the program to answer; keeps what was asked. An ``AskPort``.

    Used on the event loop of the calls. ``asked`` is every question, in order; ``withdrawn`` those whose call was
    cancelled while they waited.
    """

    def __init__(self, *script: Given) -> None:
        self.asked: list[Question] = []
        self.withdrawn: list[Question] = []
        self._script = deque(map(_answer, script))
        self._pending: list[_Pending] = []
        self._came = anyio.Event()

    @property
    def pending(self) -> tuple[Question, ...]:
        """What waits for an answer, the oldest first."""
        return tuple(each.question for each in self._pending)

    async def ask(self, question: Question) -> Answer:
        """The next answer of the script, or else the program's."""
        self.asked.append(question)
        if self._script:
            return self._script.popleft()
        pending = _Pending(question)
        self._pending.append(pending)
        self._came.set()
        try:
            await pending.answered.wait()
        finally:
            if pending in self._pending:
                self._pending.remove(pending)
                self.withdrawn.append(question)
        return pending.answer

    async def next_question(self) -> Question:
        """The oldest that waits, once there is one."""
        while not self._pending:
            self._came = anyio.Event()
            await self._came.wait()
        return self._pending[0].question

    def answer(self, given: Given) -> bool:
        """Answer the oldest that waits; False where none does."""
        if not self._pending:
            return False
        pending = self._pending.pop(0)
        pending.answer = _answer(given)
        pending.answered.set()
        return True


class _Pending:
    def __init__(self, question: Question) -> None:
        self.question = question
        self.answer = Answer(outcome="dismissed")
        self.answered = anyio.Event()


def _answer(given: Given) -> Answer:
    if isinstance(given, Answer):
        return given
    return Answer(outcome="answered", values=(given,) if isinstance(given, str) else tuple(given))
