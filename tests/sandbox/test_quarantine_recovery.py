"""After a server was killed, the next one moves out what its command had created, and leaves what the host did (S9)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from openbuffer.sandbox.quarantine import watch as quarantine_module
from openbuffer.sandbox.quarantine.watch import Quarantine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

pytestmark = pytest.mark.contract("S9")

SERVER = """
import sys, time
from openbuffer.sandbox.quarantine.watch import Quarantine
root, state, longest_s, process_id = sys.argv[1:5]
with Quarantine(state).around([root], longest_s=float(longest_s)) as watch:
    if int(process_id):
        watch.started(int(process_id))
    exec(sys.argv[5])
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "ws"
    root.mkdir()
    return root


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path.resolve() / "state"


@pytest.fixture
def killed_server(root: Path, state: Path) -> Callable[..., None]:
    """A server that is killed while a command runs which does ``deeds``, Python, in the workspace."""

    def kill(deeds: str, *, longest_s: float = 60, process_id: int = 0) -> None:
        argv = [sys.executable, "-c", SERVER, str(root), str(state), str(longest_s), str(process_id), deeds]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=root) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            server.send_signal(signal.SIGKILL)

    return kill


def test_the_next_start_moves_what_the_killed_command_had_created(
    root: Path, state: Path, killed_server: Callable[..., None]
) -> None:
    killed_server("open('.mcp.json', 'w').write('evil'); import os; os.mkdir('.git'); open('x', 'w').write('x')")
    assert (root / ".mcp.json").exists()
    notes = Quarantine(str(state)).sweep()
    assert [path.name for path in root.iterdir()] == ["x"]
    assert len(notes) == 2
    assert sorted(path.name[24:] for path in (state / "quarantine").iterdir()) == [".git", ".mcp.json"]
    assert Quarantine(str(state)).sweep() == ()


def test_a_killed_server_whose_command_did_nothing_leaves_nothing(
    root: Path, state: Path, killed_server: Callable[..., None]
) -> None:
    killed_server("")
    assert list(root.iterdir()) == []
    assert Quarantine(str(state)).sweep() == ()
    assert _kept(state) == []


def test_the_next_command_of_another_server_finishes_it_too(
    root: Path, state: Path, killed_server: Callable[..., None]
) -> None:
    killed_server("open('.mcp.json', 'w').write('evil')")
    with Quarantine(str(state)).around([str(root)], longest_s=1) as watch:
        assert not (root / ".mcp.json").exists()
    assert len(watch.notes) == 1


def test_a_command_elsewhere_leaves_it_to_those_who_work_there(
    root: Path, state: Path, killed_server: Callable[..., None], tmp_path: Path
) -> None:
    killed_server("open('.mcp.json', 'w').write('evil')")
    (tmp_path / "other").mkdir()
    with Quarantine(str(state)).around([str(tmp_path / "other")], longest_s=1) as watch:
        pass
    assert watch.notes == ()
    assert (root / ".mcp.json").exists()
    assert len(Quarantine(str(state)).sweep()) == 1


def test_a_command_that_still_runs_is_not_swept_by_a_start(root: Path, state: Path) -> None:
    with Quarantine(str(state)).around([str(root)], longest_s=60):
        (root / ".mcp.json").write_text("evil")
        assert Quarantine(str(state)).sweep() == ()
        assert (root / ".mcp.json").exists()
    assert not (root / ".mcp.json").exists()


def test_what_the_host_made_after_the_command_must_have_ended_stays(
    root: Path, state: Path, killed_server: Callable[..., None]
) -> None:
    # The end of the longest time lies in the past at once.
    killed_server("open('.mcp.json', 'w').write('evil')", longest_s=-9)
    time.sleep(1.2)
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_text("the host's")
    Quarantine(str(state)).sweep()
    assert (root / ".git/HEAD").read_text() == "the host's"
    assert not (root / ".mcp.json").exists()


def test_old_contents_of_a_link_are_put_back_unless_the_host_changed_the_directory_later(
    root: Path, state: Path, killed_server: Callable[..., None]
) -> None:
    (root / ".envrc").symlink_to("good")
    killed_server("import os; os.unlink('.envrc')")
    Quarantine(str(state)).sweep()
    assert os.readlink(root / ".envrc") == "good"
    killed_server("import os; os.unlink('.envrc')", longest_s=-9)
    time.sleep(1.2)
    (root / "later").touch()
    (note,) = Quarantine(str(state)).sweep()
    assert "was not put back" in note
    assert not os.path.lexists(root / ".envrc")


