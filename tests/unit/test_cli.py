"""The command line before a command runs: parsing, what is imported, how it ends."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from openbuffer.bridge.commands import call as headless
from openbuffer.bridge.commands import cli
from openbuffer.bridge.commands.cli import main

HEAVY = ("anyio", "asyncio", "pydantic", "pygls", "lsprotocol", "jsonschema_rs", "json", "subprocess")


def test_nothing_heavy_is_imported_before_it_is_known_which_command_it_is() -> None:
    code = f"import sys, openbuffer.bridge.commands.cli; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_without_a_command_the_help_is_shown_as_wrong_usage(capsys: Any) -> None:
    assert main([]) == 2
    assert "call one tool without an editor" in capsys.readouterr().err


def test_the_version_is_told(capsys: Any) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"openbuffer {version('openbuffer')}\n"


@pytest.mark.parametrize("argv", [["dance"], ["call"], ["call", "Read"], ["demo", "--editor", "ed"], ["call", "--jso"]])
def test_wrong_usage_ends_with_2(argv: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert "usage: openbuffer" in capsys.readouterr().err


def test_help_of_call_shows_examples_and_exit_codes(capsys: Any) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["call", "--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    assert """openbuffer call Read '{"filePath": "notes.txt"}'""" in shown
    assert "exit code: 0 the tool did it, 1 it says why not, 2 it could not run" in shown


def test_ctrl_c_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_args: Any, **_kwargs: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(headless, "call", interrupted)
    assert main(["call", "Read", "{}"]) == 130


def test_a_reader_that_went_away_ends_with_141_and_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    silenced: list[bool] = []

    def broken(*_args: Any, **_kwargs: Any) -> int:
        raise BrokenPipeError

    monkeypatch.setattr(headless, "call", broken)
    monkeypatch.setattr(cli, "_silence_stdout", lambda: silenced.append(True))
    assert main(["call", "Read", "{}"]) == 141
    assert silenced == [True]


def test_serve_takes_the_flag_that_editors_send(monkeypatch: pytest.MonkeyPatch) -> None:
    from openbuffer.bridge import server

    started: list[Path | None] = []

    monkeypatch.setattr(server, "serve_stdio", lambda **options: started.append(options["config_file"]) or 0)
    assert main(["serve", "--stdio"]) == 0
    assert main(["serve"]) == 0
    assert main(["serve", "--config", "mine.toml"]) == 0
    assert started == [None, None, Path("mine.toml")]
