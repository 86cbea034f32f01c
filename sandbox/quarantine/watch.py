"""The quarantine: what a confined command must not create in a workspace is moved out of it when the command has ended.

Nothing is put into the workspace beforehand, so nothing can be left there. What stood before is in a journal in the
state directory; after a server was killed, the next one that starts, or runs a command, finishes what it could not.
All of it blocks, for a bounded time.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from ..errors import SandboxError
from .birth import born_ns
from .host_writes import digest_of, is_the_hosts
from .journal import HostWrote, Journal, Opening, Process, Record, Running, SetAside
from .protected import has_protected_name
from .settling import Settling, opened_root, shown, tell_not_looked_at
from .states import entries_of, inherited, look_at_root, unpack

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from .moves import Place
    from .protected import ProtectedEntry
    from .states import RootState

PROCESSES_END_S: Final = 5.0
"""How long a sweep waits for processes that were killed with their server."""

RECORDS_KEPT_S: Final = 30 * 24 * 3600.0
"""How long a killed command is remembered whose workspace is not there, as on a disk that was taken out."""

_END_MARGIN_S: Final = 10.0


class Watch:
    """One command under watch. ``notes``: after the context was left, sentences for the command's result."""

    def __init__(self, record: Record, notes: Iterable[str]) -> None:
        self._record = record
        self._notes = list(notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was moved, put back or could not be; also of commands whose server was killed before."""
        return tuple(self._notes)

    @property
    def stood(self) -> tuple[ProtectedEntry, ...]:
        """The protected names that stood before every command that runs in these roots now, and where they led then.

        What stands there since may be in the hands of such a command: to mount it would be to mount what that command
        puts there between two looks, be it hidden.
        """
        return tuple(entry for state in self._record.opening.roots for entry in entries_of(state))

    def started(self, process_id: int) -> None:
        """A process of the command was started; call it for each that is known: a sweep waits until they are gone."""
        with contextlib.suppress(OSError):  # on a full disk the sweep waits for nobody
            self._record.append(Process(process_id=process_id, born=_born_ticks(process_id)))

    def add_notes(self, notes: Iterable[str]) -> None:
        """Append sentences."""
        self._notes.extend(notes)


class Quarantine:
    """Watches commands of one user. ``state_directory`` is an absolute path outside of every workspace; it is made.

    Servers that share it know of each other's commands. It must be hidden from the commands (S10).
    """

    def __init__(self, state_directory: str) -> None:
        self._state_directory = state_directory

    def sweep(self) -> tuple[str, ...]:
        """Finish what killed servers left: call it at the start. Returns sentences about what was moved.

        Raises:
            SandboxError: the state directory cannot be used.
        """
        with self._opened() as (journal, quarantine):
            with journal.locked():
                _, dead = journal.running_and_dead()
            return _recovered(dead, journal, quarantine)

    @contextmanager
    def around(self, roots: Sequence[str], *, longest_s: float) -> Generator[Watch, None, None]:
        """Watch one command; enter before ``protected_paths`` is asked and the command started, leave after its last
        process has ended.

        ``roots`` are absolute, resolved paths of the workspace's directories. The command has ended ``longest_s``
        seconds after now whatever happens: what is made later than that is the host's.

        Raises:
            SandboxError: it cannot be watched, and must not be run.
        """
        with ExitStack() as stack:
            journal, quarantine = stack.enter_context(self._opened())
            places = [_open_for_command(root, stack) for root in dict.fromkeys(roots)]
            record, dead = _begin(journal, places, longest_s)
            watch = Watch(record, ())
            try:
                watch.add_notes(_recovered(dead, journal, quarantine))
                yield watch
            finally:
                watch.add_notes(_ended(record, places, journal, quarantine))

    def host_wrote(self, path: str, content: bytes) -> None:
        """The host wrote a file: a tool of the session, or the editor. A protected one is then not taken for the work
        of a command that runs meanwhile, as long as it holds just that. ``path`` is resolved.

        Cheap for every other file. Never raises: what cannot be noted is moved, and told.
        """
        if not has_protected_name(path):
            return
        with contextlib.suppress(OSError, SandboxError), self._opened() as (journal, _), journal.locked():
            journal.tell_running(path, digest_of(content))

    @contextmanager
    def _opened(self) -> Generator[tuple[Journal, Place], None, None]:
        with ExitStack() as stack:
            try:
                commands = _open_own(os.path.join(self._state_directory, "commands"), stack)
                quarantine = _open_own(os.path.join(self._state_directory, "quarantine"), stack)
            except OSError as error:
                raise SandboxError(
                    f"{shown(self._state_directory)} cannot be used ({error.strerror}), where running commands are "
                    "noted and the quarantine lies; no command was run. Make it a writable directory of your own."
                ) from error
            yield Journal(commands.descriptor), quarantine


def _open_own(path: str, stack: ExitStack) -> Place:
    os.makedirs(path, mode=0o700, exist_ok=True)
    place = stack.enter_context(opened_root(path))
    if os.fstat(place.descriptor).st_uid != os.geteuid():
        raise PermissionError(1, "it belongs to another user")
    return place


def _open_for_command(root: str, stack: ExitStack) -> Place:
    try:
        return stack.enter_context(opened_root(root))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SandboxError(f"{shown(root)} cannot be opened ({reason}); no command was run.") from error


def _begin(journal: Journal, places: Sequence[Place], longest_s: float) -> tuple[Record, list[Record]]:
    now_ns = time.time_ns()
    with journal.locked():
        running, all_dead = journal.running_and_dead()
        dead = _of_these_places(all_dead, places)
        others: list[Running | Record] = sorted([*running, *dead], key=lambda other: other.opening.started_ns)
        earlier = [root for other in others for root in other.opening.roots]
        try:
            states = [inherited(look_at_root(place.path, place.descriptor), earlier) for place in places]
            opening = Opening(
                started_ns=now_ns,
                ends_by_ns=now_ns + int((longest_s + _END_MARGIN_S) * 1e9),
                asleep_ns=_asleep_ns(),
                prefix=f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}",
                roots=tuple(states),
            )
            return journal.open_record(opening, _inherited_host_writes(states, others)), dead
        except (OSError, SandboxError) as error:
            for each in dead:
                each.release()
            raise SandboxError(
                f"how the protected files stand before the command could not be noted ({error}); it was not run."
            ) from error


def _inherited_host_writes(states: Sequence[RootState], others: Sequence[Running | Record]) -> list[HostWrote]:
    """Who judges by how a root stood before another command must know what the host has written since."""
    return [
        HostWrote(root=number, below=line.below, digest=line.digest)
        for number, state in enumerate(states)
        for other in others
        for line in other.host_wrote
        if line.root < len(other.opening.roots) and state.is_of(other.opening.roots[line.root])
    ]


def _of_these_places(dead: Sequence[Record], places: Sequence[Place]) -> list[Record]:
    """The dead commands of the same directories; those of others are left to whoever works there."""
    inodes = {os.fstat(place.descriptor).st_ino for place in places}
    mine: list[Record] = []
    for record in dead:
        if any(root.inode in inodes for root in record.opening.roots):
            mine.append(record)
        else:
            record.release()
    return mine


def _ended(record: Record, places: Sequence[Place], journal: Journal, quarantine: Place) -> list[str]:
    """Put all roots right after a command that this process ran."""
    notes: list[str] = []
    is_settled = False
    try:
        record.read_again()
        settlings = [_settling(record, number, place, quarantine) for number, place in enumerate(places)]
        settled = [_settled_root(settling, notes) for settling in settlings]
        is_settled = all(settled)
    except OSError:
        notes.extend(tell_not_looked_at(place.path) for place in places)
    finally:
        _close_record(record, journal, keep=not is_settled)
    return notes


def _settled_root(settling: Settling, notes: list[str]) -> bool:
    try:
        settling.settle()
    except OSError:
        settling.notes.append(tell_not_looked_at(settling.root.path))
        return False
    finally:
        notes.extend(settling.notes)
    return True


def _recovered(dead: Sequence[Record], journal: Journal, quarantine: Place) -> tuple[str, ...]:
    """Put right what the commands of killed servers left."""
    notes: list[str] = []
    for record in dead:
        is_settled = False
        try:
            all_gone = _wait_until_gone(record.processes)
            numbers = range(len(record.opening.roots))
            settled = [_recovered_root(record, number, quarantine, notes) for number in numbers]
            is_settled = all_gone and all(settled)
        except OSError:
            notes.extend(tell_not_looked_at(unpack(root.path)) for root in record.opening.roots)
        finally:
            is_old = time.time_ns() - record.opening.ends_by_ns > RECORDS_KEPT_S * 1e9
            _close_record(record, journal, keep=not is_settled and not is_old)
    return tuple(notes)


def _recovered_root(record: Record, number: int, quarantine: Place, notes: list[str]) -> bool:
    """Whether nothing is left to do in this root."""
    root = record.opening.roots[number]
    # A command sleeps when its machine does, and runs that much later.
    ends_by_ns = record.opening.ends_by_ns + max(0, _asleep_ns() - record.opening.asleep_ns)
    try:
        with opened_root(unpack(root.path)) as place:
            found = os.fstat(place.descriptor)
            # The number of a device may be another one after a restart of the machine; an inode's may be given again.
            if (found.st_ino, born_ns(place.descriptor, ".")) != (root.inode, root.born):
                return True
            settling = _settling(record, number, place, quarantine)
            is_hosts = settling.is_the_hosts
            settling.is_the_hosts = lambda name: is_hosts(name) or born_ns(place.descriptor, name) > ends_by_ns
            settling.may_restore = found.st_ctime_ns <= ends_by_ns
            is_settled = _settled_root(settling, notes)
            del settling.notes[:]
            for aside in record.set_aside:
                if aside.root == number:
                    settling.finish(aside.name, aside.aside)
            notes.extend(settling.notes)
    except OSError:
        return False  # the workspace is not there now; it may come back
    return is_settled


def _settling(record: Record, number: int, place: Place, quarantine: Place) -> Settling:
    host_wrote = {(line.below, line.digest) for line in record.host_wrote if line.root == number}

    def set_aside(name: str, aside: str) -> None:
        with contextlib.suppress(OSError):  # on a full disk what matters is that the name goes
            record.append(SetAside(root=number, name=name, aside=aside))

    return Settling(
        root=place,
        before=record.opening.roots[number],
        quarantine=quarantine,
        # As it was written it is a plain name; a record that was tampered with does not choose a directory.
        prefix=os.path.basename(record.opening.prefix),
        is_the_hosts=lambda name: is_the_hosts(place.descriptor, name, host_wrote),
        set_aside=set_aside,
    )


def _close_record(record: Record, journal: Journal, *, keep: bool) -> None:
    if keep:
        record.release()
    else:
        journal.remove(record)


def _wait_until_gone(processes: Sequence[Process]) -> bool:
    deadline = time.monotonic() + PROCESSES_END_S
    while any(process.born and _born_ticks(process.process_id) == process.born for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _born_ticks(process_id: int) -> int:
    """When a process started, in the kernel's ticks; 0 when it is gone, or that cannot be known."""
    try:
        with open(f"/proc/{process_id}/stat", "rb") as file:
            state, *fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0
    return 0 if state in {b"Z", b"X"} else int(fields[18])


def _asleep_ns() -> int:
    """How long the machine has slept since it was started; 0 where that cannot be known."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return 0
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
