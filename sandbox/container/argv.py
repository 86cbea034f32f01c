"""The command lines of a container engine, Docker or Podman, that make, fill and end a sandbox. Pure.

What a container gets is all here: nothing of the host is mounted, no socket and no device is given, it has no network
unless that is asked for, no capability and no way to get one, and its root cannot be written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ..errors import SandboxError

EngineName: TypeAlias = Literal["docker", "podman"]
ENGINES: Final[tuple[EngineName, ...]] = ("docker", "podman")

OWNER_LABEL: Final = "openbuffer.owner"
KEPT_LABEL: Final = "openbuffer.kept"
READY: Final = "openbuffer-ready"
RUN_VARIABLE: Final = "OPENBUFFER_RUN"
"""What the processes of one call are known by inside."""

MIB: Final = 1024 * 1024
TEMPORARY: Final = "/tmp"  # noqa: S108  it is the container's own, and in its memory


@dataclass(frozen=True, slots=True)
class ContainerEngine:
    """A command line that speaks as Docker's does. ``program`` is its absolute path."""

    name: EngineName
    program: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerLimits:
    """What a container may use. Its files lie in memory: the bytes of both directories count as memory too."""

    memory_bytes: int = 2_048 * MIB
    workspace_bytes: int = 1_024 * MIB
    temporary_bytes: int = 256 * MIB
    processes: int = 512
    cpus: float = 1.0
    open_files: int = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSetup:
    """What a container is made from. ``owner`` is who it ends with; None for one that stays until it is removed.

    Its name is known before it is there, so that it can be removed at any moment.

    ``user_processes``: how many processes the kernel lets one user have, where that is bounded on this host.
    """

    name: str
    image: str
    workspace: str
    owner: str | None
    network: bool = False
    user_processes: int | None = None
    user: str = "1000:1000"
    limits: ContainerLimits = ContainerLimits()


def create_argv(engine: ContainerEngine, setup: ContainerSetup) -> list[str]:
    """Makes the container, and prints its id; pulls no image.

    Raises:
        SandboxError: the image, the user or the workspace has no usable name.
    """
    check_container_name(setup.name)
    _require(_IMAGE, setup.image, "image")
    _require(_USER, setup.user, "user")
    _require(_WORKSPACE, setup.workspace, "workspace")
    limits = setup.limits
    owner = setup.owner
    life = [f"--label={KEPT_LABEL}=1"] if owner is None else ["--rm", "--interactive", f"--label={OWNER_LABEL}={owner}"]
    return [
        engine.program,
        "create",
        f"--name={setup.name}",
        *life,
        "--pull=never",
        *([] if setup.network else ["--network=none"]),
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        "--read-only",
        f"--user={setup.user}",
        f"--memory={limits.memory_bytes}",
        f"--memory-swap={limits.memory_bytes}",
        f"--pids-limit={limits.processes}",
        f"--cpus={limits.cpus:g}",
        f"--ulimit=nofile={limits.open_files}:{limits.open_files}",
        "--ulimit=core=0:0",
        _tmpfs(engine, setup.workspace, limits.workspace_bytes),
        _tmpfs(engine, TEMPORARY, limits.temporary_bytes),
        f"--workdir={setup.workspace}",
        "--hostname=sandbox",
        f"--env=HOME={TEMPORARY}",
        "--log-driver=none",
        "--no-healthcheck",
        *_particular(engine, setup),
        "--entrypoint=/bin/sh",
        setup.image,
        "-c",
        KEPT_SCRIPT if owner is None else OWNED_SCRIPT,
    ]


def _tmpfs(engine: ContainerEngine, place: str, size: int) -> str:
    # Podman would copy what the image has there, with its owner and mode.
    own = ",notmpcopyup" if engine.name == "podman" else ""
    return f"--tmpfs={place}:rw,exec,nosuid,nodev,size={size},mode=1777{own}"


def _particular(engine: ContainerEngine, setup: ContainerSetup) -> list[str]:
    if engine.name == "podman":
        # Left to itself it asks for more processes per user than it may set where it is confined itself.
        most = min(_USER_PROCESSES, setup.user_processes or _USER_PROCESSES)
        return ["--http-proxy=false", "--image-volume=ignore", "--systemd=false", f"--ulimit=nproc={most}:{most}"]
    # Docker hands on the proxies of its configuration, with their passwords; what is named here comes first.
    return [] if setup.network else [f"--env={name}=" for name in _PROXIES]


