"""Requests that are with a client: what it asks its user about them, which of them wait, the end of the connection."""

from __future__ import annotations

from typing import Literal, TypeAlias

import anyio

from .errors import EditorLostError

Reply: TypeAlias = Literal["yes", "no", "withdrawn"]


class Prompt:
    """A question to the user of the editor: may this be done? ``request`` holds the parameters of what it is about.

    ``chosen`` is what the user answered where a yes alone is no answer.
    """

    def __init__(self, request: object) -> None:
        self.request = request
        self.reply: Reply | None = None
        self.chosen: object = None
        self._answered = anyio.Event()

    def answer(self, *, yes: bool) -> None:
        """Click; the first answer counts."""
        self._close("yes" if yes else "no")

    def choose(self, answer: object) -> None:
        """Answer with this; the first answer counts."""
        if self.reply is None:
            self.chosen = answer
        self._close("yes")

    def withdraw(self) -> None:
        """Close it, since nobody waits for the answer any more."""
        self._close("withdrawn")

    async def wait(self) -> Reply:
        """Until the user has answered, or it was withdrawn."""
        await self._answered.wait()
        assert self.reply is not None
        return self.reply

    def _close(self, reply: Reply) -> None:
        self.reply = self.reply or reply
        self._answered.set()


class OpenRequests:
    """Everything that keeps a request from its answer. Each wait ends when the connection does."""

    def __init__(self) -> None:
        self._prompts: list[Prompt] = []
        self._untaken: list[Prompt] = []
        self._asked = anyio.Event()
        self._held: list[anyio.Event] = []
        self._gone = anyio.Event()

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """What the user was asked and has not answered yet, in the order of asking."""
        return tuple(prompt for prompt in self._prompts if prompt.reply is None)

    @property
    def held(self) -> int:
        """How many requests, or answers, wait for ``release``."""
        return len(self._held)

    async def hold(self) -> None:
        """Wait for ``release``.

        Raises:
            EditorLostError: the connection is gone.
        """
        released = anyio.Event()
        self._held.append(released)
        try:
            await released.wait()
        finally:
            if released in self._held:
                self._held.remove(released)
        self.require_connection()

    def release(self) -> bool:
        """Let the one go on that has waited longest; False where none waits."""
        if not self._held:
            return False
        self._held.pop(0).set()
        return True

    async def asked(self, prompt: Prompt) -> Reply:
        """Ask the user; who is cancelled closes it.

        Raises:
            EditorLostError: the connection is gone.
        """
        self._prompts.append(prompt)
        self._untaken.append(prompt)
        self._asked.set()
        try:
            reply = await prompt.wait()
        finally:
            prompt.withdraw()  # of no consequence where it was answered
            self._prompts.remove(prompt)
            if prompt in self._untaken:
                self._untaken.remove(prompt)
        self.require_connection()
        return reply

    async def next_prompt(self) -> Prompt:
        """Wait until the user is asked, and take that question; one that was withdrawn is not there any more."""
        while True:
            while self._untaken:
                prompt = self._untaken.pop(0)
                if prompt.reply is None:
                    return prompt
            if self._asked.is_set():
                self._asked = anyio.Event()
            await self._asked.wait()

    async def lost(self) -> None:
        """Wait for the end of the connection.

        Raises:
            EditorLostError: always, when it has come.
        """
        await self._gone.wait()
        self.require_connection()

    def lose(self) -> None:
        """The connection is gone: whatever waits ends."""
        self._gone.set()
        for prompt in self._prompts:
            prompt.withdraw()
        while self.release():
            pass

    def require_connection(self) -> None:
        """Go on only while there is a connection.

        Raises:
            EditorLostError: there is none any more.
        """
        if self._gone.is_set():
            raise EditorLostError("the connection to the editor ended")
