"""Goes through everything that ``/proc`` shows: ``all_processes.py HOW PATH TEXT``. PATH is the host's, absolute."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

how, path, text = sys.argv[1:4]
PROCESSES = [f"/proc/{name}" for name in os.listdir("/proc") if name.isdigit() or name == "self"]


def descriptors(process: str) -> list[str]:
    with contextlib.suppress(OSError):
        return [f"{process}/fd/{number}" for number in os.listdir(f"{process}/fd")]
    return []


def leads_there(link: str) -> bool:
    with contextlib.suppress(OSError):
        return os.readlink(link) == path
    return False


def write_by_roots() -> None:
    for process in PROCESSES:
        for way in (f"{process}/root{path}", f"{process}/cwd/{os.path.basename(path)}"):
            # Nothing is made, and nothing of anybody else's is changed where this runs unconfined.
            with contextlib.suppress(OSError), open(way, "r+") as file:
                if file.read() == "kept":
                    file.seek(0)
                    file.write(text)


def read_by_roots() -> None:
    for process in PROCESSES:
        for way in (f"{process}/root{path}", f"{process}/cwd/{os.path.basename(path)}"):
            with contextlib.suppress(OSError), open(way) as file:
                print(file.read())


def write_by_descriptors() -> None:
    for process in PROCESSES:
        for link in filter(leads_there, descriptors(process)):
            with contextlib.suppress(OSError), open(link, "w") as file:
                file.write(text)


def read_by_descriptors() -> None:
    for process in PROCESSES:
        for link in filter(leads_there, descriptors(process)):
            with contextlib.suppress(OSError), open(link) as file:
                print(file.read())


def read_environments() -> None:
    for process in PROCESSES:
        with contextlib.suppress(OSError), open(f"{process}/environ") as file:
            found = [each for each in file.read().split("\0") if each.startswith("VICTIM_SECRET=")]
            print(*found)


def overwrite_programs() -> None:
    """A running program cannot be written, so it is held by a descriptor until it has ended."""
    for process in PROCESSES:
        with contextlib.suppress(OSError):
            program = os.readlink(f"{process}/exe")
            if program != path and not (process == "/proc/1" and os.path.basename(program) == "bwrap"):
                continue  # unconfined, the first process is the host's own
            program = os.open(f"{process}/exe", os.O_PATH)
            if process != "/proc/1":
                os.kill(int(process[6:]), signal.SIGKILL)
            for _ in range(40):
                with contextlib.suppress(OSError), open(f"/proc/self/fd/{program}", "wb") as file:
                    file.write(text.encode())
                    break
                time.sleep(0.01)


{
    "write_by_roots": write_by_roots,
    "read_by_roots": read_by_roots,
    "write_by_descriptors": write_by_descriptors,
    "read_by_descriptors": read_by_descriptors,
    "read_environments": read_environments,
    "overwrite_programs": overwrite_programs,
}[how]()
