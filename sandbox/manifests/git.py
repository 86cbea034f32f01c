"""Cloning a repository of a workspace manifest: which URLs and refs may be given, and the lines that run. Pure.

What git runs by itself is closed: no remote helper but https and ssh, no hook, no template, no submodule, no question.
Everything from the manifest is checked here and quoted for the shell; options end before it.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from .paths import folded, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

URL_MAX_CHARS: Final = 2_048
REF_MAX_CHARS: Final = 255


def check_url(url: str) -> str:
    """The URL, if a repository may be cloned from it: https, ssh, or ``user@host:path``, which is ssh.

    Raises:
        ValueError: it may not; the text does not repeat what may be a password.
    """
    if len(url) > URL_MAX_CHARS:
        raise ValueError(f"the url has {len(url):,} characters; {URL_MAX_CHARS:,} are the most")
    if not _URL_CHARACTERS.fullmatch(url) or _ESCAPED_CONTROL.search(url):
        raise ValueError("the url contains a space, a control or another character that no url of a repository has")
    if "::" in url.partition("/")[0]:
        raise ValueError(
            f"the url names a remote helper ({shown(url.partition('::')[0])}), which git would run; {_USE}"
        )
    if "://" not in url:
        return _check_short_url(url)
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ValueError(f"the url's host is none ({error})") from None
    if parts.scheme not in {"https", "ssh"}:
        raise ValueError(f"the url's protocol is {shown(parts.scheme)}; {_USE}")
    if not url.startswith(f"{parts.scheme}://"):
        raise ValueError(f"the url's protocol has to be written in small letters; {_USE}")
    _check_host(parts.hostname or "")
    try:
        _ = parts.port
    except ValueError:
        raise ValueError("the url's port is no number of a port") from None
    if parts.password is not None:
        raise ValueError(
            "the url holds a password, which would be kept in the repository's configuration; give the sandbox a "
            "credential helper or an ssh key instead"
        )
    if (parts.username or "").startswith("-"):
        raise ValueError("the url's user starts with a dash; ssh would take that for an option")
    if len(parts.path) < 2 or parts.query or parts.fragment:
        raise ValueError("the url names no repository; give the whole of it, without ? and #")
    return url


def _check_short_url(url: str) -> str:
    match = _SHORT_URL.fullmatch(url)
    if match is None:
        raise ValueError(f"the url has no protocol; {_USE}")
    _check_host(match["host"])
    return url


def _check_host(host: str) -> None:
    # A leading dash would be an option to ssh.
    if not _HOST.fullmatch(host):
        raise ValueError("the url's host is none; name a host by its name or address")


def check_ref(ref: str) -> str:
    """The name of a branch, of a tag, or a whole commit id.

    Raises:
        ValueError: git would not take it for one.
    """
    if len(ref) > REF_MAX_CHARS or not _REF_CHARACTERS.fullmatch(ref):
        raise ValueError(f"ref {shown(ref)} is no name of a branch or a tag, and no commit id")
    if ref.startswith("-"):
        raise ValueError(f"ref {shown(ref)} starts with a dash; git would take it for an option")
    names = ref.split("/")
    if any(not name or name.startswith(".") or name.endswith((".lock", ".")) for name in names) or ".." in ref:
        raise ValueError(f"ref {shown(ref)} is no name of a branch or a tag, and no commit id")
    if "@{" in ref or ref in {"@", "HEAD"}:
        raise ValueError(f"ref {shown(ref)} means another commit each time; name a branch, a tag or a commit id")
    if ref.startswith("refs/"):
        raise ValueError(
            f"ref {shown(ref)} is a full name; name the branch or the tag without refs/heads/ or refs/tags/"
        )
    return ref


def is_commit_id(ref: str) -> bool:
    """Whether the ref is a whole commit id, of SHA-1 or of SHA-256."""
    return _COMMIT_ID.fullmatch(ref) is not None


def check_variable(name: str) -> str:
    """The name of a variable, if it may be set while a repository is cloned.

    Raises:
        ValueError: what it says is run before anything could take it away again.
    """
    if name in _STEERS_SHELL or name.startswith(_STEERS_LOADER):
        raise ValueError(
            f"{name} decides which programs or libraries run, and may not be set while a repository is cloned; take "
            "it out, or clone by a command later"
        )
    return name


def check_place_beside_clones(path: str) -> str:
    """The checked path of a repository, if what it brings is read by nothing that clones another one.

    The workspace may be the home directory: then git, ssh and the helpers that they run have settings in it under names
    that begin with a dot, in more of them than any list has, and a login shell looks for programs in ``bin``. Another
    ``HOME`` would not do: ssh asks the user database.

    Raises:
        ValueError: it may be.
    """
    names = folded(path).split("/")
    if names[0] == _PROGRAMS or any(name.startswith(".") for name in names):
        raise ValueError(
            f"the repository at {shown(path)} may hold settings or programs that are used while another one is cloned "
            "(git, ssh and shells look there where the workspace is the home directory); give it a path without a name "
            f"that begins with a dot, and other than {_PROGRAMS}, or clone it by a command later"
        )
    return path


def clone_line(url: str, ref: str | None, *, shallow: bool, directory: str, variables: Iterable[str] = ()) -> str:
    """The line for a shell that clones into ``directory``, which does not exist and is removed if that fails.

    Its last output is the commit that is checked out. Of ``variables``, which the manifest sets, git gets the proxies
    alone: by others it could be told to run something.
    """
    if ref is not None and is_commit_id(ref):
        steps = _commit_steps(url, ref, shallow=shallow, directory=directory)
    else:
        steps = [_clone(url, ref, shallow=shallow, directory=directory)]
    steps.append(_git("-C", directory, "rev-parse", "--verify", "HEAD^{commit}"))
    remove = shlex.join(["rm", "-rf", "--", directory])
    withheld = [name for name in variables if name.lower() not in _PROXIES and name not in _KEPT_BY_SHELLS]
    unset = f"unset -v {' '.join(withheld)}; " if withheld else ""
    return f"{unset}{{ {' && '.join(steps)}; }} || {{ {remove}; exit 1; }}"


def _clone(url: str, ref: str | None, *, shallow: bool, directory: str) -> str:
    options = ["--quiet", "--no-recurse-submodules", "--template="]
    options += ["--depth=1", "--single-branch", "--no-shallow-submodules"] if shallow else []
    options += [] if ref is None else [f"--branch={ref}"]
    return _git("clone", *options, "--", url, directory)


def _commit_steps(url: str, commit: str, *, shallow: bool, directory: str) -> list[str]:
    """A commit is fetched by its id, because it may lie on no branch, and ``clone`` takes none."""
    wanted = [commit] if shallow else [commit, "+refs/heads/*:refs/remotes/origin/*"]
    depth = ["--depth=1"] if shallow else []
    return [
        _git("init", "--quiet", "--template=", "--", directory),
        _git("-C", directory, "remote", "add", "--", "origin", url),
        _git("-C", directory, "fetch", "--quiet", "--no-recurse-submodules", *depth, "--", "origin", *wanted),
        _git("-C", directory, "checkout", "--quiet", "--detach", commit, "--"),
    ]


def _git(*arguments: str) -> str:
    return shlex.join([*_GIT, *arguments])


_GIT: Final[Sequence[str]] = (
    "env",
    # The environment's list overrides whatever a configuration allows.
    "GIT_ALLOW_PROTOCOL=https:ssh",
    "GIT_TERMINAL_PROMPT=0",
    "git",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "submodule.recurse=false",
    "-c",
    "fetch.recurseSubmodules=false",
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "protocol.file.allow=never",
    "-c",
    "init.defaultBranch=main",
    "-c",
    "advice.detachedHead=false",
)

_STEERS_SHELL: Final = frozenset({"PATH", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS4"})
_STEERS_LOADER: Final = ("LD_", "DYLD_")
_PROGRAMS: Final = "bin"
_PROXIES: Final = frozenset({"http_proxy", "https_proxy", "all_proxy", "no_proxy"})
_KEPT_BY_SHELLS: Final = frozenset({"UID", "EUID", "PPID", "BASH_VERSINFO"})
"""Bash ends where one of them is to be unset; they are nothing to git."""

_USE: Final = "use https://, ssh:// or user@host:path"
_URL_CHARACTERS: Final = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&()*+,;=%-]+")
_ESCAPED_CONTROL: Final = re.compile(r"%(?:[01][0-9a-f]|7f)", re.IGNORECASE)
_SHORT_URL: Final = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]*)@(?P<host>[^:/@]+):(?!-)[^:]+")
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\.?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]+")
_REF_CHARACTERS: Final = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]+")
_COMMIT_ID: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
