"""The tools of a session, put together from the user's file, the workspace's files and the editor.

``serve`` and ``call`` come here alike, so that a setting means the same for both.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from openbuffer.tools.adapters.artifact_files import ArtifactDirectory
from openbuffer.tools.adapters.asks import HeadlessAsks
from openbuffer.tools.adapters.sqlite_log import LogSession, SqliteEventLog
from openbuffer.tools.adapters.task_memory import InMemoryTaskStore
from openbuffer.tools.config import ToolConfig
from openbuffer.tools.executor import SandboxedToolExecutor, create_tool_executor
from openbuffer.tools.rules.kept_rules import KeptRules
from openbuffer.tools.rules.session_rules import LearntRules, SessionRules

from .config import ConfigError
from .config_file import read_user_file
from .config_web import live_web, search_provider
from .directories import DirectoryError, OwnDirectories, hidden_paths, own_directories
from .host_writes import ToldEventLog
from .own_files import OwnFilesPolicy
from .permissions import FileRules
from .retrieval import session_retrieval
from .session_sandbox import SessionSandbox
from .settings import LiveSettings, ignore
from .version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import ExitStack

    from openbuffer.editor_access.port import EditorProvider
    from openbuffer.tools.event_log import EventLog
    from openbuffer.tools.permissions import PermissionPolicy
    from openbuffer.tools.ports import ApprovalPort, TaskStore

    from .config import CommandSettings
    from .config_file import Reading
    from .editor_settings import EditorSettings
    from .saves import Saves

log = logging.getLogger(__name__)

_DAY_S: Final = 24 * 60 * 60
_NOBODY_IS_ASKED: Final = "questions go to the editor that a session belongs to, and here is none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """What the tools of a session are made of; ``policy`` is the gate in front of them, ``log`` their record.

    ``approvals`` is asked about what the rules ask about. ``tell`` takes a sentence while the log cannot be written.
    """

    config: ToolConfig
    policy: PermissionPolicy
    log: EventLog
    tell: Callable[[str], None]
    approvals: ApprovalPort | None = None

    def executor(self) -> SandboxedToolExecutor:
        """The tools behind their gate.

        Raises:
            ToolExecutionError: they cannot be assembled, for example because a root is gone.
        """
        return create_tool_executor(
            self.config, policy=self.policy, log=self.log, approvals=self.approvals, tell=self.tell
        )


@dataclass(slots=True)
class Lasting:
    """What goes on when the roots of a session change: tasks, the log, what was allowed, what the settings said.

    ``ending`` cleans up after it when the session ends; that blocks.
    """

    ending: ExitStack
    tasks: TaskStore | None
    learnt: LearntRules = field(default_factory=LearntRules)
    settings: LiveSettings | None = None
    record: SqliteEventLog | None = None
    _led_to: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of_session(cls, ending: ExitStack) -> Lasting:
        """That of a session that has tasks."""
        return cls(ending, InMemoryTaskStore())

    def further_roots(self, settings: LiveSettings, tell: Callable[[str], None]) -> tuple[str, ...]:
        """The roots that the configuration adds, without those that lead elsewhere than when they were first used."""
        found: list[str] = []
        for root in map(str, settings.first.roots):
            if os.path.realpath(root) == self._led_to.setdefault(root, os.path.realpath(root)):
                found.append(root)
            else:
                tell(f"{root}: this root of the configuration leads elsewhere than before; start the server anew")
        return tuple(found)


def assemble(
    roots: Sequence[str | Path],
    *,
    ending: ExitStack,
    face: str = "serve",
    editor: EditorProvider | None = None,
    config_file: Path | None = None,
    read: Callable[[Path], Reading] = read_user_file,
    tell: Callable[[str], None] = log.warning,
    saves: Saves | None = None,
    tasks: TaskStore | None = None,
    approvals: ApprovalPort | None = None,
    editor_settings: EditorSettings | None = None,
    lasting: Lasting | None = None,
) -> Assembly:
    """Put together the tools below ``roots`` and the roots that the configuration adds.

    ``face`` is what they are called through, for the record. ``config_file`` is used instead of the user's own, and
    read by ``read``; ``editor_settings`` are what the editor says besides. ``tell`` takes a sentence on whatever of the
    configuration does not count, and on a log that cannot be written, now and later, from any thread. What has to be
    cleaned up at the end goes to ``ending``; that blocks. The sandbox is told of ``saves``. ``tasks`` keeps the
    session's tasks, where it lasts longer than one call. What rules ask about is put before ``approvals``, and refused
    without one. ``lasting`` is what goes on from one assembly of a session to the next, and has tasks of its own.

    Raises:
        ConfigError: the user's file cannot be used, or there is no place for it.
    """
    lasting = lasting or Lasting(ending, tasks)
    directories = _directories()
    settings = open_settings(
        roots, directories, config_file, read=read, tell=tell, editor=editor_settings, before=lasting.settings
    )
    lasting.settings = settings
    everywhere = (*map(str, roots), *lasting.further_roots(settings, tell))
    environment = _environment(settings)
    kept = KeptRules(str(directories.permissions))
    rules = SessionRules(
        FileRules(settings, kept, tell=tell), everywhere, keep=kept.append, tell=tell, learnt=lasting.learnt
    )
    sandbox = SessionSandbox(everywhere, settings, directories, environment, unreadable=rules.hidden, tell=tell)
    sandbox.begin(tell)
    ending.callback(sandbox.close)
    if saves is not None:
        saves.tell_to(sandbox.host_wrote)
    limits = settings.first.limits
    config = ToolConfig(
        roots=everywhere,
        editor=editor,
        sandbox=sandbox,
        environment=environment,
        tasks=lasting.tasks,
        retrieval=session_retrieval(everywhere, directories.indexes, editor=editor, ending=ending),
        web=live_web(settings),
        web_search=search_provider(settings, os.environ, tell=tell),
        ask=HeadlessAsks(how=_NOBODY_IS_ASKED),  # a client's call brings a port of its own, which comes before it
        artifacts=ArtifactDirectory(str(directories.artifacts), max_age_s=settings.first.log.days * _DAY_S),
        file_max_bytes=limits["file_max_bytes"],
        read_output_max_bytes=limits["read_output_max_bytes"],
        command_output_max_bytes=limits["command_output_max_bytes"],
    )
    record = lasting.record
    if record is None:
        record = _record(LogSession(face=face, release=VERSION, roots=everywhere), settings, directories, tell)
        lasting.record = record
        lasting.ending.callback(record.close)
    record.roots_are(everywhere)
    return Assembly(
        config=config,
        policy=OwnFilesPolicy(hidden_paths(directories, settings.file), everywhere, rules),
        log=ToldEventLog(record, sandbox.host_wrote),
        tell=tell,
        approvals=approvals,
    )


def open_settings(
    roots: Sequence[str | Path],
    directories: OwnDirectories,
    config_file: Path | None = None,
    *,
    read: Callable[[Path], Reading] = read_user_file,
    tell: Callable[[str], None] = ignore,
    editor: EditorSettings | None = None,
    before: LiveSettings | None = None,
) -> LiveSettings:
    """The settings by the file that the user named, or by their own, and by this process's environment.

    ``before`` are those of the same session over other roots.

    Raises:
        ConfigError: it cannot be used.
    """
    try:
        workspace = [Path(root).absolute() for root in roots]
        file = (config_file or directories.config_file).absolute()
    except FileNotFoundError:
        raise ConfigError(
            "the current directory does not exist any more; name the configuration by its whole path"
        ) from None
    is_named = config_file is not None
    return LiveSettings(
        file,
        workspace,
        is_named=is_named,
        variables=os.environ,
        editor=editor,
        read=read,
        tell=tell,
        before=before,
    )


def _record(
    session: LogSession, settings: LiveSettings, directories: OwnDirectories, tell: Callable[[str], None]
) -> SqliteEventLog:
    from .environment import credentials  # noqa: PLC0415  many expressions, which `doctor` does not need from here

    secrets = credentials(os.environ)
    return SqliteEventLog(str(directories.log), session, settings.first.log, secrets=secrets, tell=tell)


def _environment(settings: LiveSettings) -> Callable[[], Mapping[str, str]]:
    """The variables of commands by the settings as they are now; judged anew only when those change."""
    own = dict(os.environ)

    @lru_cache(maxsize=1)
    def judged(commands: CommandSettings) -> Mapping[str, str]:
        from .environment import command_environment  # noqa: PLC0415  many expressions, which no answer need wait for

        return MappingProxyType(command_environment(own, commands))

    return lambda: judged(settings.commands())


def _directories() -> OwnDirectories:
    try:
        return own_directories()
    except DirectoryError as error:
        raise ConfigError(str(error)) from None
