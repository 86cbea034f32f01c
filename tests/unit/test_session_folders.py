"""Which folders are roots, and which set of tools a call has: by what is open when it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.bridge.limits import WORKSPACE_FOLDERS_MAX
from openbuffer.bridge.read_only import WorkspaceUntrustedError
from openbuffer.bridge.session_tools import NoWorkspaceError, SessionTools
from openbuffer.bridge.workspace_folders import WorkspaceFolders, folder_uris
from openbuffer.tools.contract import Capability, FunctionTool, ToolContext, ToolResult, create_function_tool

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    found = [tmp_path.resolve() / name for name in ("a", "b", "c")]
    for each in found:
        each.mkdir()
    return found


def opened(*uris: str) -> WorkspaceFolders:
    made = WorkspaceFolders()
    made.begin(uris)
    return made


@pytest.mark.contract("B2")
def test_a_folder_is_known_by_its_path_however_it_is_spelt(folders: list[Path]) -> None:
    a, b, c = folders
    open_ones = opened(a.as_uri(), f"{b.as_uri()}/")
    assert open_ones.roots() == (str(a), str(b))
    assert not open_ones.change([a.as_uri()], [])
    assert not open_ones.change([f"file://localhost{b}/"], [c.as_uri()])
    assert open_ones.change([c.as_uri()], [f"{a.as_uri()}/"])
    assert open_ones.roots() == (str(b), str(c))
    assert not open_ones.change([b.as_uri()], [b.as_uri()]), "one that gets another name keeps its place"
    assert open_ones.roots() == (str(b), str(c))
    assert open_ones.left_out() == ()


@pytest.mark.contract("B2", "B3")
def test_more_folders_than_are_used_are_told(tmp_path: Path) -> None:
    many = [(tmp_path / str(number)).as_uri() for number in range(WORKSPACE_FOLDERS_MAX + 3)]
    open_ones = opened(*many)
    assert len(open_ones.roots()) == WORKSPACE_FOLDERS_MAX
    assert len(open_ones.left_out()) == 3
    assert "more than" in open_ones.left_out()[0]
    assert len(opened("x:" + "y" * 100_000).left_out()[0]) < 400


@pytest.mark.contract("B2", "P2")
def test_a_folder_that_is_not_there_is_none_that_somebody_in_another_one_could_make(folders: list[Path]) -> None:
    a, b, _ = folders
    gone = a / "gone"
    open_ones = opened(a.as_uri(), gone.as_uri())
    assert open_ones.roots() == (str(a),)
    assert "is not there" in open_ones.left_out()[0]
    gone.symlink_to(b)
    assert open_ones.roots() == (str(a),)
    assert "leads elsewhere" in open_ones.left_out()[0]
    assert open_ones.change([gone.as_uri()], [gone.as_uri()])
    assert open_ones.roots() == (str(a), str(gone))
    assert opened((b / "later").as_uri()).roots() == (str(b / "later"),), "what lies in no other may come later"


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.sampled_from(["file:///a", "file:///a/", "x:y", "file://"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["uri", "name"]), inner, max_size=2),
)


@given(st.lists(st.tuples(_JSON, _JSON), max_size=6))
def test_nothing_that_a_client_says_of_its_folders_is_too_strange(events: list[tuple[Any, Any]]) -> None:
    made = WorkspaceFolders()
    for added, removed in events:
        made.change(folder_uris(added), folder_uris(removed))
        assert all(isinstance(root, str) and root.startswith("/") for root in made.roots())
        assert all(made.left_out())


class Tools:
    """An executor for some roots; it tells which."""

    def __init__(self, roots: tuple[str, ...]) -> None:
        self.roots = roots
        self.tools: list[FunctionTool] = [
            _tool("look", Capability.FILE_READ),
            _tool("act", Capability.FILE_WRITE),
            _tool("fetch", Capability.NETWORK),
            _tool("note", Capability.SESSION),
            _tool("unknown"),
        ]

    async def call(self, name: str, arguments: object, context: ToolContext) -> ToolResult:
        return await next(tool for tool in self.tools if tool.name == name).execute(arguments, context)


def _tool(name: str, *capabilities: Capability) -> FunctionTool:
    def told(_given: Any) -> str:
        return name

    schema: dict[str, Any] = {"type": "object", "properties": {}}
    return create_function_tool(name, "Does it.", schema, told, capabilities=frozenset(capabilities))


class Desk:
    def __init__(self) -> None:
        self.gone: list[Any] = []
        self.told: list[str] = []
        self.tools = SessionTools(
            lambda roots, _editor: Tools(roots), lambda: None, let_go=self.gone.append, tell=self.told.append
        )


@pytest.mark.contract("B2")
def test_what_runs_keeps_its_tools_which_are_let_go_of_once_when_it_ends(folders: list[Path]) -> None:
    a, b, _ = folders
    desk = Desk()
    desk.tools.begin([a.as_uri()], trusted=True)
    with desk.tools.use() as first, desk.tools.use() as again:
        assert first is again
        assert desk.tools.change_folders([b.as_uri()], [a.as_uri()])
        assert desk.tools.roots_in_use == (str(b), str(a))
        with desk.tools.use() as second:
            assert (first.roots, second.roots) == ((str(a),), (str(b),))  # type: ignore[attr-defined]
        assert desk.gone == []
    assert desk.gone == [first]
    assert desk.tools.roots_in_use == (str(b),)
    assert desk.tools.change_folders([], [b.as_uri()])
    assert desk.gone == [first, second]
    with pytest.raises(NoWorkspaceError), desk.tools.use():
        pass
    assert desk.tools.tools() == ()


@pytest.mark.contract("B7")
async def test_without_trust_only_what_has_no_effect_is_there(folders: list[Path]) -> None:
    desk = Desk()
    desk.tools.begin([folders[0].as_uri()], trusted=False)
    assert [tool.name for tool in desk.tools.tools()] == ["look", "note"]
    assert desk.tools.withheld() == ("act", "fetch", "unknown")
    with desk.tools.use() as executor:
        for name in ("act", "fetch", "unknown"):
            with pytest.raises(WorkspaceUntrustedError, match=f"^{name} is withheld: .* mark the workspace as trusted"):
                await executor.call(name, {}, ToolContext())
        assert (await executor.call("look", {}, ToolContext())).success
        assert desk.tools.change_trust(trusted=True)
        with pytest.raises(WorkspaceUntrustedError):
            await executor.call("act", {}, ToolContext())
    assert not desk.tools.change_trust(trusted=True)
    assert desk.tools.withheld() == ()
    with desk.tools.use() as executor:
        assert (await executor.call("act", {}, ToolContext())).success
    assert desk.gone == [], "trust makes no other tools"
