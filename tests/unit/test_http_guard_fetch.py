"""A fetch over real connections on the loopback: where it connects, what it sends, what it takes, and how it ends."""

from __future__ import annotations

import contextlib
import gzip
import socket
import ssl
from typing import TYPE_CHECKING, Any

import anyio
import httpcore
import pytest
import trustme
from openbuffer.tools.builtin.web_fetch import create_web_fetch_tool
from openbuffer.tools.contract import CancellationToken, Target, ToolContext, UrlTarget
from openbuffer.tools.errors import PermissionDeniedError, ToolCancelledError, ToolDefinitionError

from .web_desk import (
    OTHER,
    SITE,
    Server,
    answer,
    body_of,
    failure,
    fetched,
    header_of,
    moved,
    page,
    resolving,
    serving,
    web_fetch,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.contract("W1")

PUBLIC = "93.184.215.14"


# --- where it connects -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "localhost", "[::ffff:127.0.0.1]", "0"])
async def test_this_machine_in_any_notation_gets_no_connection(host: str) -> None:
    async with serving(server := Server({"/": answer("secret")})):
        error = await failure(web_fetch(allowed=()), server.url(host=host))
    assert "only hosts of the public internet are fetched" in error
    assert server.connections == 0


@pytest.mark.parametrize(
    "answers",
    [
        ("127.0.0.1",),
        (PUBLIC, "127.0.0.1"),
        ("::1",),
        ("::ffff:127.0.0.1",),
        ("64:ff9b::7f00:1",),
        ("::1%lo",),
        ("nonsense",),
    ],
)
async def test_a_name_with_one_answer_that_is_not_public_gets_no_connection(answers: tuple[str, ...]) -> None:
    async with serving(server := Server({"/": answer("secret")})):
        error = await failure(
            web_fetch(allowed=(), resolve=resolving(evil_example=answers)), server.url(host="evil.example")
        )
    assert "evil.example resolves to" in error
    assert server.connections == 0


async def test_an_allowed_name_does_not_open_the_metadata_service() -> None:
    tool = web_fetch(resolve=resolving(site_example="169.254.169.254"))
    assert "which is the address of a metadata service" in await failure(tool, f"http://{SITE}/latest/meta-data/")


async def test_a_redirect_to_this_machine_gets_no_connection() -> None:
    async with serving(first := Server(), inner := Server({"/": answer("secret")})):
        for host in ("127.0.0.1", "localhost", "evil.example", "[::1]", "2130706433"):
            first.answers["/"] = moved(inner.url(host=host))
            tool = web_fetch(allowed=(SITE,), resolve=resolving(evil_example="127.0.0.1"))
            assert "only hosts of the public internet" in await failure(tool, first.url())
    assert (first.connections, inner.connections) == (5, 0)


async def test_a_name_that_changes_its_mind_is_asked_once_and_the_checked_address_connected_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_up: list[str] = []
    connected: list[str] = []

    def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        looked_up.append(host)
        address = PUBLIC if len(looked_up) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    async def connect_tcp(_self: object, host: str, *_: Any, **__: Any) -> Any:
        connected.append(host)
        raise httpcore.ConnectError from ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(httpcore.AnyIOBackend, "connect_tcp", connect_tcp)
    tool = create_web_fetch_tool()
    assert "no connection to port 80 (refused)" in await failure(tool, "http://rebind.example/")
    assert (looked_up, connected) == (["rebind.example"], [PUBLIC])
    assert "resolves to 127.0.0.1, which is a loopback address" in await failure(tool, "http://rebind.example/")
    assert connected == [PUBLIC]


async def test_a_name_is_checked_anew_at_each_hop() -> None:
    asked: list[str] = []

    async def resolve(host: str, _port: int) -> Sequence[str]:
        asked.append(host)
        return ("127.0.0.1",) if len(asked) == 1 else ("169.254.169.254",)

    async with serving(server := Server()):
        server.answers["/"] = answer(b"", "302 Found", location=server.url("/x", OTHER), connection="close")
        error = await failure(web_fetch(resolve=resolve), server.url())
    assert "metadata service" in error
    assert asked == [SITE, OTHER]


async def test_the_environments_proxy_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(server := Server({"/": answer("hi", content_type="text/plain")}), proxy := Server()):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url(host="127.0.0.1"))
        assert body_of(await fetched(web_fetch(), server.url())) == "hi"
    assert proxy.connections == 0


