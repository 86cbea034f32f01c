"""Runs in the peers' environment: ``peer_worker.py deepagents|openhands WORKSPACE``, one JSON line in, one out.

In: ``{"op": "read", "path", "first", "last", "numbered", "expect"}``, lines counted from 1,
``{"op": "edit", "path", "old", "new"}``, or ``{"op": "glob", "pattern", "expect", "cpu"}``, where ``cpu`` asks for
processor time.
Out: ``{"seconds"}`` of the call alone, or ``{"reason"}`` why there is no number.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """Answer until the input ends."""
    logging.disable(logging.CRITICAL)  # a log line per call would be counted against the peer
    answers = sys.stdout
    sys.stdout = sys.stderr  # what a library prints must not get between the answers
    try:
        work = {"deepagents": deepagents, "openhands": openhands}[sys.argv[1]](sys.argv[2])
    except ImportError as error:
        missing = f"not installed ({error.name})"
        work = _nothing_but(missing)
    for line in sys.stdin:
        print(json.dumps(work(json.loads(line))), file=answers, flush=True)


def deepagents(workspace: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The backend behind deepagents' read_file, edit_file, glob and grep, with the numbering that read_file adds."""
    backend = importlib.import_module("deepagents.backends.filesystem").FilesystemBackend(
        root_dir=workspace, virtual_mode=True
    )
    number_lines = importlib.import_module("deepagents.backends.utils").format_content_with_line_numbers

    def glob(order: dict[str, Any]) -> dict[str, Any]:
        clock = time.process_time if order.get("cpu") else time.perf_counter
        start = clock()
        result = backend.glob(order["pattern"], "/")
        seconds = clock() - start
        if result.error or result.truncated:
            return {"reason": f"gives up: {result.error or 'its own time budget is over'}"[:100]}
        return _answer(seconds, "\n".join(found["path"] for found in result.matches), order)

    def grep(order: dict[str, Any]) -> dict[str, Any]:
        start = time.perf_counter()
        result = backend.grep(order["pattern"])
        seconds = time.perf_counter() - start
        if result.error:
            return {"reason": f"gives up: {result.error}"[:100]}
        return _answer(seconds, "\n".join(found["path"] for found in result.matches or ()), order)

    def work(order: dict[str, Any]) -> dict[str, Any]:
        if order["op"] in {"glob", "grep"}:
            return {"glob": glob, "grep": grep}[order["op"]](order)
        path = order["path"].removeprefix(workspace)
        start = time.perf_counter()
        if order["op"] == "edit":
            result = backend.edit(path, order["old"], order["new"])
            text = ""
        else:
            result = backend.read(path, order["first"] - 1, order["last"] - order["first"] + 1)
            text = "" if result.error else result.file_data["content"]
            if order["numbered"]:
                text = number_lines(text, order["first"])
        seconds = time.perf_counter() - start
        if result.error:
            return {"reason": f"refuses: {result.error[:100]}"}
        return _answer(seconds, text, order)

    return work


def openhands(workspace: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The editor tool of OpenHands."""
    editor = importlib.import_module("openhands_aci.editor.editor").OHEditor(workspace_root=workspace)
    refusals = importlib.import_module("openhands_aci.editor.exceptions").ToolError

    def work(order: dict[str, Any]) -> dict[str, Any]:
        start = time.perf_counter()
        try:
            if order["op"] == "edit":
                editor(command="str_replace", path=order["path"], old_str=order["old"], new_str=order["new"])
                text = ""
            else:
                text = editor(command="view", path=order["path"], view_range=[order["first"], order["last"]]).output
        except refusals as refusal:
            reason = getattr(refusal, "message", refusal)
            return {"reason": f"refuses: {str(reason)[-100:]}"}
        return _answer(time.perf_counter() - start, text, order)

    return work


def _answer(seconds: float, text: str, order: dict[str, Any]) -> dict[str, Any]:
    if order.get("expect", "") not in text:
        return {"reason": "answered something else"}
    return {"seconds": seconds}


def _nothing_but(reason: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def work(_order: dict[str, Any]) -> dict[str, Any]:
        return {"reason": reason}

    return work


if __name__ == "__main__":
    main()
