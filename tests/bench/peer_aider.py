"""aider's repository map behind a pipe, on the Python of its own environment: one line of JSON in, one line out."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

_FIRST_TOKENS = 1_000


def main() -> None:
    """Answer until the pipe ends."""
    out = sys.stdout
    sys.stdout = sys.stderr  # what aider says is no answer
    worker = Worker(Path(sys.argv[1]))
    for line in sys.stdin:
        order = json.loads(line)
        try:
            answer = getattr(worker, order.pop("op"))(**order)
        except Exception as error:  # noqa: BLE001  the bench prints it in the row
            answer = {"reason": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps(answer), file=out, flush=True)


class Worker:
    """One map of one code base."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._map: Any = None
        self._files: list[str] = []

    def cold(self, **query: Any) -> dict[str, Any]:
        """The first query without a cache."""
        for cache in self._root.glob(".aider.tags.cache*"):
            shutil.rmtree(cache)
        start = time.perf_counter()
        self._open()
        self._ask(**query)
        return {"seconds": time.perf_counter() - start}

    def warm(self, **query: Any) -> dict[str, Any]:
        """A further query."""
        start = time.perf_counter()
        text = self._ask(**query)
        return {"seconds": time.perf_counter() - start, "text": text}

    def first(self, text: str) -> dict[str, Any]:
        """The first tokens of a text, and how many it has, by a tokenizer of language models."""
        # It brings the vocabulary, which tiktoken alone would download.
        from litellm.litellm_core_utils.default_encoding import encoding

        tokens = encoding.encode(text, disallowed_special=())
        return {"text": encoding.decode(tokens[:_FIRST_TOKENS]), "tokens": len(tokens)}

    def query(self, **query: Any) -> dict[str, Any]:
        """A query of a code base that may not have been opened yet."""
        if self._map is None:
            self._open()
        return {"text": self._ask(**query)}

    def _open(self) -> None:
        from aider.io import InputOutput
        from aider.models import Model
        from aider.repomap import RepoMap

        files = (path for path in self._root.rglob("*") if path.is_file())
        self._files = sorted(
            str(path) for path in files if not path.name.startswith(".aider") and ".aider.tags" not in str(path)
        )
        io = InputOutput(pretty=False, yes=True)
        self._map = RepoMap(map_tokens=1024, root=str(self._root), main_model=Model("gpt-4o"), io=io, refresh="always")

    def _ask(self, text: str, active: list[str], identifiers: list[str]) -> str:
        from aider.coders.base_coder import Coder

        chat = [str(self._root / path) for path in active]
        others = [path for path in self._files if path not in set(chat)]
        # What its own chat does with a message.
        message = " ".join([text, *identifiers])
        names = Coder.get_ident_mentions(self, message)
        paths = Coder.get_ident_filename_matches(self, names)
        return self._map.get_repo_map(chat, others, mentioned_fnames=paths, mentioned_idents=names) or ""

    def get_all_relative_files(self) -> list[str]:
        """What ``Coder`` has for its own use."""
        return [str(Path(path).relative_to(self._root)) for path in self._files]


if __name__ == "__main__":
    main()