async def test_a_configured_proxy_gets_public_names_and_no_private_ones() -> None:
    async with serving(proxy := Server({"http://far.example/a": answer("hi", content_type="text/plain")})):
        url = f"http://user:pass@127.0.0.1:{proxy.port}"
        tool = web_fetch(allowed=(), proxy=url, resolve=resolving(far_example=PUBLIC, evil_example="10.0.0.1"))
        assert body_of(await fetched(tool, "http://far.example/a")) == "hi"
        assert header_of(proxy.requests[0], "proxy-authorization") == "Basic dXNlcjpwYXNz"
        for host in ("evil.example", "127.0.0.1", "localhost", "2130706433"):
            assert "only hosts of the public internet" in await failure(tool, f"http://{host}/")
        assert "pass" not in repr(tool.description)
    assert len(proxy.requests) == 1


# --- the gate --------------------------------------------------------------------------------------------------------


def context_that_admits(asked: list[UrlTarget], *, but_not: str = "") -> ToolContext:
    async def admit(targets: Sequence[Target], /) -> None:
        for target in targets:
            assert isinstance(target, UrlTarget)
            asked.append(target)
            if target.host == but_not:
                raise PermissionDeniedError(f"not {target.host}", reason="deny")

    return ToolContext(admit=admit)


async def test_nothing_is_looked_up_or_sent_before_the_gate_has_judged() -> None:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        raise AssertionError

    asked: list[UrlTarget] = []
    tool = web_fetch(resolve=resolve)
    with pytest.raises(PermissionDeniedError):
        await fetched(tool, f"http://{SITE}:81/a#b", context=context_that_admits(asked, but_not=SITE))
    assert asked == [UrlTarget(url=f"http://{SITE}:81/a", host=SITE, port=81)]


async def test_each_other_host_on_the_way_is_put_to_the_gate_and_one_that_is_denied_gets_no_connection() -> None:
    asked: list[UrlTarget] = []
    async with serving(first := Server(), second := Server({"/x": answer("hi", content_type="text/plain")})):
        first.answers |= {"/": moved("/b"), "/b": moved(second.url("/x", OTHER))}
        await fetched(web_fetch(), first.url(), context=context_that_admits(asked))
        assert [target.url for target in asked] == [first.url(), second.url("/x", OTHER)]
        with pytest.raises(PermissionDeniedError, match=r"redirects to .*/x, which was not asked. not other"):
            await fetched(web_fetch(), first.url(), context=context_that_admits(asked, but_not=OTHER))
    assert second.connections == 1


async def test_a_kept_page_is_put_to_the_gate_again_with_all_of_its_hosts() -> None:
    asked: list[UrlTarget] = []
    async with serving(first := Server(), second := Server({"/x": answer("hi", content_type="text/plain")})):
        first.answers["/"] = moved(second.url("/x", OTHER))
        tool = web_fetch()
        await fetched(tool, first.url(), context=context_that_admits(asked))
        with pytest.raises(PermissionDeniedError):
            await fetched(tool, first.url(), context=context_that_admits(asked, but_not=OTHER))
    assert second.connections == 1


# --- redirects and headers -------------------------------------------------------------------------------------------


async def test_headers_of_the_call_stay_with_the_host_that_they_were_set_for() -> None:
    mine = {"Authorization": "Bearer x", "X-Api-Key": "k", "Cookie": "a=b", "Accept-Language": "de"}
    async with serving(first := Server(), second := Server({"/x": answer("hi", content_type="text/plain")})):
        first.answers |= {"/": moved("/same"), "/same": moved(second.url("/x", OTHER))}
        result = await fetched(web_fetch(), first.url(), headers=mine)
    for request in first.requests:
        assert [header_of(request, name.lower()) for name in mine] == list(mine.values())
    assert [header_of(second.requests[0], name.lower()) for name in mine] == [None] * 4
    assert "The headers of the call were not sent to the host that answered" in result.output


async def test_another_port_of_the_same_host_is_another_place() -> None:
    async with serving(first := Server(), second := Server({"/": answer("hi", content_type="text/plain")})):
        first.answers["/"] = moved(second.url())
        await fetched(web_fetch(), first.url(), headers={"X-Api-Key": "k"})
    assert header_of(second.requests[0], "x-api-key") is None


