"""A language server as pygls makes it, with nothing of ours: what the bridge is compared with.

``bench/echo`` returns its parameters. ``bench.echo`` does the same through ``workspace/executeCommand``, where
pygls leaves them the plain dictionaries that they were. ``bench/take`` and ``bench/give`` are one way each.
"""

from __future__ import annotations

import sys
from typing import Any

from pygls.lsp.server import LanguageServer

server = LanguageServer("x", "1")
TEXTS: dict[int, str] = {}


@server.feature("bench/echo")
def echo(params: Any) -> Any:
    """The same back."""
    return params


@server.command("bench.echo")
def echo_command(*arguments: Any) -> Any:
    """The same back."""
    return arguments


@server.feature("bench/take")
def take(params: Any) -> Any:
    """Takes a text and returns its length."""
    return {"length": len(params.text)}


@server.feature("bench/give")
def give(params: Any) -> Any:
    """Returns ready text of the length that is asked for, made of lines."""
    if params.length not in TEXTS:
        TEXTS[params.length] = ("x" * 499 + "\n") * (params.length // 500)
    return {"text": TEXTS[params.length]}


if __name__ == "__main__":
    if sys.argv[1:]:
        sys.exit("bare_pygls.py takes no arguments")
    server.start_io()
