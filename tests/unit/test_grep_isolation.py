"""A search of Grep can be ended at any moment, and is gone when its error is raised; it never outlives its owner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from openbuffer.tools import GrepIsolationError, ToolContext
from openbuffer.tools.contract import CancellationToken
from openbuffer.tools.host import create_grep_tool
from openbuffer.tools.support.grep.isolation import Searches
from openbuffer.tools.support.grep.order import Order
from openbuffer.tools.support.grep.ripgrep import find_ripgrep

FAKE_RG = "#!/bin/sh\nPATH=/bin:/usr/bin\necho $$ > {pid}\nexec sleep 300\n"


def order(root: Path, pattern: str, **more: Any) -> Order:
    values: dict[str, Any] = {
        "path": str(root),
        "is_file": False,
        "named": (),
        "glob": "",
        "mode": "content",
        "context": 0,
        "head": 10,
        "ignore_case": False,
        "multiline": False,
        "ignoring": True,
        "max_file_bytes": 1 << 26,
        "max_output_bytes": 1 << 20,
        "ripgrep": None,
        "engine": None,
    }
    return Order(pattern=pattern, **{**values, **more})


def searched(searches: Searches, wanted: Order, token: CancellationToken | None = None) -> Any:
    descriptor = os.open(wanted.path, os.O_RDONLY)
    try:
        return searches.run(wanted, descriptor, token or CancellationToken())
    finally:
        os.close(descriptor)


def children() -> set[int]:
    """Processes of this one that search, by what /proc tells."""
    found: set[int] = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == os.getpid() and b"support.grep.worker" in command:
            found.add(int(status.parent.name))
    return found


def exists(process: int) -> bool:
    """Whether it can still run. The kernel takes an ending process its memory, then its files, then calls it a zombie;
    without memory it has no command line and does nothing any more."""
    try:
        return bool(Path(f"/proc/{process}/cmdline").read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        return False


def waited_for(path: Path) -> int:
    for _ in range(600):
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        time.sleep(0.05)
    raise AssertionError("it was never started")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a.txt").write_text("foo\n")
    (root / "aaa.txt").write_text("a" * 300 + "b\n")
    return root


@pytest.fixture
def hanging_ripgrep(tmp_path: Path) -> tuple[str, Path]:
    program, pid = tmp_path / "rg", tmp_path / "pid"
    program.write_text(FAKE_RG.format(pid=pid))
    program.chmod(0o755)
    return str(program), pid


@pytest.mark.contract("F8", "T5")
def test_a_search_that_takes_too_long_is_over_when_its_error_is_raised(
    tree: Path, hanging_ripgrep: tuple[str, Path]
) -> None:
    program, pid = hanging_ripgrep
    before = children()
    searches = Searches(timeout_s=3)
    with pytest.raises(GrepIsolationError) as caught:
        searched(searches, order(tree, "foo", ripgrep=program, engine="ripgrep"))
    assert caught.value.reason == "timeout"
    assert "3 seconds" in str(caught.value)
    assert not exists(waited_for(pid))
    assert children() == before
    assert searched(searches, order(tree, "foo")).lines == 1
    searches.close()
    assert children() == before


@pytest.mark.contract("F8", "T5", "T6")
def test_a_cancelled_search_is_over_when_its_error_is_raised(tree: Path, hanging_ripgrep: tuple[str, Path]) -> None:
    program, pid = hanging_ripgrep
    token = CancellationToken()
    searches = Searches(timeout_s=60)
    threading.Thread(target=lambda: (waited_for(pid), token.cancel())).start()
    with pytest.raises(GrepIsolationError) as caught:
        searched(searches, order(tree, "foo", ripgrep=program, engine="ripgrep"), token)
    assert caught.value.reason == "cancelled"
    assert not exists(waited_for(pid))
    searches.close()


@pytest.mark.contract("F8", "T5")
def test_a_process_that_is_killed_is_replaced_and_one_that_always_fails_is_told(tree: Path) -> None:
    before = children()
    searches = Searches(timeout_s=60)
    assert searched(searches, order(tree, "foo")).lines == 1
    (worker,) = children() - before
    os.kill(worker, signal.SIGKILL)
    assert searched(searches, order(tree, "foo")).lines == 1
    with pytest.raises(GrepIsolationError) as caught:
        searched(searches, order(tree, "foo", mode="no such mode"))
    assert caught.value.reason == "failed"
    searches.close()
    assert children() == before


@pytest.mark.contract("F8", "T5")
def test_a_search_that_needs_too_much_memory_is_a_limit(tree: Path, tmp_path: Path) -> None:
    program = tmp_path / "rg"
    program.write_text("#!/bin/sh\nwhile :; do printf 'some/file/or/other.txt\\0001\\n%01000000d\\n' 1; done\n")
    program.chmod(0o755)
    searches = Searches(timeout_s=60)
    with pytest.raises(GrepIsolationError) as caught:
        searched(searches, order(tree, "foo", ripgrep=str(program), engine="ripgrep"))
    assert caught.value.reason == "limit"
    searches.close()


@pytest.mark.contract("F8")
@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(?=a)(a|aa)+$", r"(a*)*c\1?", r"(?:(?:a+)+)+[^ab]"])
def test_a_pattern_that_explodes_ends_soon_and_spoils_nothing(tree: Path, pattern: str) -> None:
    searches = Searches(timeout_s=60)
    answer = searched(searches, order(tree, f"(?:{pattern})|foo"))
    assert "1:foo" in answer.body
    searches.close()


@pytest.mark.contract("F8")
def test_a_file_on_which_a_pattern_explodes_is_named(tree: Path) -> None:
    searches = Searches(timeout_s=60)
    answer = searched(searches, order(tree, r"foo|(?=a)(?:(?:a|aa)+)+$"))
    assert "1:foo" in answer.body
    assert "takes too long" in "\n".join(answer.left_out)
    assert "aaa.txt" in "\n".join(answer.left_out)
    searches.close()


@pytest.mark.contract("F8", "B3")
@pytest.mark.parametrize("busy", ["idle", "in ripgrep"])
def test_a_search_ends_with_its_owner_however_that_ends(
    tree: Path, hanging_ripgrep: tuple[str, Path], busy: str
) -> None:
    program, pid = hanging_ripgrep
    engine = None if busy == "idle" else "ripgrep"
    script = f"""
