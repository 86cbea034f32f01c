"""Everything that must hold before a commit lands, in one command: ``python tests/check.py [pytest arguments]``."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("bridge", "editor_access", "sandbox", "tools")


def link_packages() -> None:
    """Give pyright the import names: .typing/openbuffer/<folder> -> <folder>."""
    links = ROOT / ".typing" / "openbuffer"
    links.mkdir(parents=True, exist_ok=True)
    for name in PACKAGES:
        link = links / name
        if not link.is_symlink():
            link.symlink_to(Path("..") / ".." / name)


def steps(pytest_arguments: list[str]) -> list[list[str]]:
    """The commands, cheapest first."""
    bin_dir = Path(sys.executable).parent
    return [
        [str(bin_dir / "ruff"), "check", "."],
        [str(bin_dir / "ruff"), "format", "--check", "."],
        [str(bin_dir / "pyright"), "--pythonpath", sys.executable],
        [str(bin_dir / "lint-imports"), "--no-cache"],
        [sys.executable, str(ROOT / "tests" / "steady.py"), *(pytest_arguments or ["-n", "2", "-q"])],
    ]


def main() -> int:
    """Run every step; stop at the first that fails."""
    link_packages()
    for command in steps(sys.argv[1:]):
        name = Path(command[0]).name if command[0] != sys.executable else "pytest"
        print(f"== {name}", flush=True)
        started = time.monotonic()
        if shutil.which(command[0]) is None:
            print(f"{command[0]} is missing; run the second command of README.md, it installs the test extra")
            return 2
        done = subprocess.run(command, cwd=ROOT, check=False)
        if done.returncode:
            print(f"== {name} failed with exit code {done.returncode}")
            return done.returncode
        print(f"== {name} ok ({time.monotonic() - started:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
