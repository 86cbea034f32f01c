"""The first steps of the ``openbuffer`` command: no module of a workspace may stand in for one that it imports.

A workspace gets on Python's path by PYTHONPATH, or by ``python -m`` in its directory. Its ``json.py`` or ``tools``
would then be taken for ours. Only ``os`` and ``sys`` are imported here before that is undone: the interpreter has
loaded both already. What Python itself imports before any line of ours runs is beyond us; when that came from a
workspace, the command starts over without those paths.
"""

from __future__ import annotations

import os
import sys

_PYTHON_OLDEST = (3, 11)


def main() -> int:
    """Leave foreign paths behind and run the command line."""
    if sys.version_info < _PYTHON_OLDEST:  # pip does not install it there; a copy can be started all the same
        mine, oldest = (".".join(map(str, version)) for version in (sys.version_info[:3], _PYTHON_OLDEST))
        sys.stderr.write(f"openbuffer: {sys.executable} is Python {mine}; start it with {oldest} or newer\n")
        return 2
    foreign = _foreign_entries()
    if foreign:
        sys.path[:] = [entry for entry in sys.path if entry not in foreign]
        if _loaded_from(foreign) and sys.executable:
            os.execv(sys.executable, [sys.executable, "-E", "-P", "-m", "openbuffer.bridge", *sys.argv[1:]])  # noqa: S606  the same interpreter, the same arguments

    from .commands.cli import main as run  # noqa: PLC0415  not before the path is clean

    return run()


def _foreign_entries() -> list[str]:
    """Entries of ``sys.path`` that are no part of this installation; never the one that holds this package."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep) if not sys.flags.ignore_environment else []
    named = {_absolute(entry) for entry in given if entry}
    if not sys.flags.safe_path:
        named.add(_here())
    own = os.path.dirname(os.path.dirname(os.path.dirname(_absolute(__file__))))
    return [entry for entry in sys.path if _absolute(entry) in named - {own} and not _is_pythons(entry)]


def _is_pythons(entry: str) -> bool:
    """True for the standard library, and for what a virtual environment holds."""
    homes = [os.path.dirname(os.__file__), *([sys.prefix] if sys.prefix != sys.base_prefix else [])]
    return any(f"{_absolute(entry)}{os.sep}".startswith(home + os.sep) for home in homes)


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def _loaded_from(entries: list[str]) -> bool:
    roots = tuple(os.path.join(_absolute(entry), "") for entry in entries)
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return any(isinstance(file, str) and _absolute(file).startswith(roots) for file in files)


def _absolute(path: str) -> str:
    """The absolute path, or a relative one as it is where the current directory does not exist any more."""
    try:
        return os.path.abspath(path)
    except OSError:
        return path
