"""Settings that a real server asks its client for; whatever the client makes of that, nothing is loosened by it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from .raw_client import LATER, RawClient
from .test_editor_settings import Place, change, reads, told

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

ASKED = "workspace/configuration"
REGISTER = "client/registerCapability"
DENY_A = {"permissions": {"deny": ["Read(a.txt)"]}}
DENY_B = {"permissions": {"deny": ["Read(b.txt)"]}}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


@asynccontextmanager
async def server(
    place: Place, answer: Callable[[Any], Any], *, configuration: bool = True, registers: bool = False, **said: Any
) -> AsyncGenerator[RawClient]:
    """A server whose client announces that it can be asked, and answers so."""
    workspace: dict[str, Any] = {"applyEdit": True, "configuration": configuration}
    if registers:
        workspace["didChangeConfiguration"] = {"dynamicRegistration": True}
    async with RawClient.start(env=place.variables) as client:
        client.on_request[ASKED] = answer
        client.on_request[REGISTER] = lambda _params: None
        options = {"openbuffer": {"workspaceTrusted": True, **said}}
        await client.initialize(place.root, capabilities={"workspace": workspace}, initializationOptions=options)
        yield client
        assert await client.leave() == 0


def hint(client: RawClient) -> None:
    client.notify("workspace/didChangeConfiguration", {"settings": None})


def requests(client: RawClient, method: str) -> list[Any]:
    return [each["params"] for each in client.received if each.get("method") == method]


async def readable(client: RawClient) -> list[bool]:
    return [await reads(client, name) for name in ("a.txt", "b.txt")]


@pytest.mark.contract("B2", "B7", "X5")
async def test_a_client_that_can_be_asked_is_asked_before_the_first_call_and_upon_each_hint(place: Place) -> None:
    now: list[Any] = [DENY_A]
    async with server(place, lambda _params: now, registers=True) as client:
        assert await readable(client) == [False, True]
        now[0] = DENY_B
        hint(client)
        assert await readable(client) == [True, False]
        now[0] = {}
        client.notify("workspace/didChangeConfiguration", {"settings": {}})
        assert await readable(client) == [True, True]
        assert requests(client, ASKED) == [{"items": [{"section": "openbuffer"}]}] * 3
        (registered,) = requests(client, REGISTER)
        assert registered["registrations"] == [
            {"id": "openbuffer-configuration", "method": "workspace/didChangeConfiguration"}
        ]
        assert told(client) == []


@pytest.mark.contract("B2")
async def test_a_client_that_cannot_be_asked_is_not_and_is_registered_with_by_section(place: Place) -> None:
    async with server(place, lambda _params: [DENY_A], configuration=False, registers=True) as client:
        hint(client)
        assert await readable(client) == [True, True]
        change(client, DENY_A)
        assert await readable(client) == [False, True]
        assert requests(client, ASKED) == []
        (registered,) = requests(client, REGISTER)
        assert registered["registrations"][0]["registerOptions"] == {"section": "openbuffer"}


@pytest.mark.contract("B2", "B7")
async def test_an_answer_of_null_leaves_what_was_said_unasked_and_takes_back_what_was_an_answer(place: Place) -> None:
    now: list[Any] = [None]
    async with server(place, lambda _params: now, settings=DENY_A) as client:
        assert await readable(client) == [False, True]
        now[0] = DENY_B
        hint(client)
        assert await readable(client) == [True, False]
        now[0] = None
        hint(client)
        assert await readable(client) == [False, True]
        hint(client)
        assert await readable(client) == [False, True]
        change(client, None)
        assert await readable(client) == [True, True]


@pytest.mark.contract("B2", "B7", "B3")
@pytest.mark.parametrize(
    "answer",
    ["an error", None, 7, {}, [], [1, 2], "x", ["text"], [7], [[1]]],
)
async def test_an_answer_that_makes_no_sense_changes_nothing(place: Place, answer: Any) -> None:
    good = True

    def answered(_params: Any) -> Any:
        if answer == "an error" and not good:
            raise RuntimeError("no settings today")
        return [DENY_A] if good else answer

    async with server(place, answered) as client:
        assert await readable(client) == [False, True]
        good = False
        hint(client)
        assert await readable(client) == [False, True]
        good = True
        hint(client)
        assert await readable(client) == [False, True]
        assert len(requests(client, ASKED)) == 3


@pytest.mark.contract("B2", "B3")
async def test_a_client_that_never_answers_holds_up_one_call_for_a_moment_and_a_late_answer_is_harmless(
    place: Place,
) -> None:
    async with server(place, lambda _params: LATER, settings=DENY_A) as client:
        assert await readable(client) == [False, True]
        for _ in range(50):
            hint(client)
        withdrawn = await client.expect(lambda each: each.get("method") == "$/cancelRequest")
        first = withdrawn["params"]["id"]
        loosening: list[Any] = [{}]
        client.send({"jsonrpc": "2.0", "id": first, "result": loosening})
        assert await readable(client) == [False, True]
        client.on_request[ASKED] = lambda _params: [DENY_B]
        waiting = await client.expect(lambda each: each.get("method") == ASKED and each["id"] != first)
        client.send({"jsonrpc": "2.0", "id": waiting["id"], "result": [DENY_B]})
        assert await client.alive()
        assert await readable(client) == [True, False]
        assert len(requests(client, ASKED)) == 2, "many hints at once are one question more"


@pytest.mark.contract("B2", "B7")
async def test_what_is_answered_counts_by_the_trust_in_the_workspace(place: Place) -> None:
    place.file.write_text('[permissions]\ndefault = "deny"\n')
    allows = {"permissions": {"default": "allow"}}
    async with server(place, lambda _params: [allows], workspaceTrusted=False) as client:
        assert await readable(client) == [False, False]
        client.notify("openbuffer/didChangeWorkspaceTrust", {"trusted": True})
        assert await readable(client) == [True, True]
        client.notify("openbuffer/didChangeWorkspaceTrust", {"trusted": False})
        assert await readable(client) == [False, False]
        assert len(requests(client, ASKED)) == 3
