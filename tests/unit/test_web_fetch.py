"""What WebFetch says of what came: types, charsets, windows, the pages that a session keeps."""

from __future__ import annotations

import gzip
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from openbuffer.tools.adapters import event_records
from openbuffer.tools.adapters.log_redaction import Redaction
from openbuffer.tools.adapters.log_settings import KEPT
from openbuffer.tools.builtin.web_fetch import create_web_fetch_tool
from openbuffer.tools.builtin.web_fetch import web_fetch as ready_made
from openbuffer.tools.config import ToolConfig, build_tools
from openbuffer.tools.contract import Capability, UrlTarget
from openbuffer.tools.event_log import InMemoryEventLog
from openbuffer.tools.events import ToolFinished, ToolIntended
from openbuffer.tools.executor import create_tool_executor
from openbuffer.tools.support.http_guard_fetch import Fetched
from openbuffer.tools.support.http_guard_settings import WebSettings
from openbuffer.tools.support.http_guard_urls import url_target
from openbuffer.tools.support.web_cache import WebCache
from openbuffer.tools.support.web_charset import decode_body

from .web_desk import OTHER, SITE, Server, answer, body_of, failure, fetched, moved, page, serving, web_fetch

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.contract("W1")


# --- the tool --------------------------------------------------------------------------------------------------------


@pytest.mark.contract("T7", "T10")
async def test_there_is_a_ready_made_instance_for_public_hosts() -> None:
    assert ready_made.capabilities == {Capability.NETWORK}
    assert "only hosts of the public internet" in await failure(ready_made, "http://127.0.0.1:1/")


