"""Measure rows beside each other in one run, and print medians, ratios, goals and noise.

Rows take turns, so that whatever else the machine does falls on all of them alike. Ratios count; milliseconds are
only for scale. A row that cannot be measured says why and has no number.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence

PEERS_VARIABLE = "OPENBUFFER_BENCH_PEERS"


class NotMeasuredError(Exception):
    """The row has no number; the message is the reason that is printed instead."""


@dataclass(slots=True)
class Row:
    """One contender. ``once`` does the work once and returns the seconds that it took."""

    name: str
    once: Callable[[], Awaitable[float]]
    max_samples: int | None = None
    samples: list[float] = field(default_factory=list[float])
    absent: str | None = None

    @property
    def median(self) -> float:
        """Seconds."""
        return statistics.median(self.samples)

    @property
    def deviation(self) -> float:
        """Median absolute deviation as a share of the median: the noise of this row."""
        median = self.median
        return statistics.median(abs(sample - median) for sample in self.samples) / median


@dataclass(frozen=True, slots=True)
class Goal:
    """A row is to stay at or under a number of milliseconds, or a ratio to another row."""

    row: str
    at_most: float
    against: str | None = None


def sync(work: Callable[[], object]) -> Callable[[], Awaitable[float]]:
    """A row's ``once`` for plain blocking work in this process."""

    async def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return once


async def interleave(rows: Sequence[Row], rounds: int, burst: int = 1) -> None:
    """Fill the samples: one warm-up that is not counted, then ``rounds`` turns of ``burst`` runs for every row.

    Every round starts with another row, so that none always runs behind the same neighbour.
    """
    for row in rows:
        try:
            await row.once()
        except NotMeasuredError as reason:
            row.absent = str(reason)
    present = [row for row in rows if row.absent is None]
    for turn in range(rounds):
        shift = turn % len(present) if present else 0
        for row in present[shift:] + present[:shift]:
            if row.max_samples is not None and len(row.samples) >= row.max_samples:
                continue
            for _ in range(burst):
                row.samples.append(await row.once())


def print_table(title: str, rows: Sequence[Row], *, base: str, goals: Sequence[Goal] = ()) -> None:
    """Print the rows with their ratio to ``base``, and under every goal's row whether it is met."""
    by_name = {row.name: row for row in rows}
    width = max(len(row.name) for row in rows)
    print(f"\n{title}")
    print(f"{'':{width}}  {'median ms':>10}  {'noise':>6}  {'runs':>4}  ratio to {base}")
    for row in rows:
        if row.absent is not None:
            print(f"{row.name:{width}}  {row.absent}")
            continue
        ratio = f"{row.median / by_name[base].median:.2f}" if by_name[base].absent is None else "no base"
        print(
            f"{row.name:{width}}  {row.median * 1e3:10.3f}  {row.deviation:6.1%}  {len(row.samples):4}  {ratio}"
            + "".join(f"  | {_verdict(goal, by_name)}" for goal in goals if goal.row == row.name)
        )


def _verdict(goal: Goal, rows: dict[str, Row]) -> str:
    row = rows[goal.row]
    if goal.against is None:
        value, noise, text = row.median * 1e3, row.deviation, f"goal <= {goal.at_most:g} ms"
    else:
        peer = rows[goal.against]
        if peer.absent is not None:
            return f"goal <= {goal.at_most:g}x {goal.against}: unknown, {peer.absent}"
        value, noise = row.median / peer.median, row.deviation + peer.deviation
        text = f"goal <= {goal.at_most:g}x {goal.against}"
    verdict = "met" if value <= goal.at_most else "MISSED"
    doubt = ", within the noise" if abs(value / goal.at_most - 1) < noise else ""
    return f"{text}: {value:.2f} {verdict}{doubt}"


@dataclass(frozen=True, slots=True)
class Options:
    """What every bench is told on its command line."""

    peers: Path | None
    rounds_factor: float

    def rounds(self, usual: int) -> int:
        """The number of rounds, scaled by ``--rounds-factor``."""
        return max(1, round(usual * self.rounds_factor))


def parse_options(description: str | None) -> Options:
    """Read the command line and the environment."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--peers",
        type=Path,
        default=os.environ.get(PEERS_VARIABLE),
        help=f"folder with the peers, see README.md (default: ${PEERS_VARIABLE})",
    )
    parser.add_argument("--rounds-factor", type=float, default=1.0, help="more or fewer rounds than usual")
    given = parser.parse_args()
    # Made absolute without following links: a venv's python is a link and must be called by its own name.
    peers = None if given.peers is None else Path(given.peers).absolute()
    return Options(peers=peers, rounds_factor=given.rounds_factor)


@contextmanager
def scratch_folder() -> Generator[Path, None, None]:
    """A folder of its own for the files that are worked on; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="openbuffer-bench-") as folder:
        yield Path(folder).resolve()
