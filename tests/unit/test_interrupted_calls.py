"""Read, Edit and Write with something happening at every step of them: nothing is lost, nothing untrue is told."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .interrupted_judgement import judge
from .interrupted_scenarios import (
    AGENT,
    BASE,
    CLIENTS,
    COMMAND,
    DRAFT,
    STARTS,
    TOOLS,
    USER,
    ClientKind,
    Happening,
    Scenario,
)
from .interrupted_world import World, watched_tools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.contract("E1", "E2", "E7", "E9", "E10", "E12", "T6", "T12", "X2")

# --- what can happen -------------------------------------------------------------------------------------------------


def nothing(world: World) -> None:
    pass


def in_document(act: Callable[[World], object]) -> Callable[[World], object]:
    """Only where the document is open; else nothing can happen to it."""

    def acted(world: World) -> None:
        if world.shown is not None:
            act(world)

    acted.__name__ = act.__name__
    return acted


def name_of(what: Happening) -> str:
    return what.act.__name__


def types(world: World) -> None:
    world.editor.type(world.path, 0, f"{USER}\n")


def types_in_the_same_line(world: World) -> None:
    assert world.shown is not None
    at = max(world.shown.find(AGENT), world.shown.find("same"), 0)
    world.editor.type(world.path, at, f"{USER} ")


def undoes(world: World) -> None:
    world.editor.undo(world.path)


def saves(world: World) -> None:
    world.editor.save(world.path)


def types_and_saves(world: World) -> None:
    types(world)
    world.editor.save(world.path)


def closes(world: World) -> None:
    world.editor.close(world.path)


def saves_and_closes(world: World) -> None:
    world.editor.save(world.path)
    world.editor.close(world.path)


def reloads(world: World) -> None:
    if world.file.is_file():
        world.editor.reload(world.path)


def reverts(world: World) -> None:
    if world.file.is_file():
        world.editor.revert(world.path)


def opens_another_text(world: World) -> None:
    world.editor.open(world.path, f"{USER}\n{BASE}")


def opens(world: World) -> None:
    if world.file.is_file():
        world.editor.open(world.path)


def opens_and_types(world: World) -> None:
    opens(world)
    types(world)


def version_goes_back(world: World) -> None:
    world.editor.buffer(world.path).version -= 3
    types(world)


def opens_it_under_another_name(world: World) -> None:
    if world.file.is_file():
        world.editor.open(str(world.root / "alias" / "f.txt"))


def is_replaced(world: World) -> None:
    new = world.root / "new"
    new.write_text(f"{COMMAND}\n{BASE}")
    new.replace(world.file)


def is_rewritten_in_place(world: World) -> None:
    world.file.write_text(f"{COMMAND}\n{BASE}")


def is_touched_and_replaced_by_the_same_text(world: World) -> None:
    if world.file.is_file():
        new = world.root / "new"
        shutil.copyfile(world.file, new)
        new.replace(world.file)


def is_deleted(world: World) -> None:
    world.file.unlink(missing_ok=True)


def is_renamed(world: World) -> None:
    if world.file.exists():
        world.file.rename(world.folder / "moved.txt")


def becomes_a_directory(world: World) -> None:
    is_deleted(world)
    world.file.mkdir()


def becomes_a_link_out_of_the_root(world: World) -> None:
    is_deleted(world)
    world.file.symlink_to(world.outside / "f.txt")


def becomes_a_link_to_another_file(world: World) -> None:
    is_deleted(world)
    world.file.symlink_to("g.txt")


def its_directory_becomes_a_link_out_of_the_root(world: World) -> None:
    world.folder.rename(world.root / "moved")
    world.folder.symlink_to(world.outside)


def its_directory_is_renamed(world: World) -> None:
    world.folder.rename(world.root / "moved")


def the_editor_dies(world: World) -> None:
    world.die()


def the_editor_is_detached(world: World) -> None:
    world.detach()


def is_cancelled(world: World) -> None:
    world.scope.cancel()


def its_task_is_cancelled(world: World) -> None:
    assert world.task is not None
    world.task.cancel()


def another_agent_edits(world: World) -> None:
    world.another_call(with_editor=True)


def another_process_edits(world: World) -> None:
    world.another_call(with_editor=False)


def happening(
    act: Callable[[World], object],
    *,
    brings: str = "",
    may_lose: tuple[str, ...] = (),
    saves_over: bool = False,
    ends: bool = False,
    workable: bool = False,
) -> Happening:
    return Happening(
        act=act,
        brings=frozenset({brings} - {""}),
        may_lose=frozenset(may_lose),
        saves_over=saves_over,
        ends=ends,
        leaves_workable=workable,
    )


UNSAVED = (AGENT, DRAFT)
ON_DISK = (AGENT, COMMAND)
USERS = [
    happening(in_document(types), brings=USER, workable=True),
    happening(in_document(types_in_the_same_line), brings=USER),
    happening(in_document(undoes), may_lose=UNSAVED),
    happening(in_document(saves), may_lose=(COMMAND,), saves_over=True),
    happening(in_document(types_and_saves), brings=USER, may_lose=(COMMAND,), saves_over=True),
    happening(in_document(closes), may_lose=UNSAVED),
    happening(in_document(saves_and_closes), may_lose=(COMMAND,), saves_over=True),
    happening(in_document(reloads), may_lose=UNSAVED),
    happening(in_document(reverts), may_lose=UNSAVED),
    happening(opens_another_text, brings=USER, may_lose=UNSAVED),
    happening(in_document(version_goes_back), brings=USER),
    happening(opens_it_under_another_name),
    happening(opens),
    happening(opens_and_types, brings=USER),
]
COMMANDS = [
    happening(is_replaced, brings=COMMAND, may_lose=(AGENT,)),
    happening(is_rewritten_in_place, brings=COMMAND, may_lose=(AGENT,)),
    happening(is_touched_and_replaced_by_the_same_text),
    happening(is_deleted, may_lose=ON_DISK),
    happening(is_renamed),
    happening(becomes_a_directory, may_lose=ON_DISK),
    happening(becomes_a_link_out_of_the_root, may_lose=ON_DISK),
    happening(becomes_a_link_to_another_file, may_lose=ON_DISK),
    happening(its_directory_becomes_a_link_out_of_the_root),
    happening(its_directory_is_renamed),
]
ENDS = [
    happening(the_editor_dies, may_lose=UNSAVED),
    happening(the_editor_is_detached),
    happening(is_cancelled, ends=True, workable=True),
    happening(its_task_is_cancelled, ends=True, workable=True),
]
OTHERS = [happening(another_agent_edits), happening(another_process_edits)]
HAPPENINGS = [*USERS, *COMMANDS, *ENDS, *OTHERS]

SCENARIOS = [Scenario(tool, client, start) for tool in TOOLS for client in CLIENTS for start in STARTS]
ALWAYS = {
    Scenario("Edit", "rich", "clean"),
    Scenario("Edit", "plain", "closed"),
}
BRIEFLY = {
    Scenario("Edit", "plain", "clean"),
    Scenario("Edit", "rich", "outdated"),
    Scenario("Read", "rich", "draft"),
    Scenario("Write", "prompting", "draft"),
    Scenario("Edit", "plain", "outdated"),
}
BRIEF = {"types", "undoes", "closes", "is_replaced", "the_editor_dies", "is_cancelled", "another_agent_edits"}


def is_long(scenario: Scenario, what: Happening) -> bool:
    return scenario not in ALWAYS and not (scenario in BRIEFLY and name_of(what) in BRIEF)


PAIRS = [
    pytest.param(
        scenario,
        what,
        id=f"{scenario}, {name_of(what)}",
        marks=[pytest.mark.slow] if is_long(scenario, what) else [],
    )
    for scenario, what in itertools.product(SCENARIOS, HAPPENINGS)
]


@pytest.fixture
def worlds(tmp_path: Path) -> Iterator[Callable[..., World]]:
    real = Path(os.path.realpath(tmp_path))
    numbers = itertools.count()
    made: list[World] = []

    def make(scenario: Scenario, step: str = "", what: Happening | None = None) -> World:
        world = World(real / str(next(numbers)), scenario, step=step, happening=what)
        made.append(world)
        return world

    with watched_tools(lambda: made[-1] if made else None):
        yield make
    for world in made:
        world.end()


async def faults_of(make: Callable[..., World], scenario: Scenario, step: str, what: Happening) -> list[str]:
    world = make(scenario, step, what)
    ending = await world.run()
    faults = judge(world, ending, what)
    faults += await world.next_calls(edits=what.leaves_workable and scenario.start in {"clean", "draft"})
    world.end()
    return [f"{scenario} | {name_of(what)} | {step} | {fault} | {ending.text[-160:]!r}" for fault in faults]


@pytest.mark.parametrize(("scenario", "what"), PAIRS)
async def test_nothing_is_lost_and_nothing_untrue_is_told(
    worlds: Callable[..., World], scenario: Scenario, what: Happening
) -> None:
    quiet = worlds(scenario)
    ending = await quiet.run()
    assert ending.success, ending.text
    assert len(quiet.steps) > 5
    faults: list[str] = []
    for step in quiet.steps:
        faults += await faults_of(worlds, scenario, step, what)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("client", CLIENTS)
async def test_what_is_typed_before_the_editor_has_told_its_text_is_read(
    worlds: Callable[..., World], client: ClientKind
) -> None:
    what = happening(types, brings=USER)
    scenario = Scenario("Read", client, "clean")
    quiet = worlds(scenario)
    await quiet.run()
    last = "the gate is asked about the plan (1)" if client == "plain" else "readDocument was sent (1)"
    for step in quiet.steps[: quiet.steps.index(last) + 1]:
        world = worlds(scenario, step, what)
        assert f"1\t{USER}\n" in (await world.run()).text, step


@pytest.mark.parametrize("client", ["rich", "plain"])
async def test_edits_of_one_document_at_the_same_time_all_land_and_say_where_they_are(
    worlds: Callable[..., World], client: ClientKind
) -> None:
    world = worlds(Scenario("Edit", client, "clean"))
    await world.begin()
    calls = [
        world.executor.call("Edit", {"filePath": world.path, "oldString": line, "newString": line.upper()})
        for line in BASE.split()
    ]
    for result in await asyncio.gather(*calls):
        assert result.success, result.value["error"]
        assert ("on disk" in result.value["output"] or "saved to disk." in result.value["output"]) == (client == "rich")
        assert "was not saved" not in result.value["output"]
    assert world.shown == BASE.upper()
    assert world.disk == (BASE.upper() if client == "rich" else BASE)