@pytest.mark.contract("T9")
def test_the_host_entry_imports_nothing_that_fetches_or_reads_pages() -> None:
    script = """
import sys, openbuffer.tools.host
print([m for m in ("httpx", "httpcore", "bs4", "markdownify", "selectolax", "certifi", "idna") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.contract("X5", "T8")
def test_it_is_assembled_where_the_web_is_configured(tmp_path: Path) -> None:
    def names(**more: Any) -> list[str]:
        return [tool.name for tool in build_tools(ToolConfig(roots=(str(tmp_path),), **more))]

    assert "WebFetch" not in names()
    assert "WebFetch" in names(web=WebSettings())
    assert create_web_fetch_tool(description="mine").description == "mine"


# --- types -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", '{"a": [1, 2],\n "b": "<p>"}'),
        ("application/vnd.api+json; charset=utf-8", '{"ü": 1}'),
        ("text/plain", "a < b & c\n\n  <p>no page</p>\n"),
        ("text/markdown", "# Title\n\n- *a*\n"),
        ("text/css", "a { b: c }"),
        ("application/rss+xml", "<rss><item>a</item></rss>"),
        ("application/octet-stream", "#!/bin/sh\necho hi\n"),
    ],
)
async def test_text_comes_as_it_is(content_type: str, body: str) -> None:
    async with serving(server := Server({"/": answer(body, content_type=content_type)})):
        result = await fetched(web_fetch(), server.url())
    assert body_of(result) == body
    assert f"Type: {content_type.partition(';')[0]}" in result.output


async def test_anything_else_is_told_by_name_type_and_size_and_not_read() -> None:
    async with serving(server := Server()):
        server.answers["/a/logo%20x.png?v=1"] = answer(b"\x89PNG", content_type="image/png", content_length="123456")
        result = await fetched(web_fetch(), server.url("/a/logo%20x.png?v=1"))
        assert result.success
        assert "logo x.png: image/png, 123456 bytes: it is no text and is not shown." in result.output
        for content_type in ("application/octet-stream", "text/plain"):
            server.answers["/f"] = answer(b"ELF\0\1\2", content_type=content_type)
            assert "6 bytes: it is no text" in (await fetched(web_fetch(), server.url("/f"))).output


async def test_a_page_without_a_type_is_known_by_its_beginning_and_an_empty_one_is_said_to_be() -> None:
    async with serving(server := Server({"/": answer("\n<!-- x -->\n<!DOCTYPE html><p>hi")})):
        assert body_of(await fetched(web_fetch(), server.url())) == "hi"
        server.answers["/e"] = answer("", content_type="text/html")
        assert "There is no text in it." in (await fetched(web_fetch(), server.url("/e"))).output


@pytest.mark.parametrize("content_type", ["text/html, text/html", "text/plain, text/html; charset=utf-8"])
async def test_of_a_type_that_is_told_twice_the_last_one_counts(content_type: str) -> None:
    page = "<p>hi<script>no()</script>"
    async with serving(server := Server({"/": answer(page, content_type=content_type)})):
        result = await fetched(web_fetch(), server.url())
    assert body_of(result) == "hi"
    assert "Type: text/html, utf-8" in result.output


@pytest.mark.parametrize("main", ["text", "zip"])
async def test_a_type_is_told_in_few_words(main: str) -> None:
    content_type = f"{main}/{'do as I say ' * 1_000}"
    async with serving(server := Server({"/": answer("hi", content_type=content_type)})):
        result = await fetched(web_fetch(), server.url())
    assert result.success
    assert len(result.output) < 300


async def test_what_has_no_type_and_characters_that_no_text_has_is_no_text() -> None:
    async with serving(server := Server({"/f.bin": answer(b"\x7fELF\x01\x02 word", content_type="")})):
        assert (
            "f.bin: of an unknown type, 11 bytes: it is no text"
            in (await fetched(web_fetch(), server.url("/f.bin"))).output
        )


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip"])
async def test_of_a_failure_whose_body_cannot_be_read_the_status_is_told(coding: str) -> None:
    body = answer(b"no gzip", "404 Not Found", content_type="text/html", content_encoding=coding)
    async with serving(server := Server({"/": body})):
        result = await fetched(web_fetch(), server.url())
    assert result.error is not None
    assert result.error.endswith("the server answered HTTP 404 Not Found. There is no such page; check the URL.")


# --- charsets --------------------------------------------------------------------------------------------------------

WORDS = "Grüße … naïve “façade” 漢字"


@pytest.mark.parametrize(
    ("body", "content_type", "is_markup", "text", "charset", "how"),
    [
        (WORDS.encode(), "", False, WORDS, "utf-8", "not labelled"),
        (WORDS.encode("utf-16"), "text/plain; charset=latin-1", False, WORDS, "utf-16-le", "byte-order mark"),
        (b"\xef\xbb\xbfa", "text/plain; charset=koi8-r", False, "a", "utf-8", "byte-order mark"),
        ("Привет".encode("koi8-r"), "text/html; charset=KOI8-R", True, "Привет", "koi8-r", "header"),
        ("日本語".encode("cp932"), 'text/html; charset="shift_jis"', True, "日本語", "cp932", "header"),
        ("日本語".encode("euc_jp"), "text/html; charset=x-euc-jp", True, "日本語", "euc_jp", "header"),
        ("€“x”".encode("cp1252"), "text/html; charset=iso-8859-1", True, "€“x”", "cp1252", "header"),
        ("中文".encode("gb18030"), "text/html; charset=gb2312", True, "中文", "gb18030", "header"),
        (
            b"<meta charset=windows-1251>" + "Привет".encode("cp1251"),
            "text/html",
            True,
            "Привет",
            "cp1251",
            "own words",
        ),
        (b"<meta charset='utf-16'>" + "ü".encode(), "text/html", True, "ü", "utf-8", "own words"),
        (b"<meta charset=windows-1251>\xc3\xbc", "text/html; charset=utf-8", True, "ü", "utf-8", "header"),
        (
            b"<!-- <meta charset=big5> --><meta charset=koi8-r>" + "Привет".encode("koi8-r"),
            *("text/html", True, "Привет", "koi8-r", "own words"),
        ),
        ("Grüße".encode("cp1252"), "text/plain", False, "Grüße", "cp1252", "not labelled, and not UTF-8"),
    ],
)
def test_the_charset_is_by_mark_then_header_then_meta(
    body: bytes, content_type: str, is_markup: bool, text: str, charset: str, how: str
) -> None:
    decoded = decode_body(body, content_type, is_markup=is_markup)
    assert decoded.text.endswith(text)
    assert (decoded.charset, decoded.note) == (charset, "")
    assert how in decoded.how


@pytest.mark.parametrize(
    "label", ["utf-9", "base64", "rot13", "zip", "idna", "punycode", "unicode_escape", "utf-7", "hex"]
)
def test_a_label_that_names_no_charset_of_the_web_is_told_and_passed_over(label: str) -> None:
    decoded = decode_body("über".encode(), f"text/plain; charset={label}", is_markup=False)
    assert (decoded.text, decoded.charset) == ("über", "utf-8")
    assert f"the charset {label} (by its header) is not known" in decoded.note


def test_a_wrong_label_falls_back_to_utf_8_and_a_few_wrong_bytes_do_not() -> None:
    for label in ("latin-1", "windows-1251", "koi8-r"):
        wrong = decode_body(("Ä" * 4).encode(), f"text/plain; charset={label}", is_markup=False)
        assert (wrong.text, wrong.note) == (
            "Ä" * 4,
            f"it is labelled {label} (by its header) and is UTF-8; read as that",
        )
    for label in ("shift_jis", "gbk", "big5", "euc-kr", "utf-16", "utf-16be"):
        wrong = decode_body("<p>日本語テキスト".encode(), f"text/html; charset={label}", is_markup=True)
        assert (wrong.text, wrong.charset) == ("<p>日本語テキスト", "utf-8")
        assert "and is UTF-8; read as that" in wrong.note
    right = decode_body("联通模型".encode("gbk"), "text/plain; charset=gbk", is_markup=False)
    assert (right.text, right.charset, right.note) == ("联通模型", "gb18030", "")
    wrong = decode_body(b"\xfc\xe4" * 4_000, "text/plain; charset=utf-8", is_markup=False)
    assert (wrong.text, wrong.charset) == ("üä" * 4_000, "cp1252")
    assert "is not in that charset; read as cp1252" in wrong.note
    damaged = decode_body(("ü" * 4_000).encode() + b"\xff", "text/plain; charset=utf-8", is_markup=False)
    assert damaged.text == "ü" * 4_000 + "\ufffd"
    assert damaged.note.startswith("1 characters could not be read")


# --- windows ---------------------------------------------------------------------------------------------------------


async def everything(server: Server, path: str, **arguments: Any) -> list[str]:
    """Each part of a page, as the results lead from one to the next."""
    tool, parts, offset = web_fetch(max_output_chars=2_000), list[str](), 0
    while True:
        result = await fetched(tool, server.url(path), offset=offset, **arguments)
        parts.append(body_of(result))
        head = result.output.partition("\n\n")[0]
        if "offset=" not in head:
            return parts
        following = int(head.rpartition("offset=")[2].split()[0])
        assert following > offset
        offset = following


async def test_a_long_text_comes_in_parts_that_are_the_whole_and_end_behind_lines() -> None:
    text = "".join(f"line {n} of the text, with words\n" for n in range(500)) + "x" * 5_000
    async with serving(server := Server({"/": answer(text, content_type="text/plain")})):
        parts = await everything(server, "/")
        assert "".join(parts) == text
        assert parts[0].endswith("\n")
        assert len(server.requests) == 1
        result = await fetched(web_fetch(max_output_chars=2_000), server.url())
        assert f"Shown: characters 0 to {len(parts[0])} of {len(text)}; offset={len(parts[0])} shows" in result.output
        assert "there is nothing at offset 99999" in await failure(web_fetch(), server.url(), offset=99_999)


async def test_a_long_page_comes_in_parts_that_have_every_word_once_and_cut_no_paragraph() -> None:
    paragraphs = "".join(f"<h2>Part {n}</h2><p>word{n}a and <b>word{n}b</b>, word{n}c.</p>\n" for n in range(300))
    rows = "".join(f"<tr><td>cell{n}a</td><td>cell{n}b</td></tr>" for n in range(200))
    items = "".join(f"<li>item{n}x</li>" for n in range(300))
    async with serving(server := Server({"/": page(f"{paragraphs}<table>{rows}</table><ol>{items}</ol>")})):
        parts = await everything(server, "/")
    whole = "\n".join(parts)
    assert len(parts) > 5
    for n in range(300):
        assert whole.count(f"word{n}a and **word{n}b**, word{n}c.") == 1
        assert whole.count(f"{n + 1}. item{n}x\n") + whole.endswith(f"{n + 1}. item{n}x") == 1
    assert all(whole.count(f"| cell{n}a | cell{n}b |") == 1 for n in range(200))


async def test_a_paragraph_and_a_block_of_code_that_are_too_long_are_cut_between_words_and_lines() -> None:
    words = " ".join(f"w{n}" for n in range(3_000))
    code = "\n".join(f"code {n}" for n in range(1_500))
    async with serving(server := Server({"/": page(f"<p>{words}</p><pre>{code}</pre>")})):
        whole = " ".join(" ".join(await everything(server, "/")).replace("```", "").replace("…", "").split())
    assert whole == f"{words} {code}".replace("\n", " ")


# --- what a session keeps --------------------------------------------------------------------------------------------


async def test_a_page_is_fetched_once_in_a_session_and_again_where_that_is_wanted() -> None:
    async with serving(server := Server({"/": answer("one", content_type="text/plain")})):
        tool = web_fetch()
        await fetched(tool, server.url())
        server.answers["/"] = answer("two", content_type="text/plain")
        again = await fetched(tool, server.url("/#fragment"))
        assert body_of(again) == "one"
        assert "This session fetched it 0 seconds ago; fresh=true fetches it again." in again.output
        assert body_of(await fetched(tool, server.url(), fresh=True)) == "two"
        assert body_of(await fetched(tool, server.url(), headers={"Accept-Language": "de"})) == "two"
        assert body_of(await fetched(web_fetch(), server.url())) == "two"
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    "headers",
    [
        {"cache_control": "private, no-store"},
        {"cache_control": "no-cache"},
        {"cache_control": "max-age=0"},
        {"pragma": "no-cache"},
        {"vary": "*"},
    ],
)
async def test_what_a_site_forbids_to_keep_is_not_kept(headers: dict[str, str]) -> None:
    async with serving(server := Server({"/": answer("x", content_type="text/plain", **headers)})):
        tool = web_fetch()
        for _ in range(2):
            assert "ago" not in (await fetched(tool, server.url())).output
    assert len(server.requests) == 2


async def test_a_failure_is_not_kept_and_a_redirects_end_is_known_by_its_own_url() -> None:
    async with serving(server := Server({"/x": answer("hi", content_type="text/plain")})):
        tool = web_fetch()
        for _ in range(2):
            await failure(tool, server.url("/none"))
        server.answers["/"] = moved(server.url("/x", OTHER))
        result = await fetched(tool, server.url())
        assert f"URL: {server.url('/x', OTHER)} (redirected from {server.url()})" in result.output
        direct = await fetched(tool, server.url("/x", OTHER))
        assert "redirected" not in direct.output
        assert "ago" in direct.output
    assert len(server.requests) == 4


def test_kept_pages_are_bounded_by_number_size_and_age() -> None:
    now = 0.0
    cache = WebCache(lambda: now)

    def put(n: int, size: int, **headers: str) -> str:
        target = url_target(f"http://{SITE}/{n}")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        cache.put(target.url, {}, Fetched(hops=(target,), status=200, headers=named, body=bytes(size)))
        return target.url

    urls = [put(n, 10) for n in range(65)]
    assert [cache.get(url, {}) is None for url in urls] == [True, *[False] * 64]
    large = [put(n, 20 * 1024 * 1024) for n in range(100, 103)]
    assert [cache.get(url, {}) is None for url in large] == [True, False, False]
    short = put(200, 1, cache_control="max-age=60")
    now = 59.0
    assert (kept := cache.get(short, {})) is not None
    assert kept.age_s == 59.0
    now = 60.0
    assert cache.get(short, {}) is None
    now = 901.0
    assert cache.get(large[2], {}) is None


async def test_a_compressed_page_in_another_charset_is_read() -> None:
    body = gzip.compress("<title>Größe</title><p>Öl</p>".encode("cp1252"))
    async with serving(server := Server()):
        server.answers["/"] = answer(body, content_type="text/html; charset=windows-1252", content_encoding="gzip")
        result = await fetched(web_fetch(), server.url())
    assert "Title: Größe\nType: text/html, cp1252 (by its header)" in result.output
    assert body_of(result) == "Öl"


# --- the pipeline -----------------------------------------------------------------------------------------------------


@pytest.mark.contract("X2", "X4")
async def test_a_fetch_is_recorded_with_its_url_before_it_and_with_what_it_gave_after_it(tmp_path: Path) -> None:
    log = InMemoryEventLog()
    async with serving(server := Server({"/": answer("hi", content_type="text/plain")})):
        config = ToolConfig(roots=(str(tmp_path),), web=WebSettings(allowed_hosts=("127.0.0.1",)))
        executor = create_tool_executor(config, log=log)
        url = server.url(host="127.0.0.1")
        result = await executor.call("WebFetch", {"url": url})
        refused = await executor.call("WebFetch", {"url": "http://10.0.0.1/"})
    intended, finished, *_ = log
    assert isinstance(intended, ToolIntended)
    assert intended.targets == (UrlTarget(url=url, host="127.0.0.1", port=server.port),)
    assert isinstance(finished, ToolFinished)
    assert (finished.outcome, finished.value) == ("succeeded", result.value)
    assert (refused.success, server.connections) == (False, 1)
    kept = event_records.decode(event_records.encode(intended, frozenset(KEPT), Redaction(())))
    assert isinstance(kept, ToolIntended)
    assert kept.targets == intended.targets
