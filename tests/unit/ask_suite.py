"""What every ask port does, whoever answers behind it. A test module derives a class for its port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import anyio
import pytest
from openbuffer.tools.ports import Answer, Question

if TYPE_CHECKING:
    from openbuffer.tools.ports import AskPort

CHOICE = Question(text="Which?", options={"one": "the first", "two": ""}, header="Which")
SEVERAL = Question(text="Which of them?", options={"one": "", "two": "", "three": ""}, multi_select=True)
OWN = Question(text="What is it called?", options={}, free_text=True)


class AskDesk(Protocol):
    """A port, and the one who answers behind it."""

    waits: bool
    """Whether a question waits for somebody."""

    @property
    def port(self) -> AskPort:
        """The port."""
        ...

    def will_answer(self, question: Question, answer: Answer) -> None:
        """Have this question answered like this."""
        ...

    async def asked(self) -> Question:
        """The question that waits, once one does."""
        ...

    def is_withdrawn(self, question: Question) -> bool:
        """Whether nobody sees the question any more."""
        ...


class AskPortSuite:
    """Derive, and give the desk as a fixture ``desk``."""

    @pytest.mark.parametrize(
        ("question", "values"),
        [
            (CHOICE, ("two",)),
            (SEVERAL, ("three", "one")),
            (OWN, ("a text of several lines\nwith 日本 in it",)),
        ],
    )
    async def test_an_answer_comes_as_its_values(
        self, desk: AskDesk, question: Question, values: tuple[str, ...]
    ) -> None:
        desk.will_answer(question, Answer(outcome="answered", values=values))
        assert await desk.port.ask(question) == Answer(outcome="answered", values=values)

    @pytest.mark.parametrize("outcome", ["dismissed", "timeout", "unavailable"])
    async def test_no_answer_comes_as_what_became_of_the_question_and_has_no_values(
        self, desk: AskDesk, outcome: str
    ) -> None:
        desk.will_answer(CHOICE, Answer(outcome=outcome, reason="said why"))  # type: ignore[arg-type]  one of them
        answer = await desk.port.ask(CHOICE)
        assert (answer.outcome, answer.values, answer.reason) == (outcome, (), "said why")

    async def test_questions_one_after_the_other_get_each_its_own_answer(self, desk: AskDesk) -> None:
        desk.will_answer(CHOICE, Answer(outcome="answered", values=("one",)))
        desk.will_answer(OWN, Answer(outcome="answered", values=("x",)))
        assert (await desk.port.ask(CHOICE)).values == ("one",)
        assert (await desk.port.ask(OWN)).values == ("x",)

    async def test_a_question_whose_call_is_cancelled_is_withdrawn(self, desk: AskDesk) -> None:
        if not desk.waits:
            pytest.skip("a question never waits at this port")
        async with anyio.create_task_group() as group:
            group.start_soon(desk.port.ask, CHOICE)
            assert (await desk.asked()).text == CHOICE.text
            assert not desk.is_withdrawn(CHOICE)
            group.cancel_scope.cancel()
        with anyio.fail_after(5):
            while not desk.is_withdrawn(CHOICE):  # noqa: ASYNC110  a client tells nobody when it has taken it away
                await anyio.sleep(0.01)
        assert desk.is_withdrawn(CHOICE)
