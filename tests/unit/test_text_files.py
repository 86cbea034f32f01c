"""Encodings: what is text, in which encoding, and that a change keeps every other byte."""

from __future__ import annotations

import codecs
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openbuffer.tools.errors import TextRefusedError
from openbuffer.tools.support.encodings import Encoding, detect
from openbuffer.tools.support.replacing import Replacement
from openbuffer.tools.support.text_files import TextFile, document_text, text_file, uses_crlf_only

FRENCH = "Le café est à côté de la mairie, déjà vu, naïve façade.\nconst x = 'é';\n"
GERMAN = "# Die Größe der Straße überrascht: schöne Häuser\nÄpfel = 1\n"
CHINESE = "你好世界。这是一个测试文件、用来检查编码。\nprint('中文')\n"
JAPANESE = "日本語のテキストです。表示をテストします。\nprint('テスト')\n"
RUSSIAN = "Привет, мир! Это тест кодировки текста.\nx = 1\n"

LEGACY = {
    "french latin-1": (FRENCH, "latin-1", "cp1252"),
    "german latin-1": (GERMAN, "latin-1", "cp1252"),
    "windows-1252": ("He said “hello” — it\u2019s 5€ für alle\n", "cp1252", "cp1252"),
    "dense accents": ("déjà vu à côté, naïve façade\n" * 30, "latin-1", "cp1252"),
    "typographic quotes": ("“Hi” — it\u2019s\n", "cp1252", "cp1252"),
    "portuguese": ("A ação não está concluída. São três opções: maçã, pão e coração.\n", "latin-1", "cp1252"),
    "capitals": ("ÉTÉ À NOËL, ÇA VA? «GARÇON»\n", "latin-1", "cp1252"),
    "degrees": ("temp = 20 \u00b0C; // \u00b5s\n", "latin-1", "cp1252"),
    "polish": ("Zażółć gęślą jaźń. Chrząszcz brzmi w trzcinie.\n", "cp1250", "cp1250"),
    "greek": ("Ξεσκεπάζω την ψυχοφθόρα βδελυγμία\n", "cp1253", "cp1253"),
    "dos cyrillic": ("Съешь же ещё этих мягких французских булок\n", "cp866", "cp866"),
    "gbk": (CHINESE, "gbk", "gbk"),
    "gbk in comments": ("x = 1  # 注释说明\n" * 5, "gbk", "gbk"),
    "shift-jis": (JAPANESE, "shift_jis", "cp932"),
    "euc-jp": (JAPANESE, "euc_jp", "euc_jp"),
    "big5": ("這是一個繁體中文的測試檔案、用來檢查。\n", "big5", "big5"),
    "euc-kr": ("안녕하세요 세계. 테스트 파일입니다.\n", "euc_kr", "cp949"),
    "windows-1251": (RUSSIAN, "cp1251", "cp1251"),
    "koi8-r": (RUSSIAN, "koi8_r", "koi8_r"),
}
MARKED = [
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
]


def replaced(file: TextFile, old: str, new: str) -> bytes:
    start = file.utf8.index(old.encode())
    return b"".join(file.spliced([Replacement(start, start + len(old.encode()), new.encode())]))


@pytest.mark.contract("F6")
@pytest.mark.parametrize(("text", "written_in", "codec"), LEGACY.values(), ids=LEGACY.keys())
def test_a_legacy_file_is_decoded_with_an_encoding_that_gives_the_same_bytes_back(
    text: str, written_in: str, codec: str
) -> None:
    raw = text.encode(written_in)
    file = text_file("/f", raw)
    assert file.utf8.decode() == text
    assert file.encoding == Encoding(codec, guessed=True)


@pytest.mark.contract("F6")
@pytest.mark.parametrize(("text", "written_in", "codec"), LEGACY.values(), ids=LEGACY.keys())
def test_an_ascii_edit_in_a_legacy_file_leaves_every_other_byte(text: str, written_in: str, codec: str) -> None:
    raw = b"first = 1\r\n" + text.encode(written_in) + b"end_marker = 2"
    assert replaced(text_file("/f", raw), "end_marker", "done") == raw.replace(b"end_marker", b"done"), codec


@pytest.mark.contract("F6")
def test_new_text_is_written_in_the_encoding_of_the_file() -> None:
    raw = (FRENCH * 3).encode("latin-1")
    assert replaced(text_file("/f", raw), "mairie, déjà vu, naïve façade.\nconst x = 'é';\nLe", "pâtisserie") == (
        FRENCH * 3
    ).replace("mairie, déjà vu, naïve façade.\nconst x = 'é';\nLe", "pâtisserie", 1).encode("latin-1")


