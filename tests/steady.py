"""The tests on a busy machine: ``python tests/steady.py [pytest arguments]``.

Thousands of tests drive real editors, processes and sandboxes on two cores, and now and then one of them gets no turn
in time. The few that failed beside the others are run again, each alone and several times. Those that pass every
time are named as unsteady, which is a fault of theirs and not of what they test; one failure more fails the whole.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FEW = 3
TIMES = 5
_TESTS_FAILED = 1


def main(arguments: list[str]) -> int:
    """Run pytest; returns its exit code, or 0 where all that failed passes alone."""
    with tempfile.TemporaryDirectory(prefix="openbuffer-failures-") as directory:
        failures = Path(directory) / "failures"
        code = _pytest(*arguments, f"--failures={failures}")
        if code != _TESTS_FAILED or not failures.exists():
            return code
        failed = failures.read_text(encoding="utf-8").splitlines()
    if not 0 < len(failed) <= FEW:
        return code
    options = [argument for argument in arguments if argument == "--slow"]
    for test in failed:
        for time in range(TIMES):
            print(f"== again, alone, {time + 1} of {TIMES}: {test}", flush=True)
            if _pytest("-q", "-p", "no:randomly", *options, test):
                return code
    print(*(f"== UNSTEADY, failed beside others and passed {TIMES} times alone: {test}" for test in failed), sep="\n")
    return 0


def _pytest(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
