"""AskUserQuestion: one to four questions to the user, one after the other, and what became of each (W3).

Nothing is made up: what the user did not answer is told as that, and an answer that was not to be had is refused.
"""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, cast

import anyio
from openbuffer.sandbox.errors import in_words
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from .. import limits
from ..contract import Capability, FunctionTool, InvocationResult, Plan, ToolContext, create_builtin_tool
from ..limits import (
    ASK_ANSWER_MAX_CHARS,
    ASK_DESCRIPTION_MAX_CHARS,
    ASK_HEADER_MAX_CHARS,
    ASK_LABEL_MAX_CHARS,
    ASK_OPTIONS_MAX,
    ASK_QUESTIONS_MAX,
    ASK_TEXT_MAX_CHARS,
)
from ..ports import Answer, Question
from ..support.found_text import words_of
from ..support.json_line import json_line
from ..support.left_out import counted
from ..support.unseen import HIDDEN, SELECTORS, SHAPELESS, TURNING
from ..support.until_cancelled import until_cancelled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from ..ports import AskPort

_REASON_MAX_CHARS: Final = 300
_UNSEEN: Final = re.compile(f"[{SHAPELESS}{SELECTORS}{TURNING}{HIDDEN}]")
"""What turns the writing around, or shows nothing: two options would look the same."""


class OptionInput(BaseModel):
    """One option with a description."""

    model_config = ConfigDict(extra="forbid")

    label: str = Field(min_length=1, max_length=ASK_LABEL_MAX_CHARS, description="What is chosen, on one line.")
    description: str = Field("", max_length=ASK_DESCRIPTION_MAX_CHARS, description="What choosing it means.")

    @field_validator("label", "description")
    @classmethod
    def _is_readable(cls, text: str) -> str:
        return _one_line(text) if text else text


Label: TypeAlias = Annotated[str, Field(min_length=1, max_length=ASK_LABEL_MAX_CHARS)]


class QuestionInput(BaseModel):
    """One question."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(min_length=1, max_length=ASK_TEXT_MAX_CHARS, description="The question, as the user sees it.")
    header: str = Field("", max_length=ASK_HEADER_MAX_CHARS, description="A short name for the question, on one line.")
    options: list[Label | OptionInput] = Field(
        default_factory=list[Label | OptionInput],
        max_length=ASK_OPTIONS_MAX,
        description="What can be chosen: a label, or label and description. Labels differ from each other.",
    )
    multi_select: bool = Field(False, alias="multiSelect", description="Whether several options can be chosen.")
    free_text: bool = Field(
        False,
        alias="freeText",
        description="Whether a text of the user's own is an answer, too; without options it is in any case.",
    )

    @field_validator("question")
    @classmethod
    def _is_readable(cls, text: str) -> str:
        for line in text.split("\n"):
            _refuse_unreadable(line.replace("\t", " "))
        if not text.strip():
            raise ValueError("is blank")
        return text.strip()

    @field_validator("header")
    @classmethod
    def _is_on_one_line(cls, text: str) -> str:
        return _one_line(text) if text else ""

    @field_validator("options")
    @classmethod
    def _differ(cls, options: list[Any]) -> list[OptionInput]:
        read = [
            OptionInput.model_construct(label=_one_line(o), description="") if isinstance(o, str) else o
            for o in options
        ]
        labels = [each.label for each in read]
        for label in labels:
            if labels.count(label) > 1:
                raise ValueError(f"two options have the label {label!r}")
        return read

    @model_validator(mode="after")
    def _has_options(self) -> Self:
        if self.multi_select and not self.options:
            raise ValueError("multiSelect needs options")
        return self

    def as_port(self) -> Question:
        """The question as the port takes it."""
        options = {each.label: each.description for each in self.options if isinstance(each, OptionInput)}
        return Question(
            text=self.question,
            options=options,
            multi_select=self.multi_select,
            free_text=self.free_text or not options,
            header=self.header,
        )


class AskUserQuestionInput(BaseModel):
    """Arguments of AskUserQuestion."""

    model_config = ConfigDict(extra="forbid")

    questions: list[QuestionInput] = Field(
        min_length=1, max_length=ASK_QUESTIONS_MAX, description="The questions, in the order in which they are asked."
    )


def create_ask_user_question_tool(*, ask: AskPort | None = None, description: str | None = None) -> FunctionTool:
    """Build the AskUserQuestion tool. A port that the call brings is asked before ``ask``; without any, nobody is."""

    async def prepare(parsed: AskUserQuestionInput, _context: ToolContext) -> Plan:
        return Plan(state=[each.as_port() for each in parsed.questions])

    async def commit(plan: Plan, context: ToolContext) -> InvocationResult:
        questions: list[Question] = plan.state
        port = context.ask if context.ask is not None else ask
        became = await until_cancelled(
            context.cancellation,
            lambda: _asked(port, questions),
            "the call was cancelled; the question that waited for an answer was withdrawn.",
        )
        return _result(became)

    return create_builtin_tool(
        name="AskUserQuestion",
        description=description if description is not None else _DESCRIPTION,
        model=AskUserQuestionInput,
        prepare=prepare,
        commit=commit,
        capabilities=frozenset({Capability.ASK_USER}),
    )


_DESCRIPTION: Final = (
    f"Asks the user one to {ASK_QUESTIONS_MAX} questions, one after the other, and waits for each answer. The output "
    "tells how many were answered, and then has one line of JSON for each question: question, header (where it has "
    "one), outcome and answers, which are labels of options or texts of the user's own. The call fails where any of "
    "them is not answered, with what was answered in the output and the outcome of the rest: dismissed (closed by the "
    "user), timeout, unavailable (nobody can be asked), refused (what came is no answer to it), not_asked. A question "
    "that is dismissed, has no answer in time or cannot be asked ends the call, and what follows it is not asked."
)


# --- asking --------------------------------------------------------------------------------------------------------

_Outcome: TypeAlias = Literal["answered", "dismissed", "timeout", "unavailable", "refused", "not_asked"]
_ENDING: Final = frozenset({"dismissed", "timeout", "unavailable"})


@dataclasses.dataclass(frozen=True, slots=True)
class _Became:
    """What became of one question. ``whole`` are the lengths of answers that were cut."""

    question: Question
    outcome: _Outcome
    answers: tuple[str, ...] = ()
    reason: str = ""
    whole: tuple[int, ...] = ()

    def line(self) -> str:
        members: dict[str, Any] = {"question": self.question.text}
        if self.question.header:
            members["header"] = self.question.header
        members["outcome"] = self.outcome
        if self.outcome == "answered":
            members["answers"] = list(self.answers)
        if self.whole:
            members["characters"] = list(self.whole)
        if self.reason:
            members["reason"] = self.reason
        return json_line(members)


async def _asked(port: AskPort | None, questions: Sequence[Question]) -> list[_Became]:
    became: list[_Became] = []
    for question in questions:
        if became and became[-1].outcome in {*_ENDING, "not_asked"}:
            became.append(_Became(question, "not_asked"))
        else:
            became.append(_checked(question, await _answer(port, question)))
    return became


async def _answer(port: AskPort | None, question: Question) -> Answer:
    if port is None:
        return Answer(outcome="unavailable", reason="this session has no way to ask the user")
    with anyio.move_on_after(limits.ASK_TIMEOUT_S):
        try:
            return await port.ask(question)
        except Exception as error:  # noqa: BLE001  whatever a client's code raises, nobody was asked
            return Answer(outcome="unavailable", reason=in_words(error))
    return Answer(outcome="timeout")


def _checked(question: Question, answer: Any) -> _Became:
    """An answer as far as it is one; what a port makes up is not taken."""
    if not _is_readable(answer):
        return _Became(question, "unavailable", reason="the client's answer cannot be read")
    reason = words_of(answer.reason, _REASON_MAX_CHARS)
    if answer.outcome != "answered":
        return _Became(question, answer.outcome, reason=reason)
    values = [each.strip() if isinstance(each, str) else None for each in answer.values]
    given = list(dict.fromkeys(value for value in values if value))
    if why := _why_refused(question, values, given):
        return _Became(question, "refused", reason=why)
    cut = tuple(each[:ASK_ANSWER_MAX_CHARS] for each in given)
    return _Became(question, "answered", cut, reason, tuple(map(len, given)) if cut != tuple(given) else ())


def _is_readable(answer: Any) -> bool:
    """Whether a client's code gave what the port promises, as far as that is looked at below."""
    if not isinstance(answer, Answer) or not isinstance(cast("Any", answer).values, tuple | list):
        return False
    outcome: Any = answer.outcome
    return isinstance(outcome, str) and outcome in {*_ENDING, "answered"}