@pytest.mark.parametrize(
    "name",
    [
        *(
            "Host",
            "Connection",
            "Content-Length",
            "Transfer-Encoding",
            "Proxy-Authorization",
            "Accept-Encoding",
            "Range",
        ),
        *("If-None-Match", "Upgrade", "Expect", "X-Forwarded-For", "Forwarded", "a b", "a:", "", "é", "a\r\nb"),
    ],
)
async def test_a_header_that_steers_the_request_cannot_be_set(name: str) -> None:
    async with serving(server := Server()):
        assert "header" in await failure(web_fetch(), server.url(), headers={name: "x"})
    assert server.connections == 0


@pytest.mark.parametrize("value", ["a\r\nHost: evil", "a\n", "\0", "é", " a", "x" * 9_000])
async def test_a_headers_value_is_one_line_of_text(value: str) -> None:
    async with serving(server := Server()):
        assert "header" in await failure(web_fetch(), server.url(), headers={"X-A": value})
    assert server.connections == 0


async def test_redirects_end_and_a_circle_is_told() -> None:
    async with serving(server := Server()):
        server.answers["/"] = moved("/")
        error = await failure(web_fetch(max_redirects=4), server.url())
    assert "redirects more than 4 times" in error
    assert len(server.requests) == 5


async def test_a_redirect_to_what_is_no_url_is_told() -> None:
    async with serving(server := Server()):
        for location in (
            *(
                "file:///etc/passwd",
                "http://u:p@h/",
                "ftp://h/",
                "http:127.0.0.1",
                "http:///x",
                "http://[::1",
                "https:/p",
            ),
            *("http://h:99999/", "http://a b/", "http://xn--\xff/", "/" + "a" * 9_000, "\\\\h\\", "http://h:x/"),
        ):
            server.answers["/"] = moved(location)
            assert "redirects to what is not fetched" in await failure(web_fetch(), server.url()), location


# --- TLS -------------------------------------------------------------------------------------------------------------


def authority(directory: Path) -> tuple[trustme.CA, str]:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(directory / "ca.pem")
    return ca, str(directory / "ca.pem")


def server_side(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    certificate.configure_cert(context)
    return context


async def test_a_certificate_counts_for_its_name_and_its_authority_alone(tmp_path: Path) -> None:
    ca, pem = authority(tmp_path)
    good, wrong = server_side(ca.issue_cert(SITE)), server_side(ca.issue_cert("elsewhere.example"))
    server = Server({"/": answer("hi", content_type="text/plain")})
    async with serving(server, tls=good):
        assert body_of(await fetched(web_fetch(authorities=pem), server.url(scheme="https"))) == "hi"
        error = await failure(web_fetch(), server.url(scheme="https"))
        assert "its certificate is not valid: unable to get local issuer certificate" in error
    async with serving(server, tls=wrong):
        error = await failure(web_fetch(authorities=pem), server.url(scheme="https"))
        assert "Hostname mismatch" in error
    assert len(server.requests) == 1


async def test_no_tls_at_the_other_end_is_told() -> None:
    async def plain(stream: anyio.abc.ByteStream) -> None:
        async with stream:
            await stream.send(b"HTTP/1.1 400 no\r\n\r\n")

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, plain)
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        assert "no secure connection" in await failure(web_fetch(), f"https://{SITE}:{port}/")
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    "records", [b"no record of TLS " * 9, bytes([21, 3, 3, 0, 2, 2, 40])], ids=["nonsense", "alert"]
)
async def test_a_secure_connection_that_is_damaged_later_is_told(records: bytes, tmp_path: Path) -> None:
    async def damaged(stream: Any) -> None:
        await stream.transport_stream.send(records)

    ca, pem = authority(tmp_path)
    server = Server({"/": damaged})
    async with serving(server, tls=server_side(ca.issue_cert(SITE))):
        error = await failure(web_fetch(authorities=pem), server.url(scheme="https"))
    assert "the connection broke before the answer was whole" in error


async def test_from_https_to_http_is_not_followed_and_said_where_it_leads(tmp_path: Path) -> None:
    ca, pem = authority(tmp_path)
    async with serving(plain := Server({"/p": answer("hi")})):
        secure = Server({"/": moved(plain.url("/p"))})
        async with serving(secure, tls=server_side(ca.issue_cert(SITE))):
            error = await failure(web_fetch(authorities=pem), secure.url(scheme="https"))
    assert f"redirects from https to {plain.url('/p')}" in error
    assert plain.connections == 0


