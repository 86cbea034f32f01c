"""Commands confined by the operating system, on the host's own files (S7, S8, S10).

By bubblewrap on Linux, by Seatbelt on macOS. A command may read everything but what is hidden, write in the workspace,
in a temporary directory of the session's own and in ``allow_write``, and change nothing that is protected. Settings are
read anew for every command. Unix sockets are closed with and without a network: behind them are daemons that act
outside of the sandbox.
"""

from __future__ import annotations

import os
import tempfile
import threading
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from .bubblewrap.argv import Descriptors, bubblewrap_argv
from .bubblewrap.command import ConfinedCommand, in_memory
from .bubblewrap.mounts import own_places
from .bubblewrap.programs import is_writable_by_command
from .bubblewrap.seccomp import build_filter
from .bubblewrap.trial import try_sandbox
from .confinement.auto_allow import AutoAllowance, AutoAllowRules
from .confinement.exclusions import exclusion_of
from .confinement.file_argv import read_argv, write_argv
from .confinement.layout import Hidden, Layout
from .confinement.places import HiddenPlaces, WritablePlaces, hard_linked
from .confinement.scratch import Scratch, sweep
from .confinement.sight import require_program, require_usable_roots, require_visible
from .confinement.unconfined import Unconfined
from .confinement.waiting import run_to_the_end
from .confinement.words import containment_words
from .detect import OsSandboxDetection, temporary_places
from .errors import CommandTimeoutError, SandboxError, SandboxUnavailableError
from .file_content import decode_text, encode_text, file_error, too_large
from .limits import (
    EMPTY_TIMEOUT_S,
    FILE_READ_MAX_BYTES,
    FILE_TIMEOUT_S,
    REPORT_MAX_BYTES,
    RUN_OUTPUT_MAX_BYTES,
    SETUP_TIMEOUT_S,
    CommandLimits,
)
from .port import Command, Containment, Invocation, RunResult, require_sandbox_path
from .process.result import CaptureLimits, Ended
from .process.runner import run_invocation
from .quarantine.protected import protected_paths
from .quarantine.watch import Quarantine
from .seatbelt import SeatbeltPolicy, seatbelt_argv

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from .quarantine.protected import ProtectedEntry
    from .settings import SandboxSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Confinement:
    """What holds one command: decided from the settings and the host as they were at one moment."""

    layout: Layout
    network: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """The paths of the settings as they are on the host now. ``left_out``: a sentence for each that is not used."""

    hidden: tuple[Hidden, ...]
    allowed: tuple[str, ...]
    left_out: tuple[str, ...]
    writable: tuple[str, ...]


