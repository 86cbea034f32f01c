"""Locate and open a file of 4 KiB, five directories below the root. See README.md.

``realpath`` then ``open`` is what most tools do; it judges a path and opens it afterwards, so a swap in between is
followed. Ours judges what it opened. Both open for reading; nothing is read.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING

from measure import Row, interleave, parse_options, print_table, scratch_folder
from openbuffer.tools.support.paths import Roots

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

CALLS = 200
OPEN, REALPATH = "open", "realpath, prefix check, open"


async def main() -> None:
    """One table; every run is the mean of many calls, because one is too short to time."""
    options = parse_options(__doc__)
    with scratch_folder() as root:
        path = root / "one" / "two" / "three" / "four" / "five" / "file.txt"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * 4096)
        link = root / "link"
        link.symlink_to("one/two/three")
        text, prefix, roots = str(path), f"{root}/", Roots(root)
        relative = str(path.relative_to(root))

        def plain() -> None:
            os.close(os.open(text, os.O_RDONLY | os.O_CLOEXEC))

        def checked() -> None:
            real = os.path.realpath(text)
            if not real.startswith(prefix):
                raise PermissionError(real)
            os.close(os.open(real, os.O_RDONLY | os.O_CLOEXEC))

        def ours(given: str) -> Callable[[], None]:
            def locate() -> None:
                with roots.locate(given) as located:
                    located.require_file()

            return locate

        rows = [
            Row(OPEN, many(plain)),
            Row(REALPATH, many(checked)),
            Row("openbuffer, absolute", many(ours(text))),
            Row("openbuffer, relative", many(ours(relative))),
            Row("openbuffer, through a link", many(ours(str(link / "four" / "five" / "file.txt")))),
        ]
        await interleave(rows, options.rounds(50))
        print_table(f"Locate and open 4 KiB at depth 5 (containment: {roots.assurance}; ms per call)", rows, base=OPEN)


def many(work: Callable[[], None]) -> Callable[[], Awaitable[float]]:
    """Seconds per call."""

    async def once() -> float:
        start = time.perf_counter()
        for _ in range(CALLS):
            work()
        return (time.perf_counter() - start) / CALLS

    return once


if __name__ == "__main__":
    asyncio.run(main())
