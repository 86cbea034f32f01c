"""An excluded program runs unconfined when the line runs nothing else; everything in doubt stays confined (S7)."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from openbuffer.sandbox.confinement.exclusions import LAUNCHERS, SHELL_WORDS, Exclusion, exclusion_of, plain_words

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.contract("S7")


class Host:
    """A machine with a program ``docker`` in ``bin`` and a workspace."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.bin = base / "bin"
        self.ws = base / "ws"
        self.ws.mkdir()
        self.program(self.bin / "docker")
        self.environment = {"PATH": f"{self.bin}:/usr/bin:/bin"}

    def program(self, path: Path, content: str = "ELF") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(0o755)
        return path

    def judge(self, line: str, *excluded: str) -> Exclusion:
        return exclusion_of(
            line, excluded=excluded or ("docker",), environment=self.environment, writable=[str(self.ws)]
        )


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path.resolve())


@pytest.mark.parametrize(
    "line",
    [
        "docker",
        "  docker ps -a\t",
        "docker run --rm -v a:/b -e X=1 img@sha256:0 cmd",
        "docker build -t 'a b; c' \"one two\" --label='x'y\"z\"",
        "docker commit -m 'für alle $x `y`'",
    ],
)
def test_one_plain_command_of_the_program_is_excluded(host: Host, line: str) -> None:
    found = host.judge(line)
    assert found == Exclusion(program=str(host.bin / "docker"))


@pytest.mark.parametrize(
    "line",
    [
        "docker ps; rm x", "docker ps && rm x", "docker ps || rm x", "docker ps | sh", "docker ps & rm x",
        "docker ps &", "docker ps\nrm x", "docker ps\rrm x", "docker\\\nps", "docker ps #\nrm x", "docker ps # x",
        "docker $(rm x)", "docker `rm x`", 'docker "$(rm x)"', 'docker "`rm x`"', "docker $X", 'docker "$X"',
        "docker ${X}", "docker <(rm x)", "docker > x", "docker < x", "docker 2>&1", "docker <<E\nE", "docker <<< x",
        "docker *", "docker a?", "docker [ab]", "docker {a,b}", "docker ~", "docker a=~/x", "docker !x", 'docker "!x"',
        "X=1 docker", "PATH=/ws docker", "(docker)", "{ docker; }", "! docker", "if docker; then rm x; fi",
        "docker() { rm x; }", "function docker { rm x; }", "alias docker=rm", "time docker", "exec docker",
        "eval docker", "command docker", "env docker", "env X=1 docker", "sudo docker", "xargs docker",
        "bash -c docker", "nohup docker",
        "'docker' ps", '"docker" ps', "doc'ker' ps", "dock\\er ps", "docker\\ ps", "do$''cker",
        "./docker", "bin/docker", "../bin/docker", "rm docker", "docker-compose", "dockerx", "Docker", "docker'x'",
        "docker 'unended", 'docker "unended', "docker 'a\nb'", "docker \x00", "docker\u00a0ps", "d\u043ecker ps",
        "docker \u2028x",
        "docker^x", "docker;", ";docker", "", " ", "docker " + "x" * 40_000,
    ],
)  # fmt: skip
def test_everything_else_stays_confined(host: Host, line: str) -> None:
    assert not host.judge(line).is_excluded


def test_a_line_of_more_than_the_program_is_told_why_it_stays(host: Host) -> None:
    assert "more than one plain command" in host.judge("docker ps | sh").because
    assert host.judge("ls").because == ""


def test_a_path_means_the_program_only_where_it_is_the_one_of_the_name(host: Host) -> None:
    other = host.program(host.base / "other/docker")
    assert host.judge(f"{host.bin}/docker ps").is_excluded
    assert not host.judge(f"{other} ps").is_excluded
    assert "same name" in host.judge(f"{other} ps").because
    assert host.judge(f"{other} ps", str(other)).is_excluded
    assert not host.judge("docker ps", str(other)).is_excluded
    (host.base / "link").symlink_to(host.bin)
    assert host.judge(f"{host.base}/link/docker ps").is_excluded


def test_another_name_of_the_same_file_is_another_program(host: Host) -> None:
    (host.bin / "rm").symlink_to("docker")
    os.link(host.bin / "docker", host.bin / "dd")
    assert not host.judge("rm x").is_excluded
    assert not host.judge(f"{host.bin}/dd x").is_excluded


