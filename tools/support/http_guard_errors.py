"""What may go wrong with a fetch. Each is an ordinary failure, and its text names the URL and the next step::

WebFailure
├── UrlRefusedError         no URL that is fetched: scheme, credentials, port, a host that is none
├── HeadersRefusedError     a request header that a call may not set
├── BlockedAddressError     the host is, or resolves to, no public address
├── NameNotFoundError       the host's name has no address
├── ConnectFailedError      refused, unreachable, closed before it answered
├── TlsFailedError          the certificate or the handshake
├── WebTimeoutError         not done by the deadline
├── WebTooLargeError        headers or body over their bound
├── RedirectRefusedError    too many, in a circle, to what is no URL, from https to http
├── BrokenAnswerError       not HTTP, cut off, not what its headers say
└── PageFailedError         the page could not be read
"""

from __future__ import annotations

from ..errors import ToolFailure


class WebFailure(ToolFailure):
    """A fetch that came to nothing."""


class UrlRefusedError(WebFailure):
    """It is no URL that is fetched."""


class HeadersRefusedError(WebFailure):
    """A request header that a call may not set, or that is none."""


class BlockedAddressError(WebFailure):
    """The host has an address that is not one of the public internet, and is not allowed by the configuration."""


class NameNotFoundError(WebFailure):
    """The name of the host has no address."""


class ConnectFailedError(WebFailure):
    """No connection, or it broke."""


class TlsFailedError(WebFailure):
    """The host could not prove who it is, or speaks no TLS that is trusted."""


class WebTimeoutError(WebFailure):
    """The fetch was not done by its deadline."""


class WebTooLargeError(WebFailure):
    """More bytes than are taken."""


class RedirectRefusedError(WebFailure):
    """A redirect that is not followed."""


class BrokenAnswerError(WebFailure):
    """What came is no answer."""


class PageFailedError(WebFailure):
    """The page came, and could not be made readable."""