def test_what_the_host_is_known_to_have_written_stays_after_a_kill(
    root: Path, state: Path, killed_server: Callable[..., None]
) -> None:
    killed_server(
        "open('.mcp.json', 'w').write('host'); open('.envrc', 'w').write('evil');"
        f"Quarantine(state).host_wrote({str(root / '.mcp.json')!r}, b'host')"
    )
    Quarantine(str(state)).sweep()
    assert [path.name for path in root.iterdir()] == [".mcp.json"]


def test_a_sweep_waits_until_the_processes_of_the_command_are_gone(
    root: Path, state: Path, killed_server: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["sleep", "60"]) as planter:
        killed_server("", process_id=planter.pid)
        waited: list[float] = []

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == 3:
                (root / ".envrc").write_text("evil")
                planter.kill()
                planter.wait()

        monkeypatch.setattr(quarantine_module.time, "sleep", sleep)
        Quarantine(str(state)).sweep()
    assert list(root.iterdir()) == []
    assert _kept(state) == ["quarantine"]


def test_a_process_that_does_not_end_keeps_the_record_for_the_next_sweep(
    root: Path, state: Path, killed_server: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quarantine_module, "PROCESSES_END_S", 0.0)
    with subprocess.Popen(["sleep", "60"]) as planter:
        killed_server("open('.envrc', 'w').write('evil')", process_id=planter.pid)
        Quarantine(str(state)).sweep()
        assert list(root.iterdir()) == []
        (root / ".envrc").write_text("evil")
        planter.kill()
        planter.wait()
    Quarantine(str(state)).sweep()
    assert list(root.iterdir()) == []


def test_a_workspace_that_is_away_is_swept_when_it_is_back(
    root: Path, state: Path, killed_server: Callable[..., None]
) -> None:
    killed_server("open('.envrc', 'w').write('evil')")
    away = root.rename(root.with_name("away"))
    assert Quarantine(str(state)).sweep() == ()
    away.rename(root)
    assert len(Quarantine(str(state)).sweep()) == 1
    assert list(root.iterdir()) == []


def test_another_directory_at_the_place_of_the_workspace_is_left_alone(
    root: Path, state: Path, killed_server: Callable[..., None]
) -> None:
    killed_server("open('.envrc', 'w').write('evil')")
    root.rename(root.with_name("away"))
    root.mkdir()
    (root / ".git").mkdir()
    assert Quarantine(str(state)).sweep() == ()
    assert (root / ".git").is_dir()


@pytest.mark.parametrize("content", [b"", b"{}\n", b"not json\n", b'{"version": 9}\n', b"\xff" * 100_000])
def test_a_record_that_says_nothing_is_removed(state: Path, content: bytes) -> None:
    Quarantine(str(state)).sweep()
    (state / "commands/1-x.record").write_bytes(content)
    assert Quarantine(str(state)).sweep() == ()
    assert _kept(state) == []


def test_a_line_that_was_being_written_when_the_server_died_is_not_read(
    root: Path, state: Path, killed_server: Callable[..., None]
) -> None:
    killed_server("open('.envrc', 'w').write('evil')")
    (record,) = (state / "commands").glob("*.record")
    with record.open("ab") as file:
        file.write(b'nonsense\n{"what":"process","process_id"')
    assert len(Quarantine(str(state)).sweep()) == 1
    assert list(root.iterdir()) == []


def test_a_name_that_an_older_version_did_not_know_is_not_taken_for_new(
    root: Path, state: Path, killed_server: Callable[..., None]
) -> None:
    (root / ".zed").mkdir()
    killed_server("open('.envrc', 'w').write('evil')")
    (record,) = (state / "commands").glob("*.record")
    opening, *rest = record.read_text().split("\n")
    import json

    told = json.loads(opening)
    told["roots"][0]["looked_for"].remove(".zed")
    del told["roots"][0]["names"][".zed"]
    record.write_text("\n".join([json.dumps(told), *rest]))
    Quarantine(str(state)).sweep()
    assert [path.name for path in root.iterdir()] == [".zed"]


def test_what_was_on_its_way_to_another_file_system_goes_on(
    root: Path, state: Path, killed_server: Callable[..., None]
) -> None:
    killed_server(
        "import os; from openbuffer.sandbox.quarantine.journal import SetAside;"
        "os.mkdir('.git'); watch._record.append(SetAside(root=0, name='.git', aside='aside.git'));"
        "os.rename('.git', 'aside.git')"
    )
    (note,) = Quarantine(str(state)).sweep()
    assert list(root.iterdir()) == []
    assert str(state / "quarantine") in note


def _kept(state: Path) -> Sequence[str]:
    records = [path.name for path in (state / "commands").iterdir() if path.name != "lock"]
    return records + ["quarantine" for _ in (state / "quarantine").iterdir()]
