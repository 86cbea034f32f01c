"""What the user of a client is asked: over LSP's own request, or over the richer ones where the client announced them.

Plain clients get one dialog at a time, first come, first served: real editors put a second one in the place of the
first, or stop at the first one. A client that answers the richer requests arranges its dialogs itself.

After one that was withdrawn the next one waits a moment: calls are often cancelled one right after the other, and a
dialog that most clients cannot close again is not opened for a call that is about to go.

Every wait has an end. Who is cancelled, and whose time is over, withdraws: ``$/cancelRequest`` goes to every client,
and ``openbuffer/withdrawDialog`` to one that announced it. Whatever is answered later is nobody's any more.
"""

from __future__ import annotations

import itertools
import logging
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, cast

import anyio
from openbuffer.editor_access.client_requests import WITHDRAW_DIALOG
from openbuffer.editor_access.errors import EditorLostError
from pygls.exceptions import JsonRpcException

from .dialog_text import one_line
from .limits import DIALOG_PAUSE_S, DIALOG_QUEUE_S, DIALOG_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openbuffer.editor_access.client_requests import RichCapabilities, WithdrawDialogParams

SHOW_MESSAGE_REQUEST: Final = "window/showMessageRequest"

Kind = Literal["warning", "info"]

log = logging.getLogger(__name__)

_KINDS: Final[dict[Kind, int]] = {"warning": 2, "info": 3}
_METHOD_NOT_FOUND: Final = -32601
_SAID_MAX_CHARS: Final = 200


class NoDialogError(Exception):
    """The user could not be asked; the text says why."""


class DialogTimeoutError(Exception):
    """The user was asked, or was to be, and there was no answer in time; the text says how long it was waited."""


class DialogClient(Protocol):
    """The connection to the client, as dialogs need it."""

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Send a request and wait for its result as plain JSON; cancelling withdraws it.

        Raises:
            EditorLostError: the connection ended.
            JsonRpcException: the client answered with an error.
        """
        ...

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        ...


class Dialogs:
    """The dialogs of one client. ``can`` is what it announced beyond LSP."""

    def __init__(
        self,
        client: DialogClient,
        can: RichCapabilities,
        *,
        timeout_s: float = DIALOG_TIMEOUT_S,
        queue_s: float = DIALOG_QUEUE_S,
    ) -> None:
        self.can = can
        self._client = client
        self._timeout_s = timeout_s
        self._queue_s = queue_s
        self._screen = anyio.Lock()
        self._next_at = 0.0
        self._numbers = itertools.count(1)

    async def show_message(self, kind: Kind, message: str, titles: Sequence[str]) -> str | None:
        """Have the user choose one of ``titles``, which are all different; None where they closed the dialog.

        Raises:
            NoDialogError, DialogTimeoutError: nothing was chosen.
        """
        params = {"type": _KINDS[kind], "message": message, "actions": [{"title": title} for title in titles]}
        try:
            with anyio.fail_after(self._queue_s):
                await self._screen.acquire()
        except TimeoutError:
            raise DialogTimeoutError(f"other dialogs were open for {_in_words(self._queue_s)}") from None
        try:
            await anyio.sleep_until(self._next_at)
            answer = await self._answer(SHOW_MESSAGE_REQUEST, params)
        except anyio.get_cancelled_exc_class():
            self._next_at = anyio.current_time() + DIALOG_PAUSE_S
            raise
        finally:
            self._screen.release()
        if answer is None:
            return None
        title = cast("dict[str, Any]", answer).get("title") if isinstance(answer, dict) else None
        if title not in titles:
            raise NoDialogError("the client answered with something that was not among the choices")
        return cast("str", title)

    async def ask(self, method: str, params: Mapping[str, Any]) -> object:
        """The answer to a request that the client announced, as plain JSON; a ``dialogId`` is added to ``params``.

        Raises:
            NoDialogError, DialogTimeoutError: there is none.
        """
        dialog: WithdrawDialogParams = {"dialogId": f"dialog-{next(self._numbers)}"}
        try:
            return await self._answer(method, {**dialog, **params})
        except (DialogTimeoutError, anyio.get_cancelled_exc_class()):
            if self.can.withdraw_dialog:
                self._client.tell(WITHDRAW_DIALOG, cast("dict[str, Any]", dialog))
            raise

    async def _answer(self, method: str, params: Mapping[str, Any]) -> object:
        try:
            with anyio.fail_after(self._timeout_s):
                return await self._client.ask(method, params)
        except TimeoutError:
            raise DialogTimeoutError(f"there was no answer for {_in_words(self._timeout_s)}") from None
        except EditorLostError as error:
            raise NoDialogError(str(error)) from error
        except JsonRpcException as error:
            raise NoDialogError(_told(method, error)) from error


def _told(method: str, error: JsonRpcException) -> str:
    if error.code == _METHOD_NOT_FOUND:
        return f"the client does not answer {method}, by which the user is asked"
    said = one_line(str(error.message), _SAID_MAX_CHARS)
    log.warning("%s was answered with an error: %s", method, said)
    return f"the client answered {method} with an error: {said}"


def _in_words(seconds: float) -> str:
    return f"{seconds / 60:g} minutes" if seconds >= 120 else f"{seconds:g} seconds"
