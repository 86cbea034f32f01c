"""The environment of commands: the server's own, without what is or looks like a credential (S3).

Judged by the name and by the value. When in doubt a variable is left out: a command that misses one says so, a token
that leaked does not. ``[commands]`` of the user's file has the last word::

    pass_environment = ["SSH_AUTH_SOCK", "CARGO_*"]   # handed on although it looks like a credential
    drop_environment = ["COMPANY_*"]                  # left out although it does not

Of two entries that fit, a whole name counts before a beginning (``NAME_*``), the longer beginning before the shorter,
and of the same ``drop_environment``. So ``drop_environment = ["*"]`` leaves what programs cannot do without, and what
is named to be passed.

What is decided here where it could be otherwise: sockets by which others act for the user are left out (SSH and GPG
agents, the session bus, the editor's own, terminal multiplexers), and so are paths of files that hold credentials. A
proxy, an index or a remote is left out when its URL carries a user name or a password, and kept without.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .config import CommandSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

ESSENTIAL: Final = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z_]+|TERM|COLORTERM|TZ|TMPDIR|TMP|TEMP|PWD|XDG_[A-Z_]+"
    r"|SYSTEMROOT|PATHEXT|COMSPEC|WINDIR"
)
"""Never left out, unless the user names it as a whole: programs do not find their way without."""

_HARMLESS: Final = re.compile(
    r"OLDPWD|SSH_CONNECTION|SSH_CLIENT|SSH_TTY|GPG_TTY|LS_COLORS|LESSKEY|AUTHOR|AWS_(DEFAULT_)?REGION|AWS_PAGER|AWS_CA_BUNDLE"
    r"|DESKTOP_SESSION|GDMSESSION|TERM_SESSION_ID|SESSIONNAME|TOKENIZERS_PARALLELISM|XMODIFIERS"
)
"""Names that would be left out by a rule below and hold nothing secret."""

_SOCKETS: Final = re.compile(
    r"SSH_AUTH_SOCK|SSH_AGENT_PID|GPG_AGENT_INFO|GNOME_KEYRING_(CONTROL|PID)|DBUS_(SESSION|SYSTEM)_BUS_\w+"
    r"|NVIM|NVIM_LISTEN_ADDRESS|VSCODE_(IPC|GIT|NODE)\w*|EMACS_SERVER_FILE|TMUX|STY|KITTY_LISTEN_ON|WEZTERM_UNIX_SOCKET"
    r"|ALACRITTY_SOCKET"
)
_HOLDERS: Final = re.compile(
    r"KUBECONFIG|NETRC|PGPASSFILE|BOTO_CONFIG|DOCKER_CONFIG|DIRENV_DIFF|GH_CONFIG_DIR|\w*ASKPASS|NPM_CONFIG_USERCONFIG"
)
_VENDORS: Final = re.compile(r"AWS_|AZURE_|ARM_|ALICLOUD_|OCI_CLI_|VAULT_|OP_(SESSION|SERVICE)|BW_|DOPPLER_|INFISICAL_")
_OWN: Final = re.compile(r"OPENBUFFER_")

_PARTS: Final = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASSFILE|CREDENTIAL|COOKIE|APIKEY|ACCESSKEY|PRIVATEKEY|CONNECTIONSTRING"
)
"""Found anywhere in a name, its underscores taken out."""

_WORDS: Final = re.compile(
    r"\w*KEYS?(ID|FILE|PATH|DATA|BASE64|B64|PEM|\d+)?|\w*AUTH|AUTHZ|AUTHORIZATION|\w*PASS|PWD|PW|CREDS?|SESSION|SESSIONS|JWT"
    r"|PAT|OTP|BEARER|DSN|WEBHOOK|PEM|PFX|KEYSTORE|KEYTAB|SALT|SIGNATURE"
)
"""One word of a name between underscores."""

_NO_CREDENTIAL_WORDS: Final = frozenset({"BYPASS", "COMPASS", "MONKEY", "HOTKEY", "TURKEY", "KEYPASS"})
_ADDRESSES: Final = re.compile(
    r"(\w+_)?(DATABASE|DB|MONGO|MONGODB|REDIS|POSTGRES|MYSQL|AMQP|RABBITMQ|BROKER)_?(URL|URI)"
)

_USER_IN_URL: Final = re.compile(r"\bhttps?://[^\s/@]{1,512}@", re.IGNORECASE)
"""A user name alone is a token there more often than not. The counts in these expressions bound the time they take."""

_PASSWORD_IN_URL: Final = re.compile(r"[a-z0-9]://[^\s/@:]{0,128}:(?!\d+([/?#,;]|$))[^\s@]{1,512}@", re.IGNORECASE)
_ASSIGNED: Final = re.compile(
    r"(^|[?&;,\s\"'])(password|passwd|pwd|\w{0,40}token|api_?key|\w{0,40}secret|account_?key|(shared_?)?access_?key|sig)=[^\s;&]",
    re.IGNORECASE,
)
_HEADER: Final = re.compile(r"\b(authorization|x-api-key|private-token|cookie)\s*[:=]|\bbearer\s+\S", re.IGNORECASE)
_SHAPES: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\bgh[pousr]_\w{20}|\bgithub_pat_\w{20}|\bglpat-[\w-]{16}|\bsk-[\w-]{20}"
    r"|\bxox[abeoprs]-\w|\b(AKIA|ASIA)[A-Z0-9]{16}\b|\bnpm_[A-Za-z0-9]{36}|\bpypi-[\w-]{40}|\bAIza[\w-]{35}|\beyJ[\w-]{8,}\.eyJ[\w-]{8}"
    r"|\bhf_[A-Za-z0-9]{30}"
)
_VALUE_MAX_CHARS: Final = 32 * 1024
"""A longer value is not judged, and left out."""

_GIT_CONFIG: Final = re.compile(r"GIT_CONFIG_(COUNT|(KEY|VALUE)_\d+)")
"""Handed on together or not at all: git refuses to run where one of them is missing."""


def command_environment(own: Mapping[str, str], settings: CommandSettings | None = None) -> dict[str, str]:
    """The variables that a command gets; ``own`` are the server's."""
    left_out = dropped(own, settings)
    return {name: value for name, value in own.items() if name not in left_out}


