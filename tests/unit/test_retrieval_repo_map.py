"""The adapter on real files: what it sees of them, what rules and the editor change in that, and what it keeps."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel
import pytest
from openbuffer.editor_access.errors import DocumentOutOfSyncError
from openbuffer.editor_access.memory import MemoryEditor
from openbuffer.editor_access.memory_access import MemoryEditorAccess
from openbuffer.editor_access.port import EditorAbilities
from openbuffer.tools.contract import CancellationToken
from openbuffer.tools.errors import ToolCancelledError, ToolDefinitionError, ToolFailure
from openbuffer.tools.retrieval import repo_map
from openbuffer.tools.retrieval.kept_index import KeptIndexes
from openbuffer.tools.retrieval.repo_map import RepoMapRetrievalAdapter
from openbuffer.tools.support.path_matcher import AnchoredPattern
from openbuffer.tools.support.unreadable import UnreadablePaths, UnreadablePattern

from .retrieval_desk import ToyParser, query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openbuffer.editor_access.port import Document
    from openbuffer.tools.contract import Unreadable
    from openbuffer.tools.retrieval.port import RetrievalResult, SourceText

LONG_AGO = 1_000_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "ws"
    write(root, {"main.toy": "def main\n  helper", "pkg/helper.toy": "def helper\n  other", "x.md": "def no"})
    return root


def write(root: Path, texts: dict[str, str]) -> None:
    """Write files whose times lie in the past, so that they can be relied on at once where nothing is new."""
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (LONG_AGO, LONG_AGO))


class Desk:
    """An adapter with its parser, and what it answers."""

    def __init__(self, *roots: Path, state: Path | None = None, editor: MemoryEditor | None = None) -> None:
        self.parser = ToyParser()
        self.adapter = RepoMapRetrievalAdapter(
            roots=roots,
            parser=self.parser,
            state_directory=state,
            editor=None if editor is None else lambda: MemoryEditorAccess(editor),
        )

    async def ask(
        self,
        text: str = "",
        *identifiers: str,
        active: tuple[str, ...] = (),
        unreadable: Unreadable | None = None,
        token: CancellationToken | None = None,
    ) -> RetrievalResult:
        token = token or CancellationToken()
        roots = await self.adapter.roots(token)
        asked = query(text, roots=roots, identifiers=identifiers, active=active, unreadable=unreadable, token=token)
        return await self.adapter.retrieve(asked)

    async def found(self, *identifiers: str, unreadable: Unreadable | None = None) -> list[str]:
        """``path:name`` of what is shown."""
        result = await self.ask("", *identifiers, unreadable=unreadable)
        path, found = "", list[str]()
        for line in result.text.split("\n") if result.text else []:
            if line.endswith(":"):
                path = line[:-1]
            else:
                found.append(f"{path}:{line.rpartition(' ')[2]}")
        return found


def hide(root: Path, *globs: str) -> UnreadablePaths:
    return UnreadablePaths(UnreadablePattern(AnchoredPattern(str(root), glob, folding=False)) for glob in globs)


@pytest.mark.contract("W5")
async def test_a_code_base_is_mapped_at_the_first_query(root: Path) -> None:
    desk = Desk(root)
    result = await desk.ask("", "helper")
    assert result.text == "pkg/helper.toy:\n1 def helper\nmain.toy:\n1 def main"
    assert (result.files, result.shown, result.notes) == (2, 2, ())
    assert sorted(desk.parser.parsed) == ["main.toy", "pkg/helper.toy"]


@pytest.mark.contract("W5")
async def test_what_changed_is_seen_by_the_very_next_query_and_parsed_alone(root: Path) -> None:
    desk = Desk(root)
    await desk.ask("", "helper")
    desk.parser.parsed.clear()
    write(root, {"pkg/helper.toy": "def helper2\n  other"})
    assert await desk.found("helper2") == ["pkg/helper.toy:helper2"]
    write(root, {"pkg/new.toy": "def fresh", "other/deep/new.toy": "def deep\n  fresh"})
    assert await desk.found("fresh") == ["pkg/new.toy:fresh", "other/deep/new.toy:deep"]
    (root / "pkg/helper.toy").unlink()
    os.rename(root / "other", root / "moved")
    assert await desk.found("helper2") == []
    assert await desk.found("fresh") == ["pkg/new.toy:fresh", "moved/deep/new.toy:deep"]
    assert desk.parser.parsed == ["pkg/helper.toy", "other/deep/new.toy", "pkg/new.toy", "moved/deep/new.toy"]


@pytest.mark.contract("W5")
async def test_a_byte_that_changed_is_noticed_although_size_and_times_are_the_same(root: Path) -> None:
    desk = Desk(root)
    assert await desk.found("helper") != []
    for text in ("def helpex", "def helpey", "def helpez"):
        write(root, {"pkg/helper.toy": text})
        assert await desk.found(text[4:]) == [f"pkg/helper.toy:{text[4:]}"]


@pytest.mark.contract("W5")
async def test_a_tree_in_which_nothing_changed_is_not_walked_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[str] = []
    monkeypatch.setattr("openbuffer.tools.retrieval.source_tree.SETTLED_NS", -1)
    monkeypatch.setattr("openbuffer.tools.support.grep.standing_tree.SETTLED_NS", -1)
    whole = repo_map.SourceTree._walk
    monkeypatch.setattr(repo_map.SourceTree, "_walk", lambda *args: (walked.append("walk"), whole(*args))[1])
    desk = Desk(root)
    (root / ".gitignore").write_text("*.no")
    (root / ".git").mkdir()
    for _ in range(3):
        assert len(await desk.found("helper")) == 2
    assert walked == ["walk"]
    write(root, {"pkg/helper.toy": "def helper\n\ndef another"})
    assert "pkg/helper.toy:another" in await desk.found("another")
    assert walked == ["walk"], "a file that was changed where it is changes no directory"
    write(root, {"pkg/more.toy": "def more"})
    assert await desk.found("more") == ["pkg/more.toy:more"]
    (root / ".gitignore").write_text("more.toy")
    assert await desk.found("more") == []
    assert len(walked) == 3


@pytest.mark.contract("W5", "P4", "F9")
async def test_it_follows_the_walk_of_the_searching_tools_and_says_what_that_left_out(
    root: Path, tmp_path: Path
) -> None:
    outside = {"outside.toy": "def outside"}
    write(tmp_path / "elsewhere", outside)
    write(root, {".gitignore": "built/\n*_gen.toy", "built/a.toy": "def hidden", "b_gen.toy": "def hidden"})
    write(root, {"node_modules/m/a.toy": "def hidden", ".git/a.toy": "def hidden", ".dot.toy": "def dotted"})
    (root / "link.toy").symlink_to(tmp_path / "elsewhere/outside.toy")
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "fifo.toy")
    desk = Desk(root)
    assert await desk.found("hidden", "outside", "dotted") == [".dot.toy:dotted"]
    assert (await desk.ask()).notes == (
        "1 directory that ignore files (.gitignore and the like) leave out (they are not indexed): built",
        "1 name that ignore files leave out (they are not indexed): b_gen.toy",
        "2 links, not followed",
        "1 directory named .git",
        "1 directory named node_modules",
    )


@pytest.mark.contract("W5", "X4")
async def test_of_what_rules_keep_from_being_read_nothing_is_told_and_nothing_comes(root: Path, tmp_path: Path) -> None:
    write(root, {"secret/key.toy": "def helper\n  other\ndef password", ".env.toy": "def token_of\n  helper"})
    denied = hide(root, "secret/**", ".env.toy")
    state = tmp_path / "state"
    free = Desk(root, state=state)
    assert "secret/key.toy:password" in await free.found("password")
    free.adapter.close()
    for desk in (free, Desk(root, state=state), Desk(root)):  # in whose index it is, in a kept one, and in none
        result = await desk.ask("password token", "helper", "password", "token_of", unreadable=denied)
        assert result.text == "pkg/helper.toy:\n1 def helper\nmain.toy:\n1 def main"
        assert (result.files, result.found) == (2, 2)
        assert "secret" not in str(result)
        assert ".env" not in str(result)
        assert result.notes[-1] == "whatever permission rules keep from being read"
    assert "secret/key.toy:password" in await free.found("password"), "once the rule is gone it is there again"


@pytest.mark.contract("W5", "X4")
async def test_an_active_file_that_is_denied_is_not_told_from_one_that_is_missing(root: Path) -> None:
    write(root, {"secret.toy": "def password\n  helper"})
    desk = Desk(root)
    answers = [
        await desk.ask("", active=(path,), unreadable=hide(root, "secret.toy"))
        for path in ("secret.toy", "missing.toy")
    ]
    assert answers[0].text == answers[1].text
    assert answers[0].notes[0] == "active files that are not among the indexed ones: secret.toy"
    assert answers[1].notes[0] == "active files that are not among the indexed ones: missing.toy"


@pytest.mark.contract("W5")
async def test_active_files_are_known_by_every_spelling_of_their_path(root: Path, tmp_path: Path) -> None:
    given = tmp_path / "link"
    given.symlink_to(root)
    desk = Desk(given)
    for path in ("main.toy", "./pkg/../main.toy", f"{root}/main.toy", f"{given}/main.toy"):
        result = await desk.ask("", active=(path,))
        assert (result.text, result.notes) == ("pkg/helper.toy:\n1 def helper", ()), path


@pytest.mark.contract("W5")
async def test_what_of_the_query_is_unknown_is_told_and_an_empty_answer_says_what_to_do(root: Path) -> None:
    desk = Desk(root)
    nothing = "whatever has no word of the query in its name: try other words, or search the files' text"
    unknown = "identifiers that nothing defines or uses: "
    assert (await desk.ask("zebra")).notes == (nothing,)
    assert (await desk.ask("", "Zebra.run", "::")).notes == (nothing, f"{unknown}Zebra.run, ::")
    assert (await desk.ask("", "Zebra.helper", "other", "helpers")).notes == (f"{unknown}helpers",)
    many = [f"z{number}" for number in range(7)]
    assert (await desk.ask("main", *many)).notes == (f"{unknown}z0, z1, z2, z3, z4 and 2 more",)


# --- the editor --------------------------------------------------------------------------------------------


@pytest.mark.contract("W5", "E3")
async def test_unsaved_text_counts_in_the_place_of_that_on_disk_until_it_is_saved_or_dropped(root: Path) -> None:
    editor = MemoryEditor()
    desk = Desk(root, editor=editor)
    path = str(root / "pkg/helper.toy")
    buffer = editor.open(path)
    assert "pkg/helper.toy:helper" in await desk.found("helper")
    editor.replace(path, 0, len(buffer.text), "def typed\n  main")
    assert await desk.found("typed") == ["pkg/helper.toy:typed", "main.toy:main"]
    assert "pkg/helper.toy:helper" not in await desk.found("helper")
    parsed = list(desk.parser.parsed)
    assert await desk.found("typed") != []
    assert desk.parser.parsed == parsed, "an unsaved text that is the same is not parsed again"
    editor.close(path)
    assert await desk.found("typed") == []
    assert "pkg/helper.toy:helper" in await desk.found("helper")


@pytest.mark.contract("W5", "E3")
async def test_unsaved_text_is_not_kept_in_the_index(root: Path, tmp_path: Path) -> None:
    editor = MemoryEditor()
    desk = Desk(root, state=tmp_path / "state", editor=editor)
    path = str(root / "pkg/helper.toy")
    buffer = editor.open(path)
    editor.replace(path, 0, len(buffer.text), "def typed")
    assert await desk.found("typed") == ["pkg/helper.toy:typed"]
    desk.adapter.close()
    index = KeptIndexes(tmp_path / "state").load(str(root), CancellationToken())
    assert index is not None
    assert [each.name for each in index.files["pkg/helper.toy"].symbols.definitions] == ["helper"]


@pytest.mark.contract("W5", "E3", "X4")
async def test_unsaved_text_of_new_files_counts_and_of_ignored_denied_or_outer_ones_does_not(
    root: Path, tmp_path: Path
) -> None:
    write(root, {".gitignore": "ignored.toy", "ignored.toy": "def saved"})
    (root / ".git").mkdir()
    write(root, {"denied.toy": "def saved", ".git/a.toy": "def saved"})
    write(tmp_path, {"outer.toy": "def saved"})
    editor = MemoryEditor()
    for name in ("ws/new.toy", "ws/ignored.toy", "ws/denied.toy", "ws/.git/a.toy", "outer.toy", "ws/note.md"):
        buffer = editor.open(str(tmp_path / name), "" if not (tmp_path / name).exists() else None)
        editor.replace(str(tmp_path / name), 0, len(buffer.text), "def typed")
    desk = Desk(root, editor=editor)
    assert await desk.found("typed", unreadable=hide(root, "denied.toy")) == ["new.toy:typed"]


@pytest.mark.contract("W5", "E11")
async def test_of_a_clean_document_whose_file_changed_the_disk_counts(root: Path) -> None:
    editor = MemoryEditor()
    desk = Desk(root, editor=editor)
    editor.open(str(root / "main.toy"))
    assert await desk.found("main") != []
    write(root, {"main.toy": "def rewritten"})
    assert await desk.found("rewritten") == ["main.toy:rewritten"]


class LateEditor(MemoryEditorAccess):
    """Tells some typing only when it is asked for what it has not told, and cannot give the text of one document."""

    def __init__(self, editor: MemoryEditor, late: dict[str, str], broken: str) -> None:
        super().__init__(editor)
        self.buffers, self.late, self.broken = editor, late, broken
        self.asked: list[str] = []

    def document(self, path: str) -> Document | None:
        if path == self.broken:
            raise DocumentOutOfSyncError("its changes do not fit")
        return super().document(path)

    async def flush(self, document: Document) -> str:
        self.asked.append(document.path)
        if text := self.late.pop(document.path, ""):
            self.buffers.replace(document.path, 0, len(document.text), text)
            return ""
        return "it did not answer"


@pytest.mark.contract("W5", "E10")
async def test_the_editor_is_asked_for_what_it_has_not_told_and_one_broken_document_costs_no_other(root: Path) -> None:
    write(root, {"clean.toy": "def old", "broken.toy": "def kept", "denied.toy": "def secret", "mute.toy": "def mute"})
    editor = MemoryEditor()
    paths = {name: str(root / f"{name}.toy") for name in ("main", "clean", "broken", "denied", "mute")}
    for name, path in paths.items():
        buffer = editor.open(path)
        if name != "clean":
            editor.replace(path, 0, len(buffer.text), f"def {name}1")
    access = LateEditor(editor, {paths["main"]: "def main2", paths["clean"]: "def clean2"}, paths["broken"])
    desk = Desk(root, editor=editor)
    desk.adapter = RepoMapRetrievalAdapter(roots=root, parser=desk.parser, editor=lambda: access)
    result = await desk.ask("", "main2", "kept", "mute1", active=("clean.toy",), unreadable=hide(root, "denied.toy"))
    assert sorted(access.asked) == sorted([paths["main"], paths["clean"], paths["mute"]])
    assert result.text == "broken.toy:\n1 def kept\nmain.toy:\n1 def main2\nmute.toy:\n1 def mute1"
    lacking = "1 open document of which the unsaved text could not be had, so that of the disk counts"
    assert result.notes[:2] == (
        f"{lacking} ({paths['broken']}: its changes do not fit)",
        f"1 open document known only as last sent by the editor ({paths['mute']}: it did not answer)",
    )
    assert await desk.found("clean2") == ["clean.toy:clean2"]


@pytest.mark.contract("W5", "E10")
async def test_where_the_editor_cannot_be_asked_for_what_it_has_not_told_the_answer_says_so(root: Path) -> None:
    editor = MemoryEditor()
    desk = Desk(root, editor=editor)
    access = MemoryEditorAccess(editor, abilities=EditorAbilities())
    desk.adapter = RepoMapRetrievalAdapter(roots=root, parser=desk.parser, editor=lambda: access)
    editor.open(str(root / "x.md"))  # of no language that is parsed
    assert (await desk.ask("", "main")).notes == ()
    buffer = editor.open(str(root / "main.toy"))
    untold = ("what the editor has not sent yet of its unsaved text; it cannot be asked for that",)
    assert (await desk.ask("", "main")).notes == untold
    editor.replace(str(root / "main.toy"), 0, len(buffer.text), "def typed")
    assert (await desk.ask("", "typed")).notes == untold


@pytest.mark.contract("W5", "E10")
async def test_every_open_source_is_flushed_and_not_only_what_is_known_to_be_unsaved_or_in_view(root: Path) -> None:
    editor = MemoryEditor()
    access = LateEditor(editor, {str(root / "pkg/helper.toy"): "def late"}, "")
    desk = Desk(root, editor=editor)
    desk.adapter = RepoMapRetrievalAdapter(roots=root, parser=desk.parser, editor=lambda: access)
    for name in ("pkg/helper.toy", "x.md"):
        editor.open(str(root / name))
    assert await desk.found("late") == ["pkg/helper.toy:late"]
    assert access.asked == [str(root / "pkg/helper.toy")]


class DumbEditor(MemoryEditorAccess):
    """Never answers whether it has told everything."""

    async def flush(self, document: Document) -> str:
        await anyio.sleep_forever()
        return document.path


@pytest.mark.contract("W5", "E10")
async def test_an_editor_with_many_documents_that_does_not_answer_is_given_up_and_that_is_said(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openbuffer.tools.retrieval.open_texts._FLUSHES_S", 0.01)
    monkeypatch.setattr("openbuffer.tools.retrieval.open_texts._FLUSHED_MAX", 20)
    editor = MemoryEditor()
    paths = [str(root / f"many/{number:03}.toy") for number in range(30)]
    for path in paths:
        editor.open(path, "")
        editor.replace(path, 0, 0, "def typed")
    desk = Desk(root, editor=editor)
    desk.adapter = RepoMapRetrievalAdapter(roots=root, parser=desk.parser, editor=lambda: DumbEditor(editor))
    result = await desk.ask("", "typed")
    assert result.files == 32
    why = "too many are open, or it answers too slowly"
    assert result.notes == (
        f"30 open documents known only as last sent by the editor ({paths[0]}: {why}, and 29 more)",
    )


@pytest.mark.contract("W5", "E3")
async def test_the_text_of_an_editor_that_was_attached_instead_of_another_is_not_taken_for_that_of_the_other(
    root: Path,
) -> None:
    desk = Desk(root)
    editors = [MemoryEditor(), MemoryEditor()]
    path = str(root / "main.toy")
    for editor, text in zip(editors, ("def first", "def second"), strict=True):
        editor.replace(path, 0, len(editor.open(path).text), text)
    documents = [MemoryEditorAccess(editor).document(path) for editor in editors]
    assert documents[0] is not None
    assert documents[1] is not None
    assert (documents[0].generation, documents[0].version) == (documents[1].generation, documents[1].version)
    desk.adapter = RepoMapRetrievalAdapter(
        roots=root, parser=desk.parser, editor=lambda: MemoryEditorAccess(editors[0])
    )
    assert await desk.found("first") == ["main.toy:first"]
    editors.reverse()
    assert await desk.found("second") == ["main.toy:second"]


@pytest.mark.contract("W5", "E3", "P4")
async def test_a_document_without_a_file_is_left_out_where_ignore_files_would_leave_out_its_file(root: Path) -> None:
    (root / ".git").mkdir()
    (root / "pkg/deep").mkdir()
    write(root, {".gitignore": "built/\n*_gen.toy\n!kept_gen.toy", "pkg/deep/.ignore": "/not.toy"})
    editor = MemoryEditor()
    left_out = ("built/a.toy", "pkg/a_gen.toy", "pkg/deep/not.toy", "pkg/built/more/a.toy", "node_modules/m.toy")
    kept = ("kept_gen.toy", "pkg/not.toy", "pkg/new/not.toy", "built.toy")
    for name in (*left_out, *kept):
        editor.open(str(root / name), "")
        editor.replace(str(root / name), 0, 0, "def typed")
    desk = Desk(root, editor=editor)
    assert sorted(await desk.found("typed")) == sorted(f"{name}:typed" for name in kept)
    write(root, {"pkg/.ignore": "not.toy", "built.toy": "def saved"})
    assert sorted(await desk.found("typed")) == ["built.toy:typed", "kept_gen.toy:typed"]


@pytest.mark.contract("W5", "E10")
async def test_unsaved_text_that_could_not_be_parsed_in_time_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openbuffer.tools.retrieval.source_tree.SETTLED_NS", -1)
    editor = MemoryEditor()
    desk = Desk(root, editor=editor)
    assert len(await desk.found("helper")) == 2
    path = str(root / "main.toy")
    editor.replace(path, 0, len(editor.open(path).text), "def typed")
    desk.adapter._map.build_timeout_s = -1
    result = await desk.ask("", "main")
    assert "1 def main" in result.text
    assert result.notes == (
        "1 open document of which the unsaved text was not parsed yet, so that of the disk counts; call again for that",
    )


# --- several roots -----------------------------------------------------------------------------------------


@pytest.mark.contract("W5", "P6")
async def test_several_roots_are_one_code_base_and_one_inside_of_another_counts_once(
    root: Path, tmp_path: Path
) -> None:
    write(tmp_path / "second", {"b.toy": "def outer\n  helper"})
    desk = Desk(root, root / "pkg", tmp_path / "second")
    second = root.parent / "second"
    assert await desk.found("helper") == [
        f"{root}/pkg/helper.toy:helper",
        "main.toy:main",
        f"{second}/b.toy:outer",
    ]
    result = await desk.ask("", active=(f"{second}/b.toy",))
    assert result.files == 3
    assert "outer" not in result.text


async def test_a_root_that_goes_away_and_comes_back_is_left_out_and_said_to_be_while_others_are_there(
    root: Path, tmp_path: Path
) -> None:
    write(tmp_path / "first", {"b.toy": "def outer\n  helper"})
    desk = Desk(root.parent / "first", root)
    whole = await desk.found("helper")
    assert whole == [f"{root}/pkg/helper.toy:helper", "b.toy:outer", f"{root}/main.toy:main"]
    os.rename(root.parent / "first", root.parent / "away")
    assert await desk.found("helper") == ["pkg/helper.toy:helper", "main.toy:main"]
    result = await desk.ask("", "helper")
    assert (result.files, result.notes[0]) == (2, f"roots that are not to be had: {root.parent}/first")
    os.rename(root.parent / "away", root.parent / "first")
    assert await desk.found("helper") == whole
    assert (await desk.ask()).notes == ()


async def test_a_root_that_is_missing_or_no_directory_is_an_ordinary_failure(root: Path) -> None:
    for name in ("missing", "main.toy"):
        with pytest.raises(ToolFailure, match=f"{name}: is outside the workspace"):
            await Desk(root / name).ask()
    with pytest.raises(ToolDefinitionError):
        Desk(Path("relative"))


async def test_a_root_that_was_replaced_since_it_was_admitted_is_not_read(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    desk = Desk(link)
    roots = await desk.adapter.roots(CancellationToken())
    write(tmp_path / "other", {"a.toy": "def secret"})
    link.unlink()
    link.symlink_to(tmp_path / "other")
    with pytest.raises(ToolFailure, match="leads out of it through a link"):
        await desk.adapter.retrieve(query("", roots=roots))


# --- what is kept ------------------------------------------------------------------------------------------


@pytest.mark.contract("W5")
async def test_the_index_is_kept_for_the_next_session_which_parses_only_what_changed(
    root: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state/retrieval"
    first = Desk(root, state=state)
    await first.ask()
    first.adapter.close()
    (kept,) = state.iterdir()
    assert (kept.stat().st_mode & 0o777, state.stat().st_mode & 0o777) == (0o600, 0o700)
    write(root, {"main.toy": "def main\n  helper\n  other"})
    second = Desk(root, state=state)
    assert "pkg/helper.toy:helper" in await second.found("helper")
    assert second.parser.parsed == ["main.toy"]


@pytest.mark.contract("W5")
@pytest.mark.parametrize("damage", [b"", b"garbage", b"openbuffer-repo-map 99\n", None])
async def test_a_kept_index_that_cannot_be_used_is_made_anew(root: Path, tmp_path: Path, damage: bytes | None) -> None:
    first = Desk(root, state=tmp_path / "state")
    await first.ask()
    first.adapter.close()
    (kept,) = (tmp_path / "state").iterdir()
    kept.write_bytes(kept.read_bytes()[:-9] if damage is None else damage)
    second = Desk(root, state=tmp_path / "state")
    assert len(await second.found("helper")) == 2
    assert len(second.parser.parsed) == 2


@pytest.mark.contract("W5")
@pytest.mark.parametrize("kind", ["pipe", "link", "directory", "another user's"])
async def test_what_is_no_file_that_this_user_wrote_is_not_taken_for_a_kept_index_and_nothing_waits_for_it(
    root: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Desk(root, state=tmp_path / "state")
    await first.ask()
    first.adapter.close()
    (kept,) = (tmp_path / "state").iterdir()
    kept.rename(tmp_path / "forged")
    if kind == "pipe":
        os.mkfifo(kept)
    elif kind == "link":
        kept.symlink_to(tmp_path / "forged")
    elif kind == "directory":
        kept.mkdir()
    else:
        (tmp_path / "forged").rename(kept)
        monkeypatch.setattr(os, "geteuid", lambda: kept.stat().st_uid + 1)
    with anyio.fail_after(30):
        second = Desk(root, state=tmp_path / "state")
        assert len(await second.found("helper")) == 2
    assert len(second.parser.parsed) == 2


async def test_a_state_directory_that_cannot_be_written_is_said_and_nothing_more(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("a file")
    monkeypatch.setattr(repo_map, "_SAVE_AFTER_NEWS", 1)
    result = await Desk(root, state=tmp_path / "state/below").ask("", "helper")
    assert result.shown == 2
    assert "the index could not be kept for the next session" in result.notes[-1]


@pytest.mark.contract("W5")
async def test_sessions_at_the_same_time_leave_a_whole_index(root: Path, tmp_path: Path) -> None:
    write(root, {f"many/{number}.toy": f"def f{number}\n  helper" for number in range(80)})
    desks = [Desk(root, state=tmp_path / "state") for _ in range(4)]
    async with anyio.create_task_group() as group:
        for desk in desks:
            for _ in range(3):
                group.start_soon(desk.ask, "", "helper")
    assert KeptIndexes(tmp_path / "state").load(str(root), CancellationToken()) is not None
    assert [path.suffix for path in (tmp_path / "state").iterdir()] == [".index"]


async def test_no_more_indexes_are_kept_than_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openbuffer.tools.retrieval.kept_index.RETRIEVAL_KEPT_INDEXES", 2)
    kept = KeptIndexes(tmp_path / "state")
    (tmp_path / "state").mkdir()
    (tmp_path / "state/x.unfinished").write_text("left by a crash")
    os.utime(tmp_path / "state/x.unfinished", (LONG_AGO, LONG_AGO))
    for number in range(4):
        assert kept.save(f"/r{number}", repo_map.RepoMapIndex("p")) == ""
        os.utime(kept._file(f"/r{number}"), (LONG_AGO + number, LONG_AGO + number))
    assert kept.save("/r4", repo_map.RepoMapIndex("p")) == ""
    assert [number for number in range(5) if kept.load(f"/r{number}", CancellationToken()) is not None] == [3, 4]
    assert not (tmp_path / "state/x.unfinished").exists()


async def test_what_processes_left_that_ended_while_they_wrote_drives_no_index_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openbuffer.tools.retrieval.kept_index.RETRIEVAL_KEPT_INDEXES", 2)
    kept = KeptIndexes(tmp_path / "state")
    assert kept.save("/r0", repo_map.RepoMapIndex("p")) == ""
    os.utime(kept._file("/r0"), (LONG_AGO, LONG_AGO))
    for number in range(5):
        (tmp_path / f"state/{number}.unfinished").write_text("being written, or left by a crash")
    os.utime(tmp_path / "state/3.unfinished", (LONG_AGO, LONG_AGO))
    assert kept.save("/r1", repo_map.RepoMapIndex("p")) == ""
    assert kept.load("/r0", CancellationToken()) is not None
    assert sorted(path.stem for path in (tmp_path / "state").glob("*.unfinished")) == ["0", "1", "2", "4"]


async def test_a_kept_index_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptIndexes(tmp_path)
    assert kept.save("/r", repo_map.RepoMapIndex("p")) == ""
    size = kept._file("/r").stat().st_size
    for most, is_read in ((size, True), (size - 1, False)):
        monkeypatch.setattr("openbuffer.tools.retrieval.kept_index.RETRIEVAL_INDEX_MAX_BYTES", most)
        assert (kept.load("/r", CancellationToken()) is not None) == is_read
    monkeypatch.undo()
    with kept._file("/r").open("r+b") as file:
        file.truncate(2**40)
    assert kept.load("/r", CancellationToken()) is None


@pytest.mark.contract("W5", "X4")
async def test_names_of_what_was_deleted_or_denied_since_do_not_stay_in_the_kept_index(
    root: Path, tmp_path: Path
) -> None:
    write(root, {"secret.toy": "def password", "old.toy": "def forgotten"})
    first = Desk(root, state=tmp_path / "state")
    await first.ask()
    first.adapter.close()
    (kept,) = (tmp_path / "state").iterdir()
    assert b"password" in kept.read_bytes()
    (root / "old.toy").unlink()
    second = Desk(root, state=tmp_path / "state")
    await second.ask("", unreadable=hide(root, "secret.toy"))
    second.adapter.close()
    for word in (b"password", b"secret", b"forgotten"):
        assert word not in kept.read_bytes()


# --- time --------------------------------------------------------------------------------------------------


class StandingParser(ToyParser):
    """Waits within the first file until it is let go, or its token is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.started = threading.Event()
        self.go = threading.Event()

    def parse(self, sources, token):  # type: ignore[no-untyped-def]  # as in the class above
        def waiting() -> Iterator[SourceText]:
            for source in sources:
                self.started.set()
                while not self.go.wait(0.01):
                    if token.cancelled:
                        raise ToolCancelledError("stopped")
                yield source

        return super().parse(waiting(), token)


