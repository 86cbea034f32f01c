"""Every editor adapter, in every temperament and encoding, for the tests of this folder."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from openbuffer.editor_access.memory_habits import EditorHabits
from openbuffer.editor_access.memory_lsp import PLAIN, RICH, TEMPERAMENTS

from ..e2e.neovim import Neovim
from .attached import hosted
from .in_neovim import in_neovim
from .in_process import behind_lsp, in_memory
from .over_wire import headless_over_wire

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from .attached import Attached

    Attach = Callable[[Path], AbstractAsyncContextManager[Attached]]

ENCODINGS = ("utf-16", "utf-8", "utf-32")
OVER_WIRE = ("strict", "like Neovim", "like VS Code", "never checking, and telling late")
RICH_OVER_WIRE = ("strict", "like Neovim")
RICH_BY_DEFAULT = ("strict", "tells late", "like Neovim", "like VS Code", "line ends of its own", "code points")
"""To a rich client most of a temperament does not matter, as it answers other requests."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One encoding for each temperament, in turn, and all of them in the long mode."""
    if "attach" in metafunc.fixturenames:
        adapters = [*_adapters(everything=metafunc.config.getoption("--slow"))]
        metafunc.parametrize("attach", adapters, indirect=True)


def _adapters(*, everything: bool) -> Iterator[Any]:
    yield pytest.param(in_memory, id="memory")
    for rich, kind, by_default in ((PLAIN, "lsp", TEMPERAMENTS), (RICH, "rich lsp", RICH_BY_DEFAULT)):
        for (name, temperament), usual in zip(TEMPERAMENTS.items(), cycle(ENCODINGS), strict=False):
            for encoding in ENCODINGS:
                if everything or (encoding == usual and name in by_default):
                    attach = partial(behind_lsp, encoding=encoding, temperament=temperament, rich=rich)
                    yield pytest.param(attach, id=f"{kind}, {name}, {encoding}")
    for rich, kind, by_default in ((PLAIN, "bridge", OVER_WIRE), (RICH, "rich bridge", RICH_OVER_WIRE)):
        for (name, temperament), encoding in zip(TEMPERAMENTS.items(), cycle(ENCODINGS), strict=False):
            if everything or name in by_default:
                attach = partial(headless_over_wire, encoding=encoding, temperament=temperament, rich=rich)
                yield pytest.param(attach, id=f"{kind}, {name}, {encoding}")
    formatting = replace(TEMPERAMENTS["strict"], habits=EditorHabits(format_on_save=without_trailing_blanks))
    attach = partial(behind_lsp, encoding="utf-16", temperament=formatting, rich=RICH)
    yield pytest.param(attach, id="rich lsp, formatting on save")
    attach = partial(headless_over_wire, encoding="utf-16", temperament=formatting, rich=RICH)
    yield pytest.param(attach, id="rich bridge, formatting on save")
    yield pytest.param("Neovim", id="Neovim", marks=pytest.mark.editor)


def without_trailing_blanks(text: str) -> str:
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


@pytest.fixture(scope="session")
def neovim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    """A Neovim without a language client."""
    directory = tmp_path_factory.mktemp("nvim")
    with Neovim(directory / "home", directory, server=None) as editor:
        yield editor


@pytest.fixture
def attach(request: pytest.FixtureRequest) -> Attach:
    """How to get at one of the editors."""
    return partial(in_neovim, request.getfixturevalue("neovim")) if request.param == "Neovim" else request.param


@pytest_asyncio.fixture
async def attached(attach: Attach, root: Path) -> AsyncGenerator[Attached, None]:
    """An editor with its user, and the tools' access to it."""
    async with hosted(attach(root)) as attached:
        yield attached


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The workspace folder, by its real path."""
    return tmp_path.resolve()


@pytest.fixture
def path(root: Path) -> str:
    """A file without a final newline."""
    file = root / "a.txt"
    file.write_text("a\nb\nc")
    return os.fspath(file)