def start_owned_argv(engine: ContainerEngine, container: str) -> list[str]:
    """Starts it for as long as this command's stdin is open."""
    return [engine.program, "start", "--attach", "--interactive", container]


def start_kept_argv(engine: ContainerEngine, container: str) -> list[str]:
    """Starts it; it stays."""
    return [engine.program, "start", container]


def exec_argv(
    engine: ContainerEngine, container: str, script: str, arguments: list[str], *, run: str, **given: str | bool
) -> list[str]:
    """Runs a script by /bin/sh in the container. ``given``: ``stdin`` True hands it on, ``environment_file`` a file of
    variables.
    """
    variables = given.get("environment_file")
    return [
        engine.program,
        "exec",
        *(["--interactive"] if given.get("stdin") else []),
        *([f"--env-file={variables}"] if variables else []),
        f"--env={RUN_VARIABLE}={run}",
        container,
        "/bin/sh",
        "-c",
        WRAPPER,
        "openbuffer",
        run,
        "stdin" if given.get("stdin") else "",
        script,
        *arguments,
    ]


def open_places_argv(engine: ContainerEngine, container: str, workspace: str) -> list[str]:
    """Lets everybody write in the two directories.

    Where the image has one of them, engines give it the image's mode. Both are root's, who needs no capability for it.
    """
    return [engine.program, "exec", "--user=0:0", container, "chmod", "1777", workspace, TEMPORARY]


def allow_processes_argv(engine: ContainerEngine, container: str, processes: int) -> list[str]:
    """Sets another bound of the number of processes; not every Podman can."""
    return [engine.program, "update", f"--pids-limit={processes}", container]


def remove_argv(engine: ContainerEngine, *containers: str) -> list[str]:
    """Ends and removes them, with the volumes that are nobody else's."""
    at_once = ["--time=0"] if engine.name == "podman" else []
    return [engine.program, "rm", "--force", "--volumes", *at_once, *containers]


def list_owned_argv(engine: ContainerEngine) -> list[str]:
    """Prints the ids of all containers that were made to end with an owner."""
    return [engine.program, "ps", "--all", "--quiet", "--no-trunc", f"--filter=label={OWNER_LABEL}"]


def owners_argv(engine: ContainerEngine, containers: list[str]) -> list[str]:
    """Prints id and owner of each, a line for each."""
    template = f'{{{{.Id}}}} {{{{index .Config.Labels "{OWNER_LABEL}"}}}}'
    return [engine.program, "container", "inspect", f"--format={template}", *containers]


def is_running_argv(engine: ContainerEngine, container: str) -> list[str]:
    """Prints whether it runs."""
    return [engine.program, "container", "inspect", "--format={{.State.Running}}", container]


def check_container_name(container: str) -> str:
    """The name or id of a container, if it can be one.

    Raises:
        SandboxError: it cannot.
    """
    _require(_NAME, container, "container")
    return container


def _require(pattern: re.Pattern[str], text: str, what: str) -> None:
    if not pattern.fullmatch(text):
        raise SandboxError(f"{text[:200]!r} is no name of {_ARTICLES[what]} that {_EXAMPLES[what]}")


PROGRAMS: Final = ("cat", "chmod", "head", "ls", "mkdir", "mv", "readlink", "rm", "rmdir", "sleep", "stat", "wc")
"""What the scripts need of an image, besides its shell; Debian's and BusyBox's have all of it."""

PROBE_SCRIPT: Final = f"""lacks=
for name in {" ".join(PROGRAMS)}; do command -v "$name" >/dev/null || lacks="$lacks $name"; done
echo "lacks$lacks"
command -v tar >/dev/null && echo tar
for place in "$1" {TEMPORARY}; do [ -d "$place" ] && [ -w "$place" ] || echo "closed $place"; done
exit 0
"""

OWNED_SCRIPT: Final = f"""echo {READY}
exec 3<&0
cat <&3 >/dev/null &
wait $!
"""
"""The first process. It ends with its stdin, which ends with the owner; meanwhile it collects what others left."""

KEPT_SCRIPT: Final = """trap 'exit 0' TERM
while :; do sleep 3600 & wait $!; done
"""