def dropped(own: Mapping[str, str], settings: CommandSettings | None = None) -> dict[str, str]:
    """The variables that a command does not get, each with the reason; never with its value."""
    settings = settings or CommandSettings()
    reasons = {name: reason for name, value in own.items() if (reason := _why(name, value, settings))}
    return reasons | _git_config(own, settings)


def credentials(own: Mapping[str, str]) -> dict[str, str]:
    """The variables whose values are credentials, whatever commands get: what of them is met elsewhere is not recorded.

    Not the ones that only lead to one: a path may be told.
    """
    return {name: value for name, value in own.items() if not value.startswith(("/", "~")) and _is_secret(name, value)}


def _is_secret(name: str, value: str) -> bool:
    name = name.upper()
    if ESSENTIAL.fullmatch(name) or _HARMLESS.fullmatch(name) or _SOCKETS.fullmatch(name):
        return False
    return _is_named_so(name) or bool(_by_value(name, value))


def _why(name: str, value: str, settings: CommandSettings) -> str:
    decided = _decided(name, settings)
    if decided is not None:
        return "" if decided else "commands.drop_environment names it"
    if _GIT_CONFIG.fullmatch(name):
        return ""
    return _by_name(name.upper()) or _by_value(name.upper(), value)


def _decided(name: str, settings: CommandSettings) -> bool | None:
    """Whether the user's file has it passed; None where it says nothing of it."""
    passed = max((_weight(entry, name) for entry in settings.pass_environment), default=-1)
    left_out = max((_weight(entry, name) for entry in settings.drop_environment), default=-1)
    if left_out >= 0 and ESSENTIAL.fullmatch(name) and name not in settings.drop_environment:
        return None
    return None if passed == left_out == -1 else passed > left_out


def _weight(entry: str, name: str) -> int:
    """How exactly an entry means this variable; -1 not at all."""
    if entry.endswith("*"):
        return len(entry) - 1 if name.startswith(entry[:-1]) else -1
    return len(name) + 1 if entry == name else -1


def _by_name(name: str) -> str:
    if ESSENTIAL.fullmatch(name) or _HARMLESS.fullmatch(name):
        return ""
    if _OWN.match(name):
        return "is the server's own"
    if _SOCKETS.fullmatch(name):
        return "leads to what acts for the user"
    if _VENDORS.match(name) or _HOLDERS.fullmatch(name) or _ADDRESSES.fullmatch(name):
        return "is known to hold or to lead to credentials"
    return "is named like a credential" if _is_named_so(name) else ""


def _is_named_so(name: str) -> bool:
    return bool(_PARTS.search(name.replace("_", ""))) or any(map(_is_credential_word, name.split("_")))


def _is_credential_word(word: str) -> bool:
    return word not in _NO_CREDENTIAL_WORDS and _WORDS.fullmatch(word) is not None


def _by_value(name: str, value: str) -> str:
    if ESSENTIAL.fullmatch(name) or _HARMLESS.fullmatch(name):
        return ""
    if len(value) > _VALUE_MAX_CHARS:
        return "is too long to be judged"
    if _USER_IN_URL.search(value) or _PASSWORD_IN_URL.search(value):
        return "has a URL with a user name or a password"
    if _ASSIGNED.search(value) or _HEADER.search(value) or _SHAPES.search(value):
        return "has a value that looks like a credential"
    return ""


def _git_config(own: Mapping[str, str], settings: CommandSettings) -> dict[str, str]:
    """Settings for git by the environment, of which one carries a credential: then none of them is handed on."""
    names = [name for name in own if _GIT_CONFIG.fullmatch(name) and _decided(name, settings) is None]
    if not any(_by_value(name, own[name]) for name in names):
        return {}
    return dict.fromkeys(names, "has a value that looks like a credential")