def _why_refused(question: Question, values: Sequence[str | None], given: Sequence[str]) -> str:
    if None in values:
        return "the answer is no text"
    if not given:
        return "the answer is empty"
    if len(given) > 1 and not question.multi_select:
        return f"{len(given)} answers were given, and one was to be chosen"
    own = [each for each in given if each not in question.options]
    if own and not question.free_text:
        return f"{words_of(own[0], 100)!r} is none of the options"
    if len(own) > 1:
        return "more than one text was given besides the options"
    return ""


# --- telling -------------------------------------------------------------------------------------------------------


def _result(became: Sequence[_Became]) -> InvocationResult:
    answered = sum(each.outcome == "answered" for each in became)
    head = f"Answered: {answered} of {len(became)}."
    output = "\n".join([head, *(each.line() for each in became)])
    if answered == len(became):
        return InvocationResult(success=True, output=output)
    return InvocationResult(success=False, output=output, error=f"{head} {_why(became)}")


def _why(became: Sequence[_Became]) -> str:
    said: list[str] = []
    for number, each in enumerate(became, 1):
        if each.outcome in _SAID:
            because = f" ({each.reason})" if each.reason else ""
            said.append(f"{_SAID[each.outcome].format(f'question {number}')}{because}.")
    skipped = sum(each.outcome == "not_asked" for each in became)
    if skipped:
        said.append(f"What follows it was not asked ({counted(skipped, 'question', 'questions')}).")
    text = " ".join(each[0].upper() + each[1:] for each in said)
    return f"{text} What is not answered is not known: go on with what is, or ask in another way."


_SAID: Final = {
    "dismissed": "the user closed {} without an answer",
    "timeout": "nobody answered {} in time",
    "unavailable": "the user could not be asked {}",
    "refused": "what came is no answer to {}",
}


def _one_line(text: str) -> str:
    _refuse_unreadable(text)
    if not text.strip():
        raise ValueError("is blank")
    return " ".join(text.split())


def _refuse_unreadable(text: str) -> None:
    """What is put before the user says what it looks like."""
    for character in text:
        if unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"} or _UNSEEN.match(character):
            raise ValueError(f"has the character U+{ord(character):04X}, which cannot be shown; leave it out")


ask_user_question: Final = create_ask_user_question_tool()
"""Ready-made: it asks through the port that the call brings (T7)."""
