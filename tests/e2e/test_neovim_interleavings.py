"""Real Neovim, no plugin: in random histories of a user, an agent and commands nothing is lost or misreported.

One interleaving is one new file and one editor, with real keys in every mode, saves, reloads, renames, writes of
others, and calls of Read, Edit and Write, some at the same time, some cancelled, many while the user types.

- Each change that the server made in a buffer is exactly one call's wish, on the text that was there or moved along
  with what was typed elsewhere: so no text of the user's goes but by the user's own keys. Each change of the disk that
  neither Neovim nor a command made is exactly one call's wish as well.
- A call that says done is in the buffer or on disk, once; one that says that nothing was changed is nowhere; one that
  was cancelled or says unknown is there once at most. A call that nothing disturbs is made, in the right place of the
  two, or in neither where they are in conflict.
- What Read shows is what the buffer or the disk holds, as its header says; every call ends.

What Neovim itself does not tell is left out, as narrowly as it goes:

- From several lines down to a last one that was empty before: it tells that the others became one empty line. Exactly
  then the user saves at once, which tells the whole text, and reloads if more was typed.
- After ``:file`` it tells nothing until the next save: in between Read is not compared and no place is expected.
- A buffer without final newline whose last line is empty, or with carriage returns in its lines: there no place is
  expected, Read may lack that line or refuse, and an edit may leave a blank line more at the end.
- An edit that meets a buffer which was closed and loaded again meanwhile is made in it unchecked, and told as unknown.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from .neovim import Neovim
from .neovim_judgement import Story
from .neovim_keys import Keys, outside_content
from .neovim_recorder import RecordedNeovim, Taken
from .neovim_wishes import Wish, plain_bytes, some_edit, some_text, some_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

NeovimT = TypeVar("NeovimT", bound=Neovim)
RecordedNeovimT = TypeVar("RecordedNeovimT", bound=RecordedNeovim)

pytestmark = [pytest.mark.editor, pytest.mark.contract("B4", "E1", "E7", "E8", "E11", "E12")]

INTERLEAVINGS = 1000
QUICK = 4
SEEDS = [seed if seed < QUICK else pytest.param(seed, marks=pytest.mark.slow) for seed in range(INTERLEAVINGS)]
SETTINGS = list(itertools.product((10, 150), ("utf-8", "utf-16", "utf-32")))
"""The client's debounce in milliseconds, and the position encoding."""


@pytest.fixture(scope="module")
def editors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], RecordedNeovim]]:
    yield from editors_by_setting(tmp_path_factory, Neovim, RecordedNeovim)


def editors_by_setting(
    tmp_path_factory: pytest.TempPathFactory,
    start: Callable[..., NeovimT],
    record: Callable[[NeovimT], RecordedNeovimT],
) -> Iterator[Callable[[int], RecordedNeovimT]]:
    """Gives the editor of each of the ``SETTINGS``, started when it is first asked for and anew once it has ended."""
    started: dict[int, RecordedNeovimT] = {}

    def editor(number: int) -> RecordedNeovimT:
        known = started.get(number)
        if known is None or known.editor.process.poll() is not None:
            debounce, encoding = SETTINGS[number]
            directory = tmp_path_factory.mktemp("nvim")
            (directory / "work").mkdir()
            fresh = start(directory / "home", directory / "work", encodings=(encoding,), debounce_text_changes=debounce)
            fresh.__enter__()
            known = started[number] = record(fresh)
        return known

    yield editor
    for known in started.values():
        known.editor.close()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_or_misreported_in_a_random_history(
    editors: Callable[[int], RecordedNeovim], seed: int, record_property: Callable[[str, object], None]
) -> None:
    recorded = editors(seed % len(SETTINGS))
    play(History(recorded, recorded.editor.root / f"seed{seed}", seed), record_property)
    recorded.editor.wipe_all()


def play(history: History, record_property: Callable[[str, object], None]) -> None:
    """Run it. An editor in which something went wrong is ended: the next history starts with another."""
    try:
        history.run()
    except BaseException:
        history.editor.kill()
        history.editor.close()
        raise
    finally:
        for name, count in history.counts.items():
            record_property(name, count)


