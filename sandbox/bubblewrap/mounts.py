"""What a confined command sees of the file system, as a list of mounts in the order in which they are made. Pure.

Everything is readable and nothing writable, to begin with. Over that lie: temporary directories of the session's own,
the writable places, the directories pinned between them and what is to stay in its place, then what is read-only in
them, and last what is hidden, which nothing comes after.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..paths import lies_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..confinement.layout import Hidden, Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """The host's ``source`` shows at ``place``."""

    source: str
    place: str
    writable: bool


def binds_of(layout: Layout) -> tuple[Bind, ...]:
    """All binds but the first one of everything, in order; what is hidden is not among them."""
    temporary = [Bind(source=layout.temporary, place=place, writable=True) for place in layout.temporary_places]
    writable = [Bind(source=path, place=path, writable=True) for path in sorted(set(layout.writable))]
    regions = _effective([*temporary, *writable])
    read_only = [path for path in sorted(set(layout.read_only)) if region_of(path, regions) is not None]
    pins = _pins([*(each.place for each in writable), *read_only, *(each.path for each in hidden_of(layout))], regions)
    placed = {bind.place: bind for bind in (*pins, *regions)}  # a region's own bind wins over a pin of the same place
    ordered = sorted(placed.values(), key=lambda bind: bind.place)
    return (*ordered, *(Bind(source=path, place=path, writable=False) for path in read_only))


def hidden_of(layout: Layout) -> tuple[Hidden, ...]:
    """What has to be mounted over, parents first: what lies below another one, or only in the host's own temporary
    directory, which is not seen anyway, is left out.
    """
    shown = [Bind(source=path, place=path, writable=True) for path in layout.writable]
    covers = [Bind(source=layout.temporary, place=place, writable=True) for place in layout.temporary_places]
    kept: list[Hidden] = []
    for each in sorted(layout.hidden, key=lambda hidden: hidden.path):
        region = region_of(each.path, [*covers, *shown])
        is_covered = region is not None and region.source != region.place
        if not is_covered and not any(lies_in(each.path, other.path) for other in kept):
            kept.append(each)
    return tuple(kept)


def own_places(layout: Layout) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What has to stand ready in the session's temporary directory, relative to it: the directories above the places
    that show through a temporary place, and those places themselves, which must not be links.
    """
    directories: list[str] = []
    places: list[str] = []
    regions = [Bind(source=layout.temporary, place=place, writable=True) for place in layout.temporary_places]
    for bind in binds_of(layout):
        around = region_of(bind.place, regions)
        if around is None or bind.place == around.place:
            continue
        is_pin = bind.source != bind.place
        (directories if is_pin else places).append(bind.place[len(around.place) :].strip("/"))
    return tuple(directories), tuple(places)


def region_of(path: str, regions: Iterable[Bind]) -> Bind | None:
    """The innermost of the binds that shows this path; None where it lies in none."""
    around = [bind for bind in regions if lies_in(path, bind.place)]
    return max(around, key=lambda bind: len(bind.place), default=None)


def _effective(regions: list[Bind]) -> list[Bind]:
    """Of two binds at one place the later one counts: a workspace that is /tmp itself shows the host's."""
    return list({bind.place: bind for bind in regions}.values())


def _pins(places: Iterable[str], regions: list[Bind]) -> list[Bind]:
    """Directories between a writable region and a place below it, bound onto themselves.

    A mount point cannot be renamed or removed: otherwise a command renames a parent of what is protected or hidden, and
    the next command finds it under a name that nobody watches.
    """
    pins: dict[str, Bind] = {}
    for place in places:
        directory = os.path.dirname(place)
        while (region := region_of(directory, regions)) is not None and directory != region.place:
            source = region.source + directory[len(region.place.rstrip("/")) :]
            pins[directory] = Bind(source=source, place=directory, writable=True)
            directory = os.path.dirname(directory)
    return list(pins.values())
