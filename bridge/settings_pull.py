"""The settings of a client that has to be asked for them: ``workspace/configuration``, section ``openbuffer``.

They are asked for when the client is ready, whenever it says that something changed without saying what, and when the
trust in the workspace changes. Whatever goes wrong with that, what was said before holds: no answer loosens anything.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
from openbuffer.editor_access.errors import EditorLostError

from .limits import CONFIGURATION_TIMEOUT_S, CONFIGURATION_WAIT_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from .client_facts import ClientFacts
    from .editor_settings import EditorSettings

SECTION: Final = "openbuffer"
CONFIGURATION: Final = "workspace/configuration"
REGISTER: Final = "client/registerCapability"
CHANGED: Final = "workspace/didChangeConfiguration"

log = logging.getLogger(__name__)


class SettingsPull:
    """Asks one client. ``ask`` sends it a request; ``start`` runs work beside everything else, until the session ends.

    Everything runs on one event loop.
    """

    def __init__(
        self,
        settings: EditorSettings,
        ask: Callable[[str, Mapping[str, Any]], Awaitable[Any]],
        start: Callable[[Callable[[], Awaitable[None]]], None],
    ) -> None:
        self._settings = settings
        self._ask = ask
        self._start = start
        self._can_pull = False
        self._can_register = False
        self._answers = True
        """Whether it answered when it was asked last, so that waiting for it is worth while."""
        self._asked_again = False
        self._done: anyio.Event | None = None

    def begin(self, facts: ClientFacts) -> None:
        """The client has introduced itself; nothing is sent before it is ready."""
        self._can_pull = facts.pulls_configuration
        self._can_register = facts.registers_configuration
        self._answers = True

    def client_is_ready(self) -> None:
        """The client takes requests now."""
        if self._can_register:
            self._start(self._register)
        self.pull()

    def pull(self) -> None:
        """Have the settings asked for, unless the client cannot say them; while it is being asked, once more then."""
        if not self._can_pull:
            return
        if self._done is not None:
            self._asked_again = True
            return
        self._done = anyio.Event()
        self._start(self._pull)

    async def settled(self) -> None:
        """Wait for the client's answer, a moment at most; does not give way where nothing was asked."""
        if self._done is not None and self._answers:
            with anyio.move_on_after(CONFIGURATION_WAIT_S):
                await self._done.wait()

    async def _pull(self) -> None:
        done = self._done
        assert done is not None
        try:
            is_wanted = True
            while is_wanted:
                self._asked_again = False
                await self._pull_once()
                is_wanted = self._asked_again
        finally:
            self._done = None
            done.set()

    async def _pull_once(self) -> None:
        answer: object = None
        trouble = f"the client did not answer in {CONFIGURATION_TIMEOUT_S:g} s"
        has_answered = False
        with anyio.move_on_after(CONFIGURATION_TIMEOUT_S):
            try:
                answer = await self._ask(CONFIGURATION, {"items": [{"section": SECTION}]})
                has_answered, trouble = True, ""
            except EditorLostError:
                return
            except Exception as error:  # noqa: BLE001  the client's error, of whatever kind
                has_answered, trouble = True, str(error)
        self._answers = has_answered
        if not trouble and not (isinstance(answer, list) and len(cast("list[object]", answer)) == 1):
            trouble = "its answer is no array of one value"
        if trouble:
            log.warning("%s: %s; the settings that were said before hold", CONFIGURATION, trouble)
            return
        self._settings.pulled(cast("list[object]", answer)[0])

    async def _register(self) -> None:
        """Have changes told. A client that is asked need not say what changed, and then says it in full."""
        options = {} if self._can_pull else {"registerOptions": {"section": SECTION}}
        registration = {"id": "openbuffer-configuration", "method": CHANGED, **options}
        try:
            with anyio.fail_after(CONFIGURATION_TIMEOUT_S):
                await self._ask(REGISTER, {"registrations": [registration]})
        except EditorLostError:
            return
        except Exception as error:  # noqa: BLE001  the client's error, or none in time; it may tell changes all the same
            log.warning("%s: %s; changes of settings may go unnoticed", REGISTER, str(error) or "no answer in time")
