"""Locating: what lies inside the roots is opened, everything else is refused with a reason."""

from __future__ import annotations

import errno
import gc
import os
import stat
import unicodedata
from pathlib import Path

import pytest
from openbuffer.tools.errors import PathRefusedError, ToolDefinitionError
from openbuffer.tools.support import link_walk, paths
from openbuffer.tools.support.paths import Roots, printable

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="directory descriptors are a POSIX thing"),
    pytest.mark.usefixtures("way"),
]


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "ws"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "a.txt").write_bytes(b"inside")
    (root.parent / "secret.txt").write_bytes(b"secret")
    (root.parent / "ws-evil").mkdir()
    (root.parent / "ws-evil" / "a.txt").write_bytes(b"evil")
    return root


def content(roots: Roots, path: str | Path) -> bytes:
    with roots.locate(str(path)) as located:
        return os.pread(located.require_file(), 1000, 0)


def refusal(roots: Roots, path: str | Path) -> str:
    with pytest.raises(PathRefusedError) as caught:
        roots.locate(str(path)).close()
    return str(caught.value)


# --- inside ------------------------------------------------------------------------------------------------------


@pytest.mark.contract("P2")
def test_a_file_inside_is_opened_with_its_canonical_path(ws: Path) -> None:
    with Roots(ws).locate(f"{ws}/sub/a.txt") as located:
        assert (located.kind, located.path, located.root, located.name) == (
            "file",
            f"{ws}/sub/a.txt",
            str(ws),
            "a.txt",
        )
        assert os.pread(located.require_file(), 100, 0) == b"inside"
        assert located.status is not None
        assert located.status.st_size == 6
        assert located.parent_fd is not None
        assert os.path.samestat(os.fstat(located.parent_fd), (ws / "sub").stat())
        assert not os.get_inheritable(located.require_file())
        assert not os.get_inheritable(located.parent_fd)


