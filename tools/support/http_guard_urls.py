"""A URL as it will be fetched, in the one spelling that every reader of URLs takes in the same way.

Whoever judges the URL, whoever resolves its host and whoever sends the request must not differ about what the host is.
So it is taken apart once, what readers differ about is refused or written out, and it is put together again: an
address in an odd notation (``2130706433``, ``0x7f.1``) as the address that it is, a name as its ASCII form.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urljoin

from ..contract import UrlTarget
from ..limits import WEB_URL_MAX_CHARS
from .http_guard_errors import BlockedAddressError, UrlRefusedError
from .located import printable

if TYPE_CHECKING:
    from .http_guard_addresses import Address
    from .http_guard_settings import Allowances, WebSettings

_SHAPE: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#.*)?",
    re.DOTALL,
)
_AUTHORITY: Final = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{0,5}))?")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_UNWANTED: Final = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\ufeff]")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_NOT_HTTP: Final = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, *range(6665, 6670), 6679, 6697, 10080}
)
"""Ports from 1024 on that belong to other protocols, and that browsers do not connect to either."""


def url_target(text: str) -> UrlTarget:
    """The target of a request for this URL.

    Raises:
        UrlRefusedError: it is none that is fetched.
    """
    url = text.strip(" \t\r\n")
    shown = printable(_without_credentials(url)[:200])
    if len(url) > WEB_URL_MAX_CHARS:
        raise UrlRefusedError(f"{shown}…: the URL has {len(url)} characters; at most {WEB_URL_MAX_CHARS} are taken.")
    shape = _SHAPE.fullmatch(url)
    if shape is None or shape["scheme"].lower() not in _DEFAULT_PORTS:
        raise UrlRefusedError(f"{shown}: {_why_no_url(url)} Give an absolute URL that begins with https:// or http://.")
    if "@" in shape["authority"]:
        raise UrlRefusedError(
            f"{shown}: a URL with a user name or password in it is not fetched. Leave out what "
            "stands before the @; if the site needs credentials, send them as a header."
        )
    if _UNWANTED.search(url) or "\\" in shape["authority"] + shape["path"]:
        raise UrlRefusedError(
            f"{shown}: there is a space, a control character or a backslash in the URL. Write it percent-encoded "
            "(%20, %5C), or leave it out."
        )
    scheme = shape["scheme"].lower()
    authority = _AUTHORITY.fullmatch(shape["authority"])
    if authority is None:
        raise UrlRefusedError(f"{shown}: {printable(shape['authority'])} is no host with a port. Correct the URL.")
    host = _host(authority["host"], shown)
    port = int(authority["port"] or _DEFAULT_PORTS[scheme])
    if not 0 < port < 65_536:
        raise UrlRefusedError(f"{shown}: {port} is no port. Correct the URL.")
    at = "" if port == _DEFAULT_PORTS[scheme] else f":{port}"
    path = _encoded(shape["path"]) or "/"
    query = f"?{_encoded(shape['query'])}" if shape["query"] else ""
    return UrlTarget(url=f"{scheme}://{host}{at}{path}{query}", host=host, port=port)


def redirected_target(source: UrlTarget, location: str) -> UrlTarget:
    """The target that a ``Location`` header means.

    Raises:
        UrlRefusedError: it is none that is fetched.
    """
    location = location.strip(" \t\r\n").replace(" ", "%20")
    return url_target(location if _SCHEME.match(location) else urljoin(source.url, location))


def check_target(target: UrlTarget, settings: WebSettings, allowances: Allowances) -> None:
    """Refuse what needs no look-up to be refused: ports, names of this machine, addresses.

    Raises:
        UrlRefusedError: the port is none at which the web is served.
        BlockedAddressError: the host is an address, or a name, that is not of the public internet.
    """
    host, port = target.host, target.port
    if allowances.names_host(host, port):
        return
    address = address_of(host)
    if address is not None and (why := allowances.why_blocked(host, port, address)):
        raise blocked(target, f"{host} is {why}")
    if host == "localhost" or host.endswith(".localhost"):
        raise blocked(target, f"{host} is this machine")
    usual = port in _DEFAULT_PORTS.values() or (port >= 1024 and port not in _NOT_HTTP)
    if not usual and port not in settings.allowed_ports:
        raise UrlRefusedError(
            f"{printable(target.url)}: port {port} is not one at which the web is served, and the configuration does "
            "not allow it. Use the port of the web site; the user can allow others (allowed_ports)."
        )


def blocked(target: UrlTarget, why: str) -> BlockedAddressError:
    """The refusal of a host for its address."""
    return BlockedAddressError(
        f"{printable(target.url)}: {why}, and only hosts of the public internet are fetched. No byte was sent there. "
        "If this host is meant, the user can allow it in the configuration of the web (allowed_hosts)."
    )


def address_of(host: str) -> Address | None:
    """The address that the host of a target is; None for a name."""
    try:
        return ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def is_same_origin(one: UrlTarget, other: UrlTarget) -> bool:
    """Whether what was meant for one may be sent to the other: the same host, port and scheme."""
    return (one.host, one.port, one.url.partition(":")[0]) == (other.host, other.port, other.url.partition(":")[0])


def _why_no_url(url: str) -> str:
    scheme = _SCHEME.match(url)
    if scheme is None:
        return "it is no absolute URL."
    if scheme.group().lower() in {"http:", "https:"}:
        return "it names no host."
    return f"{scheme.group()[:30]} is not fetched, only http and https."


def _without_credentials(url: str) -> str:
    return re.sub(r"//[^/?#]*@", "//…@", url)


def _host(text: str, shown: str) -> str:
    if text.startswith("["):
        return _ipv6(text[1:-1], shown)
    name = _ascii(text, shown).removesuffix(".")
    labels = name.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _ipv4(labels, shown)
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise UrlRefusedError(f"{shown}: {printable(text) or 'nothing'} is no name of a host. Correct the URL.")
    return name


def _ipv6(text: str, shown: str) -> str:
    if "%" in text:
        raise UrlRefusedError(f"{shown}: an address with a zone (%) is not fetched. Use the name of a public host.")
    try:
        return f"[{IPv6Address(text).compressed}]"
    except ValueError:
        raise UrlRefusedError(f"{shown}: {printable(text)} is no IPv6 address. Correct the URL.") from None


def _ascii(text: str, shown: str) -> str:
    if text.isascii():
        return text.lower()
    import idna  # noqa: PLC0415  its tables are large, and most hosts are ASCII

    try:
        return idna.encode(text.rstrip("."), uts46=True).decode("ascii").lower()
    except (idna.IDNAError, UnicodeError):
        raise UrlRefusedError(
            f"{shown}: {printable(text)} is no name of a host. Correct it, or write it in its ASCII form (xn--…)."
        ) from None


def _ipv4(labels: list[str], shown: str) -> str:
    """An address in any of the notations that resolvers take: one to four numbers, decimal, octal or hexadecimal."""
    try:
        numbers = [_number(label) for label in labels]
        *heads, last = numbers
        if len(numbers) > 4 or any(head > 255 for head in heads) or last >= 256 ** (5 - len(numbers)):
            raise ValueError
    except ValueError:
        raise UrlRefusedError(f"{shown}: {'.'.join(labels)} is no IPv4 address. Correct the URL.") from None
    value = last + sum(head << (8 * (3 - place)) for place, head in enumerate(heads))
    return str(IPv4Address(value))


def _number(label: str) -> int:
    if not _NUMBER.fullmatch(label) or len(label) > 40:
        raise ValueError
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8 if label.startswith("0") else 10) if label else 0


def _encoded(text: str) -> str:
    return quote(text, safe="!$%&'()*+,-./:;=?@[]_~")
