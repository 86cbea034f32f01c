"""Who may answer while restores come and go: every order of the events, against a model that knows only the rules.

One call and two restores. Each begins, and ends when the provider lets it; in between anything else happens. Providers
can be cancelled, can answer all the same when they are, can raise an error of their own then, or can be a thread that
nothing stops.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from e2b_doubles import Result
from openbuffer.sandbox import Command, RestoreError, SandboxError, SnapshotRef, WorkerWithdrawnError
from openbuffer.sandbox.e2b_client import E2BSandboxClient

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

Temper: TypeAlias = str
TEMPERS = ["ends when cancelled", "answers when cancelled", "raises when cancelled", "thread"]
STEPS = ["call begins", "call ends", "first begins", "first ends", "second begins", "second ends"]
ORDERS = [
    order
    for order in itertools.permutations(STEPS)
    if all(order.index(f"{each} begins") < order.index(f"{each} ends") for each in ("call", "first", "second"))
]
OUTCOMES = ["ok", "fails", "wrong id", "no sandbox"]


class Gate:
    """What a provider waits for before it answers; each temper waits in its own way."""

    def __init__(self, temper: Temper) -> None:
        self.temper = temper
        self._open = threading.Event() if temper == "thread" else asyncio.Event()

    def open(self) -> None:
        self._open.set()

    def method(self, answer: Callable[[], Any]) -> Callable[..., Any]:
        if isinstance(self._open, threading.Event):
            opened = self._open

            def blocking(*_args: Any, **_named: Any) -> Any:
                assert opened.wait(30)
                return answer()

            return blocking

        async def waiting(*_args: Any, **_named: Any) -> Any:
            try:
                await self._open.wait()  # pyright: ignore[reportGeneralTypeIssues]
            except asyncio.CancelledError:
                if self.temper == "answers when cancelled":
                    return answer()
                if self.temper == "raises when cancelled":
                    raise ConnectionError("the stream was closed") from None
                raise
            return answer()

        return waiting


class Sandbox:
    """Every answer of it carries its name."""

    def __init__(self, name: str, gate: Gate | None = None) -> None:
        self.sandbox_id = name
        self.snapshot = self._method(gate, lambda: f"{name}-kept")
        self.commands = _Holder(run=self._method(gate, lambda: Result(0, f"{name}\n")))
        self.files = _Holder(
            read=self._method(gate, lambda: f"{name}\n"), write=self._method(gate, lambda: {"path": name})
        )

    def _method(self, gate: Gate | None, answer: Callable[[], Any]) -> Callable[..., Any]:
        if gate is not None:
            return gate.method(answer)

        async def at_once(*_args: Any, **_named: Any) -> Any:
            return answer()

        return at_once


class _Holder:
    def __init__(self, **methods: Any) -> None:
        self.__dict__.update(methods)


@dataclass
class Model:
    """The rules of S5, and nothing else: what each of the three has come to, and which worker is in use."""

    state: str = "open"
    worker: str = "old"
    current: str = ""
    call_is_on: str = ""
    came_to: dict[str, str] = field(default_factory=dict)

    def step(self, step: str, outcomes: dict[str, str]) -> None:
        name, what = step.split()
        if name == "call":
            self._call(what)
        elif what == "begins":
            if self.current:
                self.came_to[self.current] = "superseded"
            if self.call_is_on:
                self.came_to["call"], self.call_is_on = "late", ""
            self.current, self.state = name, "restoring"
        elif self.current == name:
            outcome = outcomes[name]
            self.current = ""
            self.state = "open" if outcome == "ok" else "restore_failed"
            self.worker = name if outcome == "ok" else self.worker
            self.came_to[name] = {"ok": "ok", "wrong id": "wrong_id"}.get(outcome, "failed")

    def _call(self, what: str) -> None:
        if what == "begins":
            if self.state == "open":
                self.call_is_on = self.worker
            else:
                self.came_to["call"] = self.state
        elif self.call_is_on:
            self.came_to["call"], self.call_is_on = self.call_is_on, ""


class World:
    """The client under test, with gates at everything that its providers do."""

    def __init__(self, temper: Temper, outcomes: dict[str, str], kind: str) -> None:
        self.call_gate = Gate(temper)
        self.gates = {"call": self.call_gate, "first": Gate(temper), "second": Gate(temper)}
        self.kind = kind
        self.tasks: dict[str, asyncio.Task[str]] = {}
        makers = {
            name: self.gates[name].method(lambda name=name: self._made(name, outcomes[name]))
            for name in ("first", "second")
        }
        if temper == "thread":
            self.client = E2BSandboxClient(Sandbox("old", self.call_gate), connector=lambda name: makers[name](name))
        else:

            async def connect(name: str) -> object:
                return await makers[name](name)

            self.client = E2BSandboxClient(Sandbox("old", self.call_gate), connector=connect)

    def _made(self, name: str, outcome: str) -> object:
        if outcome == "fails":
            raise ConnectionError("it cannot be reached")
        return Sandbox(name if outcome == "ok" else "other", self.call_gate) if outcome != "no sandbox" else object()

    def step(self, step: str) -> None:
        name, what = step.split()
        if what == "ends":
            self.gates[name].open()
        else:
            self.tasks[name] = asyncio.create_task(_words(self._call() if name == "call" else self._restore(name)))

    async def _call(self) -> str:
        if self.kind == "run":
            return (await self.client.run(Command(line="x", cwd="/", timeout_s=60))).output.strip()
        if self.kind == "snapshot":
            return (await self.client.snapshot()).id.removesuffix("-kept")
        await self.client.write_file("/x", "x")
        return "written"

    async def _restore(self, name: str) -> str:
        await self.client.restore(SnapshotRef(name))
        return "ok"

    async def check(self, model: Model) -> None:
        for name, task in self.tasks.items():
            if name in model.came_to:
                expected = model.came_to[name]
                if name == "call" and self.kind == "write" and expected in {"old", "first", "second"}:
                    expected = "written"
                assert await asyncio.wait_for(asyncio.shield(task), 10) == expected
        await settle()
        assert {name for name, task in self.tasks.items() if task.done()} == set(model.came_to) & set(self.tasks)
        assert self.client.state == model.state

    async def close(self) -> None:
        for gate in self.gates.values():
            gate.open()
        for task in self.tasks.values():
            await asyncio.wait_for(task, 10)


async def _words(call: Coroutine[Any, Any, str]) -> str:
    try:
        return await call
    except (WorkerWithdrawnError, RestoreError) as error:
        return error.reason
    except SandboxError as error:
        return f"{type(error).__name__}: {error}"


async def settle() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


async def play(order: tuple[str, ...], temper: Temper, outcomes: dict[str, str], kind: str) -> None:
    world, model = World(temper, outcomes, kind), Model()
    for step in order:
        model.step(step, outcomes)
        world.step(step)
        await world.check(model)
    assert set(model.came_to) == {"call", "first", "second"}
    await world.close()
    if model.state == "open":
        assert (await world.client.run(Command(line="x", cwd="/", timeout_s=60))).output == f"{model.worker}\n"
    else:
        with pytest.raises(WorkerWithdrawnError):
            await world.client.read_file("/x")
        with pytest.raises(WorkerWithdrawnError):
            await world.client.snapshot()


@pytest.mark.contract("S5")
@pytest.mark.parametrize("temper", TEMPERS)
async def test_in_every_order_only_the_worker_in_use_answers(temper: Temper) -> None:
    for order in ORDERS:
        for first, second in itertools.product(OUTCOMES[:2], repeat=2):
            await play(order, temper, {"first": first, "second": second}, "run")


@pytest.mark.contract("S5")
@pytest.mark.parametrize("kind", ["write", "snapshot"])
async def test_files_and_snapshots_are_held_to_the_same(kind: str) -> None:
    for order in ORDERS:
        await play(order, "answers when cancelled", {"first": "ok", "second": "ok"}, kind)
        await play(order, "ends when cancelled", {"first": "fails", "second": "ok"}, kind)


@pytest.mark.contract("S5")
async def test_what_is_not_the_sandbox_that_was_asked_for_opens_nothing() -> None:
    for order in ORDERS[::3]:
        for first, second in itertools.product(OUTCOMES, repeat=2):
            await play(order, "ends when cancelled", {"first": first, "second": second}, "run")


@pytest.mark.contract("S5")
@pytest.mark.parametrize("temper", TEMPERS[:3])
async def test_what_happens_at_the_same_moment_ends_in_one_of_the_allowed_ways(temper: Temper) -> None:
    for order, together in itertools.product(ORDERS, range(1, len(STEPS))):
        outcomes = {"first": "ok", "second": "ok"}
        world, model = World(temper, outcomes, "run"), Model()
        for number, step in enumerate(order):
            model.step(step, outcomes)
            world.step(step)
            if number != together - 1:
                await settle()
        await world.close()
        workers = {"old", "first", "second"}
        assert world.tasks["call"].result() in workers | {"late", "restoring"}
        assert {world.tasks[name].result() for name in ("first", "second")} <= {"ok", "superseded"}
        last = max(("first", "second"), key=lambda name: order.index(f"{name} begins"))
        assert world.tasks[last].result() == "ok"
        assert (await world.client.run(Command(line="x", cwd="/", timeout_s=60))).output == f"{last}\n"


@pytest.mark.slow
@pytest.mark.contract("S5")
@pytest.mark.parametrize("temper", TEMPERS)
@pytest.mark.parametrize("kind", ["run", "write", "snapshot"])
async def test_all_orders_with_all_outcomes_and_providers(temper: Temper, kind: str) -> None:
    for order in ORDERS:
        for first, second in itertools.product(OUTCOMES, repeat=2):
            await play(order, temper, {"first": first, "second": second}, kind)
