"""``openbuffer log``: what the tools did, by the event log; and ``openbuffer log show``: one call, with its diff."""

from __future__ import annotations

import json
import re
import sys
import time
from contextlib import closing
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from openbuffer.tools.adapters.sqlite_log_database import LogUnavailableError
from openbuffer.tools.adapters.sqlite_log_reader import CallFilter, LogReader

from ..directories import DirectoryError, own_directories
from .log_shown import call_to_json, row, shown_call
from .output import writing
from .terminal import harmless, terminal_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from openbuffer.tools.adapters.sqlite_log_reader import CallOutcome, LoggedCall

EXIT_DONE: Final = 0
EXIT_FAILED: Final = 1
EXIT_HARD: Final = 2

POLL_S: Final = 0.5
"""How often ``--follow`` looks."""

_AGO: Final = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)
_LAST_NS: Final = 2**63 - 1
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def log(
    *,
    as_json: bool,
    follow: bool,
    most: int,
    tool: str | None,
    session: str | None,
    outcome: str | None,
    since: str | None,
) -> int:
    """Print the last calls, the newest at the end; returns the exit code.

    With ``follow`` it goes on until it is stopped.
    """
    try:
        wanted = CallFilter(
            tool=tool,
            session=session,
            outcome=cast("CallOutcome | None", outcome),
            since_ns=None if since is None else _nanoseconds(since),
        )
        with closing(LogReader(_directory())) as reader:
            last = reader.last_event()
            calls = list(islice(reader.calls(wanted), most))[::-1]
            show = _printer(as_json=as_json)
            for call in calls:
                show(call)
            if not calls and not follow and not as_json:
                _complain("nothing is recorded" if wanted == CallFilter() else "no such call is recorded")
            if follow:
                _follow(reader, last, {call.number: call for call in calls}, wanted, show)
    except (DirectoryError, LogUnavailableError, ValueError) as error:
        _complain(str(error))
        return EXIT_HARD
    return EXIT_DONE


def show(name: str, *, as_json: bool, before: bool) -> int:
    """Print one call; ``before`` prints nothing but what was there before its change. Returns the exit code."""
    try:
        with closing(LogReader(_directory())) as reader:
            found = reader.call(name)
            if len(found) == 0:
                _complain(f"no call {name} is recorded; `openbuffer log` lists those that are")
                return EXIT_FAILED
            if len(found) > 1:
                numbers = ", ".join(str(call.number) for call in found[:10])
                _complain(f"{len(found)} calls are named so, this is the last one; by number: {numbers}")
            if before:
                return _print_before(reader, found[0])
    except (DirectoryError, LogUnavailableError) as error:
        _complain(str(error))
        return EXIT_HARD
    terminal = terminal_for(sys.stdout)
    if as_json:
        terminal.print(json.dumps(call_to_json(found[0], whole=True)))
    else:
        for line in shown_call(found[0], terminal):
            terminal.print(line)
    return EXIT_DONE


def _follow(
    reader: LogReader, last: int, known: dict[int, LoggedCall], wanted: CallFilter, show: Callable[[LoggedCall], None]
) -> None:
    """Print each call again whenever something became of it; until the user stops it."""
    running = {number for number, call in known.items() if call.outcome == "running"}
    while True:
        time.sleep(POLL_S)
        last, news = reader.newer(last)
        told = {call.number for call in news}
        ended = [call for number in running - told for call in reader.call(str(number)) if call.outcome != "running"]
        for call in (*news, *ended):
            running.discard(call.number)
            if call.outcome == "running":
                running.add(call.number)
            if _is_wanted(call, wanted):
                show(call)


def _is_wanted(call: LoggedCall, wanted: CallFilter) -> bool:
    return (
        (wanted.tool is None or wanted.tool.lower() == call.tool.lower())
        and (wanted.outcome in {None, call.outcome})
        and wanted.is_session(call.session.number, call.session.key)
    )


def _printer(*, as_json: bool) -> Callable[[LoggedCall], None]:
    terminal = terminal_for(sys.stdout)
    if as_json:
        return lambda call: terminal.print(json.dumps(call_to_json(call, whole=False)))
    return lambda call: terminal.print(row(call, terminal))


def _print_before(reader: LogReader, call: LoggedCall) -> int:
    event = next((event for event in reversed(call.events) if event.before_sha256 is not None), None)
    content = None if event is None or event.before_sha256 is None else reader.artifact(event.before_sha256)
    if content is None:
        missing = [event.not_kept["before"] for event in call.events if "before" in event.not_kept]
        why = f": it {missing[-1][1]}" if missing and missing[-1][1].startswith(("is", "holds")) else ""
        _complain(f"of call {call.number} no text from before is kept{why}")
        return EXIT_FAILED
    with writing():
        if sys.stdout.isatty():
            sys.stdout.write(harmless(content.decode("utf-8", "backslashreplace")))
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
    return EXIT_DONE


def _nanoseconds(since: str) -> int:
    """A moment: so long ago (90s, 30m, 2h, 3d, 1w), or a date, with or without a time."""
    try:
        if ago := _AGO.fullmatch(since):
            moment = time.time_ns() - int(ago[1]) * _SECONDS[ago[2]] * 10**9
        else:
            moment = int(datetime.fromisoformat(since).astimezone().timestamp() * 10**9)
    except (ValueError, OverflowError):
        raise ValueError(f"--since {since}: give a time such as 30m, 2h, 3d, 2025-12-31 or 2025-12-31T18:00") from None
    return min(max(moment, 0), _LAST_NS)


def _directory() -> str:
    return str(own_directories().log)


def _complain(message: str) -> None:
    print(f"openbuffer: {harmless(message)}", file=sys.stderr)  # noqa: T201  a command line prints
