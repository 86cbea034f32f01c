"""Users, agents and commands on the same files, in every order: nothing is lost unsaid, and no outcome is untrue."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from openbuffer.editor_access import EditorAbilities
from openbuffer.editor_access.client_requests import RichCapabilities
from openbuffer.editor_access.memory import EditorHabits
from openbuffer.editor_access.memory_lsp import PLAIN, RICH, RichTemperament, Temperament
from openbuffer.editor_access.memory_lsp import RICH_TEMPERAMENTS as RICH_NAMED
from openbuffer.editor_access.memory_lsp import TEMPERAMENTS as NAMED

from ..simulation.setting import Setting
from ..simulation.world import ACTIONS, WAITS, Processes, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.contract("E2", "E6", "E7", "E8", "E9", "E10", "E11", "E12")

TEMPERAMENTS = st.builds(
    Temperament,
    stale=st.sampled_from(["refused", "refused", "skipped", "applied"]),
    checks=st.sampled_from(["newest", "newest", "last_sent"]),
    asks_user=st.sampled_from([False, False, False, True]),
    applies=st.sampled_from([True, True, True, True, False]),
    answer=st.sampled_from(["truth", "truth", "truth", "true", "false", "error", "nonsense", "never"]),
    tells_typing=st.sampled_from(["at_once", "when_flushed"]),
    tells_edit=st.sampled_from(["after_reply", "before_reply", "when_flushed"]),
    sync=st.sampled_from(["incremental", "full"]),
    counts=st.sampled_from(["as_negotiated", "as_negotiated", "code_points"]),
    line_ends=st.sampled_from(["as_sent", "of_document"]),
    adds_final_newline=st.sampled_from([False, False, False, True]),
    declines=st.sampled_from(["false", "error"]),
    makes=st.sampled_from(["as_sent", "as_sent", "whole_document"]),
    holds=st.sampled_from(["nothing", "nothing", "nothing", "requests", "answers"]),
    saves_with_text=st.booleans(),
)
HONEST = st.builds(
    Temperament,
    tells_typing=st.sampled_from(["at_once", "when_flushed"]),
    tells_edit=st.sampled_from(["after_reply", "before_reply", "when_flushed"]),
)
ANNOUNCED = st.builds(
    RichCapabilities,
    read_document=st.booleans(),
    apply_edit=st.booleans(),
    save_document=st.booleans(),
    reload_document=st.booleans(),
    withdraw_dialog=st.booleans(),
)
RICH_TEMPERAMENTS = st.builds(
    RichTemperament,
    tells=st.sampled_from(["before_answer", "after_answer", "when_flushed"]),
    checks_document=st.sampled_from([True, True, True, False]),
    checks_disk=st.sampled_from([True, True, True, False]),
    asks_user=st.sampled_from([False, False, False, True]),
    acts=st.sampled_from([True, True, True, True, False]),
    says=st.sampled_from(["truth", "truth", "truth", "done", "not_done"]),
    answer=st.sampled_from(
        ["as_said", "as_said", "as_said", "error", "nonsense", "wrong_hash", "wrong_version", "never"]
    ),
    holds=st.sampled_from(["nothing", "nothing", "nothing", "requests", "answers"]),
)
HABITS = st.builds(
    EditorHabits,
    first_version=st.sampled_from([1, 0]),
    line_ends=st.sampled_from(["kept", "kept", "majority", "shown_as_lf"]),
    shows_empty_as_newline=st.booleans(),
    final_newline=st.sampled_from(["as_it_is", "added", "added_untold"]),
    autosave=st.booleans(),
    reloads=st.sampled_from(["changed", "reopened"]),
    saves_over=st.sampled_from(["overwrites", "asks", "refuses"]),
)
CARELESS = st.builds(
    Temperament,
    stale=st.sampled_from(["applied", "refused"]),
    checks=st.sampled_from(["last_sent", "newest"]),
    answer=st.sampled_from(["truth", "false", "error"]),
    asks_user=st.booleans(),
    tells_typing=st.sampled_from(["at_once", "when_flushed"]),
    tells_edit=st.sampled_from(["after_reply", "when_flushed"]),
)
"""These make edits over what they were not for, or deny them; they are drawn more often than they are met."""
SETTINGS = st.builds(
    Setting,
    temperament=st.one_of(HONEST, st.sampled_from([*NAMED.values()]), TEMPERAMENTS, CARELESS),
    encoding=st.sampled_from(["utf-16", "utf-8", "utf-32"]),
    rich=st.one_of(st.sampled_from([PLAIN, PLAIN, RICH, replace(RICH, apply_edit=False)]), ANNOUNCED),
    rich_temperament=st.one_of(st.just(RichTemperament()), st.sampled_from([*RICH_NAMED.values()]), RICH_TEMPERAMENTS),
    habits=st.one_of(st.just(EditorHabits()), HABITS),
    formats=st.sampled_from([False, False, True]),
    abilities=st.builds(EditorAbilities, flushes=st.booleans(), saves=st.booleans(), reloads=st.booleans()),
    in_process=st.sampled_from([False] * 7 + [True]),
    company=st.sampled_from(["alone", "a process without an editor", "a process with an editor", "another editor"]),
    line_end=st.sampled_from(["\n", "\r\n"]),
    ends_with_newline=st.booleans(),
    is_open=st.sampled_from([True, True, True, False]),
    latencies=st.lists(st.sampled_from([0, 1, 2, 5, 9, -3, -40, -200]), min_size=1, max_size=3).map(tuple),
    wire=st.lists(st.sampled_from([0, 1, 2, 4, 9, -1, -15]), min_size=1, max_size=3).map(tuple),
    telling=st.lists(st.sampled_from([15, 1, 5, 24, 90, 240, 400]), min_size=1, max_size=2).map(tuple),
).filter(lambda setting: not setting.is_beyond_the_tools)
SCHEDULES = st.lists(
    st.tuples(st.integers(0, len(WAITS) - 1), st.integers(0, len(ACTIONS) - 1), st.integers(0, 7), st.integers(0, 29)),
    min_size=6,
    max_size=36,
)


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    memory = Path("/dev/shm")
    root = tempfile.mkdtemp(dir=memory if memory.is_dir() else tmp_path_factory.mktemp("world"))
    yield Processes(os.path.realpath(root))
    shutil.rmtree(root)


def play(processes: Processes, setting: Setting, schedule: list[tuple[int, int, int, int]]) -> None:
    oracle = World(processes, setting, schedule).play()
    assert not oracle.faults, "\n".join([oracle.faults[0], str(setting), *oracle.story])


Step: TypeAlias = "tuple[int, Callable[[World, int, int], None], int, int]"
"""The wait before it, as in WAITS, what is done, by whom, and where."""

TURNS = [wait for wait in WAITS if wait >= 0]
FAULTS: dict[str, tuple[Setting, list[list[Step]]]] = {
    "a change on disk that is prepared while the user saves the old text over it": (
        Setting(latencies=(5,), wire=(0,)),
        [
            [
                (-30, World.command_overwrites, 0, 1),
                (-30, World.agent_edits, 0, 1),
                (wait, World.user_saves, 0, 0),
            ]
            for wait in WAITS
        ],
    ),
    "a client that answers what it shows before it sends it": (
        Setting(
            temperament=Temperament(tells_typing="when_flushed"),
            rich=RICH,
            rich_temperament=RichTemperament(tells="when_flushed"),
            telling=(90,),
        ),
        [[(-30, World.user_types, 0, 1), (2, World.agent_reads, 0, 0), (-30, World.user_opens, 0, 0)]],
    ),
    "an editor that formats what it saves, and says that it did not save it": (
        Setting(rich=RICH, rich_temperament=RichTemperament(says="not_done"), formats=True),
        [[(-30, World.agent_edits, 0, 1)]],
    ),
    "typing that is told together with the stale edit that covered it": (
        Setting(
            temperament=Temperament(stale="applied", tells_typing="when_flushed"),
            telling=(90,),
            wire=(4,),
        ),
        [
            [
                (-30, World.agent_edits, 0, 4),
                (wait, World.user_types, 0, 7),
                (-3100, World.agent_reads, 0, 0),
            ]
            for wait in WAITS
        ],
    ),
    "a document that closes in the turn before its save is asked for": (
        Setting(rich=RICH),
        [
            [
                (-30, World.agent_edits, 0, 1),
                (first, World.user_undoes, 3, 0),  # there is nothing to undo: one wait more
                (then, World.user_closes, 0, 0),
            ]
            for first, then in itertools.product(TURNS, TURNS)
        ],
    ),
    "an editor that ends after a file was created behind its document": (
        Setting(rich=RICH),
        [
            [
                (-30, World.command_deletes, 0, 0),
                (-30, World.agent_writes, 0, 0),
                (first, World.user_undoes, 3, 0),
                (then, World.editor_dies_or_comes_back, 0, 1),
            ]
            for first, then in itertools.product(TURNS, TURNS)
        ],
    ),
    "an edit that was made in a wrong place, and that its user takes back at once": (
        Setting(
            temperament=Temperament(stale="applied", tells_typing="when_flushed", tells_edit="when_flushed"),
            telling=(90,),
            wire=(4,),
        ),
        [
            [
                (-30, World.agent_edits, 0, 1),
                (first, World.user_types, 0, 1),
                (then, World.user_undoes, 0, 0),
                (-3100, World.agent_reads, 0, 0),
            ]
            for first, then in itertools.product(TURNS, TURNS)
        ],
    ),
    "a short edit that was made in a wrong place, beside what was typed while its user was asked": (
        Setting(
            temperament=Temperament(stale="applied", checks="last_sent", asks_user=True),
            encoding="utf-8",
            ends_with_newline=False,
            latencies=(-40,),
        ),
        [
            [
                (0, World.agent_edits, 0, 0),
                (0, World.agent_edits, 0, 0),
                (-3100, World.user_types, 0, 0),
                (0, World.command_adds, 0, 0),
                (turns, World.user_answers, 0, 1),
            ]
            for turns in TURNS
        ],
    ),
    "an editor that says that it saved, and did not": (
        Setting(rich=replace(RICH, apply_edit=False), rich_temperament=RichTemperament(acts=False, says="done")),
        [[(-30, World.agent_edits, 0, 1)]],
    ),
    "columns in code points where UTF-8 was negotiated": (
        Setting(temperament=Temperament(counts="code_points", sync="full"), encoding="utf-8"),
        [[(-30, World.user_types, 0, 1), (-30, World.agent_writes, 0, 1)]],
    ),
}


@pytest.mark.parametrize(("setting", "plays"), FAULTS.values(), ids=FAULTS.keys())
def test_what_it_found_stays_found(processes: Processes, setting: Setting, plays: list[list[Step]]) -> None:
    for steps in plays:
        play(
            processes, setting, [(WAITS.index(wait), ACTIONS.index(act), who, where) for wait, act, who, where in steps]
        )


@pytest.mark.parametrize("quarter", range(4))
def test_nothing_is_lost_unsaid_and_no_outcome_is_untrue(processes: Processes, quarter: int) -> None:
    @seed(quarter)
    @settings(max_examples=500, database=None, suppress_health_check=list(HealthCheck))
    @given(setting=SETTINGS, schedule=SCHEDULES)
    def one(setting: Setting, schedule: list[tuple[int, int, int, int]]) -> None:
        play(processes, setting, schedule)

    one()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(20))
def test_a_hundred_thousand_interleavings(processes: Processes, part: int) -> None:
    @seed(1000 + part)
    @settings(max_examples=5000, database=None, suppress_health_check=list(HealthCheck))
    @given(setting=SETTINGS, schedule=SCHEDULES)
    def one(setting: Setting, schedule: list[tuple[int, int, int, int]]) -> None:
        play(processes, setting, schedule)

    one()
