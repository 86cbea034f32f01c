"""Commands, killed servers and a host that works beside them, in every order: nothing stays, nothing is lost (S9)."""

from __future__ import annotations

import itertools
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openbuffer.sandbox.quarantine import watch as quarantine_module
from openbuffer.sandbox.quarantine.watch import Quarantine

if TYPE_CHECKING:
    from openbuffer.sandbox.quarantine.journal import Record
    from openbuffer.sandbox.quarantine.moves import Place

pytestmark = pytest.mark.contract("S9")

PLANTED_NAMES = (".git", ".mcp.json", ".envrc")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.just("")),
        st.tuples(st.sampled_from(["end", "kill"]), st.sampled_from("abc")),
        st.tuples(st.sampled_from(["plant", "take", "host"]), st.sampled_from(PLANTED_NAMES)),
        st.tuples(st.just("sweep"), st.just("")),
    ),
    max_size=25,
)


class World:
    """The model: which commands run, what was ever written, and what the host may expect to find at the end."""

    def __init__(self, base: Path) -> None:
        self.root, self.state = base / "ws", base / "state"
        self.root.mkdir()
        (self.root / ".envrc").symlink_to("good")
        (self.root / ".npmrc").write_text("the host's own")
        self.quarantine = Quarantine(str(self.state))
        self.stack = ExitStack()
        self.journal, self.place = self.stack.enter_context(self.quarantine._opened())
        self.running: list[tuple[Record, list[Place]]] = []
        self.contents = (f"content {number}" for number in itertools.count())
        self.planted: set[str] = set()
        self.of_host: dict[str, str] = {}

    def step(self, what: str, which: str) -> None:
        if what == "begin":
            self.begin()
        elif what in {"end", "kill"} and self.running:
            record, places = self.running.pop(ord(which) % len(self.running))
            if what == "end":
                quarantine_module._ended(record, places, self.journal, self.place)
            else:
                record.release()
        elif what == "sweep":
            self.quarantine.sweep()
        elif what == "plant" and self.running and not self.is_mounted(which):
            self.write(which, self.new_content())
            self.of_host.pop(which, None)
        elif what == "take" and self.running and not self.is_mounted(which):
            self.remove(which)
            self.of_host.pop(which, None)
        elif what == "host" and which != ".envrc":
            content = next(self.contents)
            self.write(which, content)
            self.quarantine.host_wrote(str(self.root / which), content.encode())
            self.of_host[which] = content

    def begin(self) -> None:
        places = [quarantine_module._open_for_command(str(self.root), self.stack)]
        record, dead = quarantine_module._begin(self.journal, places, 60)
        quarantine_module._recovered(dead, self.journal, self.place)
        self.running.append((record, places))

    def new_content(self) -> str:
        content = next(self.contents)
        self.planted.add(content)
        return content

    def is_mounted(self, name: str) -> bool:
        """Whether all running commands have it read-only: what stood before the first of them is not theirs."""
        return all(record.opening.roots[0].state_of(name).kind in {"file", "directory"} for record, _ in self.running)

    def write(self, name: str, content: str) -> None:
        self.remove(name)
        (self.root / name).write_text(content)

    def remove(self, name: str) -> None:
        path = self.root / name
        if path.is_file() and not path.is_symlink():
            self.planted.discard(path.read_text())  # who planted it took it away again
        path.unlink(missing_ok=True)

    def finish(self) -> None:
        while self.running:
            self.step("end", "a")
        self.quarantine.sweep()
        self.stack.close()


@given(steps=STEPS)
@settings(max_examples=150)
def test_nothing_planted_stays_and_nothing_is_lost(steps: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as base:
        world = World(Path(base).resolve())
        for what, which in steps:
            world.step(what, which)
        world.finish()
        assert os.readlink(world.root / ".envrc") == "good"
        assert (world.root / ".npmrc").read_text() == "the host's own"
        there = {path.name: path.read_text() for path in world.root.iterdir() if not path.is_symlink()}
        del there[".npmrc"]
        assert there == world.of_host
        moved = {path.read_text() for path in (world.state / "quarantine").iterdir() if not path.is_symlink()}
        assert world.planted <= moved
        assert [path.name for path in (world.state / "commands").iterdir()] in ([], ["lock"])
