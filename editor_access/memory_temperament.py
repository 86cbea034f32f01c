"""How language clients behave, each way of it by itself, and the ways of real ones by name. Pure.

None of this is a setting of the product: it is what the in-memory client can be made to do, so that whoever builds on
the adapter can see it hold with editors that they do not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from .memory_habits import NEOVIM_HABITS, PLAIN_HABITS, VSCODE_HABITS, EditorHabits

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Temperament:
    """How a client behaves; the defaults are those of a client that does all things right.

    ``stale``: what becomes of an edit for another version. ``checks``: which version it is compared with.
    ``unchecked_versions``: versions that pass every check. ``asks_user``: each edit waits for ``Prompt.answer``, and
    a no is told as ``declines`` says. ``applies``: whether an edit that passed is made, and ``makes``: in which shape.
    ``answer``: the truth, a fixed answer, an error, what cannot be read, or none. ``gives_reasons``: with a refusal.
    ``holds``: whether requests, or only their answers, wait for ``MemoryLanguageClient.release``.
    ``tells_typing`` and ``tells_edit``: when didChange goes out; ``sync``: what it holds. ``counts``: the
    columns it means, both ways. ``tells_up_to_chars``: larger documents are not told of.
    ``line_ends``: of the text it was sent. ``adds_final_newline``: cannot have a text without one.
    ``saves_with_text``: didSave carries the text. ``habits``: of the editor behind the client. ``stands_for``: the
    real behaviour that a named temperament is about.
    """

    stale: Literal["refused", "skipped", "applied"] = "refused"
    checks: Literal["newest", "last_sent", "not_older"] = "newest"
    unchecked_versions: frozenset[int | None] = frozenset({None})
    asks_user: bool = False
    declines: Literal["false", "error"] = "false"
    applies: bool = True
    makes: Literal["as_sent", "whole_document"] = "as_sent"
    answer: Literal["truth", "true", "false", "error", "nonsense", "never"] = "truth"
    gives_reasons: bool = True
    holds: Literal["nothing", "requests", "answers"] = "nothing"
    tells_typing: Literal["at_once", "when_flushed"] = "at_once"
    tells_edit: Literal["before_reply", "after_reply", "when_flushed"] = "after_reply"
    tells_up_to_chars: int | None = None
    sync: Literal["incremental", "full"] = "incremental"
    counts: Literal["as_negotiated", "code_points"] = "as_negotiated"
    line_ends: Literal["as_sent", "of_document"] = "as_sent"
    adds_final_newline: bool = False
    saves_with_text: bool = False
    habits: EditorHabits = PLAIN_HABITS
    stands_for: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RichTemperament:
    """How a client answers the requests of ``client_requests``; the defaults are as PROTOCOL.md has it.

    ``tells``: when its didChange goes out. ``checks_document``: version and hash; ``checks_disk``: that the file holds
    what the request names. ``asks_user``: before each edit, save and reload. ``acts``: whether what passed is done.
    ``says``: the truth, or always the same. ``answer``: that, an error, what cannot be read, a state with a wrong hash
    or version, or none. ``holds`` and ``stands_for``: as in ``Temperament``.
    """

    tells: Literal["before_answer", "after_answer", "when_flushed"] = "before_answer"
    checks_document: bool = True
    checks_disk: bool = True
    asks_user: bool = False
    acts: bool = True
    says: Literal["truth", "done", "not_done"] = "truth"
    answer: Literal["as_said", "error", "nonsense", "wrong_hash", "wrong_version", "never"] = "as_said"
    holds: Literal["nothing", "requests", "answers"] = "nothing"
    stands_for: str = ""


_VERSION_0: Final = frozenset({None, 0})

TEMPERAMENTS: Final[Mapping[str, Temperament]] = MappingProxyType(
    {
        "strict": Temperament(
            stands_for="Does all things right: any other version than the newest is refused, with a reason.",
        ),
        "tells first": Temperament(
            tells_edit="before_reply",
            stands_for="The didChange of an edit goes out before the answer to it.",
        ),
        "tells late": Temperament(
            tells_typing="when_flushed",
            tells_edit="when_flushed",
            stands_for="Strict, but every change is told 150 to 500 ms late, the edit's own as well.",
        ),
        "like Neovim": Temperament(
            stale="skipped",
            checks="not_older",
            unchecked_versions=_VERSION_0,
            tells_typing="when_flushed",
            tells_edit="when_flushed",
            habits=NEOVIM_HABITS,
            stands_for="Neovim 0.11: skips stale edits and says `applied: true`; version 0 and future ones pass.",
        ),
        "like VS Code": Temperament(
            gives_reasons=False,
            line_ends="of_document",
            habits=VSCODE_HABITS,
            stands_for="VS Code 1.139: refuses any other version without a reason; answers, then tells.",
        ),
        "lying": Temperament(
            stale="skipped",
            answer="true",
            stands_for="Stale edits are skipped, and every answer is `applied: true`.",
        ),
        "lying, and telling late": Temperament(
            stale="skipped",
            answer="true",
            tells_typing="when_flushed",
            tells_edit="when_flushed",
            stands_for="The same with a debounce, so that nobody knows about the version at the time of the edit.",
        ),
        "never checking": Temperament(
            stale="applied",
            stands_for="Versions are ignored: a stale edit lands wherever its positions are by then.",
        ),
        "never checking, and telling late": Temperament(
            stale="applied",
            tells_typing="when_flushed",
            tells_edit="when_flushed",
            stands_for="The same with a debounce, so that edits for a text of long ago are made.",
        ),
        "checks what it sent": Temperament(
            checks="last_sent",
            tells_typing="when_flushed",
            stands_for="Versions are compared with the one last sent: what was typed since does not count.",
        ),
        "version 0": Temperament(
            stale="skipped",
            unchecked_versions=_VERSION_0,
            stands_for="Documents start at version 0, and an edit for version 0 is applied to whatever is there.",
        ),
        "counts keystrokes": Temperament(
            habits=EditorHabits(first_version=1, counts="keystrokes"),
            stands_for="Every keystroke is a version and a didChange of its own.",
        ),
        "code points": Temperament(
            counts="code_points",
            stands_for="Columns count code points whatever was negotiated, in what it sends and in what it applies.",
        ),
        "code points, whole documents": Temperament(
            counts="code_points",
            sync="full",
            stands_for="The same with full synchronisation, which leaves only its edits to drift.",
        ),
        "whole documents": Temperament(
            sync="full",
            makes="whole_document",
            stands_for="Full synchronisation, and an edit replaces the whole document: cursors and marks are lost.",
        ),
        "line ends of its own": Temperament(
            line_ends="of_document",
            adds_final_newline=True,
            habits=EditorHabits(line_ends="shown_as_lf", final_newline="added"),
            stands_for="A CRLF file is sent with LF, and no text is without a final newline.",
        ),
        "prompting": Temperament(
            asks_user=True,
            stands_for="Each edit waits for the user, whose no is `applied: false`.",
        ),
        "prompting, with errors": Temperament(
            asks_user=True,
            declines="error",
            stands_for="Each edit waits for the user, whose no comes as an error.",
        ),
        "never answering": Temperament(
            answer="never",
            stands_for="Edits are made and told, but requests are never answered.",
        ),
        "never answering, nor applying": Temperament(
            answer="never",
            applies=False,
            stands_for="An editor that throws when it applies, and then never replies.",
        ),
        "answers with errors": Temperament(
            answer="error",
            stands_for="Edits are made, but answered with an error.",
        ),
        "answers nonsense": Temperament(
            answer="nonsense",
            stands_for="Edits are made; the answer is neither yes nor no.",
        ),
        "says no and does": Temperament(
            answer="false",
            stands_for="Edits are made, and answered `applied: false`.",
        ),
        "says yes and does not": Temperament(
            answer="true",
            applies=False,
            stands_for="A document that cannot be changed, in an editor that says `applied: true` all the same.",
        ),
        "cannot change": Temperament(
            applies=False,
            stands_for="A document that cannot be changed, and an editor that says so.",
        ),
        "saves by itself": Temperament(
            habits=EditorHabits(first_version=1, autosave=True, saves_over="refuses"),
            saves_with_text=True,
            stands_for="Autosave puts edits on disk unasked; didSave carries the text.",
        ),
    }
)
"""Every way of treating versions, answers and columns that was met in real editors, by name."""

RICH_TEMPERAMENTS: Final[Mapping[str, RichTemperament]] = MappingProxyType(
    {
        "right": RichTemperament(stands_for="As PROTOCOL.md has it."),
        "prompting": RichTemperament(asks_user=True, stands_for="The user is asked, and the dialog can be withdrawn."),
        "tells afterwards": RichTemperament(
            tells="after_answer", stands_for="The answer overtakes the didChange that it tells of."
        ),
        "does not flush": RichTemperament(
            tells="when_flushed", stands_for="Nothing is flushed: the debounce goes on as if nobody had asked."
        ),
        "answers with errors": RichTemperament(
            answer="error", stands_for="What was asked is done, and answered with an error."
        ),
        "answers nonsense": RichTemperament(
            answer="nonsense", stands_for="What was asked is done; the answer has another shape."
        ),
        "answers with wrong hashes": RichTemperament(
            answer="wrong_hash", stands_for="Hashes are made of another text, or another encoding of it."
        ),
        "answers with wrong versions": RichTemperament(
            answer="wrong_version", stands_for="The version told is one that the server never hears of."
        ),
        "never answering": RichTemperament(answer="never", stands_for="What was asked is done, and never answered."),
        "says done and does not": RichTemperament(
            acts=False, says="done", stands_for="The editor's own function gave up without a word."
        ),
        "does and says not": RichTemperament(
            says="not_done", stands_for="The editor's own function reported a failure after it had worked."
        ),
        "cannot": RichTemperament(acts=False, stands_for="A document that cannot be changed, saved or reloaded."),
        "ignores the disk": RichTemperament(
            checks_disk=False, stands_for="It saves and reloads whatever was done to the file in the meantime."
        ),
        "ignores the document": RichTemperament(
            checks_document=False, stands_for="Versions and hashes are not looked at: what was typed is overrun."
        ),
    }
)
"""Right and ill ways of answering the requests beyond LSP, by name."""