async def test_keys_are_not_written_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ca, pem = authority(tmp_path)
    server = Server({"/": answer("hi", content_type="text/plain")})
    tls = server_side(ca.issue_cert(SITE))  # this side does write its keys there
    monkeypatch.setenv("SSL_CERT_FILE", pem)
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    async with serving(server, tls=tls):
        assert "not valid" in await failure(web_fetch(), server.url(scheme="https"))
        assert body_of(await fetched(web_fetch(authorities=pem), server.url(scheme="https"))) == "hi"
    assert not (tmp_path / "keys").exists()


async def test_authorities_that_cannot_be_read_are_an_error_of_the_configuration(tmp_path: Path) -> None:
    async with serving(server := Server()):
        with pytest.raises(ToolDefinitionError, match="authorities of the web cannot be read"):
            await fetched(web_fetch(authorities=str(tmp_path / "none.pem")), server.url())


# --- how much, how long ----------------------------------------------------------------------------------------------


async def test_a_gzip_bomb_ends_at_the_bound_and_not_in_memory() -> None:
    bomb = gzip.compress(bytes(50 * 1024 * 1024))
    async with serving(server := Server()):
        server.answers["/"] = answer(bomb, content_type="text/plain", content_encoding="gzip")
        error = await failure(web_fetch(max_bytes=1024 * 1024), server.url())
    assert "the page has more than 1048576 bytes" in error


async def test_gzip_in_several_members_and_with_padding_is_read_and_a_cut_or_broken_one_told() -> None:
    whole = gzip.compress(b"one ") + gzip.compress(b"two")
    async with serving(server := Server()):
        for data in (whole, whole + bytes(100)):
            server.answers["/"] = answer(data, content_type="text/plain", content_encoding="gzip")
            assert body_of(await fetched(web_fetch(), server.url())) == "one two"
        for data, reason in ((whole[:-5], "cut off"), (b"\x1f\x8bnonsense", "damaged"), (b"plain", "damaged")):
            server.answers["/"] = answer(data, content_type="text/plain", content_encoding="gzip")
            assert reason in await failure(web_fetch(), server.url())
        for coding in ("br", "zstd", "gzip, gzip"):
            server.answers["/"] = answer(whole, content_type="text/plain", content_encoding=coding)
            assert "which was not asked for" in await failure(web_fetch(), server.url())
    assert header_of(server.requests[0], "accept-encoding") == "gzip, identity"


