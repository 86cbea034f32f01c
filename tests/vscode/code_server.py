"""The editor's server process: started with directories of its own, ended with everything that it has started."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import editor_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

START_S = 60.0
_MARK = "OPENBUFFER_TESTS_EDITOR"
"""A variable that all processes of one editor have, by which those that were left behind are found."""

QUIET: dict[str, Any] = {
    "chat.byokUtilityModelDefault": "none",
    "chat.commandCenter.enabled": False,
    "chat.tools.riskAssessment.enabled": False,
    "editor.accessibilitySupport": "off",
    "editor.autoClosingBrackets": "never",
    "editor.autoClosingQuotes": "never",
    "editor.autoIndent": "none",
    "editor.formatOnType": False,
    "editor.inlineSuggest.enabled": False,
    "editor.minimap.enabled": False,
    "editor.quickSuggestions": {"other": "off", "comments": "off", "strings": "off"},
    "editor.suggestOnTriggerCharacters": False,
    "editor.unusualLineTerminators": "off",
    "editor.wordBasedSuggestions": "off",
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": False,
    "extensions.ignoreRecommendations": True,
    "files.autoSave": "off",
    "files.hotExit": "off",
    "git.enabled": False,
    "security.workspace.trust.enabled": False,
    "security.workspace.trust.startupPrompt": "never",
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "window.confirmBeforeClose": "never",
    "workbench.enableExperiments": False,
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "workbench.welcomePage.walkthroughs.openOnInstall": False,
}
"""Settings under which nothing opens, asks or completes what is typed by itself."""


class CodeServer:
    """One process tree with its own user data and extensions. Windows are opened by a browser at ``url``."""

    def __init__(self, home: Path, *, extensions: Sequence[Path], machine: Mapping[str, Any] | None = None) -> None:
        self.home = home
        self.probes = home / "probes"
        self.log_file = home / "code-server.log"
        self.run_id = uuid.uuid4().hex
        self._tree = editor_tree.editor_tree()
        self._command = [str(editor_tree.node(self._tree)), str(editor_tree.entry(self._tree))]
        self._directories = ["--user-data-dir", str(home / "data"), "--extensions-dir", str(home / "extensions")]
        self.probes.mkdir(parents=True)
        # What is set for a machine is read from a file of its own, since the editor's page may be on another one.
        for name, settings in (("User", QUIET), ("Machine", machine or {})):
            (home / "data" / name).mkdir(parents=True)
            (home / "data" / name / "settings.json").write_text(json.dumps(settings, indent=2))
        self._install(extensions)

    def start(self) -> None:
        """Start it and wait until it answers."""
        flags = ["--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check"]
        # A test run that is killed cannot end the editors that it started.
        last_words = [program, "--pdeathsig", "KILL", "--"] if (program := shutil.which("setpriv")) else []
        with self.log_file.open("w") as log:
            self.process = subprocess.Popen(
                [*last_words, *self._command, *flags, *self._directories],
                cwd=self.home,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_S
        while not self._answers():
            assert self.process.poll() is None, f"the editor ended: {self.log()}"
            assert time.monotonic() < deadline, f"the editor does not start: {self.log()}"
            time.sleep(0.1)

    @property
    def url(self) -> str:
        found = re.search(r"HTTP server listening on (http://127\.0\.0\.1:\d+)", self.log_file.read_text())
        return found.group(1) if found else ""

    def log(self) -> str:
        return self.log_file.read_text(errors="replace")[-6000:]

    def extension_logs(self) -> str:
        """The ends of what extensions have logged, for a failure's message."""
        logs = sorted((self.home / "data" / "logs").rglob("openbuffer*.log"), key=lambda file: file.stat().st_mtime)
        return "\n".join(f"== {file.name}\n{file.read_text(errors='replace')[-6000:]}" for file in logs[-2:])

    def stop(self) -> None:
        """End it in good order, by force where it will not, and wait for all that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        deadline = time.monotonic() + 5
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.left_behind = [_command_line(pid) for pid in self.processes() - self._of_group()]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(10)

    left_behind: Sequence[str] = ()
    """After ``stop``: processes outside the editor's own group that it had not ended five seconds later."""

    def processes(self) -> set[int]:
        """Every process that was started by this editor, in whatever group or session."""
        wanted = f"{_MARK}={self.run_id}".encode()
        found: set[int] = set()
        for directory in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if wanted in (directory / "environ").read_bytes().split(b"\0"):
                    found.add(int(directory.name))
        return found

    def _of_group(self) -> set[int]:
        found: set[int] = set()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                if os.getpgid(pid) == self.process.pid:
                    found.add(pid)
        return found

    def _answers(self) -> bool:
        if not self.url:
            return False
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def _install(self, extensions: Sequence[Path]) -> None:
        wanted = [flag for extension in extensions for flag in ("--install-extension", str(extension))]
        done = subprocess.run(
            [*self._command, *wanted, *self._directories],
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"

    def _environment(self) -> dict[str, str]:
        """The tests' own, without what an editor around them has set, and with homes where nothing of the user's is."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("VSCODE_", "ELECTRON_"))}
        for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            directory = self.home / name.lower()
            directory.mkdir(exist_ok=True)
            kept[name] = str(directory)
        return {**kept, "HOME": str(self.home), _MARK: self.run_id, "OPENBUFFER_PROBE_DIRECTORY": str(self.probes)}


def _command_line(pid: int) -> str:
    try:
        return f"{pid}: {Path(f'/proc/{pid}/cmdline').read_bytes().replace(bytes(1), b' ').decode(errors='replace')}"
    except OSError:
        return f"{pid}: gone"
