"""Which addresses and which URLs are fetched at all."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openbuffer.tools.errors import ToolDefinitionError
from openbuffer.tools.support.http_guard_addresses import why_blocked
from openbuffer.tools.support.http_guard_errors import UrlRefusedError, WebFailure
from openbuffer.tools.support.http_guard_settings import Allowances, WebSettings
from openbuffer.tools.support.http_guard_urls import check_target, redirected_target, url_target

pytestmark = pytest.mark.contract("W1")

BLOCKED = [
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255"),
    *(
        "127.0.0.1",
        "127.255.255.254",
        "169.254.0.1",
        "169.254.169.254",
        "169.254.170.2",
        "172.16.0.1",
        "172.31.255.255",
    ),
    *("192.0.0.1", "192.0.0.192", "192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.0.1"),
    *("192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250"),
    *("240.0.0.1", "255.255.255.255", "168.63.129.16"),
    *("::", "::1", "::2", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1"),
    *("64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:0:7f00:1::", "2001:2::1"),
    *("2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::", "2620:4f:8000::1", "3fff::1"),
    *("5f00::1", "fc00::1", "fd00:ec2::254", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "::1%lo", "fec0::1", "ff02::1"),
    *("ff0e::1", "4000::1", "2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1"),
]
PUBLIC = [
    *(
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.1",
        "100.63.255.255",
        "100.128.0.1",
        "126.255.255.255",
        "128.0.0.1",
    ),
    *(
        "172.15.255.255",
        "172.32.0.1",
        "192.167.255.255",
        "192.169.0.1",
        "198.17.255.255",
        "198.20.0.1",
        "223.255.255.254",
    ),
    *("2606:4700:4700::1111", "2001:4860:4860::8888", "2a00:1450::1", "64:ff9b::808:808"),
]


@pytest.mark.parametrize("address", BLOCKED)
def test_an_address_that_is_not_public_is_blocked_and_its_kind_told(address: str) -> None:
    assert why_blocked(ip_address(address)).split()[0] in {"a", "an", "the"}


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_not_blocked(address: str) -> None:
    assert why_blocked(ip_address(address)) == ""


@given(st.ip_addresses(v=4))
def test_what_python_does_not_call_global_is_always_blocked(address: object) -> None:
    found = ip_address(str(address))
    assert found.is_global or why_blocked(found)


LITERALS = [
    *(
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0X7F.0.0.1",
        "017700000001",
        "0177.0.0.1",
    ),
    *(
        "127.0.0.1.",
        "0",
        "0x",
        "0.0.0.0",
        "127.000.000.001",
        "\uff11\uff12\uff17.\uff10.\uff10.\uff11",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "3232235521",
        "0xa9fea9fe",
    ),
    *("169.254.169.254", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::127.0.0.1]"),
    *("[2002:7f00:1::]", "[fe80::1]", "[fd00:ec2::254]", "[::]", "localhost", "LOCALHOST", "localhost.", "a.localhost"),
    *("\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54", "loc\u00adalhost"),
]


@pytest.mark.parametrize("host", LITERALS)
def test_a_host_that_is_this_machine_in_any_notation_is_refused_without_a_look_up(host: str) -> None:
    settings = WebSettings()
    with pytest.raises(WebFailure, match="only hosts of the public internet"):
        check_target(url_target(f"http://{host}:8080/"), settings, Allowances(settings))


@pytest.mark.parametrize(
    "url",
    [
        *(
            "ftp://h/",
            "file:///etc/passwd",
            "gopher://h/",
            "data:text/html,x",
            "javascript:alert(1)",
            "//h/",
            "h/x",
            "",
        ),
        *("http:", "http://", "http:///x", "https:h", "http://u@h/", "http://u:p@h/", "http://@h/", "http://a@b@h/"),
        *("http://h:0/", "http://h:65536/", "http://h:8a/", "http://h:80:80/", "http://[::1/", "http://[::1%25lo]/"),
        *("http://[fe80::1%eth0]/", "http://[v1.a]/", "http://[::1]x/", "http://a..b/", "http://.h/", "http://h../"),
        *(
            "http://%31%32%37.0.0.1/",
            "http://h h/",
            "http://h\t/",
            "http://h\n.x/",
            "http://h\0/",
            "http://h\\@x/",
            "http://h/a\\b",
        ),
        *(
            "http://256.0.0.1/",
            "http://1.2.3.4.5/",
            "http://4294967296/",
            "http://0x100000000/",
            "http://08.1/",
        ),
        *(
            "http://-h/",
            "http://h-/",
            "http://" + "a" * 64 + "/",
            "http://" + "a." * 127 + "aa/",
            "http://h/" + "x" * 9_000,
        ),
        *(
            "http://xn--\u00fc.example/",
            "http://a\u200bb\u2028.example/",
            "http://h/\x7f",
            "http://ex*mple/",
            "http://h,x/",
        ),
    ],
)
def test_what_is_no_plain_url_is_refused(url: str) -> None:
    with pytest.raises(UrlRefusedError):
        url_target(url)


@pytest.mark.parametrize("scheme", ["http", "https", "ftp"])
@pytest.mark.parametrize("length", [0, 150, 185, 300])
def test_a_password_in_a_url_is_in_no_message(scheme: str, length: int) -> None:
    with pytest.raises(UrlRefusedError) as refused:
        url_target(f"{scheme}://{'u' * length}:secret@h/")
    assert "secr" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "plain", "host", "port"),
    [
        ("HTTP://Example.COM", "http://example.com/", "example.com", 80),
        ("https://example.com.:443/a?b#c", "https://example.com/a?b", "example.com", 443),
        ("https://h:/", "https://h/", "h", 443),
        ("http://h:8080?q", "http://h:8080/?q", "h", 8080),
        ("https://bücher.example/ü?ß=1", "https://xn--bcher-kva.example/%C3%BC?%C3%9F=1", "xn--bcher-kva.example", 443),
        ("https://XN--bcher-KVA.example", "https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443),
        ("http://134744072/", "http://8.8.8.8/", "8.8.8.8", 80),
        ("http://[2606:4700:0::1111]/", "http://[2606:4700::1111]/", "[2606:4700::1111]", 80),
        (" https://h/a%20b?c='d'|\\ \n", "https://h/a%20b?c='d'%7C%5C", "h", 443),
        ("https://_dmarc.h_x.example/", "https://_dmarc.h_x.example/", "_dmarc.h_x.example", 443),
    ],
)
def test_a_url_has_one_spelling(url: str, plain: str, host: str, port: int) -> None:
    target = url_target(url)
    assert (target.url, target.host, target.port, target.subject) == (plain, host, port, plain)
    assert url_target(plain) == target


@given(st.text(alphabet=st.characters(max_codepoint=0x3000), max_size=20), st.text(max_size=20))
def test_what_python_and_httpx_read_in_an_accepted_url_is_the_judged_host(host: str, rest: str) -> None:
    from urllib.parse import urlsplit

    import httpx

    try:
        target = url_target(f"http://{host}/{rest}")
    except UrlRefusedError:
        return
    bare = target.host.strip("[]")
    assert urlsplit(target.url).hostname == bare
    read = httpx.URL(target.url)
    assert (read.raw_host.decode(), read.port or 80, read.userinfo) == (bare, target.port, b"")


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/b?c#d", "https://h.example/b?c"),
        ("b c", "https://h.example/a/b%20c"),
        ("//x.example/y", "https://x.example/y"),
        ("?q=1", "https://h.example/a/?q=1"),
        ("HTTP://127.1/", "http://127.0.0.1/"),
    ],
)
def test_a_redirect_is_read_like_a_url(location: str, expected: str) -> None:
    assert redirected_target(url_target("https://h.example/a/"), location).url == expected


@pytest.mark.parametrize(
    "location", ["\\\\evil.example/", "https://u:p@h/", "ftp://h/", "http:///x", "data:,x", "/\\x"]
)
def test_a_redirect_that_is_no_plain_url_is_refused(location: str) -> None:
    with pytest.raises(UrlRefusedError):
        redirected_target(url_target("https://h.example/"), location)


@pytest.mark.parametrize("port", [1, 21, 22, 25, 53, 110, 143, 445, 993, 6000, 6667, 2049, 10080])
def test_a_port_of_another_protocol_is_refused_unless_it_is_allowed(port: int) -> None:
    target = url_target(f"http://h.example:{port}/")
    with pytest.raises(UrlRefusedError, match=f"port {port} is not one"):
        check_target(target, WebSettings(), Allowances(WebSettings()))
    allowing = WebSettings(allowed_ports=(port,))
    check_target(target, allowing, Allowances(allowing))


@pytest.mark.parametrize("port", [80, 443, 1024, 3000, 8080, 8443, 65535])
def test_the_ports_of_the_web_and_high_ones_are_not_refused(port: int) -> None:
    check_target(url_target(f"http://h.example:{port}/"), WebSettings(), Allowances(WebSettings()))


@pytest.mark.parametrize(
    ("entry", "host", "port", "address", "allowed"),
    [
        ("wiki.corp", "wiki.corp", 80, "10.0.0.1", True),
        ("WIKI.corp.", "wiki.corp", 8443, "fd00::1", True),
        ("wiki.corp", "x.wiki.corp", 80, "10.0.0.1", False),
        ("*.corp", "x.wiki.corp", 80, "127.0.0.1", True),
        ("*.corp", "corp", 80, "10.0.0.1", False),
        ("*.corp", "xcorp", 80, "10.0.0.1", False),
        ("wiki.corp", "wiki.corp", 80, "169.254.169.254", False),
        ("wiki.corp", "wiki.corp", 80, "fd00:ec2::254", False),
        ("wiki.corp", "wiki.corp", 80, "224.0.0.1", False),
        ("wiki.corp", "wiki.corp", 80, "0.0.0.0", False),
        ("wiki.corp", "wiki.corp", 80, "::ffff:10.0.0.1", False),
        ("localhost:3000", "localhost", 3000, "127.0.0.1", True),
        ("localhost:3000", "localhost", 3001, "127.0.0.1", False),
        ("127.0.0.1", "127.0.0.1", 80, "127.0.0.1", True),
        ("127.0.0.1:3000", "127.0.0.1", 80, "127.0.0.1", False),
        ("[::1]:3000", "[::1]", 3000, "::1", True),
        ("::1", "[::1]", 3000, "::1", True),
        ("10.20.0.0/16", "any.example", 80, "10.20.3.4", True),
        ("10.20.0.0/16", "any.example", 80, "10.21.3.4", False),
        ("169.254.169.254", "any.example", 80, "169.254.169.254", True),
    ],
)
def test_an_allowed_host_is_that_host_and_no_other(
    entry: str, host: str, port: int, address: str, allowed: bool
) -> None:
    allowances = Allowances(WebSettings(allowed_hosts=(entry,)))
    assert (allowances.why_blocked(host, port, ip_address(address)) == "") is allowed


@pytest.mark.parametrize(
    "entry", ["*", "", "*.", "0.0.0.0/0", "::/0", "http://h/", "h:0", "h:99999", "a b", "büro.example", "h/x"]
)
def test_an_entry_that_cannot_be_meant_is_refused_when_the_tool_is_built(entry: str) -> None:
    with pytest.raises(ToolDefinitionError, match="is no host that can be allowed"):
        WebSettings(allowed_hosts=(entry,))


@pytest.mark.parametrize(
    "settings",
    [
        *(
            {"proxy": url}
            for url in ("socks5://h", "h:80", "http://[::", "http://h:99999", "http://h:0", "http://u:p@")
        ),
        *({"proxy": url} for url in ("http://h/path", "http://h h", "http://h?x", "http://h:8a")),
        *({"allowed_ports": (0,)}, {"timeout_s": 0}, {"user_agent": "a\r\nb"}),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ToolDefinitionError):
        WebSettings(**settings)  # type: ignore[arg-type]
