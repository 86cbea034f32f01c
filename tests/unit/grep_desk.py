"""Searching with each engine, in this process, for tests that hold them against each other."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openbuffer.tools.support.grep.matcher import find_re2
from openbuffer.tools.support.grep.order import Answer, Order
from openbuffer.tools.support.grep.ripgrep import find_ripgrep
from openbuffer.tools.support.grep.worker import Searcher

ENGINES = ("ripgrep", "own", "own without re2")


@dataclass(frozen=True)
class Desk:
    """One engine, and the directory that it searches."""

    engine: str
    searcher: Searcher
    root: Path

    def grep(self, pattern: str, **more: Any) -> Answer:
        path = more.pop("path", self.root)
        order: dict[str, Any] = {
            "pattern": pattern,
            "path": str(path),
            "is_file": Path(path).is_file(),
            "named": (),
            "glob": "",
            "mode": "content",
            "context": 0,
            "head": 10_000,
            "ignore_case": False,
            "multiline": False,
            "ignoring": True,
            "max_file_bytes": 64 * 1024 * 1024,
            "max_output_bytes": 1024 * 1024,
            "ripgrep": find_ripgrep([str(self.root)]),
            "engine": "ripgrep" if self.engine == "ripgrep" else "own",
            **more,
        }
        return self.searcher.answer(Order(**order), os.open(path, os.O_RDONLY))

    def lines(self, pattern: str, **more: Any) -> list[str]:
        """``name:number:text`` of every line that is shown."""
        found: list[str] = []
        name = ""
        answer = self.grep(pattern, **more)
        assert not answer.failure, answer.failure
        for line in answer.body.split("\n"):
            if line.startswith(str(self.root)):
                name = line.removeprefix(f"{self.root}/").removesuffix(":")
            elif line:
                found.append(f"{name}:{line}")
        return found


def desk(engine: str, root: Path) -> Desk:
    return Desk(engine, Searcher(None if engine == "own without re2" else find_re2()), root)
