"""What people run all day works inside of the sandbox, as root and as an unprivileged user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from confined_desk import NOBODY, SYSTEM_PATH, Desk, WorkerProcess, lacks, places_for_workspaces

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

USERS = [os.getuid()] if os.getuid() else [0, NOBODY]
BWRAPS = {0: "", NOBODY: SYSTEM_PATH}


@pytest.fixture(scope="module", params=USERS)
def worker(request: pytest.FixtureRequest) -> Generator[WorkerProcess]:
    kind = (BWRAPS.get(request.param, ""), request.param)
    if reason := lacks(*kind):
        pytest.skip(reason)
    started = WorkerProcess(*kind)
    if not started.detection["available"]:
        pytest.skip(started.detection["problem"])
    yield started
    started.close()


@pytest.fixture
def desk(worker: WorkerProcess) -> Generator[Desk]:
    made = Desk(worker, places_for_workspaces()[0])
    yield made
    made.close()


def needs(*programs: str) -> None:
    for each in programs:
        if shutil.which(each, path=SYSTEM_PATH) is None:
            pytest.skip(f"there is no {each} on this system")


def test_shells_with_heredocs_and_temporary_files(desk: Desk) -> None:
    desk.open()
    line = "f=$(mktemp) && cat > $f <<'EOF'\nhere $x\nEOF\ncat $f; cat <<< \"$(cat <(echo process))\""
    (desk.ws / "line").write_text(line)
    desk.own()
    assert desk.said("bash line") == "here $x\nprocess\n"


@pytest.mark.contract("S8")
def test_a_sort_of_fifty_megabytes(desk: Desk) -> None:
    desk.open()
    line = "head -c 37000000 /dev/urandom | base64 > big && sort -S 4M big > sorted && wc -c < sorted"
    assert int(desk.said(line, timeout_s=55)) > 49_000_000
    assert desk.said("ls -A /tmp") == ""


def test_python_with_processes_shared_memory_event_loops_and_loopback_servers(desk: Desk) -> None:
    needs("python3")
    (desk.ws / "p.py").write_text(
        """
import asyncio, http.server, multiprocessing, threading, urllib.request
from multiprocessing import shared_memory

async def main():
    process = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
    print((await process.communicate())[0].decode().strip(), await asyncio.to_thread(lambda: "thread"))

if __name__ == "__main__":
    asyncio.run(main())
    with multiprocessing.Pool(3) as pool:
        print(sum(pool.map(abs, range(100))))
    memory = shared_memory.SharedMemory(create=True, size=1_000_000)
    memory.buf[:3] = b"shm"
    print(bytes(memory.buf[:3]).decode())
    memory.close(); memory.unlink()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/p.py").status)
    server.shutdown()
"""
    )
    desk.open()
    assert desk.said("python3 p.py 2>/dev/null") == "child thread\n4950\nshm\n200\n"


def test_a_compiler(desk: Desk) -> None:
    needs("gcc")
    (desk.ws / "c.c").write_text('#include <stdio.h>\nint main(void) { puts("compiled"); }\n')
    desk.open()
    assert desk.said("gcc -O1 -pipe -o c c.c && ./c") == "compiled\n"


def test_git_below_the_workspace_and_for_reading_at_its_root(desk: Desk) -> None:
    needs("git")
    desk.open()
    line = (
        "git init -q sub && cd sub && echo a > a && git add a && "
        "git -c user.name=n -c user.email=e commit -qm m && git log --format=%s && "
        "git clone -q . ../clone && ls ../clone"
    )
    assert desk.said(line, environment={"HOME": str(desk.ws)}) == "m\na\n"


def test_node_and_npm(desk: Desk) -> None:
    node, npm = (shutil.which(each) for each in ("node", "npm"))
    if node is None or npm is None:
        pytest.skip("there is no node with npm")
    if desk.user_id and not _is_for_everybody(node):
        pytest.skip("node is not for every user")
    desk.open()
    (desk.ws / "package.json").write_text('{"name": "x", "version": "1.0.0", "scripts": {"hi": "node h.js"}}')
    (desk.ws / "h.js").write_text(
        "const h = require('http').createServer((q, r) => r.end('ok')).listen(0, '127.0.0.1', () =>"
        " fetch(`http://127.0.0.1:${h.address().port}`).then(r => r.text()).then(t => { console.log(t); h.close() }))"
    )
    desk.own()
    environment = {"PATH": f"{os.path.dirname(node)}:{SYSTEM_PATH}", "HOME": str(desk.ws), "npm_config_offline": "true"}
    assert desk.said("npm run -s hi", environment=environment, timeout_s=60) == "ok\n"
    assert desk.run("npm install --offline --no-audit --no-fund", environment=environment, timeout_s=60).code == 0


def test_pip_installs_into_the_workspace(desk: Desk) -> None:
    if desk.user_id and not _is_for_everybody(sys.executable):
        pytest.skip("this Python is not for every user")
    if sys.executable.startswith(("/tmp/", "/var/tmp/")):
        pytest.skip("this Python lies in the host's temporary directory, which confined commands do not see")
    try:
        subprocess.run([sys.executable, "-c", "import ensurepip"], check=True, capture_output=True)
    except subprocess.CalledProcessError:
        pytest.skip("this Python has no pip")
    desk.open()
    line = f"{sys.executable} -m venv v && v/bin/pip --version"
    assert "pip " in desk.said(line, timeout_s=60)


@pytest.mark.contract("S10")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount")
def test_a_hidden_directory_is_hidden_where_the_host_has_it_mounted_again(tmp_path: Path) -> None:
    for name in ("ws", "real/vault", "again"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "real" / "vault" / "key").write_text("tell-tale")
    script = """
import sys
from pathlib import Path
from openbuffer.sandbox import Command, SandboxSettings
from openbuffer.sandbox.detect import detect_os_sandbox
from openbuffer.sandbox.os_client import OsSandboxClient
import anyio
base = Path(sys.argv[1])
detection = detect_os_sandbox([str(base / "ws")])
if not detection.available: print(detection.problem); sys.exit(77)
client = OsSandboxClient(
    detection=detection, roots=[str(base / "ws")], state_directory=str(base / "state"),
    settings=lambda: SandboxSettings(enabled=True, allow_write=(str(base / "again"), str(base / "real"))),
    hidden_paths=[str(base / "real" / "vault")],
)
line = f"cd {base}; cat real/vault/key again/vault/key; mv again/vault again/x; ls real again"
print(anyio.run(client.run, Command(line=line, cwd=str(base / "ws"), timeout_s=20)).output)
"""
    mount = 'mount --bind "$1/real" "$1/again" && exec "$2" -c "$3" "$1"'
    arguments = ["sh", "-c", mount, "sh", str(tmp_path), sys.executable, script]
    done = subprocess.run(["unshare", "-m", *arguments], capture_output=True, text=True, check=False)
    if done.returncode == 77 or "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip(done.stdout + done.stderr)
    assert done.returncode == 0, done.stderr
    assert "tell-tale" not in done.stdout
    assert done.stdout.count("Permission denied") == 2
    assert done.stdout.count("vault\n") == 2


def _is_for_everybody(program: str) -> bool:
    path = os.path.realpath(program)
    while path != "/":
        path = os.path.dirname(path)
        if not os.stat(path).st_mode & 0o001:
            return False
    return True