@pytest.mark.contract("F6")
def test_text_that_the_encoding_cannot_hold_is_refused_by_name() -> None:
    file = text_file("/dir/f", FRENCH.encode("latin-1"))
    with pytest.raises(TextRefusedError) as refused:
        replaced(file, "café", "漢")
    assert str(refused.value) == (
        "/dir/f: the file is in windows-1252, which cannot hold '漢' (U+6F22, CJK UNIFIED IDEOGRAPH-6F22). "
        "Nothing was changed. Use another character, or convert the file to UTF-8 first."
    )


@pytest.mark.contract("F6")
@pytest.mark.parametrize(("mark", "codec"), MARKED, ids=str)
def test_a_byte_order_mark_is_no_text_and_stays_first(mark: bytes, codec: str) -> None:
    raw = mark + "naïve 😋\r\nb".encode(codec)
    file = text_file("/f", raw)
    assert file.utf8.decode() == "naïve 😋\r\nb"
    assert file.encoding == Encoding(codec, mark)
    assert replaced(file, "naïve", "漢 é") == mark + "漢 é 😋\r\nb".encode(codec)


@pytest.mark.contract("F1", "F6")
@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b"abc\0def", "is binary (NUL byte at offset 3)", id="nul"),
        pytest.param("plain".encode("utf-16-le"), "UTF-16 without a byte-order mark", id="utf-16 without mark"),
        pytest.param(codecs.BOM_UTF16_LE + b"a\0\0\0b\0", "holds NUL characters", id="nul in utf-16"),
        pytest.param(codecs.BOM_UTF16_LE + b"a\0b", "not valid UTF-16 LE", id="half a unit"),
        pytest.param(codecs.BOM_UTF16_LE + b"\x00\xd8a\0", "not valid UTF-16 LE", id="half a surrogate pair"),
        pytest.param(codecs.BOM_UTF8 + b"a\xff" + "é".encode() * 3, "byte 0xff at offset 4", id="damage after a mark"),
        pytest.param("日本語のテキスト".encode()[:-1], "is UTF-8 text with damage (byte 0xe3 at offset 21)", id="cut"),
        pytest.param("héllo wörld, ünï".encode() + b"\xff", "with damage (byte 0xff at offset 20)", id="damaged"),
        pytest.param(bytes(range(1, 256)) * 4, "cannot be kept|not text that can be kept", id="every byte"),
        pytest.param(
            bytes(random.Random(7).choices(range(1, 256), k=4000)), "not text that can be kept", id="random bytes"
        ),
    ],
)
def test_what_is_no_text_is_refused_with_the_path_the_reason_and_the_next_step(raw: bytes, reason: str) -> None:
    with pytest.raises(TextRefusedError) as refused:
        text_file("/dir/f", raw)
    message = str(refused.value)
    assert message.startswith("/dir/f: ")
    assert any(part in message for part in reason.split("|")), message
    assert message.endswith((".", "iconv."))


@pytest.mark.contract("F6")
@pytest.mark.parametrize(
    ("text", "refusals"),
    [("表示 = '表'\npath = 'C:\\temp'\n", 0), ("x = 'ｱ表'\n", 1), ("表示ｲ能\n", 1)],
    ids=["two halves alike", "a half kana pairs with the next", "at the end"],
)
def test_half_of_a_character_under_another_reading_is_never_replaced(text: str, refusals: int) -> None:
    # Short Shift-JIS text is taken for GBK here; the second half of a character may look like ASCII there.
    raw = text.encode("shift_jis")
    shown = text_file("/f", raw)
    assert shown.encoding.codec == "gbk"
    refused = 0
    for start in range(len(shown.utf8)):
        old = shown.utf8[start : start + 1]
        if not old.isascii() or old == b"\n":
            continue
        try:
            after = b"".join(shown.spliced([Replacement(start, start + 1, b"Q")]))
        except TextRefusedError:
            refused += 1
            continue
        assert after.decode("shift_jis").replace("Q", old.decode()) == text
    assert refused == refusals


@pytest.mark.contract("F6")
@pytest.mark.parametrize(
    ("text", "codec", "old"),
    [
        pytest.param("香港\u00ca\u0304 end\n", "big5hkscs", "\u0304", id="two characters in one code"),
        pytest.param("香港\u00ca\u0304 end\n", "big5hkscs", "\u00ca", id="the first of them"),
        pytest.param("あいう\n", "iso2022_jp", "い", id="an encoding with states"),
    ],
)
def test_a_place_that_the_encoding_cannot_take_apart_is_refused(text: str, codec: str, old: str) -> None:
    file = TextFile(path="/dir/f", raw=text.encode(codec), utf8=text.encode(), encoding=Encoding(codec))
    with pytest.raises(TextRefusedError) as refused:
        replaced(file, old, "x")
    assert str(refused.value) == (
        f"/dir/f: in {Encoding(codec).label} this change would alter bytes outside the replaced text. "
        "Nothing was changed. Convert the file to UTF-8 first."
    )
    assert replaced(file, text, "x\n") == b"x\n"


