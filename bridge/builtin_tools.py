"""The built-in tools of one session, made anew for other roots; what lasts as long as the session is kept."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openbuffer.editor_access.port import EditorProvider

    from .assembly import Lasting
    from .editor_settings import EditorSettings
    from .saves import Saves
    from .session_tools import ToolExecutor


class BuiltinTools:
    """Makes executors, which is what a session calls it for. ``ending`` cleans up after all of them; that blocks."""

    def __init__(
        self,
        *,
        ending: ExitStack,
        config_file: Path | None,
        tell: Callable[[str], None],
        saves: Saves | None,
        editor_settings: EditorSettings | None,
    ) -> None:
        self._ending = ending
        self._config_file = config_file
        self._tell = tell
        self._saves = saves
        self._editor_settings = editor_settings
        self._lasting: Lasting | None = None
        self._open: dict[int, tuple[ToolExecutor, ExitStack]] = {}
        self._lock = threading.Lock()

    def __call__(self, roots: tuple[str, ...], editor: EditorProvider) -> ToolExecutor:
        """The tools over these roots; what they are made of is imported when they are first needed.

        Raises:
            ConfigError: the user's file cannot be used.
            ToolExecutionError: they cannot be assembled.
        """
        from .assembly import Lasting, assemble  # noqa: PLC0415  not before the first answer

        if self._lasting is None:
            self._lasting = Lasting.of_session(self._ending)
            self._ending.callback(self._let_go_of_all)  # ahead of what lasts, which they work with
        with ExitStack() as failing:
            executor = assemble(
                roots,
                ending=failing,
                editor=editor,
                config_file=self._config_file,
                tell=self._tell,
                saves=self._saves,
                editor_settings=self._editor_settings,
                lasting=self._lasting,
            ).executor()
            with self._lock:
                self._open[id(executor)] = executor, failing.pop_all()
        return executor

    def let_go(self, executor: ToolExecutor) -> None:
        """Clean up after one of them, of which nothing runs any more; blocks."""
        with self._lock:
            _, ending = self._open.pop(id(executor), (None, ExitStack()))
        ending.close()

    def _let_go_of_all(self) -> None:
        with self._lock:
            left = [ending for _, ending in self._open.values()]
            self._open.clear()
        for ending in left:
            ending.close()
