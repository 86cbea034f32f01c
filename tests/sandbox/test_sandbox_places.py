"""What paths of settings mean on the host now, and under which other names the host shows a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from openbuffer.sandbox.confinement.layout import Hidden
from openbuffer.sandbox.confinement.mount_table import Mount, other_names, parse_mount_table
from openbuffer.sandbox.confinement.places import HiddenPlaces, WritablePlaces, hard_linked

if TYPE_CHECKING:
    from pathlib import Path

TABLE = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 254:1 / /home rw - ext4 /dev/vdb rw
41 27 254:1 /u/my\040work /mnt/w rw - ext4 /dev/vdb rw
42 27 254:1 / /backup rw - ext4 /dev/vdb rw
43 42 0:99 / /backup/u/other rw - tmpfs tmpfs rw
broken
"""


@pytest.mark.contract("S10")
def test_other_names_come_from_binds_and_from_file_systems_that_are_mounted_twice() -> None:
    table = parse_mount_table(TABLE)
    assert table[3] == Mount(device="254:1", root="/u/my work", place="/mnt/w")
    assert other_names("/home/u/my work/key", table) == ("/mnt/w/key", "/backup/u/my work/key")
    assert other_names("/home/u/key", table) == ("/backup/u/key",)
    assert other_names("/mnt/w", table) == ("/home/u/my work", "/backup/u/my work")
    assert other_names("/etc/passwd", table) == ()
    assert other_names("/home", table) == ("/backup",)
    assert other_names("/x", ()) == ()


@pytest.mark.contract("S10")
def test_hidden_paths_are_resolved_and_missing_ones_left_out(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("vault")
    paths = [str(tmp_path / name) for name in ("link", "file", "missing")]
    assert HiddenPlaces().existing(paths) == (
        Hidden(path=str(tmp_path / "vault"), is_directory=True),
        Hidden(path=str(tmp_path / "file"), is_directory=False),
    )


@pytest.mark.contract("S10")
def test_a_hidden_path_stays_hidden_where_it_once_led_to(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "key").write_text("x")
    link = tmp_path / "link"
    link.symlink_to("first")
    places = HiddenPlaces()
    places.existing([str(link / "key")])
    link.unlink()
    link.symlink_to("second")
    hidden = places.existing([str(link / "key")])
    assert [each.path for each in hidden] == [str(tmp_path / name / "key") for name in ("first", "second")]


def test_hidden_files_with_a_second_name_are_told(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("x")
    os.link(tmp_path / "key", tmp_path / "other")
    assert hard_linked([Hidden(path=str(tmp_path / "key"), is_directory=False)]) == (str(tmp_path / "key"),)
    (tmp_path / "other").unlink()
    assert hard_linked([Hidden(path=str(tmp_path / "key"), is_directory=False)]) == ()


@pytest.mark.contract("S8")
def test_a_setting_means_what_it_led_to_first(tmp_path: Path) -> None:
    for name in ("ws", "one", "two"):
        (tmp_path / name).mkdir()
    setting = tmp_path / "setting"
    setting.symlink_to("one")
    places = WritablePlaces([str(tmp_path / "ws")])
    assert places.usable([str(setting)], ()) == ((str(tmp_path / "one"),), ())
    setting.unlink()
    setting.symlink_to("two")
    kept, left_out = places.usable([str(setting)], ())
    assert kept == ()
    assert "it led to" in left_out[0]


@pytest.mark.contract("S8")
def test_links_that_commands_could_have_made_are_not_followed_even_when_first_seen(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "etc").mkdir()
    (tmp_path / "ws" / "out").symlink_to(tmp_path / "etc")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "deep").symlink_to(tmp_path)
    places = WritablePlaces([str(tmp_path / "ws")])
    asked = [str(tmp_path / "ws" / "out"), str(tmp_path / "cache" / "deep" / "etc"), str(tmp_path / "cache")]
    kept, left_out = places.usable(asked, ())
    assert kept == (str(tmp_path / "cache"),)
    assert len(left_out) == 2
    assert all("is a link where commands may write" in each for each in left_out)


@pytest.mark.contract("S8")
def test_what_leads_through_a_root_is_not_mounted_once_more(tmp_path: Path) -> None:
    """A command that runs could swap it for a link to outside between the look at it and the mount."""
    (tmp_path / "ws" / "out").mkdir(parents=True)
    (tmp_path / "cache").symlink_to("ws/out")
    places = WritablePlaces([str(tmp_path / "ws")])
    asked = [str(tmp_path / name) for name in ("ws", "ws/out", "cache", "ws/../ws/out")]
    assert places.usable(asked, ()) == ((), ())
    assert places.usable([str(tmp_path)], ()) == ((str(tmp_path),), ())


@pytest.mark.contract("S8", "S10")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("relative", "not an absolute path"),
        ("/no/such/path", "does not exist"),
        ("/", "never writable"),
        ("/proc/sys", "never writable"),
        ("/dev", "never writable"),
        ("/usr/bin", "hidden"),
    ],
)
def test_what_can_never_be_written_is_left_out_with_the_reason(path: str, reason: str) -> None:
    kept, left_out = WritablePlaces(["/ws"]).usable([path], [Hidden(path="/usr", is_directory=True)])
    assert kept == ()
    assert left_out[0].startswith(f"{path} of allow_write is left out: ")
    assert reason in left_out[0]


def test_a_hostile_chain_of_links_is_no_path(tmp_path: Path) -> None:
    previous = "."
    for number in range(3000):
        os.symlink(previous, tmp_path / f"l{number}")
        previous = f"l{number}/."
    asked = [str(tmp_path / "l2999")]
    assert WritablePlaces([str(tmp_path)]).usable(asked, ())[0] == ()
    assert HiddenPlaces().existing(asked) == ()
