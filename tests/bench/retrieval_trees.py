"""The code bases of ``bench_retrieval``, from source packages of given releases; kept as those of ``big_tree`` are.

celery comes from PyPI, fastify from npm, redis and caddy from Debian (``apt-get source`` with lists of our own, so that
the system's need not have sources enabled).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from big_tree import built, unpack
from measure import NotMeasuredError

SPEED_FILES = 2_000
SPEED_FROM = ("Django==5.1.4", "homeassistant==2024.3.3")
SPEED_SUFFIXES = {".py", ".js"}
REPOSITORIES = ("celery", "redis", "caddy", "fastify")

_DEBIAN = {"redis": "redis", "caddy": "caddy=2.6.2-5"}
_DEBIAN_SOURCES = Path("/etc/apt/sources.list.d/debian.sources")


def speed_tree() -> Path:
    """2,000 files of Python and JavaScript."""
    return built("retrieval-speed", _unpack_speed)


def repository(name: str) -> Path:
    """The code base of this name.

    Raises:
        NotMeasuredError: it is not to be had here.
    """
    fetch = {"celery": _fetch_sdist, "fastify": _fetch_npm}.get(name, _fetch_debian)

    def build(folder: Path, scratch: Path) -> None:
        try:
            archive = fetch(name, scratch)
        except (OSError, subprocess.CalledProcessError, StopIteration) as error:
            raise NotMeasuredError(f"{name} is not to be had: {error}") from error
        with tarfile.open(archive) as opened:
            opened.extractall(scratch / "whole", filter="data")
        (inner,) = (scratch / "whole").iterdir()
        for each in inner.iterdir():
            shutil.move(each, folder)

    return built(f"retrieval-{name}", build)


def _unpack_speed(folder: Path, scratch: Path) -> None:
    left = SPEED_FILES
    for package in SPEED_FROM:
        whole = scratch / "whole" / package.partition("=")[0]
        unpack(package, whole, scratch)
        for path in sorted(path for path in whole.rglob("*") if path.is_file() and path.suffix in SPEED_SUFFIXES)[
            :left
        ]:
            if path.name.endswith(".min.js"):
                continue
            target = folder / path.relative_to(whole.parent)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            left -= 1


def _fetch_sdist(name: str, scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip"]
    if subprocess.run([*command, "--version"], capture_output=True).returncode:  # noqa: PLW1510  the code is the question
        command[0] = str(shutil.which("python3"))
    options = ["--quiet", "--no-deps", "--no-binary", ":all:", "--dest", str(scratch)]
    subprocess.run([*command, "download", *options, f"{name}==5.4.0"], check=True, capture_output=True)
    return next(scratch.glob("*.tar.gz"))


def _fetch_npm(name: str, scratch: Path) -> Path:
    subprocess.run(["npm", "pack", "--silent", f"{name}@5.1.0"], cwd=scratch, check=True, capture_output=True)
    return next(scratch.glob("*.tgz"))


def _fetch_debian(name: str, scratch: Path) -> Path:
    sources = scratch / "own.sources"
    sources.write_text(_DEBIAN_SOURCES.read_text(encoding="utf-8").replace("Types: deb\n", "Types: deb-src\n"))
    (scratch / "lists/partial").mkdir(parents=True)
    apt = [
        "apt-get",
        "-q",
        *("-o", f"Dir::Etc::sourcelist={sources}"),
        *("-o", "Dir::Etc::sourceparts=/dev/null"),
        *("-o", f"Dir::State::lists={scratch / 'lists'}"),
    ]
    subprocess.run([*apt, "update"], check=True, capture_output=True)
    subprocess.run([*apt, "--download-only", "source", _DEBIAN[name]], cwd=scratch, check=True, capture_output=True)
    return next(scratch.glob("*.orig.tar.gz"))