import os, sys, time
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from unit.test_grep_isolation import Searches, order, searched, children
from pathlib import Path
searches = Searches(timeout_s=60)
searched(searches, order(Path({str(tree)!r}), "foo"))
print(*children(), flush=True)
searched(searches, order(Path({str(tree)!r}), "foo", ripgrep={program!r}, engine={engine!r}))
time.sleep(60)
"""
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    started = [int(each) for each in owner.stdout.readline().split()]
    if busy != "idle":
        started.append(waited_for(pid))
    assert started
    owner.kill()
    owner.wait()
    owner.stdout.close()
    for _ in range(200):
        if not any(map(exists, started)):
            break
        time.sleep(0.05)
    assert not any(map(exists, started))


@pytest.mark.contract("F8")
def test_ripgrep_is_taken_from_outside_of_the_roots_only(
    tmp_path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = tree / "bin"
    inside.mkdir()
    (inside / "rg").write_text("#!/bin/sh\ntouch /tmp/evil\n")
    (inside / "rg").chmod(0o755)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "rg").symlink_to(inside / "rg")
    monkeypatch.setenv("PATH", f"{inside}:{outside}:.::relative:{os.environ['PATH']}")
    found = find_ripgrep([str(tree)])
    assert found is not None
    assert not found.startswith(str(tmp_path))
    assert find_ripgrep(["/"]) is None


@pytest.mark.contract("F8")
def test_a_configuration_for_ripgrep_in_the_environment_is_not_read(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(f"--pre={tmp_path / 'evil.sh'}\n--glob=!a.txt\n")
    (tmp_path / "evil.sh").write_text(f"#!/bin/sh\ntouch {tmp_path / 'evil'}\ncat $1\n")
    (tmp_path / "evil.sh").chmod(0o755)
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "config"))
    searches = Searches(timeout_s=60)
    for pattern in ("foo", f"--pre={tmp_path / 'evil.sh'}", "-e", "--help", "--version"):
        answer = searched(searches, order(tree, pattern, ripgrep=find_ripgrep([str(tree)]), engine="ripgrep"))
        assert answer.engine == "ripgrep"
        assert answer.lines == (pattern == "foo")
    assert not (tmp_path / "evil").exists()
    searches.close()


@pytest.mark.contract("P4")
@pytest.mark.parametrize("mode", ["files_with_matches", "content", "count"])
def test_nothing_is_shown_of_what_ripgrep_was_led_to_outside(tree: Path, tmp_path: Path, mode: str) -> None:
    secret = tmp_path / "outside" / "secret.txt"
    secret.parent.mkdir()
    secret.write_text("foo and the secret\n")
    (tree / "away").symlink_to(secret.parent)
    (tree / "sub").mkdir()
    (tree / "sub" / "link.txt").symlink_to(secret)
    paths = ("away/secret.txt", "sub/link.txt", "../outside/secret.txt", str(secret), "sub/../../outside/secret.txt")
    told = "".join(f"printf '%s\\0001\\n' {path}\n" for path in (*paths, "./a.txt"))
    log = "rg: DEBUG|ignore::walk|x.rs:1: ignoring ./away/secret"
    told += f"echo '{log}.o: Ignore(IgnoreMatch(Gitignore(x' >&2\necho '{log}.bin: found binary data at 1' >&2\n"
    told += "echo 'rg: ./away/secret.key: Permission denied (os error 13)' >&2\nexit 2\n"
    (tmp_path / "rg").write_text(f"#!/bin/sh\n{told}")
    (tmp_path / "rg").chmod(0o755)
    searches = Searches(timeout_s=60)
    answer = searched(searches, order(tree, "foo", ripgrep=str(tmp_path / "rg"), engine="ripgrep", mode=mode))
    searches.close()
    assert (answer.files, answer.lines) == (1, 1)
    assert "secret" not in answer.body
    assert "secret" not in "\n".join(answer.left_out)
    for reason in ("1 binary file", "1 file that could not be read", "5 files that went away", "1 file or directory"):
        assert any(line.startswith(reason) for line in answer.left_out), answer.left_out
    assert str(tree / "a.txt") in answer.body


@pytest.mark.contract("F8")
@pytest.mark.parametrize("program", ["#!/bin/sh\necho unrecognized flag >&2\nexit 2\n", "no program", ""])
def test_a_ripgrep_that_does_not_work_is_replaced_by_our_own_engine(tree: Path, tmp_path: Path, program: str) -> None:
    (tmp_path / "rg").write_text(program)
    (tmp_path / "rg").chmod(0o755)
    for number in range(2_600):
        (tree / f"{number}.txt").touch()
    searches = Searches(timeout_s=60)
    answer = searched(searches, order(tree, "foo", ripgrep=str(tmp_path / "rg")))
    assert (answer.engine, answer.lines) == ("own", 1)
    searches.close()


@pytest.mark.contract("T6", "F8")
async def test_a_cancelled_call_ends_as_cancelled_with_nothing_left(
    tree: Path, hanging_ripgrep: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, pid = hanging_ripgrep
    monkeypatch.setenv("PATH", str(Path(program).parent))
    before = children()
    tool = create_grep_tool(cwd=tree, engine="ripgrep")
    context = ToolContext()
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tool.execute, {"pattern": "foo"}, context)
            await anyio.to_thread.run_sync(waited_for, pid)
            scope.cancel()
    assert scope.cancelled_caught
    assert context.cancellation.cancelled
    assert not exists(waited_for(pid))
    assert children() == before


@pytest.mark.contract("F8")
async def test_many_searches_at_once_leave_no_more_than_a_few_processes(tree: Path) -> None:
    before = children()
    tool = create_grep_tool(cwd=tree)
    async with anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(tool.execute, {"pattern": "foo"})
    assert len(children() - before) <= 2
    result = await tool.execute({"pattern": "foo"})
    assert result.success
