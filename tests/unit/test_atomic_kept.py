"""What a replaced file keeps (mode, owner, attributes, access control list) and what a new one gets."""

from __future__ import annotations

import errno
import os
import stat
import struct
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.tools.errors import PathRefusedError
from openbuffer.tools.support import unnamed_file
from openbuffer.tools.support.atomic import Written, create_file, replace_file
from openbuffer.tools.support.paths import Roots

if TYPE_CHECKING:
    from pathlib import Path

needs_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="changing owners takes root")
needs_xattr = pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system's xattrs are not in Python")


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "ws"
    root.mkdir()
    return root


@pytest.fixture(params=["nameless", "linking forbidden", "named", "named without hard links"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every kind of file system gives the same result."""

    def forbidden(*_args: Any, **_kwargs: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if request.param not in {"nameless", "linking forbidden"}:
        monkeypatch.setattr(unnamed_file, "_LINUX_ANONYMOUS", None)
    if request.param in {"linking forbidden", "named without hard links"}:
        monkeypatch.setattr(os, "link", forbidden)
    return request.param


def replaced(root: Path, name: str, new: bytes) -> Written:
    with Roots(root).locate(name) as located:
        return replace_file(located, [new], expected=os.pread(located.require_file(), 1 << 20, 0))


def created(root: Path, name: str) -> None:
    with Roots(root).locate(name) as located:
        create_file(located, [b"new"])


@pytest.mark.contract("F4")
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o2755, 0o4711, 0o1777, 0o640])
def test_mode_bits_are_kept(ws: Path, mode: int) -> None:
    (ws / "f").write_bytes(b"old")
    os.chmod(ws / "f", mode)
    replaced(ws, "f", b"new")
    assert stat.S_IMODE((ws / "f").stat().st_mode) == mode


@pytest.mark.contract("F4")
@needs_root
@pytest.mark.parametrize("mode", [0o640, 0o6755])
def test_owner_and_group_are_kept_where_permitted(ws: Path, mode: int) -> None:
    (ws / "f").write_bytes(b"old")
    os.chown(ws / "f", 1234, 2345)
    os.chmod(ws / "f", mode)
    written = replaced(ws, "f", b"new")
    status = (ws / "f").stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, mode)
    assert written.notes == ()


@pytest.mark.contract("F4")
def test_an_owner_that_cannot_be_kept_is_told_and_opens_the_file_to_nobody_new(
    ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ws / "f").write_bytes(b"old")
    os.chmod(ws / "f", 0o6764)
    real = os.fstat
    marked = (ws / "f").stat().st_ino

    def of_others(fd: int) -> os.stat_result:
        status = real(fd)
        if status.st_ino != marked:
            return status
        fields = list(status)
        fields[stat.ST_UID], fields[stat.ST_GID] = 4242, 4343
        extra = {name: getattr(status, name) for name in ("st_mtime_ns", "st_ctime_ns", "st_atime_ns")}
        return os.stat_result(fields, extra)

    def refused(_fd: int, _user: int, _group: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", refused)
    monkeypatch.setattr(os, "fstat", of_others)
    written = replaced(ws, "f", b"new")
    monkeypatch.undo()
    assert written.notes == (
        f"the owner could not be kept: user 4242 before, user {os.geteuid()} now",
        f"the group could not be kept: group 4343 before, group {(ws / 'f').stat().st_gid} now",
    )
    assert stat.S_IMODE((ws / "f").stat().st_mode) == 0o744


@pytest.mark.contract("F4")
@needs_xattr
@pytest.mark.usefixtures("way")
def test_extended_attributes_are_kept(ws: Path) -> None:
    (ws / "f").write_bytes(b"old")
    try:
        os.setxattr(ws / "f", "user.origin", b"\0value")
        os.setxattr(ws / "f", "user.empty", b"")
    except OSError as error:
        pytest.skip(f"no user attributes on this file system: {error}")
    replaced(ws, "f", b"new")
    assert os.getxattr(ws / "f", "user.origin") == b"\0value"
    assert os.getxattr(ws / "f", "user.empty") == b""


@needs_xattr
def test_an_attribute_that_cannot_be_kept_is_told(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ws / "f").write_bytes(b"old")
    monkeypatch.setattr(os, "listxattr", lambda _fd: ["user.gone", "user.odd", "trusted.x", "security.ima"])
    monkeypatch.setattr(os, "getxattr", _attribute)

    def not_permitted(_fd: int, _name: str, _value: bytes) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "setxattr", not_permitted)
    assert replaced(ws, "f", b"new").notes == ("extended attributes that could not be kept: user.odd",)


def _attribute(_fd: int, name: str) -> bytes:
    if name == "user.gone":
        raise OSError(errno.ENODATA, "No data available")
    return b"value"


def _acl(*entries: tuple[int, int, int]) -> bytes:
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NOBODY_ID = 0xFFFFFFFF
ACCESS = _acl((1, 6, NOBODY_ID), (2, 4, 1234), (4, 0, NOBODY_ID), (0x10, 4, NOBODY_ID), (0x20, 0, NOBODY_ID))
DEFAULT = _acl((1, 7, NOBODY_ID), (2, 7, 4321), (4, 5, NOBODY_ID), (0x10, 7, NOBODY_ID), (0x20, 0, NOBODY_ID))


def set_acl(path: Path, name: str, value: bytes) -> None:
    try:
        os.setxattr(path, f"system.posix_acl_{name}", value)
    except OSError as error:
        pytest.skip(f"no access control lists on this file system: {error}")


@pytest.mark.contract("F4")
@needs_xattr
@pytest.mark.usefixtures("way")
def test_an_access_control_list_is_kept(ws: Path) -> None:
    (ws / "f").write_bytes(b"old")
    set_acl(ws / "f", "access", ACCESS)
    mode = (ws / "f").stat().st_mode
    replaced(ws, "f", b"new")
    assert os.getxattr(ws / "f", "system.posix_acl_access") == ACCESS
    assert (ws / "f").stat().st_mode == mode


@needs_xattr
def test_a_list_that_cannot_be_kept_refuses_the_write(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ws / "f").write_bytes(b"old")
    set_acl(ws / "f", "access", ACCESS)

    def not_permitted(_fd: int, _name: str, _value: bytes) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "setxattr", not_permitted)
    with pytest.raises(PathRefusedError, match="the file is unchanged"):
        replaced(ws, "f", b"new")
    assert (ws / "f").read_bytes() == b"old"
    assert os.listdir(ws) == ["f"]


@needs_xattr
@pytest.mark.usefixtures("way")
def test_a_default_list_of_the_directory_does_not_open_a_file_that_had_none(ws: Path) -> None:
    (ws / "f").write_bytes(b"old")
    os.chmod(ws / "f", 0o660)
    set_acl(ws, "default", DEFAULT)
    replaced(ws, "f", b"new")
    assert "system.posix_acl_access" not in os.listxattr(ws / "f")
    assert stat.S_IMODE((ws / "f").stat().st_mode) == 0o660


@needs_xattr
@pytest.mark.usefixtures("way")
def test_a_new_file_gets_the_default_list_of_its_directory_as_any_other(ws: Path, way: str) -> None:
    if way == "named without hard links":
        pytest.skip("the file systems without hard links have no lists either")
    set_acl(ws, "default", DEFAULT)
    created(ws, "f")
    (ws / "plain").write_bytes(b"")
    assert os.getxattr(ws / "f", "system.posix_acl_access") == os.getxattr(ws / "plain", "system.posix_acl_access")
    assert (ws / "f").stat().st_mode == (ws / "plain").stat().st_mode


@pytest.mark.contract("F4")
@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002, 0o000])
def test_new_files_and_directories_honour_the_umask(ws: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        created(ws, "a/f")
    finally:
        os.umask(before)
    assert stat.S_IMODE((ws / "a" / "f").stat().st_mode) == 0o666 & ~umask
    assert stat.S_IMODE((ws / "a").stat().st_mode) == 0o777 & ~umask


@needs_root
@pytest.mark.usefixtures("way")
def test_new_files_get_the_group_of_a_setgid_directory(ws: Path) -> None:
    os.chown(ws, -1, 2345)
    os.chmod(ws, 0o2775)
    created(ws, "a/f")
    assert (ws / "a" / "f").stat().st_gid == 2345
    assert (ws / "a").stat().st_mode & stat.S_ISGID
