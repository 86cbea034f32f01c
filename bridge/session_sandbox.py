"""The OS sandbox of a session: looked for when the first command asks for it, and not before.

Looking for it starts one, which takes a while; a session whose sandbox is off never does. Where none can be had, the
next command looks again, so that what was installed meanwhile counts.
"""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import anyio.to_thread
from openbuffer.sandbox.errors import SandboxError, SandboxUnavailableError
from openbuffer.sandbox.port import Command, Containment, Invocation, RunResult, WrappedCommand

from .directories import DirectoryError, OwnDirectories, hidden_paths
from .settings import ignore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from openbuffer.sandbox.detect import OsSandboxDetection
    from openbuffer.sandbox.os_client import OsSandboxClient
    from openbuffer.sandbox.settings import SandboxSettings
    from openbuffer.tools.rules.hidden_paths import HiddenPaths

    from .settings import LiveSettings

# What finds and makes a sandbox is imported in the thread that needs it: an editor waits for the first answer.


class SessionSandbox:
    """Confines the commands of one session as its settings have it. Fulfils ``SandboxClient`` and ``WrapsCommands``.

    It hides the server's own directories and the configuration in use (S10), and makes those that do not exist, because
    what does not exist cannot be hidden. What rules keep from being read (``unreadable``, which blocks) is hidden as
    well, as it is at each command; ``tell`` takes what of the rules no path can say, once.
    """

    def __init__(
        self,
        roots: Sequence[str],
        settings: LiveSettings,
        directories: OwnDirectories,
        environment: Callable[[], Mapping[str, str]],
        *,
        detect: Callable[[Sequence[str]], OsSandboxDetection] | None = None,
        unreadable: Callable[[], HiddenPaths] | None = None,
        tell: Callable[[str], None] = ignore,
    ) -> None:
        self._roots = tuple(map(os.path.realpath, roots))
        self._settings = settings
        self._directories = directories
        self._environment = environment
        self._detect = detect
        self._unreadable = unreadable
        self._tell = tell
        self._told: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._client: OsSandboxClient | None = None
        self._sweeping: threading.Thread | None = None

    def begin(self, tell: Callable[[str], None]) -> None:
        """Finish what servers left behind that were killed, in a thread; the first command waits for it.

        Also where the sandbox is off by now: what a command planted then lies in the workspace still.
        """
        if self._directories.state.is_dir():
            self._sweeping = threading.Thread(target=self._sweep, args=(tell,), name="openbuffer sweep", daemon=True)
            self._sweeping.start()

    @property
    def filesystem(self) -> Literal["shared"]:
        """Its files are the host's."""
        return "shared"

    def containment(self, command: Command) -> Containment:
        """What would hold this command now; blocks, the first time for as long as starting a sandbox takes.

        Raises:
            SandboxUnavailableError: the sandbox is on and cannot be had.
        """
        self._wait_until_swept()
        if not self._settings.sandbox().enabled:
            return Containment(confined=False, by="", words="The sandbox is off.")
        return self._found().containment(command)

    def wrap_command(self, command: Command, invocation: Invocation) -> AbstractContextManager[WrappedCommand]:
        """Confine the invocation; what is inside has ended when the context is left.

        Raises:
            SandboxUnavailableError: it cannot be had any more.
        """
        return self._found().wrap_command(command, invocation)

    async def run(self, command: Command) -> RunResult:
        """Run a line to its end, confined if the settings say so; cancelling ends it.

        Raises:
            SandboxError: it could not be run, or how it ended is not known.
        """
        return await (await self._found_in_thread()).run(command)

    async def read_file(self, path: str, *, max_bytes: int | None = None) -> str:
        """The text of a file, read as a confined command would, or the host's where the sandbox is off.

        Raises:
            SandboxError: it cannot be read, or is larger.
        """
        return await (await self._found_in_thread()).read_file(path, max_bytes=max_bytes)

    async def write_file(self, path: str, text: str) -> None:
        """Replace a file or make it, as a confined command would.

        Raises:
            SandboxError: it cannot be written; then it is as it was.
        """
        await (await self._found_in_thread()).write_file(path, text)

    def host_wrote(self, path: str, content: bytes) -> None:
        """The session wrote this file, which is none of the work of commands that run meanwhile; blocks shortly.

        Never raises. Where the state directory is not there, no command was ever noted in it.
        """
        if self._directories.state.is_dir():
            from openbuffer.sandbox.quarantine.watch import Quarantine  # noqa: PLC0415  see above

            Quarantine(str(self._directories.state)).host_wrote(path, content)

    def close(self) -> None:
        """Remove what the session's confined commands had for themselves; blocks."""
        self._wait_until_swept()
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _sweep(self, tell: Callable[[str], None]) -> None:
        from openbuffer.sandbox.detect import OsSandboxDetection  # noqa: PLC0415  see above

        try:
            for note in self._client_for(OsSandboxDetection(available=False)).sweep():
                tell(note)
        except SandboxError as error:
            tell(f"what earlier sessions left could not be looked for: {error}")

    async def _found_in_thread(self) -> OsSandboxClient:
        await anyio.to_thread.run_sync(self._wait_until_swept)
        return await anyio.to_thread.run_sync(self._found)

    def _wait_until_swept(self) -> None:
        if self._sweeping is not None:
            self._sweeping.join()

    def _found(self) -> OsSandboxClient:
        """The client; one that has found nothing refuses to confine, with the fix, and is not kept."""
        with self._lock:
            if self._client is None:
                self._require_steady_roots()
                detection = self._detected()
                if not detection.available:
                    return self._client_for(detection)
                try:
                    self._directories.create()
                except DirectoryError as error:
                    raise SandboxUnavailableError(f"the command was not run: {error}") from None
                self._client = self._client_for(detection)
            return self._client

    def _require_steady_roots(self) -> None:
        """The sandbox takes its roots as they are when it is made, and they must be those of the tools."""
        for root in self._roots:
            if os.path.realpath(root) != root:
                raise SandboxUnavailableError(
                    f"the command was not run: the workspace {root} leads elsewhere than before; open it anew"
                )

    def _confinement(self) -> SandboxSettings:
        """The settings as they are now, with what the rules keep from being read."""
        settings = self._settings.sandbox()
        if self._unreadable is None or not settings.enabled:
            return settings
        hidden = self._unreadable()
        news = [note for note in hidden.notes if note not in self._told]
        self._told = frozenset(hidden.notes)
        for note in news:
            self._tell(f"rules and commands: {note}")
        return replace(settings, deny_read=tuple(dict.fromkeys((*settings.deny_read, *hidden.paths))))

    def _detected(self) -> OsSandboxDetection:
        if self._detect is not None:
            return self._detect(self._roots)
        from openbuffer.sandbox.detect import detect_os_sandbox  # noqa: PLC0415  see above

        return detect_os_sandbox(self._roots)

    def _client_for(self, detection: OsSandboxDetection) -> OsSandboxClient:
        from openbuffer.sandbox.os_client import OsSandboxClient  # noqa: PLC0415  see above

        return OsSandboxClient(
            detection=detection,
            roots=self._roots,
            settings=self._confinement,
            state_directory=str(self._directories.state),
            hidden_paths=hidden_paths(self._directories, self._settings.file),
            environment=self._environment,
            configuration=(str(self._settings.file), *self._directories.configurations_of_others()),
        )
