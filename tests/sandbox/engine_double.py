"""Stands for Docker's or Podman's command line in tests: writes down every call, and runs scripts on this host.

It understands the calls that the sandbox makes, and no others. As with an engine, what an ``exec`` started goes on when
its command line is killed, and a container ends when its first process does. Lines that contain ``behave:`` make it
fail as engines do. Started as a program; its state is in the directory ``ENGINE_STATE``.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

STATE = Path(os.environ.get("ENGINE_STATE", "."))


def write_engine(directory: Path, name: str) -> None:
    """Put a program of this name there that starts this double."""
    program = directory / name
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {Path(__file__).resolve()} "$@"\n')
    program.chmod(0o755)


def main() -> int:
    arguments = sys.argv[1:]
    with open(STATE / "calls.jsonl", "a", encoding="utf-8") as calls:
        calls.write(json.dumps(arguments) + "\n")
    if (STATE / "down").exists():
        return fail(
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", 1
        )
    match arguments:
        case ["create", *rest]:
            return create(rest)
        case ["start", "--attach", "--interactive", container]:
            return start(container)
        case ["start", container]:
            (STATE / container / "process").write_text("0")
            return 0
        case ["exec", *rest]:
            return execute(rest)
        case ["rm", "--force", "--volumes", *rest]:
            return remove(rest[-1])
        case ["ps", "--all", "--quiet", "--no-trunc", label]:
            assert label == "--filter=label=openbuffer.owner"
            print("\n".join(path.parent.name for path in STATE.glob("*/owner")))
            return 0
        case ["container", "inspect", template, container]:
            return inspect(template, container)
        case _:
            return fail(f"unknown call {arguments}", 125)


def fail(words: str, code: int) -> int:
    print(words, file=sys.stderr)
    return code


def create(rest: list[str]) -> int:
    image = rest[-3]
    if image == "absent:1":
        return fail("Error: No such image: absent:1", 1)
    container = secrets.token_hex(32)
    (STATE / container).mkdir()
    (STATE / container / "first").write_text(json.dumps(["/bin/sh", *rest[-2:]]))
    (STATE / container / "naming").write_text(rest[0].partition("=")[2])
    (STATE / container / "naming").rename(STATE / container / "name")  # whole, or not there: this may be killed
    if image == "slow:1":
        time.sleep(1)
    for option in rest:
        if option.startswith("--label=openbuffer.owner="):
            (STATE / container / "owner").write_text(option.split("=", 2)[2])
    print(container)
    return 0


def start(container: str) -> int:
    if (STATE / "dies-at-start").exists():
        return fail("Error: crun: no such runtime", 126)
    first = json.loads((STATE / container / "first").read_text())
    process = subprocess.Popen(first, start_new_session=True)
    (STATE / container / "process").write_text(str(process.pid))
    code = process.wait()
    shutil.rmtree(STATE / container, ignore_errors=True)
    return code


FAILURES = {
    "engine-fails": ("Error response from daemon: the task is gone", 125),
    "no-shell": ('exec: "/bin/sh": stat /bin/sh: no such file or directory', 127),
    "silent-success": ("", 0),
    "ends-twice": ("{run} start 1\n\n{run} end 0\n\n{run} end 0", 0),
    "conflicting": ("{run} start 1\n\n{run} end 0", 3),
    "malformed": ("{run} start 1\n\n{run} end success", 0),
    "too-large": ("{run} start 1\n\n{run} end 256", 0),
}


def execute(rest: list[str]) -> int:
    environment = {"PATH": os.environ["PATH"]}
    stdin: int | None = subprocess.DEVNULL
    while rest[0].startswith("--"):
        option, _, value = rest.pop(0).partition("=")
        if option == "--interactive":
            stdin = None
        elif option in {"--env", "--env-file"}:
            lines = [value] if option == "--env" else Path(value).read_text().splitlines()
            environment |= {line.partition("=")[0]: line.partition("=")[2] for line in lines}
    container, *argv = rest
    if not (STATE / container).exists():
        return fail(f"Error response from daemon: No such container: {container}", 1)
    behaviour = argv[-1].partition("behave:")[2].split(" ")[0]
    if behaviour in FAILURES:
        words, code = FAILURES[behaviour]
        return fail(words.format(run=argv[4]), code)
    if behaviour == "slow-to-begin":
        (STATE / "asked").touch()
        time.sleep(0.5)
    process = subprocess.Popen(argv, env=environment, stdin=stdin, start_new_session=True)
    code = process.wait()
    return code if code >= 0 else 128 - code


def remove(container: str) -> int:
    named = [path.parent.name for path in STATE.glob("*/name") if path.read_text() == container]
    container = named[0] if named else container
    try:
        process = int((STATE / container / "process").read_text())
        if process:
            os.kill(process, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        pass
    shutil.rmtree(STATE / container, ignore_errors=True)
    return 0


def inspect(template: str, container: str) -> int:
    if not (STATE / container).exists():
        return fail(f"Error: No such container: {container}", 1)
    if "State.Running" in template:
        print("true" if (STATE / container / "process").exists() else "false")
    else:
        print(container, (STATE / container / "owner").read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
