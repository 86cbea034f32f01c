"""What a composition root decides about the web. Pure: no module of the network is imported here (T9)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Final, TypeAlias

from ..errors import ToolDefinitionError
from ..limits import WEB_BODY_MAX_BYTES, WEB_OUTPUT_MAX_CHARS, WEB_REDIRECTS_MAX, WEB_TIMEOUT_S
from .http_guard_addresses import is_private_network, why_blocked

if TYPE_CHECKING:
    from .http_guard_addresses import Address

Network: TypeAlias = IPv4Network | IPv6Network

_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME: Final = re.compile(rf"(?:\*\.)?(?:{_LABEL}\.)*{_LABEL}")
_PROXY: Final = re.compile(
    r"https?://(?:[^/?#@\s]*@)?(?:\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::(?P<port>[0-9]{1,5}))?/?", re.IGNORECASE | re.ASCII
)
_WITH_PORT: Final = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """How the web is reached, and which hosts may be reached that are not of the public internet.

    ``allowed_hosts``: names (``wiki.corp.example``, ``*.corp.example`` for what is below), addresses and networks
    (``127.0.0.1``, ``[::1]``, ``10.20.0.0/16``); a name or an address may end with the one port that is meant
    (``localhost:3000``). A name allows private and loopback addresses, whatever it resolves to; metadata services and
    link-local addresses only an entry with that very address or network allows. Hosts that are allowed are reached at
    any port, and never through the proxy.

    ``allowed_ports`` are ports below 1024, or otherwise left out, at which public hosts may be reached besides the
    usual ones. ``proxy`` is the URL of an HTTP proxy, which may carry credentials; the environment's is never used.
    Names are then resolved by the proxy; what does resolve here is checked all the same. ``authorities`` is a PEM file
    of certificate authorities that are trusted besides the usual ones. Sizes are bytes, times seconds.

    Raises:
        ToolDefinitionError: a value that cannot be meant.
    """

    allowed_hosts: tuple[str, ...] = ()
    allowed_ports: tuple[int, ...] = ()
    proxy: str | None = field(default=None, repr=False)
    authorities: str | None = None
    user_agent: str = "openbuffer/1"
    timeout_s: float = WEB_TIMEOUT_S
    max_bytes: int = WEB_BODY_MAX_BYTES
    max_redirects: int = WEB_REDIRECTS_MAX
    max_output_chars: int = WEB_OUTPUT_MAX_CHARS

    def __post_init__(self) -> None:
        Allowances(self)
        if self.proxy is not None and not _is_proxy(self.proxy):
            raise ToolDefinitionError(
                "the proxy of the web is to be a URL with http or https, such as http://proxy:3128"
            )
        if any(not 0 < port < 65_536 for port in self.allowed_ports):
            raise ToolDefinitionError("allowed_ports of the web: a port is a number from 1 to 65535")
        if self.timeout_s <= 0 or self.max_bytes <= 0 or self.max_redirects < 0 or self.max_output_chars <= 0:
            raise ToolDefinitionError("the limits of the web are to be above zero")
        if not self.user_agent.isascii() or not self.user_agent.isprintable():
            raise ToolDefinitionError("user_agent of the web is to be printable ASCII")


LiveWebSettings: TypeAlias = WebSettings | Callable[[], WebSettings | None] | None
"""The settings, or what gives those that hold now, at once; None is that the web is switched off."""


class Allowances:
    """The allowed hosts of the settings, read.

    Raises:
        ToolDefinitionError: an entry that is no name, address or network.
    """

    def __init__(self, settings: WebSettings) -> None:
        self._names: list[tuple[str, int | None]] = []
        self._networks: list[tuple[Network, int | None]] = []
        for entry in settings.allowed_hosts:
            self._read(entry)

    def names_host(self, host: str, port: int) -> bool:
        """Whether an entry is about this host by its name, or by its address where ``host`` is one."""
        address = _address(host)
        if address is not None:
            return self._names_address(address, port)
        return any(_is_meant(name, host) for name, at in self._names if at in {None, port})

    def why_blocked(self, host: str, port: int, address: Address) -> str:
        """Why this address of the host is not to be connected to; empty where it may be."""
        why = why_blocked(address)
        if not why or self._names_address(address, port):
            return ""
        if is_private_network(address) and self.names_host(host, port):
            return ""
        return why

    def _names_address(self, address: Address, port: int) -> bool:
        return any(address in network for network, at in self._networks if at in {None, port})

    def _read(self, entry: str) -> None:
        text, port = entry.strip().lower(), None
        if split := _WITH_PORT.fullmatch(text):
            text, port = split["host"], int(split["port"])
        text = text.rstrip(".")
        network = _network(text.removeprefix("[").removesuffix("]"))
        if network is not None and network.prefixlen > 0 and (port is None or 0 < port < 65_536):
            self._networks.append((network, port))
        elif network is None and _NAME.fullmatch(text) and (port is None or 0 < port < 65_536):
            self._names.append((text, port))
        else:
            raise ToolDefinitionError(
                f"{entry!r} is no host that can be allowed: expected is a name such as wiki.corp.example, "
                "*.corp.example or localhost:3000, an address, or a network such as 10.20.0.0/16; a name that is not "
                "ASCII is written with xn--"
            )


def _is_proxy(url: str) -> bool:
    found = _PROXY.fullmatch(url)
    return found is not None and 0 < int(found["port"] or 80) < 65_536


def _is_meant(pattern: str, host: str) -> bool:
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern


def _address(host: str) -> Address | None:
    try:
        return ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def _network(text: str) -> Network | None:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        return None
