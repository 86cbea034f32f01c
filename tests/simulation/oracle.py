"""What really happened, state by state, and whether anybody was told otherwise. Knows nothing of production code.

Every state of every text is recorded with its cause as it comes. What a user, a command or an editor by itself does
to a text is theirs to decide. What a tool does has to be exactly what its call was for, and may take away nothing that
anybody else added. In the end each answer of a tool is held against what happened.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from .marks import anchors_in, is_agents, lines_of, marks_in, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

Place: TypeAlias = tuple[str, int, str]
"""("disk", 0, path), or ("shown" | "told", which editor, path): what it shows, and what it has told the server."""


@dataclass
class Opening:
    """One opening of a document: the plain texts that the server was told, and those that the disk held meanwhile."""

    told: set[str] = field(default_factory=set)
    disk: set[str] = field(default_factory=set)
    had_file: bool = False

    @property
    def equal(self) -> set[str]:
        """Texts of which nothing can be called unsaved: the disk held them too."""
        return self.told & self.disk


@dataclass
class Call:
    """One call of a tool, and what became of it.

    ``desk`` is the editor that its process is attached to. ``shown`` are the texts that the gate was shown as going
    to be replaced. ``landed`` tells when and where its text was put, ``lost`` what vanished with that. ``unheard``
    are landings that the user took back before the editor told of them: nobody else can know that they ever were.
    """

    number: int
    tool: Literal["Read", "Edit", "Write"]
    path: str
    desk: int | None
    start: int
    mark: str = ""
    old: str = ""
    new: str = ""
    end: int | None = None
    was_cancelled: bool = False
    ended_cancelled: bool = False
    success: bool = False
    output: str = ""
    error: str = ""
    shown: str = ""
    landed: list[tuple[int, Place]] = field(default_factory=list)
    unheard: list[tuple[int, Place]] = field(default_factory=list)
    was_heard_of: bool = False
    openings: list[Opening | None] = field(default_factory=list)
    lost: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        how = "cancelled" if self.ended_cancelled else self.output if self.success else f"failed: {self.error}"
        return f"call {self.number} {self.tool} {self.path[-5:]} {self.old!r} {self.new!r} ({how})"

    @property
    def leaves_open(self) -> bool:
        """Whether it said that it does not know, or that something may have changed."""
        return "is unknown" in self.error or "Read the file before" in self.error

    def expected(self, before: str | None) -> str | None:
        """What ``before`` has to become, line ends and a final newline aside; None: it cannot be made there."""
        if self.tool == "Write":
            return plain(self.new)
        was = plain(before)
        return was.replace(self.old, self.new) if was.count(self.old) == 1 else None


class Oracle:
    """Follows all texts. ``faults`` says what must not be, in the order of discovery."""

    def __init__(self, *, misplaces: bool, is_trusted: bool, saves_anything: bool) -> None:
        """``misplaces``: edits can be made elsewhere than where they were meant to be, which has to be told.

        ``is_trusted``: but for an editor that announced that it compares texts first. What was typed at the very
        place of its edit cannot be told from a part of the edit.

        ``saves_anything``: a save is made of whatever the document holds by then, which has to be read after that.
        """
        self.misplaces = misplaces
        self._is_trusted = is_trusted
        self._saves_anything = saves_anything
        self.faults: list[str] = []
        self.story: list[str] = []
        self.calls: list[Call] = []
        self.openings: dict[tuple[int, str], Opening] = {}
        self.now = 0
        self.unknown: set[tuple[int, str]] = set()
        """Documents, by editor and path, of which the tools know that they do not know the text."""
        self.saves: list[tuple[int, str, str | None]] = []
        self._told: set[str] = set()
        self._by_mark: dict[str, Call] = {}
        self._states: dict[Place, tuple[list[int], list[str | None]]] = {}

    def tell(self, what: str) -> None:
        self.story.append(f"{self.now:4} {what}")

    def fault(self, what: str) -> None:
        self.tell(f"FAULT {what}")
        self.faults.append(what)

    def begin(self, call: Call) -> None:
        self.calls.append(call)
        call.openings.append(self._opening_of(call))
        if call.mark:
            self._by_mark[call.mark] = call
        self.tell(f"begins: call {call.number} {call.tool} {call.path[-5:]} {call.old!r} {call.new!r}")

    def finish(self, call: Call) -> None:
        self.now += 1
        call.end = self.now
        call.openings.append(self._opening_of(call))
        self.tell(f"ends: {call}")

    def _opening_of(self, call: Call) -> Opening | None:
        return None if call.desk is None else self.openings.get((call.desk, call.path))

    # --- states ------------------------------------------------------------------------------------------------

    def text(self, place: Place) -> str | None:
        """The text there now; None where there is none."""
        states = self._states.get(place)
        return states[1][-1] if states else None

    def during(self, place: Place, call: Call) -> list[str | None]:
        """All texts that were there while a call lasted."""
        times, texts = self._states.get(place, ([0], [None]))
        first = max(bisect_right(times, call.start) - 1, 0)
        return texts[first : bisect_right(times, call.end or self.now)]

    def record(self, place: Place, text: str | None, cause: str) -> None:
        """A text is there from now on, by somebody who may put there whatever he likes."""
        self.now += 1
        times, texts = self._states.setdefault(place, ([0], [None]))
        times.append(self.now)
        texts.append(text)
        self.tell(f"{place[0]} {place[1]} {place[2][-5:]} by {cause}: {text!r}")
        marks = marks_in(text)
        if len(set(marks)) != len(marks) and not self.misplaces:
            self.fault(f"{place}: something is there twice: {text!r}")
        if place[0] == "disk":
            for (_, path), opening in self.openings.items():
                if path == place[2]:
                    opening.disk.add(plain(text))
                    opening.had_file |= text is not None
        elif place[0] == "told":
            self._told.update(marks)
            if text is not None:
                self.openings[place[1], place[2]].told.add(plain(text))
            for mark in marks:
                if mark in self._by_mark:
                    self._by_mark[mark].was_heard_of = True
        elif place[0] == "shown":
            for call in self.calls:
                if not call.was_heard_of and call.landed and call.landed[-1][1] == place and call.mark not in marks:
                    call.unheard.append(call.landed.pop())

    def opened(self, desk: int, path: str) -> None:
        """A document is told of anew."""
        # A call that began before may hold the text against the file as it found it.
        running = [call.start for call in self.calls if call.end is None]
        times, texts = self._states[("disk", 0, path)]
        first = max(bisect_right(times, min([self.now, *running])) - 1, 0)
        found = texts[first:]
        had_file = any(text is not None for text in found)
        self.openings[desk, path] = Opening(disk={plain(text) for text in found}, had_file=had_file)

    # --- what tools do -----------------------------------------------------------------------------------------

    def changed_by_tool(self, place: Place, text: str | None, *, exactly: bool, since: int = 0) -> None:
        """A tool changed a text. ``exactly``: nothing else could have come in between (E7, E12).

        Not so for calls that began before ``since``.
        """
        before = self.text(place)
        had, has = marks_in(before), marks_in(text)
        new = [self._by_mark[mark] for mark in has if mark not in had and mark in self._by_mark]
        self.record(place, text, f"call {new[0].number}" if new else "a tool")
        if len(new) != 1 and self.misplaces:
            return  # it may have gone into the middle of another mark
        if len(new) != 1:
            self.fault(f"{place}: a tool changed {before!r} to {text!r}, and no one call explains it")
            return
        call = new[0]
        call.landed.append((self.now, place))
        exactly = exactly and call.start >= since
        lost = {mark for mark in had if mark not in has}
        call.lost |= {mark for mark in lost - set(marks_in(call.shown)) if not self._is_hidden(call, mark, before)}
        if len(set(has)) != len(has):
            call.lost.add("what has a copy now")
        if call.tool == "Edit" and sorted(anchors_in(before)) != sorted(anchors_in(text)):
            call.lost.add("a line")
        if call.end is not None and not call.leaves_open and place[0] == "disk":
            self.fault(f"{call}: wrote to disk after it had ended")
        if exactly and plain(text) != call.expected(before):
            self.fault(f"{call}: made {text!r} of {before!r}")
        if exactly and call.lost:
            self.fault(f"{call}: {call.lost} vanished, which its approval had not shown")
        if place[0] == "disk" and call.desk is not None:
            self._judge_disk_write(call, before)

    def _is_hidden(self, call: Call, mark: str, before: str | None) -> bool:
        """Whether nobody can see that it was covered.

        An editor that makes edits whatever was typed tells of both together; what was typed at the very place of the
        edit looks like a part of it then.
        """
        is_at_the_place = call.tool == "Write" or call.old[:2] + mark in (before or "")
        return self.misplaces and mark not in self._told and is_at_the_place

    def _judge_disk_write(self, call: Call, before: str | None) -> None:
        """Nothing is ever written to disk behind a document that has more than the disk, or is the same (E2, E11)."""
        assert call.desk is not None
        if (call.desk, call.path) in self.unknown:
            self.fault(f"{call}: wrote to disk while the editor's text was not known")
        shown = self.text(("told", call.desk, call.path))
        if shown is None:
            return
        opening = self.openings[call.desk, call.path]
        was_deleted = before is None and opening.had_file
        if plain(shown) == plain(before) and not was_deleted:
            self.fault(f"{call}: wrote to disk behind an open document with the same text")
        elif plain(shown) not in opening.equal:
            self.fault(f"{call}: wrote to disk behind an open document with unsaved text {shown!r}")

    def reloaded_by_tool(self, desk: int, path: str, text: str, *, exactly: bool) -> None:
        """A tool had a document reloaded: only if nothing unsaved was in it (E11)."""
        before = self.text(("shown", desk, path))
        opening = self.openings.get((desk, path))
        if exactly and (opening is None or plain(before) not in opening.equal):
            self.fault(f"a tool had {path} reloaded, and {before!r} was unsaved")
        self.record(("shown", desk, path), text, "a reload that a tool asked for")

    def saved_by_tool(self, path: str, text: str | None, *, exactly: bool) -> None:
        """A tool had a document saved: nothing of anybody else's was unsaved, and nothing on disk was newer (E9)."""
        before = self.text(("disk", 0, path))
        had, has = set(marks_in(before)), set(marks_in(text))
        if exactly and not (all(map(is_agents, has - had)) and had - has <= self._approved(path)):
            self.fault(f"a tool had {path} saved: {before!r} became {text!r}")
        self.record(("disk", 0, path), text, "a save that a tool asked for")
        self.saves.append((self.now, path, text))

    # --- what tools said ---------------------------------------------------------------------------------------

    def judge(self) -> None:
        """Hold every answer against what happened."""
        for call in self.calls:
            for fault in self._false_in_change(call) if call.mark else self._false_in_read(call):
                self.fault(f"{call}: {fault}")

    def _false_in_change(self, call: Call) -> Iterator[str]:
        if len(call.landed) > 1:
            yield f"its text was put there more than once: {call.landed}"
        if "failed unexpectedly" in call.error:
            yield "crashed"
        if call.ended_cancelled or call.end is None:
            return
        in_time = [place for at, place in (*call.landed, *call.unheard) if at <= call.end]
        if call.success:
            if not in_time:
                yield "success, and its text was nowhere"
            elif call.lost and not self._is_trusted:
                yield f"success, and {call.lost} vanished"
            elif ("Written to disk" in call.output) != (in_time[0][0] == "disk"):
                yield f"it went to {in_time[0]}"
            elif in_time[0][0] == "shown":
                yield from self._false_about_saving(call)
        elif not call.leaves_open and call.landed:
            yield f"its text is there all the same: {call.landed}"

    def _false_about_saving(self, call: Call) -> Iterator[str]:
        is_on_disk = any(call.mark in (text or "") for text in self.during(("disk", 0, call.path), call))
        assert call.end is not None
        was_saved = any(
            call.start < at <= call.end and path == call.path and call.mark in (text or "")
            for at, path, text in self.saves
        )
        if ", and saved to disk." in call.output or ", and on disk: " in call.output:
            is_doubted = self._saves_anything and "saving changed the text further" in call.output
            if not is_on_disk and not is_doubted:
                yield "it never was on disk"
        elif (
            was_saved
            and not self._overlaps_another(call)
            and "is not known" not in call.output
            and "says that it saved it" not in call.output
        ):
            yield "it was saved"

    def _overlaps_another(self, call: Call) -> bool:
        """Whether another call changed the same document at the same time, whose save can have saved both."""
        others = [other for other in self.calls if other is not call and other.mark and other.path == call.path]
        assert call.end is not None
        return any(other.start <= call.end and call.start <= (other.end or self.now) for other in others)

    def _false_in_read(self, call: Call) -> Iterator[str]:
        if "failed unexpectedly" in call.error:
            yield "crashed"
        if not call.success:
            return
        header, _, body = call.output.partition("\n")
        lines = [line.partition("\t")[2] for line in body.split("\n")] if body else []
        disk = self.during(("disk", 0, call.path), call)
        desk = call.desk if call.desk is not None else -1
        # What an editor was asked to tell is what it shows; else what it told is all that anybody can know.
        is_assured = "in the open document" in header and "as last sent by the editor" not in header
        documents = self.during(("shown" if is_assured else "told", desk, call.path), call)
        is_document = "in the open document" in header
        texts = [text for text in (documents if is_document else disk) if text is not None and lines_of(text) == lines]
        if not texts:
            yield "no such text was there during the call"
        elif not self._is_header_true(call, header, texts, documents, disk):
            yield "its header is not true"

    def _is_header_true(
        self, call: Call, header: str, texts: list[str], documents: list[str | None], disk: list[str | None]
    ) -> bool:
        openings = call.openings
        shown, there = {plain(text) for text in texts}, {plain(text) for text in disk}
        differ = any(one != other for one in shown for other in there)
        # A document that was closed and opened anew has other baselines by now.
        equal = openings[0].equal if openings[0] is not None and openings[0] is openings[-1] else None
        if "on disk, changed there" in header:
            older = {plain(text) for text in documents if text is not None}
            return any(one != other for one in older for other in shown) and (equal is None or bool(older & equal))
        if "in the open document" not in header:
            return None in documents
        if "there is no file on disk" in header or "the file was deleted" in header:
            return None in disk
        if "nothing unsaved" in header:
            return bool(shown & there)
        if "the agent's own edits" in header:
            return any(self._is_of_agents(call.path, one, other) for one in texts for other in disk)
        return differ

    def _is_of_agents(self, path: str, shown: str | None, disk: str | None) -> bool:
        """Whether agents added and took away all that makes the one text of the other."""
        has, had = set(marks_in(shown)), set(marks_in(disk))
        return plain(shown) != plain(disk) and all(map(is_agents, has - had)) and had - has <= self._approved(path)

    def _approved(self, path: str) -> set[str]:
        """All that calls took away there with an approval."""
        return {mark for call in self.calls if call.path == path for mark in marks_in(call.shown)}