class OsSandboxClient:
    """Confines commands in ``roots``. Fulfils ``SandboxClient`` and ``WrapsCommands``.

    ``settings`` is called for every command. ``hidden_paths`` are unreadable whatever the settings say, and
    ``state_directory``, where the session's temporary directory lies, is one of them. A hidden path that does not exist
    when a command starts is not hidden from that command: whoever names one makes it. ``environment`` is what the shell
    of a command is started with. ``home`` and ``configuration`` are where the user's programs have their settings: see
    ``AutoAllowRules``.
    """

    def __init__(
        self,
        *,
        detection: OsSandboxDetection,
        roots: Sequence[str],
        settings: Callable[[], SandboxSettings],
        state_directory: str,
        hidden_paths: Sequence[str] = (),
        limits: CommandLimits | None = None,
        environment: Callable[[], Mapping[str, str]] | None = None,
        home: str | None = None,
        configuration: Sequence[str] = (),
    ) -> None:
        self._detection = detection
        self._roots = tuple(dict.fromkeys(os.path.realpath(root) for root in roots))
        self._settings = settings
        self._state_directory = state_directory
        self._hidden_paths = (*hidden_paths, state_directory)
        self._limits = limits or CommandLimits()
        self._environment = environment or (lambda: dict(os.environ))
        self._writable_places = WritablePlaces(self._roots)
        self._hidden_places = HiddenPlaces()
        self._quarantine = Quarantine(state_directory)
        self._auto_allow = AutoAllowRules(
            self._roots, home=home or os.path.expanduser("~"), configuration=configuration
        )
        # Seatbelt knows no mounts: what lies in a hidden directory cannot be shown elsewhere.
        self._scratch_directory = (
            os.path.join(os.path.realpath(tempfile.gettempdir()), "openbuffer-commands")
            if detection.is_seatbelt
            else state_directory
        )
        self._scratch: Scratch | None = None
        self._lock = threading.Lock()
        by_bubblewrap = detection.available and not detection.is_seatbelt
        self._filter = build_filter(detection.machine) if by_bubblewrap else b""

    @property
    def filesystem(self) -> Literal["shared"]:
        """Its files are the host's."""
        return "shared"

    def containment(self, command: Command) -> Containment:
        """What would hold this command now.

        Raises:
            SandboxUnavailableError: the sandbox is on and cannot be had, or this command cannot run in it.
        """
        settings = self._settings()
        if not settings.enabled:
            return Containment(confined=False, by="", words="The sandbox is off.")
        places = self._places(settings)
        exclusion = exclusion_of(
            command.line,
            excluded=settings.excluded_commands,
            environment=self._environment(),
            writable=(*places.writable, self._state_directory),
        )
        if exclusion.is_excluded:
            words = f"{exclusion.program} is one of the excluded commands, which nothing confines."
            return Containment(confined=False, by="", words=words)
        self._confinement(settings, places, command)
        allowance = self._allowance(settings, places)
        words = self._words(settings, places)
        return Containment(
            confined=True,
            by=self._detection.name,
            words=f"{words} Not excluded: {exclusion.because}." if exclusion.because else words,
            auto_allowed=allowance.allowed,
            asks_because=allowance.because,
        )

    @contextmanager
    def wrap_command(self, command: Command, invocation: Invocation) -> Generator[ConfinedCommand | Unconfined]:
        """Confine the invocation; what is inside has ended when the context is left.

        Raises:
            SandboxUnavailableError: it cannot be had any more; also on leaving, when bwrap could not make the inside.
        """
        # The quarantine looks first: what is protected now must be what it saw.
        with self._quarantine.around(self._roots, longest_s=command.timeout_s + _LONGEST_END_S) as watch:
            settings = self._settings()
            if not settings.enabled:
                raise SandboxUnavailableError("the sandbox was switched off before the command began; run it again")
            confinement = self._confinement(settings, self._places(settings), command, watch.stood)
            require_program(invocation.argv[0], confinement.layout)
            if self._detection.is_seatbelt:
                # Its rules hold for every process that the command starts, for as long as that lives.
                confined = Unconfined(self._by_seatbelt(confinement, invocation))
                yield confined
            else:
                confined = self._by_bubblewrap(confinement, invocation, watch.started)
                try:
                    yield confined
                finally:
                    confined.wait_until_empty()
                    confined.close()
        confined.notes = watch.notes
        if confined.has_failed:
            raise SandboxUnavailableError(self._why_not_set_up(confinement))

    def sweep(self) -> tuple[str, ...]:
        """Finish what servers left that were killed; called when a session starts. Returns sentences about it.

        Raises:
            SandboxError: the state directory cannot be used.
        """
        notes = self._quarantine.sweep()
        with suppress(OSError):
            sweep(self._scratch_directory)
        return notes

    def host_wrote(self, path: str, content: bytes) -> None:
        """The session itself wrote this file: then it is not taken for the work of a command that runs meanwhile."""
        self._quarantine.host_wrote(path, content)

    async def run(self, command: Command) -> RunResult:
        """Run a line by ``/bin/sh`` to its end, confined if the settings say so; cancelling ends it.

        Raises:
            SandboxUnavailableError: the sandbox is on and cannot be had.
            CommandStartError: it could not be started.
            SandboxError: it took longer than its time, or how it ended is not known.
        """
        return await run_to_the_end(lambda stop: self._run(command, stop))

    async def read_file(self, path: str, *, max_bytes: int | None = None) -> str:
        """The text of a UTF-8 file; else as :meth:`read_bytes`.

        Raises:
            SandboxNotTextError: it is not UTF-8.
            SandboxError: it cannot be read, or is larger.
        """
        return decode_text(path, await self.read_bytes(path, max_bytes=max_bytes))

    async def write_file(self, path: str, text: str) -> None:
        """Replace a file or make it by ``text`` as UTF-8; else as :meth:`write_bytes`.

        Raises:
            SandboxError: it cannot be written; then it is as it was.
        """
        await self.write_bytes(path, encode_text(path, text))

    async def read_bytes(self, path: str, *, max_bytes: int | None = None) -> bytes:
        """The content of a file, read as a confined command would, or the host's where the sandbox is off.

        Raises:
            SandboxFileError: it cannot be read, or is larger than ``max_bytes`` or ``FILE_READ_MAX_BYTES``.
            SandboxError: how the reading ended is not known.
        """
        most = FILE_READ_MAX_BYTES if max_bytes is None else min(max_bytes, FILE_READ_MAX_BYTES)
        return await run_to_the_end(lambda stop: self._read(require_sandbox_path(path), most, stop))

    async def write_bytes(self, path: str, content: bytes) -> None:
        """Replace a file or make it, and the directories above it, as a confined command would.

        The old content stays until the new one is whole.

        Raises:
            SandboxFileError: it cannot be written; then it is as it was.
            SandboxError: how the writing ended is not known.
        """
        await run_to_the_end(lambda stop: self._write(require_sandbox_path(path), content, stop))

    def close(self) -> None:
        """Remove the session's temporary directory. Commands that still run lose it."""
        with self._lock:
            if self._scratch is not None:
                self._scratch.close()
                self._scratch = None

    def _places(self, settings: SandboxSettings) -> _Places:
        hidden = self._hidden_places.existing((*self._hidden_paths, *settings.deny_read))
        allowed, left_out = self._writable_places.usable(settings.allow_write, hidden)
        return _Places(hidden=hidden, allowed=allowed, left_out=left_out, writable=(*self._roots, *allowed))

    def _allowance(self, settings: SandboxSettings, places: _Places) -> AutoAllowance:
        if not settings.auto_allow:
            return AutoAllowance(allowed=False, because="auto_allow is off")
        return self._auto_allow.judge(
            setting=True, confined=True, protected=protected_paths(self._roots), writable=places.writable
        )

    def _words(self, settings: SandboxSettings, places: _Places) -> str:
        return containment_words(
            allowed=places.allowed,
            left_out=places.left_out,
            temporary=("$TMPDIR",) if self._detection.is_seatbelt else self._temporary_places(places),
            network=settings.network,
            hard_linked=hard_linked(places.hidden),
            process_limit=self._detection.process_limit,
            ends_whole=not self._detection.is_seatbelt,
        )

    def _temporary_places(self, places: _Places) -> tuple[str, ...]:
        return () if self._detection.is_seatbelt else temporary_places(places.writable)

    def _confinement(
        self,
        settings: SandboxSettings,
        places: _Places,
        command: Command,
        stood: Sequence[ProtectedEntry] | None = None,
    ) -> _Confinement:
        if not self._detection.available:
            raise SandboxUnavailableError(f"the command was not run: {self._detection.problem}")
        require_usable_roots(self._roots, places.hidden)
        if is_writable_by_command(self._detection.program, places.writable):
            raise SandboxUnavailableError(
                f"the command was not run: {self._detection.program} itself lies where commands may write; take it "
                "out of allow_write"
            )
        layout = Layout(
            writable=places.writable,
            read_only=protected_paths(self._roots, stood).read_only,
            hidden=places.hidden,
            temporary=self._temporary(),
            temporary_places=self._temporary_places(places),
        )
        require_visible(command.cwd, layout)
        return _Confinement(layout=layout, network=settings.network)

    def _temporary(self) -> str:
        with self._lock:
            if self._scratch is None:
                try:
                    self._scratch = Scratch(self._scratch_directory)
                except OSError as error:
                    raise SandboxUnavailableError(
                        f"the command was not run: no temporary directory can be made in {self._scratch_directory} "
                        f"({error.strerror}); make it writable"
                    ) from error
            return self._scratch.path

    def _prepare_temporary(self, layout: Layout) -> None:
        assert self._scratch is not None
        try:
            with self._lock:
                self._scratch.prepare(*own_places(layout))
        except OSError as error:
            raise SandboxUnavailableError(
                f"the command was not run: {self._scratch.path} is not as it was left ({error.strerror}); start the "
                "session again"
            ) from error

    def _wrapped(self, confinement: _Confinement, invocation: Invocation, descriptors: Descriptors) -> Invocation:
        self._prepare_temporary(confinement.layout)
        outer, inner = _split_environment(invocation.environment)
        argv = bubblewrap_argv(
            self._detection.program,
            confinement.layout,
            invocation.argv,
            cwd=invocation.cwd,
            network=confinement.network,
            descriptors=descriptors,
            environment=inner,
        )
        # bwrap itself stands outside of the workspace, so that nothing relative leads its loader there.
        return Invocation(argv=argv, cwd="/", environment=outer)

    def _by_bubblewrap(
        self, confinement: _Confinement, invocation: Invocation, on_process: Callable[[int], None]
    ) -> ConfinedCommand:
        return ConfinedCommand(
            lambda descriptors: self._wrapped(confinement, invocation, descriptors),
            self._filter,
            self._limits,
            bounds_process_numbers=self._detection.bounds_process_numbers,
            on_process=on_process,
        )

    def _by_seatbelt(self, confinement: _Confinement, invocation: Invocation) -> Invocation:
        layout = confinement.layout
        policy = SeatbeltPolicy(
            roots=self._roots,
            writable=(*layout.writable, layout.temporary),
            read_only=layout.read_only,
            hidden=tuple(each.path for each in layout.hidden),
            network=confinement.network,
        )
        kept = {name: value for name, value in invocation.environment.items() if name not in _TRACE}
        environment = {**kept, **dict.fromkeys(_TEMPORARY_NAMES, layout.temporary)}
        return Invocation(argv=seatbelt_argv(policy, invocation.argv), cwd=invocation.cwd, environment=environment)

    def _why_not_set_up(self, confinement: _Confinement) -> str:
        trial = try_sandbox(self._detection.program, confinement.layout, self._filter, network=confinement.network)
        reason = trial.failure or "it was ended from outside, or the reason is gone: run the command again"
        return f"the command was not run: {self._detection.name} could not make its sandbox ({reason})"

    def _run(self, command: Command, stop: threading.Event) -> RunResult:
        half = RUN_OUTPUT_MAX_BYTES // 2
        limits = CaptureLimits(head_bytes=half, tail_bytes=half)
        ended = self._ended(("/bin/sh", "-c", command.line), command, stop, limits)
        output = ended.output
        assert ended.exit_code is not None
        return RunResult(exit_code=ended.exit_code, output=output.head + output.tail, cut=output.cut)

    def _read(self, path: str, max_bytes: int, stop: threading.Event) -> bytes:
        content = bytearray()
        argv = read_argv(path, max_bytes)
        ended = self._ended(argv, self._file_command(), stop, _ERROR_LIMITS, sink=content.extend)
        if ended.exit_code != 0:
            raise file_error(path, "read", ended.output.head)
        if len(content) > max_bytes:
            raise too_large(path, max_bytes)
        return bytes(content)

    def _write(self, path: str, content: bytes, stop: threading.Event) -> None:
        content_fd = in_memory(content)
        try:
            argv = write_argv(path, content_fd)
            ended = self._ended(argv, self._file_command(), stop, _ERROR_LIMITS, pass_fds=(content_fd,))
        finally:
            os.close(content_fd)
        if ended.exit_code != 0:
            raise file_error(path, "written", ended.output.head)

    def _file_command(self) -> Command:
        # Its line is none that could be excluded: what a file's path says must not lead out of the sandbox.
        return Command(line="", cwd=self._roots[0], timeout_s=FILE_TIMEOUT_S)

    def _ended(
        self,
        argv: tuple[str, ...],
        command: Command,
        stop: threading.Event,
        limits: CaptureLimits,
        *,
        sink: Callable[[bytes], None] | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> Ended:
        invocation = Invocation(argv=argv, cwd=command.cwd, environment=self._environment())
        with ExitStack() as stack:
            if self.containment(command).confined:
                wrapped = stack.enter_context(self.wrap_command(command, invocation))
                wrapped.pass_fds += pass_fds
            else:
                wrapped = Unconfined(invocation, pass_fds)
            ended = run_invocation(
                wrapped.invocation,
                timeout_s=command.timeout_s,
                is_cancelled=stop.is_set,
                limits=limits,
                sink=sink,
                wrapped=wrapped,
            )
        if ended.how == "timed_out":
            raise CommandTimeoutError(
                f"the command was ended after {command.timeout_s:g} s; give it more time, or less to do",
                output=ended.output.head + ended.output.tail,
            )
        if ended.exit_code is None:
            raise SandboxError("how the command ended is not known; run it again")
        return ended


_LONGEST_END_S: Final = SETUP_TIMEOUT_S + 4 * EMPTY_TIMEOUT_S
"""What a command can take besides its own time: to be set up, asked to end, killed and waited for."""

_ERROR_LIMITS: Final = CaptureLimits(head_bytes=REPORT_MAX_BYTES, tail_bytes=0)

_LOADER_PREFIX: Final = "LD_"
_TRACE: Final = frozenset({"TRACEPARENT", "TRACESTATE"})
_TEMPORARY_NAMES: Final = frozenset({"TMPDIR", "TMP", "TEMP", "TEMPDIR"})


def _split_environment(environment: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What bwrap is started with and hands on, and what only the command gets.

    What steers the dynamic loader would steer bwrap's too, outside of the sandbox. The names of temporary directories
    mean the host's.
    """
    outer: dict[str, str] = {}
    inner: dict[str, str] = {}
    for name, value in environment.items():
        if name in _TRACE or name in _TEMPORARY_NAMES:
            continue
        (inner if name.startswith(_LOADER_PREFIX) else outer)[name] = value
    return outer, inner
