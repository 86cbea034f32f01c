"""Peak memory of one Read: ``read_memory.py PATH OFFSET LIMIT BUDGET`` prints extra bytes and output bytes. Linux only.

The high-water mark of the process is reset after a warm-up on a small file, so imports and threads do not count.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from openbuffer.tools.builtin.read import create_read_tool

PROCESS = Path("/proc/self")
RESET_PEAK = "5"


async def main() -> None:
    """Warm up, reset, read, tell."""
    path, offset, limit, budget = Path(sys.argv[1]), *map(int, sys.argv[2:])
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as small:
        print("a line\n" * 10, file=small, flush=True)
        for _ in range(3):
            await create_read_tool(cwd=Path(small.name).parent).execute({"filePath": small.name})
    tool = create_read_tool(cwd=path.parent, max_bytes=budget)
    (PROCESS / "clear_refs").write_text(RESET_PEAK)
    before = resident("VmRSS")
    result = await tool.execute({"filePath": str(path), "offset": offset, "limit": limit})
    extra = resident("VmHWM") - before
    print(extra, len(result.value["output"].encode()))


def resident(which: str) -> int:
    """Bytes, from the kernel's own account."""
    found = re.search(rf"{which}:\s+(\d+) kB", (PROCESS / "status").read_text())
    if found is None:
        sys.exit(f"no {which} on this system")
    return int(found[1]) * 1024


if __name__ == "__main__":
    asyncio.run(main())