async def test_a_body_that_says_it_is_too_large_is_not_read_and_an_endless_one_not_to_its_end() -> None:
    async def endless(stream: anyio.abc.ByteStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
        while True:
            await stream.send(b"x" * 65_536)

    async with serving(server := Server({"/endless": endless})):
        server.answers["/"] = answer("", content_type="text/plain", content_length="99999999999")
        for path in ("/", "/endless"):
            assert "more than 100000 bytes" in await failure(web_fetch(max_bytes=100_000), server.url(path))


@pytest.mark.parametrize("what", ["header", "informational", "status"])
async def test_what_comes_before_a_page_is_bounded(what: str) -> None:
    pieces = {
        "header": b"x: " + b"y" * 1000 + b"\r\n",
        "informational": b"HTTP/1.1 103 x\r\n\r\n" * 50,
        "status": b"z" * 999,
    }

    async def talk(stream: anyio.abc.ByteStream) -> None:
        if what == "header":
            await stream.send(b"HTTP/1.1 200 OK\r\n")
        while True:
            await stream.send(pieces[what])

    async with serving(server := Server({"/": talk})):
        error = await failure(web_fetch(timeout_s=20), server.url())
    assert "before the page" in error or "no whole answer in HTTP" in error


async def test_chunks_that_are_mostly_framing_are_bounded_by_what_comes_over_the_wire() -> None:
    async def talk(stream: anyio.abc.ByteStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            await stream.send((b"1;" + b"e" * 2_000 + b"\r\nx\r\n") * 10)

    async with serving(server := Server({"/": talk})):
        assert "more than 10000 bytes" in await failure(web_fetch(max_bytes=10_000), server.url())


@pytest.mark.parametrize("kind", ["silent", "header", "body"])
async def test_a_server_that_drips_or_says_nothing_ends_by_the_deadline_and_its_socket_is_closed(kind: str) -> None:
    ended = anyio.Event()

    async def drip(stream: anyio.abc.ByteStream) -> None:
        try:
            if kind == "body":
                await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
            while True:
                await anyio.sleep(0.02)
                await stream.send(b"" if kind == "silent" else b"x")
                if kind == "silent":
                    await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            ended.set()

    async with serving(server := Server({"/": drip})):
        assert "not done within 0.3 seconds" in await failure(web_fetch(timeout_s=0.3), server.url())
        with anyio.fail_after(10):
            await ended.wait()


async def test_a_slow_look_up_ends_by_the_deadline() -> None:
    async def resolve(_host: str, _port: int) -> Sequence[str]:
        await anyio.sleep_forever()
        raise AssertionError

    assert "not done within 0.2 seconds" in await failure(web_fetch(timeout_s=0.2, resolve=resolve), f"http://{SITE}/")


async def test_time_that_the_gate_takes_at_a_redirect_is_not_the_sites() -> None:
    async def admit(targets: Sequence[Target], /) -> None:
        assert isinstance(targets[0], UrlTarget)
        if targets[0].host == OTHER:
            await anyio.sleep(1.0)

    async with serving(server := Server({"/x": answer("hi", content_type="text/plain")})):
        server.answers["/"] = moved(server.url("/x", OTHER))
        result = await fetched(web_fetch(timeout_s=0.8), server.url(), context=ToolContext(admit=admit))
    assert body_of(result) == "hi"


@pytest.mark.parametrize("by", ["token", "scope"])
async def test_cancelling_closes_the_socket(by: str) -> None:
    asked, ended = anyio.Event(), anyio.Event()

    async def silent(stream: anyio.abc.ByteStream) -> None:
        asked.set()
        try:
            await stream.receive()
        except anyio.EndOfStream:
            ended.set()

    token = CancellationToken()
    outcome: list[object] = []
    async with serving(server := Server({"/": silent})), anyio.create_task_group() as tasks:

        async def call() -> None:
            try:
                await fetched(web_fetch(), server.url(), context=ToolContext(cancellation=token))
            except BaseException as error:
                outcome.append(type(error))
                raise

        async def quiet() -> None:
            with contextlib.suppress(ToolCancelledError):
                await call()

        tasks.start_soon(quiet)
        await asked.wait()
        token.cancel() if by == "token" else tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True), anyio.fail_after(10):
            await ended.wait()
    assert outcome == [ToolCancelledError if by == "token" else anyio.get_cancelled_exc_class()]


async def test_a_slow_page_does_not_delay_another_call() -> None:
    async def silent(stream: anyio.abc.ByteStream) -> None:
        await stream.receive()

    async with serving(server := Server({"/slow": silent, "/": page("<p>quick</p>")})):
        tool = web_fetch()
        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(fetched, tool, server.url("/slow"))
            assert body_of(await fetched(tool, server.url())) == "quick"
            tasks.cancel_scope.cancel()


# --- failures told apart ---------------------------------------------------------------------------------------------


async def test_each_kind_of_failure_has_words_of_its_own() -> None:
    async def closes(stream: anyio.abc.ByteStream) -> None:
        await stream.aclose()

    async def half(stream: anyio.abc.ByteStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 10\r\n\r\nhalf")

    async def no_http(stream: anyio.abc.ByteStream) -> None:
        await stream.send(b"SSH-2.0-OpenSSH_9.2\r\n")

    async with serving(server := Server({"/closes": closes, "/half": half, "/ssh": no_http}), gone := Server()):
        pass
    assert "refused" in await failure(web_fetch(), gone.url())
    async with serving(server):
        assert "the name none.example was not found" in await failure(web_fetch(), server.url(host="none.example"))
        for path in ("/closes", "/half", "/ssh"):
            assert "no whole answer in HTTP" in await failure(web_fetch(), server.url(path))


async def test_a_status_of_failure_is_a_failed_result_with_the_beginning_of_what_came() -> None:
    async with serving(server := Server()):
        for status, next_step in (
            ("404 Not Found", "check the URL"),
            ("429 Too Many Requests", "the server says after 7"),
            ("500 Oh", "Try again later"),
            ("401 Who", "needs credentials"),
            ("304 Not Modified", "Check the URL and the headers"),
        ):
            body = "" if status.startswith("304") else f"<h1>Sorry</h1><p>{'x' * 10_000}"
            server.answers["/"] = answer(body, status, content_type="text/html", retry_after="7")
            result = await fetched(web_fetch(), server.url())
            assert not result.success
            assert result.error is not None
            assert f"the server answered HTTP {status[:3]}" in result.error
            assert next_step in result.error
            assert result.output.startswith("# Sorry" if body else "")
            assert len(result.output) < 3_000
