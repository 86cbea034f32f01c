"""CodebaseRetrieval in a session of the bridge: there with the extra, over the session's roots, and gone with it."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from openbuffer.bridge import retrieval
from openbuffer.bridge.assembly import assemble
from openbuffer.bridge.retrieval import session_retrieval

from ..processes import children_of


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("STATE", "CONFIG", "RUNTIME"):
        variable = f"XDG_{name}_DIR" if name == "RUNTIME" else f"XDG_{name}_HOME"
        monkeypatch.setenv(variable, str(tmp_path / name.lower()))
    root = Path(os.path.realpath(tmp_path)) / "ws"
    root.mkdir()
    (root / "shop.py").write_text("class Cart:\n    def total(self): ...\n")
    (root / "secret.py").write_text("class CartKey: ...\n")
    return root


@pytest.mark.contract("W5")
async def test_a_session_maps_its_roots_keeps_the_index_in_its_state_and_leaves_no_process(
    root: Path, tmp_path: Path
) -> None:
    before = children_of(os.getpid())
    with ExitStack() as ending:
        executor = assemble([root], ending=ending).executor()
        result = await executor.call("CodebaseRetrieval", {"query": "cart"})
        assert result.invocation is not None
        assert "shop.py:\n1 class Cart" in result.invocation.output
        assert children_of(os.getpid()) != before
    assert children_of(os.getpid()) == before
    (index,) = (tmp_path / "state/openbuffer/indexes").iterdir()
    assert index.stat().st_mode & 0o777 == 0o600


@pytest.mark.contract("W5", "X4")
async def test_what_the_users_rules_deny_is_not_in_the_map(root: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[permissions]\ndeny = ["Read({root}/secret.py)"]\n')
    with ExitStack() as ending:
        executor = assemble([root], ending=ending, config_file=config).executor()
        result = await executor.call("CodebaseRetrieval", {"query": "cart key", "identifiers": ["CartKey"]})
    assert result.invocation is not None
    assert "shop.py:\n1 class Cart" in result.invocation.output
    assert "secret" not in result.invocation.output
    assert "class CartKey" not in result.invocation.output
    assert "identifiers that nothing defines or uses: CartKey" in result.invocation.output, "as if it were nowhere"


@pytest.mark.contract("W5", "T11")
def test_without_the_extra_there_is_no_such_tool(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "find_spec", lambda _: None)
    with ExitStack() as ending:
        assert session_retrieval((str(root),), root, editor=None, ending=ending) is None
        names = [tool.name for tool in assemble([root], ending=ending).executor().tools]
    assert "CodebaseRetrieval" not in names
    assert "Grep" in names
