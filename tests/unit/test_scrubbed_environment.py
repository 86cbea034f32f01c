"""Which of the server's variables a command gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.bridge.config import CommandSettings
from openbuffer.bridge.environment import command_environment, credentials, dropped

LEFT_OUT = """
AWS_SECRET_ACCESS_KEY=x AWS_ACCESS_KEY_ID=x AWS_SESSION_TOKEN=x AWS_PROFILE=prod AZURE_CLIENT_ID=x
ARM_CLIENT_SECRET=x GOOGLE_APPLICATION_CREDENTIALS=/home/u/key.json GH_TOKEN=x GITHUB_TOKEN=x GITLAB_TOKEN=x
NPM_TOKEN=x npm_config__auth=x npm_config_//registry.example.org/:_authToken=x PYPI_PASSWORD=x TWINE_PASSWORD=x
OPENAI_API_KEY=x ANTHROPIC_AUTH_TOKEN=x BRAVE_API_KEY=x MYSQL_PWD=x PGPASSWORD=x PGPASSFILE=/home/u/.pgpass
DB_PASS=x DBPASS=x SSHPASS=x DATABASE_URL=sqlite:///x STAGING_DATABASE_URL=x SENTRY_DSN=x SLACK_WEBHOOK=x
SESSION_SECRET=x SESSION=x COOKIE_JAR=x HTTP_COOKIE=x JWT=x GITHUB_PAT=x authToken=x githubtoken=x
DOCKER_AUTH_CONFIG={} CI_JOB_JWT=x SIGNING_KEYS=x PRIVATE_KEY_PATH=/k APIKEY=x GPG_PASSPHRASE=x
SSH_AUTH_SOCK=/run/agent SSH_ASKPASS=/bin/ask GIT_ASKPASS=/bin/ask GPG_AGENT_INFO=/run/gpg
DBUS_SESSION_BUS_ADDRESS=unix:path=/run/bus NVIM=/run/nvim.sock VSCODE_GIT_IPC_HANDLE=/run/git.sock
TMUX=/tmp/tmux,1,0 DIRENV_DIFF=eJx KUBECONFIG=/home/u/.kube/config OPENBUFFER_LOG=DEBUG VAULT_ADDR=https://vault
HTTPS_PROXY=http://user:pw@proxy:3128 https_proxy=http://:pw@proxy:3128
PIP_INDEX_URL=https://u:p@pypi.example.org/simple UV_INDEX_URL=https://token@pypi.example.org/simple
ORIGIN=https://ghp_x@github.com/a/b CACHE=redis://:pw@cache:6379/0 BACKEND=postgres://u:p/w@db/x
MIRROR=ftp://u:p@h/ EXTRA=https://h/?access_token=x BLOB=https://b/?sv=1&sig=abc LIBPQ=host=h;password=x
STORAGE=AccountName=a;AccountKey=abc= CURL_HEADERS=Authorization:Basic PLAIN=ghp_0123456789abcdefghijk
LETTERS=github_pat_0123456789abcdefghijk MODEL=sk-0123456789abcdefghijk CHAT=xoxb-1 CLOUD=AKIAABCDEFGHIJKLMNOP
ID=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0 FILE=-----BEGIN
""".split()  # noqa: SIM905  a table, not code

KEPT = """
PATH=/usr/bin HOME=/home/u USER=u LOGNAME=u SHELL=/bin/bash LANG=C.UTF-8 LC_ALL=C TERM=xterm COLORTERM=truecolor
TZ=UTC TMPDIR=/tmp TMP=/tmp TEMP=/tmp PWD=/w OLDPWD=/w XDG_RUNTIME_DIR=/run/user/1 XDG_SESSION_ID=1
XDG_CONFIG_HOME=/c XDG_SESSION_TYPE=tty SSH_CONNECTION=1 SSH_TTY=/dev/pts/1 GPG_TTY=/dev/pts/1 DISPLAY=:0
WAYLAND_DISPLAY=w EDITOR=vi PAGER=less VIRTUAL_ENV=/v PYTHONPATH=/p NODE_OPTIONS=--x GOPATH=/g CARGO_HOME=/c
JAVA_HOME=/j LD_LIBRARY_PATH=/l CC=gcc CFLAGS=-O2 MAKEFLAGS=-j2 GIT_AUTHOR_NAME=u GIT_EDITOR=vi AUTHOR=u
KEYBOARD=us LESSKEY=/l LS_COLORS=*.key=01;31:*.pwd=0 AWS_REGION=eu AWS_DEFAULT_REGION=eu
TOKENIZERS_PARALLELISM=false BYPASS=1 COMPASS=n HTTP_PROXY=http://proxy:3128 NO_PROXY=localhost
PIP_INDEX_URL=https://pypi.example.org/simple npm_config_registry=https://registry.example.org:4873/@a/b
GIT_SSH_COMMAND=ssh REMOTE=ssh://git@github.com/a/b SCOPE=http://localhost:8080/@scope/p CI=true
GITHUB_ACTIONS=true HOSTALIASES=a@b:c EMAIL=u@example.org DOCKER_HOST=unix:///run/docker.sock
GIT_TERMINAL_PROMPT=0 DEBUG=* COLUMNS=80
""".split()  # noqa: SIM905  a table, not code


def variable(line: str) -> tuple[str, str]:
    name, _, value = line.partition("=")
    if name.startswith("npm_config_//"):
        name, _, value = line.rpartition("=")
    return (name, "-----BEGIN RSA PRIVATE KEY-----\nabc") if name == "FILE" else (name, value)


@pytest.mark.contract("S3")
@pytest.mark.parametrize("line", LEFT_OUT)
def test_what_is_or_looks_like_a_credential_is_left_out(line: str) -> None:
    name, value = variable(line)
    assert command_environment({name: value, "PATH": "/bin"}) == {"PATH": "/bin"}
    reason = dropped({name: value})[name]
    assert reason
    assert len(value) < 6 or value not in reason


@pytest.mark.contract("S3")
@pytest.mark.parametrize("line", KEPT)
def test_what_programs_need_and_what_is_harmless_is_handed_on(line: str) -> None:
    name, value = variable(line)
    assert command_environment({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("passed", "left_out", "name", "is_there"),
    [
        (["GH_TOKEN"], [], "GH_TOKEN", True),
        (["GH_*"], [], "GH_TOKEN", True),
        (["GH_*"], [], "GITHUB_TOKEN", False),
        (["gh_token"], [], "GH_TOKEN", False),
        ([], ["EDITOR"], "EDITOR", False),
        ([], ["EDIT*"], "EDITOR", False),
        (["GH_*"], ["GH_TOKEN"], "GH_TOKEN", False),
        (["GH_TOKEN"], ["GH_*"], "GH_TOKEN", True),
        (["GH_TO*"], ["GH_*"], "GH_TOKEN", True),
        (["GH_*"], ["GH_*"], "GH_TOKEN", False),
        (["EDITOR"], ["*"], "EDITOR", True),
        ([], ["*"], "EDITOR", False),
        ([], ["*"], "PATH", True),
        ([], ["XDG_*"], "XDG_RUNTIME_DIR", True),
        ([], ["PATH"], "PATH", False),
        (["*"], [], "GH_TOKEN", True),
        (["HTTPS_PROXY"], [], "HTTPS_PROXY", True),
    ],
)
def test_the_users_file_has_the_last_word(passed: list[str], left_out: list[str], name: str, is_there: bool) -> None:
    settings = CommandSettings(pass_environment=tuple(passed), drop_environment=tuple(left_out))
    own = {name: "http://u:p@h/" if name.endswith("PROXY") else "x"}
    assert (name in command_environment(own, settings)) is is_there


def test_settings_of_git_are_handed_on_together_or_not_at_all() -> None:
    safe = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.pager", "GIT_CONFIG_VALUE_0": "cat"}
    assert command_environment(safe) == safe
    secret = {**safe, "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_1": "http.extraHeader"}
    secret["GIT_CONFIG_VALUE_1"] = "AUTHORIZATION: basic abc"
    assert command_environment(secret) == {}


@given(
    st.dictionaries(st.text(st.characters(codec="ascii", categories=["Lu", "Ll", "Nd", "Pc"]), min_size=1), st.text())
)
def test_nothing_is_changed_or_invented_and_every_absence_has_a_reason(own: dict[str, str]) -> None:
    handed = command_environment(own)
    assert handed.items() <= own.items()
    assert dropped(own).keys() == own.keys() - handed.keys()


def test_no_value_keeps_its_judge_busy() -> None:
    for text in ("a", "a://", "a://b:", "x:", "x=", "token", "https://"):
        value = text * (32_000 // len(text))
        assert command_environment({"TEXT": value}) == {"TEXT": value}


def test_a_value_that_is_too_long_to_be_judged_is_left_out() -> None:
    assert dropped({"TEXT": "a" * 33_000}) == {"TEXT": "is too long to be judged"}


@pytest.mark.contract("X7")
def test_what_is_not_to_be_recorded_are_credentials_and_not_the_way_to_one() -> None:
    own = {
        "GITHUB_TOKEN": "abcdefghij",
        "AWS_SECRET_ACCESS_KEY": "abc",
        "AWS_PROFILE": "production",
        "DATABASE_URL": "postgres://eva:secret@db/x",
        "PIP_INDEX_URL": "https://eva:secret@pypi.example/simple",
        "KUBECONFIG": "/home/eva/.kube/config",
        "SSH_AUTH_SOCK": "/run/agent",
        "API_KEY_FILE": "~/key",
        "PATH": "/bin",
        "EDITOR": "nvim",
        "OPENBUFFER_LOG": "DEBUG",
    }
    assert sorted(credentials(own)) == ["AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "GITHUB_TOKEN", "PIP_INDEX_URL"]
