"""Large and small trees of real files to search in, built from pinned packages and kept between runs.

``big_tree()`` has more than 90,000 files, ``small_tree()`` 1,920. They lie in the folder that
``OPENBUFFER_BENCH_TREES`` names, else in the user's cache. ``python big_tree.py`` builds both and says where they are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TREES_VARIABLE = "OPENBUFFER_BENCH_TREES"

PACKAGES = (
    "ansible==11.1.0",
    "homeassistant==2024.3.3",
    "plotly==5.24.1",
    "msgraph-sdk==1.14.0",
    "Django==5.1.4",
    "botocore==1.35.90",
    "sympy==1.13.3",
    "scipy==1.14.1",
)
"""Python, YAML, JSON, JavaScript, translations, and some shared libraries. About 680 MB when unpacked."""

SMALL_FROM = ("Django==5.1.4", "homeassistant==2024.3.3")
SMALL_FILES = 1_920
_IGNORED = "*.pyc\n__pycache__/\n*.min.js\n/sympy/benchmarks/\n"


def big_tree() -> Path:
    """The folder of the big tree; takes some minutes when it is built."""
    return built("big", _unpack_all)


def small_tree() -> Path:
    """The folder of the small tree."""
    return built("small", _unpack_some)


def built(name: str, build: Callable[[Path, Path], None]) -> Path:
    """The folder of this name among the trees; ``build`` fills it, given an empty one and one for its scratch."""
    home = os.environ.get(TREES_VARIABLE) or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "openbuffer-bench"
    )
    folder = Path(home).absolute() / name
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        unfinished = Path(scratch, name)
        unfinished.mkdir()
        build(unfinished, Path(scratch))
        (unfinished / ".gitignore").write_text(_IGNORED, encoding="utf-8")
        (unfinished / ".git").mkdir()  # so that ignore files count
        unfinished.rename(folder)
    return folder


def _unpack_all(folder: Path, scratch: Path) -> None:
    for package in PACKAGES:
        unpack(package, folder / package.partition("=")[0], scratch)


def _unpack_some(folder: Path, scratch: Path) -> None:
    text = {".css", ".html", ".js", ".py", ".txt"}
    left = SMALL_FILES
    for package in SMALL_FROM:
        whole = scratch / "whole" / package.partition("=")[0]
        unpack(package, whole, scratch)
        files = sorted(path for path in whole.rglob("*") if path.is_file() and path.suffix in text)[:left]
        for path in files:
            target = folder / path.relative_to(whole.parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        left -= len(files)


def unpack(package: str, folder: Path, scratch: Path) -> None:
    """Unpack a wheel of PyPI, such as ``name==1.0``, into a folder."""
    wheels = scratch / f"wheels-{folder.name}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    where = ["--python-version", "3.12", "--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_17_x86_64"]
    if shutil.which("python3") and subprocess.run([*command[:3], "--version"], capture_output=True).returncode:  # noqa: PLW1510  the exit code is the question
        command[0] = str(shutil.which("python3"))  # an environment need not have a pip of its own
    subprocess.run([*command, *where, "--dest", str(wheels), package], check=True)
    for wheel in wheels.iterdir():
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)


if __name__ == "__main__":
    for tree in (small_tree(), big_tree()):
        print(tree, sum(len(files) for _, _, files in os.walk(tree)), "files")
