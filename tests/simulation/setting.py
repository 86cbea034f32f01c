"""What stays the same for the length of a run: whose editors there are, and how those behave."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from openbuffer.editor_access import EditorAbilities
from openbuffer.editor_access.memory_habits import NEOVIM_HABITS, PLAIN_HABITS, EditorHabits
from openbuffer.editor_access.memory_lsp import PLAIN, RichTemperament, Temperament

from .marks import formatted

if TYPE_CHECKING:
    from openbuffer.editor_access.client_requests import RichCapabilities
    from openbuffer.editor_access.text import PositionEncoding

Company: TypeAlias = Literal["alone", "a process without an editor", "a process with an editor", "another editor"]

PROMISED_S: Final = 2.5
"""How long the adapter believes an editor that said yes and may not check versions."""
DENIED_S: Final = 0.25
"""How long it waits, at the least, for the text of an edit that the editor says it did not make."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """``latencies``, of threads, and ``wire``: see ``seams.after``; they are taken in turn. So are ``telling``: the
    delays, in hundredths of a second, after which an editor tells what it does not tell at once.

    ``company``: who else works on the files.
    """

    temperament: Temperament = field(default_factory=Temperament)
    encoding: PositionEncoding = "utf-16"
    rich: RichCapabilities = PLAIN
    rich_temperament: RichTemperament = field(default_factory=RichTemperament)
    habits: EditorHabits = field(default_factory=EditorHabits)
    formats: bool = False
    abilities: EditorAbilities = field(default_factory=EditorAbilities)
    in_process: bool = False
    company: Company = "alone"
    line_end: str = "\n"
    ends_with_newline: bool = True
    is_open: bool = True
    latencies: tuple[int, ...] = (0,)
    wire: tuple[int, ...] = (0,)
    telling: tuple[int, ...] = (15,)

    @property
    def editor_habits(self) -> EditorHabits:
        """The habits, those of the temperament before others, with the formatting."""
        habits = self.habits if self.temperament.habits == PLAIN_HABITS else self.temperament.habits
        return replace(habits, format_on_save=formatted) if self.formats else habits

    @property
    def is_neovim(self) -> bool:
        """Whether the tools know that it is one."""
        return self.temperament.habits == NEOVIM_HABITS

    @property
    def applies_exactly(self) -> bool:
        """Whether an edit is made in the text that it was for, or not at all."""
        if self.in_process:
            return True
        if self.rich.apply_edit:
            return self.rich_temperament.checks_document
        how = self.temperament
        return how.stale != "applied" and how.checks == "newest" and how.unchecked_versions <= {None}

    @property
    def compares_texts(self) -> bool:
        """Whether an edit is for a text, rather than for a version of it."""
        return self.in_process or (self.rich.apply_edit and self.rich_temperament.checks_document)

    @property
    def handles_files_exactly(self) -> bool:
        """Whether a save or a reload is made of the text and the file that it was asked for, or not at all."""
        return self.in_process or (self.rich_temperament.checks_document and self.rich_temperament.checks_disk)

    @property
    def tells_late(self) -> bool:
        """Whether something is told only after a delay."""
        return "when_flushed" in (self.temperament.tells_typing, *self._tells_edit)

    @property
    def is_beyond_the_tools(self) -> bool:
        """The settings in which an editor cannot be understood by anybody, and no others.

        - It makes an edit, says that it did not, and tells the text that proves it later than the answer is doubted.
        - It makes edits whatever the version, and tells so late that the adapter takes the edit for skipped, once
          something else came in between. (One that checks versions would have made it before that.)
        - It makes edits whatever is typed and not told yet, and then tells its whole text: what such an edit covered is
          in no text that anybody hears of.
        - It counts columns by characters whatever was agreed on, and tells changes by columns: the text that the
          server puts together drifts from the one it shows, and nothing says so.
        - It counts so, and announced that it applies edits as PROTOCOL.md has it.
        """
        if self.in_process:
            return False
        slowest = (max(self.telling) - min(self.wire)) / 100
        is_late = "when_flushed" in self._tells_edit
        counts_otherwise = self.temperament.counts == "code_points" and self.encoding != "utf-32"
        return (
            (self._denies and is_late and slowest >= DENIED_S)
            or (not self.applies_exactly and self.tells_late and slowest >= PROMISED_S)
            or (not self.applies_exactly and self.tells_late and self.temperament.sync == "full")
            or (counts_otherwise and (self.temperament.sync == "incremental" or self.rich.apply_edit))
        )

    @property
    def _tells_edit(self) -> tuple[str, ...]:
        return (self.rich_temperament.tells,) if self.rich.apply_edit else (self.temperament.tells_edit,)

    @property
    def _denies(self) -> bool:
        if self.rich.apply_edit:
            how = self.rich_temperament
            return how.acts and (how.says == "not_done" or how.answer == "error")
        return self.temperament.applies and self.temperament.answer in {"false", "error"}
