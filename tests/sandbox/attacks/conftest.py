"""Helpers of the attacks, and those of the sandbox's other tests, are imported by their own names."""

from __future__ import annotations

import sys
from pathlib import Path

for _directory in (Path(__file__).parent, Path(__file__).parent.parent):
    sys.path.insert(0, str(_directory))
