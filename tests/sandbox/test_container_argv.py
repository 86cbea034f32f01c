"""The command lines of the engine as they are: what a container gets, and what it never gets."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot
from openbuffer.sandbox.container.argv import (
    ContainerEngine,
    ContainerSetup,
    check_container_name,
    create_argv,
    exec_argv,
    remove_argv,
    start_owned_argv,
)
from openbuffer.sandbox.errors import SandboxError

DOCKER = ContainerEngine("docker", "/usr/bin/docker")
PODMAN = ContainerEngine("podman", "/usr/bin/podman")


def made(engine: ContainerEngine = DOCKER, *, owner: str | None = "host:1:2", network: bool = False) -> list[str]:
    setup = ContainerSetup(name="n1", image="debian:12", workspace="/workspace", owner=owner, network=network)
    return create_argv(engine, setup)


@pytest.mark.contract("S4", "S8")
def test_a_container_of_docker_gets_exactly_this() -> None:
    assert made()[:-1] == snapshot(
        [
            "/usr/bin/docker",
            "create",
            "--name=n1",
            "--rm",
            "--interactive",
            "--label=openbuffer.owner=host:1:2",
            "--pull=never",
            "--network=none",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges",
            "--read-only",
            "--user=1000:1000",
            "--memory=2147483648",
            "--memory-swap=2147483648",
            "--pids-limit=512",
            "--cpus=1",
            "--ulimit=nofile=4096:4096",
            "--ulimit=core=0:0",
            "--tmpfs=/workspace:rw,exec,nosuid,nodev,size=1073741824,mode=1777",
            "--tmpfs=/tmp:rw,exec,nosuid,nodev,size=268435456,mode=1777",
            "--workdir=/workspace",
            "--hostname=sandbox",
            "--env=HOME=/tmp",
            "--log-driver=none",
            "--no-healthcheck",
            "--env=HTTP_PROXY=",
            "--env=http_proxy=",
            "--env=HTTPS_PROXY=",
            "--env=https_proxy=",
            "--env=FTP_PROXY=",
            "--env=ftp_proxy=",
            "--env=NO_PROXY=",
            "--env=no_proxy=",
            "--env=ALL_PROXY=",
            "--env=all_proxy=",
            "--entrypoint=/bin/sh",
            "debian:12",
            "-c",
        ]
    )


def test_a_container_of_podman_differs_only_in_what_podman_does_by_itself() -> None:
    docker, podman = set(made()[1:]), set(made(PODMAN)[1:])
    assert sorted(podman - docker) == snapshot(
        [
            "--http-proxy=false",
            "--image-volume=ignore",
            "--systemd=false",
            "--tmpfs=/tmp:rw,exec,nosuid,nodev,size=268435456,mode=1777,notmpcopyup",
            "--tmpfs=/workspace:rw,exec,nosuid,nodev,size=1073741824,mode=1777,notmpcopyup",
            "--ulimit=nproc=16384:16384",
        ]
    )
    assert {option for option in docker - podman if "PROXY" not in option.upper()} == snapshot(
        {
            "--tmpfs=/tmp:rw,exec,nosuid,nodev,size=268435456,mode=1777",
            "--tmpfs=/workspace:rw,exec,nosuid,nodev,size=1073741824,mode=1777",
        }
    )


@pytest.mark.contract("S8")
@pytest.mark.parametrize("engine", [DOCKER, PODMAN])
@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("owner", ["host:1:2", None])
def test_nothing_of_the_host_is_given_to_a_container(engine: ContainerEngine, network: bool, owner: str | None) -> None:
    options = made(engine, owner=owner, network=network)[2:-3]
    assert all(option.startswith("--") for option in options), "no option takes a word of its own"
    names = {option.partition("=")[0] for option in options}
    given = {"--volume", "--mount", "--device", "--privileged", "--cap-add", "--pid", "--ipc", "--publish", "--gpus"}
    assert names & given == set()
    assert {"--cap-drop=ALL", "--security-opt=no-new-privileges", "--read-only", "--pull=never"} <= set(options)
    assert ("--network=none" in options) is not network
    assert ("--rm" in options) is (owner is not None)


@pytest.mark.parametrize("image", ["", "-v/:/x", "--privileged", "a b", "a\nb", "a;b", "$(x)"])
def test_an_image_that_is_none_does_not_become_an_option(image: str) -> None:
    with pytest.raises(SandboxError, match="image"):
        create_argv(DOCKER, ContainerSetup(name="n1", image=image, workspace="/w", owner=None))


@pytest.mark.parametrize(
    ("user", "workspace"), [("root", "/w"), ("-x", "/w"), ("0", "w"), ("0", "/w:rw"), ("0", "/a,b")]
)
def test_a_user_and_a_workspace_are_what_they_should_be(user: str, workspace: str) -> None:
    with pytest.raises(SandboxError):
        create_argv(DOCKER, ContainerSetup(name="n1", image="a", workspace=workspace, owner=None, user=user))


@pytest.mark.parametrize("name", ["", "-f", "a b", "a/b", "x" * 300])
def test_a_container_is_called_by_a_name(name: str) -> None:
    with pytest.raises(SandboxError):
        check_container_name(name)


def test_what_runs_is_arguments_and_never_a_line() -> None:
    argv = exec_argv(DOCKER, "c1", "exec cat", ["/a b", "$(x)"], run="7", stdin=True, environment_file="/dev/fd/9")
    wrapper = argv[9]
    assert argv == snapshot(
        [
            "/usr/bin/docker",
            "exec",
            "--interactive",
            "--env-file=/dev/fd/9",
            "--env=OPENBUFFER_RUN=7",
            "c1",
            "/bin/sh",
            "-c",
            """\
run=$1 has_stdin=$2 script=$3; shift 3
[ ! -e "/tmp/.openbuffer.$run" ] || exit 1
printf '%s start %s\\n' "$run" "$$" >&2
/bin/sh -c "$script" openbuffer "$@"
code=$?
[ -z "$has_stdin" ] || cat >/dev/null
printf '\\n%s end %s\\n' "$run" "$code" >&2
exit "$code"
""",
            "openbuffer",
            "7",
            "stdin",
            "exec cat",
            "/a b",
            "$(x)",
        ]
    )
    assert "$(x)" not in wrapper


def test_starting_and_removing() -> None:
    assert [start_owned_argv(DOCKER, "c1"), remove_argv(DOCKER, "c1"), remove_argv(PODMAN, "c1")] == snapshot(
        [
            ["/usr/bin/docker", "start", "--attach", "--interactive", "c1"],
            ["/usr/bin/docker", "rm", "--force", "--volumes", "c1"],
            ["/usr/bin/podman", "rm", "--force", "--volumes", "--time=0", "c1"],
        ]
    )