WRAPPER: Final = f"""run=$1 has_stdin=$2 script=$3; shift 3
[ ! -e "{TEMPORARY}/.openbuffer.$run" ] || exit 1
printf '%s start %s\\n' "$run" "$$" >&2
/bin/sh -c "$script" openbuffer "$@"
code=$?
[ -z "$has_stdin" ] || cat >/dev/null
printf '\\n%s end %s\\n' "$run" "$code" >&2
exit "$code"
"""
"""Around every script. What it tells of itself parts the script's exit codes from the engine's, and is what an end from
outside begins with. It takes in what the script did not, because Podman forgets the output when its input breaks.
"""

COMMAND_SCRIPT: Final = """cd -- "$1" 2>/dev/null || { echo openbuffer-no-directory >&2; exit 1; }
exec /bin/sh -c "$2" </dev/null 2>&1
"""

END_SCRIPT: Final = f"""run=$1 leader=$2
[ -n "$leader" ] || : >"{TEMPORARY}/.openbuffer.$run"
find_them() {{
  found=
  for place in /proc/[0-9]*; do
    id=${{place#/proc/}}
    [ "$id" != 1 ] && [ "$id" != "$$" ] || continue
    {{ read -r line <"$place/stat"; }} 2>/dev/null || continue
    set -- ${{line##*) }}
    [ "$1" != Z ] || continue
    if [ "$4" = "${{leader:-none}}" ] || grep -q "{RUN_VARIABLE}=$run" "$place/environ" 2>/dev/null; then
      found="$found $id"
    fi
  done
  [ -n "$found" ]
}}
find_them || exit 0
kill -s TERM $found 2>/dev/null
tries=0
while [ "$tries" -lt 20 ]; do
  sleep 0.1; find_them || exit 0
  tries=$((tries+1))
done
tries=0
while [ "$tries" -lt 50 ]; do
  kill -s KILL $found 2>/dev/null
  sleep 0.1; find_them || exit 0
  tries=$((tries+1))
done
exit 1
"""
"""Ends a call's processes: those of its session, and those that carry its variable in whatever session."""

READ_SCRIPT: Final = 'exec head -c "$2" -- "$1"'

WRITE_SCRIPT: Final = """path=$1 size=$2 run=$3 above=${1%/*}
mkdir -p -- "${above:-/}" || exit 1
target=$(readlink -f -- "$path" && echo x) || { echo "$path: No such file or directory" >&2; exit 1; }
target=${target%??}
[ ! -d "$target" ] || { echo "$path: Is a directory" >&2; exit 1; }
new=$target.openbuffer-$run
trap 'rm -f -- "$new"' EXIT
cat >"$new" || exit 1
[ "$(($(wc -c <"$new")))" -eq "$size" ] || { echo "$path: only a part of it arrived" >&2; exit 1; }
[ ! -e "$target" ] || chmod "$(stat -c %a -- "$target")" "$new" || exit 1
mv -f -- "$new" "$target"
"""
"""The new content is whole before it takes the old one's place. The x keeps a line end in the name from being lost."""

UNPACK_SCRIPT: Final = "cd / && exec tar -xf -"

MODE_SCRIPT: Final = """chmod "$2" "$1" || exit 1
[ "$((0$(stat -L -c %a -- "$1") & 0777))" -eq "$((0$2))" ] || {
  echo "$1: the file system keeps other permissions" >&2; exit 1
}
"""

_USER_PROCESSES: Final = 16_384
_PROXIES: Final = tuple(
    name
    for each in ("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY")
    for name in (each, each.lower())
)
_IMAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}")
_USER: Final = re.compile(r"[0-9]{1,10}(?::[0-9]{1,10})?")
_WORKSPACE: Final = re.compile(r"/[A-Za-z0-9._/-]{1,511}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,254}")
_ARTICLES: Final = {"image": "an image", "user": "a user", "workspace": "a workspace", "container": "a container"}
_EXAMPLES: Final = {
    "image": 'an engine knows; give one as in "python:3.12-slim"',
    "user": 'is used here; give numbers, as in "1000:1000"',
    "workspace": "can be one; give an absolute path of letters, digits, dots, dashes and slashes",
    "container": "an engine gives; look with `ps`",
}