class History:
    """One interleaving."""

    def __init__(self, recorded: RecordedNeovim, folder: Path, seed: int) -> None:
        folder.mkdir()
        self.folder = folder
        self.recorded = recorded
        self.editor = recorded.editor
        self.dice = random.Random(seed)
        self.paths = [str(folder / name) for name in ("a.txt", "b é.txt", "c.txt")]
        self.path = self.paths[0]
        self.numbers = itertools.count()
        self.keys = Keys(self.dice, self.mark)
        self.is_inserting = False
        self.is_settled = False
        self.odd: frozenset[str] = frozenset()
        self.raced: set[str] = set()
        self.baselines: dict[str, str | None] = {}
        self.counts: Counter[str] = Counter()
        self.told: list[str] = [f"seed {seed}, {SETTINGS[seed % len(SETTINGS)]}"]
        self.before: dict[str, str | None] = {}
        self.shown: dict[str, str] = {}

    def mark(self, kind: str) -> str:
        return f"{kind}{next(self.numbers)}~"

    # --- the history ---------------------------------------------------------------------------------------

    def run(self) -> None:
        self._begin()
        for _ in range(self.dice.randint(5, 8)):
            self._step()
        self._step(quiet=True)
        self._compare_read()

    def _begin(self) -> None:
        dice = self.dice
        self.recorded.clear()
        self.editor.command("set " + dice.choice(["autoread", "noautoread"]))
        lines = [self.mark("k") + some_text(dice) for _ in range(dice.randint(0, 6))]
        text = "\n".join(lines) + dice.choice(["\n", "\n", "\n\n", ""])
        if dice.random() < 0.9:
            Path(self.path).write_bytes(text.replace("\n", dice.choice(["\n", "\n", "\r\n"])).encode())
        self._look_at_disk()
        self._type(self.keys.open(self.path.replace(" ", "\\ ")))
        self._judge([], {})

    def _step(self, *, quiet: bool = False) -> None:
        dice, kind = self.dice, self.dice.random()
        if quiet or kind < 0.2:
            self._call_in_peace()
        elif kind < 0.4:
            self._user_alone()
        elif kind < 0.48:
            self._outside_alone()
        elif kind < 0.53:
            self._rename()
        elif kind < 0.75:
            self._calls_in_one_turn()
        else:
            self._calls_and_keys_over_time()
        if dice.random() < 0.4:
            self._compare_read()

    def _user_alone(self) -> None:
        if self.is_inserting and self.dice.random() < 0.5:
            self._type(self.keys.text())
        elif self.dice.random() < 0.2:
            self._type(self.keys.into_insert_mode())
            self.is_inserting = True
        else:
            self._type(self.keys.any(self._escaped(self.path)))
        self._judge([], {})

    def _outside_alone(self) -> None:
        if not self.is_settled and self.dice.random() < 0.8:
            self._compare_read()
        outside = {self.path: [self._outside(in_place=self.dice.random() < 0.5, may_delete=True)]}
        if self.dice.random() < 0.4:
            self._type("<C-Bslash><C-n>:checktime<CR>")
        self._judge([], outside)

    def _rename(self) -> None:
        other = self.dice.choice([path for path in self.paths if path != self.path])
        if self.dice.random() < 0.5:
            self._type(self.keys.save_as(self._escaped(other)))
            self._judge([], {})
            return
        # Until it is saved the client says of this buffer neither what it was called nor what it holds.
        self._type(self.keys.call_it(self._escaped(other)))
        self._type(self.keys.into_insert_mode())
        self._take_in()
        wishes = [self._wish(other) for _ in range(self.dice.choice([0, 1, 2]))]
        for wish in wishes:
            self._turn([self._begun(wish)])
            self._type(self.keys.text())
        self._judge(wishes, {}, in_limbo=True)
        self._type(self.keys.save())
        self._judge([], {})

    def _call_in_peace(self) -> None:
        wishes = [self._wish() for _ in range(self.dice.choice([1, 1, 1, 2]))]
        for wish in wishes:
            self._turn([self._begun(wish)])
        self._judge(wishes, {}, quiet=True)

    def _calls_in_one_turn(self) -> None:
        """Keys that the server cannot have seen, right before or after a call, and perhaps a second one."""
        wishes = [self._wish() for _ in range(self.dice.choice([1, 1, 2]))]
        items: list[dict[str, Any]] = [self._begun(wish) for wish in wishes]
        for _ in range(self.dice.choice([1, 1, 2])):
            typed = self.keys.any if self.dice.random() < 0.3 else self.keys.typing
            items.insert(self.dice.randint(0, len(items)), {"keys": typed(self._escaped(self.path))})
        if self.dice.random() < 0.2:
            items.append({"flush": True})
        self.is_inserting = False
        self._cancel_one(wishes, items)
        self._turn(items)
        self._judge(wishes, {})

    def _calls_and_keys_over_time(self) -> None:
        """Calls, keys, cancelling and writes of others, with pauses of a debounce's length between them."""
        wishes = [self._wish() for _ in range(self.dice.choice([1, 2]))]
        items: list[dict[str, Any]] = [self._begun(wish) for wish in wishes]
        for _ in range(self.dice.randint(1, 4)):
            items.insert(self.dice.randint(0, len(items)), {"input": True})
        is_outside = self.dice.random() < 0.2
        if is_outside:
            items.insert(self.dice.randint(0, len(items)), {"outside": True})
        self._cancel_one(wishes, items)
        outside: dict[str, list[str | None]] = {}
        for item in items:
            if "input" in item:
                self._type_on()
            elif "outside" in item:
                outside[self.path] = [self._outside(in_place=False, may_delete=False)]
            else:
                self._turn([item])
            if self.dice.random() < 0.6:
                time.sleep(self.dice.random() * self.dice.choice([0.02, 0.2]))
        self._judge(wishes, outside)

    def _type_on(self) -> None:
        if self.is_inserting and self.dice.random() < 0.7:
            self._type(self.keys.text())
            return
        self.is_inserting = self.dice.random() < 0.4
        self._type(self.keys.into_insert_mode() if self.is_inserting else self.keys.typing(self._escaped(self.path)))

    # --- what is done --------------------------------------------------------------------------------------

    def _wish(self, path: str | None = None) -> Wish:
        dice = self.dice
        path = path or (self.path if dice.random() < 0.93 else dice.choice(self.paths))
        text = self._truth(path)[1]
        kind = dice.random()
        if kind < 0.15:
            return Wish(tool="Read", path=path)
        mark = self.mark("a")
        make = some_write if kind < 0.4 or text is None else some_edit
        return make(dice, Path(path), text or "", mark)

    def _begun(self, wish: Wish) -> dict[str, Any]:
        wish.number, wish.call = self.recorded.expect()
        self.counts["calls"] += 1
        return {"call": wish.params, "number": wish.number}

    def _cancel_one(self, wishes: list[Wish], items: list[dict[str, Any]]) -> None:
        if self.dice.random() < 0.15:
            wish = self.dice.choice(wishes)
            wish.is_cancelled = True
            begun = next(place for place, item in enumerate(items) if item.get("number") == wish.number)
            items.insert(self.dice.randint(begun + 1, len(items)), {"cancel": wish.number})

    def _turn(self, items: list[dict[str, Any]]) -> None:
        self.told.append(f"in one turn: {items}")
        self.recorded.turn(items, self.dice)

    def _type(self, keys: str) -> None:
        self.is_inserting = self.is_inserting and not keys.startswith("<C-Bslash>")
        self.told.append(f"typed: {keys!r}")
        self.recorded.type(keys, self.dice)

    def _outside(self, *, in_place: bool, may_delete: bool) -> str | None:
        file = Path(self.path)
        if may_delete and self.dice.random() < 0.1:
            file.unlink(missing_ok=True)
            self.told.append(f"deleted {file.name}")
            return None
        content = outside_content(self.dice, self._disk(self.path), self.mark("o"))
        self.told.append(f"a command wrote {file.name}: {content!r}")
        data = content.replace("\n", self.dice.choice(["\n", "\n", "\n", "\r\n"])).encode()
        if in_place:
            file.write_bytes(data)
        else:
            fresh = file.with_name("outside.tmp")
            fresh.write_bytes(data)
            os.replace(fresh, file)
        return plain_bytes(data)

    # --- what is judged ------------------------------------------------------------------------------------

    def _judge(
        self,
        wishes: list[Wish],
        outside: dict[str, list[str | None]],
        *,
        quiet: bool = False,
        in_limbo: bool = False,
    ) -> None:
        for wish in wishes:
            assert wish.call is not None
            try:
                wish.answer = self.recorded.answer(wish.call, self.dice)
            except TimeoutError:
                pytest.fail(self._about(f"no answer to {wish}\n{self.editor.log()}"))
            # Neovim skips an edit for an older text, unless the buffer was loaded anew.
            self._require("may be gone" not in str(wish.answer), "made over newer text", wish)
            self.told.append(f"  {wish}")
            if wish.changes or wish.answer.is_hard_error:
                self.counts[wish.said] += 1
        taken = self.recorded.take(self.dice)
        self.counts["settled"] += taken.settled
        now = {path: self._disk(path) for path in self.paths}
        written_beside = set(outside)
        for path in self.paths:
            story = Story(
                wishes=[wish for wish in wishes if wish.path == path and wish.changes],
                edits=[entry for entry in taken.log if entry.kind == "edit" and entry.path == path],
                disk_before=self.before[path],
                disk_after=now[path],
                saved=[entry.after for entry in taken.log if entry.kind == "write" and entry.path == path],
                outside=outside.get(path, []),
                is_odd=path in self.odd | taken.odd,
                is_loaded=any(entry.kind in {"read", "new"} and entry.path == path for entry in taken.log),
                texts=[*taken.texts, *self.shown.values(), *taken.shown.values()],
            )
            told = story.told()
            self._require(told, "no telling", story)
            if any(on_disk for _, on_disk in told):
                written_beside.add(path)
            if quiet and len(story.wishes) == 1:
                self._found_the_right_place(path, story.wishes[0], told, story)
            if quiet and not taken.settled:
                before = story.edits[0].before if story.edits else taken.shown.get(path)
                self._require(self.shown.get(path) == before, "a buffer changed by itself", story)
        if not in_limbo:
            self._judge_reads(wishes, taken, now, outside)
        self._remember(taken, now, written_beside, is_settled=bool(wishes))

    def _found_the_right_place(
        self, path: str, wish: Wish, told: list[tuple[list[Wish], list[Wish]]], story: Story
    ) -> None:
        place, text = self._truth(path)
        side = {"buffer": 1, "disk": 0}.get(place)  # the one that must have none
        allowed = place == "open" or any(
            not telling[side] if side is not None else telling == ([], []) for telling in told
        )
        self._require(allowed, f"the wrong place, not {place}", story)
        if place in {"buffer", "disk"} and wish.fits(text or "") and (text is not None or wish.tool == "Write"):
            self._require(wish.said == "done", f"refused, though nothing is in its way in {place}", story)

    def _judge_reads(
        self, wishes: list[Wish], taken: Taken, now: dict[str, str | None], outside: dict[str, list[str | None]]
    ) -> None:
        for wish in wishes:
            if wish.changes or not wish.answer or not wish.answer.success:
                continue
            written = [entry.after for entry in taken.log if entry.kind == "write"]
            on_disk = {self.before[wish.path], now[wish.path], *outside.get(wish.path, []), *written}
            on_disk |= {"" for _ in written}  # Neovim empties a file before it writes it
            for other in wishes:
                if other.changes:
                    on_disk |= {text for before in list(on_disk) for text in other.results(before)}
            texts = {*on_disk, *self.shown.values(), *taken.texts, *taken.shown.values()}
            if wish.path in taken.odd:
                texts |= {text.removesuffix("\n") for text in texts if text is not None}
            self._require(_shown(wish.answer.output) in texts, "Read shows what never was", texts)

    def _compare_read(self) -> None:
        place, text = self._truth(self.path)
        self.counts["calls"] += 1
        answer = self.editor.read(self.path)
        self.told.append(f"Read: {answer}")
        self.is_settled = True
        if place == "open":
            texts = (self.before[self.path] or "", self.shown[self.path])
            known = answer.success and any(_shown(answer.output) in {text, text.removesuffix("\n")} for text in texts)
            is_gone = not answer.success and self.before[self.path] is None and "no such file" in answer.error
            is_odd = self.path in self.odd and not answer.success
            self._require(known or is_gone or is_odd, "Read shows something else", texts)
            return
        if text is None:
            self._require(not answer.success or _shown(answer.output) == "", "Read shows what is not there", place)
            return
        self._require(answer.success, "Read does not show", (place, text))
        self._require(_shown(answer.output) == text, "Read shows something else", (place, text))
        header = answer.output.partition("\n")[0]
        self._require(("open document" in header) == (self.path in self.shown), "Read names the wrong place", place)

    def _truth(self, path: str) -> tuple[str, str | None]:
        """Where the text of a path is by the table of E11, and the text.

        Open is it where a file was written by others, or by the server, right after it was loaded or saved, when it may
        not have been compared with the document yet; and in the odd files of the recorder.
        """
        disk, shown = self.before[path], self.shown.get(path)
        if shown is None:
            return "disk", disk
        if path in self.odd or path in self.raced:
            return "open", shown
        baseline = self.baselines.get(path)
        if shown == (disk or ""):
            return "buffer", shown
        if shown == (baseline or ""):
            return ("buffer", shown) if disk == baseline else ("disk", disk)
        return ("buffer" if disk == baseline else "conflict"), shown

    def _take_in(self) -> None:
        """Take note of what the user did, where nothing is to be judged yet."""
        taken = self.recorded.take(self.dice)
        self._remember(taken, {path: self._disk(path) for path in self.paths}, is_settled=False)

    def _remember(
        self, taken: Taken, now: dict[str, str | None], outside: Iterable[str] = (), *, is_settled: bool
    ) -> None:
        for entry in taken.log:
            if entry.kind != "edit":
                self.baselines[entry.path] = None if entry.kind == "new" else entry.after
        for path in self.paths:
            if path in taken.shown and taken.shown[path] == now[path]:
                self.baselines[path] = taken.shown[path]
        loaded = {entry.path for entry in taken.log if entry.kind != "edit"}
        self.raced = (self.raced - loaded) | {path for path in outside if path in loaded or not self.is_settled}
        self.is_settled = is_settled or (self.is_settled and not loaded)
        self.odd = taken.odd
        self.before, self.shown = now, taken.shown
        if taken.current in self.paths:
            self.path = taken.current
        longest = max(map(len, self.shown.get(self.path, "").split("\n")))
        if longest > 1500 or self.shown.get(self.path, "").count("\n") > 60:
            self._type(self.keys.shorten() if longest <= 1500 else self.keys.start_over())
            self._take_in()

    def _look_at_disk(self) -> None:
        self.before = {path: self._disk(path) for path in self.paths}

    def _disk(self, path: str) -> str | None:
        try:
            return plain_bytes(Path(path).read_bytes())
        except FileNotFoundError:
            return None

    def _escaped(self, path: str) -> str:
        return path.replace(" ", "\\ ")

    def _require(self, holds: object, what: str, more: object) -> None:
        if not holds:
            pytest.fail(self._about(f"{what}: {more}"), pytrace=False)

    def _about(self, what: str) -> str:
        state = f"shown {self.shown}\ndisk {self.before}\nbaselines {self.baselines}\nodd {self.odd}"
        return "\n".join([*self.told, state, what]).replace(f"{self.folder}/", "")


def _shown(output: str) -> str:
    lines = [line.split("\t", 1) for line in output.split("\n")[1:] if "\t" in line]
    return "\n".join(text.replace("\r", "") for number, text in lines if number.strip().isdigit())