@pytest.mark.contract("P2")
def test_a_relative_path_starts_at_the_first_root_and_not_at_the_process(
    ws: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    assert content(Roots([ws, other]), "sub/a.txt") == b"inside"
    assert content(Roots([ws, other]), "./sub//a.txt") == b"inside"
    with Roots([other, ws]).locate("sub/a.txt") as located:
        assert located.kind == "missing"


@pytest.mark.parametrize(
    "spelling", ["{ws}/./sub//a.txt", "/{ws}/sub/a.txt", "{ws}/sub/../sub/a.txt", "{ws}/../ws/sub/a.txt"]
)
def test_other_spellings_of_a_place_inside_are_that_place(ws: Path, spelling: str) -> None:
    with Roots(ws).locate(spelling.format(ws=ws)) as located:
        assert located.path == f"{ws}/sub/a.txt"
        assert located.require_file() >= 0


def test_dots_are_resolved_behind_links_as_the_system_does_and_not_as_text(ws: Path) -> None:
    (ws / "deep" / "er").mkdir(parents=True)
    (ws / "deep" / "x").write_bytes(b"deep x")
    (ws / "link").symlink_to("deep/er")
    assert content(Roots(ws), "link/../x") == b"deep x"


@pytest.mark.contract("P1")
def test_a_root_given_through_a_link_works_by_both_its_names(ws: Path) -> None:
    alias = ws.parent / "alias"
    alias.symlink_to(ws)
    for path in (f"{alias}/sub/a.txt", f"{ws}/sub/a.txt", "sub/a.txt"):
        with Roots(alias).locate(path) as located:
            assert located.path == f"{ws}/sub/a.txt"


def test_a_path_through_a_link_outside_that_leads_inside_is_inside(ws: Path) -> None:
    (ws.parent / "alias").symlink_to(ws)
    assert content(Roots(ws), ws.parent / "alias" / "sub" / "a.txt") == b"inside"


@pytest.mark.parametrize("target", ["sub/a.txt", "{ws}/sub/a.txt", "../ws/sub/a.txt", "./sub/../sub/a.txt"])
@pytest.mark.contract("F4")
def test_a_link_leaf_inside_is_its_target(ws: Path, target: str) -> None:
    (ws / "link").symlink_to(target.format(ws=ws))
    with Roots(ws).locate(f"{ws}/link") as located:
        assert (located.path, located.name) == (f"{ws}/sub/a.txt", "a.txt")
        assert located.parent_fd is not None
        assert os.path.samestat(os.fstat(located.parent_fd), (ws / "sub").stat())


def test_an_absolute_link_in_the_middle_that_stays_inside_is_followed(ws: Path) -> None:
    (ws / "link").symlink_to(ws / "sub")
    with Roots(ws).locate("link/a.txt") as located:
        assert located.path == f"{ws}/sub/a.txt"
        assert located.fd is not None


@pytest.mark.contract("P6")
def test_several_roots_are_one_boundary(ws: Path) -> None:
    other = ws.parent / "other"
    other.mkdir()
    (other / "b.txt").write_bytes(b"other")
    (ws / "to-other").symlink_to("../other")
    roots = Roots([ws, str(other)])
    with roots.locate("to-other/b.txt") as located:
        assert (located.root, located.path) == (str(other), f"{other}/b.txt")
    assert content(roots, other / "b.txt") == b"other"
    assert "outside" in refusal(Roots(ws), "to-other/b.txt")


def test_in_nested_roots_the_innermost_one_is_told(ws: Path) -> None:
    with Roots([ws, ws / "sub"]).locate(f"{ws}/sub/a.txt") as located:
        assert located.root == f"{ws}/sub"
    with Roots([ws, ws / "sub"]).locate(f"{ws}/new") as located:
        assert located.root == str(ws)


def test_a_missing_root_spoils_nothing_and_is_found_once_it_is_there(ws: Path) -> None:
    late = ws.parent / "late"
    roots = Roots([ws, late])
    assert content(roots, "sub/a.txt") == b"inside"
    assert "outside" in refusal(roots, late / "x")
    late.mkdir()
    (late / "x").write_bytes(b"late")
    assert content(roots, late / "x") == b"late"


def test_a_first_root_that_is_missing_is_named(ws: Path) -> None:
    assert refusal(Roots(ws / "gone"), "x") == (
        f"{ws}/gone: this workspace root cannot be used: it is not an existing directory. "
        "Nothing below it can be read or written until it exists again."
    )
    assert "not an existing directory" in refusal(Roots(ws / "sub" / "a.txt"), "x")


def test_the_root_itself_is_a_directory_without_a_name(ws: Path) -> None:
    for path in (str(ws), f"{ws}/", ".", "sub/.."):
        with Roots(ws).locate(path) as located:
            assert (located.kind, located.path, located.name, located.fd) == ("directory", str(ws), "", None)


@pytest.mark.parametrize(
    "name", ["new\nline", " leading", "*", "[...slug]", "a..b", "..a", "a (deleted)", "-rf", "\\", "~", "日本", "😋"]
)
def test_unusual_names_are_names(ws: Path, name: str) -> None:
    (ws / name).write_bytes(b"odd")
    with Roots(ws).locate(f"{ws}/{name}") as located:
        assert (located.path, located.name) == (f"{ws}/{name}", name)
        assert os.pread(located.require_file(), 9, 0) == b"odd"


def test_both_normal_forms_are_names_of_their_own_where_the_file_system_has_it_so(ws: Path) -> None:
    for form in ("NFC", "NFD"):
        (ws / unicodedata.normalize(form, "é")).write_bytes(form.encode())
    if len(os.listdir(ws)) == 2:
        pytest.skip("this file system takes both forms for one name")
    for form in ("NFC", "NFD"):
        assert content(Roots(ws), unicodedata.normalize(form, "é")) == form.encode()


def test_a_name_that_is_not_utf8_is_reached_through_a_link_and_printed_without_harm(ws: Path) -> None:
    raw = os.fsencode(ws) + b"/\xff\xfe"
    try:
        with open(raw, "wb") as file:
            file.write(b"bytes")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    os.symlink(raw, os.fsencode(ws) + b"/link")
    with Roots(ws).locate("link") as located:
        assert os.pread(located.require_file(), 9, 0) == b"bytes"
        assert os.fsencode(located.path) == raw
        assert printable(located.path).encode().endswith(b"\\udcff\\udcfe")
    os.unlink(raw)
    with Roots(ws).locate("link") as located, pytest.raises(PathRefusedError) as caught:
        located.require_file()
    assert str(caught.value).encode().startswith(b"no such file")


@pytest.mark.parametrize("character", ["\n", "\r", "\x1b", "\x9b", "\x7f", "\u2028", "\u202e", "\u2066", "\u200f"])
def test_a_name_acts_neither_on_a_terminal_nor_on_the_text_around_it(ws: Path, character: str) -> None:
    name = f"a{character}b é😋\u200d"
    assert printable(name) == f"a{character.encode('unicode_escape').decode()}b é😋\u200d"
    with Roots(ws).locate(name) as located, pytest.raises(PathRefusedError) as caught:
        located.require_file()
    assert character not in str(caught.value)
    with pytest.raises(PathRefusedError) as caught:
        Roots(ws).locate(f"file://{name}")
    assert character not in str(caught.value)


def test_a_root_whose_name_is_not_utf8_works(ws: Path) -> None:
    raw = os.fsencode(ws.parent) + b"/\xff"
    try:
        os.mkdir(raw)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    Path(os.fsdecode(raw), "x").write_bytes(b"x")
    roots = Roots(os.fsdecode(raw))
    assert content(roots, "x") == b"x"
    assert refusal(roots, "/etc/passwd").encode()


# --- missing -----------------------------------------------------------------------------------------------------


@pytest.mark.contract("F3", "P5")
def test_a_missing_file_is_located_in_the_directory_that_will_hold_it(ws: Path) -> None:
    with Roots(ws).locate("sub/new.txt") as located:
        assert (located.kind, located.path, located.name, located.missing_parents, located.fd) == (
            "missing",
            f"{ws}/sub/new.txt",
            "new.txt",
            (),
            None,
        )
        assert located.parent_fd is not None
        assert os.path.samestat(os.fstat(located.parent_fd), (ws / "sub").stat())
        with pytest.raises(PathRefusedError, match=f"^no such file: {ws}/sub/new.txt \\(root {ws}\\). Check the name"):
            located.require_file()


def test_missing_parents_are_told_in_order_below_the_innermost_directory_that_exists(ws: Path) -> None:
    with Roots(ws).locate(f"{ws}/sub/x/y/new.txt") as located:
        assert (located.missing_parents, located.name, located.parent_fd) == (("x", "y"), "new.txt", None)
        assert os.path.samestat(os.fstat(located.anchor_fd), (ws / "sub").stat())
        assert located.path == f"{ws}/sub/x/y/new.txt"
        with pytest.raises(PathRefusedError, match=f"the directory {ws}/sub/x does not exist"):
            located.require_file()


@pytest.mark.parametrize("target", ["sub/new", "{ws}/sub/new", "nowhere/new", "{ws}/nowhere/new"])
def test_a_dangling_link_whose_target_would_be_inside_is_the_missing_target(ws: Path, target: str) -> None:
    (ws / "link").symlink_to(target.format(ws=ws))
    with Roots(ws).locate("link") as located:
        assert located.kind == "missing"
        assert located.path == os.path.join(ws, target.format(ws=ws))


@pytest.mark.parametrize("path", ["missing/../sub/a.txt", "sub/missing/../../../secret.txt"])
def test_dots_behind_a_missing_directory_are_refused(ws: Path, path: str) -> None:
    assert "from a directory that does not exist" in refusal(Roots(ws), path)


@pytest.mark.parametrize("path", ["sub/new/", "sub/a.txt/", "sub/a.txt/.", "link"])
def test_a_trailing_slash_names_a_directory(ws: Path, path: str) -> None:
    (ws / "link").symlink_to("sub/a.txt/")
    assert "Leave the slash out" in refusal(Roots(ws), path)
    with Roots(ws).locate("sub/") as located:
        assert located.kind == "directory"


def test_below_a_file_there_is_nothing(ws: Path) -> None:
    assert f"{ws}/sub/a.txt is not a directory" in refusal(Roots(ws), "sub/a.txt/x")


# --- construction and resources ----------------------------------------------------------------------------------


@pytest.mark.contract("T7")
@pytest.mark.parametrize(
    "cwd",
    [None, "", [], (), "relative", ["/ok", "relative"], "/a\0b", b"/bytes", 7, ["/ok", None], "/a\ud800", [b"/x"]],
)
def test_roots_that_are_none_are_refused_at_construction(cwd: object) -> None:
    with pytest.raises(ToolDefinitionError, match="cwd"):
        Roots(cwd)  # type: ignore[arg-type]


@pytest.mark.contract("T7", "X6")
def test_construction_touches_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def touched(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("construction did I/O")

    for name in ("open", "stat", "lstat", "readlink"):
        monkeypatch.setattr(os, name, touched)
    assert Roots(["/nowhere/at/all", Path("/b/"), "/b"]).given == ("/nowhere/at/all", "/b")


def test_no_descriptor_is_left_open_whatever_the_answer(ws: Path) -> None:
    os.mkfifo(ws / "pipe")
    (ws / "out").symlink_to("/etc/passwd")
    (ws / "in").symlink_to("sub")
    roots = Roots(ws)
    asked = [
        "sub/a.txt",
        "none",
        "x/y/z",
        "pipe",
        "out",
        "in/a.txt",
        "in/../x/../y",
        "..",
        ".",
        "",
        "a\0",
        "sub/a.txt/x",
    ]
    open_before = len(os.listdir("/dev/fd"))
    for path in asked * 3:
        try:
            located = roots.locate(path)
        except PathRefusedError:
            continue
        located.close()
        located.close()
    assert len(os.listdir("/dev/fd")) == open_before


def test_a_result_that_nobody_took_closes_itself(ws: Path) -> None:
    open_before = len(os.listdir("/dev/fd"))
    Roots(ws).locate("sub/a.txt")
    gc.collect()
    assert len(os.listdir("/dev/fd")) == open_before


def test_a_system_error_on_the_way_is_told_with_path_and_next_step(ws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(*_args: object, **_kwargs: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    roots = Roots(ws)
    roots.locate("sub").close()
    monkeypatch.setattr(link_walk, "open_leaf", no_more)
    monkeypatch.setattr(paths, "open_leaf", no_more)
    assert refusal(roots, "sub/a.txt") == (
        "sub/a.txt: cannot be opened (Too many open files). This process has too many open files; try again later."
    )


def test_the_assurance_says_how_containment_is_judged(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Roots("/").assurance == ("walk" if way == "walk without descriptor paths" else "descriptor")
    monkeypatch.setattr(os, "supports_dir_fd", set())
    assert Roots("/").assurance == "none"
    assert "cannot open files relative to a directory" in refusal(Roots("/"), "/x")


def test_files_are_opened_without_waiting(ws: Path) -> None:
    import fcntl

    with Roots(ws).locate("sub/a.txt") as located:
        assert fcntl.fcntl(located.require_file(), fcntl.F_GETFL) & os.O_NONBLOCK
        assert located.status is not None
        assert stat.S_ISREG(located.status.st_mode)