@pytest.mark.contract("W5", "T6")
async def test_the_event_loop_runs_while_it_parses_and_a_cancelled_query_has_stopped(root: Path) -> None:
    desk = Desk(root)
    desk.parser = parser = StandingParser()
    desk.adapter._map.parser = parser
    ticks = 0
    with anyio.move_on_after(10) as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(desk.ask)
            while not parser.started.is_set():
                await anyio.lowlevel.checkpoint()
                ticks += 1
            group.start_soon(desk.ask)  # waits for its turn
            await anyio.sleep(0.1)
            group.cancel_scope.cancel()
    assert not scope.cancelled_caught
    assert ticks > 0
    parser.go.set()
    assert len(await desk.found("helper")) == 2, "and the next query gets its turn"


class CountedToken(CancellationToken):
    """Is cancelled from the so-manieth time on that it is asked."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.left = at

    @property
    def cancelled(self) -> bool:
        self.left -= 1
        return self.left < 0


@pytest.mark.contract("W5", "T6")
@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.slow) for first in range(1, 6))])
async def test_a_query_that_is_cancelled_at_any_step_leaves_the_next_one_as_it_would_be(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    monkeypatch.setattr("openbuffer.tools.retrieval.ranking._POLL_EVERY", 0)
    monkeypatch.setattr(repo_map, "_PLACED_AT_ONCE", 2)
    write(root, {f"many/{number}.toy": f"def f{number}\n  helper" for number in range(5)})
    editor = MemoryEditor()
    path = str(root / "main.toy")
    buffer = editor.open(path)
    steps = first
    is_whole = False
    while not is_whole:
        editor.replace(path, 0, len(buffer.text), f"def typed{steps}\n  helper")
        write(root, {"pkg/helper.toy": f"def helper\n\ndef step{steps}"})
        desk = Desk(root, editor=editor, state=tmp_path / "state")
        token = CountedToken(steps)
        roots = await desk.adapter.roots(CancellationToken())
        try:
            await desk.adapter.retrieve(query("", roots=roots, identifiers=("helper",), token=token))
            is_whole = True
        except ToolCancelledError:
            steps += 6
        write(root, {f"new{steps}-{is_whole}.toy": f"def new{steps}\n  helper"})
        assert await desk.found("helper") == await Desk(root, editor=editor).found("helper")
        of_disk = [
            path for path in desk.parser.parsed if path != "main.toy"
        ]  # that is parsed as it is in the editor too
        assert len(of_disk) == len(set(of_disk)), "what was parsed before is not parsed again"
        (root / f"new{steps}-{is_whole}.toy").unlink()
        desk.adapter.close()  # the next one reads what this has learnt
    assert steps > 10


@pytest.mark.contract("W5")
async def test_when_parsing_takes_too_long_the_answer_is_about_what_there_is_and_says_so(root: Path) -> None:
    parser = ToyParser()
    adapter = RepoMapRetrievalAdapter(roots=root, parser=parser, build_timeout_s=-1)
    roots = await adapter.roots(CancellationToken())
    result = await adapter.retrieve(query("", roots=roots))
    assert (result.files, result.text) == (0, "")
    assert result.notes[0] == "2 files not parsed yet (-1 seconds were over); call again for them"


@pytest.mark.contract("W5")
async def test_files_that_could_not_be_parsed_are_listed_and_never_fatal(root: Path) -> None:
    write(root, {"bad.toy": "bad!", "min.toy": "x" * 20_000_000})
    (root / "shut.toy").write_text("def shut")
    (root / "nul.toy").write_bytes(b"\0\0")
    result = await Desk(root).ask("", "helper")
    assert result.shown == 2
    assert result.notes[0] == (
        "3 files that could not be parsed: bad.toy (is bad), min.toy (is larger than 2097152 bytes), "
        "nul.toy (is binary, or in an encoding that is not parsed)"
    )
