"""What became of the entries of a workspace manifest. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from .model import EntryType

EntryStatus: TypeAlias = Literal["applied", "unsupported", "failed", "not_applied"]
"""``unsupported``: a mount that this client cannot make. ``failed``: a part of it may be there. ``not_applied``: it was
not begun, because another one failed.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryResult:
    """What became of one entry; ``detail`` says why, or what exactly is there, and may be empty."""

    path: str
    type: EntryType
    status: EntryStatus
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestResult:
    """What became of each entry, in the order of the manifest."""

    entries: tuple[EntryResult, ...]

    @property
    def complete(self) -> bool:
        """Whether every entry was applied."""
        return all(entry.status == "applied" for entry in self.entries)

    def with_status(self, status: EntryStatus) -> tuple[EntryResult, ...]:
        """The entries that ended so."""
        return tuple(entry for entry in self.entries if entry.status == status)
