"""Whether what happened to one path in a step can be told as a story in which every answer is true.

The server's edits of buffers are known one by one. The disk is known before and after, with all that Neovim and
others wrote in between; what is left must be wishes made on disk, each on the text that was there at that moment.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .neovim_recorder import Happening
    from .neovim_wishes import Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One path in one step. ``saved`` and ``outside`` are whole contents, each in the order of writing.

    ``texts`` are all states of buffers; ``is_loaded``: the file was read into a buffer in this step;
    ``is_odd`` as in ``Taken``.
    """

    wishes: Sequence[Wish]
    edits: Sequence[Happening]
    disk_before: str | None
    disk_after: str | None
    saved: Sequence[str]
    outside: Sequence[str | None]
    texts: Sequence[str]
    is_loaded: bool
    is_odd: bool

    def told(self) -> list[tuple[list[Wish], list[Wish]]]:
        """Each way to tell it: the wishes that were made in a buffer, and those on disk."""
        return list(self._tellings())

    def _tellings(self) -> Iterator[tuple[list[Wish], list[Wish]]]:
        for chosen in itertools.permutations(self.wishes, len(self.edits)):
            if not all(self._made(wish, edit) for wish, edit in zip(chosen, self.edits, strict=True)):
                continue
            left = [wish for wish in self.wishes if wish not in chosen and wish.said != "nothing"]
            for count in range(len(left) + 1):
                for on_disk in itertools.combinations(left, count):
                    missing = [wish for wish in left if wish.said == "done" and wish not in on_disk]
                    if all(map(self._is_no_change, missing)) and self._leads(self.disk_before, 0, 0, list(on_disk)):
                        yield list(chosen), list(on_disk)

    def _made(self, wish: Wish, edit: Happening) -> bool:
        if wish.said == "nothing":
            return False
        # Neovim checks no version in a buffer that was loaded anew, so that an edit for the one before is made in it;
        # that has to be told as unknown.
        is_blind = self.is_loaded and wish.said != "done"
        after = {edit.after, edit.after.removesuffix("\n")} if self.is_odd else {edit.after}
        return is_blind or any(wish.led(edit.before, text, self.texts) for text in after)

    def _leads(self, disk: str | None, saved: int, outside: int, wishes: list[Wish]) -> bool:
        if saved == len(self.saved) and outside == len(self.outside) and not wishes and disk == self.disk_after:
            return True
        if saved < len(self.saved) and self._leads(self.saved[saved], saved + 1, outside, wishes):
            return True
        if outside < len(self.outside) and self._leads(self.outside[outside], saved, outside + 1, wishes):
            return True
        return any(
            self._leads(after, saved, outside, [other for other in wishes if other is not wish])
            for wish in wishes
            for after in wish.results(disk)
        )

    def _is_no_change(self, wish: Wish) -> bool:
        """Whether a text that was there held already what the wish leads to; then nothing is to be seen of it."""
        there = [self.disk_before, self.disk_after, *self.texts, *self.saved, *self.outside]
        return any(text is not None and text in wish.results(text) for text in there)
