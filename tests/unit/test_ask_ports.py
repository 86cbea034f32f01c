"""The ask ports that ship: the suite of all, and what each of them has besides."""

from __future__ import annotations

import anyio
import pytest
from openbuffer.tools.adapters.asks import HeadlessAsks, InMemoryAsks
from openbuffer.tools.ports import Answer, Question

from .ask_suite import CHOICE, OWN, AskPortSuite

pytestmark = pytest.mark.contract("W3")


class MemoryDesk:
    """Scripted, and waiting where there is no script."""

    waits = True

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self._port: InMemoryAsks | None = None

    @property
    def port(self) -> InMemoryAsks:
        self._port = self._port or InMemoryAsks(*self.answers)
        return self._port

    def will_answer(self, _question: Question, answer: Answer) -> None:
        self.answers.append(answer)

    async def asked(self) -> Question:
        return await self.port.next_question()

    def is_withdrawn(self, question: Question) -> bool:
        return question in self.port.withdrawn and question not in self.port.pending


class HeadlessDesk:
    """Answers that were given beforehand."""

    waits = False

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}

    @property
    def port(self) -> HeadlessAsks:
        return HeadlessAsks(self.answers)

    def will_answer(self, question: Question, answer: Answer) -> None:
        self.answers[question.text] = answer

    async def asked(self) -> Question:
        raise AssertionError("nothing waits")

    def is_withdrawn(self, _question: Question) -> bool:
        raise AssertionError("nothing waits")


class TestInMemoryAsks(AskPortSuite):
    @pytest.fixture
    def desk(self) -> MemoryDesk:
        return MemoryDesk()

    async def test_what_was_asked_is_kept_and_what_is_beyond_the_script_waits_for_the_program(self) -> None:
        port = InMemoryAsks("one", ("a", "b"))
        assert not port.answer("nobody waits")
        assert (await port.ask(CHOICE)).values == ("one",)
        assert (await port.ask(CHOICE)).values == ("a", "b")
        got: list[Answer] = []

        async def ask(question: Question) -> None:
            got.append(await port.ask(question))

        async with anyio.create_task_group() as group:
            group.start_soon(ask, OWN)
            assert await port.next_question() == OWN
            group.start_soon(ask, CHOICE)
            await anyio.wait_all_tasks_blocked()
            assert port.pending == (OWN, CHOICE)
            assert port.answer("mine")
            assert port.answer(Answer(outcome="dismissed"))
        assert [(each.outcome, each.values) for each in got] == [("answered", ("mine",)), ("dismissed", ())]
        assert port.asked == [CHOICE, CHOICE, OWN, CHOICE]
        assert port.withdrawn == []


class TestHeadlessAsks(AskPortSuite):
    @pytest.fixture
    def desk(self) -> HeadlessDesk:
        return HeadlessDesk()

    async def test_what_has_no_answer_beforehand_is_unavailable_with_the_reason(self) -> None:
        assert (await HeadlessAsks().ask(CHOICE)).reason == "nobody is there who could be asked"
        port = HeadlessAsks({"Which?": ("one",), "Else?": "x"}, how="start it in an editor")
        assert await port.ask(CHOICE) == Answer(outcome="answered", values=("one",))
        assert await port.ask(OWN) == Answer(outcome="unavailable", reason="start it in an editor")