def test_a_program_that_commands_can_write_is_not_excluded(host: Host) -> None:
    host.program(host.ws / "bin/docker")
    host.environment["PATH"] = f"{host.ws}/bin:{host.bin}"
    assert "commands may write" in host.judge("docker ps").because
    assert not host.judge(f"{host.ws}/bin/docker ps").is_excluded
    assert not host.judge(f"{host.ws}/bin/docker ps", f"{host.ws}/bin/docker").is_excluded


def test_a_place_on_the_path_where_commands_could_put_the_program_next_counts(host: Host) -> None:
    host.environment["PATH"] = f"{host.ws}/not-yet:{host.bin}"
    assert not host.judge("docker ps").is_excluded
    host.environment["PATH"] = f"{host.bin}:{host.ws}/not-yet"
    assert host.judge("docker ps").is_excluded


@pytest.mark.parametrize("path", ["{ws}", ".:{bin}", ":{bin}", "rel:{bin}", "", "{bin}/../ws:{bin}"])
def test_a_path_that_the_working_directory_decides_is_not_followed(host: Host, path: str) -> None:
    host.environment["PATH"] = path.format(ws=host.ws, bin=host.bin)
    assert not host.judge("docker ps").is_excluded


def test_a_link_on_the_way_that_lies_in_the_workspace_counts(host: Host) -> None:
    real = host.program(host.base / "real/docker")
    (host.ws / "hop").symlink_to(real)
    (host.bin / "docker").unlink()
    (host.bin / "docker").symlink_to(host.ws / "hop")
    assert f"leads through {host.ws}" in host.judge("docker ps").because
    (host.bin / "docker").unlink()
    (host.bin / "docker").symlink_to("docker")
    assert not host.judge("docker ps").is_excluded


@pytest.mark.parametrize(
    "interpreter", ["{ws}/python", "/usr/bin/env -S tool -x", "/usr/bin/env X=1 tool", "{bin}/script"]
)
def test_a_script_whose_interpreter_commands_can_write_is_not_excluded(host: Host, interpreter: str) -> None:
    host.program(host.ws / "tool")
    host.program(host.bin / "script", f"#!{host.ws}/python\n")
    host.program(host.bin / "docker", f"#!{interpreter.format(ws=host.ws, bin=host.bin)}\n")
    host.environment["PATH"] = f"{host.bin}:{host.ws}:/usr/bin"
    assert "is a script" in host.judge("docker ps").because
    host.program(host.bin / "docker", "#! /bin/sh -e\n")
    assert host.judge("docker ps").is_excluded


@pytest.mark.parametrize("name", ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_FUNC_docker%%", "ZDOTDIR"])
def test_an_environment_that_changes_the_shell_keeps_the_line_confined(host: Host, name: str) -> None:
    host.environment[name] = "() { rm x; }"
    assert name in host.judge("docker ps").because


@pytest.mark.parametrize("name", sorted(LAUNCHERS | SHELL_WORDS))
def test_what_runs_other_programs_is_never_excluded(host: Host, name: str) -> None:
    if "/" not in name and name not in {".", ".."}:
        host.program(host.bin / name)
    assert not host.judge(f"{name} rm x", name).is_excluded


WORDS = st.text("ab1 \t'\"$`\\!;&|<>(){}[]*?~#=/.-\n\u00e9\u00a0", max_size=12)


@given(WORDS)
@example("'a'\"b\"")
@example("a 'b  c'\t\"\u00e9\"")
def test_words_that_are_taken_for_plain_are_what_a_shell_reads(line: str) -> None:
    """Against an independent reader, and, where they are few, against the shell itself."""
    words = plain_words(f"x {line}")
    if words:
        assert list(words) == shlex.split(f"x {line}")


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_plain_lines_mean_to_a_shell_what_they_mean_here(shell: str) -> None:
    lines = [
        "printf a b 'c  d' \"e f\" g'h'\"i\" -x=1 k:l,m@n%o+p ''",
        "printf 'ü $x `y` \\n ; | & # * ~' \"*~#;|&<>(){}[]?\" a=b",
        "\tprintf  a\t 'b\tc' ",
    ]
    for line in lines:
        words = plain_words(line)
        script = line.strip().replace("printf", "set --", 1) + '; for w in "$@"; do printf "%s\\0" "$w"; done'
        told = subprocess.run([shell, "-c", script], check=True, capture_output=True).stdout.decode()
        assert told.split("\0")[:-1] == list(words[1:])