@pytest.mark.contract("F6")
@settings(max_examples=300, deadline=None)
@given(
    text=st.text(st.sampled_from("ab \n\r\té漢😋\u2028\x0c\u0301"), min_size=1, max_size=60),
    new=st.text(st.sampled_from("xyz\n\ré漢😋"), max_size=10),
    marked=st.sampled_from([(b"", "utf-8"), *MARKED]),
    data=st.data(),
)
def test_bytes_outside_the_replaced_region_are_identical(
    text: str, new: str, marked: tuple[bytes, str], data: st.DataObject
) -> None:
    mark, codec = marked
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    file = text_file("/f", mark + text.encode(codec))
    span = Replacement(len(text[:start].encode()), len(text[:end].encode()), new.encode())
    assert b"".join(file.spliced([span])) == mark + (text[:start] + new + text[end:]).encode(codec)


@pytest.mark.contract("F6")
@settings(max_examples=200, deadline=None)
@given(raw=st.binary(min_size=1, max_size=200))
def test_any_bytes_are_refused_or_given_back_exactly(raw: bytes) -> None:
    try:
        file = text_file("/f", raw)
    except TextRefusedError:
        return
    assert b"".join(file.spliced([])) == raw
    text = file.utf8.decode()
    assert file.encoding.mark + text.encode(file.encoding.codec) == raw


@pytest.mark.contract("F6")
@settings(max_examples=200, deadline=None)
@given(text=st.text(st.sampled_from("ab\n\ré漢😋"), max_size=40), size=st.integers(1, 7))
def test_characters_may_lie_across_pieces(text: str, size: int) -> None:
    for mark, codec in [(b"", "utf-8"), *MARKED]:
        raw = mark + text.encode(codec)
        pieces = [raw[start : start + size] for start in range(0, len(raw), size)]
        assert detect("/f", lambda pieces=pieces: pieces) == Encoding(codec, mark)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_legacy_encoding_is_found_in_pieces_of_any_size(size: int) -> None:
    raw = (JAPANESE * 20).encode("shift_jis")
    pieces = [raw[start : start + size] for start in range(0, len(raw), size)]
    assert detect("/f", lambda: pieces) == Encoding("cp932", guessed=True)


@pytest.mark.parametrize(
    "before", [b"x" * 300_000, b"x\n" * 200_000, b"x" * 300_000 + b"\n"], ids=["one line", "many lines", "a long line"]
)
def test_text_beyond_ascii_is_found_far_into_a_file_and_on_a_very_long_line(before: bytes) -> None:
    raw = before + (JAPANESE.replace("\n", " ") * 5_000).encode("shift_jis")
    assert text_file("/f", raw).encoding == Encoding("cp932", guessed=True)


def test_the_same_bytes_always_have_the_same_encoding() -> None:
    raws = [text.encode(written_in) for text, written_in, _ in LEGACY.values()]
    first = [text_file("/f", raw).encoding for raw in raws]
    for _ in range(3):
        assert [text_file("/f", raw).encoding for raw in raws] == first


@pytest.mark.parametrize("new", [b"\0", b"a\0b"])
@pytest.mark.parametrize("raw", [b"abc", codecs.BOM_UTF16_LE + "abc".encode("utf-16-le")])
def test_a_nul_in_new_text_is_refused(raw: bytes, new: bytes) -> None:
    with pytest.raises(TextRefusedError, match=r"^/f: the new text holds a NUL .* Nothing was changed"):
        text_file("/f", raw).spliced([Replacement(0, 1, new)])


def test_a_document_with_half_a_surrogate_pair_is_refused_with_its_line() -> None:
    with pytest.raises(TextRefusedError, match=r"^/f: .*half of a surrogate pair \(U\+D800\) in line 2"):
        document_text("/f", "a\nb\ud800")


@pytest.mark.parametrize(
    ("text", "only"),
    [(b"", False), (b"a", False), (b"a\n", False), (b"a\r\n", True), (b"a\r\nb\n", False), (b"a\r\nb\r\nc", True)],
)
def test_crlf_only_means_every_line_end_and_at_least_one(text: bytes, only: bool) -> None:
    assert uses_crlf_only(text) is only
