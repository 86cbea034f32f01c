"""Events as they are kept: every kind comes back as it was, and nothing that a tool returns spoils a record."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools import Capability, CommandTarget, FileChange, FileTarget, Hunk
from openbuffer.tools.adapters import event_records
from openbuffer.tools.adapters.event_records import BEFORE, NOT_KEPT, EventRecord, decode, encode
from openbuffer.tools.adapters.log_redaction import Redaction
from openbuffer.tools.adapters.log_settings import KEPT
from openbuffer.tools.contract import BeforeState
from openbuffer.tools.events import Event, ToolFinished, ToolIntended, ToolRejected

ALL = frozenset(KEPT)

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
texts = st.text(st.characters(exclude_categories=[]), max_size=50)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)
places = st.sampled_from(["undecided", "disk", "document"])
file_targets = st.builds(
    FileTarget,
    path=texts,
    access=st.sampled_from([Capability.FILE_READ, Capability.FILE_WRITE]),
    exists=st.booleans(),
    place=places,
)
command_targets = st.builds(
    CommandTarget,
    command=texts,
    argv=st.lists(texts, max_size=3).map(tuple),
    cwd=texts,
    confined_by=texts,
    auto_allowed=st.booleans(),
)
changes = st.builds(
    FileChange,
    path=texts,
    hunks=st.lists(st.builds(Hunk, st.integers(1, 9), texts, texts), max_size=3).map(tuple),
    before_bytes=st.none() | st.integers(0, 10**12),
    after_bytes=st.none() | st.integers(0, 10**12),
    kind=st.sampled_from(["file", "link", "directory"]),
)
events = (
    st.builds(
        ToolIntended,
        call_id=words,
        attempt=st.integers(1, 5),
        tool=words,
        capabilities=st.frozensets(st.sampled_from(Capability)),
        arguments=st.dictionaries(texts, json_values, max_size=3),
        targets=st.lists(file_targets | command_targets, max_size=3).map(tuple),
        change=st.none() | changes,
    )
    | st.builds(
        ToolFinished,
        call_id=words,
        attempt=st.integers(1, 5),
        tool=words,
        outcome=st.sampled_from(["succeeded", "failed", "outdated", "cancelled", "error"]),
        value=json_values,
        error=st.none() | texts,
        made_on=st.none() | st.integers(0, 2**31),
    )
    | st.builds(ToolRejected, call_id=words, tool=words, error_type=words, error=texts)
)


def value_of(value: Any) -> Any:
    record = encode(ToolFinished(call_id="c", attempt=1, tool="T", outcome="succeeded", value=value), ALL, Redaction())
    return json.loads(record.parts["value"])


@pytest.mark.contract("X3", "X7")
@given(event=events)
def test_every_event_comes_back_as_it_was(event: Event) -> None:
    assert decode(encode(event, ALL, Redaction())) == event


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def test_what_json_does_not_know_is_kept_as_its_description() -> None:
    deep: list[Any] = []
    deep.append(deep)
    assert value_of({1: b"x", "s": {"a"}, "n": math.nan, "i": -math.inf, "h": Hostile(), "t": (1, 2)}) == {
        "1": "b'x'",
        "s": "{'a'}",
        "n": "nan",
        "i": "-inf",
        "h": "<Hostile>",
        "t": [1, 2],
    }
    assert "[[" in json.dumps(value_of(deep))
    assert value_of([10**5000]) == [f"<a number of {(10**5000).bit_length()} bits>"]


def test_a_kind_that_is_not_known_is_no_event() -> None:
    unknown: Any = "approved"
    assert decode(EventRecord(kind=unknown, call_id="c", attempt=1, tool="T", outcome="", parts={})) is None


def test_what_a_newer_release_adds_to_a_target_is_left_out() -> None:
    event = ToolIntended(
        call_id="c",
        attempt=1,
        tool="T",
        capabilities=frozenset(),
        arguments={},
        targets=(FileTarget(path="/a", access=Capability.FILE_READ),),
        change=None,
    )
    record = encode(event, ALL, Redaction())
    record.parts["targets"] = record.parts["targets"].replace(b'"path"', b'"since":1,"path"')
    assert decode(record) == event
    record.parts["targets"] = b'[{"type":"moon"}]'
    assert decode(record) is None


def intended(change: FileChange) -> ToolIntended:
    return ToolIntended(
        call_id="c", attempt=1, tool="T", capabilities=frozenset(), arguments={}, targets=(), change=change
    )


@pytest.mark.contract("X7")
def test_a_part_that_is_too_large_is_told_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_records, "LOG_PART_MAX_BYTES", 100)
    change = FileChange(
        path="/a",
        hunks=(Hunk(1, "x" * 200, ""),),
        before_bytes=200,
        after_bytes=0,
        before=BeforeState(b"x" * 200),
    )
    record = encode(intended(change), ALL, Redaction())
    not_kept = json.loads(record.parts[NOT_KEPT])
    assert not_kept["hunks"][0] > 200
    assert not_kept[BEFORE][0] == 200
    event = decode(record)
    assert isinstance(event, ToolIntended)
    assert event.change is not None
    assert (event.change.path, event.change.hunks, event.change.before_bytes) == ("/a", (), 200)


@pytest.mark.contract("X7")
def test_a_before_state_is_kept_of_what_changes_and_of_nothing_else() -> None:
    def parts(**options: Any) -> dict[str, bytes]:
        change = FileChange(path="/a", before_bytes=1, before=BeforeState(b"x", version=7), **options)
        return encode(intended(change), ALL, Redaction()).parts

    assert parts(hunks=(Hunk(1, "x", "y"),), after_bytes=1)[BEFORE] == b"x"
    assert json.loads(parts(hunks=(Hunk(1, "x", "y"),), after_bytes=1)["change"])["version"] == 7
    assert parts(hunks=(), after_bytes=None)[BEFORE] == b"x", "a deletion of what is no text"
    assert BEFORE not in parts(hunks=(), after_bytes=1)
