"""Which IP addresses may be connected to: those of the public internet, and no others (W1).

An allow-list on top of ``ipaddress``: its ``is_global`` is true of multicast, of translated and of tunnelled addresses,
which lead wherever the address inside of them does. What is not known to be public is refused.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address


def why_blocked(address: Address) -> str:
    """What kind of address it is, as a noun, where it is not to be connected to; else an empty text."""
    if isinstance(address, IPv4Address):
        return _why_blocked_4(address)
    return _why_blocked_6(address)


def is_private_network(address: Address) -> bool:
    """Whether it is of the kind that an allowed host name may have: this machine's own or a private network's.

    Metadata services, multicast and what no host has are not, whatever name resolves to them.
    """
    networks = _PRIVATE_4 if isinstance(address, IPv4Address) else _PRIVATE_6
    return address not in _METADATA and any(address in network for network in networks)


def _why_blocked_4(address: IPv4Address) -> str:
    if address in _METADATA:
        return "the address of a metadata service"
    for network, kind in _BLOCKED_4:
        if address in network:
            return kind
    return "" if address.is_global else "a reserved address"


def _why_blocked_6(address: IPv6Address) -> str:
    if address.scope_id is not None:
        return "an address with a zone"
    if address in _METADATA:
        return "the address of a metadata service"
    if address in _NAT64:
        # Behind DNS64 every IPv4 host of the internet has such an address, so that what is inside decides.
        inside = _why_blocked_4(IPv4Address(int(address) & 0xFFFFFFFF))
        return f"{inside} behind NAT64" if inside else ""
    for network, kind in _BLOCKED_6:
        if address in network:
            return kind
    if address not in _GLOBAL_UNICAST:
        return "a reserved address"
    if (int(address) >> 32) & 0xFCFFFFFF == _ISATAP:
        return "an ISATAP address"
    return "" if address.is_global else "a reserved address"


_METADATA: Final = frozenset[Address](
    {
        IPv4Address("169.254.169.254"),
        IPv4Address("169.254.170.2"),
        IPv4Address("169.254.170.23"),
        IPv4Address("169.254.169.123"),
        IPv4Address("100.100.100.200"),
        IPv4Address("168.63.129.16"),  # of public space, and yet a cloud host's own
        IPv4Address("192.0.0.192"),
        IPv6Address("fd00:ec2::254"),
        IPv6Address("fd00:ec2::23"),
        IPv6Address("fd20:ce::254"),
    }
)

_BLOCKED_4: Final = tuple(
    (IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "an address of this machine"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "a shared address of a provider's network"),
        ("127.0.0.0/8", "a loopback address"),
        ("169.254.0.0/16", "a link-local address"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "a reserved address"),
        ("192.0.2.0/24", "an address for documentation"),
        ("192.31.196.0/24", "a reserved address"),
        ("192.52.193.0/24", "a reserved address"),
        ("192.88.99.0/24", "a 6to4 relay's address"),
        ("192.168.0.0/16", "a private address"),
        ("192.175.48.0/24", "a reserved address"),
        ("198.18.0.0/15", "an address for benchmarks"),
        ("198.51.100.0/24", "an address for documentation"),
        ("203.0.113.0/24", "an address for documentation"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
    )
)

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = 0x00005EFE
_BLOCKED_6: Final = tuple(
    (IPv6Network(network), kind)
    for network, kind in (
        ("::1/128", "a loopback address"),
        ("::/128", "an address of this machine"),
        ("::ffff:0:0/96", "an IPv4 address mapped into IPv6"),
        ("::ffff:0:0:0/96", "a translated IPv4 address"),
        ("::/96", "an IPv4-compatible address"),
        ("64:ff9b:1::/48", "a local translation address"),
        ("100::/64", "a discard address"),
        ("2001::/32", "a Teredo address"),
        ("2001::/23", "a reserved address"),
        ("2001:db8::/32", "an address for documentation"),
        ("2002::/16", "a 6to4 address"),
        ("2620:4f:8000::/48", "a reserved address"),
        ("3fff::/20", "an address for documentation"),
        ("5f00::/16", "a segment routing address"),
        ("fc00::/7", "a private address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a site-local address"),
        ("ff00::/8", "a multicast address"),
    )
)

_PRIVATE_4: Final = tuple(
    map(IPv4Network, ("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
)
_PRIVATE_6: Final = tuple(map(IPv6Network, ("::1/128", "fc00::/7")))
