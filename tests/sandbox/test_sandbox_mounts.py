"""Which mounts a layout makes, in which order, and what is pinned."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.sandbox.bubblewrap.mounts import Bind, binds_of, hidden_of, own_places, region_of
from openbuffer.sandbox.confinement.layout import Hidden, Layout
from openbuffer.sandbox.paths import lies_in


def shown(layout: Layout) -> list[str]:
    return [
        f"{'rw' if bind.writable else 'ro'} {bind.place}" + (f" from {bind.source}" * (bind.source != bind.place))
        for bind in binds_of(layout)
    ]


def hide(*paths: str) -> tuple[Hidden, ...]:
    return tuple(Hidden(path=path, is_directory=True) for path in paths)


@pytest.mark.contract("S10")
def test_directories_above_what_is_hidden_in_a_writable_place_are_pinned() -> None:
    layout = Layout(writable=("/home/u",), hidden=hide("/home/u/.local/state/ob"))
    assert shown(layout) == ["rw /home/u", "rw /home/u/.local", "rw /home/u/.local/state"]


@pytest.mark.contract("S9")
def test_directories_above_what_is_protected_are_pinned_and_it_comes_last() -> None:
    layout = Layout(writable=("/ws",), read_only=("/ws/a/.git",))
    assert shown(layout) == ["rw /ws", "rw /ws/a", "ro /ws/a/.git"]


def test_a_workspace_in_a_writable_directory_keeps_its_place() -> None:
    layout = Layout(writable=("/home/u", "/home/u/p/ws"), read_only=("/home/u/p/ws/.git",))
    assert shown(layout) == ["rw /home/u", "rw /home/u/p", "rw /home/u/p/ws", "ro /home/u/p/ws/.git"]


def test_a_workspace_in_the_hosts_temporary_directory_shows_through_the_sessions_own() -> None:
    layout = Layout(writable=("/tmp/a/ws",), temporary="/state/t", temporary_places=("/tmp", "/var/tmp"))
    assert shown(layout) == [
        "rw /tmp from /state/t",
        "rw /tmp/a from /state/t/a",
        "rw /tmp/a/ws",
        "rw /var/tmp from /state/t",
    ]
    assert own_places(layout) == (("a",), ("a/ws",))


def test_what_is_protected_outside_of_writable_places_needs_no_mount() -> None:
    layout = Layout(writable=("/ws",), read_only=("/elsewhere/.git",))
    assert shown(layout) == ["rw /ws"]


def test_a_git_directory_in_the_hosts_temporary_directory_is_shown_read_only() -> None:
    layout = Layout(
        writable=("/tmp/r/tree",), read_only=("/tmp/r/main/.git",), temporary="/t", temporary_places=("/tmp",)
    )
    assert shown(layout)[-1] == "ro /tmp/r/main/.git"
    assert own_places(layout) == (("r", "r/main"), ("r/tree", "r/main/.git"))


@pytest.mark.contract("S10")
def test_hidden_paths_in_the_hosts_temporary_directory_are_not_seen_anyway() -> None:
    both = Layout(
        writable=("/tmp/ws",), hidden=hide("/tmp/run", "/tmp/ws/x"), temporary="/t", temporary_places=("/tmp",)
    )
    assert [each.path for each in hidden_of(both)] == ["/tmp/ws/x"]


def test_hidden_paths_below_hidden_ones_need_no_mount() -> None:
    layout = Layout(writable=("/w",), hidden=hide("/h/a/b", "/h/a", "/h/ab"))
    assert [each.path for each in hidden_of(layout)] == ["/h/a", "/h/ab"]


def test_whole_components_are_compared() -> None:
    assert lies_in("/t/ws", "/t/ws")
    assert lies_in("/t/ws/x", "/t/ws")
    assert not lies_in("/t/ws-evil", "/t/ws")
    assert lies_in("/anything", "/")


PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))


@pytest.mark.contract("S8", "S10")
@given(
    writable=st.lists(PATHS, min_size=1, max_size=3),
    read_only=st.lists(PATHS, max_size=3),
    hidden=st.lists(PATHS, max_size=3),
)
def test_no_directory_above_a_guarded_path_can_be_renamed(
    writable: list[str], read_only: list[str], hidden: list[str]
) -> None:
    layout = Layout(writable=tuple(writable), read_only=tuple(read_only), hidden=hide(*hidden))
    binds = binds_of(layout)
    mount_points = {bind.place for bind in binds}
    regions = [Bind(source=path, place=path, writable=True) for path in writable]
    for guarded in (*read_only, *(each.path for each in hidden_of(layout)), *writable):
        directory = os.path.dirname(guarded)
        while directory != "/" and region_of(directory, regions) is not None:
            assert directory in mount_points
            directory = os.path.dirname(directory)
    # A later mount never covers what an earlier one was meant to guard.
    guards = [bind.place for bind in binds if not bind.writable]
    assert [bind.place for bind in binds][len(binds) - len(guards) :] == guards
    outer_first = [bind.place for bind in binds if bind.writable]
    assert outer_first == sorted(outer_first)
