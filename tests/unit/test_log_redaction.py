"""What a log must not keep: values of credentials, what looks like one, and what the user names."""

from __future__ import annotations

import time

import pytest
from openbuffer.tools.adapters.log_redaction import TOOK_TOO_LONG, Redaction, pattern_problem

TOKEN = "ghp_" + "a1B2" * 9
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----"


@pytest.mark.contract("X7")
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"curl -H 'Authorization: Bearer {TOKEN}' x", "curl -H 'Authorization: Bearer [redacted]' x"),
        (f"a {JWT} b", "a [redacted] b"),
        (f"x\n{KEY}\ny", "x\n[redacted]\ny"),
        (KEY[:50], "[redacted]"),
        ("AKIA" + "A" * 16, "[redacted]"),
        ("key hunter22 and hunter22!", "key [redacted: MY_TOKEN] and [redacted: MY_TOKEN]!"),
        ("user-1234 logged in", "[redacted] logged in"),
    ],
)
def test_what_must_not_be_kept_is_replaced(text: str, kept: str) -> None:
    assert Redaction([r"user-\d+", "q*"], {"MY_TOKEN": "hunter22", "SHORT": "key"}).text(text) == kept


@pytest.mark.contract("X7")
def test_of_two_secrets_the_longer_is_replaced_first() -> None:
    redaction = Redaction(secrets={"SHORT": "hunter22", "LONG": "hunter22-and-more"})
    assert redaction.text("hunter22-and-more, hunter22") == "[redacted: LONG], [redacted: SHORT]"


@pytest.mark.contract("X7")
def test_what_is_harmless_stays_the_same_object() -> None:
    text = "ghp_ sk- eyJ and nothing else"
    assert Redaction(["nothing to be found"]).text(text) is text


@pytest.mark.contract("X7")
def test_of_a_text_with_which_a_pattern_takes_too_long_nothing_is_kept() -> None:
    assert Redaction([r"(x+x+)+y"]).text("x" * 10_000 + "z") == TOOK_TOO_LONG


@pytest.mark.contract("X7")
def test_a_content_with_something_to_redact_is_known_whatever_its_bytes() -> None:
    redaction = Redaction(secrets={"T": "hunter22"})
    assert redaction.is_needed_in(b"\xff\xfe hunter22 \x00")
    assert not redaction.is_needed_in(b"\xff\xfe hunter2 \x00")


@pytest.mark.parametrize(
    "line", ["eyJaaaaaaaa-", "-----BEGIN PRIVATE KEY-----", "ghp_", "sk-aaaaaaaaaaaaaaaaaaa ", "xoxb-aaaaaaa "]
)
def test_no_text_makes_looking_for_credentials_take_long(line: str) -> None:
    redaction = Redaction()
    text = line * (500_000 // len(line))
    started = time.process_time()
    assert len(redaction.text(text)) <= len(text) + len("[redacted]")
    assert time.process_time() - started < 20, "it is linear, and a bad one would take hours"


def test_a_bad_pattern_is_told() -> None:
    assert pattern_problem(r"\d+") == ""
    assert pattern_problem("(") == "is no regular expression (missing ) at position 1)"
    assert pattern_problem("") == "matches nothing at all"
    with pytest.raises(ValueError, match="missing"):
        Redaction(["("])
