"""Questions over LSP: as they are, for a client that announced ``openbuffer/askUser``, else as a message with buttons.

Buttons cannot carry free text or several choices. Such a question is not put in part: it is unavailable, and the
answer says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from openbuffer.editor_access.client_requests import ASK_USER
from openbuffer.tools.ports import Answer

from .dialog_text import distinct, marked_lines, one_line
from .dialogs import DialogTimeoutError, NoDialogError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openbuffer.editor_access.client_requests import AskUserParams, UserOption
    from openbuffer.tools.ports import Question

    from .call_turn import CallTurn
    from .dialogs import Dialogs

_HEADER_MAX_CHARS: Final = 100
_TEXT_MAX_LINES: Final = 20
_TEXT_LINE_MAX_CHARS: Final = 600
_TITLE_MAX_CHARS: Final = 60
_DESCRIPTION_MAX_CHARS: Final = 200
_OPTIONS_MAX: Final = 20


class LspQuestions:
    """Fulfils ``AskPort`` for one call, whose turn is given back while the user thinks."""

    def __init__(self, dialogs: Dialogs, turn: CallTurn) -> None:
        self._dialogs = dialogs
        self._turn = turn

    async def ask(self, question: Question) -> Answer:
        """Ask the user."""
        is_rich = self._dialogs.can.ask_user
        if not is_rich and (obstacle := _obstacle(question)):
            return Answer(outcome="unavailable", reason=obstacle)
        async with self._turn.given_back("waits for your answer"):
            try:
                return await (self._whole(question) if is_rich else self._by_buttons(question))
            except NoDialogError as error:
                return Answer(outcome="unavailable", reason=str(error))
            except DialogTimeoutError as error:
                return Answer(outcome="timeout", reason=str(error))

    async def _whole(self, question: Question) -> Answer:
        params = cast("Mapping[str, Any]", _params(question))
        return _read(await self._dialogs.ask(ASK_USER, params))

    async def _by_buttons(self, question: Question) -> Answer:
        titles = tuple(distinct(one_line(label, _TITLE_MAX_CHARS) for label in question.options))
        labels = dict(zip(titles, question.options, strict=True))
        chosen = await self._dialogs.show_message("info", "\n".join(_words(question, labels)), titles)
        if chosen is None:
            return Answer(outcome="dismissed")
        return Answer(outcome="answered", values=(labels[chosen],))


def _obstacle(question: Question) -> str:
    """Why buttons cannot put it, or ""."""
    what = ""
    if question.multi_select:
        what = "let the user choose several answers; ask for one at a time"
    elif question.free_text:
        what = "take a text from the user; offer options and no free text"
    elif not question.options:
        what = "put a question without options; offer some"
    elif len(question.options) > _OPTIONS_MAX:
        what = f"put a question with more than {_OPTIONS_MAX} options; offer fewer"
    return what and f"this client shows a message with buttons and cannot {what}"


def _words(question: Question, labels: Mapping[str, str]) -> Iterator[str]:
    header = f"{one_line(question.header, _HEADER_MAX_CHARS)}: " if question.header else ""
    lines = marked_lines(question.text, "", most_lines=_TEXT_MAX_LINES, most_chars=_TEXT_LINE_MAX_CHARS)
    yield f"The agent asks: {header}{lines[0]}"
    yield from (f"  {line}" for line in lines[1:])
    for title, label in labels.items():
        whole = f"{one_line(label, _DESCRIPTION_MAX_CHARS)}. " if title != label else ""
        description = one_line(question.options[label], _DESCRIPTION_MAX_CHARS)
        if whole or description:
            yield f"  {title}: {whole}{description}"


def _params(question: Question) -> AskUserParams:
    params: dict[str, Any] = {
        "text": question.text,
        "options": [_option(label, description) for label, description in question.options.items()],
        "multiSelect": question.multi_select,
        "freeText": question.free_text,
    }
    if question.header:
        params["header"] = question.header
    return cast("AskUserParams", params)


def _option(label: str, description: str) -> UserOption:
    return {"label": label, "description": description} if description else {"label": label}


def _read(answer: object) -> Answer:
    """What a client answered; whether it fits the question is for whoever asked to judge.

    Raises:
        NoDialogError: that is no answer.
    """
    fields = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    outcome, values = fields.get("outcome"), fields.get("values")
    if outcome == "dismissed":
        return Answer(outcome="dismissed")
    if outcome != "answered" or not isinstance(values, list):
        raise NoDialogError(f"the client's answer to {ASK_USER} is none that it can give")
    given = cast("list[object]", values)
    if not all(isinstance(value, str) for value in given):
        raise NoDialogError(f"the client's answer to {ASK_USER} has a value that is no text")
    return Answer(outcome="answered", values=tuple(cast("list[str]", given)))
