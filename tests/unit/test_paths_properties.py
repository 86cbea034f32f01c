"""Random trees full of links: what is located is inside, and is what an independent resolution says."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from openbuffer.tools.errors import PathRefusedError
from openbuffer.tools.support.paths import Roots

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("a", "b", "c")
PLACES = ("one", "two", "out")  # two roots and a place outside

steps = st.lists(st.sampled_from((*NAMES, "..", ".", "")), min_size=1, max_size=5).map("/".join)
absolute = st.tuples(st.sampled_from(PLACES), steps).map(lambda parts: "{base}/" + "/".join(parts))
targets = st.one_of(steps, absolute, st.just("{base}"), st.just("/"))
entries = st.tuples(
    st.sampled_from(PLACES),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join),
    st.sampled_from(("file", "directory", "link", "link")),
    targets,
)
trees = st.lists(entries, max_size=14)
asked_paths = st.lists(st.one_of(steps.filter(bool), absolute), min_size=1, max_size=6)


@contextlib.contextmanager
def built(tree: list[tuple[str, str, str, str]]) -> Iterator[str]:
    base = os.path.realpath(tempfile.mkdtemp())
    try:
        for place in PLACES:
            os.mkdir(f"{base}/{place}")
        for place, name, kind, target in tree:
            path = Path(base, place, name)
            with contextlib.suppress(OSError):  # whatever does not fit the tree so far is left out
                if not os.path.realpath(path).startswith(base + "/"):
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                if kind == "file":
                    path.write_bytes(os.fsencode(os.path.realpath(path)))
                elif kind == "directory":
                    path.mkdir()
                else:
                    path.symlink_to(target.format(base=base))
        yield base
    finally:
        shutil.rmtree(base)


def inside(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(root + "/") for root in roots)


def check(roots: Roots, canonical_roots: tuple[str, ...], asked: str) -> None:
    """Compare one answer with realpath, which resolves in its own way."""
    full = asked if asked.startswith("/") else os.path.join(canonical_roots[0], asked)
    real = os.path.realpath(full)
    exists = os.path.exists(full) and not (full.endswith("/") and not os.path.isdir(full))
    try:
        located = roots.locate(asked)
    except PathRefusedError:
        assert not (exists and inside(real, canonical_roots)), f"{asked} is inside and was refused"
        return
    with located:
        assert inside(located.path, canonical_roots)
        assert located.root in canonical_roots
        assert located.path == real
        # Without descriptor paths an outside alias is resolved as text, and `missing/..` in one is taken back.
        assert (located.kind != "missing") == (exists if roots.assurance == "descriptor" else os.path.exists(real))
        if located.fd is not None:
            assert os.pread(located.fd, 1000, 0) == os.fsencode(located.path)
        if located.parent_fd is not None and located.name:
            assert os.path.samestat(os.fstat(located.parent_fd), os.stat(os.path.dirname(real)))


CHAIN = [("one", "a", "directory", ""), ("one", "a/b", "link", "../../two/c"), ("two", "c", "link", "{base}/one/a/c")]


@pytest.mark.contract("P1", "P3", "P6")
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=trees, asked=asked_paths, number_of_roots=st.integers(1, 2))
@example(tree=CHAIN, asked=["a/b", "{base}/two/c"], number_of_roots=2)
@example(tree=CHAIN, asked=["a/b", "{base}/two/c"], number_of_roots=1)
@pytest.mark.usefixtures("way")
def test_what_is_located_is_inside_and_agrees_with_an_independent_resolution(
    tree: list[tuple[str, str, str, str]], asked: list[str], number_of_roots: int
) -> None:
    with built(tree) as base:
        canonical = tuple(f"{base}/{place}" for place in PLACES[:number_of_roots])
        roots = Roots(canonical)
        everywhere = [
            "/".join((base, place, *names)) for place in PLACES for names in itertools.product(NAMES, repeat=2)
        ]
        for path in (*(each.format(base=base) for each in asked), *everywhere):
            check(roots, canonical, path)
